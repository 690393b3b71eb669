package desk

import (
	"errors"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/joblog"
	"fairspool/lib/accountant"
	"fairspool/lib/lifecycle"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// TestEndGone follows how attempts on a machine that is gone end to the job's state, its charge and its events.
func TestEndGone(t *testing.T) {
	t.Parallel()
	const why = "its machine n1 is gone"
	for _, c := range []struct {
		name   string
		before func(p *testPool, id pool.JobID)
		heard  time.Duration // after the match; negative: never
		state  string
		logged []string
	}{
		{"it ran", nil, time.Minute, "JobStatus=1 RemoteWallClockTime=60.0 LastVacateTime=1795168860", []string{"007 (001", "\t" + why + "\n", "-004 (", "-012 ("}},
		{"never heard of", nil, -1, "JobStatus=1 RemoteWallClockTime=3600.0 LastVacateTime=1795172400", []string{"007 (001"}},
		{"heard of before it began", nil, 0, "JobStatus=1 RemoteWallClockTime=undefined LastVacateTime=1795168800", []string{"007 (001"}},
		{"by a clock that was ahead", nil, 2 * time.Hour, "JobStatus=1 RemoteWallClockTime=3600.0 LastVacateTime=1795172400", []string{"007 (001"}},
		{"it was held", func(p *testPool, id pool.JobID) { p.hold(id) }, time.Minute, "JobStatus=5 RemoteWallClockTime=60.0 LastVacateTime=1795168860",
			[]string{"007 (001", "012 (001", "\theld by alice\n"}},
		{"it was removed", func(p *testPool, id pool.JobID) { p.remove(id) }, time.Minute, "gone", []string{"007 (001", "009 (001", "\tremoved by alice\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPool(t)
			id := p.match()
			p.update(func(tx *spool.Tx) error { return lifecycle.Begin(tx, id, 1, matchedAt, 4711, "a", params) })
			if c.before != nil {
				c.before(p, id)
			}
			heard := matchedAt.Add(c.heard)
			if c.heard < 0 {
				heard = time.Time{}
			}
			var events joblog.Events
			now := accountant.Reading{Now: matchedAt.Add(time.Hour)}
			end := func(tx *spool.Tx) error {
				claim, _ := tx.Claim(id)
				claim.Job, claim.Attempt = id, 1
				return EndGone(tx, claim, why, heard, now, params, &events)
			}
			p.update(func(tx *spool.Tx) error {
				if err := end(tx); err != nil {
					return err
				}
				return events.Keep(p.spool, now.Now)
			})
			events.Write(&cmdline.Call{Now: now.Now})
			if got := p.queued(id, "JobStatus", "RemoteWallClockTime", "LastVacateTime"); got != c.state {
				t.Errorf("the job: %s, want %s", got, c.state)
			}
			p.logged(c.logged...)
			if err := lifecycle.Account(p.spool, now, end); !errors.Is(err, pool.ErrGone) {
				t.Errorf("once more: %v, want ErrGone", err)
			}
		})
	}
}
