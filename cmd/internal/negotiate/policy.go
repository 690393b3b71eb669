package negotiate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/joblog"
	"fairspool/cmd/internal/operation"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/lib/userlog"
	"fairspool/spool"
)

// Policy is what became of jobs before the cycle because their own expressions
// wanted it, or since what they waited for came about or cannot: numbers of jobs.
type Policy struct {
	Held     int `json:",omitempty"`
	Released int `json:",omitempty"`
	Removed  int `json:",omitempty"`
	Vacated  int `json:",omitempty"` // they have to leave their slots, to run again
	Left     int `json:",omitempty"` // they had ended, and left the queue
	Met      int `json:",omitempty"` // they wait for no others any more
}

// policy does with the jobs what their own expressions want, and looks whether those
// that wait for others still have to, so that the cycle sees them as they are then.
// Where nothing is due, nothing is written. Only the jobs of some clusters count, unless
// only is nil.
func policy(c *cmdline.Call, s *spool.Spool, p accountant.Params, only map[int]bool) (did Policy, err error) {
	var found operation.Outlook
	survey := func() error {
		return s.View(func(v *spool.View) error {
			if found = operation.Policies(v, c.Now); only != nil {
				found.Due = slices.DeleteFunc(found.Due, func(d operation.Due) bool { return !only[d.Cluster] })
			}
			return nil
		})
	}
	if err := survey(); err != nil {
		return did, err
	}
	if len(found.Unknown) > 0 {
		if err := recollect(c, s, found.Unknown); err != nil {
			return did, err
		}
		if err := survey(); err != nil {
			return did, err
		}
	}
	if len(found.Due)+len(found.Unneeded) == 0 {
		return did, nil
	}
	var log joblog.Events
	err = operation.Account(s, c.Reading(), c.Warn, func(tx *spool.Tx) error {
		done, err := operation.Follow(tx, found.Due, c.Now, p)
		if err != nil {
			return err
		}
		operation.Forget(tx, found.Unneeded)
		did, log = Policy{}, joblog.Events{}
		for _, f := range done {
			did.add(f.Due)
			note(&log, f)
		}
		tx.Op("job policy", did.words()...)
		if err := log.Keep(s, c.Now); err != nil {
			c.Warn("job log: %v", err)
		}
		return nil
	})
	if err != nil {
		log.Release()
		return did, err
	}
	log.Write(c)
	return did, nil
}

// recollect asks the history how the first jobs of clusters ended that have been
// watched only since these had left the queue. A history that cannot be read is
// no reason not to negotiate: who waits for those clusters goes on waiting.
func recollect(c *cmdline.Call, s *spool.Spool, clusters []int) error {
	var past operation.Recollections
	var bad error
	if err := s.View(func(v *spool.View) error {
		past = operation.Recollect(v, clusters)
		which := spool.Left{Clusters: map[int]bool{}, Since: past.Since()}
		for _, n := range clusters {
			which.Clusters[n] = true
		}
		bad = v.History(which, past.Add)
		return nil
	}); err != nil {
		return err
	}
	if bad != nil {
		c.Warn("%v: jobs that wait for others may wait in vain", bad)
		return nil
	}
	return s.Update(func(tx *spool.Tx) error {
		tx.Op("recollect", numbers(clusters)...)
		operation.Remember(tx, past)
		return nil
	})
}

func numbers(list []int) (words []string) {
	for _, n := range list {
		words = append(words, strconv.Itoa(n))
	}
	return words
}

// note notes what jobs' logs are told. Of a job that runs, its supervisor tells
// the end, and of one that has ended that was told.
func note(log *joblog.Events, f operation.Followed) {
	var body userlog.Body
	ended, _ := f.Ad.EvalInt(&classad.Context{}, pool.AttrJobStatus)
	switch {
	case f.Outcome == operation.HeldNow:
		body = userlog.Held{Reason: f.Why.Text, Code: f.Why.Code, Subcode: f.Why.Subcode}
	case f.Outcome == operation.ReleasedNow:
		body = userlog.Released{Reason: f.Why.Text}
	case f.Outcome == operation.RemovedNow && pool.Status(ended) != pool.Completed:
		body = userlog.Aborted{Reason: f.Why.Text}
	default:
		return
	}
	if joblog.Path(f.Ad) == "" {
		return
	}
	for p := f.First; p <= f.Last; p++ {
		log.Add(pool.JobID{Cluster: f.Cluster, Proc: p}, f.Ad, body)
	}
}

// add counts jobs.
func (d *Policy) add(x operation.Due) {
	n := x.Last - x.First + 1
	switch x.What {
	case operation.HoldThem:
		d.Held += n
	case operation.ReleaseThem:
		d.Released += n
	case operation.RemoveThem:
		d.Removed += n
	case operation.VacateThem:
		d.Vacated += n
	case operation.LetThemGo:
		d.Left += n
	case operation.LetThemRun:
		d.Met += n
	}
}

// merge counts what was done later as well.
func (d *Policy) merge(more Policy) {
	d.Held += more.Held
	d.Released += more.Released
	d.Removed += more.Removed
	d.Vacated += more.Vacated
	d.Left += more.Left
	d.Met += more.Met
}

// words says what was done with how many, such as "3 held" and "1 removed".
func (d Policy) words() (parts []string) {
	for _, x := range [...]struct {
		n    int
		what string
	}{
		{d.Held, "held"}, {d.Released, "released"}, {d.Removed, "removed"}, {d.Vacated, "sent off their slots"},
		{d.Left, "let out of the queue"}, {d.Met, "no longer waiting for others"},
	} {
		if x.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", x.n, x.what))
		}
	}
	return parts
}

// line says in a sentence what was done, empty for nothing.
func (d Policy) line() string {
	if d == (Policy{}) {
		return ""
	}
	return "Jobs by their own policy: " + strings.Join(d.words(), ", ") + "."
}

// policyFirst tells whoever only looks what a cycle would do with jobs first that
// makes a difference to it. What is computed takes them as they are, since nothing is
// written.
func policyFirst(c *cmdline.Call, v *spool.View, now time.Time) {
	if c.Has("q") {
		return
	}
	var d Policy
	for _, x := range operation.Policies(v, now).Due {
		if x.What != operation.LetThemGo {
			d.add(x)
		}
	}
	if d != (Policy{}) {
		c.Warn("jobs would first be, by their own policy: %s; here they count as they are", strings.Join(d.words(), ", "))
	}
}
