package config

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// check is a property's validator beyond its type.
type check struct {
	kind     checkKind
	min, max string // checkRange: inclusive bounds as Kafka prints them, "" for none
	values   string // checkIn, checkInAnyCase, checkList: comma-separated, in Kafka's order
	emptyOK  bool   // checkList: the empty list is valid
	nullOK   bool   // checkList: null is valid
}

type checkKind uint8

const (
	checkNone checkKind = iota
	checkRange
	checkIn
	checkInAnyCase
	checkList
	checkNonEmpty
	checkNonNull
	checkGzipLevel
	checkThrottled
	checkOffsetReset
	checkVoters
	checkBootstrap
)

// Error codes that go with an InvalidValueError.
const (
	CodeInvalidConfig  int16 = 40
	CodeInvalidRequest int16 = 42
)

// InvalidValueError is a value that Kafka refuses, with Kafka's own message and the code that the Admin API answers.
type InvalidValueError struct {
	Name    string
	Message string
	Code    int16
}

// Error implements error.
func (e *InvalidValueError) Error() string { return e.Message }

func invalid(name, value, why string) error {
	return &InvalidValueError{Name: name, Message: "Invalid value " + value + " for configuration " + name + ": " + why, Code: CodeInvalidConfig}
}

func badConfig(name, message string) error {
	return &InvalidValueError{name, message, CodeInvalidConfig}
}

func badRequest(name, message string) error {
	return &InvalidValueError{name, message, CodeInvalidRequest}
}

// Parse checks a value as Kafka's ConfigDef does and gives its normal form, the one that DescribeConfigs shows: numbers and booleans
// without blanks and in canonical spelling, lists joined by commas without blanks and duplicates.
func (p *Property) Parse(value string) (string, error) {
	norm, err := p.parseType(value)
	if err != nil {
		return "", err
	}
	if p.Type == TypeList {
		return p.checkListValue(norm)
	}
	if err := p.checkValue(norm); err != nil {
		return "", err
	}
	return norm, nil
}

// parseType is ConfigDef.parseType: a list comes back joined by commas.
func (p *Property) parseType(value string) (string, error) {
	trimmed := trim(value)
	switch p.Type {
	case TypeBoolean:
		switch strings.ToLower(trimmed) {
		case "true", "false":
			return strings.ToLower(trimmed), nil
		}
		return "", invalid(p.Name, value, "Expected value to be either true or false")
	case TypeInt, TypeShort, TypeLong:
		bits := map[Type]int{TypeInt: 32, TypeShort: 16, TypeLong: 64}[p.Type]
		n, err := strconv.ParseInt(trimmed, 10, bits)
		if err != nil {
			return "", invalid(p.Name, value, "Not a number of type "+p.Type.String())
		}
		return strconv.FormatInt(n, 10), nil
	case TypeDouble:
		f, err := parseDouble(trimmed)
		if err != nil {
			return "", invalid(p.Name, value, "Not a number of type DOUBLE")
		}
		return formatDouble(f), nil
	case TypePassword:
		return value, nil
	}
	return trimmed, nil
}

// trim is Java's String.trim: everything up to the space goes.
func trim(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
}

// parseDouble is Java's Double.parseDouble, which knows the suffixes d and f and no spelling of NaN but its own.
func parseDouble(s string) (float64, error) {
	t := strings.TrimRight(s, "dDfF")
	if len(s)-len(t) > 1 || strings.HasPrefix(strings.ToLower(s), "0x") || strings.Contains(s, "_") {
		return 0, strconv.ErrSyntax
	}
	l := strings.ToLower(strings.TrimLeft(t, "+-"))
	if (strings.HasPrefix(l, "inf") || l == "nan") && !strings.HasSuffix(t, "Infinity") && !strings.HasSuffix(t, "NaN") {
		return 0, strconv.ErrSyntax
	}
	f, err := strconv.ParseFloat(t, 64)
	if errors.Is(err, strconv.ErrRange) { // overflow is Infinity in Java
		return f, nil
	}
	return f, err
}

// formatDouble is Java's Double.toString.
func formatDouble(f float64) string {
	abs := math.Abs(f)
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 0):
		return strings.Replace(strconv.FormatFloat(f, 'g', -1, 64), "Inf", "Infinity", 1)[btoi(f > 0):]
	case abs == 0 || abs >= 1e-3 && abs < 1e7:
		s := strconv.FormatFloat(f, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	mantissa, exp, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	n, _ := strconv.Atoi(exp) // FormatFloat wrote it
	return mantissa + "E" + strconv.Itoa(n)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// blanks are what is taken off around the commas of a list.
const blanks = " \t\n\v\f\r"

// splitList is how Kafka splits a LIST value: blanks around commas go, empty elements stay, the empty value is the empty list.
func splitList(value string) []string {
	value = trim(value)
	if value == "" {
		return nil
	}
	list := strings.Split(value, ",")
	for i, e := range list {
		list[i] = strings.Trim(e, blanks)
	}
	return list
}

func (p *Property) checkListValue(value string) (string, error) {
	list := splitList(value)
	switch p.check.kind {
	case checkList:
		if len(list) == 0 && !p.check.emptyOK {
			valid := "any non-empty value"
			if p.check.values != "" {
				valid = "[" + strings.ReplaceAll(p.check.values, ",", ", ") + "]"
			}
			return "", badConfig(p.Name, "Configuration '"+p.Name+"' must not be empty. Valid values include: "+valid)
		}
		list = unique(list)
		for _, e := range list {
			if e == "" {
				return "", badConfig(p.Name, "Configuration '"+p.Name+"' values must not be empty.")
			}
			if p.check.values != "" && !oneOf(p.check.values, e) {
				return "", invalid(p.Name, e, "String must be one of: "+strings.ReplaceAll(p.check.values, ",", ", "))
			}
		}
	case checkThrottled:
		if !validThrottled(list) {
			return "", invalid(p.Name, javaList(list), p.Name+" must be the literal '*' or a list of replicas in the following format: "+
				"[partitionId]:[brokerId],[partitionId]:[brokerId],...")
		}
	case checkVoters:
		for _, e := range list {
			if _, err := parseVoter(e); err != nil {
				return "", badConfig(p.Name, "Invalid configuration value for controller.quorum.voters. Each entry should be in the form `{id}@{host}:{port}`.")
			}
		}
	case checkBootstrap:
		for _, e := range list {
			if _, _, err := splitHostPort(e); err != nil {
				return "", badConfig(p.Name, "Failed to parse host name from "+e+" for the configuration "+p.Name+`. Each entry should be in the form "{host}:{port}"`)
			}
		}
	}
	return strings.Join(list, ","), nil
}

func unique(list []string) []string {
	var out []string
	seen := map[string]bool{}
	for _, e := range list {
		if !seen[e] {
			seen[e] = true
			out = append(out, e)
		}
	}
	return out
}

func oneOf(values, v string) bool {
	for _, s := range strings.Split(values, ",") {
		if s == v {
			return true
		}
	}
	return false
}

var throttledReplica = regexp.MustCompile(`^[0-9]+:[0-9]+$`)

// validThrottled is ThrottledReplicaListValidator: a lone *, or pairs of partition and broker.
func validThrottled(list []string) bool {
	if len(list) == 0 || len(list) == 1 && list[0] == "*" {
		return true
	}
	for _, e := range list {
		if !throttledReplica.MatchString(e) {
			return false
		}
	}
	return true
}

func (p *Property) checkValue(v string) error {
	switch c := p.check; c.kind {
	case checkRange:
		return p.checkRange(v)
	case checkIn:
		if !oneOf(c.values, v) {
			return invalid(p.Name, v, "String must be one of: "+strings.ReplaceAll(c.values, ",", ", "))
		}
	case checkInAnyCase:
		if !oneOf(c.values, strings.ToUpper(v)) {
			return invalid(p.Name, v, "String must be one of (case insensitive): "+strings.ReplaceAll(c.values, ",", ", "))
		}
	case checkNonEmpty:
		if v == "" {
			return invalid(p.Name, v, "String must be non-empty")
		}
	case checkGzipLevel: // the levels of java.util.zip.Deflater
		if n, _ := strconv.Atoi(v); n != -1 && (n < 1 || n > 9) {
			return invalid(p.Name, v, "Value must be between 1 and 9 or equal to -1")
		}
	case checkOffsetReset:
		if !validOffsetReset(v) {
			return invalid(p.Name, v, fmt.Sprintf("Invalid value `%s` for configuration %s. The value must be either 'earliest', 'latest' or of the format "+
				"'by_duration:<PnDTnHnMn.nS>'.", v, p.Name))
		}
	}
	return nil
}

func (p *Property) checkRange(v string) error {
	f, err := parseDouble(v)
	if err != nil {
		return invalid(p.Name, v, "Not a number of type "+p.Type.String())
	}
	if lo, err := strconv.ParseFloat(p.check.min, 64); err == nil && f < lo {
		return invalid(p.Name, v, "Value must be at least "+p.check.min)
	}
	if hi, err := strconv.ParseFloat(p.check.max, 64); err == nil && f > hi {
		return invalid(p.Name, v, "Value must be no more than "+p.check.max)
	}
	return nil
}

// isoDuration is what Java's Duration.parse takes, sign included.
var isoDuration = regexp.MustCompile(`(?i)^[+-]?P(?:[+-]?[0-9]+D)?(T(?:[+-]?[0-9]+H)?(?:[+-]?[0-9]+M)?(?:[+-]?[0-9]+(?:[.,][0-9]{0,9})?S)?)?$`)

// validOffsetReset is share.auto.offset.reset (KIP-932, KIP-1106): earliest, latest or by_duration of an ISO-8601 duration that is not negative.
func validOffsetReset(v string) bool {
	if v == "earliest" || v == "latest" {
		return true
	}
	d, ok := strings.CutPrefix(v, "by_duration:")
	m := isoDuration.FindStringSubmatch(d)
	return ok && m != nil && !strings.Contains(d, "-") && strings.ContainsAny(d, "0123456789") && (m[1] == "" || len(m[1]) > 1)
}
