package handler

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// gathered is a call whose answer is put together from several shards.
type gathered struct {
	coordinatedCall
	build func(parts []any) kmsg.Response
	parts []any // guarded by mu
	open  int   // guarded by mu: parts that have not come
}

func newGathered(c Call, n int, build func(parts []any) kmsg.Response) *gathered {
	return &gathered{coordinatedCall: coordinatedCall{answer: c.Reply}, build: build, parts: make([]any, n), open: n}
}

func (g *gathered) put(i int, part any) {
	g.mu.Lock()
	g.parts[i] = part
	g.open--
	done := g.open == 0
	g.mu.Unlock()
	if done {
		g.Complete(g.build(g.parts))
	}
}

// settle answers if everything has come, else parks the call.
func (g *gathered) settle(c Call) {
	if len(g.parts) == 0 {
		g.Complete(g.build(nil))
	}
	g.coordinatedCall.settle(c.Park)
}

// gatheredPart is the handle of one part.
type gatheredPart struct {
	to     *gathered
	i      int
	failed func(error) any
	done   func(kmsg.Response) any
}

// Complete implements coordinator.Handle.
func (p gatheredPart) Complete(resp kmsg.Response) { p.to.put(p.i, p.done(resp)) }

// Fail implements coordinator.Handle.
func (p gatheredPart) Fail(err error) { p.to.put(p.i, p.failed(err)) }
