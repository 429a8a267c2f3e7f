package replica

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestFetchIsWokenByTheAppend(t *testing.T) {
	n := newNode(t)
	a, b := n.lead(1, 0), n.lead(2, 0)
	fired := 0
	w := n.NewWaiter(1, []Watch{{Partition: a, MaxBytes: 100}, {Partition: b, MaxBytes: 100}}, func() { fired++ })
	w.Park(n.clk.Mono().Add(time.Second))
	eq(t, "before", fired, 0)
	n.put(b, 1)
	eq(t, "after", fired, 1)
	n.put(a, 1)
	n.clk.Advance(time.Minute)
	eq(t, "once", fired, 1)
	eq(t, "links left", a.watched.Load()+b.watched.Load(), 0)
	eq(t, "cancel after", w.Cancel(), false)
}

func TestFetchFiresAtItsDeadline(t *testing.T) {
	n := newNode(t)
	p := n.lead(1, 0)
	fired := 0
	n.NewWaiter(1, []Watch{{Partition: p, MaxBytes: 100}}, func() { fired++ }).Park(n.clk.Mono().Add(500 * time.Millisecond))
	n.clk.Advance(499 * time.Millisecond)
	eq(t, "before", fired, 0)
	n.clk.Advance(time.Millisecond)
	eq(t, "at the deadline", fired, 1)
	n.put(p, 1)
	eq(t, "after", fired, 1)
}

func TestFetchWithDataDoesNotWait(t *testing.T) {
	n := newNode(t)
	p := n.lead(1, 0)
	n.put(p, 1)
	fired := 0
	n.NewWaiter(1, []Watch{{Partition: p, MaxBytes: 100}}, func() { fired++ }).Park(n.clk.Mono().Add(time.Hour))
	eq(t, "fired", fired, 1)
	eq(t, "links left", p.watched.Load(), 0)
}

func TestCancelledFetchDoesNotFire(t *testing.T) {
	n := newNode(t)
	p := n.lead(1, 0)
	fired := 0
	w := n.NewWaiter(1, []Watch{{Partition: p, MaxBytes: 100}}, func() { fired++ })
	w.Park(n.clk.Mono().Add(time.Second))
	eq(t, "cancel", w.Cancel(), true)
	eq(t, "cancel again", w.Cancel(), false)
	n.put(p, 1)
	n.clk.Advance(time.Minute)
	eq(t, "fired", fired, 0)
	// cancelled before it is parked, as by a connection that has just ended
	w = n.NewWaiter(1, []Watch{{Partition: p, Offset: 1, MaxBytes: 100}}, func() { fired++ })
	eq(t, "cancel before", w.Cancel(), true)
	w.Park(n.clk.Mono().Add(time.Second))
	n.put(p, 1)
	n.clk.Advance(time.Minute)
	eq(t, "fired", fired, 0)
	eq(t, "links left", p.watched.Load(), 0)
}

// MinBytes counts over all partitions, each up to its own limit.
func TestFetchWaitsForMinBytes(t *testing.T) {
	n := newNode(t)
	a, b := n.lead(1, 0), n.lead(2, 0)
	size := int64(len(records(t, 1)))
	fired := 0
	park := func(min int64, maxBytes int) {
		fired = 0
		n.NewWaiter(min, []Watch{{Partition: a, Offset: a.LogEndOffset(), MaxBytes: maxBytes}, {Partition: b, Offset: b.LogEndOffset(), MaxBytes: maxBytes}},
			func() { fired++ }).Park(n.clk.Mono().Add(time.Hour))
	}
	park(2*size, 1<<20)
	n.put(a, 1)
	eq(t, "half of it", fired, 0)
	n.put(b, 1)
	eq(t, "all of it", fired, 1)
	park(2*size, int(size))
	n.put(a, 1)
	n.put(a, 1)
	eq(t, "one partition up to its limit", fired, 0)
	n.put(b, 1)
	eq(t, "both", fired, 1)
}

// Appends and fetches of many goroutines: every fetch ends once, and by an append, since the deadline never comes.
func TestAppendsAndFetchesRace(t *testing.T) {
	n := newNode(t)
	const parts, readers, rounds = 3, 4, 200
	var ps [parts]*Partition
	for i := range ps {
		ps[i] = n.lead(byte(i+1), 0)
	}
	var writers, wg sync.WaitGroup
	var stop atomic.Bool
	for i := range ps {
		data := records(t, 1)
		writers.Add(1)
		go func() {
			defer writers.Done()
			for !stop.Load() {
				clear(data[:8]) // the append has put its offset there
				if _, err := ps[i].Append(data, AppendOptions{Acks: 1, LeaderEpoch: -1, Verified: true}); err != nil {
					t.Error(err)
					return
				}
			}
		}()
	}
	for range readers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			var at [parts]int64
			for range rounds {
				var count atomic.Int32
				done := make(chan struct{}, 2)
				watches := make([]Watch, parts)
				for i, p := range ps {
					watches[i] = Watch{Partition: p, Offset: at[i], MaxBytes: 1 << 20}
				}
				w := n.NewWaiter(1, watches, func() { count.Add(1); done <- struct{}{} })
				w.Park(n.clk.Mono().Add(time.Hour))
				<-done
				for i, p := range ps {
					r, err := p.Read(read(at[i]))
					if err != nil {
						t.Error(err)
						return
					}
					if r.LogStartOffset > r.LastStableOffset || r.LastStableOffset > r.HighWatermark {
						t.Errorf("offsets out of order: %+v", r)
					}
					if r.Range != nil {
						r.Range.Release()
					}
					at[i] = r.HighWatermark
				}
				if c := count.Load(); c != 1 {
					t.Errorf("a fetch fired %d times", c)
				}
			}
		}()
	}
	wg.Wait()
	stop.Store(true)
	writers.Wait()
	for i, p := range ps {
		eq(t, fmt.Sprint("links left on ", i), p.watched.Load(), 0)
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{1, 100} {
		b.Run(fmt.Sprint(size, " records"), func(b *testing.B) {
			n := newNode(b)
			p := n.lead(1, 0)
			data := records(b, size)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				clear(data[:8])
				if _, err := p.Append(data, AppendOptions{Acks: -1, LeaderEpoch: -1, Verified: true}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRead(b *testing.B) {
	n := newNode(b)
	p := n.lead(1, 0)
	n.put(p, 10)
	b.ReportAllocs()
	for b.Loop() {
		r, err := p.Read(read(0))
		if err != nil {
			b.Fatal(err)
		}
		r.Range.Release()
	}
}

// BenchmarkParkAndWake is a fetch that is parked and woken by an append.
func BenchmarkParkAndWake(b *testing.B) {
	n := newNode(b)
	p := n.lead(1, 0)
	data := records(b, 1)
	b.ReportAllocs()
	for b.Loop() {
		fired := false
		clear(data[:8])
		n.NewWaiter(1, []Watch{{Partition: p, Offset: p.LogEndOffset(), MaxBytes: 1 << 20}}, func() { fired = true }).Park(n.clk.Mono().Add(time.Hour))
		if _, err := p.Append(data, AppendOptions{Acks: 1, LeaderEpoch: -1, Verified: true}); err != nil {
			b.Fatal(err)
		}
		if !fired {
			b.Fatal("not woken")
		}
	}
}
