package health

import (
	"fmt"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// waiting is a job that no cycle has looked at for too long; none without an id.
type waiting struct {
	id    pool.JobID
	since time.Time
}

// cycle reports that jobs wait and no cycle looks at them.
func (l *look) cycle() error {
	w, err := l.waiting()
	if err != nil || w.id == (pool.JobID{}) {
		return err
	}
	f := Finding{Code: NoCycle, Severity: Critical, Stops: true,
		Remedy: "run negotiate, and see that cron or systemd runs it: negotiate(8) has the lines"}
	if l.OnChange {
		f.Remedy = "run negotiate, which says what is in the way"
	}
	f.What = fmt.Sprintf("no cycle for %s, though jobs wait, such as %v", age(l.At.Now.Sub(l.Cycled)), w.id)
	if l.Cycled.IsZero() {
		f.What = fmt.Sprintf("there was no cycle yet, and job %v has waited for %s", w.id, age(l.At.Now.Sub(w.since)))
	}
	l.add(f)
	return nil
}

// failed reports a cycle that a change started and that failed, or its pass. One that is at work
// may have complained, too, but not for long.
func (l *look) failed() error {
	ago := l.Clock.Sub(l.Troubled)
	if l.Trouble != "" && ago > longestWait && l.Troubled.After(l.Cycled) {
		l.add(Finding{Code: CycleFailed, Severity: Warning,
			What:   fmt.Sprintf("what a change started failed %s ago: %s", age(ago), l.Trouble),
			Remedy: "run negotiate and starter, which say whether it still does; negotiate.log in the spool has more"})
	}
	return nil
}

// waiting returns an idle job without a claim that has waited for longer than the Patience and for
// which a cycle should have been. It stops at the first.
func (l *look) waiting() (w waiting, err error) {
	if l.waits != nil {
		return *l.waits, nil
	}
	l.waits = &w
	from, to := time.Time{}, l.At.Now.Add(-l.Patience)
	if !l.Cycled.Before(to) {
		return w, nil
	}
	if l.OnChange && !l.running() {
		from = l.Cycled // what that cycle has seen waits for a change
	}
	claimed := make(map[pool.JobID]bool, len(l.claims))
	for _, c := range l.claims {
		claimed[c.Job] = true
	}
	pieces := l.view.Only([]string{pool.AttrJobStatus, pool.AttrEnteredStatus, pool.AttrQDate}).Pieces()
	reader := pieces.Reader()
	for i := range pieces.Len() {
		clusters, err := reader.Read(i, func(int) bool { return true })
		if err != nil {
			return w, err
		}
		for _, c := range clusters {
			for _, r := range c.Runs {
				since, idle := idleSince(r)
				if !idle || !since.After(from) || since.After(to) {
					continue
				}
				for p := r.First; p <= r.Last; p++ {
					if id := (pool.JobID{Cluster: c.ID, Proc: p}); !claimed[id] {
						w = waiting{id, since}
						return w, nil
					}
				}
			}
		}
	}
	return w, nil
}

// running reports whether a job runs: then cycles go on.
func (l *look) running() bool {
	for _, c := range l.claims {
		if supervised(c) {
			return true
		}
	}
	return false
}

// idleSince returns since when the jobs of a run have been idle; false if they are not.
func idleSince(r spool.Run) (time.Time, bool) {
	var none classad.Context
	if status, _ := r.Ad.EvalInt(&none, pool.AttrJobStatus); pool.Status(status) != pool.Idle {
		return time.Time{}, false
	}
	since, ok := r.Ad.EvalInt(&none, pool.AttrEnteredStatus)
	if !ok {
		since, _ = r.Ad.EvalInt(&none, pool.AttrQDate)
	}
	return time.Unix(since, 0), true
}
