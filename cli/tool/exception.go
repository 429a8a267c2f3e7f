package tool

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
)

// exception is an error as Kafka's Java tools know it: some print what it says, some its class too.
type exception struct {
	class   string // with its package
	message string // empty for null
}

// Error is Java's getMessage.
func (e *exception) Error() string { return e.message }

// thrown makes an exception with a message of its own.
func thrown(class, format string, args ...any) *exception {
	return &exception{class, fmt.Sprintf(format, args...)}
}

// wrapped makes an exception of which only the cause is told, like Java's new RuntimeException(cause).
func wrapped(class string, cause error) *exception {
	return &exception{class, javaToString(cause)}
}

// javaToString is Java's toString of an error: class and message.
func javaToString(err error) string {
	var e *exception
	if !errors.As(err, &e) {
		return err.Error()
	}
	if e.message == "" {
		return e.class
	}
	return e.class + ": " + e.message
}

const (
	classRuntime         = "java.lang.RuntimeException"
	classExecution       = "java.util.concurrent.ExecutionException"
	classIllegalArgument = "java.lang.IllegalArgumentException"
	classIO              = "java.io.IOException"
	classNoSuchFile      = "java.nio.file.NoSuchFileException"
	classParse           = "java.text.ParseException"
	classKafka           = "org.apache.kafka.common.KafkaException"
	classConfig          = "org.apache.kafka.common.config.ConfigException"
	classSerialization   = "org.apache.kafka.common.errors.SerializationException"
	classTimeout         = "org.apache.kafka.common.errors.TimeoutException"
)

const errorsPackage = "org.apache.kafka.common.errors."

// exceptionOf is the exception of an error code, with the broker's message if it sent one; nil for no error. A code of a later
// Kafka is an unknown error, as for its clients.
func exceptionOf(code int16, message *string) error {
	if code == 0 {
		return nil
	}
	class, text := lookUpError(code)
	if message != nil {
		text = *message
	}
	return &exception{class, text}
}

func lookUpError(code int16) (class, message string) {
	_, line, found := strings.Cut(errorsText, "\n"+strconv.Itoa(int(code))+"\t")
	if !found {
		return lookUpError(-1)
	}
	line, _, _ = strings.Cut(line, "\n")
	class, message, _ = strings.Cut(line, "\t")
	if !strings.Contains(class, ".") {
		class = errorsPackage + class
	}
	return class, message
}

// asException is an error of the client library as Kafka's client would throw it: codes of the protocol by their number, a call
// that ended by its deadline or without a broker as call says.
func asException(err error, call string) error {
	var e *exception
	var code *kerr.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e):
		return e
	case errors.As(err, &code):
		return exceptionOf(code.Code, nil)
	}
	return thrown(classTimeout, "%s", call)
}

// errorName is the protocol's name of the error whose exception has the class, e.g. NOT_COORDINATOR.
func errorName(class string) string {
	before, _, found := strings.Cut(errorsText, "\t"+strings.TrimPrefix(class, errorsPackage)+"\t")
	code, err := strconv.ParseInt(before[strings.LastIndexByte(before, '\n')+1:], 10, 16)
	if !found || err != nil {
		return kerr.UnknownServerError.Message
	}
	return kerr.TypedErrorForCode(int16(code)).Message
}
