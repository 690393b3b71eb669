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
	"time"

	"pgregory.net/rapid"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool/internal/files"
)

// past returns the chosen ads of the history, each in the spool's notation.
func past(t interface{ Fatal(...any) }, s *Spool, which Left) (texts []string) {
	if err := s.History(which, func(ad *classad.Ad) bool {
		texts = append(texts, asWritten(ad))
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return texts
}

func asWritten(ad *classad.Ad) string {
	var b []byte
	for _, name := range ad.Names() {
		e, _ := ad.Lookup(name)
		b = appendHistory(b, name, e)
	}
	return string(b)
}

// gone is a job that left, as the model has it.
type gone struct {
	month, text, owner, user string
	cluster                  int
	entered                  int64 // 0: it does not say
}

func (g gone) chosen(which Left) bool {
	if which.Clusters != nil && !which.Clusters[g.cluster] {
		return false
	}
	if which.Owners != nil && !which.Owners[g.owner] && !(g.user != "" && which.Owners[g.user]) {
		return false
	}
	after := which.Since.IsZero() || g.entered != 0 && g.entered >= which.Since.Unix()
	return after && (which.Before.IsZero() || g.entered != 0 && time.Unix(g.entered, 0).Before(which.Before))
}

// someJob draws an ad with what the choice looks at, also in ways that its lines
// do not say outright.
func someJob(t *rapid.T, month time.Time) (ad *classad.Ad, g gone) {
	ad = classad.New()
	set := func(name, text string) {
		e, err := classad.ParseExpr(text)
		if err != nil {
			t.Fatal(err)
		}
		ad.Set(name, e)
	}
	g.owner = rapid.SampledFrom([]string{"alice", "bob", "a\"b"}).Draw(t, "owner")
	quoted := classad.Literal(classad.String(g.owner)).String()
	set(rapid.SampledFrom([]string{"Owner", "owner"}).Draw(t, "spelling"),
		rapid.SampledFrom([]string{quoted, `strcat(` + quoted + `, "")`, `Other`}).Draw(t, "written"))
	set("Other", quoted)
	if rapid.Bool().Draw(t, "has user") {
		g.user = g.owner + "@x"
		ad.SetString("User", g.user)
	}
	if rapid.Bool().Draw(t, "has time") {
		g.entered = month.Unix() + rapid.Int64Range(0, 5).Draw(t, "entered")
		set("EnteredCurrentStatus", rapid.SampledFrom([]string{fmt.Sprint(g.entered), fmt.Sprintf("%d + 1", g.entered-1)}).Draw(t, "time written"))
	}
	ad.SetString("Args", rapid.SampledFrom([]string{"", "\n\nClusterId = 1\n\n", "é\x01", strings.Repeat("long ", 20000)}).Draw(t, "args"))
	if rapid.Bool().Draw(t, "odd name") {
		ad.SetInt("a name\nof two lines", 1)
	}
	return ad, g
}

// TestPast holds that the history gives what Leave wrote, the last first, and of a
// choice the same as going through all of it; also when the journal was folded, a
// dead writer left a torn tail, and months were archived.
func TestPast(t *testing.T) {
	t.Parallel()
	months := []time.Time{noon, noon.AddDate(0, 1, 0), noon.AddDate(0, 2, 0)}
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "spool")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		s, err := Open(dir, Options{UIDDomain: "x"})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		var model []gone
		for range rapid.IntRange(1, 4).Draw(t, "transactions") {
			month := rapid.SampledFrom(months).Draw(t, "month")
			model = append(model, leaveSome(t, s, month)...)
			if rapid.IntRange(0, 2).Draw(t, "fold") == 0 {
				if _, err := s.Fold(1, nil); err != nil {
					t.Fatal(err)
				}
			}
		}
		tear(t, dir, model)
		away := monthOf(rapid.SampledFrom(append(months, time.Unix(0, 0))).Draw(t, "archived"))
		if _, err := s.Archive(away, "", false); err == nil {
			model = slices.DeleteFunc(model, func(g gone) bool { return g.month == away })
			if rapid.Bool().Draw(t, "one more") {
				model = append(model, leaveSome(t, s, noon)...)
			}
		}
		slices.Reverse(model)
		slices.SortStableFunc(model, func(a, b gone) int { return strings.Compare(b.month, a.month) })
		for _, which := range []Left{{}, someChoice(t, months)} {
			var want []string
			for _, g := range model {
				if g.chosen(which) {
					want = append(want, g.text)
				}
			}
			if got := past(t, s, which); !slices.Equal(got, want) {
				t.Fatalf("History(%+v) = %.300q, want %.300q", which, got, want)
			}
		}
	})
}

// leaveSome lets jobs of a few new clusters leave.
func leaveSome(t *rapid.T, s *Spool, month time.Time) (all []gone) {
	if err := s.Update(func(tx *Tx) error {
		tx.Op("leave")
		for range rapid.IntRange(1, 3).Draw(t, "clusters") {
			ad, g := someJob(t, month)
			procs := rapid.IntRange(1, 4).Draw(t, "procs")
			id := tx.AddCluster(ad, []NewRun{{Count: procs}})
			first := rapid.IntRange(0, procs-1).Draw(t, "first")
			last := rapid.IntRange(first, procs-1).Draw(t, "last")
			g.month, g.cluster = monthOf(month), id
			for p := first; p <= last; p++ {
				job, _ := tx.Job(pool.JobID{Cluster: id, Proc: p})
				g.text = asWritten(job)
				all = append(all, g)
			}
			tx.LeaveRange(pool.Procs{Cluster: id, First: first, Last: last}, month)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// tear leaves in a month what a writer leaves that died before its commit.
func tear(t *rapid.T, dir string, model []gone) {
	if !rapid.Bool().Draw(t, "torn") {
		return
	}
	f, err := os.OpenFile(filepath.Join(dir, "history", model[0].month+".ads"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(rapid.SampledFrom([]string{"Args = \"half", "ProcId = 7\n\n", "\n\n\n"}).Draw(t, "tail")); err != nil {
		t.Fatal(err)
	}
}

func someChoice(t *rapid.T, months []time.Time) (which Left) {
	if rapid.Bool().Draw(t, "by cluster") {
		which.Clusters = map[int]bool{rapid.IntRange(1, 4).Draw(t, "cluster"): true, 2: false, 3: true}
	}
	if rapid.Bool().Draw(t, "by owner") {
		which.Owners = map[string]bool{rapid.SampledFrom([]string{"alice", "a\"b", "a\"b@x", "bob@x", ""}).Draw(t, "wanted"): true}
	}
	near := func(label string) time.Time {
		return rapid.SampledFrom(months).Draw(t, label).Add(time.Duration(rapid.IntRange(-1, 6).Draw(t, label+" seconds")) * time.Second)
	}
	if rapid.Bool().Draw(t, "bounded below") {
		which.Since = near("since")
	}
	if rapid.Bool().Draw(t, "bounded above") {
		which.Before = near("before")
	}
	return which
}

// leftSpool is a spool in which so many jobs left.
func leftSpool(tb testing.TB, clusters, procs int) *Spool {
	tb.Helper()
	s, err := Open(filepath.Join(tb.TempDir(), "spool"), Options{UIDDomain: "x"})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	if err := s.Update(func(tx *Tx) error {
		tx.Op("leave")
		for i := range clusters {
			ad := jobAd(fmt.Sprintf("user%d", i%100))
			for n := range 60 {
				ad.SetString(fmt.Sprint("Attribute", n), fmt.Sprint("value ", n*i%100))
			}
			id := tx.AddCluster(ad, []NewRun{{Count: procs}})
			tx.LeaveRange(pool.Procs{Cluster: id, First: 0, Last: procs - 1}, noon)
		}
		return nil
	}); err != nil {
		tb.Fatal(err)
	}
	return s
}

func TestPastStops(t *testing.T) {
	t.Parallel()
	s := leftSpool(t, 3, 2)
	n := 0
	if err := s.History(Left{}, func(*classad.Ad) bool { n++; return n < 3 }); err != nil || n != 3 {
		t.Errorf("History that is told to stop gave %d ads, %v, want 3", n, err)
	}
}

// TestPastOfAView holds that a View shows the history of its transaction, whatever
// others commit and fold meanwhile.
func TestPastOfAView(t *testing.T) {
	t.Parallel()
	s := leftSpool(t, 2, 2)
	other, err := Open(s.Dir(), Options{UIDDomain: "x"})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	before := past(t, s, Left{})
	if err := s.View(func(v *View) error {
		if err := other.Update(func(tx *Tx) error {
			tx.Op("leave")
			tx.LeaveRange(pool.Procs{Cluster: tx.AddCluster(jobAd("bob"), []NewRun{{Count: 3}}), First: 0, Last: 2}, noon)
			return nil
		}); err != nil {
			return err
		}
		if _, err := other.Fold(1, nil); err != nil {
			return err
		}
		var got []string
		err := v.History(Left{}, func(ad *classad.Ad) bool { got = append(got, asWritten(ad)); return true })
		if !slices.Equal(got, before) {
			t.Errorf("History of the View = %d ads, want the %d of before", len(got), len(before))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if got := past(t, s, Left{}); len(got) != len(before)+3 {
		t.Errorf("History = %d ads, want %d", len(got), len(before)+3)
	}
}

// TestPastDamage holds that damage is named with file and line, that what left later is
// shown, and nothing else.
func TestPastDamage(t *testing.T) {
	t.Parallel()
	s := leftSpool(t, 2, 2)
	name := s.path("history/" + monthOf(noon) + ".ads")
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(good), "\n")
	per := len(lines) / 4 // of each ad, footer and blank line too
	text := func(lines ...string) string { return strings.Join(lines, "") }
	for _, c := range []struct {
		name, text string
		line, seen int // line 0: no damage
	}{
		{"whole", string(good), 0, 4},
		{"a tail that nobody acknowledged", string(good) + "Args = \"half", 0, 4},
		{"an ad", text(lines[:per]...), 1, 0},
		{"cut off in a line", text(lines[:per+3]...)[:len(text(lines[:per+3]...))-2], 1, 0},
		{"empty", "", 1, 0},
		{"a letter", "A", 1, 0},
		{"no footer at the end", string(good[:len(good)-2]) + "xx", 3*per + 1, 0},
		{"garbage with an end", strings.Repeat("x", len(good)-2) + "\n\n", 1, 0},
		{"garbage", strings.Repeat("x", len(good)), 1, 0},
		{"a blank line more", string(good[:len(good)-3]) + "\n\n\n", 4*per + 1, 0},
		{"a line changed", strings.Replace(string(good), lines[per+2], "!"+lines[per+2][1:], 1), 1, 3},
		{"a value changed", text(lines[:2*per]...) + strings.Replace(text(lines[2*per:]...), "JobStatus = 1", "JobStatus = 4", 1), 2*per + 1, 1},
		{"a footer changed", text(lines[:2*per-2]...) + "# checksum 00000000\n" + text(lines[2*per-1:]...), 2*per + 1, 1},
		{"two ads in the other order", text(lines[:per]...) + text(lines[2*per:3*per]...) + text(lines[per:2*per]...) + text(lines[3*per:]...), 3*per + 1, 0},
		{"a line removed, and as much added", text(lines[:3*per]...) + "ZZ = \"" + strings.Repeat("x", len(lines[3*per])-8) + "\"\n" + text(lines[3*per+1:]...), 3*per + 1, 0},
	} {
		if err := os.WriteFile(name, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		seen := 0
		err := s.History(Left{}, func(*classad.Ad) bool { seen++; return true })
		damage := &DamageError{}
		if got := errors.As(err, &damage); got != (c.line > 0) || err != nil && !got || damage.Line != c.line || seen != c.seen {
			t.Errorf("%s: History gave %d ads, %v, want %d and damage on line %d", c.name, seen, err, c.seen, c.line)
		}
		if err != nil && damage.File != name {
			t.Errorf("%s: damage is in %s, want %s", c.name, damage.File, name)
		}
		if report, sound := checkOf(t, s.Dir()); sound != (c.line == 0) || !sound && !strings.Contains(report, "damaged "+name) {
			t.Errorf("%s: Check says %v\n%s", c.name, sound, report)
		}
	}
}

// BenchmarkPast reads the last ads of a long history, and a cluster's.
func BenchmarkPast(b *testing.B) {
	s := leftSpool(b, 1000, 100)
	info, err := os.Stat(s.path("history/" + monthOf(noon) + ".ads"))
	if err != nil {
		b.Fatal(err)
	}
	run := func(name string, bytes int64, which Left, want int) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(bytes)
			for b.Loop() {
				n := 0
				if err := s.History(which, func(*classad.Ad) bool { n++; return n < want }); err != nil || n != want {
					b.Fatalf("History gave %d ads, %v, want %d", n, err, want)
				}
			}
		})
	}
	run("last=10", 0, Left{}, 10)
	run("cluster", info.Size(), Left{Clusters: map[int]bool{1: true}}, 100)
	run("owner", info.Size(), Left{Owners: map[string]bool{"user7": true}}, 1000)
	run("all", info.Size(), Left{}, 100000)
}

// inMemory is a file that is only read.
type inMemory struct {
	files.File
	text []byte
}

func (f inMemory) ReadAt(b []byte, at int64) (int, error) {
	return bytes.NewReader(f.text).ReadAt(b, at)
}

// FuzzPastReader holds that ads are read as they were written, in pieces of any size,
// and that of a file of which a byte was changed only those behind it are.
func FuzzPastReader(f *testing.F) {
	for _, text := range []string{"", "A = 1\n", "A = 1\nB = 2\n\x00A = 3\n", "\x00", "A\n\x00\x00B\n", "x", "# checksum 00000000\n\x00A = 1\n"} {
		f.Add([]byte(text), 3, 0, byte(0))
		f.Add([]byte(text), 1, 17, byte(2))
	}
	f.Fuzz(func(t *testing.T, ads []byte, piece, at int, flip byte) {
		var text []byte
		var want []string
		crc := uint32(0)
		for ad := range bytes.SplitSeq(ads, []byte{0}) {
			if bytes.Contains(ad, adEnd) || bytes.HasPrefix(ad, newline) || bytes.HasSuffix(ad, newline) || len(ad) == 0 {
				continue // none of ours
			}
			begin := len(text)
			text = append(append(text, ad...), '\n')
			text = appendFooter(text, checksum(text))
			crc, want = checksum(text), append(want, string(text[begin:len(text)-footerSize]))
		}
		if len(text) > 0 {
			at = (at%len(text) + len(text)) % len(text)
			text[at] ^= flip
		}
		r := pastReader{file: inMemory{text: text}, name: "past", end: int64(len(text)), crc: crc}
		for r.end > 0 {
			// Far smaller pieces than usual, so that there are several.
			r.piece = max(piece&15, 1)
			blocks, err := r.before()
			for _, b := range slices.Backward(blocks) {
				if got := string(b.text); got[0] != '\n' || got[1:] != want[len(want)-1] {
					t.Fatalf("byte %d of %q, %#x: read %q, want %q", at, text, flip, got, want[len(want)-1])
				}
				want = want[:len(want)-1]
			}
			if err != nil {
				if flip == 0 {
					t.Fatal(err)
				}
				return
			}
			if len(blocks) == 0 {
				t.Fatalf("nothing before %d of %q, and no error", r.end, text)
			}
		}
		if len(want) > 0 || flip != 0 && len(text) > 0 {
			t.Fatalf("byte %d of %q, %#x: no damage, and %d ads are missing", at, text, flip, len(want))
		}
	})
}
