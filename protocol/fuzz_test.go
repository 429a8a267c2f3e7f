package protocol

import (
	"bytes"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// FuzzRequestHeader: any bytes give a header or an error, and what is read back from it is the same.
func FuzzRequestHeader(f *testing.F) {
	f.Add([]byte("\x00\x03\x00\x09\x00\x00\x00\x07\x00\x01x\x02\x07\x02hi\x80\x01\x00rest"))
	f.Add([]byte("\x00\x12\x00\x63\x00\x00\x00\x07\xff\xff\x00"))
	f.Fuzz(func(t *testing.T, frame []byte) {
		var h, again RequestHeader
		body, err := h.Read(frame)
		if err != nil {
			return
		}
		if len(body) > len(frame)-10 {
			t.Fatalf("body of %d bytes in a frame of %d", len(body), len(frame))
		}
		client := h.ClientID
		if _, err := again.Read(frame); err != nil || (client == nil) != (again.ClientID == nil) || client != nil && *client != *again.ClientID {
			t.Fatalf("read again: %v", err)
		}
	})
}

// FuzzBodies: any bytes as the body of any request give an error or a request that encodes and decodes to the same bytes.
func FuzzBodies(f *testing.F) {
	for _, a := range APIs() {
		for v := a.Oldest; v <= a.Max; v++ {
			if r := kmsg.RequestForKey(a.Key); r != nil && v <= r.MaxVersion() {
				r.SetVersion(v)
				f.Add(a.Key, v, r.AppendTo(nil))
			}
		}
	}
	f.Fuzz(func(t *testing.T, key, version int16, body []byte) {
		a, ok := Lookup(key)
		if !ok || !a.Serves(version) {
			return
		}
		req := kmsg.RequestForKey(key)
		if req == nil || version > req.MaxVersion() {
			return
		}
		req.SetVersion(version)
		if req.ReadFrom(body) != nil {
			return
		}
		first := req.AppendTo(nil)
		again := kmsg.RequestForKey(key)
		again.SetVersion(version)
		if err := again.ReadFrom(first); err != nil {
			t.Fatalf("key %d version %d: what was decoded does not decode: %v", key, version, err)
		}
		if second := again.AppendTo(nil); !bytes.Equal(first, second) {
			t.Fatalf("key %d version %d: encoded\n%x\nthen\n%x", key, version, first, second)
		}
	})
}

// Every key and version that Kafka answers can be decoded and answered by kmsg, with the same idea of which versions are flexible.
func TestKmsgKnowsAllVersions(t *testing.T) {
	for _, a := range APIs() {
		req := kmsg.RequestForKey(a.Key)
		if req == nil {
			t.Logf("kmsg does not know %s (key %d)", a.Name, a.Key)
			continue
		}
		if req.MaxVersion() < a.Max {
			t.Errorf("kmsg knows %s up to version %d, Kafka answers %d", a.Name, req.MaxVersion(), a.Max)
		}
		for v := a.Oldest; v <= min(a.Max, req.MaxVersion()); v++ {
			req.SetVersion(v)
			if req.IsFlexible() != a.Flexible(v) {
				t.Errorf("%s version %d: flexible %v here, %v in kmsg", a.Name, v, a.Flexible(v), req.IsFlexible())
			}
		}
	}
}
