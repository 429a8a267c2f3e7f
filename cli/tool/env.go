package tool

import (
	"fmt"
	"io"
	"os"

	"github.com/kaja-mq/kaja/internal/clock"
	"github.com/kaja-mq/kaja/internal/vfs"
)

// Version is the release of Kafka whose tools these are, as their --version tells it.
const Version = "4.4.0"

// Env is what a tool knows of the world.
type Env struct {
	Name           string   // the name it was called by
	Args           []string // without the name
	Getenv         func(string) string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	FS             vfs.FS
	Clock          clock.Clock
	// Signals delivers SIGTERM and SIGINT: the tools that run until they are told end by them.
	Signals <-chan os.Signal
}

// printf writes to standard output.
func (e *Env) printf(format string, args ...any) { fmt.Fprintf(e.Stdout, format, args...) }

// println writes a line to standard output.
func (e *Env) println(args ...any) { fmt.Fprintln(e.Stdout, args...) }

// errorf writes to standard error.
func (e *Env) errorf(format string, args ...any) { fmt.Fprintf(e.Stderr, format, args...) }

// uncaught tells an exception that no tool of Kafka catches, as the Java runtime does, and returns its exit code.
func (e *Env) uncaught(err error) int {
	e.errorf("Exception in thread \"main\" %s\n", javaToString(err))
	return 1
}

// printVersion is what --version does.
func (e *Env) printVersion() int {
	e.println(Version)
	return 0
}
