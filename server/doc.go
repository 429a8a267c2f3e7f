// Package server is the running broker: sockets, connections, dispatch, and the wiring of all parts.
//
// Owns: listeners, connections, the loops, the worker pool, Broker (Start, Close).
//
//	I1  one request in flight per connection; responses leave in request order.
//	I2  bytes held for a connection, and for all, are bounded; reading pauses at the bound.
//	I3  any bytes give a response or a close, and harm nobody else.
//
// Called by cli and kajatest. A connection belongs to its event loop; whatever may wait is parked and comes back through the loop.
// Not here: what a request means (server/handler), rules of any kind.
package server
