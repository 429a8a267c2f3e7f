package tool

import (
	"errors"
	"regexp/syntax"
	"strconv"
)

// warn is a line of a logger, in the pattern of the configuration that comes with Kafka's tools.
func (e *Env) warn(logger, message string) { e.logLine("WARN", logger, message, nil) }

// logError is such a line with the exception that caused it.
func (e *Env) logError(logger, message string, cause error) {
	e.logLine("ERROR", logger, message, cause)
}

func (e *Env) logLine(level, logger, message string, cause error) {
	e.errorf("[%s] %s %s (%s)\n", e.Clock.Wall().Format("2006-01-02 15:04:05,000"), level, message, logger)
	if cause != nil {
		e.errorf("%s\n", javaToString(cause))
	}
}

// decimal writes a whole number.
func decimal[N ~int | ~int32 | ~int64](n N) string { return strconv.FormatInt(int64(n), 10) }

// mustParseLong reads what the parser of options has found to be a long.
func mustParseLong(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64) // it is one
	return n
}

// re2Error is what RE2 calls the mistake in a regular expression.
func re2Error(err error) string {
	var wrong *syntax.Error
	if errors.As(err, &wrong) && wrong.Code == syntax.ErrUnexpectedParen {
		return "regexp/syntax: internal error" // RE2J's
	}
	if wrong != nil {
		return string(wrong.Code)
	}
	return err.Error()
}
