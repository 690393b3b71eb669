package spool

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// everything is a spool that has each kind of file: what was folded, what
// came since, history, log and report.
func everything(t testing.TB) string {
	t.Helper()
	dir := fixture(t)
	for _, op := range operations {
		if op.run != nil {
			continue
		}
		if err := op.in(dir, disk{}); err != nil {
			t.Fatalf("%s: %v", op.name, err)
		}
	}
	s, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, err := range []error{
		func() error { _, err := s.Fold(1, nil); return err }(),
		func() error { _, err := s.SetReport([]byte("{\n  \"Cycle\": 1\n}\n")); return err }(),
		s.Negotiating(func() error { return nil }),
		s.Update(operations[0].do),
		s.Update(func(tx *Tx) error {
			tx.Op("remove", "1.10")
			tx.Leave(pool.JobID{Cluster: 1, Proc: 10}, noon)
			return nil
		}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// flips is how many places of a larger file are tried.
const flips = 60

// TestFlippedByte flips a byte at many places of every file that a spool writes,
// one at a time, and holds that Check names the file; that whoever
// reads gets an error or what was there before, never anything else; and that
// no writer touches what is damaged. Samples go on behind it.
func TestFlippedByte(t *testing.T) {
	base := everything(t)
	busy := newBusyPool(2)
	sample := func(t *testing.T, dir string, busy *busyPool) {
		t.Helper()
		if err := sampleSpool(t, dir, disk{}).AddSamples(busy.cycle(sampleNow.Add(time.Duration(busy.n) * time.Minute))); err != nil {
			t.Fatal(err)
		}
	}
	sample(t, base, busy)
	sample(t, base, busy)
	whole := dumpOf(t, base)
	if report, ok := checkOf(t, base); !ok || strings.Contains(report, "left over") {
		t.Fatalf("the undamaged spool is not sound, or has leftovers:\n%s", report)
	}
	err := filepath.WalkDir(base, func(path string, e fs.DirEntry, err error) error {
		name, _ := filepath.Rel(base, path)
		if err != nil || e.IsDir() || strings.HasPrefix(name, "slots.d") {
			return err
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, busy := copyDir(t, base), busy.clone()
			good, err := os.ReadFile(path)
			if err != nil || len(good) == 0 {
				t.Fatalf("%s: %d bytes, %v", path, len(good), err)
			}
			for at := 0; at < len(good); at += 1 + len(good)/flips {
				bad := bytes.Clone(good)
				bad[at] ^= 1 << (at % 7)
				flipped(t, dir, name, at, bad, whole)
				if strings.HasPrefix(name, samplesDir) { // the next cycle adds to it, and hides nothing
					sample(t, dir, busy)
					if report, ok := checkOf(t, dir); ok || !strings.Contains(report, "damaged "+filepath.Join(dir, name)) {
						t.Fatalf("byte %d of %s, and a cycle: sound %v:\n%s", at, name, ok, report)
					}
				}
				if err := os.WriteFile(filepath.Join(dir, name), good, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// flipped looks at a spool one of whose files is damaged at a byte.
func flipped(t *testing.T, dir, name string, at int, bad []byte, whole string) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, bad, 0o600); err != nil {
		t.Fatal(err)
	}
	if report, ok := checkOf(t, dir); ok || !strings.Contains(report, "damaged "+file) {
		t.Fatalf("byte %d of %s: sound %v, and not named:\n%s", at, name, ok, report)
	}
	if got, err := readAll(dir); err == nil && got != whole {
		t.Fatalf("byte %d of %s: a reader got\n%s\nwant an error or\n%s", at, name, got, whole)
	}
	s, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
	if err != nil {
		return
	}
	defer s.Close()
	refused := errors.New("look only")
	if err := s.Update(func(tx *Tx) error {
		tx.Clusters()
		tx.Claims()
		tx.Submitters()
		tx.Slots()
		tx.Backoffs()
		tx.Tallies()
		tx.Mark("clock")
		tx.Factories()
		return refused
	}); errors.Is(err, refused) {
		_, err = s.Fold(1<<40, nil) // sweeps only
		if err != nil && !errors.As(err, new(*DamageError)) {
			t.Fatalf("byte %d of %s: %v", at, name, err)
		}
	} else if !errors.As(err, new(*DamageError)) {
		t.Fatalf("byte %d of %s: Update = %v, want what is damaged", at, name, err)
	}
	if now, err := os.ReadFile(file); !strings.HasSuffix(name, "lock") && (err != nil || !bytes.Equal(now, bad)) {
		t.Fatalf("byte %d of %s: the damaged file was touched: %v", at, name, err)
	}
}

// checkOf returns what Check says of a spool.
func checkOf(t testing.TB, dir string) (report string, sound bool) {
	t.Helper()
	var b strings.Builder
	sound, err := Check(dir, Options{Program: "test"}, func(f Finding) {
		if f.Damaged {
			b.WriteString("damaged ")
		}
		b.WriteString(f.File + ": " + f.What + "\n")
	})
	if err != nil {
		return err.Error(), false
	}
	return b.String(), sound
}

func dumpOf(t testing.TB, dir string) string {
	t.Helper()
	text, err := readAll(dir)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// readAll reads everything that commands read.
func readAll(dir string) (text string, err error) {
	s, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
	if err != nil {
		return "", err
	}
	defer s.Close()
	var b strings.Builder
	err = s.View(func(v *View) error {
		for id, ad := range v.Jobs() {
			b.WriteString(id.String() + ad.Flat().Format(classad.StyleSpool) + "\n")
		}
		for _, c := range v.Claims() {
			b.WriteString(claimAd(c).Format(classad.StyleSpool) + "\n")
		}
		for _, r := range v.Submitters() {
			b.WriteString(submitterAd(r).Format(classad.StyleSpool) + "\n")
		}
		slots, _ := v.Slots()
		for _, slot := range slots {
			b.WriteString(slot.Name + slot.Ad.Format(classad.StyleSpool) + "\n")
		}
		for _, r := range v.Backoffs() {
			b.WriteString(backoffAd(r).Format(classad.StyleSpool) + "\n")
		}
		for _, y := range v.Tallies() {
			b.WriteString(tallyAd(y).Format(classad.StyleSpool) + "\n")
		}
		fmt.Fprintf(&b, "%q\n", marksOf(v))
		return nil
	})
	if err != nil {
		return "", err
	}
	report, err := s.Report()
	if err != nil {
		return "", err
	}
	b.Write(report)
	if err := s.Log(func(l Logged) error { b.Write(l.append(nil)); return nil }); err != nil {
		return "", err
	}
	if err := s.History(Left{}, func(ad *classad.Ad) bool { b.WriteString(asWritten(ad)); return true }); err != nil {
		return "", err
	}
	samples, damage, err := s.ReadSamples(Samples{Until: sampleNow.Add(time.Hour)})
	if err == nil {
		err = errors.Join(damage...)
	}
	if err == nil {
		for _, x := range samples.Series() {
			fmt.Fprintf(&b, "%+v\n", x)
		}
	}
	return b.String(), err
}
