// Package planted switches on bugs that prove the checkers: each of them must be found. Without the build tag planted, which no shipped
// binary has, Is is false and the compiler drops what it guards.
//
// With the tag the environment variable KAJA_PLANTED names the one bug of a process. docs/reliability.md lists them, with what finds each.
package planted
