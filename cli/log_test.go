package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/kaja-mq/kaja/internal/clock"
)

// TestLogFormats: the environment chooses, then the terminal; Kafka's pattern is what tools parse that were made for Kafka's logs.
func TestLogFormats(t *testing.T) {
	f := func(env string, terminal bool, want string) {
		t.Helper()
		var out bytes.Buffer
		p := &Process{Env: []string{env}, Stdout: &out, Terminal: terminal, Clock: clock.NewManual(time.Date(2026, 5, 4, 7, 8, 9, 123e6, time.UTC))}
		log := p.newLogger()
		log.Warn().Str("component", "storage").Int("logs", 3).Msg("loaded [x=1] logs")
		if got := strings.TrimSpace(out.String()); got != want {
			t.Errorf("%s, terminal %v: got %q, want %q", env, terminal, got, want)
		}
	}
	const json = `{"level":"warn","component":"storage","logs":3,"time":"2026-05-04T07:08:09.123Z","message":"loaded [x=1] logs"}`
	f("", false, json)
	f("KAJA_LOG_FORMAT=json", true, json)
	f("KAJA_LOG_FORMAT=kafka", true, "[2026-05-04 07:08:09,123] WARN loaded [x=1] logs logs=3 (storage)")
}

// TestKafkaPatternWithoutComponent: every line names a logger.
func TestKafkaPatternWithoutComponent(t *testing.T) {
	var out bytes.Buffer
	p := &Process{Env: []string{"KAJA_LOG_FORMAT=kafka"}, Stdout: &out, Clock: clock.NewManual(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))}
	log := p.newLogger()
	log.Info().Msg("[KafkaServer id=1] started")
	if got, want := out.String(), "[2026-01-02 03:04:05,000] INFO [KafkaServer id=1] started (kaja)\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
