// Package jobevent names the kinds of job events for which a pool runs commands
// (notify_command, EVENT_COMMAND).
package jobevent

import (
	"fmt"
	"slices"
	"strings"
)

// Kind is a kind of event.
type Kind uint8

// The kinds, in the order of a job's life.
const (
	Submitted Kind = iota
	Started        // its program was executed
	Held
	Released
	Evicted // it left its slot before it had ended
	Ended   // it ended by itself and has left the queue
	Removed
	kinds
)

// names are the names of each kind: the first is printed, another one is the event's in
// the job's log.
var names = [kinds][]string{{"submitted"}, {"started", "executing"}, {"held"}, {"released"}, {"evicted", "vacated"}, {"ended", "terminated"}, {"removed", "aborted"}}

func (k Kind) String() string {
	if k >= kinds {
		return "Kind(?)"
	}
	return names[k][0]
}

// Parse returns the kind of a name, without regard to case.
func Parse(name string) (Kind, error) {
	for k, list := range names {
		if slices.ContainsFunc(list, func(n string) bool { return strings.EqualFold(n, name) }) {
			return Kind(k), nil
		}
	}
	return 0, fmt.Errorf("%q: want %s", name, All)
}

// Set is a set of kinds.
type Set uint8

// All has every kind, Default those that notify_command gets without notify_events.
const (
	All     Set = 1<<kinds - 1
	Default Set = 1<<Held | 1<<Ended | 1<<Removed
)

// Of returns the set of some kinds.
func Of(list ...Kind) (s Set) {
	for _, k := range list {
		s |= 1 << k
	}
	return s
}

// Has reports whether a kind is in the set.
func (s Set) Has(k Kind) bool { return s&(1<<k) != 0 }

// String returns the names, with commas between.
func (s Set) String() string {
	var list []string
	for k := range kinds {
		if s.Has(k) {
			list = append(list, k.String())
		}
	}
	return strings.Join(list, ", ")
}

// ParseSet returns the set of a list of names with commas or blanks between. An empty list is
// an error.
func ParseSet(text string) (s Set, err error) {
	list := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' })
	if len(list) == 0 {
		return 0, fmt.Errorf("no event is named: want %s", All)
	}
	for _, name := range list {
		k, err := Parse(name)
		if err != nil {
			return 0, err
		}
		s |= Of(k)
	}
	return s, nil
}
