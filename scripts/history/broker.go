package main

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// startLimit bounds a restart: recovery of what a run writes takes far less.
const startLimit = 60 * time.Second

// broker is the process that is killed.
type broker struct {
	addr    string
	command []string
	out     io.Writer

	mu    sync.Mutex
	cmd   *exec.Cmd // guarded by mu
	kills int
}

// start runs the broker and waits until it answers.
func (b *broker) start() error {
	cmd := exec.Command(b.command[0], b.command[1:]...)
	cmd.Stdout, cmd.Stderr = b.out, b.out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	b.mu.Lock()
	err := cmd.Start()
	if err == nil {
		b.cmd = cmd
	}
	b.mu.Unlock()
	if err != nil {
		return err
	}
	c := conn{addr: b.addr}
	defer c.close()
	for begin := time.Now(); time.Since(begin) < startLimit; pause(10 * time.Millisecond) {
		if _, err = c.do(kmsg.NewPtrApiVersionsRequest()); err == nil {
			return nil
		}
	}
	return fmt.Errorf("the broker does not answer %v after its start: %w", startLimit, err)
}

// kill ends the broker and waits for its end.
func (b *broker) kill(sig syscall.Signal) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cmd == nil {
		return
	}
	if err := syscall.Kill(-b.cmd.Process.Pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		fmt.Println("kill:", err)
	}
	_ = b.cmd.Wait() // its exit code is that of the signal
	b.cmd = nil
}
