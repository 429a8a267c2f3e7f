package main

import (
	"bytes"
	"fmt"
	"strings"
)

var titles = map[string]string{"broker": "Broker properties", "topic": "Topic properties", "group": "Group properties", "metrics": "Client metrics properties"}

const preface = `# Configuration

Made by scripts/genconfig from config/properties.tsv and config/effects.tsv; do not edit by hand.

Every property of Apache Kafka 4.4.0 is known (those that only kaja has are at the end): it is read from server.properties, the environment and --override, checked as Kafka
checks it, and described by DescribeConfigs with Kafka's type and default. What kaja then does with it:

- **effective**: what Kafka does with it.
- **coming**: kept and described, read once the named feature is there.
- **without effect**: there is nothing in kaja that it could change; the reason is given.
- **not supported**: asks for something that kaja does not do; another value than the default gives one warning at start.
- **refused**: another value than the default stops the start with one line.

"update" is Kafka's update mode: read-only (server.properties only), per-broker, cluster-wide, or dynamic for the other resources.
A topic property that is not set takes the value of its broker property.
`

func page(rows []*row) []byte {
	var b bytes.Buffer
	b.WriteString(preface)
	for _, s := range scopes {
		fmt.Fprintf(&b, "\n## %s\n\n| name | type | default | update | in kaja | |\n|---|---|---|---|---|---|\n", titles[s])
		for _, r := range rows {
			if r.scope == s && r.visibility != "internal" {
				writeLine(&b, r)
			}
		}
		var hidden []string
		for _, r := range rows {
			if r.scope == s && r.visibility == "internal" && !own(r) {
				hidden = append(hidden, "`"+r.name+"` ("+word(r.effect)+")")
			}
		}
		if hidden != nil {
			fmt.Fprintf(&b, "\nAccepted, but never described, as in Kafka: %s.\n", strings.Join(hidden, ", "))
		}
	}
	b.WriteString(ownPreface)
	for _, r := range rows {
		if own(r) {
			writeLine(&b, r)
		}
	}
	return b.Bytes()
}

// own tells the properties that Kafka does not have.
func own(r *row) bool { return strings.HasPrefix(r.name, "kaja.") }

const ownPreface = `
## kaja's own properties

Kafka knows nothing of these, and DescribeConfigs does not show them. In the environment they are KAJA_CONSOLE_LISTENER and so on, or
KAFKA_KAJA_CONSOLE_LISTENER as any other property.

| name | type | default | update | in kaja | |
|---|---|---|---|---|---|
`

func writeLine(b *bytes.Buffer, r *row) {
	def := "`" + r.def + "`"
	switch r.def {
	case "<null>":
		def = "null"
	case "<none>":
		def = "must be given"
	case "":
		def = "empty"
	}
	text := r.doc
	if r.note != "" {
		if text != "" {
			text += " "
		}
		if r.effect == "coming" {
			text += "Comes with " + r.note + "."
		} else {
			text += r.note + "."
		}
	}
	if r.synonyms != "" {
		if text != "" {
			text += " "
		}
		text += "Broker: " + strings.ReplaceAll("`"+strings.ReplaceAll(r.synonyms, ",", "`, `")+"`", "*", " × ") + "."
	}
	fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s | %s |\n", r.name, strings.ToLower(r.typ), def, r.mode, word(r.effect), strings.ReplaceAll(text, "|", "\\|"))
}

func word(effect string) string {
	switch effect {
	case "none":
		return "without effect"
	case "unsupported":
		return "not supported"
	}
	return effect
}
