package lifecycle

import (
	"strings"
	"testing"
	"time"

	"fairspool/lib/accountant"
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

// account does one thing at a time.
func (b bench) account(at accountant.Reading, fn func(tx *spool.Tx) error) {
	b.t.Helper()
	if err := Account(b.s, at, fn); err != nil {
		b.t.Fatal(err)
	}
}

// cycle is one without anything to match, at a time of a machine, which may be ahead of the
// pool's.
func (b bench) cycle(at, machine accountant.Reading) {
	b.t.Helper()
	var seen Snapshot
	b.view(func(v *spool.View) { seen = TakeSnapshot(v, "example.org", nil, policy.Beside{}) })
	b.account(at, func(tx *spool.Tx) error {
		Match(tx, &negotiator.Plan{}, seen, at.Now, params)
		FollowClock(tx, machine)
		return nil
	})
}

// charge matches the first job to a slot of weight 2, and has it run.
func (b bench) charge(at accountant.Reading) {
	b.t.Helper()
	b.account(at, func(tx *spool.Tx) error {
		ad, _ := tx.Job(first)
		c := pool.Claim{
			Job: first, Attempt: 1, Slot: "slot1@here", Machine: "here", Submitter: "alice@example.org",
			State: pool.Matched, Weight: 2 * accountant.One, By: credentials(ad, params),
		}
		c.MatchedAt = BeginCharge(tx, c, at.Now, params)
		tx.PutClaim(c)
		return Begin(tx, first, 1, at.Now, 4711, "", params)
	})
}

// clock returns the mark of the clock.
func (b bench) clock() (text string) {
	b.t.Helper()
	b.view(func(v *spool.View) { text = v.Mark(accountant.ClockMark) })
	return text
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
			b.cycle(at, at)
		}
		before, ran := b.seq(), false
		err := Account(b.s, c.at, func(*spool.Tx) error { ran = true; return nil })
		if ran != c.runs || (err == nil) != c.runs || !c.runs && b.seq() != before {
			t.Errorf("%s: Account = %v, ran %v, want %v", c.name, err, ran, c.runs)
		}
	}
}

const hour, year = time.Hour, 365 * 24 * time.Hour

// TestClockIsKept holds which clock a spool keeps: from its first cycle on the machine's, after a
// boot that of the new boot, and none while times are the user's own.
func TestClockIsKept(t *testing.T) {
	b := newBench(t)
	want := func(when, mark string) {
		t.Helper()
		if got := b.clock(); got != mark {
			t.Errorf("%s the mark is %q, want %q", when, got, mark)
		}
	}
	m := machine{boot: "b", booted: noon}
	cycle := func(at accountant.Reading) { t.Helper(); b.cycle(at, at) }
	b.account(m.at(noon), func(*spool.Tx) error { return nil })
	want("before the first cycle", "")
	cycle(m.at(noon))
	kept := m.at(noon).Clock.String()
	want("after the first cycle", kept)
	before := b.seq()
	if cycle(m.at(noon.Add(time.Minute))); b.seq() != before {
		t.Errorf("a cycle without news wrote transaction %d", b.seq())
	}
	booted := machine{boot: "c", booted: noon}
	b.account(booted.at(noon.Add(hour)), func(*spool.Tx) error { return nil })
	want("after a boot", booted.at(noon).Clock.String())
	b.charge(accountant.Reading{Now: noon.Add(year)})
	want("with times of the user's own", ownTimes)
	cycle(m.at(noon.Add(hour)))
	want("before the last event", ownTimes)
	b.view(func(v *spool.View) {
		if got, want := Late(v.Submitters(), noon.Add(year-hour)), "now is 1:00:00 before the last event; the time of the last event is used"; got != want {
			t.Errorf("Late = %q, want %q", got, want)
		}
		if got := Late(v.Submitters(), noon.Add(year)); got != "" {
			t.Errorf("Late = %q at the last event, want nothing", got)
		}
	})
	cycle(m.at(noon.Add(2 * year)))
	want("after the last event", kept)
	b.update(func(tx *spool.Tx) error { tx.Op("test"); tx.PutMark(accountant.ClockMark, "half past"); return nil })
	cycle(m.at(noon.Add(2 * year)))
	want("after one that makes no sense", kept)
}

// TestFollowClock holds when a machine's clock that was set is followed: while nothing is charged,
// and never to before the last event.
func TestFollowClock(t *testing.T) {
	running := func(b bench, at accountant.Reading) { b.charge(at) }
	ended := func(b bench, at accountant.Reading) {
		b.charge(at)
		b.account(at, func(tx *spool.Tx) error { return Finish(tx, first, 1, at.Now, pool.Ending{}, params) })
	}
	charged := func(b bench, at accountant.Reading) {
		b.account(at, func(tx *spool.Tx) error {
			tx.Op("test")
			tx.PutSubmitter(accountant.Record{Name: "alice@example.org"}.Start(at.Now, accountant.One, params))
			return nil
		})
	}
	for _, c := range []struct {
		name     string
		happens  func(b bench, at accountant.Reading) // an hour before the cycle
		set      time.Duration
		followed bool
	}{
		{"ahead, at rest", ended, 10 * year, true},
		{"back, at rest", ended, -hour / 2, true},
		{"back to before the last event", ended, -2 * hour, false},
		{"by half a second", ended, time.Second / 2, false},
		{"ahead, with a job", running, hour, false},
		{"back, with a job", running, -hour / 2, false},
		{"ahead, with a charge alone", charged, hour, false},
	} {
		b := newBench(t)
		m := machine{boot: "b", booted: noon.Add(-hour)}
		b.cycle(m.at(noon), m.at(noon))
		c.happens(b, m.at(noon))
		set := m
		set.off += c.set
		want := m.at(noon).Clock
		if c.followed {
			want = set.at(noon).Clock
		}
		b.cycle(m.at(noon.Add(hour)), set.at(noon.Add(hour)))
		if got := b.clock(); got != want.String() {
			t.Errorf("%s: the mark is %q, want %q", c.name, got, want)
		}
	}
}

// TestClockSetIsTold holds that a clock that was set by a minute or more is told of, and none
// where the time is the user's own.
func TestClockSetIsTold(t *testing.T) {
	at := machine{boot: "b", booted: noon.Add(-hour)}.at(noon)
	for _, c := range []struct {
		at   accountant.Reading
		by   time.Duration
		want string
	}{
		{at, time.Minute - 1, ""}, {at, hour, "set ahead by 1:00:00 "}, {at, -time.Minute, "set back by 0:01:00 "},
		{accountant.Reading{Now: noon}, hour, ""},
	} {
		if got := ClockSet(c.at, noon.Add(c.by)); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("ClockSet %v later = %q, want %q", c.by, got, c.want)
		}
	}
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
