// Package handler has one file per API key: decode, authorise, validate, call one domain function per item, build the response.
//
// Owns: the table of handlers (table.go) and the mapping of errors to codes (errors.go).
//
//	I1  every call is answered exactly once, or its connection closed.
//	I2  a bad item never spoils its neighbours; errors come on the level where Kafka puts them.
//	I3  a parked call keeps no slice of its frame.
//
// Called by server on the connection's loop; nothing here blocks. No locks, no goroutines, no rules of groups, logs or transactions.
package handler
