package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kaja-mq/kaja/internal/clock"
	"github.com/kaja-mq/kaja/internal/vfs"
	"github.com/kaja-mq/kaja/server"
)

// Exit codes.
const (
	ExitOK    = 0
	ExitError = 1   // it could not be started, or ended because it could not go on
	ExitUsage = 2   // the command line is wrong
	exitAbort = 130 // ended by a second signal
)

// Process is what a command knows of the world.
type Process struct {
	Args   []string // with the program's name
	Env    []string // KEY=VALUE
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	// Terminal tells whether Stdout is one.
	Terminal bool
	FS       vfs.FS
	Clock    clock.Clock
	// Signals delivers SIGTERM and SIGINT to serve.
	Signals <-chan os.Signal
	// TempDir is where --ephemeral puts its directory.
	TempDir string
	// Lengthen executes the program again with longer naps of the runtime, or returns (internal/naps); nil leaves them.
	Lengthen func(args, env []string) error

	start   startFunc
	content *server.Content // what serve starts with; nil nothing
}

// usageError is a wrong command line.
type usageError struct{ error }

var errInterrupted = errors.New("interrupted; nothing was changed")

// interruptible runs a command that only looks until it is done or a signal comes.
func (p *Process) interruptible(run func() error) error {
	done := make(chan error, 1)
	go func() { done <- run() }() // abandoned only together with the process
	select {
	case err := <-done:
		return err
	case <-p.Signals:
		return errInterrupted
	}
}

// Main runs the command line and returns the exit code.
func Main(p Process) int {
	if t, args, ok := calledTool(p.Args); ok {
		return p.runTool(t, args)
	}
	if p.start == nil {
		p.start = startServer
	}
	root := p.root()
	args := arguments(p.Args, root)
	if len(args) > 0 && args[0] == serverStart {
		rest, code := p.startArguments(args[1:])
		if code >= 0 {
			return code
		}
		args = rest
		if len(rest) == 0 || rest[0] != "version" {
			args = append([]string{serverStart}, rest...)
		}
	}
	root.SetArgs(args)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	err := root.Execute()
	if err == nil {
		return ExitOK
	}
	fmt.Fprintln(p.Stderr, "kaja: "+oneLine(explain(err)))
	var usage usageError
	switch {
	case errors.Is(err, errAborted), errors.Is(err, errInterrupted):
		return exitAbort
	case errors.As(err, &usage):
		return ExitUsage
	}
	return ExitError
}

// arguments lets the program be called by the name of one of its commands (kafka-server-start.sh).
func arguments(args []string, root *cobra.Command) []string {
	if len(args) == 0 {
		return nil
	}
	name := strings.TrimSuffix(filepath.Base(args[0]), ".sh")
	for _, c := range root.Commands() {
		if c.Name() == name || c.HasAlias(name) {
			return append([]string{name}, args[1:]...)
		}
	}
	return args[1:]
}

func (p *Process) root() *cobra.Command {
	serve := p.serveCommand()
	root := &cobra.Command{
		Use:   "kaja [server.properties]",
		Short: "A broker that speaks Kafka: one process, no JVM.",
		Long: "kaja is a broker for Kafka's clients and tools. Without a command it serves: with a server.properties as that says, " +
			"without one as a single node on localhost:9092 with its data in ./kaja-data. Kafka's tools are in it under their names; kaja tools lists them.",
		Example: "  kaja                                  # one node on localhost:9092, data in ./kaja-data\n" +
			"  kaja serve --ephemeral                # the same, nothing is kept\n" +
			"  kaja serve server.properties --override num.partitions=3\n" +
			"  kaja kafka-topics --bootstrap-server localhost:9092 --list",
		Args:          serve.Args,
		RunE:          serve.RunE,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.Flags().AddFlagSet(serve.Flags())
	root.AddCommand(serve, p.checkCommand(), p.doctorCommand(), p.toolsCommand(), p.versionCommand())
	root.CompletionOptions.HiddenDefaultCmd = true
	for _, c := range append(root.Commands(), root) {
		c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	}
	addTools(root)
	return root
}

// oneLine keeps I1 whatever an error says.
func oneLine(s string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(s, "\n", " ")), " ")
}
