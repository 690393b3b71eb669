// Package jobargs reads and writes the two ways in which a job ad holds a
// list of arguments or an environment in one string.
//
// The old syntax, V1 (attributes Args and Env), has no quoting at all: blanks separate
// arguments, semicolons assignments, and text that contains a separator cannot be
// written. The new syntax, V2 (Arguments and Environment), can write everything: blanks
// separate words, single quotes make the enclosed text literal, and two of them in a row
// inside quotes are one quote:
//
//	-n 'two words' 'it''s'      three arguments: -n, two words, it's
//	GREETING='good day' N=3     two assignments
//
// An ad that has both attributes means the new one. The double quotes with
// which submit description files mark the new syntax are not part of it;
// lib/submitfile takes them off.
//
// It is a leaf: submit writes what the starter reads. It knows ads, and
// nothing of files, processes, or the environment that it runs in.
package jobargs

import (
	"errors"
	"fmt"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
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

// FormatLiteral is FormatV2 for words in which $$() is text: the starter, which replaces
// $$() by the slot's values, does not find the reference.
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

// ParseEnvV1 returns the assignments, each NAME=value, of an environment in
// the old syntax. Blanks before a name do not count, all others do, as in
// HTCondor. Of several assignments to one name the last holds, in the place
// of the first. It is an error when an assignment has no name or no "=".
func ParseEnvV1(text string) ([]string, error) {
	var env []string
	for _, a := range strings.FieldsFunc(text, func(r rune) bool { return r == ';' || r == '\n' }) {
		if a = strings.TrimLeft(a, blanks); a != "" {
			env = append(env, a)
		}
	}
	return checkEnv(env)
}

// ParseEnvV2 returns the assignments, each NAME=value, of an environment in
// the new syntax. Of several assignments to one name the last holds, in the
// place of the first. It is an error when a quote is not closed, or when an
// assignment has no name or no "=".
func ParseEnvV2(text string) ([]string, error) {
	env, err := ParseV2(text)
	if err != nil {
		return nil, err
	}
	return checkEnv(env)
}

// FormatEnvV2 is the inverse of ParseEnvV2.
func FormatEnvV2(env []string) string { return FormatV2(env) }

// MergeEnv returns base with the assignments of over put over it. Names keep
// the place where they first stood; new ones come last.
func MergeEnv(base, over []string) []string {
	out := make([]string, 0, len(base)+len(over))
	place := make(map[string]int, len(base)+len(over))
	for _, list := range [][]string{base, over} {
		for _, a := range list {
			name, _, _ := strings.Cut(a, "=")
			if i, seen := place[name]; seen {
				out[i] = a
				continue
			}
			place[name] = len(out)
			out = append(out, a)
		}
	}
	return out
}

func checkEnv(env []string) ([]string, error) {
	for _, a := range env {
		name, _, ok := strings.Cut(a, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("%q: want NAME=value", a)
		}
	}
	if len(env) == 0 {
		return nil, nil
	}
	return MergeEnv(nil, env), nil
}

// Unquote removes a submit description's quoting of arguments. Double quotes mark the new syntax, in which two of them
// stand for one; in the old syntax a backslash makes one of a double quote. The error is one line and explains the
// notation.
func Unquote(text string) (raw string, isNew bool, err error) {
	inner, isNew := strings.CutPrefix(text, `"`)
	if !isNew {
		raw := strings.ReplaceAll(text, `\"`, "\x00")
		if strings.Contains(raw, `"`) {
			return "", false, errors.New(`a double quote inside: write \" in the old syntax, or put all of it in double quotes for the new one`)
		}
		return strings.ReplaceAll(raw, "\x00", `"`), false, nil
	}
	inner, closed := strings.CutSuffix(inner, `"`)
	if !closed {
		return "", true, errors.New("the double quote at its beginning is not closed")
	}
	raw = strings.ReplaceAll(inner, `""`, "\x00")
	if strings.Contains(raw, `"`) {
		return "", true, errors.New(`a double quote inside: write "" for it`)
	}
	return strings.ReplaceAll(raw, "\x00", `"`), true, nil
}

// UnquoteEnv does the same for an environment, but that in the old syntax every
// double quote and backslash is a part of the value, as HTCondor has it.
func UnquoteEnv(text string) (raw string, isNew bool, err error) {
	if !strings.HasPrefix(text, `"`) {
		return text, false, nil
	}
	return Unquote(text)
}

// FromAd returns the arguments of a job, without its executable: those of Arguments (V2),
// else of Args (V1), else none. Errors name the attribute that is no string or not well
// formed. Strings of ads have no NUL byte, and so arguments have none.
func FromAd(ad *classad.Ad) ([]string, error) {
	v1 := func(text string) ([]string, error) { return ParseV1(text), nil }
	return fromAd(ad, pool.AttrArguments, ParseV2, pool.AttrArgs, v1)
}

// EnvFromAd returns the environment of a job as NAME=value: from Environment (V2), else
// from Env (V1), else none. Errors are as for FromAd.
func EnvFromAd(ad *classad.Ad) ([]string, error) {
	return fromAd(ad, pool.AttrEnvironment, ParseEnvV2, pool.AttrEnv, ParseEnvV1)
}

type parser func(string) ([]string, error)

func fromAd(ad *classad.Ad, v2 string, parse2 parser, v1 string, parse1 parser) ([]string, error) {
	name, parse := v2, parse2
	if !ad.Has(v2) {
		name, parse = v1, parse1
	}
	if !ad.Has(name) {
		return nil, nil
	}
	text, ok := ad.EvalString(&classad.Context{}, name)
	if !ok {
		return nil, fmt.Errorf("%s: want a string", name)
	}
	words, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return words, nil
}
