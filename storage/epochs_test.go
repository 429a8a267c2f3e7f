package storage

import "testing"

// TestEndOffsetFor: as in Kafka only -1 is no epoch; one below it is below all known ones.
func TestEndOffsetFor(t *testing.T) {
	e := &epochs{}
	e.assign(3, 10)
	e.assign(5, 20)
	f := func(epoch, wantEpoch int32, wantEnd int64) {
		t.Helper()
		if got, end := e.endOffsetFor(epoch, 30); got != wantEpoch || end != wantEnd {
			t.Errorf("epoch %d: %d ends at %d, want %d at %d", epoch, got, end, wantEpoch, wantEnd)
		}
	}
	f(-2, -2, 10)
	f(-1, -1, -1)
	f(0, 0, 10)
	f(3, 3, 20)
	f(4, 3, 20)
	f(5, 5, 30)
	f(6, -1, -1)
}
