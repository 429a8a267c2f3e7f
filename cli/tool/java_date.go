package tool

import (
	"fmt"
	"strings"
	"time"
)

// formatJavaDate prints a time by a pattern of java.text.SimpleDateFormat, in the time's own zone and the root locale.
func formatJavaDate(pattern string, t time.Time) (string, error) {
	var b strings.Builder
	for i := 0; i < len(pattern); {
		c := pattern[i]
		if c == '\'' {
			n, text, err := quotedText(pattern[i:])
			if err != nil {
				return "", err
			}
			b.WriteString(text)
			i += n
			continue
		}
		n := 1
		if !isLetter(c) {
			b.WriteByte(c)
			i++
			continue
		}
		for i+n < len(pattern) && pattern[i+n] == c {
			n++
		}
		text, ok := dateField(c, n, t)
		if !ok {
			return "", thrown(classIllegalArgument, "Illegal pattern character '%c'", c)
		}
		b.WriteString(text)
		i += n
	}
	return b.String(), nil
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// quotedText reads what stands in quotes at the start of s; a quote inside is written twice, as is one outside.
func quotedText(s string) (n int, text string, err error) {
	if strings.HasPrefix(s, "''") {
		return 2, "'", nil
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		if s[i] != '\'' {
			b.WriteByte(s[i])
			continue
		}
		if i+1 < len(s) && s[i+1] == '\'' {
			b.WriteByte('\'')
			i++
			continue
		}
		return i + 1, b.String(), nil
	}
	return 0, "", thrown(classIllegalArgument, "Unterminated quote")
}

// dateField is one letter of a pattern, written n times.
func dateField(c byte, n int, t time.Time) (string, bool) {
	number := func(v int) (string, bool) { return fmt.Sprintf("%0*d", n, v), true }
	switch c {
	case 'y', 'Y':
		if n == 2 {
			return fmt.Sprintf("%02d", t.Year()%100), true
		}
		return number(t.Year())
	case 'M', 'L':
		switch {
		case n >= 4:
			return t.Format("January"), true
		case n == 3:
			return t.Format("Jan"), true
		}
		return number(int(t.Month()))
	case 'd':
		return number(t.Day())
	case 'D':
		return number(t.YearDay())
	case 'H':
		return number(t.Hour())
	case 'k':
		return number((t.Hour()+23)%24 + 1)
	case 'K':
		return number(t.Hour() % 12)
	case 'h':
		return number((t.Hour()+11)%12 + 1)
	case 'm':
		return number(t.Minute())
	case 's':
		return number(t.Second())
	case 'S':
		return number(t.Nanosecond() / int(time.Millisecond))
	case 'u':
		return number((int(t.Weekday())+6)%7 + 1)
	case 'E':
		if n >= 4 {
			return t.Format("Monday"), true
		}
		return t.Format("Mon"), true
	case 'a':
		return t.Format("PM"), true
	case 'G':
		return "AD", true
	case 'z':
		return t.Format("MST"), true
	case 'Z':
		return t.Format("-0700"), true
	case 'X':
		return t.Format([...]string{"Z07", "Z0700", "Z07:00"}[min(n, 3)-1]), true
	}
	return "", false
}
