package server

import "testing"

// TestInputCopiesALongFrameOnce counts how often bytes of a long request are moved to a larger buffer.
func TestInputCopiesALongFrameOnce(t *testing.T) {
	const frame, first = 1<<20 + 100, 64 << 10
	var p buffers
	var in input
	// receive takes a frame of which first bytes came with the loop's buffer, and returns how many bytes were moved after that.
	receive := func() (moved int) {
		data := make([]byte, first)
		in.begin(frame)
		in.add(&p, data)
		for in.missing() > 0 {
			had, at := in.size(), &in.buf[0]
			room := in.room(&p, in.missing())
			if at != &in.buf[0] {
				moved += had
			}
			in.grown(min(len(room), 128<<10))
		}
		if got := len(in.next()); got != frame {
			t.Fatalf("a frame of %d bytes, want %d", got, frame)
		}
		in.release(&p)
		return moved
	}
	if got := receive(); got == 0 {
		t.Error("a peer that has proven nothing got a buffer for all that it announced")
	}
	if got := receive(); got != 0 {
		t.Errorf("%d bytes of the second frame were moved, want 0", got)
	}
}
