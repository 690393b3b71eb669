// Package replay is the command that runs recorded jobs through the pool's operations under one or several configurations.
package replay

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"fairspool/cmd/internal/chart"
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/whatif"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/lifecycle"
	"fairspool/lib/plural"
	"fairspool/lib/policy/registry"
	"fairspool/lib/pool"
	"fairspool/lib/replay"
	"fairspool/lib/report/accounts"
	"fairspool/lib/workload"
	"fairspool/spool"
)

// Command returns the command.
func Command() cmdline.Command {
	return cmdline.Command{
		Name:  "replay",
		Brief: "run recorded jobs under other configurations",
		Synopsis: []string{
			"[options] [WORKLOAD]",
			"[-with FILE] ... [-what-if CHANGE] ... [-json | -csv jobs|users] [-html FILE] [-plot PICTURE FILE] ... [options] [WORKLOAD]",
			"-convert [WORKLOAD]",
		},
		About: `Runs recorded jobs through the cycles of a pool in memory, with the operations that negotiate and starter use, and shows how long they would have waited. Each -with and each -what-if adds a configuration, which is compared with that of the pool.

WORKLOAD is a file, or - for standard input: in the Standard Workload Format, CSV with the columns job,submit,run,cores,user, the output of condor_history -json or sacct -P, or Grid Engine's accounting file; gzip may compress it. Without it, the jobs are those of the pool's own history.

The pool has the slots of -slots, or else those of the spool. Jobs have their recorded time of submission, run time and cores. The spool does not change.`,
		Flags: []cmdline.Flag{
			{Name: "slots", Args: []string{"N[xCORES]"}, Help: "use N slots of CORES cores each (default 1) instead of the spool's slots"},
			{Name: "with", Args: []string{"FILE"}, Repeat: true, Help: "also run the jobs with this configuration"},
			{Name: "what-if", Args: []string{"CHANGE"}, Repeat: true, Help: "also run the jobs after a change at the start: a CHANGE of negotiate that changes no jobs, such as " + whatif.OfPool().Examples()},
			{Name: "interval", Args: []string{"SECONDS"}, Help: "the time between two cycles (default NEGOTIATOR_INTERVAL)"},
			{Name: "wide", Args: []string{"cores|split|drop"}, Help: "what to do with jobs of several cores: give them as many of one slot (cores, the default), make them as many jobs of one core (split), or leave them out (drop)"},
			{Name: "arrivals", Args: []string{"open|dependent"}, Help: "submit jobs when they were submitted (open, the default), or a think time after the end of the jobs that their user had waited for (dependent), for which the workload has to have waits"},
			{Name: "shake", Args: []string{"N"}, Help: "run each configuration N more times, each time with submissions moved by up to a minute, and mark the differences that such moves alone make"},
			{Name: "users", Help: "also print a line for each user, those first whose wait the configurations change most"},
			{Name: "json", Help: "print all as JSON"},
			{Name: "csv", Args: []string{"jobs|users"}, Help: "print CSV: a row for each job, or for each user, and configuration"},
			{Name: "html", Args: []string{"FILE"}, Help: "also write a page with all tables and pictures; with - write nothing else"},
			{Name: "plot", Args: []string{"PICTURE", "FILE"}, Repeat: true, Help: "also draw a picture into a FILE that ends in .svg or .png: users (who waits longer, who shorter), held (cores held and entitled to), queue (and utilisation), waits (a heat map), slowdown (curves)"},
			{Name: "convert", Help: "print the workload as CSV, and run nothing"},
		},
		Examples: []cmdline.Example{
			{Does: "how long would last month's jobs wait with a half-life of a week", Line: "replay -what-if 'config PRIORITY_HALFLIFE=604800'"},
			{Does: "who gains and who loses with another configuration", Line: "replay -users -with new.toml"},
			{Does: "the same as a page with pictures", Line: "replay -html new.html -with new.toml"},
			{Does: "a trace of another site on a pool of 100 machines of 16 cores", Line: "replay -slots 100x16 LCG-2005.swf.gz"},
			{Does: "a row for each job", Line: "replay -csv jobs -slots 1600 LCG-2005.swf.gz > jobs.csv"},
			{Does: "Slurm's jobs of November", Line: "sacct -a -X -P -S 2026-11-01 -o JobID,User,Account,Submit,Start,End,AllocCPUS | replay -slots 40x64 -"},
		},
		Here: func(c *cmdline.Call) bool {
			return c.Has("convert") && len(c.Args) > 0 || c.Has("slots") && len(c.Args) > 0
		},
		Outputs: func() []cmdline.Output { return []cmdline.Output{{Name: "replay", Value: report{}}} },
		Run:     run,
	}
}

// options are what the command line says.
type options struct {
	slots, cores int
	interval     time.Duration // 0: NEGOTIATOR_INTERVAL
	wide         replay.Wide
	dependent    bool   // -arrivals
	following    int    // jobs that are submitted after others then
	form         string // json, csv, convert or empty
	csv          string // jobs or users
	html         string // the file of the page
	plots        []plotted
	users        bool
	shake        int
}

// plotted is a picture that is asked for.
type plotted struct {
	drawing
	file string
}

// pictures reads what is to be drawn.
func (o *options) pictures(c *cmdline.Call) error {
	for _, args := range c.Repeated("plot") {
		i := slices.IndexFunc(drawings, func(d drawing) bool { return d.name == args[0] })
		if i < 0 {
			return cmdline.Usagef("-plot: %q: want %s or %s", args[0], strings.Join(drawn()[:len(drawings)-1], ", "), drawn()[len(drawings)-1])
		}
		if _, ok := chart.FormatOf(args[1]); !ok {
			return cmdline.Usagef("-plot %s: %q: want a file whose name ends in .%s", args[0], args[1], strings.Join(chart.Formats(), " or ."))
		}
		o.plots = append(o.plots, plotted{drawings[i], args[1]})
	}
	o.html = c.Value("html")
	for _, p := range append(o.plots, plotted{file: o.html}) { // now, not after a long run
		if info, err := os.Stat(filepath.Dir(p.file)); err != nil || !info.IsDir() {
			return fmt.Errorf("%s: there is no such folder", p.file)
		}
	}
	switch {
	case c.Has("html") && o.html == "":
		return cmdline.Usagef("-html: want the name of a file, or - for standard output")
	case o.html == "-" && o.form != "":
		return cmdline.Usagef("-html: the page goes to standard output: name a file, with -%s", o.form)
	case o.form == "convert" && (o.html != "" || len(o.plots) > 0):
		return cmdline.Usagef("-convert: it runs nothing, so there is nothing to draw")
	}
	return nil
}

func optionsOf(c *cmdline.Call) (o options, err error) {
	if len(c.Args) > 1 {
		return o, cmdline.Usagef("want one WORKLOAD")
	}
	if o.form, err = c.One("json", "csv", "convert"); err != nil {
		return o, err
	}
	if err := o.pictures(c); err != nil {
		return o, err
	}
	o.users, o.cores, o.wide = c.Has("users"), 1, cmp.Or(replay.Wide(c.Value("wide")), replay.Cores)
	if !slices.Contains(replay.Widths, o.wide) {
		return o, cmdline.Usagef("-wide: %q: want cores, split or drop", o.wide)
	}
	switch text := cmp.Or(c.Value("arrivals"), open); text {
	case open, dependent:
		o.dependent = text == dependent
	default:
		return o, cmdline.Usagef("-arrivals: %q: want open or dependent", text)
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

// What -arrivals may say.
const (
	open      = "open"
	dependent = "dependent"
)

const (
	now      = "now"      // the name of the pool's own configuration
	recorded = "recorded" // that of what happened to the jobs where they were recorded
)

// variant is a configuration under which the jobs run.
type variant struct {
	name   string
	config *config.Config
	change *whatif.Change // nil: none
	pool   *spool.Spool   // as it is at the start, with the change made; nil behind the run
	slots  int
	cores  int64
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

func run(c *cmdline.Call) error {
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
	p, err := poolOf(c, o, w.Start)
	if err != nil {
		return err
	}
	widest, err := prepare(c, p, w.Start, variants)
	if err != nil {
		return err
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
	if o.dependent {
		if w, o.following, err = w.Dependent(); err != nil {
			return fmt.Errorf("-arrivals dependent: %w", err)
		}
	}
	r, ok := replay.Recorded(w)
	if !ok && len(variants) == 1 && slices.ContainsFunc(o.plots, func(p plotted) bool { return p.name == changed.name }) {
		return fmt.Errorf("-plot %s: %s", changed.name, changed.none)
	}
	if err := all(c, o, w, p, variants); err != nil {
		return err
	}
	if ok {
		before := &variant{name: recorded, result: r}
		before.Measures, before.users = replay.Measure(w, r)
		variants = slices.Insert(variants, 0, before)
	}
	for _, v := range variants {
		endless := 0
		for _, f := range v.result.Fates {
			if f.Starts > 0 && f.End < 0 {
				endless++
			}
		}
		if endless > 0 {
			c.Warn("%s: %s", v.name, plural.Pick(endless, "1 job never ends: others preempt it each time", "%d jobs never end: others preempt them each time"))
		}
		if v.NotStarted > endless {
			c.Warn("%s: %s", v.name, plural.Pick(v.NotStarted-endless, "1 job never started: no slot takes it", "%d jobs never started: no slot takes them"))
		}
	}
	if o.html == "" && len(o.plots) == 0 {
		return o.print(c, w, p, variants)
	}
	g := newGallery(c, o, w, p, variants)
	if o.html == "-" {
		text, err := g.page(o)
		if err == nil {
			_, err = c.Data().Write(text)
		}
		return errors.Join(err, o.draw(c, g))
	}
	return errors.Join(o.print(c, w, p, variants), o.draw(c, g))
}

// print prints what was found in the form that is asked for.
func (o options) print(c *cmdline.Call, w *workload.Workload, p pooled, variants []*variant) error {
	switch o.form {
	case "json":
		return c.JSON(reportOf(w, p, o.following, variants))
	case "csv":
		return writeCSV(c, o, w, variants)
	}
	return write(c, o, p, variants)
}

// draw writes the pictures and the page that go into files.
func (o options) draw(c *cmdline.Call, g *gallery) error {
	for _, p := range o.plots {
		if err := p.write(c, g, p.file); err != nil {
			return err
		}
	}
	if o.html == "" || o.html == "-" {
		return nil
	}
	text, err := g.page(o)
	if err != nil {
		return err
	}
	if _, err := c.Replace(o.html, 0o666, func(w io.Writer) error { _, err := w.Write(text); return err }); err != nil {
		return fmt.Errorf("%s: %w", o.html, cmdline.Cause(err))
	}
	return nil
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
	changes, err := whatif.OfPool().Read(c)
	if err != nil {
		return nil, err
	}
	for _, ch := range changes {
		if ch.Undo {
			return nil, ch.Of(cmdline.Usagef("-undo: the edits of the pool's history are made when they were made"))
		}
		list = append(list, &variant{name: strings.TrimPrefix(ch.Text, "config "), config: c.Config, change: &ch})
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
	edits    []accountant.Edit // that were made to them later
	past     *replay.Past      // of the slots, as the spool recorded it; nil: they stay as they are
	source   string            // of the slots
}

// Where the slots come from.
const (
	ofOption   = "slots"    // -slots
	ofSpool    = "spool"    // those that it has now
	ofRecorded = "recorded" // those that it had
)

// poolOf returns the pool: as -slots says, or the spool's. Where the spool is read, its accounts count: with its own history as
// they were at the start, else as they are now, without their usage.
func poolOf(c *cmdline.Call, o options, start time.Time) (p pooled, err error) {
	p.domain, p.source = cmp.Or(c.Config.UIDDomain, "replay"), ofSpool
	if o.slots > 0 {
		p.source = ofOption
		if p.slots, err = replay.Slots(o.slots, o.cores); err != nil || len(c.Args) > 0 {
			return p, err
		}
	}
	s, err := c.ExistingSpool()
	if err != nil {
		return p, fmt.Errorf("%w; -slots N[xCORES] says how large the pool is", err)
	}
	p.domain = s.Domain()
	if len(c.Args) == 0 {
		past, damage, err := accounts.Pool{Spool: s}.Then(start, c.Config.Params)
		if err != nil {
			return p, err
		}
		for _, d := range damage {
			c.Warn("%v", d)
		}
		p.accounts, p.edits = past.Records, past.Edits
		if o.slots == 0 {
			if err := p.recollect(c, s, start); err != nil {
				return p, err
			}
		}
	}
	err = s.View(func(v *spool.View) error {
		for _, r := range v.Submitters() {
			if len(c.Args) > 0 {
				r = r.AsOf(c.Now, c.Config.Params).Settings()
				r.FactorLease, r.CeilingLease, r.FloorLease = accountant.Lease{}, accountant.Lease{}, accountant.Lease{}
				p.accounts = append(p.accounts, r)
			}
		}
		if o.slots > 0 {
			return nil
		}
		slots, bad := v.Slots()
		for _, b := range bad {
			c.Warn("%v", b)
		}
		for _, slot := range slots {
			if p.past == nil || slot.Source != "" { // no log has slots written by hand
				p.slots = append(p.slots, slot.Ad.Clone())
			}
		}
		return nil
	})
	if err == nil && len(p.slots) == 0 && (p.past == nil || len(p.past.Events) == 0) {
		err = errors.New("the pool has no slots; -slots N[xCORES] says how large one is to be")
	}
	return p, err
}

// recollect takes the slots that the spool had at the start and later.
func (p *pooled) recollect(c *cmdline.Call, s *spool.Spool, start time.Time) error {
	t, err := spool.TakersAt(s, start)
	if err != nil {
		return err
	}
	if !t.Known.IsZero() {
		c.Warn("the spool does not know which slots came and went before %s: until then the pool has those of that time", t.Known.In(c.Now.Location()).Format(time.DateTime))
	}
	p.past, p.source = replay.PastOf(t, start), ofRecorded
	p.slots = p.past.Slots
	return nil
}

// prepare makes the pool of each configuration. It returns the number of cores of the widest slot of all.
func prepare(c *cmdline.Call, p pooled, start time.Time, variants []*variant) (widest int, err error) {
	if p.past != nil {
		widest = int(p.past.Widest)
	}
	for _, v := range variants {
		if v.pool, v.config, err = v.begun(c, p, start); err != nil {
			return 0, err
		}
		if err := v.pool.View(func(view *spool.View) error {
			slots, _ := view.Slots()
			for _, slot := range slots {
				n, _ := slot.Ad.EvalInt(&classad.Context{}, pool.AttrCpus)
				v.slots, v.cores, widest = v.slots+1, v.cores+n, max(widest, int(n))
			}
			return nil
		}); err != nil {
			return 0, err
		}
	}
	return widest, nil
}

// begun returns the pool as it is at the start, in a spool in memory, and the configuration, both with the change made.
func (v *variant) begun(c *cmdline.Call, p pooled, start time.Time) (*spool.Spool, *config.Config, error) {
	s, cfg := spool.InMemory(p.domain), v.config
	s.At(start)
	if err := replay.Put(s, p.slots, p.accounts); err != nil {
		return nil, nil, err
	}
	if p.past != nil {
		if err := s.Update(func(tx *spool.Tx) error { tx.Op("slots"); p.past.PutTakers(tx); return nil }); err != nil {
			return nil, nil, err
		}
	}
	if v.change != nil {
		w := whatif.NewWorld(c, s)
		w.Now = start
		if err := w.Make(*v.change); err != nil {
			return nil, nil, v.change.Of(err)
		}
		cfg = w.Config
	}
	return s, cfg, s.Update(func(tx *spool.Tx) error { lifecycle.Respell(tx, start, cfg.Params); return nil })
}

// all runs the jobs under all configurations, as many at once as there are processors.
func all(c *cmdline.Call, o options, w *workload.Workload, p pooled, variants []*variant) error {
	progress := c.Progress("replaying")
	defer progress.End()
	garbage, undo := moreGarbage(min(runtime.GOMAXPROCS(0), len(variants)*(o.shake+1)))
	defer undo()
	var watched []string
	if o.html != "" || len(o.plots) > 0 {
		watched = busiest(w, mostWatched)
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
	quiet := *c
	quiet.Stderr = io.Discard
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
			s := t.pool
			if t.number > 0 { // one of its own, about which all has been said
				lock.Lock()
				s, _, errs[i] = t.begun(&quiet, p, w.Start)
				lock.Unlock()
			}
			if errs[i] != nil {
				return
			}
			errs[i] = t.run(w, p, s, t.number, replay.Settings{Interval: o.interval, Watched: watched, Told: func(ended, all int) error {
				garbage.collect()
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

// collector collects garbage between two cycles, before the runtime does it by itself: that would go on beside cycles and slow them
// down, the more so on one processor.
type collector struct {
	lock sync.Mutex
	most uint64 // bytes in memory with which it is done
	left uint64 // bytes that were in use when it was done last
	made uint64 // bytes that had been made by then
}

// collect collects garbage if there is much, unless that is under way.
func (c *collector) collect() {
	if !c.lock.TryLock() {
		return
	}
	defer c.lock.Unlock()
	if _, made := memory(); c.left+made-c.made > max(c.most, 2*c.left) {
		runtime.GC()
		c.left, c.made = memory()
	}
}

// memory returns how many bytes were in use when garbage was collected last, and how many have been made.
func memory() (used, made uint64) {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64(), s[1].Value.Uint64()
}

// moreGarbage leaves it to a collector to collect garbage, as long as there is room: replays, of which so many run at once, keep
// little of what they make. The function that it returns undoes that.
func moreGarbage(replays int) (*collector, func()) {
	const room = 1100 << 20
	before, most := debug.SetGCPercent(-1), debug.SetMemoryLimit(-1)
	limit := min(most, int64(replays)*room)
	debug.SetMemoryLimit(limit)
	return &collector{most: uint64(limit) / 2}, func() {
		debug.SetGCPercent(before)
		debug.SetMemoryLimit(most)
	}
}

// errGivenUp ends a replay beside one that failed.
var errGivenUp = errors.New("given up")

// run runs the jobs under one configuration: as they were recorded, or with shaken submissions.
func (v *variant) run(w *workload.Workload, p pooled, in *spool.Spool, number int, s replay.Settings) error {
	s.Config, s.Spool = v.config, in
	for _, e := range p.edits {
		s.Events = append(s.Events, replay.Edit(e, w.Start, v.config.Params))
	}
	if p.past != nil {
		s.Events = append(s.Events, p.past.Events...)
		slices.SortStableFunc(s.Events, func(a, b replay.Event) int { return cmp.Compare(a.At, b.At) })
	}
	if s.Interval == 0 {
		s.Interval = v.config.CycleInterval
	}
	if number > 0 {
		w, s.Watched = w.Shaken(number), nil
	}
	result, err := replay.Run(w, s)
	switch {
	case err != nil:
		return err
	case number == 0:
		v.result, v.pool = result, nil
		v.Measures, v.users = replay.Measure(w, result)
	default:
		m, users := replay.Measure(w, result)
		v.shaken[number-1] = shaken{m, users}
	}
	return nil
}
