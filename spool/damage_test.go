package spool

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fairspool/spool/internal/files"
)

// TestDamage changes the journal in ways that no crash does, and holds that
// every command stops with file and line and changes nothing.
func TestDamage(t *testing.T) {
	t.Parallel()
	base := fixture(t)
	if err := attempt(base, files.Disk{}, operations[0].do); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(filepath.Join(base, "journal.1"))
	if err != nil {
		t.Fatal(err)
	}
	second := bytes.Index(good, []byte("\nT 2 ")) + 1
	third := bytes.Index(good, []byte("\nT 3 ")) + 1
	flip := func(at int) []byte {
		b := bytes.Clone(good)
		b[at] ^= 4
		return b
	}
	line := func(at int) int { return bytes.Count(good[:at], newline) + 1 }
	for _, c := range []struct {
		name    string
		journal []byte
		noAck   bool
		line    int
	}{
		{"a byte of the first transaction", flip(40), false, 1},
		{"a byte of the second", flip(second + 60), false, line(second)},
		{"a byte of the last", flip(len(good) - 30), false, line(third)},
		{"the second cut out", append(bytes.Clone(good[:second]), good[third:]...), false, line(second)},
		{"the end cut off", good[:third], false, line(third)},
		{"half of the last cut off", good[:third+50], false, line(third)},
		{"all of it gone", nil, false, 1},
		{"a byte of the second, end not known", flip(second + 60), true, line(second)},
		{"the second twice", append(bytes.Clone(good[:third]), good[second:]...), false, line(third)},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := copyDir(t, base)
			path := filepath.Join(dir, "journal.1")
			if err := os.WriteFile(path, c.journal, 0o600); err != nil {
				t.Fatal(err)
			}
			if c.noAck {
				if err := os.Truncate(filepath.Join(dir, "lock"), 0); err != nil {
					t.Fatal(err)
				}
			}
			isThere := func(err error) bool {
				var d *DamageError
				return errors.As(err, &d) && d.File == path && d.Line == c.line
			}
			s, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
			if err != nil {
				t.Fatal(err)
			}
			err = s.View(func(*View) error { return nil })
			if !isThere(err) {
				t.Errorf("View = %v, want damage at %s:%d", err, path, c.line)
			}
			// Setting a priority needs the whole queue; whoever only appends
			// sees the damage where it looks.
			err = s.Update(operations[2].do)
			if !isThere(err) {
				t.Errorf("Update = %v, want damage at %s:%d", err, path, c.line)
			}
			if now, _ := os.ReadFile(path); !bytes.Equal(now, c.journal) {
				t.Error("the damaged journal was written to")
			}
		})
	}
}

// TestTornTail holds that what a dead writer left behind the end is cut off,
// with a word about it, whether or not the end is known.
func TestTornTail(t *testing.T) {
	t.Parallel()
	base := fixture(t)
	want := dump(t, base)
	good, err := os.ReadFile(filepath.Join(base, "journal.1"))
	if err != nil {
		t.Fatal(err)
	}
	torn, _ := framed(Transaction{Seq: 3, User: "a", Program: "b", Op: "c"}, []byte("C 2 A = \""+strings.Repeat("long ", 200)+"\"\n"), 0, 3)
	for n := 1; n < len(torn); n += 1 + n/9 {
		dir := copyDir(t, base)
		if err := os.WriteFile(filepath.Join(dir, "journal.1"), append(bytes.Clone(good), torn[:n]...), 0o600); err != nil {
			t.Fatal(err)
		}
		if n%2 == 0 {
			os.Truncate(filepath.Join(dir, "lock"), 0)
		}
		if got := dump(t, dir); got != want {
			t.Fatalf("%d bytes of a torn tail: %s\nwant %s", n, got, want)
		}
		var said string
		s, err := Open(dir, Options{Program: "test", UIDDomain: "x", Warn: func(m string) { said += m }})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Update(operations[2].do); err != nil {
			t.Fatalf("%d bytes of a torn tail: %v", n, err)
		}
		if !strings.Contains(said, fmt.Sprintf("cut off %d bytes", n)) {
			t.Fatalf("%d bytes of a torn tail: the writer said %q", n, said)
		}
		said = ""
		if err := s.Update(operations[3].do); err != nil || said != "" {
			t.Fatalf("%d bytes of a torn tail: the writer after that: %v, %q", n, err, said)
		}
	}
}

// TestLostIndex holds that a fold and a writer who finds the journal damaged name
// the index as missing, as a reader does, if that is what they lack.
func TestLostIndex(t *testing.T) {
	t.Parallel()
	dir := fixture(t)
	foldAll(t, dir)
	add := func(tx *Tx) error { tx.Op("x"); tx.AddCluster(jobAd("a"), []NewRun{{Count: 1}}); return nil }
	if err := attempt(dir, files.Disk{}, add); err != nil {
		t.Fatal(err)
	}
	index := filepath.Join(dir, "index.2")
	if err := os.Remove(index); err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
	if err != nil {
		t.Fatal(err)
	}
	missing := func(what string, err error) {
		t.Helper()
		var d *DamageError
		if !errors.As(err, &d) || d.File != index {
			t.Errorf("%s = %v, want it to say that %s is missing", what, err, index)
		}
	}
	missing("View", s.View(func(*View) error { return nil }))
	_, err = s.Fold(0, nil)
	missing("Fold", err)
	if err := os.Truncate(filepath.Join(dir, "journal.2"), 5); err != nil {
		t.Fatal(err)
	}
	missing("Update", s.Update(add))
}

// TestOlderCurrent puts back the CURRENT of before a fold, with and without the
// generation that it names. Nobody goes by it, as lock tells of a later one, and a
// salvage takes what is in force.
func TestOlderCurrent(t *testing.T) {
	t.Parallel()
	add := func(tx *Tx) error { tx.Op("x"); tx.AddCluster(jobAd("a"), []NewRun{{Count: 1}}); return nil }
	for _, kept := range []bool{true, false} {
		dir := fixture(t)
		reader, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
		if err == nil && kept {
			err = reader.View(func(*View) error { return nil }) // pins generation 1
		}
		if err != nil {
			t.Fatal(err)
		}
		current := filepath.Join(dir, "CURRENT")
		old, err := os.ReadFile(current)
		if err != nil {
			t.Fatal(err)
		}
		foldAll(t, dir)
		if err := attempt(dir, files.Disk{}, add); err != nil {
			t.Fatal(err)
		}
		want := holdings(t, dir)
		if err := os.WriteFile(current, old, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(dir, "index.1")); (err == nil) != kept {
			t.Fatalf("index.1: %v, want it there: %v", err, kept)
		}
		before := listing(t, dir)
		s, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
		if err != nil {
			t.Fatal(err)
		}
		_, fold := s.Fold(0, nil)
		for what, err := range map[string]error{
			"View": s.View(func(*View) error { return nil }), "Update": s.Update(add), "Fold": fold,
			"a reader's View": reader.View(func(*View) error { return nil }), "Log": s.Log(func(Logged) error { return nil }),
		} {
			var d *DamageError
			if !errors.As(err, &d) || d.File != current && (kept || what != "Update" && what != "Fold") {
				t.Errorf("kept %v: %s = %v, want damage of %s", kept, what, err, current)
			}
		}
		if after := strings.ReplaceAll(listing(t, dir), "held", "free"); after != strings.ReplaceAll(before, "held", "free") {
			t.Errorf("kept %v: the files were %s\nand are %s", kept, before, after)
		}
		list := findings(t, dir)
		if got := matches(list, "!"); len(got) != 1 || !strings.HasPrefix(got[0], "!CURRENT: ") {
			t.Errorf("kept %v: Check finds %q, want CURRENT alone damaged", kept, list)
		}
		if got := strings.Join(list, "\n"); strings.Contains(got, leftOver) {
			t.Errorf("kept %v: something is said not to count:\n%s", kept, got)
		}
		if _, told, holds, saved := salvaged(t, dir); saved.Lost != 1 || !slices.Equal(holds, want) {
			t.Errorf("kept %v: saved, with %q: %q, want %q", kept, told, holds, want)
		}
	}
}
