package tool

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	classCSVRead     = "com.fasterxml.jackson.dataformat.csv.CsvReadException"
	classCSVMismatch = "com.fasterxml.jackson.databind.exc.MismatchedInputException"
	classCSVFormat   = "com.fasterxml.jackson.databind.exc.InvalidFormatException"
)

// A reset of offsets as kafka-consumer-groups and kafka-share-groups plan it: its files, its times, its bounds.

// groupOffset is one line of a plan; Group is empty where the file has no such column.
type groupOffset struct {
	Group string
	topicPartition
	Offset int64
}

// parseResetPlan reads the lines of a CSV file: topic,partition,offset when one group is reset, else group,topic,partition,offset.
// One group may also come with its name, as in a file of several. What a line lacks is empty or 0, as Jackson reads it.
func parseResetPlan(csv string, groups []string) (map[string][]groupOffset, error) {
	lines := strings.Split(strings.TrimRight(csv, "\n"), "\n")
	noGroup := len(groups) == 1
	if noGroup {
		_, err := parsePlanLine(lines[0], false)
		noGroup = err == nil
	}
	plan := make(map[string][]groupOffset)
	for _, line := range lines {
		o, err := parsePlanLine(line, !noGroup)
		if err != nil {
			return nil, err
		}
		if noGroup {
			o.Group = groups[0]
		}
		plan[o.Group] = append(plan[o.Group], o)
	}
	return plan, nil
}

func parsePlanLine(line string, withGroup bool) (groupOffset, error) {
	if strings.TrimSpace(line) == "" {
		return groupOffset{}, thrown(classCSVMismatch, "No content to map due to end-of-input\n at [Source: (StringReader); line: UNKNOWN, column: UNKNOWN]")
	}
	fields, err := splitCSV(strings.TrimSuffix(line, "\r"))
	if err != nil {
		return groupOffset{}, err
	}
	width := 3
	if withGroup {
		width = 4
	}
	if len(fields) > width {
		extra := fields[width]
		return groupOffset{}, thrown(classCSVRead, "Too many entries: expected at most %d (value #%d (%d chars) %q)", width, width, len(extra), extra)
	}
	for len(fields) < width {
		fields = append(fields, "")
	}
	var o groupOffset
	if withGroup {
		o.Group, fields = fields[0], fields[1:]
	}
	o.Topic = fields[0]
	partition, err := parsePlanNumber(fields[1], "int", math.MinInt32, math.MaxInt32)
	if err != nil {
		return groupOffset{}, err
	}
	o.Partition = int32(partition)
	o.Offset, err = parsePlanNumber(fields[2], "long", math.MinInt64, math.MaxInt64)
	return o, err
}

func parsePlanNumber(s, kind string, lo, hi int64) (int64, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < lo || n > hi {
		return 0, thrown(classCSVFormat, "Cannot deserialize value of type `%s` from String %q: not a valid `%s` value", kind, s, kind)
	}
	return n, nil
}

// splitCSV splits a line with fields that may stand in double quotes, a quote inside them written twice.
func splitCSV(line string) ([]string, error) {
	var fields []string
	for {
		if !strings.HasPrefix(line, `"`) {
			field, rest, more := strings.Cut(line, ",")
			fields = append(fields, field)
			if !more {
				return fields, nil
			}
			line = rest
			continue
		}
		var b strings.Builder
		i := 1
		for ; ; i++ {
			if i >= len(line) {
				return nil, thrown(classCSVRead, "Missing closing quote for value")
			}
			if line[i] == '"' {
				if i+1 < len(line) && line[i+1] == '"' {
					i++
				} else {
					break
				}
			}
			b.WriteByte(line[i])
		}
		fields = append(fields, b.String())
		rest := line[i+1:]
		if rest == "" {
			return fields, nil
		}
		if rest[0] != ',' {
			return nil, thrown(classCSVRead, "Expected column separator character (',')")
		}
		line = rest[1:]
	}
}

// formatPlanLine is a line of --export.
func formatPlanLine(o groupOffset, withGroup bool) string {
	line := fmt.Sprintf("%s,%d,%d\n", quoteCSV(o.Topic), o.Partition, o.Offset)
	if withGroup {
		line = quoteCSV(o.Group) + "," + line
	}
	return line
}

func quoteCSV(s string) string {
	if !strings.ContainsAny(s, "\",\n\r ") {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

// parseTopicArg reads topic:0,1,2. Errors have Kafka's text.
func parseTopicArg(arg string) ([]topicPartition, error) {
	parts := javaSplit(arg, ":")
	if len(parts) != 2 {
		return nil, thrown(classIllegalArgument, "Invalid topic arg '%s', expected topic name and partitions", arg)
	}
	var tps []topicPartition
	for _, p := range javaSplit(parts[1], ",") {
		n, err := strconv.ParseInt(p, 10, 32)
		if err != nil {
			return nil, thrown(classIllegalArgument, "Invalid partition '%s' specified in topic arg '%s''", p, arg)
		}
		tps = append(tps, topicPartition{parts[0], int32(n)})
	}
	return tps, nil
}

// javaSplit is String.split at a plain separator: empty strings at the end go away.
func javaSplit(s, sep string) []string {
	if s == "" {
		return []string{""}
	}
	parts := strings.Split(s, sep)
	for len(parts) > 0 && parts[len(parts)-1] == "" {
		parts = parts[:len(parts)-1]
	}
	return parts
}

var (
	// dateTimePattern is yyyy-MM-dd'T'HH:mm:ss.SSSXXX or …X of Java's SimpleDateFormat; it may be followed by anything.
	dateTimePattern = regexp.MustCompile(`^(\d+)-(\d+)-(\d+)T(\d+):(\d+):(\d+)\.(\d+)(Z|[+-]\d\d(?::?\d\d)?)`)
	// durationPattern is what java.time.Duration.parse takes.
	durationPattern = regexp.MustCompile(`^(?i)([-+]?)P(?:([-+]?[0-9]+)D)?(T(?:([-+]?[0-9]+)H)?(?:([-+]?[0-9]+)M)?(?:([-+]?[0-9]+)(?:[.,]([0-9]{0,9}))?S)?)?$`)
)

// parseDateTime reads a time of --to-datetime, in UTC if it names no zone. Errors have the text of Java's ParseException.
func parseDateTime(s string) (time.Time, error) {
	_, clockPart, ok := strings.Cut(s, "T")
	if !ok || clockPart == "" {
		return time.Time{}, thrown(classParse, "Error parsing timestamp. It does not contain a 'T' according to ISO8601 format")
	}
	if !strings.ContainsAny(clockPart, "+-Z") {
		s += "Z"
	}
	m := dateTimePattern.FindStringSubmatch(s)
	bad := thrown(classParse, "Unparseable date: \"%s\"", s)
	if m == nil {
		return time.Time{}, bad
	}
	n := make([]int, 8)
	for i := 1; i <= 7; i++ {
		var err error
		if n[i], err = strconv.Atoi(m[i]); err != nil {
			return time.Time{}, bad
		}
	}
	zone := time.UTC
	if m[8] != "Z" {
		digits := strings.ReplaceAll(m[8][1:], ":", "") + "00"
		hours, _ := strconv.Atoi(digits[:2])    // two digits, by the pattern
		minutes, _ := strconv.Atoi(digits[2:4]) // likewise
		seconds := (hours*60 + minutes) * 60
		if m[8][0] == '-' {
			seconds = -seconds
		}
		if hours > 23 || minutes > 59 {
			return time.Time{}, bad
		}
		zone = time.FixedZone("", seconds)
	}
	t := time.Date(n[1], time.Month(n[2]), n[3], n[4], n[5], n[6], n[7]*int(time.Millisecond), zone)
	if n[7] > 999 || t.Year() != n[1] || int(t.Month()) != n[2] || t.Day() != n[3] || t.Hour() != n[4] || t.Minute() != n[5] || t.Second() != n[6] {
		return time.Time{}, bad // not lenient: no 30th of February
	}
	return t, nil
}

// parseDuration reads an ISO 8601 duration of days and less.
func parseDuration(s string) (time.Duration, error) {
	bad := thrown("java.time.format.DateTimeParseException", "Text cannot be parsed to a Duration")
	m := durationPattern.FindStringSubmatch(s)
	if m == nil || strings.EqualFold(m[3], "T") || m[2]+m[4]+m[5]+m[6] == "" {
		return 0, bad
	}
	var d time.Duration
	for i, unit := range map[int]time.Duration{2: 24 * time.Hour, 4: time.Hour, 5: time.Minute, 6: time.Second} {
		if m[i] == "" {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimPrefix(m[i], "+"), 10, 64)
		if err != nil || n > math.MaxInt64/int64(unit) || n < math.MinInt64/int64(unit) {
			return 0, bad
		}
		d += time.Duration(n) * unit
	}
	if m[7] != "" {
		nanos, _ := strconv.ParseInt((m[7] + "000000000")[:9], 10, 64) // digits, by the pattern
		if strings.HasPrefix(m[6], "-") {
			nanos = -nanos
		}
		d += time.Duration(nanos)
	}
	if m[1] == "-" {
		d = -d
	}
	return d, nil
}

// clampOffset keeps a wanted offset inside the log; warn is what is logged when it had to move.
func clampOffset(tp topicPartition, want, start, end int64) (offset int64, warn string) {
	switch {
	case want > end:
		return end, fmt.Sprintf("New offset (%d) is higher than latest offset for topic partition %v. Value will be set to %d.", want, tp, end)
	case want < start:
		return start, fmt.Sprintf("New offset (%d) is lower than earliest offset for topic partition %v. Value will be set to %d.", want, tp, start)
	}
	return want, ""
}
