package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

const serverStart = "kafka-server-start"

// startArguments turns the arguments of Kafka's script into those of serve. Where code is not negative, the process ends with it: the usage was
// told, or the broker runs in the background.
func (p *Process) startArguments(args []string) (rest []string, code int) {
	if len(args) == 0 {
		fmt.Fprintf(p.Stdout, "USAGE: %s [-daemon] server.properties [--override property=value]*\n", p.Args[0])
		return nil, ExitError
	}
	name, daemon := "kafkaServer", false
	for len(args) > 0 && strings.HasPrefix(args[0], "-") && !strings.HasPrefix(args[0], "--") {
		switch {
		case args[0] == "-daemon":
			daemon = true
		case args[0] == "-name" && len(args) > 1:
			name, args = args[1], args[1:]
		case args[0] == "-loggc":
		default:
			return args, -1 // for serve to refuse
		}
		args = args[1:]
	}
	if i := slices.Index(args, "--version"); i == 0 {
		return []string{"version"}, -1
	}
	if !daemon {
		return args, -1
	}
	if err := p.background(name, args); err != nil {
		fmt.Fprintln(p.Stderr, "kaja: "+oneLine(err.Error()))
		return nil, ExitError
	}
	return nil, ExitOK
}

// background runs serve in a session of its own, with its output in LOG_DIR/<name>.out as Kafka's script has it; without LOG_DIR in ./logs.
func (p *Process) background(name string, args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir := p.getenv("LOG_DIR")
	if dir == "" {
		dir = "logs"
	}
	if err := p.FS.MkdirAll(filepath.ToSlash(dir)); err != nil {
		return fmt.Errorf("cannot make the folder for the broker's output (LOG_DIR): %w", err)
	}
	out, err := p.FS.Create(path.Join(filepath.ToSlash(dir), name+".out"))
	if err != nil {
		return fmt.Errorf("cannot write the broker's output (LOG_DIR): %w", err)
	}
	fd, ok := out.Fd()
	if !ok {
		return errors.Join(errors.New("the broker's output cannot go to this kind of file"), out.Close())
	}
	file := os.NewFile(fd, out.Name())
	cmd := exec.Command(self, append([]string{"serve"}, args...)...)
	cmd.Env = p.Env
	cmd.Stdout, cmd.Stderr = file, file
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return errors.Join(fmt.Errorf("cannot start the broker: %w", err), out.Close())
	}
	return errors.Join(cmd.Process.Release(), out.Close())
}
