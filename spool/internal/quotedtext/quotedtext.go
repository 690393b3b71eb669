// Package quotedtext reads the quoted texts of lines.
package quotedtext

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
)

// All splits a blank-separated list of quoted texts.
func All(s string) ([]string, error) {
	var texts []string
	for s != "" {
		text, rest, err := First(s)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
		s = strings.TrimPrefix(rest, " ")
	}
	return texts, nil
}

// First reads the quoted text that s begins with, and returns what
// follows it. What is printing ASCII with escaped quotes and backslashes it reads
// by itself, many times faster than strconv: every reader of a journal reads the
// arguments in it, which may be megabytes.
func First(s string) (text, rest string, err error) {
	if text, rest, ok := plain(s); ok {
		return text, rest, nil
	}
	prefix, err := strconv.QuotedPrefix(s)
	if err != nil {
		return "", "", err
	}
	text, err = strconv.Unquote(prefix)
	return text, s[len(prefix):], err
}

func plain(s string) (text, rest string, ok bool) {
	if s == "" || s[0] != '"' {
		return "", "", false
	}
	var b []byte
	from := 1 // of what is not in b yet
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' && from == 1:
			return s[1:i], s[i+1:], true
		case c == '"':
			return string(append(b, s[from:i]...)), s[i+1:], true
		case c == '\\' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\\'):
			b = append(b, s[from:i]...)
			i++
			from = i
		case c < ' ' || c >= 0x7f || c == '\\':
			return "", "", false
		}
	}
	return "", "", false
}

// Word returns a quoted text or a - as it stands, and what follows the blank
// behind it.
func Word(b []byte) (w, rest []byte, err error) {
	n := 1
	if len(b) == 0 {
		return nil, nil, errors.New("a word is missing")
	}
	if b[0] == '"' {
		for n < len(b) && b[n] != '"' {
			if b[n] == '\\' {
				n++
			}
			n++
		}
		if n++; n > len(b) {
			return nil, nil, errors.New("a text without an end")
		}
	}
	return b[:n], bytes.TrimPrefix(b[n:], []byte(" ")), nil
}

// Plainly reports whether a text stands for itself between quotes: it is printing
// ASCII without quotes and backslashes.
func Plainly(text []byte) bool {
	for _, c := range text {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
