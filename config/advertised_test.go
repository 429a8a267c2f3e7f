package config

import (
	"fmt"
	"strings"
	"testing"
)

func TestAdvertised(t *testing.T) {
	f := func(lines, want string) {
		t.Helper()
		s, _ := load(t, Sources{FileName: "f", File: []byte(combined + "listeners=PLAINTEXT://0.0.0.0:9092,IN://0.0.0.0:9094,CONTROLLER://:9093\n" +
			"listener.security.protocol.map=PLAINTEXT:PLAINTEXT,IN:PLAINTEXT,CONTROLLER:PLAINTEXT\n" + lines)})
		got := ""
		for _, a := range s.Advertised() {
			got += fmt.Sprintf("%s %s:%d %t;", a.Name, a.Host, a.Port, a.Auto)
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", lines, got, want)
		}
	}
	f("advertised.listeners=auto", "PLAINTEXT :9092 true;IN :9094 true;")
	f("advertised.listeners=PLAINTEXT://h:1,IN://Auto:19094", "PLAINTEXT h:1 false;IN :19094 true;")
	f("advertised.listeners=PLAINTEXT://:1", "PLAINTEXT :1 false;")
}

// TestAlterAdvertised: advertised.listeners may be set for one broker while it runs, unlike in Kafka 4.4; it is still described as read-only.
func TestAlterAdvertised(t *testing.T) {
	r := resolver(t, "", nil, nil)
	f := func(value, want string) {
		t.Helper()
		err := r.ValidateChange(map[string]string{"advertised.listeners": value}, nil, true)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", value, err, want)
		}
	}
	f("PLAINTEXT://192.0.2.1:30001", "")
	f("auto", "")
	f("PLAINTEXT://0.0.0.0:1", "clients cannot connect to it")
	f("OTHER://h:1", "no security protocol is defined for listener OTHER")
	f("PLAINTEXT://h", "has no port")
	f("", "must not be empty")
	if err := r.ValidateChange(map[string]string{"advertised.listeners": "auto"}, nil, false); err == nil || !strings.Contains(err.Error(), "broker id must be specified") {
		t.Errorf("at the cluster's level: %v", err)
	}
	set := Broker(r.Static(), nil, map[string]string{"advertised.listeners": "PLAINTEXT://192.0.2.1:30001"})
	if v := set.Str("advertised.listeners"); v != "PLAINTEXT://192.0.2.1:30001" {
		t.Errorf("effective %q", v)
	}
	if Lookup(ScopeBroker, "advertised.listeners").Mode != ReadOnly {
		t.Error("is not described as Kafka does")
	}
}

func TestConsoleAddress(t *testing.T) {
	f := func(value, want string) {
		t.Helper()
		s, _ := load(t, Sources{Env: []string{"KAJA_CONSOLE_LISTENER=" + value, "KAJA_HOME=/x"}})
		got, on := s.Console()
		if got != want || on != (want != "") || !s.DefaultMode() {
			t.Errorf("%q: got %q, %t, default mode %t; want %q", value, got, on, s.DefaultMode(), want)
		}
	}
	f("", "")
	f("9644", "localhost:9644")
	f(":9644", "localhost:9644")
	f("127.0.0.1:0", "127.0.0.1:0")
	f("0.0.0.0:9644", "0.0.0.0:9644")
	f("[::1]:9644", "[::1]:9644")
	for _, bad := range []string{"x", "host", "h:x", "1:2:3", "h:70000"} {
		if _, _, err := Load(Sources{Overrides: []string{"kaja.console.listener=" + bad}}); err == nil || !strings.Contains(err.Error(), "not of the form host:port") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
