package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// broker is a broker's process, started in the foreground.
type broker struct {
	name    string
	command []string // {port} and {dir} are replaced
	port    int
	dir     string
	cmd     *exec.Cmd
	begun   time.Time
}

func (b *broker) start() error {
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return err
	}
	argv := make([]string, len(b.command))
	for i, a := range b.command {
		argv[i] = strings.NewReplacer("{port}", strconv.Itoa(b.port), "{dir}", b.dir).Replace(a)
	}
	log, err := os.OpenFile(b.dir+".log", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	b.cmd = exec.Command(argv[0], argv[1:]...)
	b.cmd.Stdout, b.cmd.Stderr = log, log
	b.begun = time.Now()
	if err := b.cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", b.name, err)
	}
	return nil
}

// stop ends the process and waits for it; how long that took.
func (b *broker) stop(sig syscall.Signal) (time.Duration, error) {
	if b.cmd == nil {
		return 0, nil
	}
	begin := time.Now()
	if err := b.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return 0, err
	}
	err := b.cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) { // a signal's
		err = nil
	}
	b.cmd = nil
	return time.Since(begin), err
}

// kafkaCommand starts Apache Kafka in the foreground.
func kafkaCommand(root string) ([]string, error) {
	if home := os.Getenv("KAFKA_HOME"); home != "" {
		return []string{filepath.Join(root, "scripts/versus/kafka-home"), home, "{dir}", "{port}"}, nil
	}
	script := os.Getenv("KAFKA")
	if script == "" {
		script = filepath.Join(root, "../shared/kafka/kafka")
	}
	if _, err := os.Stat(script); err != nil {
		return nil, fmt.Errorf("no Kafka to compare with: name a distribution in KAFKA_HOME, or a script in KAFKA: %w", err)
	}
	return []string{script, "serve", "{dir}", "{port}", "log.cleaner.backoff.ms=200"}, nil
}

// figures are what scripts/load prints.
type figures map[string]any

func (f figures) number(key string) (float64, bool) {
	v, ok := f[key].(float64)
	return v, ok
}

// loadTimeout bounds one run of the generator.
const loadTimeout = "300s"

func (c *comparison) load(b *broker, args ...string) (figures, error) {
	argv := append([]string{loadTimeout, c.generator}, args...)
	argv = append(argv, "-addr", fmt.Sprintf("127.0.0.1:%d", b.port), "-pid", strconv.Itoa(b.cmd.Process.Pid))
	cmd := exec.Command("timeout", argv...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	var f figures
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &f); err != nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(args, " "), err)
	}
	return f, nil
}
