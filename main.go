// Command kaja is a broker that speaks Kafka. See kaja --help.
package main

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/mattn/go-isatty"

	"github.com/kaja-mq/kaja/cli"
	"github.com/kaja-mq/kaja/internal/clock"
	"github.com/kaja-mq/kaja/internal/naps"
	"github.com/kaja-mq/kaja/internal/vfs"
)

func main() {
	signals := make(chan os.Signal, 2) // the second ends the process at once
	listen := func() { signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT) }
	lengthen := func(args, env []string) error {
		signal.Stop(signals) // a signal ends a process that is about to become its successor
		defer listen()
		if len(signals) > 0 {
			return nil
		}
		return naps.Lengthen(args, env)
	}
	listen()
	os.Exit(cli.Main(cli.Process{Args: os.Args, Env: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Terminal: isatty.IsTerminal(os.Stdout.Fd()),
		FS: vfs.OS(), Clock: clock.System(), Signals: signals, TempDir: os.TempDir(), Lengthen: lengthen}))
}
