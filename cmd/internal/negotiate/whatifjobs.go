package negotiate

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/operation"
	"fairspool/cmd/internal/selection"
	"fairspool/cmd/internal/trial"
	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

// readQdel reads jobs that leave: `12.0`.
func readQdel(words []string) (func(*world) error, error) {
	names, err := selection.Parse(words)
	if err != nil {
		return nil, cmdline.Usagef("%v", err)
	}
	if len(words) == 0 {
		return nil, cmdline.Usagef("which jobs? name a cluster, a job like 12.0, or a user")
	}
	return func(w *world) error { return w.remove(names) }, nil
}

// remove takes jobs out of the queue. What runs is taken to have ended already.
func (w *world) remove(names selection.Names) error {
	spans, err := w.named(names)
	if err != nil {
		return err
	}
	w.eachOf(spans, func(jobprio.Run) []jobprio.Run { return nil })
	for _, list := range spans {
		w.gone = append(w.gone, list...)
	}
	for _, c := range w.Claims() {
		if spans.Has(c.Job) {
			w.End(c)
		}
	}
	return nil
}

// readPrio reads priorities: `+5 12`, `-p 3 12.0`, `-system 5 12`.
func readPrio(words []string) (func(*world) error, error) {
	line := cmdline.Command{Name: "prio", Number: "adjust", Flags: []cmdline.Flag{
		{Name: "p", Args: []string{"N"}}, {Name: "adjust", Args: []string{"N"}}, {Name: "system", Args: []string{"N"}},
	}}
	flags, args, err := line.Parse(words)
	switch {
	case err != nil || len(flags) != 1: // prio has options that change what cannot be tried
		return nil, cmdline.Usagef("want a new priority, -p N, an adjustment, +N or -N, or -system N")
	case len(args) == 0:
		return nil, cmdline.Usagef("which jobs? name a cluster, a job like 12.0, or a user")
	}
	names, err := selection.Parse(args)
	if err != nil {
		return nil, cmdline.Usagef("%v", err)
	}
	if flags[0].Name == "system" {
		s, err := operation.ReadSystemPriority(flags[0].Args[0])
		if err != nil {
			return nil, cmdline.Usagef("%v", err)
		}
		return func(w *world) error { return w.setSystem(names, s) }, nil
	}
	n, err := strconv.ParseInt(flags[0].Args[0], 10, 32)
	if err != nil {
		return nil, cmdline.Usagef("%q: want a whole number from %d to %d", flags[0].Args[0], math.MinInt32, math.MaxInt32)
	}
	adjust := flags[0].Name == "adjust"
	return func(w *world) error { return w.prioritise(names, n, adjust) }, nil
}

// setSystem sets the system priorities of jobs.
func (w *world) setSystem(names selection.Names, s operation.SystemPriority) error {
	n, err := s.Kept(&w.Config)
	if err != nil {
		return err
	}
	spans, err := w.named(names)
	if err != nil {
		return err
	}
	w.eachOf(spans, func(j jobprio.Run) []jobprio.Run {
		j.Ad = j.Ad.Clone()
		j.Ad.SetInt(pool.AttrSystemPriority, n)
		return []jobprio.Run{j}
	})
	return nil
}

// prioritise sets the priorities of jobs to n, or adds it to them.
func (w *world) prioritise(names selection.Names, n int64, adjust bool) error {
	spans, err := w.named(names)
	if err != nil {
		return err
	}
	w.eachOf(spans, func(j jobprio.Run) []jobprio.Run {
		jobs := []jobprio.Run{j}
		if e, ok := j.Ad.Lookup(pool.AttrJobPrio); adjust && ok {
			if _, constant := e.Constant(); !constant {
				jobs = apart(j)
			}
		}
		for i := range jobs {
			old, _ := jobs[i].Ad.EvalInt(&classad.Context{}, pool.AttrJobPrio)
			to := n
			if adjust {
				to += old
			}
			if least, most := operation.PriorityBounds(&w.Config); to < least || to > most {
				err = fmt.Errorf("%v: priority %d is outside of %d to %d", jobs[i].FirstJob(), to, least, most)
			}
			jobs[i].Ad = jobs[i].Ad.Clone()
			jobs[i].Ad.SetInt(pool.AttrJobPrio, to)
		}
		return jobs
	})
	return err
}

// maxNew bounds how many jobs or slots a change may add.
const maxNew = 1_000_000

// readSubmit reads jobs that are added: `100 like 12.0`.
func readSubmit(words []string) (func(*world) error, error) {
	const usage = "want a number and a cluster or job, like 100 like 12.0"
	if len(words) != 3 || words[1] != "like" {
		return nil, cmdline.Usagef(usage)
	}
	n, err := count(words[0])
	if err != nil {
		return nil, err
	}
	id, _, err := readJob(words[2])
	if err != nil {
		return nil, cmdline.Usagef("%v", err)
	}
	return func(w *world) error { return w.submit(n, id, words[2]) }, nil
}

// count reads a number of jobs or slots to add.
func count(word string) (int, error) {
	n, err := strconv.Atoi(word)
	if err != nil || n < 1 || n > maxNew {
		return 0, cmdline.Usagef("%q: want a whole number from 1 to %d", word, maxNew)
	}
	return n, nil
}

// readJob reads a cluster or a job; a cluster's proc is none, -1.
func readJob(word string) (id pool.JobID, whole bool, err error) {
	if cluster, err := pool.ParseCluster(word); err == nil {
		return pool.JobID{Cluster: cluster, Proc: -1}, true, nil
	}
	if id, err = pool.ParseJobID(word); err != nil {
		err = fmt.Errorf("%q: want a cluster or a job like 12.0", word)
	}
	return id, false, err
}

// ofItsPast are the attributes of a job's ad that tell what became of it so far. How large
// it was found to be (ImageSize, DiskUsage) is not among them: requests may refer to it, and
// the description may have set it.
var ofItsPast = []string{
	pool.AttrLastJobStatus, pool.AttrRemoteHost, pool.AttrRemoteSlotID, pool.AttrLastRemoteHost, pool.AttrCurrentHosts,
	pool.AttrNumJobMatches, pool.AttrLastMatchTime, pool.AttrNumShadowStarts, pool.AttrJobRunCount, pool.AttrNumJobStarts,
	pool.AttrJobStartDate, pool.AttrCurrentStartDate, pool.AttrLastStartDate, pool.AttrExecutingDate, pool.AttrShadowBday,
	pool.AttrWallClock, pool.AttrWallClockCkpt, pool.AttrLastWallClock, pool.AttrCumulativeSlot, pool.AttrCommittedTime,
	pool.AttrCommittedSlotTime, pool.AttrWastedTime, pool.AttrUserCPU, pool.AttrSysCPU, pool.AttrCpusUsage,
	pool.AttrResidentSetSize, pool.AttrMemoryUsage, pool.AttrBytesSent, pool.AttrBytesRecvd, pool.AttrTickets,
	pool.AttrMemoryLimitedBy, pool.AttrDiskLimitedBy, pool.AttrNumCkpts, pool.AttrLastCkptTime,
	pool.AttrExitBySignal, pool.AttrExitCode, pool.AttrExitSignal, pool.AttrNumCompletions, pool.AttrCompletionDate,
	pool.AttrRemoveReason, pool.AttrHoldReason, pool.AttrHoldReasonCode, pool.AttrHoldReasonSubCode,
	pool.AttrLastHoldReason, pool.AttrLastHoldReasonCode, pool.AttrLastHoldReasonSubCode, pool.AttrReleaseReason,
	pool.AttrNumHolds, pool.AttrNumSystemHolds, pool.AttrVacateReason, pool.AttrVacateReasonCode, pool.AttrVacateReasonSub,
	pool.AttrLastVacateTime, pool.AttrEligibleSince, pool.AttrBypassCount, pool.AttrSystemPriority,
}

// ofItsSlots are the names of what a job's ad has from the slots that it had.
var ofItsSlots = regexp.MustCompile(`^(MATCH_|MachineAttr.*[0-9]$)`)

// submit adds a cluster of n idle jobs that are otherwise like the one given.
func (w *world) submit(n int, like pool.JobID, written string) error {
	if list := w.added(written); len(list) > 0 {
		like = pool.JobID{Cluster: list[0].Cluster, Proc: list[0].First}
	} else if like.Proc < 0 {
		like.Proc = 0
		if cluster, ok := w.Queue.Cluster(like.Cluster); ok && len(cluster.Runs) > 0 {
			like.Proc = cluster.Runs[0].First
		}
	}
	old, ok := w.job(like)
	if !ok {
		return fmt.Errorf("%s: not in the queue", written)
	}
	ad := old.Flat().Clone()
	for _, name := range append(ad.OwnNames(), ofItsPast...) {
		if slices.Contains(ofItsPast, name) || ofItsSlots.MatchString(name) {
			ad.Delete(name)
		}
	}
	ad.SetInt(pool.AttrClusterID, int64(w.next))
	ad.SetInt(pool.AttrProcID, 0)
	ad.SetInt(pool.AttrJobStatus, int64(pool.Idle))
	ad.SetInt(pool.AttrQDate, w.Now.Unix())
	ad.SetInt(pool.AttrEnteredStatus, w.Now.Unix())
	w.Pool.Jobs = append(w.Pool.Jobs, jobprio.Run{
		Procs:     pool.Procs{Cluster: w.next, First: 0, Last: n - 1},
		Submitter: w.submitter(ad),
		Ad:        ad,
	})
	w.next++
	return nil
}

// job returns the ad of a job of the queue, or of one that a change added.
func (w *world) job(id pool.JobID) (*classad.Ad, bool) {
	for _, j := range w.Pool.Jobs {
		if id.Cluster >= w.firstNew && j.Has(id) {
			return j.Ad, true
		}
	}
	return w.Queue.Job(id)
}

// named returns the jobs that have these names, as the changes so far left them.
func (w *world) named(names selection.Names) (trial.Spans, error) {
	s := trial.Spans{}
	for _, word := range names.Words() {
		one, err := selection.Parse([]string{word})
		if err != nil {
			return nil, err
		}
		list, _ := one.In(w.Queue)
		var jobs []pool.Procs
		for _, x := range list {
			jobs = append(jobs, x.Procs)
		}
		jobs = without(append(jobs, w.added(word)...), w.gone)
		if len(jobs) == 0 {
			return nil, fmt.Errorf("%s: not in the queue", word)
		}
		for _, p := range jobs {
			s[p.Cluster] = append(s[p.Cluster], p)
		}
	}
	for _, list := range s {
		slices.SortFunc(list, pool.Procs.Compare)
	}
	return s, nil
}

// added returns the jobs of a cluster, job or user that changes added.
func (w *world) added(name string) (list []pool.Procs) {
	id, whole, err := readJob(name)
	for _, j := range w.Pool.Jobs {
		p := j.Procs
		if p.Cluster < w.firstNew {
			continue
		}
		owner, _ := j.Ad.EvalString(&classad.Context{}, pool.AttrOwner)
		user, _ := j.Ad.EvalString(&classad.Context{}, pool.AttrUser)
		switch {
		case err != nil && (name == owner || name == user), err == nil && whole && p.Cluster == id.Cluster:
			list = append(list, p)
		case err == nil && p.Has(id):
			list = append(list, pool.Only(id))
		}
	}
	return list
}

// eachOf replaces the idle and held jobs in spans by what becomes of them.
func (w *world) eachOf(s trial.Spans, become func(jobprio.Run) []jobprio.Run) {
	w.Pool.Jobs = s.Replaced(w.Pool.Jobs, become)
	w.Pool.Held = s.Replaced(w.Pool.Held, become)
}

// apart returns the procs of a run one by one.
func apart(j jobprio.Run) []jobprio.Run {
	jobs := make([]jobprio.Run, j.Count())
	for i := range jobs {
		jobs[i] = j.Part(j.First+i, j.First+i)
	}
	return jobs
}
