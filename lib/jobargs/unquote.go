package jobargs

import (
	"errors"
	"strings"
)

// Unquote takes off what a submit description puts around arguments. Double quotes mark the new syntax, in which two of them
// stand for one; in the old syntax a backslash makes one of a double quote. The
// error is one line and says how to write it.
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
