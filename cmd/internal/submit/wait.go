package submit

import (
	"errors"
	"fmt"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/waiting"
	"fairspool/lib/classad"
	"fairspool/lib/lifecycle"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// spoolEvery is how often the spool is looked at. When nothing has changed that
// costs next to nothing.
const spoolEvery = 500 * time.Millisecond

func outputs() []cmdline.Output {
	return []cmdline.Output{{Name: "submit", Value: told{}}, {Name: "submit-wait", Value: waiting.Summary{}}, {Name: "submit-dry-run", Value: cmdline.Ads{}}}
}

// wait waits until all jobs of the cluster have ended, and returns the error with
// their exit status. That is on record in the queue and in the history: the jobs
// need no event log.
func (s *submission) wait(k cluster) error {
	if k.id == 0 {
		return nil
	}
	s.Flush()
	sp, err := s.Spool()
	if err != nil {
		return err
	}
	w := clusterWait{submission: s, cluster: k, spool: sp}
	switch err := waiting.Until(s.Call, waiting.Pace{Every: spoolEvery}, w.look); {
	case errors.Is(err, waiting.ErrInterrupted):
		s.Warn("interrupted: the jobs stay in the queue; qdel %d removes them", k.id)
		return cmdline.ExitStatus(waiting.Interrupted)
	case err != nil:
		return err
	}
	outcomes, err := w.outcomes()
	if err != nil {
		return err
	}
	if err := waiting.Finish(s.Call, outcomes); err != nil || w.never == 0 {
		return err
	}
	return fmt.Errorf("%s never came: %s", plural.Count(w.never, "job"), w.why)
}

// clusterWait is the waiting for a cluster of the spool.
type clusterWait struct {
	*submission
	cluster cluster
	spool   *spool.Spool

	holds waiting.Holds
	left  []waiting.Outcome // of jobs that have ended and stay in the queue
	last  uint64            // the transaction up to which left is complete
	far   waiting.Far
	never int    // so many jobs cannot be made
	why   string // that is
}

// look counts the jobs of the cluster that have not ended.
func (w *clusterWait) look() (waiting.Far, error) {
	err := w.spool.View(func(v *spool.View) error {
		if v.Seq() == w.last {
			w.far.News = nil
			return nil
		}
		w.last = v.Seq()
		return w.count(v)
	})
	return w.far, err
}

func (w *clusterWait) count(v *spool.View) error {
	w.left = nil
	open, held := 0, map[pool.JobID]string{}
	w.never = 0
	if f, ok := v.Factory(w.cluster.id); ok {
		if _, held := lifecycle.HeldBack(f); held || f.Paused == "" {
			open = f.Jobs - f.Next
		} else {
			w.never, w.why = f.Jobs-f.Next, f.Paused
		}
	}
	if c, ok := v.Cluster(w.cluster.id); ok {
		for _, r := range c.Runs {
			open += w.countRun(v, r, held)
		}
	}
	w.far = waiting.Far{Ended: w.cluster.all - w.never - open, All: w.cluster.all - w.never, Done: open == 0, News: w.holds.News(held)}
	return nil
}

// countRun returns how many procs of a run have not ended, and notes those that
// are held.
func (w *clusterWait) countRun(v *spool.View, r spool.Run, held map[pool.JobID]string) (open int) {
	c, ad := &classad.Context{}, r.Proc(r.First)
	status, _ := ad.EvalInt(c, pool.AttrJobStatus)
	for id := range r.Jobs() {
		switch pool.Status(status) {
		case pool.Removed, pool.Completed:
			if _, ends := v.Claim(id); !ends { // left in the queue on purpose
				w.left = append(w.left, outcomeOf(r.Proc(id.Proc), id))
				continue
			}
		case pool.Held:
			held[id], _ = ad.EvalString(c, pool.AttrHoldReason)
		default:
			return r.Count()
		}
		open++
	}
	return open
}

// outcomes returns how all jobs of the cluster ended, by proc. Jobs that were to appear
// late and never did have none.
func (w *clusterWait) outcomes() ([]waiting.Outcome, error) {
	of := map[int]waiting.Outcome{}
	for _, o := range w.left {
		of[o.Job.Proc] = o
	}
	// Machines that end jobs may have other clocks: if some jobs are missing the whole
	// history is read.
	const slack = 24 * time.Hour
	for _, since := range []time.Time{w.Now.Add(-slack), {}} {
		if len(of) == w.cluster.all {
			break
		}
		which := spool.Left{Clusters: map[int]bool{w.cluster.id: true}, Since: since}
		err := w.spool.History(which, func(ad *classad.Ad) (more bool) {
			proc, _ := ad.EvalInt(&classad.Context{}, pool.AttrProcID)
			id := pool.JobID{Cluster: w.cluster.id, Proc: int(proc)}
			of[id.Proc] = outcomeOf(ad, id)
			return len(of) < w.cluster.all
		})
		if err != nil {
			return nil, fmt.Errorf("how the jobs ended: %w", err)
		}
	}
	var list []waiting.Outcome
	late := w.cluster.all > w.cluster.Jobs()
	for proc := range w.cluster.all {
		o, ok := of[proc]
		if !ok && late {
			continue
		}
		if !ok {
			o = waiting.Outcome{Job: pool.JobID{Cluster: w.cluster.id, Proc: proc}, Lost: true}
		}
		list = append(list, o)
	}
	return list, nil
}

// outcomeOf reads how a job ended from its ad.
func outcomeOf(ad *classad.Ad, id pool.JobID) waiting.Outcome {
	c := &classad.Context{}
	o := waiting.Outcome{Job: id}
	if status, _ := ad.EvalInt(c, pool.AttrJobStatus); pool.Status(status) == pool.Removed {
		o.Removed = true
		o.Reason, _ = ad.EvalString(c, pool.AttrRemoveReason)
		return o
	}
	if killed, _ := ad.EvalBool(c, pool.AttrExitBySignal); killed {
		signal, ok := ad.EvalInt(c, pool.AttrExitSignal)
		if o.Signal = int(signal); !ok || signal == 0 {
			o.Signal = -1
		}
		return o
	}
	code, ok := ad.EvalInt(c, pool.AttrExitCode)
	o.ReturnValue, o.Lost = int(code), !ok
	return o
}
