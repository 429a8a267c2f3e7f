package config

import (
	"sort"
	"strings"
	"sync"
)

// LoggerLevel is a logger and its level, in Kafka's words.
type LoggerLevel struct{ Name, Level string }

// RootLogger is the logger that every other one falls back to.
const RootLogger = "root"

// levels of log4j, in the order in which Kafka lists them.
const levels = "DEBUG,ERROR,FATAL,INFO,TRACE,WARN"

// Loggers are the levels that BROKER_LOGGER resources show and change. Safe for concurrent use.
type Loggers struct {
	mu     sync.Mutex
	levels map[string]string        // guarded by mu
	apply  func(name, level string) // guarded by mu
}

func newLoggers(level string) *Loggers {
	return &Loggers{levels: map[string]string{RootLogger: level}}
}

// OnChange sets who is told of every change from now on; f is called without locks.
func (l *Loggers) OnChange(f func(name, level string)) {
	l.mu.Lock()
	l.apply = f
	l.mu.Unlock()
}

// Levels lists the loggers by name.
func (l *Loggers) Levels() []LoggerLevel {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]LoggerLevel, 0, len(l.levels))
	for n, v := range l.levels {
		out = append(out, LoggerLevel{n, v})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// Validate checks an operation on a logger with Kafka's texts.
func (l *Loggers) Validate(op Op, name, level string) error {
	if op == OpAppend || op == OpSubtract {
		word := map[Op]string{OpAppend: "APPEND", OpSubtract: "SUBTRACT"}[op]
		return badRequest(name, word+" operation is not allowed for the BROKER_LOGGER resource")
	}
	known := false
	for _, o := range l.Levels() {
		known = known || o.Name == name
	}
	switch {
	case !known:
		return badConfig(name, "Logger "+name+" does not exist!")
	case op == OpDelete && name == RootLogger:
		return badRequest(name, "Removing the log level of the root logger is not allowed")
	case op == OpSet && !oneOf(levels, level):
		return badConfig(name, "Cannot set the log level of "+name+" to "+level+" as it is not a supported log level. Valid log levels are "+strings.ReplaceAll(levels, ",", ", "))
	}
	return nil
}

// Alter validates and applies an operation.
func (l *Loggers) Alter(op Op, name, level string) error {
	if err := l.Validate(op, name, level); err != nil {
		return err
	}
	if op != OpSet {
		return nil
	}
	l.mu.Lock()
	l.levels[name] = level
	apply := l.apply
	l.mu.Unlock()
	if apply != nil {
		apply(name, level)
	}
	return nil
}
