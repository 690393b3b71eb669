package lifecycle

import (
	"errors"
	"testing"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/negotiator"
	"fairspool/lib/policy"
	"fairspool/lib/pool"
	"fairspool/spool"
)

var (
	bobs   = pool.JobID{Cluster: 2, Proc: 0}
	anHour = noon.Add(time.Hour)
)

// newContended is a bench on which 1.0 of alice runs on slot1@here since noon, 2.0 and
// 2.1 of bob wait, and carol holds slot9@out from outside.
func newContended(t *testing.T) bench {
	t.Helper()
	b := newBench(t)
	b.update(func(tx *spool.Tx) error {
		tx.Op("submit")
		ad := classad.New()
		ad.SetString("Owner", "bob")
		ad.SetInt("JobStatus", 1)
		tx.AddCluster(ad, []spool.NewRun{{Count: 2}})
		return advertiseOutside(tx, "Claimed")
	})
	b.apply(noon, &negotiator.Plan{Matches: []negotiator.Match{{Job: first, Submitter: "alice@example.org", Slot: "slot1@here", Weight: accountant.One, Rank: 1}}})
	b.update(func(tx *spool.Tx) error { return Begin(tx, first, 1, noon, 4711, "", params) })
	return b
}

func advertiseOutside(tx *spool.Tx, state string) error {
	slot := classad.New()
	slot.SetString("Name", "slot9@out")
	slot.SetString("State", state)
	if state == "Claimed" {
		slot.SetString("RemoteUser", "carol@elsewhere")
	}
	tx.PutSlot("slot9@out", slot)
	return nil
}

// apply applies a plan to what is there, with something in between, and returns how
// many matches came about.
func (b bench) apply(at time.Time, plan *negotiator.Plan, between ...func(*spool.Tx) error) (made int) {
	b.t.Helper()
	var seen Snapshot
	b.view(func(v *spool.View) { seen = TakeSnapshot(v, b.s.Domain(), nil, policy.Beside{}) })
	for _, fn := range between {
		b.update(fn)
	}
	b.update(func(tx *spool.Tx) error {
		made = len(Match(tx, plan, seen, at, params))
		return nil
	})
	return made
}

// preempting is the match that gives bob what alice's job has.
func preempting() negotiator.Match {
	return negotiator.Match{
		Job: bobs, Submitter: "bob@example.org", Slot: "slot1@here", Weight: accountant.One, Rank: 2, Reason: negotiator.PriorityPreemption,
		Preempts: &negotiator.Preempted{Job: first, Attempt: 1, Submitter: "alice@example.org", Weight: accountant.One},
	}
}

// fromOutside is the match that gives bob what carol holds.
func fromOutside() negotiator.Match {
	m := preempting()
	m.Slot, m.Weight = "slot9@out", 2*accountant.One
	m.Preempts = &negotiator.Preempted{Submitter: "carol@elsewhere", Weight: 3 * accountant.One}
	return m
}

// outsidePlan is a plan with what carol was seen to hold, this one slot and another.
func outsidePlan(matches ...negotiator.Match) *negotiator.Plan {
	return &negotiator.Plan{
		Submitters: []negotiator.Share{{Name: "carol@elsewhere"}},
		Outside:    map[string]negotiator.Holding{"carol@elsewhere": {Slots: 2, Weight: 5 * accountant.One}}, Matches: matches,
	}
}

func (b bench) preempt() {
	b.t.Helper()
	if n := b.apply(anHour, &negotiator.Plan{Matches: []negotiator.Match{preempting()}}); n != 1 {
		b.t.Fatalf("%d matches, want the one that preempts", n)
	}
}

func (b bench) ends(at time.Time, how pool.Ending) {
	b.t.Helper()
	b.update(func(tx *spool.Tx) error { return Finish(tx, first, 1, at, how, params) })
}

func (b bench) claim(id pool.JobID) (c pool.Claim) {
	b.t.Helper()
	b.view(func(v *spool.View) { c, _ = v.Claim(id) })
	return c
}

// charged holds that a submitter uses so much now and has used so many weight-seconds.
func (b bench) isCharged(what, who string, at time.Time, inUse accountant.Weight, used float64) {
	b.t.Helper()
	b.view(func(v *spool.View) {
		r, _ := v.Submitter(who)
		if r = r.AsOf(at, params); r.InUse != inUse || r.Weighted.Seconds() != used {
			b.t.Errorf("%s: %s uses %v and has used %v weight-seconds, want %v and %v", what, who, r.InUse, r.Weighted.Seconds(), inUse, used)
		}
	})
}

// TestPreempted follows two jobs and a slot that goes from one to the other: each
// moment is charged to one of them.
func TestPreempted(t *testing.T) {
	b := newContended(t)
	b.preempt()
	why := "preempted for job 2.0 of bob@example.org: better priority"
	if c := b.claim(first); c.State != pool.Vacating || !c.VacateSince.Equal(anHour) || c.VacateReason != why || c.PromisedTo != bobs {
		t.Errorf("the holder's claim is %+v, want it Vacating since %v for %v: %s", c, anHour, bobs, why)
	}
	if c := b.claim(bobs); c.State != pool.Promised || c.Attempt != 1 || c.Rank != 2 || c.Machine != "here" || b.attribute(bobs, "NumJobMatches") != "1" {
		t.Errorf("the new claim is %+v, want the first attempt Promised on here", c)
	}
	gone := anHour.Add(10 * time.Minute)
	b.isCharged("while it vacates", "alice@example.org", gone, 0, 3600)
	b.isCharged("while it vacates", "bob@example.org", gone, accountant.One, 600)
	begin := func(at time.Time) error {
		return b.s.Update(func(tx *spool.Tx) error { return Begin(tx, bobs, 1, at, 1, "", params) })
	}
	if err := begin(gone); !errors.Is(err, pool.ErrGone) {
		t.Errorf("Begin of a promise = %v, want ErrGone", err)
	}
	if err := b.s.Update(func(tx *spool.Tx) error { return Finish(tx, bobs, 1, gone, pool.Ending{}, params) }); !errors.Is(err, pool.ErrGone) {
		t.Errorf("Finish of a promise = %v, want ErrGone", err)
	}
	b.ends(gone, pool.Ending{Lost: why, Recorded: gone.Add(time.Second)})
	for name, want := range map[string]string{
		"JobStatus": "1", "VacateReason": `"` + why + `"`, "LastVacateTime": "1767359400", "NumJobStarts": "1", "LastRemoteHost": `"slot1@here"`, "RemoteHost": "none",
	} {
		if got := b.attribute(first, name); got != want {
			t.Errorf("%s of the preempted job = %s, want %s", name, got, want)
		}
	}
	if c := b.claim(bobs); c.State != pool.Matched || !c.MatchedAt.Equal(gone.Add(time.Second)) || !c.ChargedFrom().Equal(anHour) {
		t.Errorf("the promise is %+v, want it Matched at %v and charged from %v", c, gone.Add(time.Second), anHour)
	}
	if err := begin(gone.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	end := anHour.Add(time.Hour)
	b.update(func(tx *spool.Tx) error { return Finish(tx, bobs, 1, end, pool.Ending{}, params) })
	b.isCharged("at the end", "alice@example.org", end, 0, 3600)
	b.isCharged("at the end", "bob@example.org", end, 0, 3600)
}

// What changed since the cycle looked keeps a job from being preempted.
func TestPreemptionDropped(t *testing.T) {
	for what, between := range map[string]func(*spool.Tx) error{
		"the holder ended": func(tx *spool.Tx) error { return Finish(tx, first, 1, anHour, pool.Ending{}, params) },
		"the holder was removed": func(tx *spool.Tx) error {
			_, err := Remove(tx, first, "", anHour, params)
			return err
		},
		"the slot's ad changed": func(tx *spool.Tx) error {
			slot, _ := tx.Advertised("slot1@here")
			ad := slot.Ad.Clone()
			ad.SetInt("Cpus", 7)
			tx.PutSlot("slot1@here", ad)
			return nil
		},
		"the slot was withdrawn": func(tx *spool.Tx) error { tx.DropSlot("slot1@here"); return nil },
		"the holder is of another attempt": func(tx *spool.Tx) error {
			c, _ := tx.Claim(first)
			c.Attempt++
			tx.PutClaim(c)
			return nil
		},
		"the holder went elsewhere": func(tx *spool.Tx) error {
			c, _ := tx.Claim(first)
			c.Slot = "slot2@here"
			tx.PutClaim(c)
			return nil
		},
		"the job left": func(tx *spool.Tx) error { _, err := Remove(tx, bobs, "", anHour, params); return err },
		"the job is held": func(tx *spool.Tx) error {
			job{tx, bobs, classad.New()}.set(pool.AttrJobStatus, classad.Int(int64(pool.Held)))
			return nil
		},
	} {
		b := newContended(t)
		var before pool.Claim
		named := func(tx *spool.Tx) error {
			tx.Op("between")
			err := between(tx)
			before, _ = tx.Claim(first)
			before.Seq = 0
			return err
		}
		if n := b.apply(anHour, &negotiator.Plan{Matches: []negotiator.Match{preempting()}}, named); n != 0 {
			t.Errorf("%s: %d matches, want none", what, n)
		}
		if got := b.claim(bobs); got != (pool.Claim{}) {
			t.Errorf("%s: bob's claim is %+v, want none", what, got)
		}
		after := b.claim(first)
		if after.Seq = 0; after != before {
			t.Errorf("%s: alice's claim is %+v, want %+v as before", what, after, before)
		}
	}
}

// A slot is promised once, and nothing else gets it meanwhile.
func TestPromisedOnce(t *testing.T) {
	b := newContended(t)
	again := preempting()
	again.Job.Proc = 1
	if n := b.apply(anHour, &negotiator.Plan{Matches: []negotiator.Match{preempting(), again}}); n != 1 {
		t.Errorf("two matches that preempt one job: %d made, want 1", n)
	}
	if n := b.apply(anHour, outsidePlan(fromOutsideTo(1), fromOutsideTo(1))); n != 1 {
		t.Errorf("two matches with a slot held outside: %d made, want 1", n)
	}
	plain := negotiator.Match{Job: pool.JobID{Cluster: 1, Proc: 3}, Submitter: "alice@example.org", Weight: accountant.One}
	for _, slot := range []string{"slot1@here", "slot9@out"} {
		plain.Slot = slot
		if n := b.apply(anHour, &negotiator.Plan{Matches: []negotiator.Match{plain, again}}); n != 0 {
			t.Errorf("%d matches with %s, which is promised, want none", n, slot)
		}
	}
	b.view(func(v *spool.View) {
		if wrong := pool.Contradictions(v.Claims()); wrong != nil {
			t.Errorf("Contradictions = %+v, want none", wrong)
		}
	})
}

func fromOutsideTo(proc int) negotiator.Match {
	m := fromOutside()
	m.Job.Proc = proc
	return m
}

// What becomes of a promise and of the job that has to leave for it, whoever is removed
// or given up meanwhile.
func TestPromiseEnds(t *testing.T) {
	later := anHour.Add(10 * time.Minute)
	remove := func(id pool.JobID) func(b bench) {
		return func(b bench) {
			b.update(func(tx *spool.Tx) error {
				tx.Op("remove")
				_, err := Remove(tx, id, "", later, params)
				return err
			})
		}
	}
	finish := func(how pool.Ending) func(b bench) { return func(b bench) { b.ends(later, how) } }
	giveUp := func(b bench) {
		c := b.claim(bobs)
		b.update(func(tx *spool.Tx) error {
			tx.Op("give up")
			if !GiveUp(tx, c, later, params) {
				t.Errorf("GiveUp of %+v = false, want true", c)
			}
			return nil
		})
	}
	const lost = "its supervisor died"
	for _, c := range []struct {
		what        string
		steps       []func(bench)
		alice, bob  string // states of their jobs, and of the claims on them
		inUse, used accountant.Weight
	}{
		{"the promised is removed", []func(bench){remove(bobs)}, "2 Vacating", "gone", 0, 0},
		{"and its holder ends", []func(bench){remove(bobs), finish(pool.Ending{Lost: "told"})}, "1", "gone", 0, 0},
		{"the promise is given up", []func(bench){giveUp}, "2 Vacating", "1", 0, 0},
		{"and its holder ends", []func(bench){giveUp, finish(pool.Ending{Lost: "told"})}, "1", "1", 0, 0},
		{"the holder is removed", []func(bench){remove(first)}, "3 Vacating", "1 Promised", 1, 600},
		{"and ends", []func(bench){remove(first), finish(pool.Ending{Lost: "told"})}, "gone", "1 Matched", 1, 600},
		{"the holder's supervisor dies", []func(bench){finish(pool.Ending{Lost: lost})}, "1", "1 Matched", 1, 600},
		{"the holder ends by itself", []func(bench){finish(pool.Ending{})}, "gone", "1 Matched", 1, 600},
		{"the holder could not be started", []func(bench){finish(pool.Ending{StartFailed: "no such file"})}, "5", "1 Matched", 1, 600},
		{"nobody takes it up then", []func(bench){finish(pool.Ending{Lost: "told"}), giveUp}, "1", "1", 0, 0},
		{"it is removed then", []func(bench){finish(pool.Ending{Lost: "told"}), remove(bobs)}, "1", "gone", 0, 0},
	} {
		b := newContended(t)
		b.preempt()
		for _, step := range c.steps {
			step(b)
		}
		for id, want := range map[pool.JobID]string{first: c.alice, bobs: c.bob} {
			got := b.attribute(id, "JobStatus")
			if k := b.claim(id); k.State != 0 {
				got += " " + k.State.String()
			}
			if got != want {
				t.Errorf("%s: job %v is %q, want %q", c.what, id, got, want)
			}
		}
		b.isCharged(c.what, "alice@example.org", later, 0, 3600)
		b.isCharged(c.what, "bob@example.org", later, c.inUse*accountant.One, float64(c.used))
		if code := b.attribute(first, "VacateReasonCode"); c.alice == "1" && code != "1019" {
			t.Errorf("%s: VacateReasonCode = %s, want 1019, of a preemption by priority", c.what, code)
		}
	}
}

func TestRankPreemptionReason(t *testing.T) {
	m := preempting()
	m.Reason = negotiator.RankPreemption
	want := pool.Reason{Text: "preempted for job 2.0 of bob@example.org: the slot's Rank prefers it", Code: 1018}
	if got := preemptedFor(m); got != want {
		t.Errorf("preemptedFor = %+v, want %+v", got, want)
	}
}

// TestPromisedOutside follows a slot that somebody holds by its own words: the charge
// goes over at the promise, and the slot when its ad says so.
func TestPromisedOutside(t *testing.T) {
	b := newContended(t)
	b.apply(noon, outsidePlan())
	if n := b.apply(anHour, outsidePlan(fromOutside())); n != 1 {
		t.Fatalf("%d matches, want the one that preempts", n)
	}
	later := anHour.Add(10 * time.Minute)
	b.isCharged("promised", "carol@elsewhere", later, 2*accountant.One, 5*3600+2*600)
	b.isCharged("promised", "bob@example.org", later, 2*accountant.One, 2*600)
	left := &negotiator.Plan{Outside: map[string]negotiator.Holding{"carol@elsewhere": {Slots: 1, Weight: 2 * accountant.One}}, Submitters: outsidePlan().Submitters}
	b.apply(later, left)
	if c := b.claim(bobs); c.State != pool.Promised {
		t.Errorf("while carol is there the claim is %+v, want it Promised", c)
	}
	b.view(func(v *spool.View) {
		if got := Arriving(v); len(got) != 0 {
			t.Errorf("Arriving = %+v, want none", got)
		}
	})
	b.update(func(tx *spool.Tx) error { tx.Op("advertise"); return advertiseOutside(tx, "Unclaimed") })
	b.apply(later, left)
	if c := b.claim(bobs); c.State != pool.Matched || !c.MatchedAt.Equal(later) || !c.ChargedFrom().Equal(anHour) {
		t.Errorf("when carol left the claim is %+v, want it Matched at %v and charged from %v", c, later, anHour)
	}
	b.update(func(tx *spool.Tx) error { return Begin(tx, bobs, 1, later, 1, "", params) })
	end := anHour.Add(time.Hour)
	b.update(func(tx *spool.Tx) error { return Finish(tx, bobs, 1, end, pool.Ending{}, params) })
	b.isCharged("at the end", "carol@elsewhere", end, 2*accountant.One, 5*3600+2*3600)
	b.isCharged("at the end", "bob@example.org", end, 0, 2*3600)
}

// A promise of a slot that does not come free is given up, and who holds it is charged
// again; one whose slot came free before the plan is applied goes on.
func TestPromiseOutsideGivenUp(t *testing.T) {
	for _, free := range []bool{false, true} {
		b := newContended(t)
		b.apply(noon, outsidePlan())
		b.apply(anHour, outsidePlan(fromOutside()))
		later := anHour.Add(10 * time.Minute)
		plan := outsidePlan()
		plan.GiveUp = []pool.Claim{b.claim(bobs)}
		plan.Backoffs = []pool.Backoff{{Slot: "slot9@out", Failures: 1, Until: later.Add(time.Hour)}}
		b.apply(later, plan, func(tx *spool.Tx) error {
			tx.Op("between")
			if free {
				return advertiseOutside(tx, "Unclaimed")
			}
			return nil
		})
		end := later.Add(time.Hour)
		if free {
			if c := b.claim(bobs); c.State != pool.Matched {
				t.Errorf("the slot came free, and the claim is %+v, want it Matched", c)
			}
			continue
		}
		if c := b.claim(bobs); c != (pool.Claim{}) {
			t.Errorf("the slot stayed held, and the claim is %+v, want none", c)
		}
		b.isCharged("given up", "bob@example.org", end, 0, 0)
		b.isCharged("given up", "carol@elsewhere", end, 5*accountant.One, 5*3600+2*600+5*3600)
	}
}

// A hand-written ad says as well that its slot came free; one that is not there any
// more does not.
func TestArriving(t *testing.T) {
	for what, c := range map[string]struct {
		change func(*spool.Tx)
		want   int
	}{
		"held":      {func(*spool.Tx) {}, 0},
		"free":      {func(tx *spool.Tx) { advertiseOutside(tx, "Unclaimed") }, 1},
		"stateless": {func(tx *spool.Tx) { advertiseOutside(tx, "") }, 1},
		"owner":     {func(tx *spool.Tx) { advertiseOutside(tx, "Owner") }, 0},
		"vacating":  {func(tx *spool.Tx) { advertiseOutside(tx, "Preempting") }, 0},
		"withdrawn": {func(tx *spool.Tx) { tx.DropSlot("slot9@out") }, 0},
	} {
		b := newContended(t)
		b.apply(anHour, outsidePlan(fromOutside()))
		b.preemptBy(1)
		b.update(func(tx *spool.Tx) error {
			tx.Op("change")
			c.change(tx)
			if waiting := Arrive(tx, anHour); len(waiting) != c.want {
				t.Errorf("%s: Arrive = %+v, want %d claims", what, waiting, c.want)
			}
			return nil
		})
		if got := b.claim(pool.JobID{Cluster: 2, Proc: 1}).State; got != pool.Promised {
			t.Errorf("%s: who waits for a claim of ours to end is %v, want Promised", what, got)
		}
	}
}

// preemptBy gives alice's slot to another job of bob.
func (b bench) preemptBy(proc int) {
	b.t.Helper()
	m := preempting()
	m.Job.Proc = proc
	if n := b.apply(anHour, &negotiator.Plan{Matches: []negotiator.Match{m}}); n != 1 {
		b.t.Fatalf("%d matches, want the one that preempts", n)
	}
}

// TestHandOverToPromised holds that the slot of a claim that ends goes to the claim that waits for it, and to
// no other one that the promised job has by then.
func TestHandOverToPromised(t *testing.T) {
	ended := pool.Claim{Job: first, Attempt: 1, Slot: "slot1@here", Submitter: "alice@example.org", State: pool.Vacating, PromisedTo: bobs}
	for _, c := range []struct {
		name  string
		claim pool.Claim
		want  pool.ClaimState
	}{
		{"waits for it", pool.Claim{State: pool.Promised, Slot: "slot1@here"}, pool.Matched},
		{"is promised another slot", pool.Claim{State: pool.Promised, Slot: "slot2@here"}, pool.Promised},
		{"is promised a part of it", pool.Claim{State: pool.Promised, Slot: "slot1@here", Piece: pool.Piece{Of: "slot1@here"}}, pool.Promised},
		{"runs on another slot", pool.Claim{State: pool.RunningClaim, Slot: "slot2@here"}, pool.RunningClaim},
		{"leaves the slot itself", pool.Claim{State: pool.Vacating, Slot: "slot1@here"}, pool.Vacating},
	} {
		b := newContended(t)
		c.claim.Job, c.claim.Attempt, c.claim.Submitter, c.claim.MatchedAt = bobs, 1, "bob@example.org", noon
		b.update(func(tx *spool.Tx) error {
			tx.Op("test")
			tx.PutClaim(c.claim)
			handOver(tx, ended, anHour)
			return nil
		})
		b.view(func(v *spool.View) {
			got, ok := v.Claim(bobs)
			since := noon
			if c.want == pool.Matched {
				since = anHour
			}
			if !ok || got.State != c.want || !got.MatchedAt.Equal(since) {
				t.Errorf("a job that %s: %v since %v, want %v since %v", c.name, got.State, got.MatchedAt, c.want, since)
			}
		})
	}
}
