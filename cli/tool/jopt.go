package tool

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// The options of most of Kafka's tools are read by the library jopt-simple 5: a table of options, each with one or more names.
// Errors have the library's classes and texts.

const joptPackage = "joptsimple."

// joptType is the type of an option's argument, as the table of options names it.
type joptType string

const (
	joptString  joptType = "String"
	joptInteger joptType = "Integer"
	joptLong    joptType = "Long"
	joptDouble  joptType = "Double"
	joptBoolean joptType = "Boolean"
)

// joptSpec is an option.
type joptSpec struct {
	names       []string // short ones (one character) before long ones, each sorted
	description string

	accepts  joptArgument
	argument string // what the argument is
	typ      joptType
	typed    bool     // it was given a type
	separate string   // characters that separate several values in one argument
	defaults []string // values without the option
	choices  []string // the values there are, in whatever case; any without
	required bool
	help     bool // an option that needs no required ones
}

type joptArgument int8

const (
	joptNone joptArgument = iota
	joptOptional
	joptRequired
)

// withRequiredArg makes the option take an argument.
func (s *joptSpec) withRequiredArg() *joptSpec { s.accepts = joptRequired; return s }

// withOptionalArg makes the option take an argument that may be left out.
func (s *joptSpec) withOptionalArg() *joptSpec { s.accepts = joptOptional; return s }

// describedAs says in the table what the argument is.
func (s *joptSpec) describedAs(text string) *joptSpec { s.argument = text; return s }

// ofType gives the argument a type.
func (s *joptSpec) ofType(t joptType) *joptSpec { s.typ, s.typed = t, true; return s }

// defaultsTo gives the values of the option where the command line has none.
func (s *joptSpec) defaultsTo(values ...string) *joptSpec { s.defaults = values; return s }

// separatedBy lets one argument have several values.
func (s *joptSpec) separatedBy(characters string) *joptSpec { s.separate = characters; return s }

// oneOf gives the names of an enumeration as the values there are.
func (s *joptSpec) oneOf(names ...string) *joptSpec {
	s.choices, s.typ = names, joptType("["+strings.Join(names, ",")+"]")
	return s
}

// isRequired makes a command line without the option an error.
func (s *joptSpec) isRequired() *joptSpec { s.required = true; return s }

// forHelp makes the option do without the required ones.
func (s *joptSpec) forHelp() *joptSpec { s.help = true; return s }

// String is the option as messages have it: its names in brackets.
func (s *joptSpec) String() string { return "[" + strings.Join(s.names, ", ") + "]" }

func (s *joptSpec) slashed() string { return strings.Join(s.names, "/") }

// joptParser reads a command line by a table of options.
type joptParser struct {
	// abbreviate lets long names be shortened while they stay unique.
	abbreviate bool
	// posix ends options at the first argument that is none.
	posix bool
	specs []*joptSpec
}

// newJopt makes a parser with the two options all of Kafka's tools have.
func newJopt(abbreviate bool) (p *joptParser, help, version *joptSpec) {
	p = &joptParser{abbreviate: abbreviate}
	return p, p.option("help", "Print usage information.").forHelp(), p.option("version", "Display Kafka version.").forHelp()
}

// option adds an option; names are separated by commas.
func (p *joptParser) option(names, description string) *joptSpec {
	s := &joptSpec{names: strings.Split(names, ","), description: description, typ: joptString}
	slices.SortFunc(s.names, func(a, b string) int {
		if short := len(a) == 1; short != (len(b) == 1) {
			if short {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	p.specs = append(p.specs, s)
	return s
}

// find is the option of a name or of a unique beginning of one.
func (p *joptParser) find(name string) *joptSpec {
	var found *joptSpec
	several := false
	for _, s := range p.specs {
		for _, n := range s.names {
			switch {
			case n == name:
				return s
			case p.abbreviate && name != "" && strings.HasPrefix(n, name):
				several = several || found != nil && found != s
				found = s
			}
		}
	}
	if several {
		return nil
	}
	return found
}

// joptSet is a command line that was read.
type joptSet struct {
	found  map[*joptSpec]bool
	values map[*joptSpec][]string
	// rest are the arguments that belong to no option.
	rest []string
}

// parse reads a command line.
func (p *joptParser) parse(args []string) (*joptSet, error) {
	set := &joptSet{found: map[*joptSpec]bool{}, values: map[*joptSpec][]string{}}
	more := true
	for i := 0; i < len(args); {
		arg := args[i]
		i++
		var err error
		switch {
		case !more:
			set.rest = append(set.rest, arg)
		case arg == "--":
			more = false
		case strings.HasPrefix(arg, "--"):
			name, value, given := strings.Cut(arg[2:], "=")
			s := p.find(name)
			if s == nil {
				return nil, joptUnrecognized(name)
			}
			i, err = p.take(set, s, value, given, args, i)
		case len(arg) > 1 && arg[0] == '-':
			i, err = p.short(set, arg[1:], args, i)
		default:
			more = !p.posix
			set.rest = append(set.rest, arg)
		}
		if err != nil {
			return nil, err
		}
	}
	return set, p.complete(set)
}

// short reads what follows one dash: an option by its name, or several of one character, the last of which may be followed by its
// argument.
func (p *joptParser) short(set *joptSet, text string, args []string, i int) (int, error) {
	name, value, given := strings.Cut(text, "=")
	if s := p.find(name); s != nil {
		return p.take(set, s, value, given, args, i)
	}
	letters := []rune(text)
	for _, c := range letters {
		s := p.find(string(c))
		if s == nil {
			return i, joptUnrecognized(string(c))
		}
		if s.accepts != joptNone {
			break
		}
	}
	var err error
	for n, c := range letters {
		s := p.find(string(c))
		if s.accepts != joptNone && n+1 < len(letters) {
			return p.take(set, s, string(letters[n+1:]), true, args, i)
		}
		if i, err = p.take(set, s, "", false, args, i); err != nil {
			break
		}
	}
	return i, err
}

// take notes an option and its argument, if it takes one.
func (p *joptParser) take(set *joptSet, s *joptSpec, value string, given bool, args []string, i int) (int, error) {
	set.found[s] = true
	switch {
	case s.accepts == joptNone || given && s.accepts == joptRequired || given:
		if s.accepts != joptNone {
			set.add(s, value)
		}
	case s.accepts == joptRequired:
		if i >= len(args) {
			return i, thrown(joptPackage+"OptionMissingRequiredArgumentException", "Option %s requires an argument", s.slashed())
		}
		set.add(s, args[i])
		i++
	case i < len(args) && s.convertible(args[i]) && (!looksLikeOption(args[i]) || s.typed && s.typ != joptString && s.typ != joptBoolean):
		set.add(s, args[i])
		i++
	}
	return i, nil
}

func looksLikeOption(arg string) bool { return len(arg) > 1 && arg[0] == '-' && arg != "--" }

func (set *joptSet) add(s *joptSpec, value string) {
	values := []string{value}
	if s.separate != "" {
		if parts := strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(s.separate, r) }); len(parts) > 0 {
			values = parts
		}
	}
	set.values[s] = append(set.values[s], values...)
}

// complete checks that the required options are there.
func (p *joptParser) complete(set *joptSet) error {
	var missing []string
	for _, s := range p.specs {
		if s.help && set.found[s] {
			return nil
		}
		if s.required && !set.found[s] {
			missing = append(missing, s.slashed())
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return thrown(joptPackage+"MissingRequiredOptionsException", "Missing required option(s) [%s]", strings.Join(javaStringOrder(missing), ", "))
}

func joptUnrecognized(name string) error {
	return thrown(joptPackage+"UnrecognizedOptionException", "%s is not a recognized option", name)
}

// has tells whether the command line has the option.
func (set *joptSet) has(s *joptSpec) bool { return set.found[s] }

// hasAny tells whether the command line has one of the options.
func (set *joptSet) hasAny(specs ...*joptSpec) bool { return slices.ContainsFunc(specs, set.has) }

// list are the values of an option, checked against its type; the defaults if the command line has none.
func (set *joptSet) list(s *joptSpec) ([]string, error) {
	values := set.values[s]
	if len(values) == 0 {
		values = s.defaults
	}
	for _, v := range values {
		if !s.convertible(v) {
			return nil, thrown(joptPackage+"OptionArgumentConversionException", "Cannot parse argument '%s' of option %s", v, s.slashed())
		}
	}
	return values, nil
}

// value is the one value of an option, empty if it has none.
func (set *joptSet) value(s *joptSpec) (string, error) {
	values, err := set.list(s)
	switch {
	case err != nil || len(values) == 0:
		return "", err
	case len(values) > 1:
		return "", thrown(joptPackage+"MultipleArgumentsForOptionException", "Found multiple arguments for option %s, but you asked for only one", s.slashed())
	}
	return values[0], nil
}

// number is the one value of an option of a whole type, 0 if it has none.
func (set *joptSet) number(s *joptSpec) (int64, error) {
	v, err := set.value(s)
	if err != nil || v == "" {
		return 0, err
	}
	return strconv.ParseInt(v, 10, 64)
}

// convertible tells whether Java reads the text as a value of the option's type.
func (s *joptSpec) convertible(text string) bool {
	if len(s.choices) > 0 {
		return slices.ContainsFunc(s.choices, func(c string) bool { return strings.EqualFold(c, text) })
	}
	var err error
	switch s.typ {
	case joptInteger:
		var n int64
		if n, err = strconv.ParseInt(text, 10, 64); err == nil && (n < math.MinInt32 || n > math.MaxInt32) {
			return false
		}
	case joptLong:
		_, err = strconv.ParseInt(text, 10, 64)
	case joptDouble:
		_, err = strconv.ParseFloat(text, 64)
	}
	return err == nil
}
