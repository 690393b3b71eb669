package operation

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"syscall"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/jobad"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Submit puts a description's jobs into the queue as a new cluster of the owner whose rights are
// given, and returns its number and the procs that are there now: all, or with max_materialize
// or max_idle the first ones, and a factory for the others. No job: the number is 0,
// and nothing was done. The error may be that the owner has no right to what a job says, or that
// there would be more of the owner's in the queue than the configuration allows. The caller names
// the transaction.
func Submit(tx *spool.Tx, jobs *jobad.Jobs, r Rights) (id int, c jobad.Cluster, err error) {
	late, kept := jobs.Late()
	var digest []byte
	var offset int64
	if kept {
		c, digest, offset, err = jobs.Begin(tx.NextCluster())
	} else {
		c, err = jobs.Expand(tx.NextCluster())
	}
	if err != nil || len(c.Runs) == 0 {
		return 0, c, err
	}
	if err := r.Permit(jobs, c); err != nil {
		return 0, c, err
	}
	had := tx.Owner(r.Owner)
	id = tx.AddCluster(c.Ad, newRuns(c))
	if digest != nil {
		tx.AddFactory(spool.Factory{
			Cluster: id, Owner: r.Owner, Next: c.Jobs(), Jobs: jobs.Count(), Offset: offset,
			MaxMaterialize: late.MaxMaterialize, MaxIdle: late.MaxIdle, Charged: r.settledNames(c),
		}, digest)
	}
	if err := withinLimits(r.Config, r.Owner, had, tx.Owner(r.Owner)); err != nil {
		return 0, c, err
	}
	return id, c, watchFor(tx, id, c, WatchNew)
}

// watchFor begins to watch what has to be for new jobs: their own cluster, when
// somebody wants to be told of its end (watch does it), and those that they wait for.
// The error says that there is no such cluster.
func watchFor(tx *spool.Tx, id int, c jobad.Cluster, watch func(*spool.Tx, int)) error {
	ads := []*classad.Ad{c.Ad}
	for _, r := range c.Runs {
		if r.Has(jobpolicy.AttrAfterOk, jobpolicy.AttrAfterAny, pool.AttrJobNotification) {
			ads = append(ads, r.Ad())
		}
	}
	for _, ad := range ads {
		if n, _ := ad.EvalInt(&classad.Context{}, pool.AttrJobNotification); n > NotifyNever {
			watch(tx, id)
		}
		ok, any := jobpolicy.After(ad)
		for _, of := range slices.Concat(ok, any) {
			if of >= id {
				return fmt.Errorf("cluster %d, which the jobs are to wait for: there is no such cluster", of)
			}
			Watch(tx, of)
		}
	}
	return nil
}

func newRuns(c jobad.Cluster) []spool.NewRun {
	runs := make([]spool.NewRun, len(c.Runs))
	var own []jobad.Attr
	var attrs []spool.Attr // of all runs
	for i, r := range c.Runs {
		own = r.Append(own[:0])
		if i == 0 {
			attrs = make([]spool.Attr, 0, len(own)*len(runs)) // most have as many as the first
		}
		from := len(attrs)
		for _, a := range own {
			attrs = append(attrs, spool.Attr(a))
		}
		runs[i] = spool.NewRun{Count: r.Count, Attrs: attrs[from:]}
	}
	return runs
}

// Made are procs that a factory has made, as part of their cluster.
type Made struct {
	ID int
	jobad.Cluster
	Waits bool // some of them for the end of others
}

// mostMade bounds the procs that one transaction makes.
const mostMade = 100_000

// Wanting returns the factories that have room for procs, and for how many: in their
// order, and mostMade in all. A paused factory makes none, and neither does one of an owner who
// has as much in the queue as the configuration allows.
func Wanting(v *spool.View, cfg *config.Config) (list []spool.Factory, room []int) {
	left := mostMade
	more := map[string]int{} // jobs for which owners have room
	for _, f := range v.Factories() {
		if f.Paused != "" || left == 0 {
			continue
		}
		queued, waiting := present(v, f.Cluster)
		n := jobad.Late{MaxMaterialize: f.MaxMaterialize, MaxIdle: f.MaxIdle}.Room(queued, waiting)
		if _, ok := more[f.Owner]; !ok {
			more[f.Owner] = roomOf(cfg, v.Owner(f.Owner))
		}
		if n = min(n, f.Jobs-f.Next, left, more[f.Owner]); n > 0 {
			more[f.Owner] -= n
			list, room = append(list, f), append(room, n)
			left -= n
		}
	}
	return list, room
}

// present returns how many procs of a cluster are in the queue, and how many of
// them wait: those that are idle or held, as HTCondor counts for max_idle.
func present(v *spool.View, cluster int) (queued, waiting int) {
	c, ok := v.Cluster(cluster)
	if !ok {
		return 0, 0
	}
	for _, r := range c.Runs {
		queued += r.Count()
		status, _ := r.Ad.EvalInt(&classad.Context{}, pool.AttrJobStatus)
		if s := pool.Status(status); s == pool.Idle || s == pool.Held {
			waiting += r.Count()
		}
	}
	return queued, waiting
}

// ForNow tells whether what keeps a factory from making its next procs may be over
// the next time: the machine could not do something, such as open another file, and
// nothing is wrong with the digest.
func ForNow(err error) bool {
	var number syscall.Errno
	return errors.As(err, &number)
}

// Materialize makes the procs that there is room for, at the time at and in the pool's domain. A factory
// that cannot make its next ones is paused with the reason, unless that is ForNow,
// and warn is told. One that has made its last is done with. The caller names the
// transaction.
func Materialize(tx *spool.Tx, cfg *config.Config, domain string, at time.Time, warn func(format string, args ...any)) []Made {
	list, room := Wanting(&tx.View, cfg)
	var made []Made
	for i, f := range list {
		c, next, err := materialize(tx, f, domain, room[i], at)
		if err != nil && ForNow(err) {
			warn("cluster %d: its next jobs cannot be made in this cycle: %v", f.Cluster, err)
			continue
		}
		if err != nil {
			f.Paused = err.Error()
			tx.PutFactory(f)
			warn("cluster %d: its next jobs cannot be made, and no more will be: %v", f.Cluster, err)
			continue
		}
		tx.Grow(f.Cluster, c.Ad, f.Next, newRuns(c))
		if err := watchFor(tx, f.Cluster, c, Watch); err != nil {
			warn("cluster %d: %v", f.Cluster, err)
		}
		made = append(made, Made{f.Cluster, c, wait(c)})
		if f.Next, f.Offset = f.Next+c.Jobs(), next; f.Next == f.Jobs {
			tx.DropFactory(f.Cluster)
		} else {
			tx.PutFactory(f)
		}
	}
	return made
}

// wait tells whether some of the procs wait for the end of others.
func wait(c jobad.Cluster) bool {
	return jobpolicy.Waits(c.Ad) || slices.ContainsFunc(c.Runs, func(r jobad.Run) bool {
		return r.Has(jobpolicy.AttrAfterOk, jobpolicy.AttrAfterAny)
	})
}

func materialize(tx *spool.Tx, f spool.Factory, domain string, n int, at time.Time) (c jobad.Cluster, next int64, err error) {
	digest, err := tx.Digest(f.Cluster)
	if err != nil {
		return c, 0, err
	}
	defer digest.Close()
	c, next, err = jobad.Materialize(digest, domain, f.Cluster, f.Next, n, f.Offset, at)
	if err == nil && c.Jobs() != n {
		err = fmt.Errorf("%d jobs where %d were to be", c.Jobs(), n)
	}
	if err == nil {
		err = sameNames(f.Charged, c)
	}
	return c, next, err
}

// What Maui's setspri takes, and what it keeps: an absolute priority as it is, and one
// that is added to the job's own as relativeSystem and that. Up to 1e9 what is kept is
// absolute, so that the least that can be added is above -1e9.
const (
	maxSystem      = 1000
	relativeSystem = 2_000_000_000
	leastRelative  = -999_999_999
	mostRelative   = 1_000_000_000
)

// SystemPriority is what prio -system gives jobs.
type SystemPriority struct {
	text     string
	n        int64
	relative bool
}

// ReadSystemPriority reads N, +N or -N. Its errors are about how that is written.
func ReadSystemPriority(text string) (SystemPriority, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	s := SystemPriority{text, n, text != "" && (text[0] == '+' || text[0] == '-')}
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange): // else n is the nearest that there is
		return s, fmt.Errorf("-system %q: want a whole number: N, +N or -N", text)
	case s.relative && (n < leastRelative || n > mostRelative):
		return s, fmt.Errorf("-system %s: want a whole number from %d to +%d to add", text, leastRelative, mostRelative)
	case !s.relative && n > maxSystem:
		return s, fmt.Errorf("-system %s: system priority must be in the range 0 - %d; +%s adds to a job's own", text, maxSystem, text)
	}
	return s, nil
}

// String returns it as it was written, behind its flag.
func (s SystemPriority) String() string { return "-system " + s.text }

// Kept returns the SystemPriority that jobs get. It fails where the configuration has none
// such.
func (s SystemPriority) Kept(cfg *config.Config) (int64, error) {
	switch {
	case cfg.JobPriorityPolicy != "maui":
		return 0, errors.New(`-system: JOB_PRIORITY_POLICY is not "maui", which alone has system priorities: ` + insteadOfSystem(cfg))
	case s.relative && s.n < 0 && cfg.Maui.Compatible:
		return 0, fmt.Errorf("%v: Maui 3.3.1, which COMPATIBILITY asks for, takes nothing away from a priority", s)
	case s.relative:
		return relativeSystem + s.n, nil
	}
	return s.n, nil
}

// insteadOfSystem says what moves jobs under another policy than Maui's.
func insteadOfSystem(cfg *config.Config) string {
	if IsSGE(cfg) {
		return "-p and -ot put jobs ahead of others"
	}
	return "-p orders the jobs of one submitter"
}
