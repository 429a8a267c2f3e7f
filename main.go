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
	listen := func(to ...os.Signal) { signal.Notify(signals, to...) }
	lengthen := func(args, env []string) error {
		signal.Stop(signals)       // a signal ends a process that is about to become its successor
		defer listen(endings()...) // from now on, for a broker
		if len(signals) > 0 {
			return nil
		}
		return naps.Lengthen(args, env)
	}
	listen(syscall.SIGTERM, syscall.SIGINT)
	os.Exit(cli.Main(cli.Process{Args: os.Args, Env: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Terminal: isatty.IsTerminal(os.Stdout.Fd()),
		FS: vfs.OS(), Clock: clock.System(), Signals: signals, TempDir: os.TempDir(), Lengthen: lengthen}))
}

// endings are the signals that end a broker cleanly, those of Kafka's: SIGHUP too, which a closed terminal sends, unless nohup has it ignored.
func endings() []os.Signal {
	out := []os.Signal{syscall.SIGTERM, syscall.SIGINT}
	if !signal.Ignored(syscall.SIGHUP) {
		out = append(out, syscall.SIGHUP)
	}
	return out
}
