package spool

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fairspool/internal/testenv"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool/internal/files"
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
		if err := op.in(dir, files.Disk{}); err != nil {
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
		s.SetReport(strings.NewReader("{\n  \"Cycle\": 1\n}\n")),
		s.Negotiating(0, func() error { return nil }),
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
const flips = 20

// withSamples is a spool of everything with samples of two cycles, what it holds, and the
// names of its files.
func withSamples(t testing.TB) (dir string, busy *busyPool, whole string, names []string) {
	t.Helper()
	dir, busy = everything(t), newBusyPool(2)
	sample(t, dir, busy)
	sample(t, dir, busy)
	if report, ok := checkOf(t, dir); !ok || strings.Contains(report, leftOver) {
		t.Fatalf("the undamaged spool is not sound, or has leftovers:\n%s", report)
	}
	for name := range imageOf(t, dir) {
		if name, ok := strings.CutPrefix(name, filepath.Base(dir)+"/"); ok && name != "" && !strings.HasSuffix(name, "/") && !strings.HasPrefix(name, "slots.d") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return dir, busy, dumpOf(t, dir), names
}

// sample adds the samples of the next cycle.
func sample(t testing.TB, dir string, busy *busyPool) {
	t.Helper()
	s, err := open(dir, Options{Program: "test", Now: sampleNow}, files.Disk{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.AddSamples(busy.cycle(sampleNow.Add(time.Duration(busy.n) * time.Minute))); err != nil {
		t.Fatal(err)
	}
}

// TestFlippedByte flips a byte at many places of every file that a spool writes,
// one at a time, and holds that Check names the file; that whoever
// reads gets an error or what was there before, never anything else; and that
// no writer touches what is damaged. Samples go on behind it.
func TestFlippedByte(t *testing.T) {
	t.Parallel()
	base, busy, whole, names := withSamples(t)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, busy := copyDir(t, base), busy.clone()
			good, err := os.ReadFile(filepath.Join(base, name))
			if err != nil || len(good) == 0 {
				t.Fatalf("%d bytes, %v", len(good), err)
			}
			for at := 0; at < len(good); at += 1 + len(good)/flips {
				flip(t, dir, name, good, at, 1<<(at%7), busy, whole)
			}
			if name == namesFile { // one bad line of both names: the file is kept aside
				flip(t, dir, name, good, bytes.IndexByte(good, '\n'), 1, busy, whole)
			}
		})
	}
}

// TestSoakFlippedByte flips bits of bytes at places by chance.
func TestSoakFlippedByte(t *testing.T) {
	length, seed := testenv.Soak(t)
	random := rand.New(rand.NewPCG(seed, 0))
	base, busy, whole, names := withSamples(t)
	files, root := imageOf(t, base), filepath.Join(t.TempDir(), "root")
	for end := time.Now().Add(length); time.Now().Before(end); {
		if err := files.write(root); err != nil {
			t.Fatal(err)
		}
		name, top := names[random.IntN(len(names))], filepath.Base(base)
		good := files[top+"/"+name]
		flip(t, filepath.Join(root, top), name, good, random.IntN(len(good)), byte(1+random.IntN(255)), busy.clone(), whole)
		if err := os.RemoveAll(root); err != nil {
			t.Fatal(err)
		}
	}
}

// flip flips bits of a byte of a file, which was good, looks at the spool, and mends it.
func flip(t *testing.T, dir, name string, good []byte, at int, bits byte, busy *busyPool, whole string) {
	t.Helper()
	bad := bytes.Clone(good)
	bad[at] ^= bits
	flipped(t, dir, name, at, bad, whole)
	if strings.HasPrefix(name, samplesDir) { // the next cycle adds to it, and hides nothing
		sample(t, dir, busy)
		aside, _ := os.ReadFile(filepath.Join(dir, name+".damaged")) // nothing of it was whole
		if report, ok := checkOf(t, dir); !bytes.Equal(aside, bad) && (ok || !strings.Contains(report, "damaged "+filepath.Join(dir, name))) {
			t.Fatalf("byte %d of %s, and a cycle: sound %v:\n%s", at, name, ok, report)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, name), good, 0o600); err != nil {
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
		rowsOf(&tx.View)
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
			b.WriteString(string(claimKind.appendRow(nil, c)) + "\n")
		}
		for _, r := range v.Submitters() {
			b.WriteString(string(submitterKind.appendRow(nil, r)) + "\n")
		}
		slots, _ := v.Slots()
		for _, slot := range slots {
			b.WriteString(slot.Name + slot.Ad.Format(classad.StyleSpool) + "\n")
		}
		for _, r := range v.Backoffs() {
			b.WriteString(string(backoffKind.appendRow(nil, r)) + "\n")
		}
		for _, y := range v.Tallies() {
			b.WriteString(string(tallyKind.appendRow(nil, y)) + "\n")
		}
		fmt.Fprintf(&b, "%q\n%q\n", marksOf(v), rowsOf(v))
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
	if err := s.Log(func(l Logged) error { b.Write(l.Append(nil)); return nil }); err != nil {
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
