package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ErrWatching says that another process watches over a machine.
var ErrWatching error = busy("another process is watching")

// Watching runs fn while no other process watches over this machine, in whose name case
// does not matter, and fails with ErrWatching, which is an ErrLocked, when one does.
func (s *Spool) Watching(machine string, fn func() error) error {
	name := watchFile(machine)
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

// watchFile returns the name of a machine's file: its lock while a process watches over the
// machine, and by its modification time when a starter has last looked after it.
func watchFile(machine string) string {
	return "watch." + url.PathEscape(strings.ToLower(machine)) + ".lock"
}

// NoteServed notes that a starter looks after a machine now, in whose name case does not
// matter.
func (s *Spool) NoteServed(machine string) error {
	path, now := s.path(watchFile(machine)), time.Now()
	err := os.Chtimes(path, now, now)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := s.files.Open(path, readWrite|create, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// Served returns when starters have last looked after machines, by the machine's clock and the
// machines' names in lower case.
func (s *Spool) Served() (map[string]time.Time, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	at := map[string]time.Time{}
	for _, e := range entries {
		name, is := strings.CutPrefix(e.Name(), "watch.")
		name, ends := strings.CutSuffix(name, ".lock")
		machine, bad := url.PathUnescape(name)
		if info, err := e.Info(); is && ends && bad == nil && err == nil {
			at[machine] = info.ModTime()
		}
	}
	return at, nil
}
