package spool

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool/internal/files"
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

// operation is something that a writer does.
type operation struct {
	name string
	do   func(*Tx) error    // in an Update,
	run  func(*Spool) error // or, if do is nil, by itself
	same bool               // it changes nothing that a reader of the spool sees
}

// on does the operation on an open spool.
func (o operation) on(s *Spool) error {
	if o.do == nil {
		return o.run(s)
	}
	return s.Update(o.do)
}

// in does the operation as a command would: it opens the spool in dir first.
func (o operation) in(dir string, layer files.Layer) error {
	s, err := open(dir, testOptions(dir), layer)
	if err != nil {
		return err
	}
	defer s.Close()
	return o.on(s)
}

// testOptions makes a new spool one of the domain x, and opens one that was renamed.
func testOptions(dir string) Options {
	o := Options{Program: "test"}
	if _, err := os.Stat(filepath.Join(dir, "VERSION")); err != nil {
		o.UIDDomain = "x"
	}
	return o
}

// operations is the table of what writers do. A new operation of a command
// joins the crash tests by adding a row.
var operations = []operation{
	{name: "submit", do: func(tx *Tx) error {
		tx.Op("submit", "job.sub")
		tx.AddCluster(jobAd("alice"), []NewRun{{Count: 40}})
		return nil
	}},
	{name: "submit unequal procs", do: func(tx *Tx) error {
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
	{name: "set priority", do: func(tx *Tx) error {
		tx.Op("set priority", "1", "+5")
		tx.SetRange(pool.Procs{Cluster: 1, First: 0, Last: 9}, "JobPrio", classad.Literal(classad.Int(5)))
		tx.Set(pool.JobID{Cluster: 1, Proc: 3}, "JobPrio", classad.Literal(classad.Int(-7)))
		return nil
	}},
	{name: "match", do: func(tx *Tx) error {
		tx.Op("match")
		for i := range 3 {
			id := pool.JobID{Cluster: 1, Proc: i}
			claim := pool.Claim{Job: id, Attempt: 1, Slot: fmt.Sprintf("slot%d@host", i), Submitter: "alice@x", State: pool.Matched, Weight: accountant.One, MatchedAt: noon}
			if i > 0 {
				claim.Slot = fmt.Sprintf("slot1_%d@host", i)
				claim.Piece, claim.Limits = pool.Piece{Of: "slot1@host", Takes: "Cpus=1 Memory=128"}, "sw.x:2"
			}
			tx.PutClaim(claim)
			tx.Set(id, "NumJobMatches", classad.Literal(classad.Int(1)))
			r, _ := tx.Submitter("alice@x")
			tx.PutSubmitter(r.Start(noon, accountant.One, accountant.Params{HalfLife: time.Hour}))
		}
		return nil
	}},
	{name: "remove", do: func(tx *Tx) error {
		tx.Op("remove", "1.4", "1.5")
		tx.Leave(pool.JobID{Cluster: 1, Proc: 4}, noon)
		tx.Leave(pool.JobID{Cluster: 1, Proc: 5}, noon)
		return nil
	}},
	{name: "remove over the turn of a month", do: func(tx *Tx) error {
		tx.Op("remove", "1.6", "1.7")
		tx.Leave(pool.JobID{Cluster: 1, Proc: 6}, noon.AddDate(0, -1, 0))
		tx.Leave(pool.JobID{Cluster: 1, Proc: 7}, noon)
		return nil
	}},
	{name: "advertise", do: func(tx *Tx) error {
		tx.Op("advertise", "pool.ads")
		ad := classad.New()
		ad.SetString("Name", "slot1@host")
		ad.SetInt("Cpus", 8)
		tx.PutSlot("slot1@host", ad)
		tx.PutSlot("slot1@host", ad.Clone()) // the same: costs nothing
		tx.DropSlot("slot9@host")
		return nil
	}},
	{name: "leave alone", do: func(tx *Tx) error {
		tx.Op("give up")
		tx.PutBackoff(pool.Backoff{Slot: "slot1@host", Failures: 2, Until: noon})
		return nil
	}},
	{name: "tally", do: func(tx *Tx) error {
		tx.Op("tally")
		for _, k := range []accountant.Key{{Kind: accountant.KindUser, Name: "alice"}, {Kind: accountant.KindOwn, Name: "a\"b"}, {Kind: accountant.KindUser, Name: "carol"}} {
			y, _ := tx.Tally(k)
			y = y.Begin(noon, accountant.Credentials{Cpus: 2, PE: 2.5}, accountant.Params{})
			tx.PutTally(y)
			tx.PutTally(y.Report(accountant.Used{CPU: time.Second / 3, Memory: 0.1}, noon, accountant.Params{}).End(noon.Add(time.Hour), accountant.Credentials{Cpus: 1, PE: 1.25}, accountant.Params{}))
		}
		tx.PutMark("clock", "noon\n\xff")
		tx.PutMark("other", "gone with the finish")
		return nil
	}},
	{name: "finish", do: func(tx *Tx) error {
		tx.Op("finish", "1.9")
		id := pool.JobID{Cluster: 1, Proc: 9}
		tx.DropClaim(id)
		tx.DropBackoff("slot9@host")
		tx.DropSubmitter("carol@x")
		tx.DropTally(accountant.Key{Kind: accountant.KindUser, Name: "carol"})
		tx.DropTally(accountant.Key{Kind: accountant.KindUser, Name: "nobody"})
		tx.PutMark("other", "")
		tx.PutMark("nothing", "")
		tx.Leave(id, noon)
		return nil
	}},
	{name: "preempt", do: func(tx *Tx) error {
		tx.Op("negotiate")
		for _, c := range preemption() {
			tx.PutClaim(c)
		}
		return nil
	}},
	{name: "keep a promise", do: func(tx *Tx) error {
		tx.Op("finish", "1.1")
		claims := preemption()
		tx.DropClaim(claims[0].Job)
		tx.PutClaim(claims[1].Kept(noon.Add(2 * time.Hour)))
		tx.DropClaim(claims[2].Job) // the other promise is given up
		return nil
	}},
	{name: "drop rows", do: func(tx *Tx) error {
		putRows(tx)
		Reservations.Set(tx, nil)
		Succession.Set(tx, nil)
		Entitlement.Set(tx, nil)
		Course.Set(tx, nil)
		return nil
	}},
	{name: "rows", do: func(tx *Tx) error {
		putRows(tx)
		return nil
	}},
	{name: "submit a factory", do: func(tx *Tx) error {
		tx.Op("submit", "many.sub")
		many := tx.AddCluster(jobAd("erin"), []NewRun{{Count: 2}})
		tx.AddFactory(Factory{Cluster: many, Owner: "erin", Next: 2, Jobs: 1_000_000, MaxMaterialize: 2, Offset: 8}, []byte("queue x from (\n\xff\x00\n)\n"))
		return nil
	}},
	{name: "materialize", do: func(tx *Tx) error {
		tx.Op("materialize")
		f, _ := tx.Factory(1)
		ad := classad.New()
		ad.SetString("Args", "of proc 13")
		tx.Grow(1, jobAd("nobody"), f.Next, []NewRun{{Count: 1}, {Count: 2, Ad: ad}})
		f.Next, f.Offset, f.Paused = f.Next+3, 4, "the disk\nis full"
		tx.PutFactory(f)
		again := tx.AddCluster(jobAd("alice"), []NewRun{{Count: 2}})
		tx.LeaveRange(pool.Procs{Cluster: again, First: 0, Last: 1}, noon)
		tx.Grow(again, jobAd("bob"), 2, []NewRun{{Count: 1}})
		return nil
	}},
	{name: "stop a factory", do: func(tx *Tx) error {
		tx.Op("remove", "1")
		tx.DropFactory(1)
		tx.DropFactory(99)
		return nil
	}},
	{name: "archive", run: func(s *Spool) error { _, err := s.Archive("2026-01", "", false); return err }},
	{name: "fold", same: true, run: func(s *Spool) error { _, err := s.Fold(1, nil); return err }},
	{name: "report a cycle", run: func(s *Spool) error {
		return s.Negotiating(0, func() error {
			return s.SetReport(strings.NewReader(`{"Cycle": 1}`))
		})
	}},
	{name: "rename domain", run: func(s *Spool) error {
		return s.RenameDomain("y", func(tx *Tx) error {
			tx.Op("rename domain", "x", "y")
			tx.SetCommon(1, "User", classad.Literal(classad.String("alice@y")))
			for _, r := range tx.Submitters() {
				tx.DropSubmitter(r.Name)
				r.Name = strings.TrimSuffix(r.Name, "@x") + "@y"
				tx.PutSubmitter(r)
			}
			return nil
		})
	}},
}

// preemption returns a claim that is Vacating, and two that are Promised: one waits for
// it, the other for somebody who has a slot by its own words.
func preemption() []pool.Claim {
	holder := pool.Claim{
		Job: pool.JobID{Cluster: 1, Proc: 1}, Attempt: 1, Slot: "slot1_1@host", Piece: pool.Piece{Of: "slot1@host", Takes: "Cpus=1 Memory=128"},
		Submitter: "alice@x", State: pool.Vacating, Weight: accountant.One, MatchedAt: noon, StartedAt: noon, VacateSince: noon.Add(time.Hour),
		VacateReason: "preempted for job 1.3 of bob@x: \"better\"", PromisedTo: pool.JobID{Cluster: 1, Proc: 3}, Rank: -0.1,
	}
	next := pool.Claim{
		Job: holder.PromisedTo, Attempt: 1, Slot: holder.Slot, Piece: holder.Piece, Submitter: "bob@x", State: pool.Promised,
		Weight: accountant.One, MatchedAt: holder.VacateSince, Rank: 2.5,
	}
	outside := next
	outside.Job.Proc, outside.Slot, outside.Piece = 10, "slot7@host", pool.Piece{}
	return []pool.Claim{holder, next, outside}
}

// dump writes down all that a spool holds, history included.
func dump(t testing.TB, dir string) string {
	t.Helper()
	text, err := held(dir, files.Disk{})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// held returns all that a spool holds, as text.
func held(dir string, layer files.Layer) (string, error) {
	s, err := open(dir, testOptions(dir), layer)
	if err != nil {
		return "", fmt.Errorf("Open: %w", err)
	}
	defer s.Close()
	var b strings.Builder
	fmt.Fprintln(&b, s.Domain())
	err = s.View(func(v *View) error {
		if err := showTo(&b, v); err != nil {
			return err
		}
		for _, month := range []string{"2025-12", "2026-01"} {
			ads, _ := os.ReadFile(filepath.Join(dir, "history", month+".ads"))
			known, ok := v.state().history[month]
			if ok && known.end == 0 {
				ads, err = os.ReadFile(filepath.Join(dir, archiveDir, month+".ads"))
				fmt.Fprintf(&b, "archived, %v: %q\n", err, ads)
			}
			fmt.Fprintf(&b, "%s: %q\n", month, ads[:min(known.end, int64(len(ads)))])
		}
		report, err := s.Report()
		fmt.Fprintf(&b, "%q\n", report)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("View: %w", err)
	}
	return b.String(), nil
}

// showTo writes all that a view shows but the history.
func showTo(b *strings.Builder, v *View) error {
	for id, ad := range v.Jobs() {
		fmt.Fprintln(b, id, ad.Flat().Format(classad.StyleSpool))
	}
	fmt.Fprintln(b, v.Len(), v.next)
	for _, c := range v.Claims() {
		c.Seq = 0
		fmt.Fprintf(b, "%+v\n", c)
	}
	for _, r := range v.Submitters() {
		fmt.Fprintf(b, "%+v\n", r)
	}
	for _, y := range v.Tallies() {
		fmt.Fprintf(b, "%+v\n", y)
	}
	fmt.Fprintf(b, "%+q\n%q\n", marksOf(v), rowsOf(v))
	for _, f := range v.Factories() {
		text, err := digestOf(v, f.Cluster)
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "%+v %q\n", f, text)
	}
	slots, bad := v.Slots()
	for _, s := range slots {
		fmt.Fprintln(b, s.Name, s.Ad.Format(classad.StyleSpool))
	}
	fmt.Fprintln(b, bad, v.Backoffs())
	return nil
}

// digestOf reads the digest of a cluster's factory.
func digestOf(v *View, cluster int) ([]byte, error) {
	d, err := v.Digest(cluster)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return io.ReadAll(d)
}

// marksOf returns all marks.
func marksOf(v *View) []mark { return sorted(v.state().marks) }

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
		carol := tx.AddCluster(jobAd("carol"), []NewRun{{Count: 12}})
		tx.AddFactory(Factory{Cluster: carol, Owner: "carol", Next: 12, Jobs: 100, MaxIdle: 3}, []byte("old\n"))
		tx.PutSubmitter(accountant.Record{Name: "carol@x", Priority: 1.0 / 3, At: noon, HalfLife: time.Hour, Ceiling: accountant.LimitOf(0),
			FactorLease: accountant.Lease{Until: noon, Before: 0.1}})
		tx.PutTally(accountant.Tally{Key: accountant.Key{Kind: accountant.KindProject, Name: "physics"}, LongTerm: accountant.Recent{CPU: 1.0 / 3}})
		putLease(tx, lease{Name: "first", Slots: 3})
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

// TestEveryKindIsTried holds that some operation of the table writes a row of each kind of the schema, and drops one:
// so faults and cuts meet every kind. Rows that are counted anew stand in no journal.
func TestEveryKindIsTried(t *testing.T) {
	t.Parallel()
	base, letters := fixture(t), map[byte]bool{}
	for _, o := range operations {
		if o.do == nil {
			continue
		}
		dir := copyDir(t, base)
		if err := attempt(dir, files.Disk{}, o.do); err != nil {
			t.Fatalf("%s: %v", o.name, err)
		}
		journal, err := os.ReadFile(filepath.Join(dir, "journal.1"))
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(journal) {
			letters[line[0]] = true
		}
	}
	for _, k := range schema {
		row, gone := k.letters()
		if table, title := k.names(); title != "" && !(letters[row] && letters[gone]) {
			t.Errorf("%s: operations write a row: %v, and drop one: %v; want both", table, letters[row], letters[gone])
		}
	}
}

// attempt runs one Update over a layer and reports its answer.
func attempt(dir string, layer files.Layer, do func(*Tx) error) error {
	return operation{do: do}.in(dir, layer)
}
