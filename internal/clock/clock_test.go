package clock

import (
	"fmt"
	"testing"
	"time"
)

func TestManual(t *testing.T) {
	c := NewManual(time.Unix(100, 0))
	var got []string
	note := func(s string) func() { return func() { got = append(got, s+c.Mono().Format(" 05")) } }
	c.AfterFunc(2*time.Second, note("b"))
	c.AfterFunc(time.Second, func() { note("a")(); c.AfterFunc(500*time.Millisecond, note("nested")) })
	stopped := c.AfterFunc(time.Second, note("never"))
	if !stopped.Stop() || stopped.Stop() {
		t.Fatal("Stop: want true, then false")
	}
	c.SetWall(time.Unix(0, 0)) // a jump of the wall clock fires nothing
	if len(got) != 0 {
		t.Fatalf("SetWall fired %v", got)
	}
	c.Advance(10 * time.Second)
	if want := "[a 41 nested 41 b 42]"; fmt.Sprint(got) != want {
		t.Fatalf("got %v, want %v", got, want)
	}
	if !c.Wall().Equal(time.Unix(10, 0)) || !c.Mono().Equal(time.Unix(110, 0)) {
		t.Fatalf("wall %v, mono %v", c.Wall(), c.Mono())
	}
}

func TestSystem(t *testing.T) {
	c := System()
	fired := make(chan struct{})
	before := c.Mono()
	c.AfterFunc(time.Millisecond, func() { close(fired) })
	<-fired
	if d := c.Mono().Sub(before); d < time.Millisecond {
		t.Fatalf("fired after %v", d)
	}
}
