package wheel

import (
	"fmt"
	"testing"
	"time"

	"github.com/kaja-mq/kaja/internal/clock"
)

func TestWheel(t *testing.T) {
	clk := clock.NewManual(time.Unix(0, 0))
	w := New(clk)
	var got []int
	entries := make([]*Entry, 6)
	for i := range entries {
		entries[i] = &Entry{F: func() { got = append(got, i) }}
	}
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	w.Schedule(entries[0], at(5))
	w.Schedule(entries[1], at(3))
	w.Schedule(entries[2], at(4))
	w.Schedule(entries[3], at(2))
	w.Schedule(entries[3], at(9)) // moved later
	w.Schedule(entries[0], at(1)) // moved earlier
	w.Schedule(entries[4], at(1))
	if !w.Stop(entries[4]) || w.Stop(entries[4]) || w.Stop(entries[5]) {
		t.Fatal("Stop: want true once, false for what is not scheduled")
	}
	clk.Advance(4 * time.Second)
	if fmt.Sprint(got) != "[0 1 2]" {
		t.Fatalf("after 4 s: %v, want [0 1 2]", got)
	}
	if w.Stop(entries[0]) {
		t.Fatal("Stop of a fired entry reported true")
	}
	w.Schedule(entries[0], at(6))
	clk.Advance(10 * time.Second)
	if fmt.Sprint(got) != "[0 1 2 0 3]" {
		t.Fatalf("after 14 s: %v", got)
	}
	w.Schedule(entries[1], at(20))
	w.Close()
	w.Schedule(entries[2], at(20))
	clk.Advance(time.Minute)
	if len(got) != 5 {
		t.Fatalf("fired after Close: %v", got)
	}
}
