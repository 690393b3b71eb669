package spool

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

const longWait = time.Minute

func jobAd(owner string) *classad.Ad {
	ad := classad.New()
	ad.SetString("Owner", owner)
	ad.SetString("Cmd", "/bin/echo \"two\nlines\" \\ é")
	ad.SetInt("JobStatus", 1)
	ad.SetInt("a name = with\nanything in it", 1)
	ad.SetReal("RemoteWallClockTime", 0.1)
	return ad
}

// operations is the table of what writers do. A new operation of a command
// joins the crash tests by adding a row.
var operations = []struct {
	name string
	do   func(*Tx) error
}{
	{"submit", func(tx *Tx) error {
		tx.Op("submit", "job.sub")
		tx.AddCluster(jobAd("alice"), []NewRun{{Count: 1000}})
		return nil
	}},
	{"submit unequal procs", func(tx *Tx) error {
		tx.Op("submit", "-")
		var runs []NewRun
		for i := range 20 {
			ad := classad.New()
			ad.SetString("Args", fmt.Sprint(i))
			runs = append(runs, NewRun{Count: 1, Ad: ad})
		}
		tx.AddCluster(jobAd("bob"), runs)
		return nil
	}},
	{"set priority", func(tx *Tx) error {
		tx.Op("set priority", "1", "+5")
		tx.SetRange(1, 0, 9, "JobPrio", classad.Literal(classad.Int(5)))
		tx.Set(pool.JobID{Cluster: 1, Proc: 3}, "JobPrio", classad.Literal(classad.Int(-7)))
		return nil
	}},
	{"match", func(tx *Tx) error {
		tx.Op("match")
		for i := range 3 {
			id := pool.JobID{Cluster: 1, Proc: i}
			tx.PutClaim(pool.Claim{Job: id, Attempt: 1, Slot: fmt.Sprintf("slot%d@host", i), Submitter: "alice@x", State: pool.Matched, Weight: accountant.One, MatchedAt: noon})
			tx.Set(id, "NumJobMatches", classad.Literal(classad.Int(1)))
			r, _ := tx.Submitter("alice@x")
			tx.PutSubmitter(r.Start(noon, accountant.One, accountant.Params{HalfLife: time.Hour}))
		}
		return nil
	}},
	{"remove", func(tx *Tx) error {
		tx.Op("remove", "1.4", "1.5")
		tx.Leave(pool.JobID{Cluster: 1, Proc: 4}, noon)
		tx.Leave(pool.JobID{Cluster: 1, Proc: 5}, noon)
		return nil
	}},
	{"remove over the turn of a month", func(tx *Tx) error {
		tx.Op("remove", "1.6", "1.7")
		tx.Leave(pool.JobID{Cluster: 1, Proc: 6}, noon.AddDate(0, -1, 0))
		tx.Leave(pool.JobID{Cluster: 1, Proc: 7}, noon)
		return nil
	}},
	{"advertise", func(tx *Tx) error {
		tx.Op("advertise", "pool.ads")
		ad := classad.New()
		ad.SetString("Name", "slot1@host")
		ad.SetInt("Cpus", 8)
		tx.PutSlot("slot1@host", ad)
		tx.PutSlot("slot1@host", ad.Clone()) // the same: costs nothing
		tx.DropSlot("slot9@host")
		return nil
	}},
	{"leave alone", func(tx *Tx) error {
		tx.Op("give up")
		tx.PutBackoff(pool.Backoff{Slot: "slot1@host", Failures: 2, Until: noon})
		return nil
	}},
	{"finish", func(tx *Tx) error {
		tx.Op("finish", "1.9")
		id := pool.JobID{Cluster: 1, Proc: 9}
		tx.DropClaim(id)
		tx.DropBackoff("slot9@host")
		tx.DropSubmitter("carol@x")
		tx.Leave(id, noon)
		return nil
	}},
}

// dump writes down all that a spool holds, history included.
func dump(t testing.TB, dir string) string {
	t.Helper()
	s, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	defer s.Close()
	var b strings.Builder
	err = s.View(func(v *View) error {
		for id, ad := range v.Jobs() {
			fmt.Fprintln(&b, id, ad.Flat().Format(classad.StyleSpool))
		}
		fmt.Fprintln(&b, v.Len(), v.next)
		for _, c := range v.Claims() {
			c.Seq = 0
			fmt.Fprintf(&b, "%+v\n", c)
		}
		for _, r := range v.Submitters() {
			fmt.Fprintf(&b, "%+v\n", r)
		}
		slots, bad := v.Slots()
		for _, s := range slots {
			fmt.Fprintln(&b, s.Name, s.Ad.Format(classad.StyleSpool))
		}
		fmt.Fprintln(&b, bad, v.Backoffs())
		for _, month := range []string{"2025-12", "2026-01"} {
			ads, _ := os.ReadFile(filepath.Join(dir, "history", month+".ads"))
			fmt.Fprintf(&b, "%s: %q\n", month, ads[:min(v.state().history[month].end, int64(len(ads)))])
		}
		return nil
	})
	if err != nil {
		t.Fatalf("View: %v", err)
	}
	return b.String()
}

// fixture makes a spool in which something is there already.
func fixture(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "spool")
	s, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	err = s.Update(func(tx *Tx) error {
		tx.Op("submit", "first")
		tx.AddCluster(jobAd("carol"), []NewRun{{Count: 12}})
		tx.PutSubmitter(accountant.Record{Name: "carol@x", Priority: 1.0 / 3, At: noon, HalfLife: time.Hour})
		return nil
	})
	if err == nil {
		err = s.Update(func(tx *Tx) error {
			tx.Op("remove", "1.11")
			tx.Leave(pool.JobID{Cluster: 1, Proc: 11}, noon)
			return nil
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func copyDir(t testing.TB, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "spool")
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}

// attempt runs one operation over a layer and reports Update's answer.
func attempt(dir string, layer files, do func(*Tx) error) error {
	s, err := open(dir, Options{Program: "test", UIDDomain: "x"}, layer)
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Update(do)
}

// TestStoppedWriter stops a writer before and in the middle of each of its
// changing operations, with and without the loss of all that was not synced,
// and makes each fail alone. Afterwards the spool holds the transaction whole
// or not at all, whole if it was acknowledged, and the next writer works.
func TestStoppedWriter(t *testing.T) {
	base := fixture(t)
	before := dump(t, base)
	faults := []struct {
		name     string
		torn     int
		once     error
		powerCut bool
	}{
		{name: "stop before"},
		{name: "stop in the middle", torn: 50},
		{name: "stop after, unsaid", torn: 100},
		{name: "power cut", torn: 100, powerCut: true},
		{name: "power cut in the middle", torn: 30, powerCut: true},
		{name: "disk full", torn: 40, once: syscall.ENOSPC},
		{name: "I/O error", once: syscall.EIO},
	}
	for _, op := range operations {
		t.Run(op.name, func(t *testing.T) {
			whole := copyDir(t, base)
			if err := attempt(whole, disk{}, op.do); err != nil {
				t.Fatal(err)
			}
			after := dump(t, whole)
			if after == before {
				t.Fatal("the operation changes nothing")
			}
			points := 0
			for _, fault := range faults {
				for at := 1; ; at++ {
					dir := copyDir(t, base)
					layer := newFaulty()
					layer.at, layer.torn, layer.once = at, fault.torn, fault.once
					err := attempt(dir, layer, op.do)
					if fault.powerCut {
						if e := layer.powerCut(); e != nil {
							t.Fatal(e)
						}
					}
					got := dump(t, dir)
					switch {
					case got != before && got != after:
						t.Fatalf("%s at operation %d: neither whole nor absent:\n%s", fault.name, at, got)
					case err == nil && got != after:
						t.Fatalf("%s at operation %d: acknowledged but not there", fault.name, at)
					case err != nil && fault.once != nil && got != before:
						t.Fatalf("%s at operation %d: refused but there", fault.name, at)
					}
					if err := attempt(dir, disk{}, operations[0].do); err != nil {
						t.Fatalf("%s at operation %d: the next writer: %v", fault.name, at, err)
					}
					if dump(t, dir) == got {
						t.Fatalf("%s at operation %d: the next writer's change is not there", fault.name, at)
					}
					if !layer.fired {
						break
					}
					points++
				}
			}
			t.Logf("%d fault points", points)
		})
	}
}

// TestStoppedCreation stops the making of a spool at every step, with and
// without the loss of what was not synced; the next one to open it finishes
// the work.
func TestStoppedCreation(t *testing.T) {
	for _, powerCut := range []bool{false, true} {
		for at, fired := 1, true; fired; at++ {
			dir := filepath.Join(t.TempDir(), "spool")
			layer := newFaulty()
			layer.at, layer.torn = at, 50
			_, err := open(dir, Options{Program: "test", UIDDomain: "x"}, layer)
			fired = layer.fired
			if powerCut {
				if err := layer.powerCut(); err != nil {
					t.Fatal(err)
				}
			}
			if _, e := os.Stat(filepath.Join(dir, "VERSION")); err == nil && e != nil {
				t.Fatalf("power cut %v at operation %d: Open said that the spool is made, but %v", powerCut, at, e)
			}
			if err := attempt(dir, disk{}, operations[0].do); err != nil {
				t.Fatalf("power cut %v at operation %d, then: %v", powerCut, at, err)
			}
		}
	}
}
