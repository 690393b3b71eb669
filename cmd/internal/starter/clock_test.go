package starter

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/lib/lifecycle"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// reading returns what commands read of the machine's clock.
func reading(t *testing.T) (r accountant.Reading) {
	t.Helper()
	command := cmdline.Command{Name: "test", WithoutSpool: true, Run: func(c *cmdline.Call) error { r = c.Reading(); return nil }}
	if status := cmdline.Execute(command, nil, nil, io.Discard, io.Discard); status != 0 || !r.Clock.Known() {
		t.Fatalf("status %d, clock %v, want one that is known", status, r.Clock)
	}
	return r
}

// byTheClock runs a pass at the machine's time, and returns its complaints.
func (p *testPool) byTheClock(args ...string) string {
	p.Helper()
	c := p.command(args...)
	c.Env = append(c.Env, "FAIRSPOOL_NOW=")
	var bad bytes.Buffer
	c.Stderr = &bad
	if err := c.Run(); err != nil {
		p.Errorf("starter: %v: %s", err, bad.String())
	}
	return bad.String()
}

// date makes what is charged so since a time, by a clock.
func (p *testPool) date(id pool.JobID, since time.Time, clock accountant.Clock) {
	p.Helper()
	p.update(func(tx *spool.Tx) error {
		tx.Op("test")
		tx.PutMark("clock", clock.String())
		c, _ := tx.Claim(id)
		c.MatchedAt = since
		tx.PutClaim(c)
		r, _ := tx.Submitter(submitter)
		r.At, r.Begin, r.Last = since, since, since
		tx.PutSubmitter(r)
		return nil
	})
}

// used returns the slot time that was charged.
func (p *testPool) used() (d time.Duration) {
	p.Helper()
	if err := p.spool.View(func(v *spool.View) error {
		r, _ := v.Submitter(submitter)
		d = time.Duration(r.Slots.Millis) * time.Millisecond
		return nil
	}); err != nil {
		p.Fatal(err)
	}
	return d
}

// A job is charged for as long as it ran, even though the clock was set back while it did, and what
// the spool has of it is by the clock as it was.
func TestClockIsSetWhileAJobRuns(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	id := p.match(awaitGo)
	now, begun := reading(t), time.Now()
	// As if all of that had been when the clock was an hour ahead.
	ahead := now.Clock
	ahead.Offset += time.Hour
	p.date(id, now.Now.Add(50*time.Minute), ahead)
	if bad := p.byTheClock(); bad != "" {
		t.Errorf("starter complains %q, want nothing", bad)
	}
	for _, c := range p.claims() {
		if d := c.StartedAt.Sub(now.Now); d < time.Hour {
			t.Errorf("it was started %v after the machine's time, want an hour and more", d)
		}
	}
	p.open()
	p.noClaims()
	const rounding = time.Second
	if got, most := p.used(), 10*time.Minute+time.Since(begun); got < 10*time.Minute-rounding || got > most+rounding {
		t.Errorf("charged for %v, want 10 minutes to %v", got, most)
	}
}

// The time that the machine was off is not charged to the job that ended with
// it, whether or not the submitter got another match in the first cycle after the
// boot, before starter came to look.
func TestMachineWasOff(t *testing.T) {
	t.Parallel()
	for _, matched := range []bool{false, true} {
		t.Run(fmt.Sprint("matched again ", matched), func(t *testing.T) { machineWasOff(t, matched, time.Hour) })
	}
	t.Run("the claim's file is gone", func(t *testing.T) { machineWasOff(t, true, 0) })
	t.Run("the latest signs are lost", func(t *testing.T) { machineWasOff(t, true, time.Minute) })
}

// machineWasOff lets the machine end after an hour; signed is the time of the last sign
// of life after the start, 0 for none. Then another submitter's event shows the hour.
func machineWasOff(t *testing.T, matched bool, signed time.Duration) {
	p := newPool(t)
	id := p.match(`exit 0`)
	now := reading(t)
	booted := now.Clock.Booted()
	before := accountant.Clock{Boot: "another", Offset: 0}
	p.date(id, booted.Add(-10*time.Hour), before)
	p.update(func(tx *spool.Tx) error {
		return lifecycle.Begin(tx, id, 1, booted.Add(-10*time.Hour), 1<<30, "", params)
	})
	path := p.spool.ClaimLock("1.0.1")
	if signed < time.Hour {
		p.update(func(tx *spool.Tx) error {
			tx.Op("test")
			tx.PutSubmitter(accountant.Record{Name: "other@pool"}.Settle(booted.Add(-9*time.Hour), params))
			return nil
		})
	}
	if signed > 0 {
		testenv.OK(t, os.WriteFile(path, nil, 0o600))
		testenv.OK(t, os.Chtimes(path, time.Time{}, booted.Add(-10*time.Hour+signed)))
	}
	if matched {
		p.update(func(tx *spool.Tx) error {
			tx.Op("test")
			r, _ := tx.Submitter(submitter)
			tx.PutSubmitter(r.Start(now.Now, accountant.One, params).End(now.Now, accountant.One, params))
			return nil
		})
	}
	p.printed("starter", 0, p.byTheClock())
	p.noClaims()
	if got := p.used(); (got - time.Hour).Abs() > time.Second {
		t.Errorf("charged for %v, want 1 hour", got)
	}
}

// An attempt that began since the boot is charged until it is found lost, though its
// file is gone.
func TestFileGoneSinceTheBoot(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	id := p.match(`exit 0`)
	now := reading(t)
	began := now.Clock.Booted()
	p.date(id, began, now.Clock)
	p.update(func(tx *spool.Tx) error { return lifecycle.Begin(tx, id, 1, began, 1<<30, "", params) })
	p.byTheClock()
	p.noClaims()
	if got, want := p.used(), now.Now.Sub(began); got < want-time.Second {
		t.Errorf("charged for %v, want at least %v", got, want)
	}
}
