package lifecycle

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// asked adds a pilot for the machine of the bench, and returns its id.
func (b bench) asked() (id int) {
	b.update(func(tx *spool.Tx) error { id = Ask(tx, "farm", "here", "", noon).ID; return nil })
	return id
}

// greets has a pilot show itself, and returns what is refused.
func (b bench) greets(id int, instance string, unheard time.Duration) (refused error) {
	b.t.Helper()
	err := Account(b.s, accountant.Reading{}, func(tx *spool.Tx) error {
		_, err := Greet(tx, id, instance, unheard, lease, noon)
		return err
	})
	return err
}

const lease = 40 * time.Minute

// pilots returns the pilots in short: "1 Live a".
func (b bench) pilots() (text string) {
	b.view(func(v *spool.View) {
		for _, p := range spool.Pilots.All(v) {
			text += fmt.Sprintf("; %d %v %s", p.ID, p.State, p.Instance)
		}
	})
	return strings.TrimPrefix(strings.ReplaceAll(text, " ;", ";"), "; ")
}

// runs makes a claim of a job that a pilot's instance has begun.
func (b bench) runs(id pool.JobID, slot, instance string) {
	b.update(func(tx *spool.Tx) error {
		tx.Op("test")
		tx.PutClaim(pool.Claim{Job: id, Attempt: 1, Slot: slot, Machine: "Here", Submitter: "alice@example.org", State: pool.Matched, MatchedAt: noon, Weight: accountant.One})
		r, _ := tx.Submitter("alice@example.org")
		tx.PutSubmitter(r.Start(noon, accountant.One, params))
		return Begin(tx, id, 1, noon, 4711, instance, params)
	})
}

// TestAsk holds that a machine has one pilot that is to come, and that no id is used again.
func TestAsk(t *testing.T) {
	b := newBench(t)
	b.asked()
	b.update(func(tx *spool.Tx) error { Ask(tx, "farm", "there", "5e88", noon); return nil })
	if id := b.asked(); id != 3 {
		t.Errorf("the third pilot is %d", id)
	}
	if got, want := b.pilots(), "1 Void; 2 Asked; 3 Asked "; got != want {
		t.Errorf("asked again for here there are %q, want %q", got, want)
	}
	b.update(func(tx *spool.Tx) error { Void(tx, 3, "it has not come", noon); return nil })
	if id := b.asked(); id != 4 {
		t.Errorf("the fourth pilot is %d", id)
	}
	if got, want := b.pilots(), "2 Asked; 4 Asked "; got != want {
		t.Errorf("asked once more there are %q, want %q", got, want)
	}
}

// TestGreet is the table of who is let on a machine.
func TestGreet(t *testing.T) {
	for _, c := range []struct {
		name    string
		before  func(tx *spool.Tx)
		jobs    string // instances that have them
		id      int
		as      string
		unheard time.Duration
		refused string // a part of why; empty: it is not
		want    string
	}{
		{"the first", nil, "", 1, "a", -1, "", "1 Live a"},
		{"without an instance", nil, "", 1, "", -1, "names no instance", "1 Asked "},
		{"an unknown one", nil, "", 9, "a", -1, "knows no such pilot: this pilot has to end", "1 Asked "},
		{"one that is void", func(tx *spool.Tx) { Void(tx, 1, "late", noon) }, "", 1, "a", -1, "is Void (late): this pilot has to end", "1 Void "},
		{"one that has said goodbye", func(tx *spool.Tx) { Bye(tx, 1, "idle", noon, params) }, "", 1, "a", -1, "is Gone (idle): this pilot has to end", "1 Gone "},
		{"one with a token that has said goodbye", func(tx *spool.Tx) {
			Ask(tx, "farm", "here", "5e88", noon)
			Greet(tx, 2, "a", -1, lease, noon)
			Bye(tx, 2, "idle", noon, params)
		}, "", 2, "a", -1, "", "1 Void; 2 Live a"},
		{"again", live("a"), "a", 1, "a", time.Second, "", "1 Live a"},
		{"again, after long", live("a"), "a", 1, "a", 99 * time.Hour, "", "1 Live a"},
		{"again, when it leaves", func(tx *spool.Tx) { live("a")(tx); Leave(tx, 1, "idle", noon, params) }, "a", 1, "a", 0, "", "1 Leaving a"},
		{"a twin", live("a"), "a", 1, "b", 12 * time.Minute, "another pilot on here has 1 job and has not been heard of for 12 min; given up in 30: if here was restarted, slots withdraw -gone here", "1 Live a"},
		{"a twin without a word of the first", live("a"), "aa", 1, "b", -1, "another pilot on here has 2 jobs and has not been heard of", "1 Live a"},
		{"another in the margin", live("a"), "a", 1, "b", lease + time.Minute, "given up in 60 s", "1 Live a"},
		{"another after the lease", live("a"), "a", 1, "b", lease + 2*time.Minute, "", "1 Live b"},
		{"another without jobs", live("a"), "", 1, "b", time.Second, "", "1 Live b"},
		{"another beside jobs of this host", live("a"), "-", 1, "b", time.Second, "", "1 Live b"},
		{"the next one, a twin", func(tx *spool.Tx) { live("a")(tx); Ask(tx, "farm", "HERE", "", noon) }, "a", 2, "b", time.Minute, "another pilot", "1 Live a; 2 Asked "},
		{"the next one, later", func(tx *spool.Tx) { live("a")(tx); Ask(tx, "farm", "HERE", "", noon) }, "a", 2, "b", 2 * lease, "", "1 Gone a; 2 Live b"},
		{"the next one, the same", func(tx *spool.Tx) { live("a")(tx); Ask(tx, "farm", "HERE", "", noon) }, "a", 2, "a", time.Second, "", "1 Gone a; 2 Live a"},
	} {
		b := newBench(t)
		b.asked()
		if c.before != nil {
			b.update(func(tx *spool.Tx) error { c.before(tx); return nil })
		}
		for i, instance := range c.jobs {
			b.runs(proc(i), fmt.Sprintf("slot%d@here", i+1), strings.Trim(string(instance), "-"))
		}
		err := b.greets(c.id, c.as, c.unheard)
		if (err != nil) != (c.refused != "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: Greet = %v, want …%s…", c.name, err, c.refused)
		}
		if over := strings.Contains(c.refused, "has to end"); errors.Is(err, ErrPilotOver) != over {
			t.Errorf("%s: %v is ErrPilotOver: want %v", c.name, err, over)
		}
		if got := b.pilots(); got != c.want {
			t.Errorf("%s: there are %q, want %q", c.name, got, c.want)
		}
	}
}

// live makes pilot 1 Live.
func live(instance string) func(tx *spool.Tx) {
	return func(tx *spool.Tx) { Greet(tx, 1, instance, -1, lease, noon) }
}

// TestPilotsTakeMatches holds that slots are matched while the pilot of their machine is Live, and not
// otherwise, also when that changes during a cycle.
func TestPilotsTakeMatches(t *testing.T) {
	leave := func(tx *spool.Tx) error { Leave(tx, 1, "idle", noon, params); return nil }
	for _, c := range []struct {
		name            string
		before, between func(tx *spool.Tx) error
		want            int
		reason          string
	}{
		{"Asked", func(tx *spool.Tx) error { return nil }, nil, 0, "its pilot has not come yet"},
		{"Live", func(tx *spool.Tx) error { live("a")(tx); return nil }, nil, 2, ""},
		{"Live, until the cycle has looked", func(tx *spool.Tx) error { live("a")(tx); return nil }, leave, 0, "its pilot is leaving: idle"},
		{"Leaving", func(tx *spool.Tx) error { live("a")(tx); return leave(tx) }, nil, 0, "its pilot is leaving: idle"},
		{"Void", func(tx *spool.Tx) error { Void(tx, 1, "late", noon); return nil }, nil, 0, "its pilot is gone: late"},
		{"Live, and the next is Asked", func(tx *spool.Tx) error { live("a")(tx); Ask(tx, "farm", "here", "", noon); return nil }, nil, 2, ""},
		{"Void, and the next is Asked", func(tx *spool.Tx) error { Void(tx, 1, "", noon); Ask(tx, "farm", "here", "", noon); return nil }, nil, 0, "its pilot has not come yet"},
	} {
		b := newBench(t)
		b.asked()
		b.update(c.before)
		if made := b.negotiate(noon, c.between); len(made) != c.want {
			t.Errorf("%s: %d matches, want %d", c.name, len(made), c.want)
		}
		b.view(func(v *spool.View) {
			slots, _ := Slots(v)
			got, _ := slots[0].Ad.EvalString(&classad.Context{}, "DrainReason")
			if _, drained := DrainOf(v, "here"); got != c.reason || drained {
				t.Errorf("%s: the slot says %q, drained %v, want %q", c.name, got, drained, c.reason)
			}
		})
	}
}

// TestLeaveAndBye holds what is left of a machine whose pilot leaves and goes.
func TestLeaveAndBye(t *testing.T) {
	b := newBench(t)
	b.asked()
	testenv.OK(t, b.greets(1, "a", -1))
	if made := b.negotiate(noon, nil); len(made) != 2 {
		t.Fatalf("matches %v", made)
	}
	b.update(func(tx *spool.Tx) error { return Begin(tx, first, 1, noon, 4711, "a", params) })
	b.update(func(tx *spool.Tx) error { Leave(tx, 1, "full", noon, params); return nil })
	left := func() (text string) {
		b.view(func(v *spool.View) {
			slots, _ := v.Slots()
			for _, s := range slots {
				text += s.Name + " "
			}
			for _, c := range v.Claims() {
				text += fmt.Sprintf("%v %v %s ", c.Job, c.State, c.Slot)
			}
		})
		return text
	}
	if got, want := left(), "slot1@here slot2@here 1.0 Vacating slot1@here "; got != want {
		t.Errorf("Leave leaves %q, want %q", got, want)
	}
	b.view(func(v *spool.View) {
		p, _ := spool.Pilots.Get(v, 1)
		c, _ := v.Claim(first)
		if want := "its pilot " + p.Name() + " leaves: full"; p.Why != "full" || c.VacateReason != want || c.VacateCode != pool.SupervisorStopped {
			t.Errorf("the job of the pilot %+v has to leave for %q, %d, want %q", p, c.VacateReason, c.VacateCode, want)
		}
	})
	b.update(func(tx *spool.Tx) error {
		Bye(tx, 1, "idle", noon, params)
		Bye(tx, 1, "once more", noon, params)
		return nil
	})
	if got, want := left(), "slot1@here 1.0 Vacating slot1@here "; got != want {
		t.Errorf("Bye leaves %q, want %q", got, want)
	}
	b.view(func(v *spool.View) {
		if p, _ := spool.Pilots.Get(v, 1); p.Why != "full" || !p.OverAt.Equal(noon) || !EverGiven(v) {
			t.Errorf("the pilot that is gone is %+v", p)
		}
	})
	if r := b.alice(noon); r.InUse != 0 {
		t.Errorf("the job that has to leave is charged: %+v", r)
	}
}

// TestBeginAgain holds that an instance may ask twice whether it may begin, and no other may.
func TestBeginAgain(t *testing.T) {
	for _, c := range []struct {
		name, first, again string
		attempt            int
		vacate, gone       bool
	}{
		{"the same", "a", "a", 1, false, false},
		{"the same, which has to leave already", "a", "a", 1, true, false},
		{"another", "a", "b", 1, false, true},
		{"another attempt", "a", "a", 2, false, true},
		{"on this host", "", "", 1, false, true},
	} {
		b := newBench(t)
		b.runs(first, "slot1@here", c.first)
		if c.vacate {
			b.update(func(tx *spool.Tx) error {
				tx.Op("vacate")
				Vacate(tx, first, pool.Reason{Text: "x"}, noon, params)
				return nil
			})
		}
		before := b.seq()
		err := Account(b.s, accountant.Reading{}, func(tx *spool.Tx) error {
			return Begin(tx, first, c.attempt, noon.Add(time.Minute), 9, c.again, params)
		})
		if errors.Is(err, pool.ErrGone) != c.gone || err == nil == c.gone {
			t.Errorf("%s: Begin again = %v", c.name, err)
		}
		if after := b.seq(); after != before {
			t.Errorf("%s: Begin again writes transaction %d", c.name, after)
		}
		b.view(func(v *spool.View) {
			if k, _ := v.Claim(first); k.Instance != c.first || k.PID != 4711 {
				t.Errorf("%s: the claim is %+v", c.name, k)
			}
		})
	}
}

// TestUnheard is the table of the attempts that are given up.
func TestUnheard(t *testing.T) {
	for _, c := range []struct {
		name    string
		pilot   string // the instance that is Live; empty: none
		unheard time.Duration
		want    []pool.JobID
	}{
		{"in the lease", "a", lease, nil},
		{"in the margin", "a", lease + 119*time.Second, nil},
		{"after it", "a", lease + 2*time.Minute, []pool.JobID{proc(0), proc(1)}},
		{"without a sign", "a", -1, nil},
		{"after a pilot that is gone", "", lease, nil},
		{"after another pilot was let on", "b", 0, []pool.JobID{proc(0), proc(1)}},
	} {
		b := newBench(t)
		b.asked()
		b.runs(proc(0), "slot1@here", "a")
		b.runs(proc(1), "slot2@here", "a")
		b.runs(proc(2), "slot3@here", "")
		b.update(func(tx *spool.Tx) error {
			tx.Op("test")
			Vacate(tx, proc(1), pool.Reason{Text: "x"}, noon, params)
			tx.PutClaim(pool.Claim{Job: proc(3), Attempt: 1, Slot: "slot4@here", Machine: "here", State: pool.Matched})
			if c.pilot != "" {
				_, err := Greet(tx, 1, c.pilot, 2*lease, lease, noon)
				return err
			}
			return nil
		})
		b.view(func(v *spool.View) {
			var got []pool.JobID
			for _, k := range Unheard(v, func(string) (time.Duration, bool) { return c.unheard, c.unheard >= 0 }, lease) {
				got = append(got, k.Job)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%s: Unheard = %v, want %v", c.name, got, c.want)
			}
		})
	}
}

// TestGiveUpMachine holds that nothing is left of a machine that is known to be gone but what a starter
// of this host has there.
func TestGiveUpMachine(t *testing.T) {
	b := newBench(t)
	b.asked()
	testenv.OK(t, b.greets(1, "a", -1))
	b.runs(proc(0), "slot1@here", "a")
	b.runs(proc(1), "slot3@here", "")
	b.update(func(tx *spool.Tx) error {
		tx.PutClaim(pool.Claim{Job: proc(2), Attempt: 1, Slot: "slot2@here", Machine: "here", State: pool.Matched})
		ended, withdrawn, err := GiveUpMachine(tx, "HERE", "it burnt", noon.Add(time.Hour), params, func(c pool.Claim) error {
			return Finish(tx, c.Job, c.Attempt, noon.Add(time.Minute), pool.Ending{Lost: "its machine is gone", Died: true}, params)
		})
		if len(ended) != 1 || ended[0].Job != proc(0) || len(withdrawn) != 2 {
			t.Errorf("GiveUpMachine = %v, %v", ended, withdrawn)
		}
		return err
	})
	if got, want := b.pilots(), "1 Void a"; got != want {
		t.Errorf("the pilots are %q, want %q", got, want)
	}
	b.view(func(v *spool.View) {
		if claims := v.Claims(); len(claims) != 1 || claims[0].Job != proc(1) {
			t.Errorf("the claims are %v", claims)
		}
		if ad, _ := v.Job(proc(0)); pool.Status(must(t, ad, "JobStatus")) != pool.Idle || must(t, ad, "RemoteWallClockTime") != 60 {
			t.Errorf("the job whose machine is gone is %v", ad)
		}
	})
	if err := b.greets(1, "a", 0); !errors.Is(err, ErrPilotOver) {
		t.Errorf("the pilot of the machine shows itself: %v", err)
	}
}

func must(t *testing.T, ad *classad.Ad, name string) int64 {
	t.Helper()
	x, ok := ad.EvalNumber(&classad.Context{}, name)
	if !ok {
		t.Errorf("%s is missing in %v", name, ad)
	}
	return int64(x)
}

func TestSilence(t *testing.T) {
	for _, c := range []struct {
		s    Silence
		want string
		note bool
	}{
		{Silence{12 * time.Minute, lease}, "its machine has not been heard of for 12 min; given up in 30", true},
		{Silence{30 * time.Second, lease}, "its machine has not been heard of for 30 s; given up in 41 min", false},
		{Silence{41 * time.Minute, lease}, "its machine has not been heard of for 41 min; given up in 60 s", true},
		{Silence{8 * time.Second, 10 * time.Second}, "its machine has not been heard of for 8 s; given up in 32", true},
		{Silence{time.Hour, lease}, "its machine has not been heard of for 60 min; is given up now", true},
		{Silence{-1, lease}, "its machine has not been heard of", true},
	} {
		if got := c.s.String(); got != c.want || c.s.Noteworthy() != c.note {
			t.Errorf("%v is %q, noteworthy %v, want %q, %v", c.s.For, got, c.s.Noteworthy(), c.want, c.note)
		}
	}
}

// TestSilent holds that a pilot is over whose machine has no attempts and is silent for longer than the lease, unless it may
// call by itself.
func TestSilent(t *testing.T) {
	for _, c := range []struct {
		name    string
		token   string
		runs    bool
		unheard time.Duration
		want    int
	}{
		{"in the margin", "", false, Patience(lease) - time.Second, 0},
		{"after it", "", false, Patience(lease), 1},
		{"without a sign", "", false, -1, 0},
		{"with a job", "", true, Patience(lease), 0},
		{"one that calls", "token", false, Patience(lease), 0},
	} {
		b := newBench(t)
		b.update(func(tx *spool.Tx) error {
			p := Ask(tx, "farm", "here", c.token, noon)
			_, err := Greet(tx, p.ID, "a", -1, lease, noon)
			return err
		})
		if c.runs {
			b.runs(proc(0), "slot1@here", "a")
		}
		b.view(func(v *spool.View) {
			got := Silent(v, func(string) (time.Duration, bool) { return c.unheard, c.unheard >= 0 }, lease)
			if len(got) != c.want {
				t.Errorf("%s: Silent = %v, want %d", c.name, got, c.want)
			}
		})
	}
}
