package tool

import (
	"errors"
	"io"
	"slices"
	"strings"
)

// What argparse4j prints: the usage, the help and what to say of an error, in lines that are filled up with spaces between words.

const (
	argWidth     = 75 // characters of a line
	argHelpAt    = 25 // column of the help
	argTitleFits = 21 // longer titles have a line for themselves
	argUsageMax  = 30 // a longer beginning of the usage has a line for itself
)

// fail tells an error of parse and returns the exit code of the library's parseArgsOrFail: 0 if it was the wish for help.
func (p *argParser) fail(e *Env, err error) int {
	var help errHelp
	switch {
	case errors.As(err, &help):
		writeText(e.Stdout, help.parser.fullHelp())
		return 0
	case errors.Is(err, errVersion):
		return e.printVersion()
	}
	p.tell(e.Stderr, err)
	return 1
}

// tell writes the usage and an error of parse.
func (p *argParser) tell(w io.Writer, err error) {
	var a *argError
	if !errors.As(err, &a) {
		a = &argError{parser: p, message: err.Error()}
	}
	text := a.parser.usage() + argWrap(a.parser.prog+": error: "+a.message+"\n", 0, "")
	if a.unknown != "" {
		text += a.candidates()
	}
	writeText(w, text)
}

func writeText(w io.Writer, text string) { _, _ = io.WriteString(w, text) }

// metavar is how an argument's values look in the usage.
func (s *argSpec) metavar() string {
	if !s.consumes() {
		return ""
	}
	m := s.metavarNames()
	second := m[min(1, len(m)-1)]
	switch {
	case s.min == 0 && s.max == 1:
		return "[" + m[0] + "]"
	case s.min == 0 && s.max == argMany:
		return "[" + m[0] + " [" + second + " ...]]"
	case s.min == 1 && s.max == argMany:
		return m[0] + " [" + second + " ...]"
	case s.min == -1:
		return m[0]
	}
	var all []string
	for i := range s.min {
		all = append(all, m[min(i, len(m)-1)])
	}
	return strings.Join(all, " ")
}

func (s *argSpec) metavarNames() []string {
	switch {
	case len(s.metavars) > 0:
		return s.metavars
	case len(s.choices) > 0:
		return []string{s.choice()}
	case s.typ == "Boolean":
		return []string{"{true,false}"}
	case s.name != "":
		return []string{s.dest}
	}
	return []string{strings.ToUpper(s.dest)}
}

// syntax is an argument in the usage.
func (s *argSpec) syntax(brackets bool) string {
	if s.name != "" {
		return s.metavar()
	}
	text := s.flags[0]
	if m := s.metavar(); m != "" {
		text += " " + m
	}
	if brackets && !s.required {
		text = "[" + text + "]"
	}
	return text
}

// syntax are the parts of a group of which one may be given.
func (g *argGroup) syntax() []string {
	var specs []*argSpec
	for _, s := range g.specs {
		if !s.hidden {
			specs = append(specs, s)
		}
	}
	if len(specs) == 0 {
		return nil
	}
	if len(specs) == 1 {
		return []string{specs[0].syntax(!g.required)}
	}
	start, end := "[", "]"
	if g.required {
		start, end = "(", ")"
	}
	var parts []string
	for i, s := range specs {
		text := s.syntax(false)
		if i == 0 {
			text = start + text
		} else {
			parts = append(parts, "|")
		}
		if i == len(specs)-1 {
			text += end
		}
		parts = append(parts, text)
	}
	return parts
}

// upper are the parts of the usage that a command has from the parser above it: what is required there.
func (p *argParser) upper() []string {
	if p == nil {
		return nil
	}
	parts := p.main.upper()
	if p.command != "" {
		parts = append(parts, p.command)
	}
	for _, s := range p.options {
		if !s.hidden && s.required && (s.group == nil || !s.group.exclusive) {
			parts = append(parts, s.syntax(true))
		}
	}
	for _, g := range p.groups {
		if g.exclusive && g.required {
			parts = append(parts, g.syntax()...)
		}
	}
	for _, s := range p.positionals {
		if !s.hidden {
			parts = append(parts, s.syntax(true))
		}
	}
	return parts
}

// commandChoice is the list of the commands, or what stands for it.
func (p *argParser) commandChoice() string {
	if p.commandsMetavar != "" {
		return p.commandsMetavar
	}
	var names []string
	for _, c := range p.commands {
		names = append(names, c.command)
	}
	return "{" + strings.Join(names, ",") + "}"
}

// usage is how the tool is called.
func (p *argParser) usage() string {
	parts := p.main.upper()
	if p.command != "" {
		parts = append(parts, p.command)
	}
	for _, s := range p.options {
		if !s.hidden && (s.group == nil || !s.group.exclusive) {
			parts = append(parts, s.syntax(true))
		}
	}
	for _, g := range p.groups {
		if g.exclusive {
			parts = append(parts, g.syntax()...)
		}
	}
	for _, s := range p.positionals {
		if !s.hidden {
			parts = append(parts, s.syntax(true))
		}
	}
	if len(p.commands) > 0 {
		parts = append(parts, p.commandChoice(), "...")
	}
	start := "usage: " + p.prog
	indent := strings.Repeat(" ", min(len(start), argUsageMax))
	width := len(start)
	var b strings.Builder
	b.WriteString(start)
	if len(start) > argUsageMax {
		indent = strings.Repeat(" ", 6)
		b.WriteString("\n" + indent)
		width = 2 * len(indent)
	}
	first := true
	for _, part := range parts {
		if !first && width+len(part)+1 > argWidth {
			b.WriteString("\n" + indent)
			width = len(indent)
		} else {
			first = false
		}
		b.WriteString(" " + part)
		width += 1 + len(part)
	}
	return b.String() + "\n"
}

// fullHelp is what --help prints.
func (p *argParser) fullHelp() string {
	var b strings.Builder
	b.WriteString(p.usage())
	if p.description != "" {
		b.WriteString("\n" + argWrap(p.description, 0, "") + "\n")
	}
	untitled := p.title == "" && p.titleText == ""
	if len(plainSpecs(p.positionals)) > 0 || len(p.commands) > 0 && untitled {
		b.WriteString("\npositional arguments:\n")
		p.specHelp(&b, plainSpecs(p.positionals))
		if untitled {
			p.commandHelp(&b)
		}
	}
	if specs := plainSpecs(p.options); len(specs) > 0 {
		b.WriteString("\noptional arguments:\n")
		p.specHelp(&b, specs)
	}
	if len(p.commands) > 0 && !untitled {
		b.WriteString("\n" + p.title + ":\n")
		if p.titleText != "" {
			b.WriteString("  " + argWrap(p.titleText, 2, "  ") + "\n\n")
		}
		p.commandHelp(&b)
	}
	for _, g := range p.groups {
		if g.separate() {
			b.WriteString("\n")
			if g.title != "" {
				b.WriteString(g.title + ":\n")
			}
			if g.description != "" {
				b.WriteString("  " + argWrap(g.description, 2, "  ") + "\n\n")
			}
			p.specHelp(&b, g.specs)
		}
	}
	if p.epilog != "" {
		b.WriteString("\n" + argWrap(p.epilog, 0, "") + "\n")
	}
	return b.String()
}

// separate tells whether a group has its own part of the help.
func (g *argGroup) separate() bool { return !g.exclusive || g.title != "" || g.description != "" }

func plainSpecs(specs []*argSpec) []*argSpec {
	return slices.DeleteFunc(slices.Clone(specs), func(s *argSpec) bool { return s.group != nil && s.group.separate() })
}

func (p *argParser) specHelp(b *strings.Builder, specs []*argSpec) {
	for _, s := range specs {
		if s.hidden {
			continue
		}
		help := s.help
		if p.defaultHelp && s.hasStd {
			text := strings.Join(s.standard, ", ")
			if s.max > 1 || s.action == argAppend {
				text = "[" + text + "]"
			}
			help = strings.TrimLeft(help+" (default: "+text+")", " ")
		}
		argHelpLine(b, s.helpTitle(), help)
	}
}

func (s *argSpec) helpTitle() string {
	if s.name != "" {
		return s.metavarNames()[0]
	}
	var parts []string
	for _, f := range s.flags {
		if m := s.metavar(); m != "" {
			f += " " + m
		}
		parts = append(parts, f)
	}
	return strings.Join(parts, ", ")
}

func (p *argParser) commandHelp(b *strings.Builder) {
	if len(p.commands) == 0 {
		return
	}
	argHelpLine(b, p.commandChoice(), "")
	for _, c := range p.commands {
		if c.summary != "" {
			argHelpLine(b, "  "+c.command, c.summary)
		}
	}
}

func argHelpLine(b *strings.Builder, title, help string) {
	b.WriteString("  " + title)
	if help != "" {
		indent := argHelpAt
		if len(title) <= argTitleFits {
			indent -= len(title) + 2
		} else {
			b.WriteByte('\n')
		}
		b.WriteString(strings.Repeat(" ", indent))
		b.WriteString(argWrap(help, argHelpAt, strings.Repeat(" ", argHelpAt)))
	}
	b.WriteByte('\n')
}

// argWrap breaks a text into lines, the first of which begins at a column, and fills all but the last up.
func argWrap(text string, at int, indent string) string {
	var out, line strings.Builder
	width := at
	for _, word := range breakLine(text) {
		n := utf16Len(word)
		if width+n > argWidth {
			out.WriteString(fillLine(line.String(), argWidth, width))
			out.WriteString("\n" + indent)
			line.Reset()
			width = len(indent)
		}
		width += n
		line.WriteString(word)
		if strings.HasSuffix(word, "\n") {
			out.WriteString(line.String() + indent)
			line.Reset()
			width = len(indent)
		}
	}
	return out.String() + line.String()
}

// fillLine widens the gaps between words until the line is full: all alike, those in the middle by one more where it does not come
// out even.
func fillLine(line string, width, current int) string {
	text := strings.Trim(line, " ")
	current -= len(line) - len(text)
	gaps := 0
	for i := range len(text) {
		if text[i] == ' ' && text[i-1] != ' ' {
			gaps++
		}
	}
	if gaps == 0 {
		return text
	}
	missing := width - current
	each, rest := missing/gaps, missing%gaps
	from := (gaps - rest + 1) / 2
	var b strings.Builder
	gap := 0
	for i := range len(text) {
		if text[i] == ' ' && text[i-1] != ' ' {
			n := each
			if from <= gap && gap < from+rest {
				n++
			}
			b.WriteString(strings.Repeat(" ", max(0, n)))
			gap++
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// What differs from what was meant by typing errors only is proposed; the costs are those of git's help.c.
const (
	costReplace = 2
	costInsert  = 1
	costDelete  = 4
	costTooMuch = 7
)

// candidates proposes the flags or commands that are the most like the unknown one.
func (a *argError) candidates() string {
	word := strings.TrimLeft(a.unknown, "-")
	if len(word) < 2 && !a.command {
		return ""
	}
	best := costTooMuch
	var like []string
	for _, name := range a.known() {
		body := strings.TrimLeft(name, "-")
		if len(body) < 2 && !a.command {
			continue
		}
		cost := 0
		if !strings.HasPrefix(body, word) {
			cost = editCost(word, body)
		}
		switch {
		case cost < best:
			best, like = cost, []string{name}
		case cost == best && cost < costTooMuch:
			like = append(like, name)
		}
	}
	if len(like) == 0 {
		return ""
	}
	slices.Sort(like)
	return "\nDid you mean:\n\t" + strings.Join(like, "\n\t") + "\n"
}

func (a *argError) known() []string {
	var names []string
	if a.command {
		for _, c := range a.parser.commands {
			names = append(names, c.command)
		}
		return names
	}
	for _, s := range a.parser.options {
		names = append(names, s.flags...)
	}
	return names
}

// editCost is what it costs to make b of a; two neighbours change places for nothing.
func editCost(a, b string) int {
	var before, last []int
	for j := range len(b) + 1 {
		last = append(last, j)
	}
	for i := 1; i <= len(a); i++ {
		next := make([]int, len(b)+1)
		next[0] = i
		for j := 1; j <= len(b); j++ {
			cost := last[j-1]
			if a[i-1] != b[j-1] {
				cost += costReplace
				if i >= 2 && j >= 2 && a[i-2] == b[j-1] && a[i-1] == b[j-2] {
					cost = min(cost, before[j-2])
				}
			}
			next[j] = min(cost, last[j]+costDelete, next[j-1]+costInsert)
		}
		before, last = last, next
	}
	return last[len(b)]
}
