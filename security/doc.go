// Package security has the rules of who may do what: SASL, TLS stores, JAAS, principals, ACLs, delegation tokens. No sockets.
//
// Owns: SCRAM arithmetic so far (credentials are stored, enforcement comes with access control). Called by server and controller. Values only.
package security
