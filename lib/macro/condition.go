package macro

import (
	"fmt"
	"strconv"
	"strings"
)

// Condition is what stands behind if or elif.
type Condition struct {
	// Not says that it began with "!".
	Not bool
	// Word is "defined", "version" or empty, which is a literal. Rest is what stands
	// behind the word, or the literal.
	Word, Rest string

	yes bool // of a literal
}

// ParseCondition reads a condition whose macros have been put in: "defined NAME",
// "version OP x.y.z", or true, false, yes, no, t, f, y, n, a number, or nothing, which is
// false; in any case, and behind a "!" if it is to be turned round. The error is one line
// and says what is wanted; Not, Word and Rest are right even then.
func ParseCondition(text string) (Condition, error) {
	rest, not := strings.CutPrefix(strings.TrimSpace(text), "!")
	c := Condition{Not: not, Rest: strings.TrimSpace(rest)}
	end := 0
	for end < len(c.Rest) && isLetter(c.Rest[end]) {
		end++
	}
	behind := strings.TrimSpace(c.Rest[end:])
	var err error
	switch word := strings.ToLower(c.Rest[:end]); {
	case word == "version":
		c.Word, c.Rest = word, behind
		_, err = CompareVersion([3]int{}, behind)
	case word == "defined" && (len(c.Rest) == end || len(behind) < len(c.Rest)-end):
		c.Word, c.Rest = word, behind
		if !isLiteral(behind) && !IsName(behind) {
			err = fmt.Errorf("defined %s: want the name of a macro", shorten(behind))
		}
	default:
		yes, ok := literal(c.Rest)
		if c.yes = yes; !ok {
			err = fmt.Errorf("%s: want true, false, a number, defined NAME, or version with ==, >= or <=", shorten(c.Rest))
		}
	}
	return c, err
}

// Holds tells whether the condition is true. defined says whether a macro has a value;
// version is the release that the text is read by. A literal is defined, save the empty
// one, as in "defined $(X)" it is what X is worth; y and n are names there.
func (c Condition) Holds(defined func(name string) bool, version [3]int) bool {
	yes := c.yes
	switch c.Word {
	case "defined":
		yes = c.Rest != "" && (isLiteral(c.Rest) || defined(c.Rest))
	case "version":
		yes, _ = CompareVersion(version, c.Rest)
	}
	return yes != c.Not
}

// literal returns what a word or a number means as a condition.
func literal(text string) (yes, ok bool) {
	switch strings.ToLower(text) {
	case "true", "t", "yes", "y":
		return true, true
	case "false", "f", "no", "n", "":
		return false, true
	}
	if strings.Trim(text, "0123456789+-.eE") != "" {
		return false, false
	}
	n, err := strconv.ParseFloat(text, 64)
	return n != 0, err == nil
}

// isLiteral tells whether what stands behind "defined" is a literal.
func isLiteral(text string) bool {
	_, ok := literal(text)
	return ok && !strings.EqualFold(text, "y") && !strings.EqualFold(text, "n")
}

// CompareVersion tells whether have stands in the relation to what follows it, as in
// ">= 8.1.6". The relations are ==, >=, <=, !=, > and <; a part of the number that is left
// out is not compared. The error is one line.
func CompareVersion(have [3]int, text string) (bool, error) {
	for _, op := range []string{">=", "<=", "==", "!=", ">", "<"} {
		number, is := strings.CutPrefix(strings.TrimSpace(text), op)
		if !is {
			continue
		}
		c, ok := against(have, strings.TrimSpace(number))
		if !ok {
			break
		}
		switch op[0] {
		case '>':
			return c > 0 || c == 0 && op == ">=", nil
		case '<':
			return c < 0 || c == 0 && op == "<=", nil
		}
		return (c == 0) == (op == "=="), nil
	}
	return false, fmt.Errorf("version %s: want ==, >= or <=, then x.y.z", shorten(text))
}

// against compares have with a version in text: negative, zero or positive.
func against(have [3]int, text string) (c int, ok bool) {
	parts := strings.Split(text, ".")
	if len(parts) > len(have) {
		return 0, false
	}
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 31)
		if err != nil {
			return 0, false
		}
		if c == 0 {
			c = have[i] - int(n)
		}
	}
	return c, true
}

// shorten returns the beginning of a text on one line, for messages.
func shorten(text string) string {
	const most = 60
	out := []rune(strings.ToValidUTF8(text, "\uFFFD"))
	if len(out) > most {
		out = append(out[:most], '.', '.', '.')
	}
	for i, r := range out {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			out[i] = ' '
		}
	}
	return string(out)
}
