package spool

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// format is the number of the format that this package reads and writes.
const format = 1

// version is the content of VERSION.
type version struct {
	Format     int
	Domain, ID string
}

func (v version) text() string {
	return fmt.Sprintf("fairspool spool\nformat %d\nUID_DOMAIN %s\nid %s\n", v.Format, v.Domain, v.ID)
}

func (s *Spool) readVersion() (version, error) {
	b, err := contents(s.files, filepath.Join(s.dir, "VERSION"))
	if err != nil {
		return version{}, err
	}
	values := map[string]string{}
	for _, line := range strings.Split(string(b), "\n") {
		key, value, _ := strings.Cut(line, " ")
		values[key] = value
	}
	v := version{Domain: values["UID_DOMAIN"], ID: values["id"]}
	if v.Format, err = strconv.Atoi(values["format"]); err != nil || values["fairspool"] != "spool" || v.Domain == "" {
		return version{}, fmt.Errorf("VERSION: not the VERSION of a spool")
	}
	if v.Format > format {
		return version{}, fmt.Errorf("VERSION: format %d is newer than %d, which is what this program knows: use a newer fairspool", v.Format, format)
	}
	return v, nil
}

// parts are the names that a spool directory may have before its VERSION is
// written, which is the last step of making it.
var parts = []string{"lock", "CURRENT", "journal.1", "slots.d", "claims.d", "history", "VERSION"}

// create makes the spool in its directory. Several processes may do so at
// once: the first makes it, under the lock, and the others find it made.
func (s *Spool) create() error {
	if err := s.checkEmpty(); err != nil {
		return err
	}
	return s.locked("lock", s.options.LockWait, func(file) error {
		v, err := s.readVersion()
		if !errors.Is(err, fs.ErrNotExist) {
			s.version = v
			return err
		}
		if err := s.checkUnused(); err != nil {
			return err
		}
		for _, name := range []string{"slots.d", "claims.d", "history"} {
			if err := s.files.Mkdir(filepath.Join(s.dir, name), 0o700); err != nil {
				return err
			}
		}
		if err := replace(s.files, filepath.Join(s.dir, "journal.1"), nil); err != nil {
			return err
		}
		if err := replace(s.files, filepath.Join(s.dir, "CURRENT"), []byte("1\n")); err != nil {
			return err
		}
		if v, err = newVersion(s.options.UIDDomain); err != nil {
			return err
		}
		s.version = v
		return replace(s.files, filepath.Join(s.dir, "VERSION"), []byte(v.text()))
	})
}

func newVersion(domain string) (version, error) {
	if domain == "" {
		host, err := os.Hostname()
		if err != nil {
			return version{}, fmt.Errorf("no UID_DOMAIN is configured, and the host has no name: %w", err)
		}
		domain = host
	}
	if strings.ContainsAny(domain, " \t\n@") {
		return version{}, fmt.Errorf("UID_DOMAIN %q: a domain has neither blanks nor @", domain)
	}
	id := make([]byte, 8)
	if _, err := rand.Read(id); err != nil {
		return version{}, err
	}
	return version{format, domain, hex.EncodeToString(id)}, nil
}

// checkUnused refuses to make a spool where there was one: a journal with
// something in it is worth more than an answer.
func (s *Spool) checkUnused() error {
	names, err := os.ReadDir(s.dir)
	if err != nil {
		return reason(err)
	}
	for _, e := range names {
		info, err := e.Info()
		if err == nil && strings.HasPrefix(e.Name(), "journal.") && info.Size() > 0 {
			return fmt.Errorf("VERSION is missing, but %s is there: restore VERSION from a copy", e.Name())
		}
	}
	return nil
}

// checkEmpty refuses a directory in which something else lives.
func (s *Spool) checkEmpty() error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return reason(err)
	}
	for _, e := range entries {
		if !slices.Contains(parts, strings.TrimSuffix(e.Name(), ".new")) {
			return fmt.Errorf("no spool, and no room for one: %s is there; give an empty or a new directory", e.Name())
		}
	}
	return nil
}
