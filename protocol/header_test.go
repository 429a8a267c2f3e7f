package protocol

import (
	"bytes"
	"errors"
	"testing"
)

func TestRequestHeader(t *testing.T) {
	f := func(name string, frame []byte, want RequestHeader, client string, body string) {
		t.Helper()
		var h RequestHeader
		got, err := h.Read(frame)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		if (h.ClientID == nil) != (client == "null") || h.ClientID != nil && *h.ClientID != client {
			t.Errorf("%s: client id %v, want %q", name, h.ClientID, client)
		}
		h.ClientID = nil
		if h != want || string(got) != body {
			t.Errorf("%s: got %+v body %q, want %+v body %q", name, h, got, want, body)
		}
	}
	f("v1", []byte("\x00\x03\x00\x01\x00\x00\x00\x07\x00\x02abrest"), RequestHeader{Key: 3, Version: 1, CorrelationID: 7}, "ab", "rest")
	f("v1 null", []byte("\x00\x03\x00\x01\xff\xff\xff\xff\xff\xffrest"), RequestHeader{Key: 3, Version: 1, CorrelationID: -1}, "null", "rest")
	f("v1 very null", []byte("\x00\x03\x00\x01\x00\x00\x00\x00\x80\x00"), RequestHeader{Key: 3, Version: 1}, "null", "")
	f("v2", []byte("\x00\x03\x00\x09\x00\x00\x00\x07\x00\x00\x00rest"), RequestHeader{Key: 3, Version: 9, CorrelationID: 7, Flexible: true}, "", "rest")
	f("v2 tags", []byte("\x00\x03\x00\x09\x00\x00\x00\x07\x00\x01x\x02\x07\x02hi\x80\x01\x00rest"), RequestHeader{Key: 3, Version: 9, CorrelationID: 7, Flexible: true}, "x", "rest")
	f("utf-8", []byte("\x00\x03\x00\x01\x00\x00\x00\x07\x00\x06\xe2\x98\x83 \xc3\xa4"), RequestHeader{Key: 3, Version: 1, CorrelationID: 7}, "☃ ä", "")
	f("a version too new", []byte("\x00\x12\x00\x63\x00\x00\x00\x07\xff\xff\x00rest"), RequestHeader{Key: 18, Version: 99, CorrelationID: 7, Flexible: true}, "null", "rest")
	f("a negative version", []byte("\x00\x12\xff\xff\x00\x00\x00\x07\xff\xffrest"), RequestHeader{Key: 18, Version: -1, CorrelationID: 7}, "null", "rest")
}

func TestBadRequestHeaders(t *testing.T) {
	f := func(name, frame string) {
		t.Helper()
		var h RequestHeader
		if _, err := h.Read([]byte(frame)); !errors.Is(err, ErrShortHeader) {
			t.Errorf("%s: %v, want %v", name, err, ErrShortHeader)
		}
	}
	f("empty", "")
	f("key and version", "\x00\x03\x00\x01\x00\x00\x00")
	f("no client id", "\x00\x03\x00\x01\x00\x00\x00\x07\x00")
	f("client id cut", "\x00\x03\x00\x01\x00\x00\x00\x07\x00\x03ab")
	f("no tags", "\x00\x03\x00\x09\x00\x00\x00\x07\x00\x00")
	f("tag count cut", "\x00\x03\x00\x09\x00\x00\x00\x07\x00\x00\x80")
	f("tag count too long", "\x00\x03\x00\x09\x00\x00\x00\x07\x00\x00\x80\x80\x80\x80\x80\x00")
	f("many tags", "\x00\x03\x00\x09\x00\x00\x00\x07\x00\x00\xff\xff\xff\xff\x0f")
	f("tag cut", "\x00\x03\x00\x09\x00\x00\x00\x07\x00\x00\x01\x01\x05ab")
	var h RequestHeader
	var unknown *UnknownKeyError
	if _, err := h.Read([]byte("\x03\xe7\x00\x00\x00\x00\x00\x07\xff\xff")); !errors.As(err, &unknown) || unknown.Key != 999 {
		t.Errorf("unknown key: %v", err)
	}
}

func TestClientIDIsNotAllocatedAgain(t *testing.T) {
	var h RequestHeader
	frame := []byte("\x00\x03\x00\x01\x00\x00\x00\x07\x00\x02abrest")
	if _, err := h.Read(frame); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = h.Read(frame) }); n != 0 {
		t.Errorf("%v allocations per header, want none", n)
	}
	kept := h.ClientID
	copy(frame[10:], "xy")
	if _, err := h.Read(frame); err != nil || *kept != "ab" || *h.ClientID != "xy" {
		t.Errorf("kept client id is %q, the next one %q (%v)", *kept, *h.ClientID, err)
	}
}

func TestResponseHeader(t *testing.T) {
	f := func(h RequestHeader, want string) {
		t.Helper()
		if got := h.AppendResponseHeader(nil); string(got) != want || len(got) != h.ResponseHeaderLen() {
			t.Errorf("%+v: %x (length %d), want %x", h, got, h.ResponseHeaderLen(), want)
		}
	}
	f(RequestHeader{Key: 3, Version: 1, CorrelationID: 7}, "\x00\x00\x00\x07")
	f(RequestHeader{Key: 3, Version: 9, CorrelationID: -1, Flexible: true}, "\xff\xff\xff\xff\x00")
	f(RequestHeader{Key: ApiVersionsKey, Version: 3, CorrelationID: 7, Flexible: true}, "\x00\x00\x00\x07")
}

func TestFrameSize(t *testing.T) {
	f := func(b string, max, want int, ok bool) {
		t.Helper()
		got, err := FrameSize([]byte(b), max)
		if got != want || (err == nil) != ok {
			t.Errorf("%x: %d %v, want %d", b, got, err, want)
		}
	}
	f("\x00\x00\x00\x00", 10, 0, true)
	f("\x00\x00\x00\x0a", 10, 10, true)
	f("\x00\x00\x00\x0b", 10, 0, false)
	f("\xff\xff\xff\xff", 10, 0, false)
	f("GET ", 100<<20, 0, false)
	b := BeginFrame([]byte("before"))
	b = append(b, "abc"...)
	if EndFrame(b, 6, 10); !bytes.Equal(b, []byte("before\x00\x00\x00\x0dabc")) {
		t.Errorf("frame is %q", b)
	}
}

func TestTable(t *testing.T) {
	last := int16(-1)
	for _, a := range APIs() {
		if a.Key <= last || a.Key > MaxKey || a.Min > a.Max || a.Oldest < a.Min || a.Name == "" {
			t.Errorf("bad row %+v after key %d", a, last)
		}
		last = a.Key
		if got, ok := Lookup(a.Key); !ok || got != a {
			t.Errorf("Lookup(%d) = %+v %v", a.Key, got, ok)
		}
	}
	for _, key := range []int16{-1, 4, 5, 6, 7, 52, 63, MaxKey + 1, 32767, -32768} {
		if _, ok := Lookup(key); ok {
			t.Errorf("Lookup(%d) finds something", key)
		}
	}
	produce, _ := Lookup(0)
	if produce.Min != 0 || produce.Serves(2) || !produce.Serves(3) || !produce.Serves(13) || produce.Serves(14) {
		t.Errorf("Produce: %+v", produce)
	}
}

func BenchmarkReadHeader(b *testing.B) {
	var h RequestHeader
	frame := []byte("\x00\x03\x00\x09\x00\x00\x00\x07\x00\x02ab\x00rest")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := h.Read(frame); err != nil {
			b.Fatal(err)
		}
	}
}
