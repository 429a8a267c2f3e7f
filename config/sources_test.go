package config

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestPropertiesAsJava compares with what java.util.Properties read from the same bytes.
func TestPropertiesAsJava(t *testing.T) {
	data, err := os.ReadFile("testdata/properties.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		var c struct {
			In  string
			Out map[string]string
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		raw := make([]byte, 0, len(c.In))
		for _, r := range c.In {
			raw = append(raw, byte(r)) // the case names the bytes of ISO-8859-1
		}
		got, err := readProperties(raw)
		delete(c.Out, "") // lines without a key are dropped
		if c.Out == nil {
			if err == nil {
				t.Errorf("%q: got %q, want an error", c.In, got)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(got, c.Out) {
			t.Errorf("%q: got %q, %v, want %q", c.In, got, err, c.Out)
		}
	}
}

func TestPropertyOfVariable(t *testing.T) {
	f := func(variable, text, want string) {
		t.Helper()
		if got := propertyOf(variable, text); got != want {
			t.Errorf("%s=%s: got %q, want %q", variable, text, got, want)
		}
	}
	f("KAFKA_A_B", "1", "a.b")
	f("KAFKA_A__B", "1", "a_b")
	f("KAFKA_A___B", "1", "a-b")
	f("KAFKA_A____B", "1", "a-.b")
	f("KAFKA_A_____B", "1", "a-_b")
	f("KAFKA_X_KAFKA_Y", "1", "x.kafka.y")
	f("KAFKA_JMX_PORT", "9999", "jmx.port")
	f("KAFKA_LISTENER_NAME_SECURE_SCRAM-SHA-512_SASL_JAAS_CONFIG", "x", "listener.name.secure.scram-sha-512.sasl.jaas.config")
	f("KAFKA_CFG_NUM_PARTITIONS", "3", "num.partitions")
	f("KAFKA_", "1", "")
	f("OTHER_A", "1", "")
	for _, excluded := range strings.Split(notSettings, ",") {
		f(excluded, "1", "")
	}
	if n := len(strings.Split(notSettings, ",")); n != 11 {
		t.Errorf("%d excluded names, want 11", n)
	}
	f("KAFKA_PORT", "tcp://10.0.0.1:9092", "")
	f("KAFKA_BROKER_PORT", "tcp://10.0.0.1:9092", "")
	f("KAFKA_SERVICE_HOST", "10.0.0.1", "")
	f("KAFKA_SERVICE_PORT", "9092", "")
	f("KAFKA_SERVICE_PORT_CLIENT", "9092", "")
	f("KAFKA_PORT_9092_TCP", "tcp://10.0.0.1:9092", "")
	f("KAFKA_PORT_9092_TCP_ADDR", "10.0.0.1", "")
	f("KAFKA_PORT", "9092", "port")
}

// FuzzReadProperties: any bytes give properties or an error, and what was read survives being written and read again.
func FuzzReadProperties(f *testing.F) {
	f.Add([]byte("a=b\\\n c\nx : y"))
	f.Add([]byte("k=\\u00e9${x}\r\n!c\r#d"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := readProperties(data)
		if err != nil {
			return
		}
		var b strings.Builder
		for k, v := range m {
			if strings.ContainsRune(k+v, utf8.RuneError) || strings.ContainsFunc(k+v, func(r rune) bool { return r > 0xffff }) {
				return
			}
			b.WriteString(escapeProperty(k) + "=" + escapeProperty(v) + "\n")
		}
		again, err := readProperties([]byte(b.String()))
		if err != nil || !reflect.DeepEqual(again, m) {
			t.Errorf("%q read as %q, then as %q, %v", data, m, again, err)
		}
	})
}

// escapeProperty writes every character but letters and digits as an escape.
func escapeProperty(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < 0x80 && (r >= 'a' && r <= 'z' || r >= '0' && r <= '9') {
			b.WriteRune(r)
			continue
		}
		const hex = "0123456789abcdef"
		b.WriteString(`\u`)
		for shift := 12; shift >= 0; shift -= 4 {
			b.WriteByte(hex[r>>shift&15])
		}
	}
	return b.String()
}
