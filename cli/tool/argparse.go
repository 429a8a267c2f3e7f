package tool

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Some of Kafka's tools read their command line by the library argparse4j 0.7, a child of Python's argparse: commands with arguments
// of their own, groups of arguments that exclude each other. Errors have the library's texts.

// argParser reads a command line or, as a command of another parser, the rest of one.
type argParser struct {
	prog        string
	description string
	epilog      string
	// defaultHelp adds default values to the help of arguments.
	defaultHelp bool

	main    *argParser // whose command this is
	command string
	summary string // of the command, in the help of main

	options     []*argSpec
	positionals []*argSpec
	groups      []*argGroup

	commands     []*argParser
	commandsDest string // gets the name of the command
	// commandsMetavar stands for the list of the commands in the usage, if it is set.
	commandsMetavar string
	title           string // of the commands; "positional arguments" without
	titleText       string
}

// argGroup is a group of arguments: with a title in the help, or of which only one may be given.
type argGroup struct {
	parser      *argParser
	title       string
	description string
	exclusive   bool
	required    bool
	specs       []*argSpec
}

// argAction is what an argument does.
type argAction int8

const (
	argStore argAction = iota
	argStoreTrue
	argAppend
	argHelp
	argVersion
)

const argMany = math.MaxInt32

// argSpec is an argument: one with flags, or one by its place.
type argSpec struct {
	flags []string
	name  string // of one by its place
	dest  string
	group *argGroup

	action   argAction
	typ      string // Java's name of the type; String without
	choices  []string
	metavars []string
	min, max int // arguments it takes; -1 is exactly one
	constant string
	standard []string
	hasStd   bool
	required bool
	help     string
	hidden   bool
}

// newArgParser makes a parser with --help.
func newArgParser(prog, description string) *argParser {
	p := &argParser{prog: prog, description: description}
	p.arg("-h", "--help").does(argHelp).withHelp("show this help message and exit")
	return p
}

// addCommand adds a command with --help of its own; dest gets its name.
func (p *argParser) addCommand(dest, name, summary string) *argParser {
	c := newArgParser(p.prog, "")
	c.main, c.command, c.summary = p, name, summary
	p.commands, p.commandsDest = append(p.commands, c), dest
	return c
}

// arg adds an argument with flags, or one by its place if the name has no dash.
func (p *argParser) arg(names ...string) *argSpec { return p.add(nil, names...) }

func (p *argParser) add(g *argGroup, names ...string) *argSpec {
	s := &argSpec{group: g, min: -1, max: -1}
	if g != nil {
		g.specs = append(g.specs, s)
	}
	if len(names) == 1 && !strings.HasPrefix(names[0], "-") {
		s.name = names[0]
		s.dest = strings.ReplaceAll(s.name, "-", "_")
		p.positionals = append(p.positionals, s)
		return s
	}
	s.flags = names
	first := names[0]
	for _, n := range names {
		if strings.HasPrefix(n, "--") {
			first = n
			break
		}
	}
	s.dest = strings.ReplaceAll(strings.TrimLeft(first, "-"), "-", "_")
	p.options = append(p.options, s)
	return s
}

// exclusive adds a group of arguments of which one may, or must, be given.
func (p *argParser) exclusive(required bool) *argGroup {
	g := &argGroup{parser: p, exclusive: true, required: required}
	p.groups = append(p.groups, g)
	return g
}

// addGroup adds a group with a title.
func (p *argParser) addGroup(title, description string) *argGroup {
	g := &argGroup{parser: p, title: title, description: description}
	p.groups = append(p.groups, g)
	return g
}

// arg adds an argument to a group.
func (g *argGroup) arg(names ...string) *argSpec { return g.parser.add(g, names...) }

func (s *argSpec) withHelp(text string) *argSpec    { s.help = text; return s }
func (s *argSpec) withMetavar(m ...string) *argSpec { s.metavars = m; return s }
func (s *argSpec) withChoices(c ...string) *argSpec { s.choices = c; return s }
func (s *argSpec) withDest(dest string) *argSpec    { s.dest = dest; return s }
func (s *argSpec) isRequired() *argSpec             { s.required = true; return s }
func (s *argSpec) does(a argAction) *argSpec        { s.action = a; return s }
func (s *argSpec) ofType(java string) *argSpec      { s.typ = java; return s }
func (s *argSpec) defaultsTo(values ...string) *argSpec {
	s.standard, s.hasStd = values, true
	return s
}

// takes sets how many arguments it takes: argMany is without a limit.
func (s *argSpec) takes(least, most int) *argSpec { s.min, s.max = least, most; return s }

func (s *argSpec) consumes() bool { return s.action == argStore || s.action == argAppend }

func (s *argSpec) textualName() string {
	if s.name != "" {
		return s.name
	}
	return strings.Join(s.flags, "/")
}

// argValues is what was read, by destination.
type argValues struct {
	values map[string][]string
	given  map[string]bool
	parser *argParser // of the command that was called, or the main one
}

// has tells whether an argument was given.
func (v *argValues) has(dest string) bool { return v.given[dest] }

// text is the one value, empty if there is none.
func (v *argValues) text(dest string) string {
	if l := v.values[dest]; len(l) > 0 {
		return l[len(l)-1]
	}
	return ""
}

// list are the values.
func (v *argValues) list(dest string) []string { return v.values[dest] }

// number is the one value of a whole type, 0 if there is none.
func (v *argValues) number(dest string) int64 {
	n, _ := strconv.ParseInt(v.text(dest), 10, 64) // checked when it was read
	return n
}

// argError is a command line that cannot be read.
type argError struct {
	parser  *argParser
	message string
	unknown string // an argument or command like which there may be others
	command bool   // unknown is a command
}

func (a *argError) Error() string { return a.message }

// errHelp is not an error: the help was asked for.
type errHelp struct{ parser *argParser }

func (errHelp) Error() string { return "help was asked for" }

func (p *argParser) errorf(s *argSpec, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	if s != nil {
		text = "argument " + s.textualName() + ": " + text
	}
	return &argError{parser: p, message: text}
}

// argState is a command line as it is being read.
type argState struct {
	args      []string
	separated bool  // -- was seen
	deferred  error // told once the commands have been read
	out       *argValues
}

var negativeNumber = regexp.MustCompile(`^-[0-9]+$`)

func (st *argState) flag() bool {
	a := st.args[0]
	return !st.separated && len(a) > 1 && a[0] == '-' && !negativeNumber.MatchString(a)
}

// parse reads a command line; its errors are for fail.
func (p *argParser) parse(args []string) (*argValues, error) {
	st := &argState{args: args, out: &argValues{values: map[string][]string{}, given: map[string]bool{}}}
	err := p.read(st)
	if err == nil {
		err = st.deferred
	}
	return st.out, err
}

func (p *argParser) read(st *argState) error {
	st.out.parser = p
	for _, s := range slices.Concat(p.positionals, p.options) {
		if s.hasStd {
			st.out.values[s.dest] = s.standard
		}
	}
	used := map[*argSpec]bool{}
	var placed []string
	for len(st.args) > 0 {
		switch a := st.args[0]; {
		case a == "--" && !st.separated:
			st.separated = true
			st.args = st.args[1:]
		case st.flag():
			if err := p.readFlag(st, used); err != nil {
				return err
			}
		case len(placed) < p.places():
			placed = append(placed, a)
			st.args = st.args[1:]
		case !st.separated && len(p.commands) > 0:
			if err := p.place(st, placed); err != nil {
				return err
			}
			p.checkRequired(st, used)
			return p.readCommand(st)
		default:
			return p.errorf(nil, "unrecognized arguments: '%s'", strings.Join(st.args, " "))
		}
	}
	if len(p.commands) > 0 {
		return p.errorf(nil, "too few arguments")
	}
	if err := p.place(st, placed); err != nil {
		return err
	}
	p.checkRequired(st, used)
	return nil
}

// places is how many arguments those by their place take at most.
func (p *argParser) places() int {
	n := 0
	for _, s := range p.positionals {
		if s.max == argMany {
			return argMany
		}
		n += max(1, s.max)
	}
	return n
}

// place gives the arguments by their place.
func (p *argParser) place(st *argState, placed []string) error {
	left := 0
	for _, s := range p.positionals {
		left += s.least()
	}
	if left > len(placed) {
		return p.errorf(nil, "too few arguments")
	}
	for _, s := range p.positionals {
		left -= s.least()
		n := min(max(1, s.max), len(placed)-left)
		if n == 0 {
			continue
		}
		if err := p.store(st, s, placed[:n]); err != nil {
			return err
		}
		placed = placed[n:]
	}
	return nil
}

func (s *argSpec) least() int {
	if s.min < 0 {
		return 1
	}
	return s.min
}

// resolve is the option of a flag or of a unique beginning of one.
func (p *argParser) resolve(flag string) (*argSpec, error) {
	var found []string
	var spec *argSpec
	for _, s := range p.options {
		for _, f := range s.flags {
			if f == flag {
				return s, nil
			}
			if strings.HasPrefix(f, flag) {
				found, spec = append(found, f), s
			}
		}
	}
	if len(found) > 1 {
		slices.Sort(found)
		return nil, p.errorf(nil, "ambiguous option: %s could match %s", flag, strings.Join(found, ", "))
	}
	return spec, nil
}

func (p *argParser) readFlag(st *argState, used map[*argSpec]bool) error {
	term := st.args[0]
	flag, value, embedded := strings.Cut(term, "=")
	s, err := p.resolve(flag)
	if err != nil {
		return err
	}
	if s == nil && term[1] != '-' {
		if s, value, err = p.letters(st, term, used); err != nil {
			return err
		}
		embedded = value != ""
		if s == nil {
			st.args = st.args[1:]
			return nil
		}
	}
	if s == nil {
		return &argError{parser: p, message: "unrecognized arguments: '" + term + "'", unknown: term}
	}
	st.args = st.args[1:]
	return p.run(st, s, value, embedded, used)
}

// letters reads several flags of one letter in one argument; the last may be one that takes an argument.
func (p *argParser) letters(st *argState, term string, used map[*argSpec]bool) (*argSpec, string, error) {
	for i := 1; i < len(term); i++ {
		at := slices.IndexFunc(p.options, func(s *argSpec) bool { return slices.Contains(s.flags, "-"+term[i:i+1]) })
		if at < 0 {
			return nil, "", &argError{parser: p, message: "unrecognized arguments: '" + term + "'", unknown: term}
		}
		s := p.options[at]
		if s.consumes() {
			return s, term[i+1:], nil
		}
		if err := p.run(st, s, "", false, used); err != nil {
			return nil, "", err
		}
	}
	return nil, "", nil
}

// run does what an option does.
func (p *argParser) run(st *argState, s *argSpec, value string, embedded bool, used map[*argSpec]bool) error {
	if s.group != nil && s.group.exclusive {
		for _, other := range s.group.specs {
			if other != s && used[other] {
				return p.errorf(s, "not allowed with argument %s", other.textualName())
			}
		}
	}
	used[s] = true
	if !s.consumes() {
		if embedded {
			return p.errorf(s, "ignore implicit argument '%s'", value)
		}
		switch s.action {
		case argHelp:
			return errHelp{p}
		case argVersion:
			return errVersion
		}
		return p.store(st, s, []string{"true"})
	}
	var values []string
	if embedded {
		values = []string{value}
	} else {
		for len(values) < max(1, s.max) && len(st.args) > 0 && !st.flag() && st.args[0] != "--" {
			values = append(values, st.args[0])
			st.args = st.args[1:]
		}
	}
	switch {
	case s.min == -1 && len(values) == 0:
		return p.errorf(s, "expected one argument")
	case len(values) < s.min:
		return p.errorf(s, "expected %d argument(s)", s.min)
	case s.min == 0 && s.max == 1 && len(values) == 0:
		values = []string{s.constant}
	}
	return p.store(st, s, values)
}

// errVersion is not an error: the version was asked for.
var errVersion = fmt.Errorf("version was asked for")

func (p *argParser) store(st *argState, s *argSpec, values []string) error {
	for _, v := range values {
		if err := s.convert(v); err != nil {
			return p.errorf(s, "%s", err)
		}
		if len(s.choices) > 0 && !slices.Contains(s.choices, v) {
			return p.errorf(s, "invalid choice: '%s' (choose from %s)", v, s.choice())
		}
	}
	if s.action == argAppend {
		if st.out.given[s.dest] {
			values = slices.Concat(st.out.values[s.dest], values)
		}
	}
	st.out.values[s.dest], st.out.given[s.dest] = values, true
	return nil
}

func (s *argSpec) choice() string { return "{" + strings.Join(s.choices, ",") + "}" }

// convert tells why Java could not read a value as one of the argument's type.
func (s *argSpec) convert(value string) error {
	bits := map[string]int{"Integer": 32, "Long": 64, "Short": 16}[s.typ]
	var err error
	if bits > 0 {
		_, err = strconv.ParseInt(value, 10, bits)
	}
	if err == nil {
		return nil
	}
	why := javaNumberError(value)
	if _, err := strconv.ParseInt(value, 10, 32); err == nil {
		why = `Value out of range. Value:"` + value + `" Radix:10`
	}
	return fmt.Errorf("could not convert '%s' to %s (%s)", value, s.typ, why)
}

// javaNumberError is the message of Java's NumberFormatException.
func javaNumberError(text string) string { return `For input string: "` + text + `"` }

// checkRequired notes that something is missing; it is told if nothing else is wrong.
func (p *argParser) checkRequired(st *argState, used map[*argSpec]bool) {
	if st.deferred != nil {
		return
	}
	for _, s := range p.options {
		if s.required && !used[s] {
			st.deferred = p.errorf(nil, "argument %s is required", s.textualName())
		}
	}
	if st.deferred != nil {
		return
	}
	for _, g := range p.groups {
		if !g.exclusive || !g.required || slices.ContainsFunc(g.specs, func(s *argSpec) bool { return used[s] }) {
			continue
		}
		var names strings.Builder
		for _, s := range g.specs {
			if !s.hidden {
				names.WriteString(s.textualName() + " ")
			}
		}
		st.deferred = p.errorf(nil, "one of the arguments %sis required", names.String())
	}
}

func (p *argParser) readCommand(st *argState) error {
	name := st.args[0]
	var called *argParser
	var like []string
	for _, c := range p.commands {
		if c.command == name {
			called, like = c, nil
			break
		}
		if strings.HasPrefix(c.command, name) {
			like = append(like, c.command)
			called = c
		}
	}
	switch {
	case len(like) > 1:
		slices.Sort(like)
		return p.errorf(nil, "ambiguous command: %s could match %s", name, strings.Join(like, ", "))
	case called == nil:
		var names []string
		for _, c := range p.commands {
			names = append(names, "'"+c.command+"'")
		}
		return &argError{parser: p, message: fmt.Sprintf("invalid choice: '%s' (choose from %s)", name, strings.Join(names, ", ")), unknown: name, command: true}
	}
	st.args = st.args[1:]
	err := called.read(st)
	st.out.values[p.commandsDest], st.out.given[p.commandsDest] = []string{called.command}, true
	return err
}
