package tool

import (
	"slices"
	"strings"
	"unicode"
)

// lineClass is what a character means to Java's line break iterator, for the characters help texts are made of.
type lineClass int8

const (
	lineChar lineClass = iota
	lineSpace
	lineBreak // always ends a word
	lineDash
	linePre  // sticks to what follows it
	linePost // sticks to what it follows
	lineBoth // the double quote does either
	lineDigit
	lineGlue // no line ends before or after it
)

func lineClassOf(r rune) lineClass {
	switch {
	case strings.ContainsRune("\t\f\u0003\u0085\u2028\u2029", r):
		return lineBreak
	case r == ' ' || r == '\n' || unicode.Is(unicode.Zs, r):
		return lineSpace
	case r == '"':
		return lineBoth
	case unicode.Is(unicode.Pd, r):
		return lineDash
	case r == '\'' || unicode.In(r, unicode.Sc):
		return lineGlue
	case unicode.In(r, unicode.Ps, unicode.Pi):
		return linePre
	case unicode.In(r, unicode.Pe, unicode.Pf) || strings.ContainsRune("!%.,:;?", r):
		return linePost
	case unicode.In(r, unicode.Nd, unicode.No):
		return lineDigit
	}
	return lineChar
}

// breakLine cuts a text where Java's BreakIterator.getLineInstance lets a line end: after spaces, after dashes, after closing
// punctuation and before opening one, but not within numbers.
func breakLine(text string) []string {
	runes := []rune(text)
	var words []string
	for len(runes) > 0 {
		n := lineWord(runes)
		words = append(words, string(runes[:n]))
		runes = runes[n:]
	}
	return words
}

// lineWord is the length of the first word with the spaces after it: what sticks to a word before it, a number or letters, what
// sticks to it after it, spaces, and one character that always breaks.
func lineWord(r []rune) int {
	i := linePart(r, 0)
	for i < len(r) && lineClassOf(r[i]) == lineGlue {
		i = linePart(r, skipClasses(r, i, lineGlue))
	}
	i = skipClasses(r, i, lineSpace)
	if i < len(r) && lineClassOf(r[i]) == lineBreak {
		i++
	}
	return max(i, 1)
}

// linePart is the end of what stands at i between glue.
func linePart(r []rune, i int) int {
	i = skipClasses(r, i, linePre, lineBoth)
	if n := lineNumber(r, i); n > i {
		i = n
	} else if i = skipClasses(r, i, lineChar, lineDigit); i > 0 && i+1 < len(r) && r[i] == '(' && r[i+1] == ')' {
		i += len("()") // of a call
	}
	if n := skipClasses(r, i, lineDash); n > i {
		return n
	}
	return skipClasses(r, i, linePost, lineBoth)
}

// lineNumber is the end of the number at i with the dashes before it, or i if there is none or plain digits, which are as letters.
func lineNumber(r []rune, i int) int {
	at := skipClasses(r, i, lineDash, linePre, lineBoth)
	end := skipClasses(r, at, lineDigit)
	if end == at {
		return i
	}
	plain := at == i
	for end+1 < len(r) && (r[end] == '.' || r[end] == ',') && lineClassOf(r[end+1]) == lineDigit {
		plain = false
		end = skipClasses(r, end+1, lineDigit)
	}
	if plain {
		return i
	}
	return end
}

func skipClasses(r []rune, i int, classes ...lineClass) int {
	for i < len(r) && slices.Contains(classes, lineClassOf(r[i])) {
		i++
	}
	return i
}
