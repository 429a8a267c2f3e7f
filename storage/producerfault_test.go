package storage

import (
	"fmt"
	"testing"

	"github.com/kaja-mq/kaja/internal/vfs"
)

// producerLife appends, aborts, snapshots, truncates and reloads; it gives up at the first error.
func producerLife(fs vfs.FS, s *producerScript) error {
	p := newProducers(producersConfig{FS: fs, Dir: "t-0", Name: "t-0", ExpirationMs: 1000})
	if err := p.open(); err != nil {
		return err
	}
	x, err := openTxnIndex(fs, "t-0/00000000000000000000.txnindex", 0)
	if err != nil {
		return err
	}
	for i, b := range s.log {
		if err := p.replay(b, x); err != nil {
			return err
		}
		if i%2 == 0 {
			if _, err := p.takeSnapshot(); err != nil {
				return err
			}
		}
	}
	if err := x.flush(); err != nil {
		return err
	}
	if err := p.truncateAndReload(0, 2, 100); err != nil {
		return err
	}
	if err := x.truncateTo(2); err != nil {
		return err
	}
	if err := x.reset(); err != nil {
		return err
	}
	if err := p.truncateFully(0); err != nil {
		return err
	}
	return x.close()
}

// Whichever file operation fails, or the power with it: the error comes out, and a new start gives the state of the log.
func TestProducerFaults(t *testing.T) {
	s := newScript(t)
	for _, c := range []struct {
		verb string
		a    args
	}{
		{"data", args{"txn": "", "seq": "0"}}, {"data", args{"txn": "", "seq": "1"}}, {"abort", args{}},
		{"data", args{"pid": "2"}}, {"data", args{"txn": "", "seq": "2"}}, {"abort", args{}},
	} {
		s.run(t, c.verb, c.a)
	}
	want := durable(s.p)
	for n := int64(0); ; n++ {
		mem := vfs.NewMem()
		if err := mem.MkdirAll("t-0"); err != nil {
			t.Fatal(err)
		}
		faulty := vfs.NewErr(mem, n)
		err := producerLife(faulty, s)
		if !faulty.Failed() {
			if err != nil {
				t.Fatalf("without a fault: %v", err)
			}
			return
		}
		if err == nil {
			t.Errorf("operation %d failed and nobody says so", n)
		}
		for _, disk := range []*vfs.Mem{mem, mem.CrashClone()} {
			if err := disk.MkdirAll("t-0"); err != nil {
				t.Fatal(err)
			}
			if got := restarted(t, disk, s); got != want {
				t.Errorf("operation %d failed, then\n%s\nwant\n%s", n, got, want)
			}
		}
	}
}

// restarted is what survives of the state in any snapshot, after a start on that disk.
func restarted(t *testing.T, disk *vfs.Mem, s *producerScript) string {
	t.Helper()
	again := &producerScript{fs: disk, log: s.log, leo: s.leo}
	again.p = newProducers(producersConfig{FS: disk, Dir: "t-0", Name: "t-0", ExpirationMs: 1000})
	if err := again.p.open(); err != nil {
		t.Fatal(err)
	}
	if err := again.reload(args{}); err != nil {
		return err.Error()
	}
	return durable(again.p)
}

func durable(p *producers) string {
	undecided, open := p.firstUndecidedOffset()
	return fmt.Sprintln(p.states(), p.mapEndOffset(), undecided, open)
}
