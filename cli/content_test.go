package cli

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/rs/zerolog"

	"github.com/kaja-mq/kaja/config"
)

// TestContentFromFlagAndEnvironment: --content, KAJA_CONTENT and KAFKA_CREATE_TOPICS, without giving up the defaults of a start without settings.
func TestContentFromFlagAndEnvironment(t *testing.T) {
	f := func(args, env []string, want string) {
		t.Helper()
		w := newWorld(args...)
		w.Env = env
		if err := errors.Join(w.FS.MkdirAll("/c"), w.FS.WriteFile("/c/c.yaml", []byte("topics: [a, {name: b, partitions: 2}]"))); err != nil {
			t.Fatal(err)
		}
		w.signalWhen(ready, syscall.SIGTERM)
		got := ""
		start := w.start
		w.start = func(p *Process, cfg *config.Static, log zerolog.Logger) (broker, error) {
			if p.content != nil {
				got = strings.Join(p.content.Topics(), " ")
			}
			return start(p, cfg, log)
		}
		w.run(t, ExitOK, "")
		if got != want || !w.cfg.DefaultMode() {
			t.Errorf("%v %v: topics %q, want %q; default mode %t", args, env, got, want, w.cfg.DefaultMode())
		}
	}
	f([]string{"--content", "/c/c.yaml"}, nil, "a b")
	f([]string{"serve", "--content=/c/c.yaml"}, []string{"KAJA_CONTENT=/nowhere"}, "a b")
	f(nil, []string{"KAJA_CONTENT=/c/c.yaml", "KAFKA_CREATE_TOPICS=c:1:1,a:9"}, "a b c")
	f(nil, []string{"KAFKA_CREATE_TOPICS=x:1:1\ny:1:1:compact"}, "x y")
	f(nil, nil, "")
}

// TestContentMistakes: they end the start before anything is opened.
func TestContentMistakes(t *testing.T) {
	f := func(text, env, want string) {
		t.Helper()
		w := newWorld("--content", "/c.yaml")
		w.Env = []string{env}
		if text != "" {
			if err := w.FS.WriteFile("/c.yaml", []byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		w.run(t, ExitError, want)
		if w.cfg != nil {
			t.Error("the broker was started")
		}
	}
	f("", "", "kaja: cannot read the content: ")
	f("topics:\n- nme: a\n", "", "kaja: /c.yaml:2: a topic has no nme; known are name")
	f("topics: []", "KAFKA_CREATE_TOPICS=a:b:c", "kaja: KAFKA_CREATE_TOPICS: entry 1 (a:b:c): partitions must be a number")
}
