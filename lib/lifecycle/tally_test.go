package lifecycle

import (
	"math"
	"testing"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// TestTallied follows what two jobs of one project use into the tallies: one ends
// by itself, the other is lost with its supervisor, which could measure nothing.
func TestTallied(t *testing.T) {
	b := newBench(t)
	second := pool.JobID{Cluster: 1, Proc: 1}
	b.update(func(tx *spool.Tx) error {
		tx.Op("x")
		for _, id := range []pool.JobID{first, second} {
			tx.Set(id, "Project", classad.Literal(classad.String("atlas")))
			tx.Set(id, "QOS", classad.Literal(classad.String("high")))
			tx.Set(id, "RequestCpus", classad.Literal(classad.Int(2)))
		}
		return nil
	})
	if made := b.negotiate(noon, nil); len(made) != 2 {
		t.Fatalf("matches = %v, want 2", made)
	}
	hour := noon.Add(time.Hour)
	for id, how := range map[pool.JobID]pool.Ending{
		first:  {Wall: time.Hour, UserCPU: time.Minute, SysCPU: time.Second, MaxRSSKB: 2 << 20, IOBytes: 1 << 29},
		second: {Lost: "the supervisor died"},
	} {
		b.update(func(tx *spool.Tx) error { return Begin(tx, id, 1, noon, 4711, "", params) })
		b.update(func(tx *spool.Tx) error { return Finish(tx, id, 1, hour, how, params) })
	}
	want := accountant.Recent{CPU: 61, Memory: 2 * 3600, IO: 0.5}
	b.view(func(v *spool.View) {
		for _, k := range []accountant.Key{
			{Kind: accountant.KindProject, Name: "atlas"}, accountant.Within("alice", "atlas"),
		} {
			if y, ok := v.Tally(k); !ok || y.Decayed != want || y.LongTerm != want || y.Cpus != 0 {
				t.Errorf("tally of %v = %+v, want %+v", k, y, want)
			}
		}
		if y, ok := v.Tally(accountant.Key{Kind: accountant.KindOwn, Name: "alice"}); ok {
			t.Errorf("alice's own tally = %+v, want none: all is the project's", y)
		}
		for _, k := range []accountant.Key{
			{Kind: accountant.KindTotal, Name: accountant.TotalName}, {Kind: accountant.KindUser, Name: "alice"}, {Kind: accountant.KindQOS, Name: "high"},
		} {
			y, _ := v.Tally(k)
			dedicated := y.FairShare(accountant.DedicatedPS, accountant.WindowParams{Decay: 1})
			utilized := y.FairShare(accountant.UtilizedPS, accountant.WindowParams{Decay: 1})
			if dedicated != 2*2*3600 || math.Abs(utilized-61) > 1e-9 || y.Cpus != 0 {
				t.Errorf("tally of %v = %v dedicated, %v utilized, %d in use, want 14400, 61, 0", k, dedicated, utilized, y.Cpus)
			}
		}
	})
}

// TestTallyGivenBack: a match that nobody takes up is in no window.
func TestTallyGivenBack(t *testing.T) {
	b := newBench(t)
	b.negotiate(noon, nil)
	late := noon.Add(5 * time.Minute)
	b.negotiate(late, nil)
	b.view(func(v *spool.View) {
		y, ok := v.Tally(accountant.Key{Kind: accountant.KindTotal, Name: accountant.TotalName})
		if !ok || y.Cpus != 0 || len(y.Windows) != 0 || !y.At.Equal(late) {
			t.Errorf("tally of all = %+v, %v, want nothing used as of %v", y, ok, late)
		}
	})
}

// TestDefaultProject: a job without a project counts for its user's default one.
func TestDefaultProject(t *testing.T) {
	p := configured(t, "[sge.users]\nalice.default_project = 'pa'\nbob.fshare = 3\n").Params
	for text, want := range map[string]string{`Owner = "alice"`: "pa", `Owner = "alice"; Project = "pb"`: "pb", `Owner = "bob"`: "", ``: ""} {
		ad, err := classad.ParseAd("[" + text + "]")
		if err != nil {
			t.Fatal(err)
		}
		if got := credentials(ad, p).Project; got != want {
			t.Errorf("[%s] counts for the project %q, want %q", text, got, want)
		}
	}
}
