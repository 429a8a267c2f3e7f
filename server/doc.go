// Package server is the running broker: sockets, connections, dispatch, and the wiring of all parts.
//
// Owns: listeners, connections, the event loops, the worker pool, Broker (Start, Close).
//
//	I1  one request in flight per connection; responses leave in request order.
//	I2  bytes held for a connection, and for all, are bounded; reading pauses at the bound.
//	I3  any bytes give a response or a close, and harm nobody else.
//	I4  a file range of an answer is released exactly once, whatever becomes of its connection.
//	I5  no client sees an image before the partitions that it names serve.
//
// A connection (conn.go, input.go, output.go, call.go) reaches its peer through a transport: sockets watched by gnet (engine.go,
// socket_linux.go), later TLS and the simulator's pipes. network.go is a broker's listeners and connections, limits.go and memory.go
// their bounds, strays.go looks after clients that do not arrive where they are sent. metrics.go and timings.go are what the console shows
// of a broker, content.go what a broker starts with. wiring.go joins storage, replica, controller and handler, and carries image changes to
// all who keep a copy.
//
// Called by cli and kajatest. A connection belongs to its event loop; whatever may wait is parked and comes back through the loop by
// transport.post. Goroutines: one per loop and one per listener, workers while they have work, one that waits for slow readers once
// there was one. All are joined by Close.
// Not here: what a request means (server/handler), rules of any kind.
package server
