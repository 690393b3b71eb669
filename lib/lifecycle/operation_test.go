package lifecycle

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/negotiation"
	"fairspool/lib/policy"
	"fairspool/lib/pool"
	"fairspool/spool"
)

var (
	params = accountant.Params{HalfLife: 24 * time.Hour, DefaultFactor: 1, NiceFactor: 1e7, NiceGroup: "nice-user", RemoteFactor: 1e4}
	noon   = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	first  = pool.JobID{Cluster: 1, Proc: 0}
)

// bench is a spool with four idle jobs of alice in cluster 1 and two slots.
type bench struct {
	t   *testing.T
	dir string
	s   *spool.Spool
}

func newBench(t *testing.T) bench {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "spool")
	s, err := spool.Open(dir, spool.Options{Program: "test", UIDDomain: "example.org"})
	testenv.OK(t, err)
	b := bench{t, dir, s}
	b.update(func(tx *spool.Tx) error {
		tx.Op("submit")
		ad := classad.New()
		ad.SetString("Owner", "alice")
		ad.SetInt("JobStatus", 1)
		ad.SetBool("Requirements", true)
		tx.AddCluster(ad, []spool.NewRun{{Count: 4}})
		for _, name := range []string{"slot1@here", "slot2@here"} {
			slot := classad.New()
			slot.SetString("Name", name)
			slot.SetString("Machine", "here")
			slot.SetInt("Cpus", 2)
			slot.SetBool("Requirements", true)
			tx.PutSlot(name, slot)
		}
		return nil
	})
	return b
}

func (b bench) update(fn func(*spool.Tx) error) {
	b.t.Helper()
	if err := Account(b.s, accountant.Reading{}, fn); err != nil {
		b.t.Fatal(err)
	}
}

// negotiate runs a cycle, with something in between the snapshot and the
// moment at which its plan is applied.
func (b bench) negotiate(now time.Time, between func(tx *spool.Tx) error) []negotiator.Match {
	b.t.Helper()
	var plan *negotiator.Plan
	var seen Snapshot
	if err := b.s.View(func(v *spool.View) error {
		weight, err := classad.ParseExpr("Cpus")
		if err != nil {
			return err
		}
		seen = TakeSnapshot(v, b.s.Domain(), nil, policy.Beside{})
		plan = negotiation.Cycle(seen.Pool, negotiator.Config{Params: params, UseSlotWeights: true, SlotWeight: weight, RequestClaimTimeout: 2 * time.Minute}, now)
		return nil
	}); err != nil {
		b.t.Fatal(err)
	}
	if between != nil {
		b.update(between)
	}
	var made []negotiator.Match
	b.update(func(tx *spool.Tx) error {
		made = Match(tx, plan, seen, now, params)
		return nil
	})
	return made
}

func (b bench) view(fn func(v *spool.View)) {
	b.t.Helper()
	if err := b.s.View(func(v *spool.View) error { fn(v); return nil }); err != nil {
		b.t.Fatal(err)
	}
}

// alice returns the submitter's record as of t.
func (b bench) alice(t time.Time) (r accountant.Record) {
	b.t.Helper()
	b.view(func(v *spool.View) {
		r, _ = v.Submitter("alice@example.org")
		r = r.AsOf(t, params)
	})
	return r
}

func (b bench) attribute(id pool.JobID, name string) string {
	b.t.Helper()
	text := "gone"
	b.view(func(v *spool.View) {
		if ad, ok := v.Job(id); ok {
			text = "none"
			if e, ok := ad.Lookup(name); ok {
				text = e.String()
			}
		}
	})
	return text
}

func (b bench) history() string {
	b.t.Helper()
	text, err := os.ReadFile(filepath.Join(b.dir, "history", "2026-01.ads"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		b.t.Fatal(err)
	}
	return string(text)
}

// TestLife follows a job from match to end, and its submitter's charge: two
// slots of weight 2 for an hour, then one for another.
func TestLife(t *testing.T) {
	b := newBench(t)
	if got := b.negotiate(noon, nil); len(got) != 2 || got[0].Job != first {
		t.Fatalf("matches = %v, want 1.0 and 1.1", got)
	}
	if r := b.alice(noon); r.ResourcesUsed != 2 || r.InUse != 4*accountant.One {
		t.Errorf("after the match %+v, want 2 slots of weight 2 charged", r)
	}
	begin := func(id pool.JobID, attempt int, at time.Time) error {
		return b.s.Update(func(tx *spool.Tx) error { return Begin(tx, id, attempt, at, 4711, "", params) })
	}
	if err := begin(first, 2, noon); !errors.Is(err, pool.ErrGone) {
		t.Errorf("beginning another attempt = %v, want ErrGone", err)
	}
	testenv.OK(t, begin(first, 1, noon.Add(time.Second)))
	if err := begin(first, 1, noon.Add(time.Second)); !errors.Is(err, pool.ErrGone) {
		t.Errorf("beginning twice = %v, want ErrGone", err)
	}
	if got := b.attribute(first, "JobStatus") + b.attribute(first, "NumJobStarts") + b.attribute(first, "RemoteHost"); got != `21"slot1@here"` {
		t.Errorf("status, starts, host of a running job = %s", got)
	}
	hour := noon.Add(time.Hour)
	finish := func(how pool.Ending) error {
		return b.s.Update(func(tx *spool.Tx) error { return Finish(tx, first, 1, hour, how, params) })
	}
	testenv.OK(t, finish(pool.Ending{Code: 3, Wall: time.Hour, UserCPU: time.Minute, MaxRSSKB: 99}))
	if err := finish(pool.Ending{}); !errors.Is(err, pool.ErrGone) {
		t.Errorf("finishing twice = %v, want ErrGone", err)
	}
	if got := b.attribute(first, "JobStatus"); got != "gone" {
		t.Errorf("a completed job's status in the queue = %s", got)
	}
	for _, want := range []string{"ExitCode = 3\n", "JobStatus = 4\n", "RemoteWallClockTime = 3600.0\n", "ClusterId = 1\n", "ProcId = 0\n", "ResidentSetSize = 99\n", "MemoryUsage = (ResidentSetSize + 1023) / 1024\n"} {
		if !strings.Contains(b.history(), want) {
			t.Errorf("the history lacks %q:\n%s", want, b.history())
		}
	}
	r := b.alice(hour.Add(time.Hour))
	if r.ResourcesUsed != 1 || r.Weighted.Seconds() != 3600*4+3600*2 || r.Slots.Seconds() != 3600*2+3600 {
		t.Errorf("two hours later %+v, want 6 weight-hours and 3 slot-hours", r)
	}
}

// TestGivenUp holds that a match that nobody takes up costs nothing, and that
// its slot rests for a while.
// A slot ad may call its user anything; a record has a submitter's name only.
func TestUsersFromOutside(t *testing.T) {
	b := newBench(t)
	b.update(func(tx *spool.Tx) error {
		tx.Op("advertise")
		for i, user := range []string{"carol", "da ve@example.org", `e"ve@example.org`, "@", "frank@elsewhere"} {
			slot := classad.New()
			slot.SetString("Name", fmt.Sprintf("out%d", i))
			slot.SetString("State", "Claimed")
			slot.SetString("RemoteUser", user)
			tx.PutSlot(fmt.Sprintf("out%d", i), slot)
		}
		return nil
	})
	b.negotiate(noon, nil)
	var names []string
	b.view(func(v *spool.View) {
		for _, r := range v.Submitters() {
			names = append(names, r.Name)
		}
	})
	if want := []string{"alice@example.org", "frank@elsewhere"}; !slices.Equal(names, want) {
		t.Errorf("records of %q, want %q", names, want)
	}
}

func TestGivenUp(t *testing.T) {
	b := newBench(t)
	b.negotiate(noon, nil)
	late := noon.Add(5 * time.Minute)
	if got := b.negotiate(late, nil); len(got) != 0 {
		t.Errorf("matches right after giving up = %v, want none: both slots rest", got)
	}
	r := b.alice(late)
	if r.ResourcesUsed != 0 || r.InUse != 0 || r.Weighted != (accountant.Usage{}) || math.Abs(r.Priority-0.5) > 1e-9 {
		t.Errorf("after a match given up %+v, want nothing used", r)
	}
	later := late.Add(time.Hour)
	if got := b.negotiate(later, nil); len(got) != 2 {
		t.Errorf("matches an hour later = %v, want 2", got)
	}
	if got := b.attribute(first, "NumJobMatches"); got != "2" {
		t.Errorf("NumJobMatches = %s, want 2", got)
	}
}

// TestTakenUpAfterAll holds that a match which a starter takes up while the
// cycle is about to give it up goes on, and that its slot does not rest.
func TestTakenUpAfterAll(t *testing.T) {
	b := newBench(t)
	b.negotiate(noon, nil)
	late := noon.Add(5 * time.Minute)
	b.negotiate(late, func(tx *spool.Tx) error { return Begin(tx, first, 1, late, 1, "", params) })
	b.view(func(v *spool.View) {
		if c, _ := v.Claim(first); c.State != pool.RunningClaim {
			t.Errorf("the claim is %v, want Running", c.State)
		}
		for _, rest := range v.Backoffs() {
			if rest.Slot == "slot1@here" {
				t.Errorf("its slot is left alone until %v", rest.Until)
			}
		}
	})
}

// TestDamagedSpoolIsNotGone holds that a spool that cannot be read is not taken
// for one from which the claim has gone: a supervisor would forget its job.
func TestDamagedSpoolIsNotGone(t *testing.T) {
	b := newBench(t)
	b.negotiate(noon, nil)
	b.update(func(tx *spool.Tx) error { return Begin(tx, first, 1, noon, 4711, "", params) })
	journal := filepath.Join(b.dir, "journal.1")
	text, err := os.ReadFile(journal)
	testenv.OK(t, err)
	text[100] ^= 4
	testenv.OK(t, os.WriteFile(journal, text, 0o600))
	s, err := spool.Open(b.dir, spool.Options{Program: "test", UIDDomain: "example.org"})
	testenv.OK(t, err)
	err = s.Update(func(tx *spool.Tx) error { return Finish(tx, first, 1, noon, pool.Ending{}, params) })
	var damage *spool.DamageError
	if !errors.As(err, &damage) {
		t.Errorf("Finish on a damaged spool = %v, want where it is damaged", err)
	}
}

// TestMeanwhile holds that what changed under a cycle is left to the next.
func TestMeanwhile(t *testing.T) {
	for _, c := range []struct {
		name    string
		between func(tx *spool.Tx) error
		want    int
	}{
		{"nothing", func(*spool.Tx) error { return nil }, 2},
		{"priority of a job", func(tx *spool.Tx) error {
			tx.Op("x")
			tx.Set(first, "JobPrio", classad.Literal(classad.Int(9)))
			return nil
		}, 1},
		{"a job is gone", func(tx *spool.Tx) error {
			tx.Op("x")
			_, err := Remove(tx, first, "x", noon, params)
			return err
		}, 1},
		{"a slot's ad", func(tx *spool.Tx) error {
			tx.Op("x")
			s, _ := tx.Advertised("slot1@here")
			ad := s.Ad.Clone()
			ad.SetBool("Requirements", false)
			tx.PutSlot("slot1@here", ad)
			return nil
		}, 1},
		{"a slot is withdrawn", func(tx *spool.Tx) error {
			tx.Op("x")
			tx.DropSlot("slot1@here")
			return nil
		}, 1},
		{"a slot is taken", func(tx *spool.Tx) error {
			tx.Op("x")
			tx.PutClaim(pool.Claim{Job: pool.JobID{Cluster: 1, Proc: 3}, Attempt: 1, Slot: "slot2@here", Submitter: "b@x", State: pool.Matched, MatchedAt: noon})
			return nil
		}, 1},
	} {
		b := newBench(t)
		if got := b.negotiate(noon, c.between); len(got) != c.want {
			t.Errorf("%s in between: %d matches, want %d", c.name, len(got), c.want)
		}
	}
}

// TestRemove is the table of the package page for qdel.
func TestRemove(t *testing.T) {
	b := newBench(t)
	b.negotiate(noon, nil)
	second := pool.JobID{Cluster: 1, Proc: 1}
	b.update(func(tx *spool.Tx) error { return Begin(tx, first, 1, noon, 4711, "", params) })
	remove := func(id pool.JobID) (o Outcome) {
		b.update(func(tx *spool.Tx) (err error) {
			tx.Op("remove")
			o, err = Remove(tx, id, "by alice", noon.Add(time.Minute), params)
			return err
		})
		return o
	}
	for _, c := range []struct {
		name   string
		id     pool.JobID
		want   Outcome
		status string
		inUse  accountant.Weight
	}{
		{"idle", pool.JobID{Cluster: 1, Proc: 2}, RemovedNow, "gone", 4 * accountant.One},
		{"matched", second, RemovedNow, "gone", 2 * accountant.One},
		{"running", first, Marked, "3", 0},
		{"vacating", first, Already, "3", 0},
	} {
		if got := remove(c.id); got != c.want {
			t.Errorf("%s: Remove = %v, want %v", c.name, got, c.want)
		}
		if got := b.attribute(c.id, "JobStatus"); got != c.status {
			t.Errorf("%s: status afterwards = %s, want %s", c.name, got, c.status)
		}
		if got := b.alice(noon.Add(time.Minute)).InUse; got != c.inUse {
			t.Errorf("%s: in use afterwards = %v, want %v", c.name, got, c.inUse)
		}
	}
	// A minute of one slot counts; the match given back does not.
	b.update(func(tx *spool.Tx) error {
		return Finish(tx, first, 1, noon.Add(time.Hour), pool.Ending{Signal: 15}, params)
	})
	if r := b.alice(noon.Add(2 * time.Hour)); r.Weighted.Seconds() != 120 {
		t.Errorf("usage = %v weight-seconds, want 120", r.Weighted.Seconds())
	}
	if got := strings.Count(b.history(), "RemoveReason = \"by alice\"\n"); got != 3 {
		t.Errorf("%d removed jobs in the history, want 3", got)
	}
	if err := b.s.Update(func(tx *spool.Tx) error {
		_, err := Remove(tx, first, "again", noon, params)
		return err
	}); err == nil {
		t.Error("removing a job that is not there succeeded")
	}
}

// TestEndings holds what becomes of jobs that did not end by themselves.
func TestEndings(t *testing.T) {
	b := newBench(t)
	b.negotiate(noon, nil)
	second := pool.JobID{Cluster: 1, Proc: 1}
	for id, how := range map[pool.JobID]pool.Ending{first: {Lost: "the supervisor died"}, second: {StartFailed: "/bin/nothing: no such file"}} {
		b.update(func(tx *spool.Tx) error { return Begin(tx, id, 1, noon, 1, "", params) })
		b.update(func(tx *spool.Tx) error { return Finish(tx, id, 1, noon.Add(time.Minute), how, params) })
	}
	if got := b.attribute(first, "JobStatus") + b.attribute(first, "VacateReason") + b.attribute(first, "NumJobStarts"); got != `1"the supervisor died"1` {
		t.Errorf("status, reason, starts after a lost attempt = %s", got)
	}
	if got := b.attribute(second, "JobStatus") + b.attribute(second, "HoldReason") + b.attribute(second, "NumJobStarts"); got != `5"/bin/nothing: no such file"0` {
		t.Errorf("status, reason, starts after a failed start = %s", got)
	}
	if got := b.attribute(first, "RemoteHost"); got != "none" {
		t.Errorf("RemoteHost of an idle job = %s", got)
	}
	if got := b.negotiate(noon.Add(2*time.Minute), nil); len(got) != 2 || got[0].Job != first || got[1].Job.Proc != 2 {
		t.Errorf("the next matches = %v, want 1.0 again and 1.2, and not the held 1.1", got)
	}
}

// TestHalfLifeChanges holds that a new half-life is an event at the first
// cycle that sees it.
func TestHalfLifeChanges(t *testing.T) {
	b := newBench(t)
	b.update(func(tx *spool.Tx) error {
		tx.Op("set")
		for _, name := range []string{"alice@example.org", "bob@example.org"} { // who has no jobs
			tx.PutSubmitter(accountant.Record{Name: name, Priority: 16, At: noon, HalfLife: 24 * time.Hour})
		}
		return nil
	})
	bob := func() (r accountant.Record) {
		b.view(func(v *spool.View) { r, _ = v.Submitter("bob@example.org") })
		return r
	}
	old := params
	defer func() { params = old }()
	params.HalfLife = time.Hour
	b.negotiate(noon.Add(24*time.Hour), nil)
	if got := b.alice(noon.Add(24 * time.Hour)).Priority; math.Abs(got-8) > 1e-9 {
		t.Errorf("RUP a day later = %v, want 8: the old half-life held until then", got)
	}
	changed := bob()
	if want := noon.Add(24 * time.Hour); !changed.At.Equal(want) || changed.HalfLife != time.Hour || math.Abs(changed.Priority-8) > 1e-9 {
		t.Errorf("bob a day later = %+v, want a RUP of 8 and an hour's half-life from %v on", changed, want)
	}
	b.negotiate(noon.Add(25*time.Hour), nil)
	if got := bob(); got != changed {
		t.Errorf("bob after a cycle that changes nothing = %+v, want %+v", got, changed)
	}
}
