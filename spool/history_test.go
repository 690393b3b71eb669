package spool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool/internal/dumptext"
	"fairspool/spool/internal/files"
)

// leave lets a new job leave in a month.
func leave(at time.Time) func(*Tx) error {
	return func(tx *Tx) error {
		tx.Op("remove")
		tx.Leave(pool.JobID{Cluster: tx.AddCluster(jobAd("dave"), []NewRun{{Count: 1}})}, at)
		return nil
	}
}

// TestDamagedMonth damages the month that jobs leave to: no job leaves to what does not
// end as was recorded, Check names it, the file stays as it is, and when the operator
// has set it aside jobs leave again, and all is sound.
func TestDamagedMonth(t *testing.T) {
	t.Parallel()
	base := fixture(t)
	older, err := os.ReadFile(filepath.Join(base, "history/2026-01.ads"))
	if err != nil {
		t.Fatal(err)
	}
	if err := attempt(base, files.Disk{}, leave(noon)); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(filepath.Join(base, "history/2026-01.ads"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, text string
		gone       bool
	}{
		{"missing", "", true},
		{"empty", "", false},
		{"an older copy", string(older), false},
		{"cut off", string(good[:len(good)-300]), false},
		{"an older copy with a tail", string(older) + strings.Repeat("x", len(good)), false},
		{"another footer", string(good[:len(good)-3]) + "g\n\n", false},
		{"a value, the footers right in themselves", evil(good), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := copyDir(t, base)
			name := filepath.Join(dir, "history/2026-01.ads")
			if err := os.WriteFile(name, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if c.gone {
				os.Remove(name)
			}
			var damage *DamageError
			if err := attempt(dir, files.Disk{}, leave(noon)); !errors.As(err, &damage) || damage.File != name {
				t.Fatalf("Leave = %v, want damage of %s", err, name)
			}
			if now, err := os.ReadFile(name); string(now) != c.text || c.gone != errors.Is(err, os.ErrNotExist) {
				t.Fatalf("Leave changed the file, %v", err)
			}
			if report, sound := checkOf(t, dir); sound || !strings.Contains(report, "damaged "+name) {
				t.Fatalf("Check says %v:\n%s", sound, report)
			}
			s, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if err := s.History(Left{}, func(*classad.Ad) bool { return true }); !errors.As(err, &damage) || damage.File != name {
				t.Fatalf("History = %v, want damage of %s", err, name)
			}
			if _, err := s.Archive("2026-01", "", false); !errors.As(err, &damage) || damage.File != name {
				t.Fatalf("Archive = %v, want damage of %s", err, name)
			}
			files, err := s.Archive("2026-01", "", true)
			if err != nil || len(files) != 1 || !files[0].Damaged {
				t.Fatalf("Archive of what is damaged = %+v, %v", files, err)
			}
			aside, err := os.ReadFile(filepath.Join(dir, "archive/2026-01.ads.damaged"))
			if string(aside) != c.text || c.gone != errors.Is(err, os.ErrNotExist) {
				t.Errorf("set aside: %q, %v, want %q", aside, err, c.text)
			}
			if err := s.Update(leave(noon)); err != nil {
				t.Errorf("Leave after that: %v", err)
			}
			if n := len(past(t, s, Left{})); n != 1 {
				t.Errorf("%d ads in the history after that, want 1", n)
			}
			if report, sound := checkOf(t, dir); !sound {
				t.Errorf("Check after that:\n%s", report)
			}
		})
	}
}

// evil returns a history with another owner, whose footers fit each other.
func evil(good []byte) string {
	var text []byte
	for ad := range strings.SplitSeq(strings.ReplaceAll(string(good), `"dave"`, `"evil"`), "\n\n") {
		if ad != "" {
			text = append(text, ad[:len(ad)+2-footerSize]...)
			text = appendFooter(text, checksum(text))
		}
	}
	return string(text)
}

// TestDamagedLog does the same with the log, which folds add to.
func TestDamagedLog(t *testing.T) {
	t.Parallel()
	dir := everything(t)
	name := filepath.Join(dir, logFile(monthOf(time.Now())))
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var damage *DamageError
	for _, text := range []string{"", string(good[:len(good)-1]), strings.Replace(string(good), "submit", "sublet", 1)} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := s.Log(func(l Logged) error { t.Errorf("the log told %v", l); return nil }); !errors.As(err, &damage) || damage.File != name {
			t.Errorf("Log = %v, want damage of %s", err, name)
		}
		if _, err := s.Fold(1, nil); !errors.As(err, &damage) || damage.File != name {
			t.Errorf("Fold = %v, want damage of %s", err, name)
		}
		if report, sound := checkOf(t, dir); sound || !strings.Contains(report, "damaged "+name) {
			t.Errorf("Check says %v:\n%s", sound, report)
		}
	}
	if _, err := s.Archive(monthOf(time.Now()), "", true); err != nil {
		t.Fatal(err)
	}
	told := 0
	if err := s.Log(func(Logged) error { told++; return nil }); err != nil || told != 3 {
		t.Errorf("Log after that = %v, and told of %d transactions, want those of the journal", err, told)
	}
	if _, err := s.Fold(1, nil); err != nil {
		t.Errorf("Fold after that = %v", err)
	}
	told = 0
	if err := s.Log(func(Logged) error { told++; return nil }); err != nil || told != 3 {
		t.Errorf("Log after a fold = %v, and told of %d transactions, want 3", err, told)
	}
	if report, sound := checkOf(t, dir); !sound {
		t.Errorf("Check after that:\n%s", report)
	}
}

// TestArchive holds what is moved where, that readers pass it over, and that
// dumps, restored and salvaged spools do without it.
func TestArchive(t *testing.T) {
	t.Parallel()
	at := noon.AddDate(-1, 0, 0)
	ads, end, _ := strings.Cut(strings.ReplaceAll(dumped(t, everything(t)), monthOf(time.Now())+"-", monthOf(at)+"-"), `MyType = "End"`)
	end = regexp.MustCompile(`Checksum = ".*"`).ReplaceAllString(end, fmt.Sprintf(`Checksum = "%08x"`, checksum([]byte(ads))))
	dir := restored(t, ads+`MyType = "End"`+end)
	s, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Update(leave(at)); err != nil {
		t.Fatal(err)
	}
	month := monthOf(at)
	kept := map[string]string{}
	for _, file := range []string{historyFile(month), logFile(month)} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		kept[file] = string(text)
	}
	jobs, transactions := len(past(t, s, Left{})), 0
	if err := s.Log(func(Logged) error { transactions++; return nil }); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "a", "b")
	for _, err := range []error{os.MkdirAll(to, 0o700), os.WriteFile(filepath.Join(to, month+".ads"), []byte(kept[historyFile(month)][:99]), 0o600)} {
		if err != nil { // an earlier copy, before jobs left once more
			t.Fatal(err)
		}
	}
	files, err := s.Archive(month, to, false)
	if err != nil || len(files) != 2 {
		t.Fatalf("Archive = %+v, %v", files, err)
	}
	for i, name := range []string{month + ".ads", month + ".log"} {
		f := files[i]
		text, err := os.ReadFile(filepath.Join(to, name))
		if err != nil || string(text) != kept[f.File] || f.To != filepath.Join(to, name) || f.Bytes != int64(len(text)) || f.CRC != checksum(text) || f.Damaged {
			t.Errorf("archived %+v, and there is %q, %v; want %q", f, text, err, kept[f.File])
		}
		if _, err := os.Stat(filepath.Join(dir, f.File)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is there: %v", f.File, err)
		}
	}
	if n := len(past(t, s, Left{})); n != jobs-1 {
		t.Errorf("%d ads of the history are read, want %d", n, jobs-1)
	}
	told := 0
	if err := s.Log(func(Logged) error { told++; return nil }); err != nil || told != 2 {
		t.Errorf("Log = %v, and told of %d transactions of %d, want the last 2", err, told, transactions)
	}
	for range 2 {
		if report, sound := checkOf(t, dir); !sound || !strings.Contains(report, historyFile(month)+": archived") || !strings.Contains(report, logFile(month)+": archived") {
			t.Errorf("Check says %v:\n%s", sound, report)
		}
		if again, err := s.Archive(month, to, false); err != nil || len(again) > 0 {
			t.Errorf("Archive again = %+v, %v, want nothing", again, err)
		}
		if _, err := s.Fold(1, nil); err != nil {
			t.Fatal(err)
		}
	}
	text := dumped(t, dir)
	if strings.Contains(text, `Month = "`+month+`"`) {
		t.Error("the dump has the archived month")
	}
	if got := dumped(t, restored(t, text)); got != text {
		t.Errorf("restored, it dumps as %s\nwant %s", got, text)
	}
	_, report, _, saved := salvaged(t, dir)
	if saved.Lost > 0 {
		t.Errorf("Salvage lost %d things: %s", saved.Lost, report)
	}
	// A job that leaves in the month begins it anew.
	if err := s.Update(leave(at)); err != nil {
		t.Fatal(err)
	}
	if n := len(past(t, s, Left{})); n != jobs {
		t.Errorf("%d ads of the history are read, want %d", n, jobs)
	}
}

// TestArchiveRefuses holds what Archive does not take, and that nothing is changed then.
func TestArchiveRefuses(t *testing.T) {
	t.Parallel()
	dir := fixture(t)
	now := time.Now()
	for _, at := range []time.Time{now, noon.AddDate(0, 1, 0)} {
		if err := attempt(dir, files.Disk{}, leave(at)); err != nil {
			t.Fatal(err)
		}
	}
	other := filepath.Join(t.TempDir(), "other")
	for _, err := range []error{os.Mkdir(other, 0o700), os.WriteFile(filepath.Join(other, "2026-01.ads"), []byte("another"), 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	before := fingerprint(t, filepath.Join(dir, "history"))
	for _, c := range []struct {
		month, dir string
		damaged    bool
		want       string
	}{
		{monthOf(now), "", false, "is not over"},
		{"2026-02", "", false, "is not over"}, // by policy time
		{"2026-01", filepath.Join(dir, "history"), false, "it is in the spool"},
		{"2026-01", dir, false, "it is in the spool"},
		{"2026-01", other, false, "2026-01.ads: another file is there"},
		{"2026-01", filepath.Join(other, "2026-01.ads"), false, "not a directory"},
		{"2026-01", "", true, "nothing of it is damaged"},
		{"2025-01", "", false, "neither history nor log is recorded"},
		{"2025-01", "", true, "neither history nor log is recorded"},
		{"../lock", "", false, "not a month"},
		{"", "", false, "not a month"},
	} {
		s, err := Open(dir, Options{Program: "test", UIDDomain: "x", Now: noon.AddDate(0, 1, 0)})
		if err != nil {
			t.Fatal(err)
		}
		if files, err := s.Archive(c.month, c.dir, c.damaged); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Archive(%q, %q, %v) = %v, %v, want …%s…", c.month, c.dir, c.damaged, files, err, c.want)
		}
		s.Close()
	}
	if after := fingerprint(t, filepath.Join(dir, "history")); after != before {
		t.Errorf("the history changed: %s\nwant %s", after, before)
	}
}

// TestStoppedArchive stops an Archive at every step, with and without the loss of what
// was not synced. The month can be read or is archived whole; and Archive finishes its
// work when it is called again.
func TestStoppedArchive(t *testing.T) {
	t.Parallel()
	from := fixture(t)
	good, err := os.ReadFile(filepath.Join(from, "history/2026-01.ads"))
	if err != nil {
		t.Fatal(err)
	}
	base := imageOf(t, from)
	archive := func(dir string, layer files.Layer) error {
		return operation{run: func(s *Spool) error { _, err := s.Archive("2026-01", "", false); return err }}.in(dir, layer)
	}
	for _, f := range []fault{{torn: 50}, {done: true, torn: 100}} {
		for at, fired := 1, true; fired; at++ {
			f.at = at
			layer, err := newFaultyOn(filepath.Join(t.TempDir(), "root"), base, f)
			if err != nil {
				t.Fatal(err)
			}
			archive(layer.spool(), layer)
			fired = layer.fired
			roots := []string{layer.root, layer.root + ".cut"}
			if err := layer.tree.hardestCut().image.write(roots[1]); err != nil {
				t.Fatal(err)
			}
			for _, root := range roots {
				dir := filepath.Join(root, "spool")
				copied := filepath.Join(dir, "archive/2026-01.ads")
				if report, _ := checkOf(t, dir); strings.Contains(report, "damaged "+filepath.Join(dir, "history")) {
					t.Fatalf("step %d: Check says\n%s", at, report)
				}
				if err := archive(dir, files.Disk{}); err != nil {
					t.Fatalf("step %d, again: %v", at, err)
				}
				if text, err := os.ReadFile(copied); string(text) != string(good) {
					t.Fatalf("step %d, again: archived is %q, %v, want %q", at, text, err, good)
				}
				if _, err := os.Stat(filepath.Join(dir, "history/2026-01.ads")); !errors.Is(err, os.ErrNotExist) {
					t.Fatalf("step %d, again: the file is still there", at)
				}
				if report, sound := checkOf(t, dir); !sound || !strings.Contains(report, "2026-01.ads: archived") {
					t.Fatalf("step %d, again: Check says %v\n%s", at, sound, report)
				}
			}
		}
	}
}

// TestArchivedMeanwhile holds that a month that others archive is no damage to who reads
// the spool as it was before.
func TestArchivedMeanwhile(t *testing.T) {
	t.Parallel()
	dir := fixture(t)
	if err := attempt(dir, files.Disk{}, leave(noon.AddDate(0, 1, 0))); err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	archive := func() {
		t.Helper()
		if err := (operation{run: func(s *Spool) error { _, err := s.Archive("2026-01", "", false); return err }}).in(dir, files.Disk{}); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	if err := s.History(Left{}, func(*classad.Ad) bool { archive(); n++; return true }); err != nil || n != 1 {
		t.Errorf("History gave %d ads, %v, want the one of the month that stays", n, err)
	}
	d := dumping{spool: s, Writer: dumptext.Writer{To: new(strings.Builder)}}
	if err := d.read(); err != nil {
		t.Fatal(err)
	}
	defer d.state.base.release()
	if d.outdated() {
		t.Error("a dump that has begun after the month was archived is outdated")
	}
	d.state.history["2026-01"] = stretch{end: 1}
	if !d.outdated() {
		t.Error("a dump that has begun before the month was archived is not outdated")
	}
}
