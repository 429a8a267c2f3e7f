package cli

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/kaja-mq/kaja/config"
	"github.com/kaja-mq/kaja/server"
)

// broker is what serve needs of a running one.
type broker interface {
	// Done is closed when the broker ended by itself; Err says why.
	Done() <-chan struct{}
	Err() error
	Close() error
}

// startFunc starts a broker and returns when it serves.
type startFunc func(p *Process, cfg *config.Static, log zerolog.Logger) (broker, error)

func (p *Process) serveCommand() *cobra.Command {
	var overrides []string
	var content string
	var ephemeral bool
	c := &cobra.Command{
		Use:     "serve [server.properties]",
		Aliases: []string{"kafka-server-start"},
		Short:   "Run the broker",
		Long: "Run the broker until SIGTERM or SIGINT. Settings come from --override, else from KAFKA_* in the environment, else from the " +
			"file, else they are Kafka's defaults. With neither file nor environment it is one node on localhost:9092 with its data in ./kaja-data.",
		Example: "  kaja serve server.properties\n" +
			"  kaja serve --ephemeral --override listeners=PLAINTEXT://127.0.0.1:19092\n" +
			"  kaja serve --content topics.yaml\n" +
			"  KAFKA_NUM_PARTITIONS=3 kaja serve",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageError{fmt.Errorf("serve takes one server.properties, got %q", args)}
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			src := config.Sources{Env: p.Env, Overrides: overrides, Ephemeral: ephemeral}
			if len(args) == 1 {
				src.FileName = args[0]
			}
			if content != "" {
				src.Overrides = append(src.Overrides, "kaja.content="+content)
			}
			return p.serve(src)
		},
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	c.Flags().StringArrayVar(&overrides, "override", nil, "set `KEY=VALUE`, stronger than file and environment; may be repeated")
	c.Flags().StringVar(&content, "content", "", "make the topics and records of this `FILE` (YAML) that are missing; see docs/content.md")
	c.Flags().BoolVar(&ephemeral, "ephemeral", false, "keep the data in a temporary directory and remove it at the end")
	return c
}

func (p *Process) serve(src config.Sources) (err error) {
	begin := p.Clock.Mono()
	if p.Lengthen != nil {
		if err := p.Lengthen(p.Args, p.Env); err != nil {
			return usageError{err}
		}
	}
	if src.FileName != "" {
		if src.File, err = p.FS.ReadFile(src.FileName); err != nil {
			return fmt.Errorf("cannot read the configuration: %w", err)
		}
	}
	if src.Ephemeral {
		if src.DataDir, err = p.ephemeralDir(); err != nil {
			return err
		}
		defer func() {
			rm := p.FS.RemoveAll(src.DataDir)
			if !errors.Is(err, errAborted) { // a broker that is still at work may be in the way
				err = errors.Join(err, rm)
			}
		}()
	}
	cfg, warnings, err := config.Load(src)
	if err != nil {
		return err
	}
	setLevel(cfg.Loggers().Lowest())
	cfg.Loggers().OnChange(func() { setLevel(cfg.Loggers().Lowest()) })
	base := p.newLogger()
	log := base.Hook(rootLevel{cfg.Loggers()})
	for _, w := range warnings {
		log.Warn().Msg(w)
	}
	if err := p.readContent(cfg); err != nil {
		return err
	}
	p.limitMemory(log)
	b, stop, err := p.startUnlessStopped(cfg, base)
	if err != nil {
		return err
	}
	if stop {
		return p.stop(b, log)
	}
	log.Info().Str("took", round(p.Clock.Mono().Sub(begin))).Str("version", version()).Str("listeners", listenerText(cfg)).Str("data", strings.Join(cfg.LogDirs(), ",")).Msg("serving")
	announce(log, cfg)
	return p.wait(b, log)
}

// readContent reads what the broker is to start with, before anything else is done: a mistake in it leaves no trace.
func (p *Process) readContent(cfg *config.Static) error {
	if name := cfg.Content(); name != "" {
		data, err := p.FS.ReadFile(name)
		if err != nil {
			return fmt.Errorf("cannot read the content: %w", err)
		}
		if p.content, err = server.ParseContent(nil, name, data); err != nil {
			return err
		}
	}
	var err error
	p.content, err = server.ParseCreateTopics(p.content, cfg.CreateTopics())
	return err
}

// startUnlessStopped starts the broker. A signal meanwhile (recovery may take long) is heeded as soon as it serves; a second one ends the
// process at once.
func (p *Process) startUnlessStopped(cfg *config.Static, log zerolog.Logger) (_ broker, stop bool, _ error) {
	type result struct {
		b   broker
		err error
	}
	started := make(chan result, 1)
	go func() { // ends with start; abandoned only together with the process
		b, err := p.start(p, cfg, log)
		started <- result{b, err}
	}()
	select {
	case r := <-started:
		return r.b, false, r.err
	case <-p.Signals:
		log.Info().Msg("will stop as soon as the start is done")
	}
	first := p.Clock.Mono()
	for {
		select {
		case r := <-started:
			return r.b, true, r.err
		case <-p.Signals:
			if p.again(first) {
				return nil, true, errAborted
			}
		}
	}
}

// sameSignal is how long after the first signal others are taken for the same: timeout(1) and some init processes send it to the
// process and to its group.
const sameSignal = 500 * time.Millisecond

// again tells whether a signal that came now is a second one.
func (p *Process) again(first time.Time) bool { return p.Clock.Mono().Sub(first) >= sameSignal }

// ephemeralDir makes a directory that nobody else has.
func (p *Process) ephemeralDir() (string, error) {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	dir := filepath.Join(p.TempDir, "kaja-"+hex.EncodeToString(b[:]))
	if err := p.FS.MkdirAll(dir); err != nil {
		return "", fmt.Errorf("cannot make the temporary data directory: %w", err)
	}
	return dir, nil
}

func listenerText(cfg *config.Static) string {
	var out []string
	for _, l := range cfg.Listeners() {
		out = append(out, l.Name+"://"+l.Addr())
	}
	return strings.Join(out, ",")
}

// announce logs the lines by which container tooling knows that a Kafka is ready. Their text is a contract: the first two are those
// of Kafka in KRaft mode, the third that of older versions, which some tools still wait for.
func announce(log zerolog.Logger, cfg *config.Static) {
	id := cfg.NodeID()
	if cfg.IsBroker() {
		log.Info().Msg(fmt.Sprintf("[BrokerLifecycleManager id=%d] The broker has been unfenced. Transitioning from RECOVERY to RUNNING.", id))
	}
	log.Info().Msg(fmt.Sprintf("[KafkaRaftServer nodeId=%d] Kafka Server started", id))
	if cfg.IsBroker() {
		log.Info().Msg(fmt.Sprintf("[KafkaServer id=%d] started", id))
	}
}

// wait stops the broker on a signal. A broker that ended by itself is an error.
func (p *Process) wait(b broker, log zerolog.Logger) error {
	select {
	case <-b.Done():
		return errors.Join(b.Err(), b.Close())
	case <-p.Signals:
	}
	return p.stop(b, log)
}

// stop closes the broker; a second signal ends the process.
func (p *Process) stop(b broker, log zerolog.Logger) error {
	log.Info().Msg("stopping")
	begin := p.Clock.Mono()
	stopped := make(chan error, 1)
	go func() { stopped <- b.Close() }() // ends with Close; abandoned only together with the process
	for {
		select {
		case err := <-stopped:
			if err == nil {
				log.Info().Str("took", round(p.Clock.Mono().Sub(begin))).Msg("stopped")
			}
			return err
		case <-p.Signals:
			if p.again(begin) {
				return errAborted
			}
		}
	}
}

var errAborted = errors.New("stopped by a second signal before everything was written; the next start recovers")
