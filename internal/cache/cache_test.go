package cache

import (
	"sync"
	"sync/atomic"
	"testing"
)

type thing struct {
	Handle
	evicted, released atomic.Int32
}

func (r *thing) Evicted() { r.evicted.Add(1) }
func (r *thing) Release() { r.released.Add(1) }

// TestHandles: the bound holds, what is used stays, what is in use is closed only afterwards, and each once.
func TestHandles(t *testing.T) {
	c := NewHandles(3)
	things := make([]*thing, 6)
	add := func(i int) {
		things[i] = &thing{}
		c.Add(&things[i].Handle, things[i])
	}
	for i := range 3 {
		add(i)
		things[i].Done()
	}
	add(3) // all were used: the clock's hand comes round and takes the first
	if things[0].evicted.Load() != 1 || things[0].released.Load() != 1 || c.Len() != 3 {
		t.Fatalf("first: evicted %d, released %d, %d open", things[0].evicted.Load(), things[0].released.Load(), c.Len())
	}
	if things[0].TryAcquire() {
		t.Fatal("a closed resource was acquired")
	}
	if !things[1].TryAcquire() { // used again, and in use
		t.Fatal("an open resource was not acquired")
	}
	add(4)
	if things[1].evicted.Load() != 0 || things[2].evicted.Load()+things[3].evicted.Load() != 1 {
		t.Fatal("the used one went")
	}
	c.Drop(&things[1].Handle)
	if things[1].evicted.Load() != 1 || things[1].released.Load() != 0 {
		t.Fatal("a resource in use was closed")
	}
	things[1].Done()
	c.Drop(&things[1].Handle)
	if things[1].released.Load() != 1 {
		t.Fatalf("released %d times", things[1].released.Load())
	}
}

func TestHandlesConcurrently(t *testing.T) {
	c := NewHandles(2)
	var wg sync.WaitGroup
	var opened, released atomic.Int32
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 200 {
				r := &thing{}
				opened.Add(1)
				c.Add(&r.Handle, r)
				if r.TryAcquire() {
					r.Done()
				}
				r.Done()
				c.Drop(&r.Handle)
				released.Add(r.released.Load())
			}
		}()
	}
	wg.Wait()
	if opened.Load() != released.Load() || c.Len() != 0 {
		t.Fatalf("%d opened, %d released, %d left", opened.Load(), released.Load(), c.Len())
	}
}

func TestCost(t *testing.T) {
	c, err := NewCost[string, int](1000)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.Set("a", 1, 10)
	c.Wait()
	if v, ok := c.Get("a"); v != 1 || !ok {
		t.Fatalf("got %d, %v", v, ok)
	}
	c.Delete("a")
	if _, ok := c.Get("a"); ok {
		t.Fatal("deleted, but there")
	}
	c.Set("b", 2, 5000)
	c.Wait()
	if _, ok := c.Get("b"); ok {
		t.Fatal("above the bound, but there")
	}
}
