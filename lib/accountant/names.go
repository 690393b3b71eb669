package accountant

import (
	"fmt"
	"strings"
)

// The largest that may be set by hand.
const (
	// MaxPriority keeps every product of a priority and a factor in the range
	// of numbers.
	MaxPriority = 1e100
	MaxLimit    = 1e12         // units of slot weight, a million times the largest slot's
	MaxUsage    = 9e15         // seconds, nearly what a Usage holds
	MaxTime     = 253402300799 // the last second of the year 9999
)

// FullName refuses what cannot be a submitter's name.
func FullName(name string) error {
	at := strings.LastIndexByte(name, '@')
	if at < 1 || at == len(name)-1 {
		return ErrFullName(name)
	}
	if !NamesSubmitter(name) {
		return fmt.Errorf("%q: blanks, quotes or characters that cannot be seen in a submitter's name", name)
	}
	return nil
}

// ErrFullName returns the error for a name without user or domain.
func ErrFullName(name string) error {
	return fmt.Errorf("%q: want the full name of a submitter, user@uid.domain", name)
}

// RecordName refuses what cannot be the name of any record.
func RecordName(name string) error {
	if strings.Contains(name, "@") || name == "" {
		return FullName(name)
	}
	if name == RootGroup {
		return nil
	}
	return CheckGroupName(name)
}

// Apart returns what stands before and behind the @ of a submitter's name.
func Apart(name string) (user, domain string) {
	at := strings.LastIndexByte(name, '@')
	if at < 0 {
		return name, ""
	}
	return name[:at], name[at+1:]
}

// Named reports whether a submitter is the one that the user of the command
// calls name: the full name, or what stands before the @. The case of a group's
// name, before the last dot, does not count.
func Named(submitter, name string) bool {
	if !strings.Contains(name, "@") {
		submitter, _ = Apart(submitter)
	}
	if submitter == name {
		return true
	}
	a, b := GroupEnd(submitter), GroupEnd(name)
	return a > 0 && b > 0 && submitter[a:] == name[b:] && strings.EqualFold(submitter[:a], name[:b])
}

// GroupEnd returns where the name of the group ends that a submitter's name begins
// with, 0 if it has none.
func GroupEnd(name string) int {
	user, _ := Apart(name)
	return max(strings.LastIndexByte(user, '.'), 0)
}

// Holding reports whether anything is charged to the record.
func Holding(r Record) bool { return r.ResourcesUsed != 0 || r.InUse != 0 || r.Subtree != 0 }
