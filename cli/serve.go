package cli

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/kaja-mq/kaja/config"
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
	var ephemeral bool
	c := &cobra.Command{
		Use:     "serve [server.properties]",
		Aliases: []string{"kafka-server-start"},
		Short:   "Run the broker",
		Long: "Run the broker until SIGTERM or SIGINT. Settings come from --override, else from KAFKA_* in the environment, else from the " +
			"file, else they are Kafka's defaults. With neither file nor environment it is one node on localhost:9092 with its data in ./kaja-data.",
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
			return p.serve(src)
		},
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	c.Flags().StringArrayVar(&overrides, "override", nil, "set `KEY=VALUE`, stronger than file and environment; may be repeated")
	c.Flags().BoolVar(&ephemeral, "ephemeral", false, "keep the data in a temporary directory and remove it at the end")
	return c
}

func (p *Process) serve(src config.Sources) (err error) {
	begin := p.Clock.Mono()
	if src.FileName != "" {
		if src.File, err = p.FS.ReadFile(src.FileName); err != nil {
			return fmt.Errorf("cannot read the configuration: %w", err)
		}
	}
	if src.Ephemeral {
		if src.DataDir, err = p.ephemeralDir(); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, p.FS.RemoveAll(src.DataDir)) }()
	}
	cfg, warnings, err := config.Load(src)
	if err != nil {
		return err
	}
	setLevel(cfg.Loggers().Levels()[0].Level)
	cfg.Loggers().OnChange(func(_, level string) { setLevel(level) })
	log := p.newLogger()
	for _, w := range warnings {
		log.Warn().Msg(w)
	}
	b, err := p.start(p, cfg, log)
	if err != nil {
		return err
	}
	log.Info().Str("took", round(p.Clock.Mono().Sub(begin))).Str("version", version()).Str("listeners", listenerText(cfg)).Str("data", strings.Join(cfg.LogDirs(), ",")).Msg("serving")
	announce(log, cfg)
	return p.wait(b, log)
}

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

// wait stops the broker on a signal; a second signal while it stops ends the process. A broker that ended by itself is an error.
func (p *Process) wait(b broker, log zerolog.Logger) error {
	select {
	case <-b.Done():
		return errors.Join(b.Err(), b.Close())
	case <-p.Signals:
	}
	log.Info().Msg("stopping")
	begin := p.Clock.Mono()
	stopped := make(chan error, 1)
	go func() { stopped <- b.Close() }() // ends with Close; abandoned only together with the process
	select {
	case err := <-stopped:
		if err == nil {
			log.Info().Str("took", round(p.Clock.Mono().Sub(begin))).Msg("stopped")
		}
		return err
	case <-p.Signals:
		return errAborted
	}
}

var errAborted = fmt.Errorf("stopped by a second signal before everything was written; the next start recovers: %w", exitCode(exitAbort))
