package tool

import (
	"errors"
	"fmt"
)

// joptCommand is what the tools with jopt-simple share: a table of options and the command line.
type joptCommand struct {
	*joptSet
	parser        *joptParser
	help, version *joptSpec
}

func newJoptCommand() joptCommand {
	var c joptCommand
	c.parser, c.help, c.version = newJopt(false)
	return c
}

// read reads the command line.
func (c *joptCommand) read(args []string) (err error) {
	c.joptSet, err = c.parser.parse(args)
	return err
}

// wrongUse is an error after which the table of options is printed.
type wrongUse struct{ message string }

func (w wrongUse) Error() string { return w.message }

// helpOrVersion is CommandLineUtils.maybePrintHelpOrVersion: it ends a tool without arguments, with --help or with --version.
func (c *joptCommand) helpOrVersion(args []string, message string) error {
	switch {
	case len(args) == 0 || c.has(c.help):
		return wrongUse{message}
	case c.has(c.version):
		return errVersion
	}
	return nil
}

// ended tells the exit code of errors that end a tool before it began.
func (c *joptCommand) ended(e *Env, err error) (code int, yes bool) {
	var w wrongUse
	switch {
	case errors.As(err, &w):
		return c.parser.usage(e, w.message), true
	case errors.Is(err, errVersion):
		return e.printVersion(), true
	}
	return 0, false
}

// require is CommandLineUtils.checkRequiredArgs.
func (c *joptCommand) require(specs ...*joptSpec) error {
	for _, s := range specs {
		if !c.has(s) {
			return wrongUse{fmt.Sprintf("Missing required argument \"%s\"", s)}
		}
	}
	return nil
}

// forbid is CommandLineUtils.checkInvalidArgs: with one option, none of the others.
func (c *joptCommand) forbid(used *joptSpec, others ...*joptSpec) error {
	if !c.has(used) {
		return nil
	}
	for _, s := range others {
		if c.has(s) {
			return wrongUse{fmt.Sprintf("Option \"%s\" can't be used with option \"%s\"", used, s)}
		}
	}
	return nil
}

// first is the first error of several checks.
func first(checks ...error) error {
	for _, err := range checks {
		if err != nil {
			return err
		}
	}
	return nil
}

// javaHash is the hash code of an option in Java.
func (s *joptSpec) javaHash() int32 {
	h := int32(1)
	for _, n := range s.names {
		h = 31*h + javaStringHash(n)
	}
	if s.accepts == joptOptional {
		h ^= 1
	}
	return h
}

// failed is how most tools end by an exception: its message, then the stack trace, of which the first line is kept.
func (e *Env) failed(err error) int {
	suppressed := ""
	var several *severalFailed
	if errors.As(err, &several) {
		suppressed = several.suppressed
	}
	e.errorf("%s\n%s%s\n\n", javaMessage(err), javaToString(err), suppressed)
	return 1
}

// tersely is failed for the tools that tell some errors by their message alone; 0 without an error.
func (e *Env) tersely(err error) int {
	switch {
	case err == nil:
		return 0
	case isClass(err, classTerse):
		e.errorf("%s\n", javaMessage(err))
		return 1
	}
	return e.failed(err)
}

// javaMessage is Java's getMessage as it is printed.
func javaMessage(err error) string {
	var x *exception
	if errors.As(err, &x) && x.message == "" {
		return "null"
	}
	return err.Error()
}
