package config

import (
	"slices"
	"strings"
	"sync"
)

// LoggerLevel is a logger and its level, in Kafka's words.
type LoggerLevel struct{ Name, Level string }

// RootLogger is the logger whose level holds for every other one that has none of its own.
const RootLogger = "root"

// LoggerPrefix begins the names of the loggers of parts of kaja, before what their log lines call component.
const LoggerPrefix = "kaja."

// components are the loggers besides root, sorted. Kafka has one for each class; those names are not known here.
var components = [...]string{"kaja.console", "kaja.content", "kaja.controller", "kaja.group-coordinator", "kaja.handler", "kaja.metadata-log", "kaja.network", "kaja.replica", "kaja.storage",
	"kaja.txn-coordinator"}

// levels of log4j, in the order in which Kafka lists them.
const levels = "DEBUG,ERROR,FATAL,INFO,TRACE,WARN"

// byVerbosity are the levels, that which lets most through first.
var byVerbosity = []string{"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"}

// Loggers are the levels that BROKER_LOGGER resources show and change. Safe for concurrent use.
type Loggers struct {
	mu    sync.RWMutex
	own   map[string]string // levels that were set, root's among them; guarded by mu
	apply func()            // guarded by mu
}

func newLoggers(level string) *Loggers {
	return &Loggers{own: map[string]string{RootLogger: level}}
}

// OnChange sets who is told of every change from now on; f is called without locks.
func (l *Loggers) OnChange(f func()) {
	l.mu.Lock()
	l.apply = f
	l.mu.Unlock()
}

// Levels lists the loggers by name with the levels that hold for them.
func (l *Loggers) Levels() []LoggerLevel {
	out := make([]LoggerLevel, 0, len(components)+1)
	for _, name := range components {
		out = append(out, LoggerLevel{name, l.Level(name)})
	}
	return append(out, LoggerLevel{RootLogger, l.Level(RootLogger)})
}

// Level is the level that holds for a logger.
func (l *Loggers) Level(name string) string {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if v, ok := l.own[name]; ok {
		return v
	}
	return l.own[RootLogger]
}

// Passes tells whether a logger lets lines of the level through.
func (l *Loggers) Passes(name, level string) bool {
	return slices.Index(byVerbosity, level) >= slices.Index(byVerbosity, l.Level(name))
}

// Lowest is the level of the logger that lets most through.
func (l *Loggers) Lowest() string {
	l.mu.RLock()
	defer l.mu.RUnlock()
	lowest := l.own[RootLogger]
	for _, v := range l.own {
		if slices.Index(byVerbosity, v) < slices.Index(byVerbosity, lowest) {
			lowest = v
		}
	}
	return lowest
}

// Validate checks an operation on a logger with Kafka's texts.
func (l *Loggers) Validate(op Op, name, level string) error {
	if op == OpAppend || op == OpSubtract {
		word := map[Op]string{OpAppend: "APPEND", OpSubtract: "SUBTRACT"}[op]
		return badRequest(name, word+" operation is not allowed for the BROKER_LOGGER resource")
	}
	switch {
	case name != RootLogger && !slices.Contains(components[:], name):
		return badConfig(name, "Logger "+name+" does not exist!")
	case op == OpDelete && name == RootLogger:
		return badRequest(name, "Removing the log level of the root logger is not allowed")
	case op == OpSet && !oneOf(levels, level):
		return badConfig(name, "Cannot set the log level of "+name+" to "+level+" as it is not a supported log level. Valid log levels are "+strings.ReplaceAll(levels, ",", ", "))
	}
	return nil
}

// Alter validates and applies an operation; a deleted level is root's again.
func (l *Loggers) Alter(op Op, name, level string) error {
	if err := l.Validate(op, name, level); err != nil {
		return err
	}
	l.mu.Lock()
	if op == OpDelete {
		delete(l.own, name)
	} else {
		l.own[name] = level
	}
	apply := l.apply
	l.mu.Unlock()
	if apply != nil {
		apply()
	}
	return nil
}

// start sets the levels that KAFKA_LOG4J_LOGGERS asks for (name=LEVEL, separated by commas). Names of Kafka's classes are passed over: the
// images' defaults are full of them.
func (l *Loggers) start(text string) {
	for _, e := range splitList(text) {
		if name, level, ok := strings.Cut(e, "="); ok && trim(name) != RootLogger {
			_ = l.Alter(OpSet, trim(name), strings.ToUpper(trim(level))) // not one of ours
		}
	}
}
