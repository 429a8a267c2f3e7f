package tool

import (
	"slices"
	"strings"
	"unicode"
)

// The table of options that jopt-simple prints: two columns in 80 characters, continued lines indented by two, each cell padded.

const (
	joptWidth     = 80 // characters of a line
	joptSeparator = 2  // between the columns
	joptIndent    = "  "
)

type joptRow struct{ option, description string }

// help is the table of options.
func (p *joptParser) help() string {
	specs := slices.Clone(p.specs)
	slices.SortStableFunc(specs, func(a, b *joptSpec) int { return strings.Compare(a.names[0], b.names[0]) })
	rows := []joptRow{{"Option", "Description"}, {"------", "-----------"}}
	if slices.ContainsFunc(specs, func(s *joptSpec) bool { return s.required }) {
		rows = []joptRow{{"Option (* = required)", "Description"}, {"---------------------", "-----------"}}
	}
	for i, s := range specs {
		if i > 0 && s.names[0] == specs[i-1].names[0] {
			continue
		}
		rows = append(rows, joptRow{s.display(), s.displayDescription()})
	}
	return joptRender(joptFit(rows))
}

// usage tells what is wrong and how it would be right, and returns the exit code of that.
func (p *joptParser) usage(e *Env, message string) int {
	e.errorf("%s\n%s", message, p.help())
	return 1
}

func (s *joptSpec) display() string {
	var b strings.Builder
	if s.required {
		b.WriteString("* ")
	}
	for i, n := range s.names {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("-")
		if len(n) > 1 {
			b.WriteString("-")
		}
		b.WriteString(n)
	}
	if s.accepts == joptNone {
		return b.String()
	}
	text := string(s.typ)
	if s.argument != "" {
		text += ": " + s.argument
	}
	if s.accepts == joptRequired {
		return b.String() + " <" + text + ">"
	}
	return b.String() + " [" + text + "]"
}

func (s *joptSpec) displayDescription() string {
	switch len(s.defaults) {
	case 0:
		return s.description
	case 1:
		return strings.TrimSpace(s.description + " (default: " + s.defaults[0] + ")")
	}
	return strings.TrimSpace(s.description + " (default: [" + strings.Join(s.defaults, ", ") + "])")
}

func joptWidths(rows []joptRow) (option, description int) {
	for _, r := range rows {
		option = max(option, utf16Len(r.option))
		description = max(description, utf16Len(r.description))
	}
	option = min((joptWidth-joptSeparator)/2, option)
	return option, min(joptWidth-option-joptSeparator, description)
}

func joptFit(rows []joptRow) []joptRow {
	left, right := joptWidths(rows)
	var fitted []joptRow
	for _, r := range rows {
		options, descriptions := joptPieces(r.option, left), joptPieces(r.description, right)
		for i := range max(len(options), len(descriptions)) {
			var row joptRow
			if i < len(options) {
				row.option = options[i]
			}
			if i < len(descriptions) {
				row.description = descriptions[i]
			}
			fitted = append(fitted, row)
		}
	}
	return fitted
}

func joptRender(rows []joptRow) string {
	left, right := joptWidths(rows)
	var b strings.Builder
	pad := func(s string, width int) {
		b.WriteString(s)
		b.WriteString(strings.Repeat(" ", max(0, width-utf16Len(s))))
	}
	for _, r := range rows {
		pad(r.option, left)
		pad("", joptSeparator)
		pad(r.description, right)
		b.WriteByte('\n')
	}
	return b.String()
}

// joptPieces breaks a cell into lines. The rule counts trailing spaces of a line as part of its width.
func joptPieces(text string, width int) []string {
	var pieces []string
	for _, line := range strings.Split(strings.TrimFunc(text, func(r rune) bool { return r <= ' ' }), "\n") {
		next := ""
		for _, word := range breakLine(line) {
			if utf16Len(next)+utf16Len(word) > width {
				pieces = append(pieces, strings.TrimRightFunc(next, unicode.IsSpace))
				next = joptIndent + word
			} else {
				next += word
			}
		}
		if next != "" {
			pieces = append(pieces, next)
		}
	}
	return pieces
}

// utf16Len is the length of a string as Java counts it.
func utf16Len(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r > 0xffff {
			n++
		}
	}
	return n
}
