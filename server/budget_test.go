package server

import (
	"io"
	"net"
	"runtime"
	"sync"
	"testing"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/config"
	"github.com/kaja-mq/kaja/internal/clock"
	"github.com/kaja-mq/kaja/internal/invariant"
	"github.com/kaja-mq/kaja/internal/vfs"
)

// operations counts what reaches the disk, by kind.
type operations struct {
	mu sync.Mutex
	n  map[string]int // guarded by mu
}

func (o *operations) note(_ int64, op, _ string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.n[op]++
}

func (o *operations) take() map[string]int {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := o.n
	o.n = map[string]int{}
	return n
}

// TestRequestBudgets holds what one request may cost in the whole broker: allocations, bytes allocated, operations on files.
func TestRequestBudgets(t *testing.T) {
	if invariant.Enabled {
		t.Skip("builds with costly checks allocate more")
	}
	ops := &operations{n: map[string]int{}}
	c, id := budgetBroker(t, vfs.NewErrOptions(vfs.OS(), -1, vfs.ErrOptions{Hook: ops.note}))
	name := "budget"
	metadata := kmsg.NewPtrMetadataRequest()
	metadata.SetVersion(12)
	mt := kmsg.NewMetadataRequestTopic()
	mt.Topic = &name
	metadata.Topics = append(metadata.Topics, mt)
	versions := kmsg.NewPtrApiVersionsRequest()
	versions.SetVersion(3)
	versions.ClientSoftwareName, versions.ClientSoftwareVersion = "test", "1"
	// The size of the answers tells that they are what is meant; index and checkpoint writes now and then are within the half.
	f := func(what string, frame []byte, minAnswer int, allocs, bytes, writes, reads float64) {
		t.Helper()
		in := make([]byte, 2<<20)
		const n = 400
		for range n { // pools, caches
			budgetTrip(t, c, frame, in)
		}
		ops.take()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range n {
			if got := budgetTrip(t, c, frame, in); got < minAnswer {
				t.Fatalf("%s: an answer of %d bytes, want at least %d", what, got, minAnswer)
			}
		}
		runtime.ReadMemStats(&after)
		did := ops.take()
		over := func(unit string, got, budget float64) {
			if got/n > budget+.5 {
				t.Errorf("%s: %.2f %s per request, the budget is %v", what, got/n, unit, budget)
			}
		}
		t.Logf("%s: %.2f allocations, %.0f bytes, %v", what, float64(after.Mallocs-before.Mallocs)/n, float64(after.TotalAlloc-before.TotalAlloc)/n, did)
		over("allocations", float64(after.Mallocs-before.Mallocs), allocs)
		over("bytes allocated", float64(after.TotalAlloc-before.TotalAlloc), bytes)
		over("writes", float64(did["write"]), writes)
		over("reads", float64(did["read"]), reads)
	}
	f("produce of 100 bytes", produceFrame(t, id, 100), 40, 2, 200, 1, 0)
	f("produce of 16 KiB", produceFrame(t, id, 16<<10), 40, 2, 200, 1, 0)
	f("produce of 64 KiB", produceFrame(t, id, 64<<10), 40, 3, 500, 1, 0)
	f("fetch of 64 KiB", fetchFrame(id, 64<<10), 60<<10, 5, 400, 0, 1)
	f("fetch of 1 MiB", fetchFrame(id, 1<<20), 1<<19, 8, 500, 0, 1)
	f("Metadata", requestFrame(metadata), 60, 11, 800, 0, 0)
	f("ApiVersions", requestFrame(versions), 300, 4, 300, 0, 0)
}

func budgetBroker(t *testing.T, disk vfs.FS) (net.Conn, [16]byte) {
	t.Helper()
	cfg, _, err := config.Load(config.Sources{Overrides: []string{"listeners=PLAINTEXT://127.0.0.1:0", "log.dirs=" + t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	br, err := Start(Options{Config: cfg, FS: disk, Clock: clock.System(), Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = br.Close() })
	admin, err := kgo.NewClient(kgo.SeedBrokers(br.Addrs()["PLAINTEXT"]))
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	if _, err := kadm.NewClient(admin).CreateTopic(t.Context(), 1, 1, nil, "budget"); err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", br.Addrs()["PLAINTEXT"])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c, br.Image().Topic("budget").ID
}

// budgetTrip sends a request and reads its answer, without allocating; it returns the answer's size.
func budgetTrip(t *testing.T, c net.Conn, frame, in []byte) int {
	if _, err := c.Write(frame); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, in[:4]); err != nil {
		t.Fatal(err)
	}
	n := int(in[0])<<24 | int(in[1])<<16 | int(in[2])<<8 | int(in[3])
	if _, err := io.ReadFull(c, in[:n]); err != nil {
		t.Fatal(err)
	}
	return n
}
