package spool

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"fairspool/lib/classad"
	"fairspool/lib/localdisk"
	"fairspool/lib/pool"
	"fairspool/spool/internal/files"
)

func TestRefusals(t *testing.T) {
	t.Run("locked", func(t *testing.T) {
		dir := fixture(t)
		s, err := Open(dir, Options{Program: "holder", UIDDomain: "x"})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Update(func(*Tx) error {
			err := attempt(dir, files.Disk{}, operations[0].do)
			if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), fmt.Sprintf("held by pid %d (holder)", os.Getpid())) {
				t.Errorf("a second writer = %v, want ErrLocked and who holds it", err)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("network", func(t *testing.T) {
		real := localdisk.TypeOf
		defer func() { localdisk.TypeOf = real }()
		localdisk.TypeOf = func(string) (int64, error) { return unix.NFS_SUPER_MAGIC, nil }
		dir := filepath.Join(t.TempDir(), "spool")
		if _, err := Open(dir, Options{UIDDomain: "x"}); err == nil || !strings.Contains(err.Error(), "NFS") {
			t.Errorf("Open on NFS = %v, want a refusal", err)
		}
		if _, err := Open(dir, Options{UIDDomain: "x", AllowNetwork: true}); err != nil {
			t.Errorf("Open on NFS with leave = %v", err)
		}
	})
	t.Run("other uid", func(t *testing.T) {
		dir := "/"
		if os.Geteuid() == 0 {
			dir = t.TempDir()
			if err := os.Chown(dir, 12345, -1); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Open(dir, Options{UIDDomain: "x"}); err == nil || !strings.Contains(err.Error(), "belongs to") {
			t.Errorf("Open of somebody else's directory = %v, want a refusal", err)
		}
	})
	t.Run("not a spool", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "thesis.tex"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir, Options{UIDDomain: "x"}); err == nil || !strings.Contains(err.Error(), "thesis.tex") {
			t.Errorf("Open of a directory in use = %v, want a refusal", err)
		}
	})
	t.Run("another format", func(t *testing.T) {
		for number, want := range map[int]string{format - 1: "is older than", format + 1: "is newer than"} {
			dir := fixture(t)
			if err := os.WriteFile(filepath.Join(dir, "VERSION"), fmt.Appendf(nil, "fairspool spool\nformat %d\nUID_DOMAIN x\nid 1\n", number), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(dir, Options{UIDDomain: "x"}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Open of format %d = %v, want a refusal", number, err)
			}
		}
	})
	t.Run("other domain", func(t *testing.T) {
		if _, err := Open(fixture(t), Options{UIDDomain: "y"}); err == nil || !strings.Contains(err.Error(), "UID_DOMAIN") {
			t.Errorf("Open with another UID_DOMAIN = %v, want a refusal", err)
		}
	})
	t.Run("unnamed, void, empty", func(t *testing.T) {
		dir := fixture(t)
		before, _ := os.ReadFile(filepath.Join(dir, "journal.1"))
		for name, do := range map[string]func(*Tx) error{
			"unnamed":     func(tx *Tx) error { tx.DropSlot("s"); return nil },
			"no such job": func(tx *Tx) error { tx.Op("x"); tx.Set(pool.JobID{Cluster: 1, Proc: 99}, "A", nil); return nil },
			"partly there": func(tx *Tx) error {
				tx.Op("x")
				tx.SetRange(pool.Procs{Cluster: 1, First: 5, Last: 50}, "A", classad.Literal(classad.Int(1)))
				return nil
			},
			"no procs": func(tx *Tx) error { tx.Op("x"); tx.AddCluster(classad.New(), nil); return nil },
			"refused":  func(tx *Tx) error { tx.Op("x"); tx.DropSlot("s"); return errors.New("no") },
		} {
			if err := attempt(dir, files.Disk{}, do); err == nil {
				t.Errorf("%s: Update succeeded", name)
			}
		}
		if err := attempt(dir, files.Disk{}, func(*Tx) error { return nil }); err != nil {
			t.Errorf("an empty transaction: %v", err)
		}
		if now, _ := os.ReadFile(filepath.Join(dir, "journal.1")); !bytes.Equal(now, before) {
			t.Error("the journal changed")
		}
	})
}

// TestWithoutLockFile holds that a copy of a spool without its lock file reads,
// and can be written.
func TestWithoutLockFile(t *testing.T) {
	t.Parallel()
	dir := fixture(t)
	want := dump(t, dir)
	if err := os.Remove(filepath.Join(dir, "lock")); err != nil {
		t.Fatal(err)
	}
	if got := dump(t, dir); got != want {
		t.Errorf("without lock: %s\nwant %s", got, want)
	}
	if err := attempt(dir, files.Disk{}, operations[0].do); err != nil {
		t.Error(err)
	}
}
