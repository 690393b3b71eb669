package submitfile

import (
	"fmt"
	"strconv"
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

// Settled tells whether a description's own value for a name has no effect,
// since the language gives it another for every job.
func Settled(key string) bool {
	switch key {
	case "cluster", "clusterid", "process", "procid", "dollar":
		return true
	}
	return false
}

// ofProc returns the value of a name that is the language's own.
func (s *scope) ofProc(key string) (text string, ok bool, err error) {
	if len(key) > len("itemindex") {
		return "", false, nil
	}
	if key == "dollar" {
		return "$", true, nil
	}
	if !builtin(key) {
		return "", false, nil
	}
	if s.proc == nil {
		if !Settled(key) {
			return "", false, nil // the description may define it
		}
		return "", true, fmt.Errorf("$(%s): has no value yet where conditions, includes and queue lines are read", key)
	}
	switch key {
	case "cluster", "clusterid":
		return strconv.Itoa(s.proc.cluster), true, nil
	}
	if _, own := s.vars[key]; key == "item" || own && !Settled(key) {
		return "", false, nil // see item
	}
	if key == "node" {
		return "0", true, nil // jobs of several nodes are none of ours
	}
	s.varied = true
	switch key {
	case "process", "procid":
		return strconv.Itoa(s.proc.proc), true, nil
	case "jobid":
		return strconv.Itoa(s.proc.cluster) + "." + strconv.Itoa(s.proc.proc), true, nil
	case "step":
		return strconv.Itoa(s.proc.step), true, nil
	default: // itemindex, row
		return strconv.Itoa(s.proc.row), true, nil
	}
}
