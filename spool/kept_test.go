package spool

import (
	"crypto/rand"
	"flag"
	"fmt"
	"io"
	"maps"
	randv2 "math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/lib/pool"
	"fairspool/spool/internal/endline"
	"fairspool/spool/internal/files"
)

var update = flag.Bool("update", false, "write the kept spool of the present format anew")

// Each format has a folder kept+NUMBER: a spool, its dump, and what a fold makes of it.
const kept = "testdata/format"

// raise says what to do if the code and the kept spool of the present format differ.
const raise = "If the format has changed, raise it in version.go and spool-format(5), so that programs refuse spools of the other format; " +
	"keep this folder, and write one for the new format: go test ./spool -run TestKeptSpools -update. " +
	"Write this folder anew only if the test makes another spool in the same format"

// TestKeptSpools holds that the kept spool of the present format is sound, is dumped and folded byte by byte as before, holds what its dump
// says, and has a row of each kind in a table and in the journal; that spools of other formats are refused; and that all dumps are restored.
func TestKeptSpools(t *testing.T) {
	present := kept + strconv.Itoa(format)
	if *update {
		writeKept(t, present)
	}
	if _, err := os.Stat(present); err != nil {
		t.Fatalf("%v. %s", err, raise)
	}
	folders, err := filepath.Glob(kept + "*")
	testenv.OK(t, err)
	for _, folder := range folders {
		number, err := strconv.Atoi(strings.TrimPrefix(folder, kept))
		testenv.OK(t, err)
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			dir := copyOfKept(t, folder)
			if number == format {
				hasEveryKind(t, dir)
				if report, sound := checkOf(t, dir); !sound || strings.Contains(report, leftOver) {
					t.Errorf("Check finds %s\n%s", report, raise)
				}
				isKept(t, folder, "dump", dumped(t, dir))
				isKept(t, folder, "folded", foldedAnew(t, dir))
				isKept(t, folder, "dump", dumped(t, dir))
			}
			text, err := os.ReadFile(filepath.Join(folder, "dump"))
			testenv.OK(t, err)
			to := restored(t, string(text))
			if got := dumped(t, to); got != string(text) {
				t.Errorf("the dump, restored, is another: %s", firstDifference(got, string(text)))
			}
			others := []int{number}
			if number == format {
				if got, want := holdings(t, dir), holdings(t, to); !slices.Equal(got, want) {
					t.Errorf("it holds\n%s\nand its dump, restored,\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
				others = []int{format - 1, format + 1}
			}
			for _, other := range others {
				text := endline.Append(fmt.Appendf(nil, "fairspool spool\nformat %d\nUID_DOMAIN x\nid 1\n", other))
				testenv.OK(t, os.WriteFile(filepath.Join(dir, "VERSION"), text, 0o600))
				isRefused(t, dir, other)
			}
		})
	}
}

// copyOfKept copies a kept spool, with the empty folders that a repository does not keep.
func copyOfKept(t *testing.T, folder string) (dir string) {
	t.Helper()
	dir = copyDir(t, filepath.Join(folder, "spool"))
	testenv.OK(t, os.Chmod(dir, 0o700))
	for _, name := range folders {
		testenv.OK(t, os.MkdirAll(filepath.Join(dir, name), 0o700))
	}
	return dir
}

// hasEveryKind holds that the tables have rows of each kind, and the journal, but for rows that are counted anew.
func hasEveryKind(t *testing.T, dir string) {
	t.Helper()
	s, err := Open(dir, Options{Program: "test"})
	testenv.OK(t, err)
	defer s.Close()
	testenv.OK(t, s.View(func(v *View) error {
		journal, err := os.ReadFile(s.journal(v.state().base.number))
		for _, k := range schema {
			row, _ := k.letters()
			table, title := k.names()
			if k == rowKind(leaseKind) {
				continue
			}
			if v.state().base.tables[table].rows == 0 {
				t.Errorf("no row of the table %s. %s", table, raise)
			}
			if title != "" && !strings.Contains(string(journal), "\n"+string(row)+" ") {
				t.Errorf("no row of the table %s in the journal. %s", table, raise)
			}
		}
		return err
	}))
	if points, damage := readSamples(t, s, sampleNow.Add(time.Hour)); len(damage) > 0 || len(points) != 2 {
		t.Errorf("there are samples of %v, %v, want some of two users", points, damage)
	}
}

// isKept holds a text to the one that is kept beside a spool.
func isKept(t *testing.T, folder, name, got string) {
	t.Helper()
	want, err := os.ReadFile(filepath.Join(folder, name))
	testenv.OK(t, err)
	if got != string(want) {
		t.Errorf("%s: %s\n%s", filepath.Join(folder, name), firstDifference(got, string(want)), raise)
	}
}

// foldedAnew folds a spool and returns the files that the fold wrote.
func foldedAnew(t *testing.T, dir string) string {
	t.Helper()
	s, err := Open(dir, Options{Program: "test"})
	testenv.OK(t, err)
	defer s.Close()
	before := imageOf(t, dir)
	_, err = s.Fold(1, nil)
	testenv.OK(t, err)
	var b strings.Builder
	after := imageOf(t, dir)
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if text := after[name]; len(text) > 0 && string(before[name]) != string(text) {
			fmt.Fprintf(&b, "-- %s --\n%s", strings.TrimPrefix(name, filepath.Base(dir)+"/"), text)
		}
	}
	return b.String()
}

// isRefused holds that no command reads a spool of another format, or changes it, and that one line says why.
func isRefused(t *testing.T, dir string, number int) {
	t.Helper()
	before := fingerprint(t, dir)
	_, err := Open(dir, Options{Program: "test"})
	_, again := Check(dir, Options{Program: "test"}, func(f Finding) { t.Errorf("found in a spool of format %d: %v", number, f) })
	want := fmt.Sprintf("format %d is newer than %d, which is what this program knows: use a newer fairspool", number, format)
	if number < format {
		want = fmt.Sprintf("format %d is older than %d: dump it by the fairspool that wrote it, and then: spool restore -spool NEWDIR", number, format)
	}
	if err == nil || again == nil || err.Error() != again.Error() || !strings.HasSuffix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("Open of format %d = %v, Check = %v, want %s", number, err, again, want)
	}
	if fingerprint(t, dir) != before {
		t.Errorf("a spool of format %d was changed", number)
	}
}

// writeKept writes the kept spool of the present format: everything, samples, and rows of each kind in the journal. It has no rows of the
// kind that only tests know, so that fairspool's commands read it.
func writeKept(t *testing.T, folder string) {
	t.Helper()
	schema = slices.DeleteFunc(slices.Clone(schema), func(k rowKind) bool { return k == rowKind(leaseKind) })
	defer func(chance io.Reader) { rand.Reader = chance }(rand.Reader)
	rand.Reader = randv2.NewChaCha8([32]byte{}) // the same ids each time
	var m image
	var dir string
	fixture(t) // begins to watch signals, which cannot begin in a bubble
	synctest.Test(t, func(t *testing.T) {
		<-time.After(time.Until(noon))
		var busy *busyPool
		dir, busy = everything(t), newBusyPool(2)
		sample(t, dir, busy)
		sample(t, dir, busy)
		for _, o := range operations {
			if slices.Contains([]string{"leave alone", "tally", "submit a factory", "drop rows", "rows"}, o.name) {
				testenv.OK(t, o.in(dir, files.Disk{}))
			}
		}
		testenv.OK(t, attempt(dir, files.Disk{}, func(tx *Tx) error {
			tx.Op("begin", "1.3")
			c, _ := tx.Claim(pool.JobID{Cluster: 1, Proc: 3})
			c.State, c.StartedAt = pool.RunningClaim, c.MatchedAt
			tx.PutClaim(c)
			r, _ := tx.Submitter(c.Submitter)
			tx.PutSubmitter(r.Start(c.MatchedAt, accountant.One, accountant.Params{HalfLife: time.Hour}))
			return nil
		}))
		testenv.OK(t, os.WriteFile(filepath.Join(dir, "slots.d", "hand.ads"), []byte("Name = \"hand\"\nCpus = 2\n"), 0o600))
		m = imageOf(t, dir)
	})
	testenv.OK(t, os.RemoveAll(folder))
	testenv.OK(t, m.write(folder))
	write := func(name, text string) { testenv.OK(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600)) }
	schema = append(schema, leaseKind)
	dir = copyOfKept(t, folder)
	write("dump", dumped(t, dir))
	write("folded", foldedAnew(t, dir))
}
