package spool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// drawAttrs draws an ad of a few attributes, some of them expressions and some of odd or
// other spellings.
func drawAttrs(t *rapid.T, most int) *classad.Ad {
	ad := classad.New()
	for range rapid.IntRange(0, most).Draw(t, "attributes") {
		text := rapid.SampledFrom([]string{"1", "2", `"a"`, `"b = 1"`, "1 + 1", "Y", "ProcId * 2", "{1, X}", "undefined", `"q\"" + "r"`}).Draw(t, "value")
		e, err := classad.ParseExpr(text)
		if err != nil {
			t.Fatal(err)
		}
		ad.Set(rapid.SampledFrom([]string{"X", "x", "Y", "Xylem", "Zylem", "odd name", "Q", "QDate", "EnteredCurrentStatus"}).Draw(t, "name"), e)
	}
	return ad
}

// changeQueue makes a random change of the queue.
func changeQueue(t *rapid.T, tx *Tx) {
	tx.Op("test")
	for range rapid.IntRange(1, 4).Draw(t, "clusters") {
		var runs []NewRun
		for range rapid.IntRange(1, 3).Draw(t, "runs") {
			runs = append(runs, NewRun{Count: rapid.IntRange(1, 3).Draw(t, "procs"), Ad: drawAttrs(t, 3)})
		}
		tx.AddCluster(drawAttrs(t, 5), runs)
	}
	for _, c := range tx.Clusters() {
		r := c.Runs[rapid.IntRange(0, len(c.Runs)-1).Draw(t, "run")]
		switch rapid.IntRange(0, 3).Draw(t, "change") {
		case 0:
			for _, name := range drawAttrs(t, 2).OwnNames() {
				tx.Set(pool.JobID{Cluster: c.ID, Proc: r.Last}, name, classad.Literal(classad.Int(7)))
			}
		case 1:
			tx.SetRange(r.Procs, "X", nil)
		case 2:
			tx.LeaveRange(r.Procs, noon)
		}
	}
}

// told is what a look at a queue says of some attributes of each job, and of its runs.
func told(clusters []*Cluster, names []string) string {
	var b strings.Builder
	for _, c := range clusters {
		for _, r := range c.Runs {
			fmt.Fprintf(&b, "%d.%d-%d", c.ID, r.First, r.Last)
			for p := r.First; p <= r.Last; p++ {
				for _, name := range names {
					ad := r.Proc(p)
					e, ok := ad.Lookup(name)
					fmt.Fprintf(&b, " %s %v %v %v", name, ok, e, ad.Eval(&classad.Context{}, name, nil))
				}
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// TestOnlyLaw holds that a view of a few attributes says of them what the whole one does,
// and that the pieces are all of the queue, whatever stands in segments or in the journal.
func TestOnlyLaw(t *testing.T) {
	t.Parallel()
	names := []string{"X", "Xylem", "odd name", "ClusterId"}
	rapid.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		s, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
		if err != nil {
			rt.Fatal(err)
		}
		defer s.Close()
		for range rapid.IntRange(1, 4).Draw(rt, "transactions") {
			if err := s.Update(func(tx *Tx) error { changeQueue(rt, tx); return nil }); err != nil {
				rt.Fatal(err)
			}
			if rapid.Bool().Draw(rt, "folded") {
				if _, err := s.Fold(1, nil); err != nil {
					rt.Fatal(err)
				}
			}
		}
		fresh, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
		if err != nil {
			rt.Fatal(err)
		}
		defer fresh.Close()
		if err := fresh.View(func(v *View) error {
			if rapid.Bool().Draw(rt, "some are made") {
				v.Cluster(1)
				v.Cluster(2)
			}
			only, pieces := v.Only(names), v.Pieces()
			var all []*Cluster
			r, last := pieces.Reader(), 0
			for i := range pieces.Len() {
				some, err := r.Read(i, func(int) bool { return true })
				if err != nil {
					return err
				}
				for _, c := range some {
					if from, to := pieces.Range(i); c.ID < from || c.ID > to || c.ID <= last {
						rt.Errorf("piece %d of %d to %d holds cluster %d behind %d", i, from, to, c.ID, last)
					}
					last = c.ID
				}
				all = append(all, some...)
			}
			want := told(v.Clusters(), names)
			if got := told(only.Clusters(), names); got != want {
				rt.Errorf("a view of %q says\n%swant\n%s", names, got, want)
			}
			every := append(names, "x", "Y", "Zylem", "Q")
			if got, want := told(all, every), told(v.Clusters(), every); got != want {
				rt.Errorf("the pieces say\n%swant\n%s", got, want)
			}
			if v.Only(names) != v {
				rt.Errorf("Only of a view in which all is made = another one, want itself")
			}
			return nil
		}); err != nil {
			rt.Fatal(err)
		}
	})
}

// Damage of a block is found by whoever reads few of its attributes, or only a piece.
func TestOnlyFindsDamage(t *testing.T) {
	t.Parallel()
	dir := fixture(t)
	s, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Fold(1, nil); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "jobs", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("segments: %q, %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	text[strings.Index(string(text), "carol")] ^= 1
	if err := os.WriteFile(files[0], text, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, look := range map[string]func(*View) error{
		"Only":   func(v *View) error { v.Only([]string{"JobStatus"}).Clusters(); return nil },
		"Pieces": func(v *View) error { _, err := v.Pieces().Reader().Read(0, func(int) bool { return true }); return err },
	} {
		var d *DamageError
		if err := s.View(look); !errors.As(err, &d) || d.File != files[0] {
			t.Errorf("%s of a damaged block = %v, want damage of %s", name, err, files[0])
		}
	}
}
