package operation

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/negotiator"
	"fairspool/lib/policy"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// machine is one whose clock can be set.
type machine struct {
	boot   string
	off    time.Duration // what its clock is ahead of the true time
	booted time.Time     // by the true time
}

// at returns what its clock says at the true time t.
func (m machine) at(t time.Time) accountant.Reading {
	booted := m.booted.Add(m.off)
	return accountant.Reading{Now: t.Add(m.off), Clock: accountant.Clock{Boot: m.boot, Offset: booted.Sub(time.Unix(0, 0))}}
}

// account does one thing at a time, and returns what was said of the clock.
func (b bench) account(at accountant.Reading, fn func(tx *spool.Tx) error) (said []string) {
	b.t.Helper()
	err := Account(b.s, at, func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }, fn)
	if err != nil {
		b.t.Fatal(err)
	}
	return said
}

// cycle is one without anything to match.
func (b bench) cycle(at accountant.Reading) (said []string) {
	b.t.Helper()
	var seen Snapshot
	b.view(func(v *spool.View) {
		seen = TakeSnapshot(v, "example.org", nil, policy.Beside{})
		seen.By(v, at)
	})
	return b.account(at, func(tx *spool.Tx) error {
		Match(tx, &negotiator.Plan{}, seen, at.Now, params)
		return nil
	})
}

// charge matches the first job to a slot of weight 2, and has it run.
func (b bench) charge(at accountant.Reading) {
	b.t.Helper()
	b.cycle(at)
	b.account(at, func(tx *spool.Tx) error {
		ad, _ := tx.Job(first)
		c := pool.Claim{
			Job: first, Attempt: 1, Slot: "slot1@here", Machine: "here", Submitter: "alice@example.org",
			State: pool.Matched, Weight: 2 * accountant.One, By: credentials(ad, params),
		}
		c.MatchedAt = chargeOf(c).Begin(tx, at.Now, params)
		tx.PutClaim(c)
		return Begin(tx, first, 1, at.Now, 4711, params)
	})
}

func (b bench) finish(at accountant.Reading) []string {
	b.t.Helper()
	return b.account(at, func(tx *spool.Tx) error { return Finish(tx, first, 1, at.Now, Ending{}, params) })
}

func (b bench) seq() (n uint64) {
	b.t.Helper()
	b.view(func(v *spool.View) { n = v.Seq() })
	return n
}

// TestRefuse holds that times of the user's own that are far ahead are refused in spools
// whose times are or were by the machine's clock, and change nothing.
func TestRefuse(t *testing.T) {
	own := func(ahead time.Duration) accountant.Reading {
		return accountant.Reading{Now: noon.Add(ahead), Ahead: ahead}
	}
	far, near, forced := own(6*24*hour), own(23*hour), accountant.Reading{Now: noon.Add(6 * 24 * hour)}
	real := machine{boot: "b", booted: noon.Add(-hour)}.at(noon)
	for _, c := range []struct {
		name   string
		before []accountant.Reading // of cycles
		at     accountant.Reading
		runs   bool
	}{
		{"a new spool", nil, far, true},
		{"one that is played", []accountant.Reading{own(0), own(2 * 24 * hour)}, far, true},
		{"by the clock", []accountant.Reading{real}, far, false},
		{"by the clock, then by a time that is near", []accountant.Reading{real, near}, far, false},
		{"a time that is near", []accountant.Reading{real}, near, true},
		{"forced", []accountant.Reading{real}, forced, true},
		{"the clock", []accountant.Reading{real}, real, true},
	} {
		b := newBench(t)
		for _, at := range c.before {
			b.cycle(at)
		}
		before, ran := b.seq(), false
		err := Account(b.s, c.at, func(string, ...any) {}, func(tx *spool.Tx) error { ran = true; return nil })
		if ran != c.runs || (err == nil) != c.runs || !c.runs && b.seq() != before {
			t.Errorf("%s: Account = %v, ran %v, want %v", c.name, err, ran, c.runs)
		}
	}
}

func nothing(*spool.Tx) error { return nil }

const hour, year = time.Hour, 365 * 24 * time.Hour

// TestClockSet holds that a job that runs for ten hours is charged for ten,
// however the clock is set meanwhile, and that each setting is told once.
func TestClockSet(t *testing.T) {
	for _, c := range []struct {
		name string
		sets []time.Duration // one after each hour
		said []string
	}{
		{"never", nil, nil},
		{"back", []time.Duration{-hour}, []string{"set back by 1:00:00"}},
		{"back to before the match", []time.Duration{0, -7 * hour}, []string{"set back by 7:00:00"}},
		{"ten years ahead", []time.Duration{10 * year}, []string{"set ahead by 3650+00:00:00"}},
		{"there and back", []time.Duration{0, 10 * year, 0, -10 * year}, []string{"set ahead by 3650+00:00:00", "set back by 3650+00:00:00"}},
		{"half a second", []time.Duration{hour / 7200}, nil},
		{"half a second, three times", []time.Duration{hour / 7200, hour / 7200, hour / 7200}, []string{"set ahead by 0:00:02"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			m := machine{boot: "b", booted: noon.Add(-hour)}
			b.charge(m.at(noon))
			var said []string
			for i, by := range c.sets {
				now := noon.Add(time.Duration(i+1) * hour)
				m.off += by
				// The snapshot and the display know before it is in the spool.
				b.view(func(v *spool.View) {
					r := Submitters(v, m.at(now))[0].AsOf(m.at(now).Now, params)
					if got, want := r.Slots.Seconds(), now.Sub(noon).Seconds(); math.Abs(got-want) > 1 {
						t.Errorf("usage displayed after hour %d = %v, want %v", i+1, got, want)
					}
				})
				for range 3 {
					said = append(said, b.account(m.at(now), nothing)...)
				}
			}
			said = append(said, b.finish(m.at(noon.Add(10*hour)))...)
			if !slices.EqualFunc(said, c.said, func(got, want string) bool { return strings.Contains(got, want) }) {
				t.Errorf("said %q, want %q", said, c.said)
			}
			r := b.alice(m.at(noon.Add(34 * hour)).Now)
			off := 0.0
			if strings.HasPrefix(c.name, "half") {
				off = 1
			}
			if got := r.Slots.Seconds(); math.Abs(got-36000) > off {
				t.Errorf("slot time = %v s, want 36000", got)
			}
			if got := r.Weighted.Seconds(); math.Abs(got-72000) > 2*off {
				t.Errorf("weighted usage = %v s, want 72000", got)
			}
			plain := accountant.Record{}.Start(noon, 2*accountant.One, params).End(noon.Add(10*hour), 2*accountant.One, params)
			if want := plain.AsOf(noon.Add(34*hour), params).Priority; math.Abs(r.Priority-want) > 1e-9+1e-5*off {
				t.Errorf("RUP = %v, want %v", r.Priority, want)
			}
		})
	}
}

// TestClockSetMovesWhatElapses holds what else is told by the new clock: claims
// and slots that are left alone, but not the end of a lease.
func TestClockSetMovesWhatElapses(t *testing.T) {
	b := newBench(t)
	m := machine{boot: "b", booted: noon.Add(-hour)}
	b.charge(m.at(noon))
	second := pool.JobID{Cluster: 1, Proc: 1}
	lease := accountant.Lease{Until: noon.Add(48 * hour), Before: 3}
	b.account(m.at(noon), func(tx *spool.Tx) error {
		tx.Op("test")
		tx.PutBackoff(pool.Backoff{Slot: "slot9", Failures: 1, Until: noon.Add(10 * time.Minute)})
		c := pool.Claim{Job: second, Attempt: 1, Slot: "slot2@here", Submitter: "alice@example.org", State: pool.Matched, Weight: accountant.One}
		c.MatchedAt = chargeOf(c).Begin(tx, noon, params)
		c.ChargedSince, c.MatchedAt = c.MatchedAt, noon.Add(time.Second)
		tx.PutClaim(c)
		r, _ := tx.Submitter("alice@example.org")
		r.Factor, r.FactorLease = 9, lease
		tx.PutSubmitter(r)
		return nil
	})
	m.off = -24 * hour
	minute := m.at(noon.Add(time.Minute))
	var plain, told Snapshot
	b.view(func(v *spool.View) {
		with := policy.Beside{Running: true}
		plain, told = TakeSnapshot(v, "example.org", nil, with), TakeSnapshot(v, "example.org", nil, with)
		told.By(v, minute)
	})
	b.account(minute, func(tx *spool.Tx) error {
		tx.Op("test")
		c, _ := tx.Claim(second)
		if !GiveUp(tx, c, minute.Now, params) {
			t.Error("the match was not given up")
		}
		return nil
	})
	b.view(func(v *spool.View) {
		c, _ := v.Claim(first)
		if want := noon.Add(m.off); !c.MatchedAt.Equal(want) || !c.StartedAt.Equal(want) || !c.VacateSince.IsZero() {
			t.Errorf("the claim is %+v, want it matched and started at %v", c, want)
		}
		if got, want := v.Backoffs()[0].Until, noon.Add(m.off+10*time.Minute); !got.Equal(want) {
			t.Errorf("the slot is left alone until %v, want %v", got, want)
		}
		if r, _ := v.Submitter("alice@example.org"); !r.FactorLease.Until.Equal(lease.Until) {
			t.Errorf("the lease is %v, want %v", r.FactorLease, lease)
		}
	})
	for i := range told.Pool.Claims {
		if got, want := told.Pool.Claims[i].MatchedAt, plain.Pool.Claims[i].MatchedAt.Add(m.off); !got.Equal(want) {
			t.Errorf("the snapshot has a match at %v, want %v", got, want)
		}
		if got, want := told.Pool.Claims[i].ChargedFrom(), noon.Add(m.off); !got.Equal(want) {
			t.Errorf("the snapshot has a charge from %v, want %v", got, want)
		}
		if got, want := told.Pool.Running[i].Started, plain.Pool.Running[i].Started.Add(m.off); !got.Equal(want) {
			t.Errorf("the snapshot has a job that runs since %v, want %v", got, want)
		}
	}
	if got, want := told.Pool.Backoffs[0].Until, plain.Pool.Backoffs[0].Until.Add(m.off); !got.Equal(want) {
		t.Errorf("the snapshot leaves a slot alone until %v, want %v", got, want)
	}
	// Of the match given up nothing is left, of the other its minute.
	if r := b.alice(minute.Now); r.Slots.Seconds() != 60 || r.Weighted.Seconds() != 120 {
		t.Errorf("usage = %v s, weighted %v s, want 60 and 120", r.Slots.Seconds(), r.Weighted.Seconds())
	}
}

// TestClockOfAnotherBoot holds that no usage comes from, and none is lost to, a
// clock that is behind after a boot; one that is ahead says nothing.
func TestClockOfAnotherBoot(t *testing.T) {
	for _, c := range []struct {
		name  string
		off   time.Duration
		said  int
		slots float64 // an hour after the boot: the job ran for 2 hours at least
	}{
		{"behind", -3 * hour, 1, 3 * 3600},
		{"at the beginning of time", noon.Sub(time.Unix(0, 0)) * -1, 1, 3 * 3600},
		{"right", 0, 0, 4 * 3600},
	} {
		b := newBench(t)
		m := machine{boot: "b", booted: noon.Add(-hour)}
		b.charge(m.at(noon))
		b.account(m.at(noon.Add(2*hour)), func(tx *spool.Tx) error { // the last event
			tx.Op("test")
			r, _ := tx.Submitter("bob@example.org")
			tx.PutSubmitter(r.Settle(noon.Add(2*hour), params))
			return nil
		})
		m = machine{boot: "c", off: c.off, booted: noon.Add(3 * hour)}
		said := b.account(m.at(noon.Add(3*hour)), nothing)
		said = append(said, b.finish(m.at(noon.Add(4*hour)))...)
		if len(said) != c.said {
			t.Errorf("%s: said %q, want %d lines", c.name, said, c.said)
		}
		if got := b.alice(m.at(noon.Add(5 * hour)).Now).Slots.Seconds(); got != c.slots {
			t.Errorf("%s: slot time = %v s, want %v", c.name, got, c.slots)
		}
		// Put right later, it does not matter any more.
		m.off = 0
		b.account(m.at(noon.Add(6*hour)), nothing)
		if got := b.alice(noon.Add(7 * hour)).Slots.Seconds(); got != c.slots {
			t.Errorf("%s, then put right: slot time = %v s, want %v", c.name, got, c.slots)
		}
	}
}

// TestTimesOfTheUsersOwn holds that times given by hand are neither compared with
// the machine's clock, nor moved by it later.
func TestTimesOfTheUsersOwn(t *testing.T) {
	b := newBench(t)
	m := machine{boot: "b", booted: noon}
	mark := func() (text string) {
		b.view(func(v *spool.View) { text = v.Mark(clockMark) })
		return text
	}
	b.account(m.at(noon), nothing)
	if mark() != "" {
		t.Errorf("the mark is %q before the first cycle, want none", mark())
	}
	b.cycle(m.at(noon))
	if want := m.at(noon).Clock.String(); mark() != want {
		t.Errorf("the mark is %q, want %q", mark(), want)
	}
	before := b.seq()
	if b.cycle(m.at(noon.Add(time.Minute))); b.seq() != before {
		t.Errorf("a cycle without news wrote transaction %d", b.seq())
	}
	b.charge(accountant.Reading{Now: noon.Add(year)})
	if mark() != ownTimes {
		t.Errorf("the mark is %q, want %q: there are times of the user's own", mark(), ownTimes)
	}
	m.off = -hour
	if said := b.cycle(m.at(noon.Add(hour))); len(said) != 0 || mark() != ownTimes {
		t.Errorf("said %q, mark %q, want nothing", said, mark())
	}
	m.boot = "c"
	if said := b.cycle(m.at(noon.Add(hour))); len(said) != 0 || mark() != ownTimes {
		t.Errorf("said %q, mark %q after a boot, want nothing", said, mark())
	}
	b.view(func(v *spool.View) {
		if got, want := Late(v.Submitters(), noon.Add(year-hour)), "now is 1:00:00 before the last event; this counts as of then"; got != want {
			t.Errorf("Late = %q, want %q", got, want)
		}
		if got := Late(v.Submitters(), noon.Add(year)); got != "" {
			t.Errorf("Late = %q at the last event, want nothing", got)
		}
	})
	if said := b.cycle(m.at(noon.Add(2 * year))); len(said) != 0 || mark() != m.at(noon).Clock.String() {
		t.Errorf("said %q, mark %q after that time, want the clock's", said, mark())
	}
}

// TestMarkThatDoesNotRead holds that a mark that makes no sense is as good as
// none.
func TestMarkThatDoesNotRead(t *testing.T) {
	b := newBench(t)
	m := machine{boot: "b", booted: noon}
	b.update(func(tx *spool.Tx) error {
		tx.Op("test")
		tx.PutMark(clockMark, "half past")
		return nil
	})
	for range 2 {
		if said := b.cycle(m.at(noon)); len(said) != 0 {
			t.Errorf("said %q, want nothing", said)
		}
	}
	b.view(func(v *spool.View) {
		if got, want := v.Mark(clockMark), m.at(noon).Clock.String(); got != want {
			t.Errorf("the mark is %q, want %q", got, want)
		}
	})
}

// TestAccountFails holds that a setting of the clock is in the spool even though
// what found it could not be done.
func TestAccountFails(t *testing.T) {
	b := newBench(t)
	m := machine{boot: "b", booted: noon}
	b.charge(m.at(noon))
	m.off = hour
	said := 0
	err := Account(b.s, m.at(noon.Add(hour)), func(string, ...any) { said++ }, func(tx *spool.Tx) error {
		tx.Op("test")
		tx.Set(first, "X", classad.Literal(classad.Int(1)))
		return ErrGone
	})
	if !errors.Is(err, ErrGone) || said != 1 {
		t.Errorf("Account = %v, %d lines, want ErrGone and 1", err, said)
	}
	if got := b.attribute(first, "X"); got != "none" {
		t.Errorf("X = %s, want none", got)
	}
	var last spool.Logged
	if err := b.s.Log(func(l spool.Logged) error { last = l; return nil }); err != nil {
		t.Fatal(err)
	}
	want := accountant.Jump{By: time.Hour, Since: noon}
	args := []string{"+1:00:00", "--", "3600000", strconv.FormatInt(noon.UnixMilli(), 10)}
	if last.Op != "set clock" || !slices.Equal(last.Args, args) || JumpOf(last.Transaction) != want {
		t.Errorf("the last transaction is %s %q, a jump %v, want set clock %q, %v", last.Op, last.Args, JumpOf(last.Transaction), args, want)
	}
}

// Who only looks sees tallies told by the clock as it is now.
func TestTalliesByTheClock(t *testing.T) {
	b := newBench(t)
	b.update(func(tx *spool.Tx) error {
		tx.Op("x")
		tx.PutMark(clockMark, accountant.Clock{Boot: "b"}.String())
		tx.PutTally(accountant.Tally{Key: accountant.Key{Kind: accountant.KindOwn, Name: "alice"}, At: noon})
		return nil
	})
	b.view(func(v *spool.View) {
		for boot, want := range map[string]time.Time{"b": noon.Add(time.Hour), "": noon} {
			at := accountant.Reading{Now: noon.Add(time.Hour), Clock: accountant.Clock{Boot: boot, Offset: time.Hour}}
			if got := Tallies(v, at)[0].At; !got.Equal(want) {
				t.Errorf("by the clock of boot %q the tally is as of %v, want %v", boot, got, want)
			}
		}
	})
}

// TestRenamingText checks which names in a text are those of the domain.
func TestRenamingText(t *testing.T) {
	d := Renaming{"vm", "example.org"}
	for text, want := range map[string]string{
		`[ Name = "alice@vm"; Factor = 2 ]`: `[ Name = "alice@example.org"; Factor = 2 ]`,
		`a.b@vm uses 1, not c@vm.`:          `a.b@example.org uses 1, not c@example.org.`,
		`a@vm`:                              `a@example.org`,
		`a@vm.org b@vmx c@vm-1 slot1@vm2`:   `a@vm.org b@vmx c@vm-1 slot1@vm2`,
	} {
		if got := d.Text(text); got != want {
			t.Errorf("Text(%s) = %s, want %s", text, got, want)
		}
	}
	for name, want := range map[string]string{"g.a@vm": "g.a@example.org", "<none>": "<none>", "a@x.vm": "a@x.vm"} {
		if got := d.Name(name); got != want {
			t.Errorf("Name(%s) = %s, want %s", name, got, want)
		}
	}
}
