package spool

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"fairspool/lib/pool"
	"fairspool/spool/internal/endline"
	"fairspool/spool/internal/files"
	"fairspool/spool/internal/lockline"
)

// findings returns what Check finds, a line each, without the directory; a line
// with a ! is damage.
func findings(t testing.TB, dir string) (list []string) {
	t.Helper()
	if _, err := Check(dir, Options{Program: "test"}, func(f Finding) {
		sign := ""
		switch {
		case f.Damaged:
			sign = "!"
		case f.Older:
			sign = "older "
		}
		list = append(list, sign+strings.TrimPrefix(f.File, dir+"/")+": "+f.What)
	}); err != nil {
		t.Fatalf("Check = %v", err)
	}
	return list
}

// spoil changes a byte in the middle of a file.
func spoil(t testing.TB, name string) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func matches(list []string, begin string) (some []string) {
	for _, line := range list {
		if strings.HasPrefix(line, begin) {
			some = append(some, line)
		}
	}
	return some
}

// TestCheckBlind holds that after damage to an index or to CURRENT the files
// that it would name are not called left over, and that the damage is told
// once.
func TestCheckBlind(t *testing.T) {
	t.Parallel()
	base := everything(t)
	for _, c := range []struct{ name, damage, why string }{
		{"the index", "!index.2: ", "not looked at: the index that would name it is damaged"},
		{"no index", "!index.2: the file is missing", "not looked at: the index that would name it is damaged"},
		{"CURRENT", "!CURRENT: ", "not looked at: CURRENT, which would say what counts, is damaged"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := copyDir(t, base)
			switch c.name {
			case "the index":
				spoil(t, filepath.Join(dir, "index.2"))
			case "no index":
				if err := os.Remove(filepath.Join(dir, "index.2")); err != nil {
					t.Fatal(err)
				}
			default:
				spoil(t, filepath.Join(dir, "CURRENT"))
			}
			for _, later := range []string{"jobs/9-9.3", "claims.3"} {
				if err := os.WriteFile(filepath.Join(dir, later), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			list := findings(t, dir)
			all := strings.Join(list, "\n")
			if got := matches(list, "!"); len(got) != 1 || !strings.HasPrefix(got[0], c.damage) {
				t.Errorf("damage = %q, want %s… once", got, c.damage)
			}
			if got := matches(list, "journal.2"); !slices.Equal(got, []string{"journal.2: " + c.why}) {
				t.Errorf("the journal: %q, want %q", got, c.why)
			}
			if len(matches(list, "CURRENT"))+len(matches(list, "!CURRENT")) != 1 {
				t.Errorf("CURRENT is not in the list:\n%s", all)
			}
			if c.name == "CURRENT" {
				return
			}
			for _, name := range []string{"claims.2", "jobs/", "history/", "log/"} {
				if got := matches(list, name); len(got) == 0 || !strings.HasSuffix(got[0], c.why) {
					t.Errorf("%s: %q, want %q", name, got, c.why)
				}
			}
			for _, name := range []string{"jobs/9-9.3", "claims.3"} {
				if got := matches(list, name); !slices.Equal(got, []string{name + ": " + leftOver}) {
					t.Errorf("a later file: %q, want %q", got, leftOver)
				}
			}
		})
	}
}

// TestCheckNewer holds that a spool of a later format is no damaged one, and
// that neither Check nor Salvage has a say about it.
func TestCheckNewer(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"fairspool spool\nformat 99\nUID_DOMAIN x\nid 1\n",
		string(endline.Append([]byte("fairspool spool\nformat 99\nUID_DOMAIN x\nid 1\n"))),
	} {
		dir := fixture(t)
		if err := os.WriteFile(filepath.Join(dir, "VERSION"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, want := Open(dir, Options{Program: "test", UIDDomain: "x"})
		if want == nil || !strings.HasSuffix(want.Error(), "use a newer fairspool") {
			t.Fatalf("Open = %v", want)
		}
		told := func(f Finding) { t.Errorf("found: %v", f) }
		if _, err := Check(dir, Options{Program: "test"}, told); err == nil || err.Error() != want.Error() {
			t.Errorf("Check = %v, want %v", err, want)
		}
		if _, err := Salvage(dir, dir+".new", Options{Program: "test", UIDDomain: "x"}, told); err == nil || err.Error() != want.Error() {
			t.Errorf("Salvage = %v, want %v", err, want)
		}
	}
}

// TestCheckLeftOver holds that what no index names is said not to count.
func TestCheckLeftOver(t *testing.T) {
	t.Parallel()
	dir := everything(t)
	names := []string{"claims.1", "jobs/1-1.1", "jobs/note", "slots/0.7", "journal.0", "CURRENT.new"}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list := findings(t, dir)
	for _, name := range names {
		if got := matches(list, name+":"); !slices.Equal(got, []string{name + ": " + leftOver}) {
			t.Errorf("%s: %q, want %q", name, got, leftOver)
		}
	}
}

// TestCheckTorn holds that bytes behind the last transaction are told and are
// no damage.
func TestCheckTorn(t *testing.T) {
	t.Parallel()
	dir := fixture(t)
	f, err := os.OpenFile(filepath.Join(dir, "journal.1"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("T 3 torn off"); err != nil {
		t.Fatal(err)
	}
	const want = "journal.1: 2 transactions, and 12 bytes of one that was never completed"
	list := findings(t, dir)
	if got := matches(list, "journal.1"); !slices.Equal(got, []string{want}) || len(matches(list, "!")) > 0 {
		t.Errorf("Check = %q, want %q", list, want)
	}
}

// TestCheckOlder holds that a generation that somebody reads has one line, and
// that its files are not counted with those in force, but looked at.
func TestCheckOlder(t *testing.T) {
	t.Parallel()
	dir := everything(t)
	before := findings(t, dir)
	reader, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := reader.View(func(*View) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if err := operations[0].in(dir, files.Disk{}); err != nil {
		t.Fatal(err)
	}
	foldAll(t, dir)
	list := findings(t, dir)
	if got := matches(list, "older "); !slices.Equal(got, []string{"older index.2: generation 2, kept for its readers"}) {
		t.Errorf("the older generation: %q", got)
	}
	for _, kind := range []string{"index.", "claims.", "slots/"} {
		if got, want := len(matches(list, kind)), len(matches(before, kind)); got != want {
			t.Errorf("%s: %d lines, want %d as before:\n%s", kind, got, want, strings.Join(list, "\n"))
		}
	}
	if strings.Contains(strings.Join(list, "\n"), leftOver) {
		t.Errorf("Check calls files left over:\n%s", strings.Join(list, "\n"))
	}
	old, err := filepath.Glob(filepath.Join(dir, "jobs", "*.2"))
	if err != nil || len(old) == 0 {
		t.Fatalf("segments of generation 2 = %v, %v", old, err)
	}
	spoil(t, old[0])
	if list := findings(t, dir); len(matches(list, "!jobs/")) == 0 || len(matches(list, "older ")) > 0 {
		t.Errorf("Check of a damaged older generation = %q", list)
	}
}

// TestCheckStrangeLock holds that a lock file full of something else is told
// of once, and that no raw byte of it gets out.
func TestCheckStrangeLock(t *testing.T) {
	t.Parallel()
	dir := fixture(t)
	strange := bytes.Repeat([]byte("\xff\x1b"), 10*lockline.Size)
	for _, name := range []string{"lock", "CURRENT"} {
		if err := os.WriteFile(filepath.Join(dir, name), strange, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	index := filepath.Join(dir, "index.1")
	b, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	copy(b[len(b)-4:], "\xff\xfe\x07")
	if err := os.WriteFile(index, b, 0o600); err != nil {
		t.Fatal(err)
	}
	list := findings(t, dir)
	if got := matches(list, "!lock"); len(got) != 1 {
		t.Errorf("the lock file is told of %d times, want once: %q", len(got), got)
	}
	if got := matches(list, "!index.1"); len(got) != 1 || !strings.Contains(got[0], `\xff\xfe\a`) {
		t.Errorf("the index: %q, want its bytes as escapes", got)
	}
	if all := strings.Join(list, ""); strings.ContainsAny(all, "\x1b\x07") || legible(all) != all {
		t.Errorf("raw bytes in %q", all)
	}
}

// TestUnfinished holds that what a killed Restore or Salvage left is said to be
// that, whatever is asked of it, and that nothing is taken from it.
func TestUnfinished(t *testing.T) {
	t.Parallel()
	from := fixture(t)
	o := Options{Program: "test", UIDDomain: "x"}
	for _, begun := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "new")
		to, err := newCreation(dir, o, files.Disk{})
		if err != nil {
			t.Fatal(err)
		}
		if begun { // all but VERSION
			if err := to.finish(version{Domain: "x", ID: "1"}, 0, 1); err != nil {
				t.Fatal(err)
			}
			for _, err := range []error{os.Remove(filepath.Join(dir, "VERSION")), os.WriteFile(filepath.Join(dir, unfinished), nil, 0o600)} {
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		told := func(f Finding) { t.Errorf("found: %v", f) }
		before := fingerprint(t, dir)
		for name, do := range map[string]func() error{
			"Open":         func() error { _, err := Open(dir, o); return err },
			"Check":        func() error { _, err := Check(dir, o, told); return err },
			"Salvage":      func() error { _, err := Salvage(dir, dir+".saved", o, told); return err },
			"Salvage into": func() error { _, err := Salvage(from, dir, o, func(Finding) {}); return err },
			"Restore":      func() error { _, err := Restore(dir, strings.NewReader(""), o, nil); return err },
			"Find":         func() error { return Find(dir) },
		} {
			if err := do(); !errors.Is(err, errUnfinished) {
				t.Errorf("%s = %v, want %v", name, err, errUnfinished)
			}
		}
		if after := fingerprint(t, dir); after != before {
			t.Errorf("it was changed: %s\nwant %s", after, before)
		}
	}
	if err := os.WriteFile(filepath.Join(from, unfinished), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Find(from); err != nil {
		t.Errorf("Find(%s) = %v, want nil", from, err)
	}
	for _, dir := range []string{t.TempDir(), "/no/such"} {
		if err := Find(dir); err == nil || !strings.Contains(err.Error(), "there is no spool here") {
			t.Errorf("Find(%s) = %v, want that there is none", dir, err)
		}
	}
}

// TestNewDirectory holds that a new spool's directory is made, but none above
// it, and that it goes again when nothing comes of it.
func TestNewDirectory(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	o := Options{Program: "test", UIDDomain: "x"}
	from := fixture(t)
	isMissing := func(err error) bool { return errors.Is(err, fs.ErrNotExist) }
	isNoDump := func(err error) bool {
		var wrong *DumpError
		return errors.As(err, &wrong) && wrong.Line == 1
	}
	for _, c := range []struct {
		dir  string
		want func(error) bool
		left bool
	}{
		{"no/such", isMissing, false},
		{"new", isNoDump, false},
		{"there", isNoDump, true},
	} {
		dir := filepath.Join(top, c.dir)
		if c.left {
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Restore(dir, strings.NewReader("A = 1\n\n"), o, nil); !c.want(err) {
			t.Errorf("Restore(%s) = %v", c.dir, err)
		}
		if _, err := os.Lstat(dir); (err == nil) != c.left {
			t.Errorf("after a failed Restore %s is there: %v", c.dir, err == nil)
		}
	}
	if _, err := Salvage(from, filepath.Join(top, "no/such"), o, func(Finding) {}); err == nil || !strings.Contains(err.Error(), "cannot be made in") {
		t.Errorf("Salvage to no/such = %v, want a refusal", err)
	}
	if _, err := os.Lstat(filepath.Join(top, "no")); err == nil {
		t.Error("Salvage made a directory above that of the new spool")
	}
	for _, at := range []int{1, 3} {
		root := filepath.Join(t.TempDir(), "root")
		layer, err := newFaultyOn(root, image{}, fault{at: at, once: syscall.EACCES})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := restore(filepath.Join(root, "spool"), strings.NewReader(""), o, nil, layer); !errors.Is(err, syscall.EACCES) {
			t.Errorf("Restore with operation %d forbidden = %v, want %v", at, err, syscall.EACCES)
		}
		if _, err := os.Lstat(filepath.Join(root, "spool")); err == nil {
			t.Errorf("Restore with operation %d forbidden left its directory", at)
		}
	}
}

// TestMissingFolder removes each folder of a spool: check mentions it, readers go on
// with what is left, and the next writer makes it anew, with a word about that.
func TestMissingFolder(t *testing.T) {
	t.Parallel()
	for _, name := range folders {
		dir := filepath.Join(t.TempDir(), "spool")
		if err := attempt(dir, files.Disk{}, func(*Tx) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		want := name + ": missing: the next command that writes makes it anew"
		if list := findings(t, dir); !slices.Equal(matches(list, name+":"), []string{want}) || len(matches(list, "!")) > 0 {
			t.Errorf("%s: Check finds %q, want %q and no damage", name, list, want)
		}
		var said string
		s, err := Open(dir, Options{Program: "test", UIDDomain: "x", Warn: func(m string) { said += m }})
		if err == nil {
			err = s.View(func(v *View) error { v.Jobs(); return nil })
		}
		if err == nil && said == "" {
			err = s.Update(operations[0].do)
		}
		if want := filepath.Join(dir, name) + ": the folder was missing, and is made anew"; err != nil || said != want {
			t.Errorf("%s: %v, with %q, want %q", name, err, said, want)
		}
		if list := findings(t, dir); strings.Contains(strings.Join(list, "\n"), "missing") {
			t.Errorf("%s: after that Check finds %q", name, list)
		}
		s.Close()
	}
}

// TestZeroLock holds that zeros, which a power cut leaves in a lock file that has grown,
// say nothing: they are no damage, and neither is a torn transaction beside them.
func TestZeroLock(t *testing.T) {
	t.Parallel()
	for _, from := range []int{0, lockline.Size} {
		dir := fixture(t)
		want := dump(t, dir)
		lock, journal := filepath.Join(dir, "lock"), filepath.Join(dir, "journal.1")
		text, err := os.ReadFile(lock)
		if err != nil || len(text) != 2*lockline.Size {
			t.Fatalf("lock = %q, %v", text, err)
		}
		clear(text[from:])
		torn, err := os.OpenFile(journal, os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = torn.WriteString("T 3 2026-")
		}
		if err = errors.Join(err, torn.Close(), os.WriteFile(lock, text, 0o600)); err != nil {
			t.Fatal(err)
		}
		if list := findings(t, dir); len(matches(list, "!")) > 0 {
			t.Errorf("zeros from %d on: Check finds %q", from, list)
		}
		if got := dump(t, dir); got != want {
			t.Errorf("zeros from %d on: the spool holds %s\nwant %s", from, got, want)
		}
	}
}

// TestCheckClaims holds that claims that cannot be so together are damage, and that a
// promise beside the claim that it waits for is none.
func TestCheckClaims(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what   string
		change func(claims []pool.Claim)
		want   []string
	}{
		{"as they were made", func([]pool.Claim) {}, nil},
		{"a slot twice", func(claims []pool.Claim) { claims[2].State, claims[2].Slot = pool.Matched, claims[0].Slot },
			[]string{"!journal.1: slot slot1_1@host is claimed by job 1.1 and job 1.10"}},
		{"a promise that is not meant", func(claims []pool.Claim) { claims[0].State = pool.RunningClaim },
			[]string{"!journal.1: slot slot1_1@host is promised to job 1.3, and job 1.1, which has it, does not leave it for that"}},
		{"a claim of nobody", func(claims []pool.Claim) { claims[2].Job.Proc = 77 },
			[]string{"!journal.1: job 1.77 has a claim and is not in the queue"}},
	} {
		dir := fixture(t)
		claims := preemption()
		c.change(claims)
		err := attempt(dir, files.Disk{}, func(tx *Tx) error {
			tx.Op("test")
			for _, k := range claims {
				tx.PutClaim(k)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := matches(findings(t, dir), "!"); !slices.Equal(got, c.want) {
			t.Errorf("%s: damage = %q, want %q", c.what, got, c.want)
		}
	}
}
