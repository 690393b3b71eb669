package spool

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
)

// ErrWatching says that another process watches over a machine.
var ErrWatching error = busy("another process is watching")

// Watching runs fn while no other process watches over this machine, in whose name case
// does not matter, and fails with ErrWatching, which is an ErrLocked, when one does.
func (s *Spool) Watching(machine string, fn func() error) error {
	name := "watch." + url.PathEscape(strings.ToLower(machine)) + ".lock"
	began := false
	err := s.locked(name, 0, func(file) error {
		began = true
		return fn()
	})
	if !began && errors.Is(err, ErrLocked) {
		return fmt.Errorf("%w %s: %s", ErrWatching, machine, s.holder(filepath.Join(s.dir, name)))
	}
	return err
}
