package lifecycle

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/jobad"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/concurrency"
	"fairspool/lib/plural"
	"fairspool/lib/policy"
	"fairspool/lib/pool"
	"fairspool/lib/submitfile"
	"fairspool/spool"
)

// Submit puts a description's jobs into the queue as a new cluster of the owner with the rights r. It
// returns the cluster's number and the procs that are there now: all, or with max_materialize
// or max_idle the first ones, and a factory makes the others. Without jobs it does nothing and returns 0.
// The error may be that the owner has no right to an attribute, or that the owner would have more
// in the queue than the configuration allows. The caller names the transaction.
func Submit(tx *spool.Tx, jobs *jobad.Jobs, r policy.Rights) (id int, c jobad.Cluster, err error) {
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
	if err := Permit(r, jobs, c); err != nil {
		return 0, c, err
	}
	had := tx.Owner(r.Owner)
	id = tx.AddCluster(c.Ad, newRuns(c))
	if digest != nil {
		tx.AddFactory(spool.Factory{
			Cluster: id, Owner: r.Owner, Next: c.Jobs(), Jobs: jobs.Count(), Offset: offset,
			MaxMaterialize: late.MaxMaterialize, MaxIdle: late.MaxIdle, Charged: settledNames(r, c),
		}, digest)
	}
	if err := withinLimits(r.Config, r.Owner, had, tx.Owner(r.Owner)); err != nil {
		return 0, c, err
	}
	return id, c, watchFor(tx, id, c, WatchNew)
}

// watchFor begins to watch clusters for new jobs: the jobs' own by calling watch, if mail is wanted, and
// those that they wait for. The error says that there is no such cluster.
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
				return fmt.Errorf("cluster %d, for which the jobs should wait: there is no such cluster", of)
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
			attrs = make([]spool.Attr, 0, len(own)*len(runs)) // room for all, if they are like the first
		}
		from := len(attrs)
		for _, a := range own {
			attrs = append(attrs, spool.Attr(a))
		}
		runs[i] = spool.NewRun{Count: r.Count, Attrs: attrs[from:]}
	}
	return runs
}

// Made are procs of a cluster that its factory has made.
type Made struct {
	ID int
	jobad.Cluster
	Waits bool // some of them wait for the end of others
}

// mostMade bounds the procs that one transaction makes.
const mostMade = 100_000

// Wanting returns the factories with room for procs, in order, and the number of procs for each, at
// most mostMade in all. It leaves out paused factories, and those of owners that have as many jobs in
// the queue as the configuration allows.
func Wanting(v *spool.View, cfg *config.Config) (list []spool.Factory, room []int) {
	left := mostMade
	more := map[string]int{} // how many more jobs owners may have
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
// them wait: idle and held procs, as HTCondor counts for max_idle.
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

// ForNow reports whether an error that keeps a factory from making procs may pass: the system
// failed, as at opening another file, and the digest is sound.
func ForNow(err error) bool {
	var failed *fs.PathError
	return errors.As(err, &failed)
}

// Materialize makes the procs that there is room for, at the time at and in the pool's domain. It warns of
// a factory that cannot make its next procs, and pauses it with the reason unless that is ForNow. It
// removes a factory that has made its last proc. The caller names the transaction.
func Materialize(tx *spool.Tx, cfg *config.Config, domain string, at time.Time, warn func(format string, args ...any)) []Made {
	list, room := Wanting(&tx.View, cfg)
	var made []Made
	for i, f := range list {
		c, next, err := materialize(tx, f, domain, room[i], at)
		if err != nil && ForNow(err) {
			warn("cluster %d: its next jobs cannot be created in this cycle: %v", f.Cluster, err)
			continue
		}
		if err != nil {
			f.Paused = err.Error()
			tx.PutFactory(f)
			warn("cluster %d: its next jobs cannot be created, and no more will be: %v", f.Cluster, err)
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

// wait reports whether some of the procs wait for the end of others.
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

// ChargeEdit counts bytes that a user's changes are to add to a cluster for its owner. The error says
// which limit of the owner is in the way; then nothing is counted.
func ChargeEdit(tx *spool.Tx, cfg *config.Config, cluster int, bytes int64) error {
	c, ok := tx.Cluster(cluster)
	if !ok {
		return nil
	}
	owner, _ := c.Charged()
	had := tx.Owner(owner)
	has := had
	has.Bytes += bytes
	if err := withinLimits(cfg, owner, had, has); owner != "" && err != nil {
		return err
	}
	tx.ChargeBytes(cluster, bytes)
	return nil
}

// withinLimits returns why an owner cannot have so much more in the queue than there was before: the
// limit, and how much there was. Limits hold for administrators, too.
func withinLimits(cfg *config.Config, owner string, had, has spool.Owner) error {
	for _, limit := range []struct {
		key            string
		had, has, most int64
		what           string
	}{
		{"MAX_JOBS_PER_SUBMISSION", 0, int64(has.Jobs - had.Jobs), int64(cfg.MaxJobsPerSubmission), "job"},
		{"MAX_JOBS_PER_OWNER", int64(had.Jobs), int64(has.Jobs), int64(cfg.MaxJobsPerOwner), "job"},
		{"MAX_CLUSTERS_PER_OWNER", int64(had.Clusters), int64(has.Clusters), int64(cfg.MaxClustersPerOwner), "cluster"},
		{"MAX_SPOOL_BYTES_PER_OWNER", had.Bytes, has.Bytes, cfg.MaxSpoolBytesPerOwner, "byte"},
	} {
		if limit.has <= limit.most || limit.has <= limit.had {
			continue
		}
		most := plural.Count(int(limit.most), limit.what)
		if limit.key == "MAX_JOBS_PER_SUBMISSION" {
			return fmt.Errorf("%s: a submission puts at most %s into the queue, and this one has %d: submit it in parts, or with max_materialize", limit.key, most, limit.has)
		}
		return fmt.Errorf("%s: %s may have at most %s in the queue, has %d and wants %d more: wait until some have left, or remove some with qdel",
			limit.key, owner, most, limit.had, limit.has-limit.had)
	}
	return nil
}

// roomOf returns how many more jobs an owner may have in the queue.
func roomOf(cfg *config.Config, has spool.Owner) int {
	if has.Bytes >= cfg.MaxSpoolBytesPerOwner {
		return 0
	}
	return max(min(cfg.MaxJobsPerOwner-has.Jobs, cfg.MaxJobsPerSubmission), 0)
}

// Require returns an error for the first requirement of SUBMIT_REQUIREMENT_NAMES that a job does not
// meet. It warns, once for each, of unmet requirements that are warnings. It judges each run by the ad
// of its first proc, which is both MY and TARGET. The caller holds no lock, since evaluating users'
// expressions may take long.
func Require(cfg *config.Config, c jobad.Cluster, x *classad.Context, warn func(format string, args ...any)) error {
	if len(cfg.Requirements) == 0 || len(c.Runs) == 0 {
		return nil
	}
	list, err := compileRequirements(cfg)
	if err != nil {
		return err
	}
	first := 0
	for _, run := range c.Runs {
		ad := run.Ad().Chain(c.Ad)
		ad.SetInt(pool.AttrProcID, int64(first))
		first += run.Count
		for i, r := range list {
			if r.told {
				continue
			}
			why := r.unmet(x, ad)
			switch {
			case why == nil:
			case r.Warning:
				list[i].told = true
				warn("%v", why)
			default:
				return why
			}
		}
	}
	return nil
}

// longestReason is how many bytes a reason may have.
const longestReason = 1000

// requirement is a SUBMIT_REQUIREMENT with compiled expressions.
type requirement struct {
	config.Requirement
	expr, reason *classad.Expr // reason is nil without one
	told         bool          // it was warned of
}

func compileRequirements(cfg *config.Config) (list []requirement, err error) {
	for _, r := range cfg.Requirements {
		expr, err := cfg.Expr(r.Key())
		if err != nil {
			return nil, err
		}
		reason, err := cfg.Expr(r.Key() + "_REASON")
		if err != nil {
			return nil, err
		}
		list = append(list, requirement{r, expr, reason, false})
	}
	return list, nil
}

// unmet returns why a job does not meet the requirement; nil if it does. Numbers other than 0 are
// true, as in HTCondor.
func (r requirement) unmet(x *classad.Context, ad *classad.Ad) error {
	v := r.expr.Eval(x, ad, ad)
	yes, isBool := v.Bool()
	if n, isNumber := v.Number(); isNumber && !isBool {
		yes, isBool = n != 0, true
	}
	if yes {
		return nil
	}
	if r.reason != nil {
		if text, ok := r.reason.Eval(x, ad, ad).Text(); ok && text != "" {
			return fmt.Errorf("%s: %s", r.Key(), strings.TrimSpace(text[:min(len(text), longestReason)]))
		}
	}
	why := fmt.Errorf("%s: not met: %s", r.Key(), submitfile.Shorten(r.expr.String()))
	if !isBool {
		why = fmt.Errorf("%w is %s", why, v)
	}
	return why
}

// CycleConfig returns the settings of a cycle with compiled expressions. The queue of a policy with
// one queue is not set: that depends on the pool. An expression that does not parse is an error that
// names its key and where that was set.
func CycleConfig(cfg *config.Config) (negotiator.Config, error) {
	n := cfg.Cycle
	n.Params, n.VacateTimeout = cfg.Params, cfg.MachineMaxVacateTime+cfg.KillingTimeout
	var err error
	if n.Limits, err = concurrency.NewLimits(cfg.Limit, cfg.LimitOfSet, cfg.LimitOfName); err != nil {
		return n, err
	}
	for _, e := range []struct {
		key string
		to  **classad.Expr
	}{
		{"NEGOTIATOR_PRE_JOB_RANK", &n.PreJobRank},
		{"NEGOTIATOR_POST_JOB_RANK", &n.PostJobRank},
		{"PREEMPTION_REQUIREMENTS", &n.Preemption.Requirements},
		{"PREEMPTION_RANK", &n.Preemption.Rank},
		{"GROUP_SORT_EXPR", &n.Quotas.SortExpr},
		{"SLOT_WEIGHT", &n.SlotWeight},
		{"NEGOTIATOR_JOB_CONSTRAINT", &n.JobConstraint},
		{"NEGOTIATOR_SLOT_CONSTRAINT", &n.SlotConstraint},
		{"NEGOTIATOR_SLOT_POOLSIZE_CONSTRAINT", &n.PoolSizeConstraint},
	} {
		if *e.to, err = cfg.Expr(e.key); err != nil {
			return n, err
		}
	}
	if slices.ContainsFunc(cfg.Engines, func(e config.Engine) bool { return e.Kind == config.KindPool }) {
		rank := cmp.Or(cfg.Text("NEGOTIATOR_PRE_JOB_RANK"), "0")
		n.PreJobRank, err = classad.ParseExpr("(" + rank + ") + " + ownFirst)
	}
	return n, err
}

// ownFirst is a rank that has jobs take free slots of other pools only where none of the pool's own is free.
const ownFirst = "1.0e13 * (RemoteOwner =?= UNDEFINED && MY." + pool.AttrFlockedTo + " =?= UNDEFINED)"

// CheckConfig compiles all expressions of the configuration. Other commands compile only those that
// they need.
func CheckConfig(cfg *config.Config) error {
	for _, k := range config.Keys {
		if k.Kind != config.Expression {
			continue
		}
		if _, err := cfg.Expr(k.Name); err != nil {
			return err
		}
	}
	if _, err := compileRequirements(cfg); err != nil {
		return err
	}
	_, err := CycleConfig(cfg)
	return err
}

// Permit returns why the rights do not allow jobs, with the place in the description. It judges the ads of
// runs, whatever command has set an attribute. Jobs that appear later have the same (Settled).
func Permit(r policy.Rights, d *jobad.Jobs, c jobad.Cluster) error {
	ruled := r.Rules.Ruled()
	plain := false // whether the attributes that all jobs share were judged
	first := 0     // proc of the run
	for _, run := range c.Runs {
		ad, proc := c.Ad, first
		first += run.Count
		if run.Has(ruled...) {
			ad = run.Ad().Chain(c.Ad)
		} else if plain {
			continue
		} else {
			plain = true
		}
		if err := located(d, proc, r.Submit(ad)); err != nil {
			return err
		}
	}
	return nil
}

// located returns a refusal of a proc with the place in the description that it is about.
func located(d *jobad.Jobs, proc int, err error) error {
	var refusal *policy.Refusal
	if !errors.As(err, &refusal) {
		return err
	}
	err = d.Refuse(refusal.Attr, proc, refusal.Why)
	if placed := (*submitfile.Error)(nil); refusal.Attr == pool.AttrAccountingGroup && !errors.As(err, &placed) {
		return d.RefuseCommand("accounting_group_user", refusal.Attr, proc, refusal.Why) // the other command that sets it
	}
	return err
}

// settledNames returns the attributes, as the text of an ad, that jobs that appear later must have in common
// with the first jobs of their cluster; empty if an administrator submits them.
func settledNames(r policy.Rights, c jobad.Cluster) string {
	if r.Admin {
		return ""
	}
	ad := c.Runs[0].Ad().Chain(c.Ad)
	names := classad.New()
	for _, attr := range append(r.Rules.SettledFor(false), pool.AttrOwner) {
		if !strings.Contains(attr, "_") { // no command's name lacks it
			names.Set(attr, valueOf(ad, attr))
		}
	}
	return names.String()
}

// sameNames returns an error if jobs that appear now differ from settled, see settledNames.
func sameNames(settled string, c jobad.Cluster) error {
	if settled == "" {
		return nil
	}
	names, err := classad.ParseAd(settled)
	if err != nil {
		return err
	}
	attrs := names.OwnNames()
	for i, run := range c.Runs {
		if i > 0 && !run.Has(attrs...) {
			continue
		}
		ad := run.Ad().Chain(c.Ad)
		for _, attr := range attrs {
			want, is := valueOf(names, attr).Format(classad.StyleSpool), valueOf(ad, attr).Format(classad.StyleSpool)
			if want != is {
				return fmt.Errorf("%s: %s, where the jobs submitted with them have %s", attr, submitfile.Shorten(is), submitfile.Shorten(want))
			}
		}
	}
	return nil
}

// valueOf returns an attribute's expression; undefined without it.
func valueOf(ad *classad.Ad, attr string) *classad.Expr {
	if e, ok := ad.Lookup(attr); ok {
		return e
	}
	return classad.Literal(classad.Undefined())
}

// Barring is NEGOTIATOR_JOB_CONSTRAINT. Jobs that it bars are not part of the queue of a policy with one
// queue: they have no place there and do not affect other jobs. The zero Barring bars no job.
type Barring struct{ constraint *classad.Expr }

// BarringOf compiles the configured expression. The error says where it does not parse.
func BarringOf(cfg *config.Config) (b Barring, err error) {
	b.constraint, err = cfg.Expr("NEGOTIATOR_JOB_CONSTRAINT")
	return b, err
}

// Bars reports whether a proc of a run is barred.
func (b Barring) Bars(c *classad.Context, run spool.Run, proc int) bool {
	return b.constraint != nil && !b.constraint.Eval(c, run.Proc(proc), nil).True()
}

// TellsApart reports whether some procs of a run may be barred and others not.
func (b Barring) TellsApart(run spool.Run) bool {
	return b.constraint != nil && run.TellsApart(b.constraint)
}

// Reads returns the names of the job attributes that the answer depends on; ok is false if it may depend
// on any attribute.
func (b Barring) Reads() (names []string, ok bool) {
	if b.constraint == nil {
		return nil, true
	}
	if strings.Contains(strings.ToLower(b.constraint.String()), "eval") {
		return nil, false
	}
	own, external := classad.References(b.constraint, classad.New())
	return append(own, external...), own != nil || external != nil
}
