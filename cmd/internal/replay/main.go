// Package replay is the command that runs recorded jobs through the pool's operations under one or several configurations.
package replay

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/history"
	"fairspool/lib/plural"
	"fairspool/lib/policy/registry"
	"fairspool/lib/pool"
	"fairspool/lib/replay"
	"fairspool/lib/workload"
	"fairspool/spool"
)

// Plot draws series, as chart.Plot does.
type Plot func(c *cmdline.Call, title string, series func() ([]history.Series, error)) error

// Command returns the command.
func Command(plot Plot) cmdline.Command {
	return cmdline.Command{
		Name:  "replay",
		Brief: "run recorded jobs under other configurations",
		Synopsis: []string{
			"[options] [WORKLOAD]",
			"[-with FILE] ... [-what-if CHANGE] ... [-json | -csv jobs|users] [options] [WORKLOAD]",
			"-convert [WORKLOAD]",
		},
		About: `Runs recorded jobs through the cycles of a pool in memory, with the operations that negotiate and starter use, and shows how long they would have waited. Each -with and each -what-if adds a configuration, which is compared with that of the pool.

WORKLOAD is a file, or - for standard input: in the Standard Workload Format, CSV with the columns job,submit,run,cores,user, the output of condor_history -json or sacct -P, or Grid Engine's accounting file; gzip may compress it. Without it, the jobs are those of the pool's own history.

The pool has the slots of -slots, or else those of the spool. Jobs have their recorded time of submission, run time and cores. The spool does not change.`,
		Flags: []cmdline.Flag{
			{Name: "slots", Args: []string{"N[xCORES]"}, Help: "use N slots of CORES cores each (default 1) instead of the spool's slots"},
			{Name: "with", Args: []string{"FILE"}, Repeat: true, Help: "also run the jobs with this configuration"},
			{Name: "what-if", Args: []string{"CHANGE"}, Repeat: true, Help: "also run the jobs after a change: 'config KEY=VALUE ...'"},
			{Name: "interval", Args: []string{"SECONDS"}, Help: "the time between two cycles (default NEGOTIATOR_INTERVAL)"},
			{Name: "wide", Args: []string{"cores|split|drop"}, Help: "what to do with jobs of several cores: give them as many of one slot (cores, the default), make them as many jobs of one core (split), or leave them out (drop)"},
			{Name: "shake", Args: []string{"N"}, Help: "run each configuration N more times, each time with submissions moved by up to a minute, and mark the differences that such moves alone make"},
			{Name: "users", Help: "also print a line for each user, those first whose wait the configurations change most"},
			{Name: "json", Help: "print all as JSON"},
			{Name: "csv", Args: []string{"jobs|users"}, Help: "print CSV: a row for each job, or for each user, and configuration"},
			{Name: "plot", Args: []string{"FILE"}, Help: "draw effective priorities and cores in use of the last configuration, into a FILE that ends in .svg or .png, or - for the terminal"},
			{Name: "convert", Help: "print the workload as CSV, and run nothing"},
		},
		Examples: []cmdline.Example{
			{Does: "how long would last month's jobs wait with a half-life of a week", Line: "replay -what-if 'config PRIORITY_HALFLIFE=604800'"},
			{Does: "who gains and who loses with another configuration", Line: "replay -users -with new.toml"},
			{Does: "a trace of another site on a pool of 100 machines of 16 cores", Line: "replay -slots 100x16 LCG-2005.swf.gz"},
			{Does: "a row for each job", Line: "replay -csv jobs -slots 1600 LCG-2005.swf.gz > jobs.csv"},
			{Does: "Slurm's jobs of November", Line: "sacct -a -X -P -S 2026-11-01 -o JobID,User,Account,Submit,Start,End,AllocCPUS | replay -slots 40x64 -"},
		},
		Here: func(c *cmdline.Call) bool {
			return c.Has("convert") && len(c.Args) > 0 || c.Has("slots") && len(c.Args) > 0
		},
		Outputs: func() []cmdline.Output { return []cmdline.Output{{Name: "replay", Value: report{}}} },
		Run:     func(c *cmdline.Call) error { return run(c, plot) },
	}
}

// options are what the command line says.
type options struct {
	slots, cores int
	interval     time.Duration // 0: NEGOTIATOR_INTERVAL
	wide         replay.Wide
	form         string // json, csv, plot, convert or empty
	csv          string // jobs or users
	users        bool
	shake        int
}

func optionsOf(c *cmdline.Call) (o options, err error) {
	if len(c.Args) > 1 {
		return o, cmdline.Usagef("want one WORKLOAD")
	}
	if o.form, err = c.One("json", "csv", "plot", "convert"); err != nil {
		return o, err
	}
	o.users, o.cores, o.wide = c.Has("users"), 1, cmp.Or(replay.Wide(c.Value("wide")), replay.Cores)
	if !slices.Contains(replay.Widths, o.wide) {
		return o, cmdline.Usagef("-wide: %q: want cores, split or drop", o.wide)
	}
	if o.csv = c.Value("csv"); o.form == "csv" && o.csv != "jobs" && o.csv != "users" {
		return o, cmdline.Usagef("-csv: %q: want jobs or users", o.csv)
	}
	if text := c.Value("slots"); text != "" {
		n, cores, wide := strings.Cut(text, "x")
		o.slots, err = strconv.Atoi(n)
		if err == nil && wide {
			o.cores, err = strconv.Atoi(cores)
		}
		const mostSlots, mostCores = 1_000_000, 100_000
		if err != nil || o.slots < 1 || o.cores < 1 || o.slots > mostSlots || o.cores > mostCores {
			return o, cmdline.Usagef("-slots: %q: want up to %d slots, and up to %d cores each, like 100 or 100x16", text, mostSlots, mostCores)
		}
	}
	if text := c.Value("shake"); text != "" {
		const most = 1000
		if o.shake, err = strconv.Atoi(text); err != nil || o.shake < 1 || o.shake > most {
			return o, cmdline.Usagef("-shake: %q: want a number of runs, from 1 to %d", text, most)
		}
		if o.form != "" && o.form != "json" {
			return o, cmdline.Usagef("-shake: only with the table and -json, not with -%s", o.form)
		}
	}
	if text := c.Value("interval"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 1_000_000 {
			return o, cmdline.Usagef("-interval: %q: want whole seconds, from 1 to 1000000", text)
		}
		o.interval = time.Duration(n) * time.Second
	}
	return o, nil
}

const (
	now      = "now"      // the name of the pool's own configuration
	recorded = "recorded" // that of what happened to the jobs where they were recorded
)

// variant is a configuration under which the jobs run.
type variant struct {
	name   string
	config *config.Config
	result *replay.Result
	replay.Measures
	users  []replay.User
	shaken []shaken // what its runs with shaken submissions come to
}

// shaken is what a run with shaken submissions comes to.
type shaken struct {
	replay.Measures
	Users []replay.User
}

// values returns a measure of the run, and then of those with shaken submissions.
func (v *variant) values(of func(replay.Measures) float64) []float64 {
	list := []float64{of(v.Measures)}
	for _, s := range v.shaken {
		list = append(list, of(s.Measures))
	}
	return list
}

// waits returns the mean wait of a user in the run, and then in those with shaken submissions.
func (v *variant) waits(user int) []float64 {
	list := []float64{v.users[user].Wait}
	for _, s := range v.shaken {
		list = append(list, s.Users[user].Wait)
	}
	return list
}

func run(c *cmdline.Call, plot Plot) error {
	o, err := optionsOf(c)
	if err != nil {
		return err
	}
	variants, err := variantsOf(c)
	if err != nil {
		return err
	}
	w, err := read(c)
	if err != nil {
		return err
	}
	tell(c, w)
	if o.form == "convert" {
		return convert(c, w)
	}
	p, err := poolOf(c, o)
	if err != nil {
		return err
	}
	widest := 0
	for _, ad := range p.slots {
		n, _ := ad.EvalInt(&classad.Context{}, pool.AttrCpus)
		widest = max(widest, int(n))
	}
	w, wide := o.wide.Apply(w, widest)
	if wide > 0 {
		c.Warn("%s", map[replay.Wide]string{
			replay.Cores: fmt.Sprintf("%s for more cores than any slot has: left out; -wide split takes them for jobs of one core", plural.Pick(wide, "1 job asks", "%d jobs ask")),
			replay.Split: fmt.Sprintf("%s taken for jobs of one core, %d jobs in all", plural.Pick(wide, "1 job for several cores is", "%d jobs for several cores are"), len(w.Jobs)),
			replay.Drop:  fmt.Sprintf("%s left out", plural.Pick(wide, "1 job for several cores is", "%d jobs for several cores are")),
		}[o.wide])
	}
	if len(w.Jobs) == 0 {
		return errors.New("no job is left to run")
	}
	if err := all(c, o, w, p, variants); err != nil {
		return err
	}
	if r, ok := replay.Recorded(w); ok {
		before := &variant{name: recorded, result: r}
		before.Measures, before.users = replay.Measure(w, r)
		variants = slices.Insert(variants, 0, before)
	}
	for _, v := range variants {
		if v.NotStarted > 0 {
			c.Warn("%s: %s", v.name, plural.Pick(v.NotStarted, "1 job never started: no slot takes it", "%d jobs never started: no slot takes them"))
		}
	}
	switch o.form {
	case "json":
		return c.JSON(reportOf(w, p, variants))
	case "csv":
		return writeCSV(c, o, w, variants)
	case "plot":
		last := variants[len(variants)-1]
		return plot(c, "replay, "+last.name, func() ([]history.Series, error) { return last.result.Series, nil })
	}
	return write(c, o, variants)
}

// variantsOf returns the configurations: the pool's own, and those that are asked for.
func variantsOf(c *cmdline.Call) ([]*variant, error) {
	list := []*variant{{name: now, config: c.Config}}
	for _, args := range c.Repeated("with") {
		cfg, err := registry.Load(args[0])
		if err != nil {
			return nil, fmt.Errorf("-with %s: %w", args[0], cmdline.Cause(err))
		}
		list = append(list, &variant{name: args[0], config: &cfg})
	}
	for _, args := range c.Repeated("what-if") {
		words := strings.Fields(args[0])
		if len(words) < 2 || words[0] != "config" {
			return nil, cmdline.Usagef("-what-if '%s': want a change like 'config PRIORITY_HALFLIFE=604800'", args[0])
		}
		cfg, err := c.Config.With(words[1:])
		if err != nil {
			return nil, fmt.Errorf("-what-if '%s': %w", args[0], err)
		}
		list = append(list, &variant{name: strings.Join(words[1:], " "), config: &cfg})
	}
	return list, nil
}

// read reads the workload: a file's, or the pool's own history.
func read(c *cmdline.Call) (*workload.Workload, error) {
	progress := c.Progress("reading")
	defer progress.End()
	if len(c.Args) == 0 {
		s, err := c.ExistingSpool()
		if err != nil {
			return nil, fmt.Errorf("%w; replay WORKLOAD reads a file", err)
		}
		w, err := workload.OfHistory(func(each func(*classad.Ad) bool) error { return s.History(spool.Left{}, each) })
		if err != nil {
			return nil, fmt.Errorf("the pool's history: %w", err)
		}
		return w, nil
	}
	name := c.Args[0]
	in := io.NopCloser(c.Stdin)
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, cmdline.Cause(err))
		}
		in = f
	}
	defer in.Close()
	w, err := workload.Read(in, func(jobs int) { progress.Count(jobs, "jobs") })
	var wrong *workload.Error
	switch {
	case errors.As(err, &wrong):
		return nil, fmt.Errorf("%s:%d: %s", name, wrong.Line, wrong.What)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, cmdline.Cause(err))
	}
	return w, nil
}

// tell says what is left out of a workload, and what is unknown.
func tell(c *cmdline.Call, w *workload.Workload) {
	for _, n := range w.Left {
		c.Warn("%s left out: %s", plural.Pick(n.Jobs, "1 job is", "%d jobs are"), n.What)
	}
	for _, n := range w.Unknown {
		c.Warn("%s: unknown %s", plural.Count(n.Jobs, "job"), n.What)
	}
}

// pooled is the pool that the jobs run in.
type pooled struct {
	domain   string
	slots    []*classad.Ad
	accounts []accountant.Record
}

// poolOf returns the pool: as -slots says, or the spool's. Where the spool is read, its accounts count.
func poolOf(c *cmdline.Call, o options) (p pooled, err error) {
	p.domain = cmp.Or(c.Config.UIDDomain, "replay")
	if o.slots > 0 {
		if p.slots, err = replay.Slots(o.slots, o.cores); err != nil || len(c.Args) > 0 {
			return p, err
		}
	}
	s, err := c.ExistingSpool()
	if err != nil {
		return p, fmt.Errorf("%w; -slots N[xCORES] says how large the pool is", err)
	}
	p.domain = s.Domain()
	err = s.View(func(v *spool.View) error {
		p.accounts = v.Submitters()
		if o.slots > 0 {
			return nil
		}
		slots, bad := v.Slots()
		for _, b := range bad {
			c.Warn("%v", b)
		}
		for _, slot := range slots {
			p.slots = append(p.slots, slot.Ad.Clone())
		}
		return nil
	})
	if err == nil && len(p.slots) == 0 {
		err = errors.New("the pool has no slots; -slots N[xCORES] says how large one is to be")
	}
	return p, err
}

// all runs the jobs under all configurations, as many at once as there are processors.
func all(c *cmdline.Call, o options, w *workload.Workload, p pooled, variants []*variant) error {
	progress := c.Progress("replaying")
	defer progress.End()
	defer moreGarbage()()
	samples := 0
	if o.form == "plot" {
		samples = 1000
	}
	type trial struct {
		*variant
		number int // of the shaken workload; 0: it is as it was recorded
	}
	var trials []trial
	for _, v := range variants {
		v.shaken = make([]shaken, o.shake)
		for n := range o.shake + 1 {
			trials = append(trials, trial{v, n})
		}
	}
	var lock sync.Mutex
	var failed atomic.Bool
	done := make([]int, len(trials))
	errs := make([]error, len(trials))
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	var wait sync.WaitGroup
	for i, t := range trials {
		wait.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			errs[i] = t.run(w, p, t.number, replay.Settings{Interval: o.interval, Samples: samples, Told: func(ended, all int) error {
				lock.Lock()
				defer lock.Unlock()
				done[i] = ended
				sum := 0
				for _, n := range done {
					sum += n
				}
				progress.Step(sum, all*len(trials))
				if failed.Load() {
					return errGivenUp
				}
				return nil
			}})
			if errs[i] != nil {
				failed.Store(true)
			}
		})
	}
	wait.Wait()
	for i, err := range errs {
		if err != nil && !errors.Is(err, errGivenUp) {
			return fmt.Errorf("%s: %w", trials[i].name, err)
		}
	}
	return nil
}

// moreGarbage has the collector come more rarely, as long as there is room: replays keep little of what they make. The function
// that it returns undoes that.
func moreGarbage() func() {
	const percent, room = 400, 768 << 20
	before, most := debug.SetGCPercent(percent), debug.SetMemoryLimit(-1)
	debug.SetMemoryLimit(min(most, room))
	return func() {
		debug.SetGCPercent(before)
		debug.SetMemoryLimit(most)
	}
}

// errGivenUp ends a replay beside one that failed.
var errGivenUp = errors.New("given up")

// run runs the jobs under one configuration: as they were recorded, or with shaken submissions.
func (v *variant) run(w *workload.Workload, p pooled, number int, s replay.Settings) error {
	s.Config, s.Spool = v.config, spool.InMemory(p.domain)
	if s.Interval == 0 {
		s.Interval = v.config.CycleInterval
	}
	if number > 0 {
		w = w.Shaken(number)
	}
	if err := replay.Put(s.Spool, p.slots, p.accounts); err != nil {
		return err
	}
	result, err := replay.Run(w, s)
	switch {
	case err != nil:
		return err
	case number == 0:
		v.result = result
		v.Measures, v.users = replay.Measure(w, result)
	default:
		m, users := replay.Measure(w, result)
		v.shaken[number-1] = shaken{m, users}
	}
	return nil
}
