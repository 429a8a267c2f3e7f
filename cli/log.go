package cli

import (
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/kaja-mq/kaja/config"
)

// logFormat is the variable by which a container image asks for one of the formats json, console and kafka.
const logFormat = "KAJA_LOG_FORMAT"

// newLogger writes to stdout: for people on a terminal, one JSON object per line otherwise, and in the pattern of Kafka's own logs
// when the environment asks for that.
func (p *Process) newLogger() zerolog.Logger {
	format := "json"
	if p.Terminal {
		format = "console"
	}
	for _, kv := range p.Env {
		if v, ok := strings.CutPrefix(kv, logFormat+"="); ok && v != "" {
			format = v
		}
	}
	out := p.Stdout
	switch format {
	case "console":
		out = zerolog.ConsoleWriter{Out: p.Stdout, TimeFormat: "15:04:05.000"}
	case "kafka":
		out = kafkaPattern(p.Stdout)
	}
	return zerolog.New(zerolog.SyncWriter(out)).Hook(timestamp{p})
}

// timestamp takes the time of log lines from the injected clock.
type timestamp struct{ p *Process }

// Run implements zerolog.Hook.
func (t timestamp) Run(e *zerolog.Event, _ zerolog.Level, _ string) {
	e.Str(zerolog.TimestampFieldName, t.p.Clock.Wall().UTC().Format("2006-01-02T15:04:05.000Z07:00"))
}

// rootLevel lets through what the root logger does: the process's own level is that of the most talkative logger.
type rootLevel struct{ loggers *config.Loggers }

// Run implements zerolog.Hook.
func (h rootLevel) Run(e *zerolog.Event, level zerolog.Level, _ string) {
	if !h.loggers.Passes(config.RootLogger, strings.ToUpper(level.String())) {
		e.Discard()
	}
}

// setLevel applies a level of log4j to the process.
func setLevel(level string) {
	l, err := zerolog.ParseLevel(strings.ToLower(level))
	if err != nil {
		l = zerolog.InfoLevel
	}
	zerolog.SetGlobalLevel(l)
}

// round is how durations are logged.
func round(d time.Duration) string { return d.Round(time.Millisecond / 10).String() }
