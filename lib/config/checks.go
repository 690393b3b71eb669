package config

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"fairspool/lib/accountant"
)

// commandWord refuses what no program can be given.
func commandWord(s string) error {
	if strings.ContainsRune(s, 0) {
		return fmt.Errorf("%q: a word of a command has no NUL", s)
	}
	return nil
}

// plainName refuses what would break a submitter's name: blanks, control
// characters, and each of the runes of not.
func plainName(s, not string) error {
	for _, r := range s {
		if unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune(not, r) {
			return fmt.Errorf("%q: want a name without blanks and without any of %q", s, not)
		}
	}
	return nil
}

func domainName(s string) error { return plainName(s, `@"`) }

func userName(s string) error {
	if s == "" {
		return fmt.Errorf("an empty name")
	}
	return plainName(s, `@"`)
}

func accountName(s string) error {
	if s == "" {
		return nil
	}
	return userName(s)
}

// niceGroupName refuses what cannot be the group of nice users, which is not in the tree.
func niceGroupName(s string) error {
	if s == "" {
		return fmt.Errorf("want a name")
	}
	if strings.Contains(s, ".") {
		return fmt.Errorf("%q: want a name without a dot", s)
	}
	return accountant.CheckGroupName(s)
}

func attributeName(s string) error {
	if !isIdentifier(s) {
		return fmt.Errorf("%q: want the name of an attribute", s)
	}
	return nil
}

// isIdentifier tells whether a name is one of letters, digits and underscores
// that does not begin with a digit.
func isIdentifier(s string) bool {
	for i, r := range s {
		letter := r == '_' || r < unicode.MaxASCII && unicode.IsLetter(r)
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

func absolutePath(s string) error {
	if s != "" && !strings.HasPrefix(s, "/") {
		return fmt.Errorf("%q: want an absolute path", s)
	}
	if strings.ContainsFunc(s, unicode.IsControl) {
		return fmt.Errorf("%q: control characters in a path", s)
	}
	return nil
}

func fileName(s string) error {
	if strings.ContainsFunc(s, unicode.IsControl) {
		return fmt.Errorf("%q: control characters in a path", s)
	}
	return nil
}

// cgroupPath refuses what does not name a control group below where they are mounted.
func cgroupPath(s string) error {
	names := strings.Split(s, "/")
	wrong := slices.ContainsFunc(names, func(n string) bool { return n == "" || n == "." || n == ".." })
	if s != "" && wrong || strings.ContainsFunc(s, unicode.IsControl) {
		return fmt.Errorf("%q: want a name, or names with / between them", s)
	}
	return nil
}
