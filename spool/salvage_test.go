package spool

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool/internal/files"
)

// salvaged salvages a spool and returns where to, what was told, and a line
// for each job, slot and so on that the new spool holds.
func salvaged(t testing.TB, dir string) (to, told string, holds []string, s Salvaged) {
	t.Helper()
	to = filepath.Join(t.TempDir(), "saved")
	s, err := Salvage(dir, to, Options{Program: "test", UIDDomain: "x"}, func(f Finding) {
		told += fmt.Sprintf("%s:%d: %v: %s\n", f.File, f.Line, f.Damaged, f.What)
	})
	if err != nil {
		t.Fatalf("Salvage = %v; %s", err, told)
	}
	return to, told, holdings(t, to), s
}

// holdings lists what a spool holds, a line for each thing.
func holdings(t testing.TB, dir string) (list []string) {
	t.Helper()
	s, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	err = s.View(func(v *View) error {
		for id, ad := range v.Jobs() {
			list = append(list, "job "+id.String()+" "+ad.Flat().Format(classad.StyleSpool))
		}
		for _, c := range v.Claims() {
			list = append(list, "claim "+string(claimKind.appendRow(nil, c)))
		}
		for _, r := range v.Submitters() {
			list = append(list, "submitter "+string(submitterKind.appendRow(nil, r)))
		}
		for _, b := range v.Backoffs() {
			list = append(list, "backoff "+string(backoffKind.appendRow(nil, b)))
		}
		for _, y := range v.Tallies() {
			list = append(list, "tally "+string(tallyKind.appendRow(nil, y)))
		}
		list = append(list, rowsOf(v)...)
		for _, m := range marksOf(v) {
			list = append(list, fmt.Sprintf("mark %q", m))
		}
		for _, f := range v.Factories() {
			text, err := digestOf(v, f.Cluster)
			if err != nil {
				return err
			}
			list = append(list, fmt.Sprintf("factory %+v %q", f, text))
		}
		slots, _ := v.Slots()
		for _, slot := range slots {
			list = append(list, "slot "+slot.Name+" "+slot.Ad.Format(classad.StyleSpool))
		}
		if err := v.History(Left{}, func(ad *classad.Ad) bool { list = append(list, "left "+asWritten(ad)); return true }); err != nil {
			return err
		}
		list = append(list, fmt.Sprint("next ", v.next))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Log(func(l Logged) error { list = append(list, "log "+string(l.Append(nil))); return nil }); err != nil {
		t.Fatal(err)
	}
	if report, err := s.Report(); err == nil && report != nil {
		list = append(list, "report "+string(report))
	}
	return list
}

// several is a spool of everything with several clusters in segments, of which
// the journal speaks of some.
func several(t testing.TB) string {
	t.Helper()
	dir := everything(t)
	foldAll(t, dir)
	for n := range 5 {
		if err := attempt(dir, files.Disk{}, func(tx *Tx) error {
			tx.Op("submit", fmt.Sprint(n))
			tx.AddCluster(jobAd("dave"), []NewRun{{Count: 2}})
			ad := classad.New()
			ad.SetInt("Memory", int64(n))
			tx.PutSlot(fmt.Sprintf("slot%d@other", n), ad)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if n == 2 {
			foldAll(t, dir)
		}
	}
	if err := attempt(dir, files.Disk{}, func(tx *Tx) error {
		tx.Op("set priority", "+1", "2")
		tx.SetRange(pool.Procs{Cluster: 2, First: 0, Last: 3}, "JobPrio", classad.Literal(classad.Int(1)))
		tx.Leave(pool.JobID{Cluster: 1, Proc: 8}, noon)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// fingerprint tells of every file what it holds and when it was changed.
func fingerprint(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		fmt.Fprintln(&b, path, info.ModTime().UnixNano(), info.Size())
		if !e.IsDir() {
			text, err := os.ReadFile(path)
			fmt.Fprintf(&b, "%08x %v\n", checksum(text), err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestSalvageSound holds that of a sound spool everything is saved, and that
// the old one is not touched.
func TestSalvageSound(t *testing.T) {
	t.Parallel()
	dir := several(t)
	before := fingerprint(t, dir)
	to, told, holds, s := salvaged(t, dir)
	if s.Lost != 0 || strings.Contains(told, "true") {
		t.Errorf("of a sound spool %d findings are damage: %s", s.Lost, told)
	}
	if want := holdings(t, dir); !slices.Equal(holds, want) {
		t.Errorf("saved\n%s\nwant\n%s", strings.Join(holds, "\n"), strings.Join(want, "\n"))
	}
	if got, want := dumped(t, to), dumped(t, dir); got != want {
		t.Errorf("saved, it dumps as %s\nwant %s", got, want)
	}
	if after := fingerprint(t, dir); after != before {
		t.Errorf("Salvage changed the old spool: %s\nwant %s", after, before)
	}
	if _, err := Salvage(dir, filepath.Join(dir, "new"), Options{Program: "test"}, func(Finding) {}); err == nil {
		t.Error("Salvage wrote into the old spool")
	}
	if _, err := Salvage(dir, to, Options{Program: "test"}, func(Finding) {}); err == nil {
		t.Error("Salvage wrote into a spool")
	}
}

// TestSalvageFlipped flips bytes of every file. Salvage succeeds, tells of
// damage, saves all things but those it names, and makes none up.
func TestSalvageFlipped(t *testing.T) {
	t.Parallel()
	base := several(t)
	whole := holdings(t, base)
	err := filepath.WalkDir(base, func(path string, e fs.DirEntry, err error) error {
		name, _ := filepath.Rel(base, path)
		if err != nil || e.IsDir() || strings.HasSuffix(name, "lock") || strings.HasPrefix(name, "slots.d") {
			return err
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := copyDir(t, base)
			good, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for at := 0; at < len(good); at += 1 + len(good)/8 {
				bad := bytes.Clone(good)
				bad[at] ^= 1 << (at % 7)
				if err := os.WriteFile(filepath.Join(dir, name), bad, 0o600); err != nil {
					t.Fatal(err)
				}
				saved(t, dir, name, fmt.Sprintf("byte %d of %s", at, name), string(good), whole)
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// saved salvages a spool of which one file is damaged, which was good, and
// compares.
func saved(t *testing.T, dir, name, what, good string, whole []string) {
	t.Helper()
	before := fingerprint(t, dir)
	to, told, holds, s := salvaged(t, dir)
	told = regexp.MustCompile(`(?m)^.*: false: .*\n`).ReplaceAllString(told, "") // what was taken
	if s.Lost == 0 || !strings.Contains(told, filepath.Join(dir, name)+":") {
		t.Fatalf("%s: it is not told: %s", what, told)
	}
	if after := fingerprint(t, dir); after != before {
		t.Fatalf("%s: Salvage changed the old spool", what)
	}
	if report, sound := checkOf(t, to); !sound {
		t.Fatalf("%s: what was saved is not sound: %s", what, report)
	}
	if err := operations[0].in(to, files.Disk{}); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	for _, line := range whole {
		if !slices.Contains(holds, line) && !excused(name, good, line, told) {
			t.Fatalf("%s: lost, and not told: %s\n%s", what, line, told)
		}
	}
	for _, line := range holds {
		if !slices.Contains(whole, line) && !excused(name, good, line, told) {
			t.Fatalf("%s: made up: %s\n%s", what, line, told)
		}
	}
}

var jobLine = regexp.MustCompile(`^job ([0-9]+)\.`)

// excused reports whether what was told accounts for a difference in a line of
// the holdings when a file is damaged, which was good.
func excused(name, good, line, told string) bool {
	kind, rest, _ := strings.Cut(line, " ")
	switch {
	case strings.HasPrefix(name, "journal."): // nothing of which the journal does not speak
		if kind == "job" && !regexp.MustCompile(`(?m)^[CNADL] `+jobLine.FindStringSubmatch(line)[1]+" ").MatchString(good) ||
			kind == "slot" && !strings.Contains(good, strings.Fields(rest)[0]) {
			return false
		}
		return !slices.Contains([]string{"submitter", "claim", "backoff", "tally", "mark"}, kind) && strings.Contains(told, "transaction")
	case strings.HasPrefix(name, "history/"):
		return kind == "left"
	case strings.HasPrefix(name, "log/"):
		return kind == "log"
	case name == "cycle.json":
		return kind == "report"
	case strings.HasPrefix(name, "jobs/") && kind == "job":
		return strings.Contains(told, "cluster "+jobLine.FindStringSubmatch(line)[1]+" is lost: ")
	case strings.HasPrefix(name, "jobs/") && kind == "claim":
		return strings.Contains(told, "the claim of job ")
	case strings.HasPrefix(name, "slots/") && kind == "slot":
		slot, _, _ := strings.Cut(rest, " ")
		return strings.Contains(told, fmt.Sprintf("slot %q is lost: ", slot))
	case strings.HasPrefix(name, "factories/"):
		return kind == "factory" && strings.Contains(told, "the factory of cluster "+strings.TrimPrefix(name, "factories/")+" is lost: ")
	case strings.HasPrefix(name, strings.NewReplacer("tally", "tallie", "factory", "factorie").Replace(kind)+"s."), strings.HasPrefix(name, kind+"."): // a table
		return strings.Contains(told, "unverified")
	}
	return false
}

// alter replaces the first of some text in a file.
func alter(t testing.TB, name, from, to string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err == nil && !bytes.Contains(text, []byte(from)) {
		err = fmt.Errorf("%q is not in %s", from, name)
	}
	if err == nil {
		err = os.WriteFile(name, bytes.Replace(text, []byte(from), []byte(to), 1), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestSalvageWreck takes away files, alone and together.
func TestSalvageWreck(t *testing.T) {
	t.Parallel()
	base := several(t)
	whole := holdings(t, base)
	gone := func(names ...string) func(string) {
		return func(dir string) {
			for _, name := range names {
				list, err := filepath.Glob(filepath.Join(dir, name))
				if err != nil || len(list) == 0 {
					t.Fatalf("%s: %v, %v", name, list, err)
				}
				for _, file := range list {
					if err := os.Remove(file); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
	for _, c := range []struct {
		name   string
		damage func(dir string)
		told   string // a part of what is told
		kinds  string // what may be missing or different
	}{
		{"no VERSION", gone("VERSION"), "VERSION:0: true: the file is missing: the new spool has another id", ""},
		{"no CURRENT", gone("CURRENT"), "CURRENT:1: true: the file is missing", ""},
		{"no index", gone("index.*"), "no index is left", ""},
		{"no CURRENT and no index", gone("CURRENT", "index.*"), "no index is left", ""},
		{"no lock", gone("lock"), "", ""},
		{"no index and no lock", gone("lock", "index.*"), "no index is left", ""},
		{"no journal", gone("journal.*"), "all since the last fold is lost", "job claim slot left log next"},
		{"no segment of jobs", gone("jobs/*"), "clusters from 1 to ", "job claim"},
		{"no tables", gone("claims.*", "submitters.*", "backoffs.*", "tallies.*", "marks.*"), "the file is missing", "claim submitter backoff tally mark"},
		{"no history", gone("history/*"), "2026-01.ads:0: true: the file is missing: all in it is lost", "left"},
		{"one slot twice", func(dir string) {
			list, _ := filepath.Glob(filepath.Join(dir, "claims.*"))
			text, err := os.ReadFile(list[0])
			if err == nil {
				err = os.WriteFile(list[0], bytes.Replace(text, []byte("slot1_2@host"), []byte("slot0@host"), 1), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}, "the claim of job 1.2 on slot slot0@host is lost: slot slot0@host is claimed by job 1.0 and job 1.2", "claim"},
		{"half of the journal", func(dir string) {
			list, _ := filepath.Glob(filepath.Join(dir, "journal.*"))
			if err := os.Truncate(list[0], 900); err != nil {
				t.Fatal(err)
			}
		}, " is lost: ", "job slot left log"},
		{"a torn tail", func(dir string) {
			list, _ := filepath.Glob(filepath.Join(dir, "journal.*"))
			f, err := os.OpenFile(list[0], os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			fmt.Fprint(f, "T 99 torn\n")
		}, "false: 10 bytes of a transaction that was never completed", ""},
		{"an attribute's name", func(dir string) {
			alter(t, filepath.Join(dir, "history", "2026-01.ads"), "JobStatus = ", "JobStatu{ = ")
		}, "history/2026-01.ads:1: true: the ad of a job that left is lost: ", "left"},
		{"a value of the history", func(dir string) {
			alter(t, filepath.Join(dir, "history", "2026-01.ads"), "JobStatus = 1", "JobStatus = 4")
		}, "history/2026-01.ads:1: true: the ad of a job that left is taken as it reads, unverified", "left"},
		{"a footer of the history", func(dir string) {
			alter(t, filepath.Join(dir, "history", "2026-01.ads"), "# checksum ", "# checksun ")
		}, "history/2026-01.ads:1: true: the ad of a job that left is taken as it reads, unverified", ""},
		{"a history that is shorter", func(dir string) {
			name := filepath.Join(dir, "history", "2026-01.ads")
			text, err := os.ReadFile(name)
			if err == nil {
				err = os.Truncate(name, int64(len(text)-30))
			}
			if err != nil {
				t.Fatal(err)
			}
		}, " bytes are there, recorded are ", "left"},
		{"no log", gone("log/*"), ": true: the file is missing: all in it is lost", "log"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := copyDir(t, base)
			c.damage(dir)
			to, told, holds, _ := salvaged(t, dir)
			if !strings.Contains(told, c.told) {
				t.Errorf("told: %s\nwant …%s…", told, c.told)
			}
			if report, sound := checkOf(t, to); !sound {
				t.Errorf("what was saved is not sound: %s", report)
			}
			for _, line := range whole {
				kind, _, _ := strings.Cut(line, " ")
				if !slices.Contains(holds, line) && !strings.Contains(c.kinds, kind) {
					t.Errorf("lost: %s\n%s", line, told)
				}
			}
			for _, line := range holds {
				kind, _, _ := strings.Cut(line, " ")
				if !slices.Contains(whole, line) && !strings.Contains(c.kinds, kind) {
					t.Errorf("made up: %s\n%s", line, told)
				}
			}
		})
	}
}

// TestSalvageLaw damages several files at once, in several ways: whatever is
// left, Salvage makes a sound spool of it that takes commands, or says that it
// cannot.
func TestSalvageLaw(t *testing.T) {
	t.Parallel()
	base, err := readImage(several(t))
	if err != nil {
		t.Fatal(err)
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(base)), func(name string) bool { return strings.HasSuffix(name, "/") })
	place := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		top, err := os.MkdirTemp(place, "spool")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(top)
		m := maps.Clone(base)
		for range rapid.IntRange(1, 6).Draw(t, "damages") {
			name := rapid.SampledFrom(names).Draw(t, "file")
			m[name] = damage(t, bytes.Clone(m[name]))
			if m[name] == nil {
				delete(m, name)
			}
		}
		dir, to := filepath.Join(top, "old"), filepath.Join(top, "new")
		if err := m.write(dir); err != nil {
			t.Fatal(err)
		}
		told := ""
		if _, err := Salvage(dir, to, Options{Program: "test", UIDDomain: "x"}, func(f Finding) { told += f.What + "\n" }); err != nil {
			if _, e := os.Stat(filepath.Join(to, "VERSION")); e == nil {
				t.Fatalf("Salvage = %v, and there is a spool", err)
			}
			return
		}
		sound, err := Check(to, Options{Program: "test"}, func(f Finding) {
			if f.Damaged {
				t.Errorf("saved, but damaged: %s: %s\n%s", f.File, f.What, told)
			}
		})
		if err != nil || !sound {
			t.Fatalf("Check of what was saved = %v, %v\n%s", sound, err, told)
		}
		if err := operations[0].in(to, files.Disk{}); err != nil {
			t.Fatalf("what was saved takes no command: %v\n%s", err, told)
		}
	})
}

// damage does something to the bytes of a file; nil takes it away.
func damage(t *rapid.T, b []byte) []byte {
	if len(b) == 0 {
		return b
	}
	at := rapid.IntRange(0, len(b)-1).Draw(t, "at")
	to := rapid.IntRange(at, len(b)).Draw(t, "to")
	switch rapid.IntRange(0, 5).Draw(t, "how") {
	case 0:
		return nil
	case 1:
		return b[:at]
	case 2:
		return slices.Delete(b, at, to)
	case 3:
		return slices.Insert(b, at, b[at:to]...)
	case 4:
		clear(b[at:to])
	default:
		b[at] = rapid.Byte().Draw(t, "byte")
	}
	return b
}

// TestSalvageUnreadableRow makes the first row of a table unreadable: it alone is lost.
func TestSalvageUnreadableRow(t *testing.T) {
	t.Parallel()
	dir := several(t)
	tallies := func(holds []string) []string {
		return slices.DeleteFunc(slices.Clone(holds), func(line string) bool { return !strings.HasPrefix(line, "tally ") })
	}
	whole := tallies(holdings(t, dir))
	files, err := filepath.Glob(filepath.Join(dir, "tallies.*"))
	if err != nil || len(files) != 1 || len(whole) < 3 {
		t.Fatalf("tables of tallies: %q, %v, with %q", files, err, whole)
	}
	alter(t, files[0], `Kind = "`, `Kind = `)
	_, _, holds, s := salvaged(t, dir)
	if got := tallies(holds); !slices.Equal(got, whole[1:]) {
		t.Errorf("%q are left (%+v), want %q", got, s, whole[1:])
	}
}

// TestSalvageUnknown holds that Salvage asks for a UID_DOMAIN that is lost, and
// refuses what was never a spool.
func TestSalvageUnknown(t *testing.T) {
	t.Parallel()
	dir := fixture(t)
	if err := os.Remove(filepath.Join(dir, "VERSION")); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "new")
	for dir, want := range map[string]string{dir: "say which it was", t.TempDir(): "there is no spool here"} {
		if _, err := Salvage(dir, to, Options{Program: "test"}, func(Finding) {}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Salvage = %v, want …%s…", err, want)
		}
	}
	if _, err := os.Stat(to); err == nil {
		t.Error("Salvage made a directory and saved nothing")
	}
}
