// Package kajatest runs the broker inside a Go test. It is the only package of kaja with an API promise.
//
// Owns: nothing but a running server. Called by tests of users. Not here: anything a user of the binary could not have.
package kajatest
