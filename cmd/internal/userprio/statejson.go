package userprio

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// members says how the members of an object are read.
type members map[string]func() error

// object reads an object: members that are known, each once at most, and among
// them those that are needed.
func (in *stateReader) object(known members, needed ...string) error {
	if err := in.open('{', "an object"); err != nil {
		return err
	}
	seen := map[string]bool{}
	for in.dec.More() {
		key, err := in.token()
		if err != nil {
			return err
		}
		name, _ := key.(string) // the decoder takes nothing else
		read, ok := known[name]
		switch {
		case !ok:
			return fmt.Errorf("%q: no member of this name is known", name)
		case seen[name]:
			return wrong(name, "is there twice")
		}
		seen[name] = true
		if err := read(); err != nil {
			return wrong(name, "%w", err)
		}
	}
	if _, err := in.token(); err != nil {
		return err
	}
	for _, name := range needed {
		if !seen[name] {
			return wrong(name, "is missing")
		}
	}
	return nil
}

// wrong is the error about a member.
func wrong(member, format string, args ...any) error {
	return fmt.Errorf("%s: %w", member, fmt.Errorf(format, args...))
}

// array reads an array, element by element.
func (in *stateReader) array(element func() error) error {
	if err := in.open('[', "an array"); err != nil {
		return err
	}
	for in.dec.More() {
		if err := element(); err != nil {
			return err
		}
	}
	_, err := in.token()
	return err
}

func (in *stateReader) open(delim json.Delim, what string) error {
	t, err := in.token()
	if err == nil && t != delim {
		err = fmt.Errorf("want %s", what)
	}
	return err
}

func (in *stateReader) token() (json.Token, error) {
	t, err := in.dec.Token()
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = errors.New("ends too early")
	}
	return t, err
}

func (in *stateReader) string(to *string) func() error {
	return func() error {
		t, err := in.token()
		text, ok := t.(string)
		if err == nil && !ok {
			err = errors.New("want a string")
		}
		*to = text
		return err
	}
}

func (in *stateReader) int(to *int64, least, most int64) func() error {
	return func() error {
		n, err := in.number()
		if err != nil {
			return err
		}
		if *to, err = strconv.ParseInt(n, 10, 64); least == most && *to != least {
			return fmt.Errorf("%s: want %d", n, least)
		}
		if err != nil || *to < least || *to > most {
			return fmt.Errorf("%s: want a whole number from %d to %d", n, least, most)
		}
		return nil
	}
}

func (in *stateReader) real(to *float64, least, most float64) func() error {
	return func() error {
		n, err := in.number()
		if err != nil {
			return err
		}
		if *to, err = strconv.ParseFloat(n, 64); err != nil || *to < least || *to > most {
			return fmt.Errorf("%s: want a number from %g to %g", n, least, most)
		}
		return nil
	}
}

func (in *stateReader) number() (string, error) {
	t, err := in.token()
	n, ok := t.(json.Number)
	if err == nil && !ok {
		err = errors.New("want a number")
	}
	return n.String(), err
}
