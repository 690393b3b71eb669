// Package negotiate is the command that runs one negotiation cycle.
package negotiate

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/complete"
	"fairspool/cmd/internal/health"
	"fairspool/cmd/internal/joblog"
	"fairspool/cmd/internal/machine"
	"fairspool/cmd/internal/onchange"
	"fairspool/cmd/internal/whatif"
	"fairspool/lib/accountant"
	"fairspool/lib/config"
	"fairspool/lib/history"
	"fairspool/lib/lifecycle"
	"fairspool/lib/matchmaking"
	"fairspool/lib/negotiator"
	"fairspool/lib/report"
	"fairspool/lib/report/cycle"
	"fairspool/spool"
)

func Command() cmdline.Command {
	return cmdline.Command{
		Name:   "negotiate",
		Served: true, Here: func(c *cmdline.Call) bool { return c.Has("check-config") }, Before: whatif.Before,
		Brief: "match idle jobs with slots, once",
		Synopsis: []string{
			"[-json | -q] [options]",
			"-dry-run [-json | -q] [options]",
			"-what-if CHANGE ... [-json] [options]",
			"-explain JOB [-what-if CHANGE ...] [-json] [options]",
			"-health [-json | -q] [options]",
			"-check-config [-json | -q] [options]",
		},
		About: `Runs one negotiation cycle. It sorts the submitters by effective user priority (lower is better), gives each its share of the pool's weight, and matches their idle jobs, in order of job priority (higher is better), with the slots that the jobs rank best. starter then runs the matched jobs. Running jobs may have to leave for others, see preemption(7); groups may have quotas, see quotas(7). Where JOB_PRIORITY_POLICY is "maui" or "sge", there are no shares: one queue holds all jobs, in the order of maui(7) or sge(7).

Before matching, negotiate applies the jobs' own policy (periodic_hold and the like), checks which waiting jobs still depend on others, and creates jobs of clusters with max_materialize or max_idle. After matching, it sends mail about jobs that have ended.

Run it from cron, every minute or so. Cycles never overlap.

The report says what each submitter is entitled to and got, and why jobs were not matched. It is also written to cycle.json in the spool.

With -dry-run, -what-if or -explain nothing changes: negotiate computes the cycle as of now, and shows what it would do. A CHANGE is a command that changes something, such as ` + whatif.All().Examples() + ".",
		Flags: []cmdline.Flag{
			{Name: "dry-run", Help: "show what the cycle would do, and change nothing"},
			{Name: "what-if", Args: []string{"CHANGE"}, Repeat: true, Help: "show what would be different in the cycle after CHANGE, and change nothing; several -what-if apply in this order"},
			{Name: "explain", Args: []string{"JOB"}, Help: "show what a cluster or a job would be matched with, or why it would not be, and change nothing"},
			{Name: "health", Help: "show what keeps the pool from running jobs, or soon will, and what to do; exit with 0 (nothing), 1 (warning), 2 (critical) or 3 (unknown), as monitoring plug-ins do"},
			{Name: "check-config", Help: "check the configuration, and print each setting with the line that sets it; run no cycle"},
			{Name: "json", Help: "print the report as JSON"},
			{Name: "q", Aliases: []string{"quiet"}, Help: "print nothing unless something needs attention"},
			cmdline.Force,
			{Name: onchange.Flag, Help: "internal: run a cycle and a pass of starter; started by commands that have changed the queue"},
		},
		Examples: []cmdline.Example{
			{Does: "a line of a crontab", Line: "negotiate -q"},
			{Does: "who would get what", Line: "negotiate -dry-run"},
			{Does: "why does my job not start", Line: "negotiate -explain 12.0"},
			{Does: "what would alice lose with twice the factor", Line: "negotiate -what-if 'userprio -setfactor alice@example.org 2'"},
			{Does: "what would ten more slots bring", Line: "negotiate -what-if 'slots add 10 like slot1@node1'"},
			{Does: "would the jobs of a description start at once", Line: "negotiate -what-if 'submit analysis.sub'"},
			{Does: "is the pool healthy", Line: "negotiate -health"},
			{Does: "which settings differ from the defaults", Line: "negotiate -check-config | grep -v ' default '"},
		},
		Names:   complete.Names,
		Outputs: outputs, Run: run,
	}
}

// run does what the command line asks for: by default a cycle.
func run(c *cmdline.Call) error {
	o, err := optionsOf(c)
	switch {
	case err != nil:
		return err
	case o.checkConfig:
		return checkConfig(c, o)
	case o.health:
		return tellHealth(c, o)
	}
	who, err := c.Caller()
	if err != nil {
		return err
	}
	switch {
	case o.looks && !who.Admin && o.tries("config"):
		return fmt.Errorf("-what-if config: you are %s: only administrators may try settings, which may name files", who.Name)
	case o.looks:
		return look(c, o)
	case !who.Admin:
		return fmt.Errorf("you are %s: only administrators may run a cycle; -dry-run shows what it would do", who.Name)
	case o.driven:
		return drive(c, o)
	case o.quiet:
		err = runCycle(c, o, 0)
		if errors.Is(err, spool.ErrNegotiating) {
			return errors.Join(cmdline.ErrReported, err) // cron's next cycle will come
		}
		return err
	}
	return runCycle(c, o, c.LockWait())
}

// runCycle is the whole cycle: read, decide, write, tell. It waits no longer than wait for another
// one that runs.
func runCycle(c *cmdline.Call, o options, wait time.Duration) error {
	cfg, err := lifecycle.CycleConfig(c.Config)
	if err != nil {
		return err
	}
	if !o.quiet {
		warnOfConfig(c)
	}
	s, err := c.Spool()
	if err != nil {
		return err
	}
	matched := false
	err = s.Negotiating(wait, func() error {
		began := time.Now()
		if err := s.View(func(v *spool.View) error { return lifecycle.Refuse(v, c.Reading()) }); err != nil {
			return err
		}
		if err := machine.Serve(c, s); err != nil {
			return err
		}
		var of spending
		if err := s.View(func(v *spool.View) error { of.reading = lifecycle.ReadingOf(v); return nil }); err != nil {
			return err
		}
		joblog.Finish(s, c.Config.NobodySlotUser, c.Warn)
		last, unread := lastCycle(c, s, "it is kept as cycle.json.damaged, and cycles count from 1 again")
		var did report.Policy
		plan, err := still(c, s, cfg, &of, last)
		if err == nil && plan == nil {
			if did, err = prepare(c, s, cfg.Params, &of); err == nil {
				plan, err = match(c, s, cfg, &of)
			}
		}
		if err != nil {
			return err
		}
		matched = len(plan.Matches) > 0
		sample(c, s, plan, cfg.Params)
		if err = unread; err == nil {
			err = tell(c, o, s, plan, did, last, began)
		}
		mail(c, s, o.quiet)
		return err
	})
	if matched && !o.driven {
		c.Changed() // for the pass
	}
	if err == nil {
		fold(c, s, cfg.Params)
		warnOfMachines(c, o, s)
	}
	return err
}

// match computes the cycle's plan and makes its matches.
func match(c *cmdline.Call, s *spool.Spool, cfg negotiator.Config, of *spending) (*negotiator.Plan, error) {
	plan, seen, err := decide(c, s, cfg, *of)
	if err == nil && seen.Misspelt(cfg.Params.Groups) {
		if err = respell(c, s, cfg.Params); err == nil {
			plan, seen, err = decide(c, s, cfg, *of)
		}
	}
	if err == nil {
		err = apply(c, s, cfg, of, plan, seen)
	}
	if errors.Is(err, errReadTooLittle) {
		return match(c, s, cfg, of)
	}
	return plan, err
}

// apply makes a plan's matches.
func apply(c *cmdline.Call, s *spool.Spool, cfg negotiator.Config, of *spending, plan *negotiator.Plan, seen lifecycle.Snapshot) error {
	return lifecycle.Account(s, c.Reading(), func(tx *spool.Tx) error {
		plan.Matches = lifecycle.Match(tx, plan, seen, c.Now, cfg.Params)
		if !of.reading.Enough() {
			return errReadTooLittle
		}
		of.reading.Keep(tx)
		lifecycle.KeepPutOff(tx, of.putOff, plan.PutOff)
		if !c.OwnTime() {
			lifecycle.FollowClock(tx, cmdline.MachineClock())
		}
		return nil
	})
}

// errReadTooLittle says that matches were not made, since the part of the queue that was read
// did not suffice for that.
var errReadTooLittle = errors.New("more attributes have to be read")

// fewer is how many clusters fewer a cycle is to look at, or to look for those that are alike is not worth it.
const fewer = 5000

// still makes the plan of a cycle in which nothing is due by jobs' own policy, no job is to be made, and no job is matched, as in the last
// one: it looks at one job of those that are alike. It returns nil if the cycle is not known to be such a one, and has then changed nothing.
func still(c *cmdline.Call, s *spool.Spool, cfg negotiator.Config, of *spending, last report.Head) (plan *negotiator.Plan, err error) {
	if len(last.Cycles) == 0 || last.Cycles[0].Matched > 0 || !matchmaking.Represents(c.Config, cfg) {
		return nil, nil
	}
	var seen lifecycle.Snapshot
	if err := s.View(func(v *spool.View) error {
		if list, _ := lifecycle.Wanting(v, c.Config); len(list) > 0 {
			return nil
		}
		x, ok := of.reading.Represent(v, s.Domain(), c.Config.Groups, fewer)
		budgets := policyBudgets(c)
		if !ok || !x.Policies(c.Now, budgets) {
			return nil
		}
		if seen = matchmaking.See(x.View, matchmaking.Reader(s.Domain(), c.Config)); seen.Misspelt(cfg.Params.Groups) {
			return nil
		}
		seen.Pool.Taken, seen.Pool.Lacks = budgets.Taken(), of.reading.Lacks
		p := matchmaking.Compute(x.View, seen, c.Config, cfg, c.Now)
		if of.reading.Enough() && x.Expand(p) {
			of.reading.Looked(p.Looked)
			plan = p
		}
		return nil
	}); err != nil || plan == nil {
		return nil, err
	}
	warnOf(c, seen)
	if err = apply(c, s, cfg, of, plan, seen); errors.Is(err, errReadTooLittle) {
		return nil, nil
	}
	return plan, err
}

// prepare does what precedes a cycle, for jobs in the queue and for those still to come:
// what they wait for may have happened long ago.
func prepare(c *cmdline.Call, s *spool.Spool, p accountant.Params, of *spending) (did report.Policy, err error) {
	if did, err = policies(c, s, p, of, nil); err != nil {
		return did, err
	}
	waiting, err := materialize(c, s)
	if err == nil && len(waiting) > 0 {
		var more report.Policy
		more, err = policies(c, s, p, of, waiting)
		did.Merge(more)
	}
	of.report(&did)
	return did, err
}

// respell follows a configuration that spells the names of groups otherwise than
// before.
func respell(c *cmdline.Call, s *spool.Spool, p accountant.Params) error {
	return lifecycle.Account(s, c.Reading(), func(tx *spool.Tx) error {
		tx.Op("respell groups")
		lifecycle.Respell(tx, c.Now, p)
		return nil
	})
}

// fold keeps the journal short, and the tallies to those that count: both are
// done seldom, since both look at everything. The cycle is done by then, whatever
// comes of it.
func fold(c *cmdline.Call, s *spool.Spool, p accountant.Params) {
	done, err := s.Fold(spool.JournalSize, nil)
	if err == nil && done.Folded > 0 {
		err = s.Update(func(tx *spool.Tx) error {
			lifecycle.Prune(tx, c.Now, p)
			lifecycle.ForgetRead(tx)
			return nil
		})
	}
	if err != nil && !errors.Is(err, spool.ErrLocked) {
		c.Warn("the cycle is done, but the journal could not be folded: %v", err)
	}
}

// decide computes the cycle's plan on a snapshot of the spool.
func decide(c *cmdline.Call, s *spool.Spool, cfg negotiator.Config, of spending) (plan *negotiator.Plan, seen lifecycle.Snapshot, err error) {
	err = s.View(func(v *spool.View) error {
		err := of.reading.Look(v, func(v *spool.View) error {
			seen = matchmaking.See(v, matchmaking.Reader(s.Domain(), c.Config))
			seen.Pool.Taken, seen.Pool.Lacks = of.budgets.Taken(), of.reading.Lacks
			plan = matchmaking.Compute(v, seen, c.Config, cfg, c.Now)
			return nil
		})
		if err == nil {
			of.reading.Looked(plan.Looked)
			of.reading.Extract(v)
		}
		return err
	})
	if err == nil {
		warnOf(c, seen)
	}
	return plan, seen, err
}

// warnOfConfig warns of problems in the configuration that are no errors.
func warnOfConfig(c *cmdline.Call) {
	for _, w := range c.Config.Warnings {
		c.Warn("%s", w)
	}
}

// warnOf warns of problems in a snapshot.
func warnOf(c *cmdline.Call, seen lifecycle.Snapshot) {
	for _, bad := range seen.Bad {
		c.Warn("%v", bad)
	}
	if late := lifecycle.Late(seen.Pool.Submitters, c.Now); late != "" {
		c.Warn("%s", late)
	}
}

// checkConfig compiles the expressions of the configuration, and prints each setting with its
// source.
func checkConfig(c *cmdline.Call, o options) error {
	if err := lifecycle.CheckConfig(c.Config); err != nil {
		return err
	}
	warnOfConfig(c)
	lines := c.Config.Lines()
	switch {
	case o.quiet:
		return nil
	case o.json:
		return c.JSON(struct{ Settings []config.Line }{lines})
	}
	rows := make([][]string, len(lines))
	for i, l := range lines {
		rows[i] = []string{l.Key, l.From, l.Text()}
	}
	return c.Table([]cmdline.Column{{Head: "Setting"}, {Head: "From"}, {Head: "Value"}}, rows)
}

// sample records the moment after the cycle for userprio -history. Errors become
// warnings, as the cycle is done.
func sample(c *cmdline.Call, s *spool.Spool, plan *negotiator.Plan, p accountant.Params) {
	m := history.Moment{Now: c.Now, Demand: map[string]float64{}, Params: p}
	for _, share := range plan.Submitters {
		if share.Idle > 0 { // the share of idle jobs left after the cycle's matches
			m.Demand[share.Name] = share.Demand * float64(share.Idle-share.Matched) / float64(share.Idle)
		}
	}
	err := s.View(func(v *spool.View) error { m.Records, m.Past = v.Submitters(), lifecycle.Past(v); return nil })
	if err == nil {
		err = s.AddSamples(m)
	}
	if err != nil {
		c.Warn("the cycle is done, but nothing was noted for userprio -history: %v", err)
	}
}

// state is what -health prints with -json.
type state struct {
	Status   health.Severity // the first finding's, which is the worst
	Findings []health.Finding
}

// tellHealth prints the pool's problems, and exits as monitoring plug-ins do.
func tellHealth(c *cmdline.Call, o options) error {
	found, err := health.Of(c)
	if err != nil {
		found = []health.Finding{{Code: health.Unreadable, Severity: health.Unknown, What: err.Error(), Stops: true}}
	}
	worst := health.Worst(found)
	switch {
	case o.json:
		err = c.JSON(state{worst, append([]health.Finding{}, found...)})
	case len(found) == 0 && !o.quiet:
		_, err = fmt.Fprintf(c.Stdout, "%v - nothing is amiss\n", worst)
	default:
		for _, f := range found {
			if _, err = fmt.Fprintf(c.Stdout, "%v - %s\n", f.Severity, f.Line()); err != nil {
				break
			}
		}
	}
	if err == nil {
		err = c.Flush()
	}
	if err != nil {
		return err
	}
	return cmdline.ExitStatus(int(worst))
}

// warnOfMachines warns on a terminal, after a cycle, of slots whose machines have no starter.
func warnOfMachines(c *cmdline.Call, o options, s *spool.Spool) {
	if o.json || o.quiet || !c.Terminal() || c.Flush() != nil {
		return
	}
	found, err := health.In(c, s)
	if err != nil {
		return // the cycle is done; the next command that reads the damaged part reports it
	}
	for _, f := range found {
		if f.Code == health.OtherMachine || f.Code == health.NoStarter {
			c.Warn("warning: %s", f.Line())
		}
	}
}

// options are the options of the command line.
type options struct {
	json, quiet bool
	checkConfig bool // -check-config
	health      bool // -health
	looks       bool // nothing is changed
	driven      bool // a command that has changed the queue asks for the cycle
	job         *cycle.Asked
	changes     []whatif.Change
}

// refusals are the options that do not go together, in the order in which they are
// refused.
var refusals = []cmdline.Refusal{
	{Option: "check-config", Others: []string{"dry-run", "what-if", "explain", "health"}},
	{Option: "health", Others: []string{"dry-run", "what-if", "explain", cmdline.Force.Name}},
	{Option: "json", Others: []string{"q"}},
	{Option: "what-if", Others: []string{"q"}},
	{Option: "explain", Others: []string{"q"}},
}

// optionsOf reads the command line. Errors are about its usage.
func optionsOf(c *cmdline.Call) (o options, err error) {
	o = options{
		json: c.Has("json"), quiet: c.Has("q"), checkConfig: c.Has("check-config"), health: c.Has("health"), driven: c.Has(onchange.Flag),
		looks: c.Has("dry-run") || c.Has("what-if") || c.Has("explain"),
	}
	switch {
	case len(c.Args) > 0 && (o.checkConfig || o.health):
		return o, cmdline.Usagef("%s: unexpected argument", c.Args[0])
	case len(c.Args) > 0:
		return o, cmdline.Usagef("%s: takes no argument; see negotiate -help", c.Args[0])
	}
	if err := cmdline.Refuse(c.Has, refusals...); err != nil {
		return o, err
	}
	if o.changes, err = whatif.All().Read(c); err != nil {
		return o, err
	}
	if c.Has("explain") {
		if o.job, err = cycle.ParseAsked(c.Value("explain")); err != nil {
			return o, cmdline.Usagef("-explain: %v", err)
		}
	}
	return o, nil
}

// tries reports whether a kind of changes is tried.
func (o options) tries(kind string) bool {
	return slices.ContainsFunc(o.changes, func(ch whatif.Change) bool { return ch.Kind == kind })
}
