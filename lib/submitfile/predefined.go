package submitfile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// builtin tells whether the language itself gives a name, in lower case, a
// value.
func builtin(key string) bool {
	switch key {
	case "cluster", "clusterid", "dollar":
		return true
	}
	return ofEachProc(key)
}

// ofEachProc tells whether a name's value is another one for every proc.
func ofEachProc(key string) bool {
	switch key {
	case "process", "procid", "jobid", "step", "item", "itemindex", "row", "node":
		return true
	}
	return false
}

// Settled reports whether a description's own value for a name has no effect,
// since the language gives it another for every job. HTCondor's submit replaces
// these and leaves ClusterId and ProcId alone.
func Settled(key string) bool {
	switch key {
	case "cluster", "process", "dollar":
		return true
	}
	return false
}

// ofProc returns the value of a name that is the language's own. A variable of the
// queue line outranks it, except for DOLLAR.
func (s *scope) ofProc(name, key string) (text string, ok bool, err error) {
	if len(key) > len("itemindex") || !builtin(key) {
		return "", false, nil
	}
	if key == "dollar" {
		return "$", true, nil
	}
	if s.owns(key) {
		return "", false, nil
	}
	if s.proc == nil {
		return "", true, fmt.Errorf("$(%s): has no value yet where conditions, includes and queue lines are read", name)
	}
	switch key {
	case "cluster", "clusterid":
		return strconv.Itoa(s.proc.cluster), true, nil
	case "node":
		ok, err := s.parallel()
		return "0", ok, err // a job has one node
	case "item":
		return "", true, nil // see item
	case "jobid":
		return s.jobID()
	}
	s.varied = true
	switch key {
	case "process", "procid":
		return strconv.Itoa(s.proc.proc), true, nil
	case "step":
		return strconv.Itoa(s.proc.step), true, nil
	default: // itemindex, row
		return strconv.Itoa(s.proc.row), true, nil
	}
}

// jobID returns $(ClusterId).$(ProcId), which the description may have changed.
func (s *scope) jobID() (text string, ok bool, err error) {
	cluster, _, err := s.named("ClusterId", "clusterid")
	if err != nil {
		return "", true, err
	}
	proc, _, err := s.named("ProcId", "procid")
	return cluster + "." + proc, true, err
}

// parallel reports whether the universe is the parallel one. The jobs of others have no
// node.
func (s *scope) parallel() (bool, error) {
	for _, name := range []string{"universe", "jobuniverse"} {
		text, ok, err := s.named(name, name)
		if err != nil {
			return false, err
		}
		if text = strings.Trim(strings.TrimSpace(text), `"`); ok && text != "" {
			return strings.EqualFold(text, "parallel") || text == "11", nil
		}
	}
	return false, nil
}

// owns reports whether the description gives a name of the language a value of
// its own.
func (s *scope) owns(key string) bool {
	if s.proc != nil && slices.Contains(s.proc.queue.keys, key) {
		return true
	}
	_, own := s.vars[key]
	return own && !Settled(key)
}
