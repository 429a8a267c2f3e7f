package handler

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Null in place of any array that may not be null is noticed, in every version of every request, and nothing else is taken for it.
func TestNullArraysAreNoticed(t *testing.T) {
	noticed := 0
	for key := range int16(kmsg.MaxKey + 1) {
		if kmsg.RequestForKey(key) == nil || kmsg.RequestForKey(key).Key() != key || key == 0 || key == 63 { // Produce has a decoder of its own, BrokerHeartbeat's arrays are tagged
			continue
		}
		for version := range kmsg.RequestForKey(key).MaxVersion() + 1 {
			req := kmsg.RequestForKey(key)
			req.SetVersion(version)
			fill(reflect.ValueOf(req).Elem())
			full := req.AppendTo(nil)
			eachSlice(reflect.ValueOf(req).Elem(), func(v reflect.Value) {
				body, nullable := withNull(req, v, full)
				if body == nil {
					return // not in this version, or a tagged field
				}
				got := kmsg.RequestForKey(key)
				got.SetVersion(version)
				if err := got.ReadFrom(body); err != nil {
					return // kmsg notices itself
				}
				if sentNull(got, body) == nullable {
					t.Errorf("%s version %d: null for a %s, which may be null: %v", kmsg.NameForKey(key), version, v.Type(), nullable)
				}
				if !nullable {
					noticed++
				}
			})
			got := kmsg.RequestForKey(key)
			got.SetVersion(version)
			if err := got.ReadFrom(full); err != nil || sentNull(got, full) {
				t.Errorf("%s version %d: a request without null is refused (%v)", kmsg.NameForKey(key), version, err)
			}
		}
	}
	if noticed < 200 {
		t.Errorf("only %d arrays were tried", noticed)
	}
}

// withNull encodes req with null for the slice v, and tells whether that is allowed; nil where the slice is not encoded.
func withNull(req kmsg.Request, v reflect.Value, full []byte) (body []byte, nullable bool) {
	old := reflect.ValueOf(v.Interface())
	v.SetZero()
	null := req.AppendTo(nil)
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	empty := req.AppendTo(nil)
	v.Set(old)
	if bytes.Equal(empty, full) || req.IsFlexible() && len(full)-len(empty) > 0 && bytes.HasSuffix(full, empty) {
		return nil, false
	}
	if !bytes.Equal(null, empty) {
		return null, true
	}
	at := 0
	for empty[at] == full[at] {
		at++
	}
	switch {
	case req.IsFlexible() && empty[at] == 1:
		empty[at] = 0
	case !req.IsFlexible() && at >= 3 && bytes.Equal(empty[at-3:at+1], make([]byte, 4)):
		copy(empty[at-3:], []byte{0xff, 0xff, 0xff, 0xff})
	default:
		return nil, false
	}
	return empty, false
}

// fill gives every field a value and every slice an element.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if n := v.Type().Field(i).Name; n != "UnknownTags" && n != "Version" {
				fill(v.Field(i))
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte{1, 2, 3})
			return
		}
		one := reflect.MakeSlice(v.Type(), 1, 1)
		if d := one.Index(0).Addr().MethodByName("Default"); d.IsValid() {
			d.Call(nil)
		}
		fill(one.Index(0))
		v.Set(one)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.String:
		v.SetString("abc")
	}
}

// eachSlice calls f with each slice below v.
func eachSlice(v reflect.Value, f func(reflect.Value)) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if n := v.Type().Field(i).Name; n != "UnknownTags" && n != "Version" {
				eachSlice(v.Field(i), f)
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			eachSlice(v.Elem(), f)
		}
	case reflect.Slice:
		f(v)
		if v.Type().Elem().Kind() != reflect.Uint8 {
			eachSlice(v.Index(0), f)
		}
	}
}

// A request with null for an array is answered by closing the connection, as by Kafka 4.4.0.
func TestNullArrayCloses(t *testing.T) {
	h := New(Handler{Data: NewDataPlane(nil, func() int { return 1 }, nil)})
	f := func(key, version int16, body []byte) {
		t.Helper()
		req := kmsg.RequestForKey(key)
		req.SetVersion(version)
		c := callOf(req)
		c.body = body
		h.Serve(c)
		if c.closed == "" {
			t.Errorf("%s version %d: not closed", kmsg.NameForKey(key), version)
		}
	}
	f(19, 4, []byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1, 0})               // CreateTopics: topics
	f(19, 5, []byte{0, 0, 0, 0, 1, 0, 0})                                 // the same, flexible
	f(0, 8, []byte{0xff, 0xff, 0, 1, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff}) // Produce: topics
	f(0, 9, []byte{0, 0, 1, 0, 0, 0, 1, 2, 0, 1, 0, 0})                   // Produce: a topic's name
	f(37, 2, []byte{2, 2, 'a', 0, 0, 0, 2, 2, 0, 0, 0, 0, 0, 1, 0, 0})    // CreatePartitions: the brokers of an assignment
}
