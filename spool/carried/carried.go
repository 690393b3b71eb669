// Package carried keeps, in a spool directory, how many bytes of the files of attempts have gone to other machines, or come
// from them, while they do. No transaction does that, and nothing waits for the disk.
package carried

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"fairspool/lib/pool"
)

// State is how far the files of an attempt are.
type State struct {
	Back  bool // they come from the machine; else they go there
	Bytes int64
}

// Note makes a state that of an attempt on a machine, in whose name case does not matter.
func Note(dir, machine string, a pool.Attempt, s State) error {
	path := path(dir, machine, a)
	text := fmt.Appendf(nil, "%v %d\n", s.Back, s.Bytes)
	err := os.WriteFile(path, text, 0o600)
	if os.IsNotExist(err) {
		if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
			err = os.WriteFile(path, text, 0o600)
		}
	}
	return err
}

// Of returns the state of an attempt on a machine; false if none of its files are on their way.
func Of(dir, machine string, a pool.Attempt) (s State, ok bool) {
	text, err := os.ReadFile(path(dir, machine, a))
	if err != nil {
		return s, false
	}
	n, err := fmt.Sscanf(string(text), "%t %d\n", &s.Back, &s.Bytes)
	return s, err == nil && n == 2
}

// Forget removes what is noted of an attempt on a machine.
func Forget(dir, machine string, a pool.Attempt) { os.Remove(path(dir, machine, a)) }

// Clear removes what is noted of all attempts on a machine.
func Clear(dir, machine string) error {
	return os.RemoveAll(filepath.Dir(path(dir, machine, pool.Attempt{})))
}

func path(dir, machine string, a pool.Attempt) string {
	return filepath.Join(dir, "carried", url.PathEscape(strings.ToLower(machine)), a.String())
}
