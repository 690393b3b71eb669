package jobargs

import (
	"errors"
	"strings"
)

// blanks are the characters that part the words of both syntaxes.
const blanks = " \t\r\n"

// ParseV1 returns the arguments of a text in the old syntax: its words.
func ParseV1(text string) []string {
	return strings.FieldsFunc(text, isBlank)
}

// ParseV2 returns the words of a text in the new syntax. It is an error when
// a single quote is not closed.
func ParseV2(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	begun := false // a word of two quotes is empty, but a word
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\'':
			n, err := quoted(&word, text[i+1:])
			if err != nil {
				return nil, err
			}
			i += n
			begun = true
		case isBlank(rune(c)):
			if begun {
				words = append(words, word.String())
				word.Reset()
			}
			begun = false
		default:
			word.WriteByte(c)
			begun = true
		}
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}

// quoted adds to word what stands before the closing quote of text, and
// returns how many bytes that took with the quote.
func quoted(word *strings.Builder, text string) (int, error) {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] != '\'':
			word.WriteByte(text[i])
		case i+1 < len(text) && text[i+1] == '\'':
			word.WriteByte('\'')
			i++
		default:
			return i + 1, nil
		}
	}
	return 0, errors.New("a single quote is not closed")
}

// FormatV2 is the inverse of ParseV2. Only the characters that need quotes
// get them, as in ads that HTCondor wrote: one' 'word.
func FormatV2(args []string) string {
	var b strings.Builder
	for i, a := range args {
		if i > 0 {
			b.WriteByte(' ')
		}
		appendV2(&b, a)
	}
	return b.String()
}

// FormatLiteral is FormatV2 for words in which $$() is text: the starter, which
// puts what the slot has in its place, does not find the reference.
func FormatLiteral(args []string) string {
	return strings.ReplaceAll(FormatV2(args), "$$(", "$'$'(")
}

func appendV2(b *strings.Builder, word string) {
	if word == "" {
		b.WriteString("''")
	}
	inside := false // between quotes
	for i := 0; i < len(word); i++ {
		c := word[i]
		special := c == '\'' || isBlank(rune(c))
		if special != inside {
			b.WriteByte('\'')
			inside = special
		}
		b.WriteByte(c)
		if c == '\'' {
			b.WriteByte(c)
		}
	}
	if inside {
		b.WriteByte('\'')
	}
}

func isBlank(r rune) bool { return r < 0x80 && strings.IndexByte(blanks, byte(r)) >= 0 }
