package naps

import (
	"testing"
	"time"
)

func TestWanted(t *testing.T) {
	f := func(value string, want time.Duration, ok bool) {
		t.Helper()
		got, err := wanted([]string{"A=1", Variable + "=" + value})
		if got != want || (err == nil) != ok {
			t.Fatalf("%q: %v, %v; want %v", value, got, err, want)
		}
	}
	f("", Default, true)
	f("0s", 0, true)
	f("0", 0, true)
	f("500us", 500*time.Microsecond, true)
	f("10ms", Max, true)
	f("11ms", 0, false)
	f("-1ms", 0, false)
	f("2", 0, false)
	if got, err := wanted(nil); got != Default || err != nil {
		t.Fatalf("without the variable: %v, %v", got, err)
	}
}
