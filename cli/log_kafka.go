package cli

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/rs/zerolog"
)

// kafkaPattern writes lines as Kafka's log4j configuration does, [time] LEVEL message (logger), for tools that were made for those:
//
//	[2026-05-04 07:08:09,123] INFO loaded logs logs=3 took=1.2 (storage)
func kafkaPattern(out io.Writer) zerolog.ConsoleWriter {
	return zerolog.ConsoleWriter{
		Out: out, NoColor: true, FieldsExclude: []string{componentField},
		FormatTimestamp: func(v any) string {
			s, _ := v.(string) // the hook's format
			s = strings.TrimSuffix(strings.Replace(s, "T", " ", 1), "Z")
			return "[" + strings.Replace(s, ".", ",", 1) + "]"
		},
		FormatLevel: func(v any) string {
			s, _ := v.(string)
			return strings.ToUpper(s)
		},
		FormatExtra: func(event map[string]any, b *bytes.Buffer) error {
			logger, ok := event[componentField]
			if !ok {
				logger = "kaja"
			}
			_, err := fmt.Fprintf(b, " (%v)", logger)
			return err
		},
	}
}

// componentField is the field that names the part of the broker a line is from.
const componentField = "component"
