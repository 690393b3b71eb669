// Package health finds problems that keep a pool from running its jobs, or soon will: no
// cycles, matches that no starter takes up, slots of machines without a starter, damage, a
// full disk.
//
// Look judges a view of the spool by Facts, which are collected before it: the time, the disk,
// the locks. It reads neither all jobs nor all slots, so that monitoring may ask every minute.
package health

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/hooks"
	"fairspool/cmd/internal/joblog"
	"fairspool/cmd/internal/onchange"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/lifecycle"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
	"fairspool/lib/report"
	"fairspool/spool"
	"fairspool/spool/heard"
)

// Severity is the seriousness of a finding: the exit status for monitoring.
type Severity int

// The severities. Of an Unknown pool nothing can be told.
const (
	OK Severity = iota
	Warning
	Critical
	Unknown
)

var severities = [...]string{"OK", "WARNING", "CRITICAL", "UNKNOWN"}

// String returns the word that monitoring plug-ins print.
func (s Severity) String() string { return severities[s] }

// MarshalText returns the same.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Code names a kind of finding, for programs.
type Code string

// The codes. Unreadable and Damage end the look: nothing more is known.
const (
	Unreadable      Code = "Unreadable"
	Damage          Code = "Damage"
	LockHeld        Code = "LockHeld"
	DiskFull        Code = "DiskFull"
	NoCycle         Code = "NoCycle"
	CycleFailed     Code = "CycleFailed" // one that a change started, or its pass of starter
	NoSlots         Code = "NoSlots"
	OtherMachine    Code = "OtherMachine" // all slots are of machines without a starter
	NoStarter       Code = "NoStarter"    // some slots are
	NotHeardOf      Code = "NotHeardOf"   // the pilot of a machine
	MatchNotTaken   Code = "MatchNotTaken"
	SupervisorDied  Code = "SupervisorDied"
	ClockAhead      Code = "ClockAhead" // events are still to come
	ClockSet        Code = "ClockSet"
	JournalLong     Code = "JournalLong"
	ReportUnread    Code = "ReportUnreadable"
	EventsUnwritten Code = "EventsUnwritten"
	EventCommand    Code = "EventCommandFailed"
)

// Codes are all of them.
var Codes = []Code{
	Unreadable, Damage, LockHeld, DiskFull, NoCycle, CycleFailed, NoSlots, OtherMachine, NoStarter, NotHeardOf, MatchNotTaken,
	SupervisorDied, ClockAhead, ClockSet, JournalLong, ReportUnread, EventsUnwritten, EventCommand,
}

// Finding is one thing that is amiss.
type Finding struct {
	Code     Code
	Severity Severity
	// What is the finding, and Remedy the advice: a sentence each, without a capital and
	// a full stop.
	What, Remedy string
	// Machines are the machines of the slots concerned.
	Machines []string `json:",omitempty"`
	// Stops says that it keeps jobs waiting.
	Stops bool
}

// Line returns the finding in a line.
func (f Finding) Line() string {
	if f.Remedy == "" {
		return f.What
	}
	return f.What + ": " + f.Remedy
}

// Worst returns the severity of the worst finding, OK without any.
func Worst(all []Finding) (worst Severity) {
	for _, f := range all {
		worst = max(worst, f.Severity)
	}
	return worst
}

// Facts are the inputs of Look besides the view.
type Facts struct {
	At    accountant.Reading // policy time
	Clock time.Time          // the machine's, which dates files and locks
	Host  string             // this machine, as slots name it
	// Patience is HEALTH_TIMEOUT, ClaimTimeout REQUEST_CLAIM_TIMEOUT.
	Patience, ClaimTimeout time.Duration
	// OnChange says that cycles follow changes of the pool, so that an unchanged one needs
	// none.
	OnChange bool
	// Trouble is what went wrong with the last such cycle, and Troubled when; empty: nothing.
	Trouble  string
	Troubled time.Time

	// Hook is how an EVENT_COMMAND failed last, and Hooked when; empty: none did.
	Hook   string
	Hooked time.Time

	Cycled  time.Time // policy time of the last cycle; zero: none is known
	Report  error     // why cycle.json does not read; nil: it does, or is not there
	Disk    Disk
	Holders []spool.Holder
	Events  []joblog.Pending
	// Served is when starters have last looked after machines, by their names in lower case.
	Served map[string]time.Time
	// Died are the claims on this machine without a supervisor, by their LockName.
	Died map[string]bool
	// Silence returns the silence of a machine with a pilot; nil: it is not checked.
	Silence func(machine string) lifecycle.Silence
}

// Disk is the spool's file system, in bytes and files. Files is 0 if their number is unlimited.
type Disk struct{ Size, Free, Files, FreeFiles uint64 }

// Look returns the problems of a pool, the worst first. A *spool.DamageError of the view is left
// to the function that opened the view.
func Look(v *spool.View, f Facts) ([]Finding, error) {
	l := look{Facts: f, view: v, claims: v.Claims()}
	for _, step := range []func() error{l.locks, l.disk, l.cycle, l.failed, l.machines, l.supervisors, l.clock, l.spool} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(l.found, func(a, b Finding) int { return cmp.Compare(b.Severity, a.Severity) })
	return l.found, nil
}

// look is a look at work.
type look struct {
	Facts
	view   *spool.View
	claims []pool.Claim
	found  []Finding

	waits *waiting // once it is known
}

func (l *look) add(f Finding) { l.found = append(l.found, f) }

// clock reports events that are still to come, and a machine's clock that was set.
func (l *look) clock() error {
	if words := lifecycle.Beyond(l.view, l.At.Now); words != "" {
		l.add(Finding{Code: ClockAhead, Severity: Warning, What: words,
			Remedy: "set the machine's clock right, or wait until then"})
	}
	if words := lifecycle.ClockSet(l.At, l.Clock); words != "" {
		l.add(Finding{Code: ClockSet, Severity: Warning, What: words,
			Remedy: "the pool follows the clock after the next boot, or in the first cycle in which no job has a slot; let NTP keep the clock"})
	}
	return nil
}

// spool reports oddities of files, except damage, which ends the look.
func (l *look) spool() error {
	l.view.Factories()
	if n := l.view.Journal(); n > 2*spool.JournalSize {
		l.add(Finding{Code: JournalLong, Severity: Warning,
			What:   "the journal has " + megabytes(uint64(n)) + ", and cycles fold it at " + megabytes(spool.JournalSize),
			Remedy: "run spool compact, which says what is in the way"})
	}
	if l.Report != nil {
		f := Finding{Code: ReportUnread, Severity: Warning, What: legible(l.Report), Remedy: "make it a file that can be read, or remove it"}
		if errors.As(l.Report, new(*spool.DamageError)) || errors.Is(l.Report, spool.ErrOutdated) {
			f.Remedy = "the next cycle replaces it: run negotiate"
		}
		l.add(f)
	}
	l.events()
	l.hooks()
	return nil
}

// events reports ends of jobs that their event logs have lacked for long.
func (l *look) events() {
	var late []joblog.Pending
	for _, p := range l.Events {
		if l.Clock.Sub(p.Since) > l.Patience {
			late = append(late, p)
		}
	}
	if len(late) == 0 {
		return
	}
	oldest := slices.MinFunc(late, func(a, b joblog.Pending) int { return a.Since.Compare(b.Since) })
	what := "events of " + plural.Count(len(late), "ended attempt") + " have not been in the event log for " + age(l.Clock.Sub(oldest.Since))
	if len(oldest.Logs) > 0 {
		what += ", such as " + oldest.Logs[0]
	}
	l.add(Finding{Code: EventsUnwritten, Severity: Warning, What: what,
		Remedy: "run starter, which tries again; see that the folder is there and can be written to"})
}

// hookRecent is how long a command for events that failed is reported.
const hookRecent = time.Hour

// hooks reports a command of the operator's for events that failed.
func (l *look) hooks() {
	if ago := l.Clock.Sub(l.Hooked); l.Hook != "" && ago <= hookRecent {
		l.add(Finding{Code: EventCommand, Severity: Warning,
			What:   fmt.Sprintf("a command for events failed %s ago: %s", age(ago), l.Hook),
			Remedy: "run it by hand with the ad of a job on standard input; starter.log in the spool has more"})
	}
}

// locks reports processes that keep others waiting.
func (l *look) locks() error {
	for _, h := range l.Holders {
		patience := l.Patience
		if h.Lock == "lock" {
			patience = longestWait
		}
		held := l.Clock.Sub(h.Since)
		if !h.Stopped && (h.Since.IsZero() || held <= patience) {
			continue
		}
		f := Finding{Code: LockHeld, Severity: Critical, Stops: true}
		f.What = fmt.Sprintf("%s, process %d, has had %s", cmp.Or(h.Program, "another program"), h.PID, h.Lock)
		if !h.Since.IsZero() {
			f.What += " for " + age(held)
		}
		f.Remedy = fmt.Sprintf("see what it waits for, and end it with kill %d", h.PID)
		if h.Stopped {
			f.What += ", and is stopped"
			f.Remedy = fmt.Sprintf("let it go on with kill -CONT %d, or end it with kill -KILL %d", h.PID, h.PID)
		}
		if h.Lock == "fold.lock" {
			f.Severity, f.Stops = Warning, false
		}
		l.add(f)
	}
	return nil
}

// longestWait is how long writers wait for the lock of the spool if they are not told otherwise.
const longestWait = time.Minute

const (
	// A cycle writes a journal of up to so much, and then a fold does once more.
	leastBytes, leastFiles = 2 * spool.JournalSize, 100
	// A disk is nearly full with less than that free, and less than one part in so many.
	fewBytes, fewFiles, fewParts = 1 << 30, 10000, 20
)

// disk reports that the disk of the spool is full or nearly so.
func (l *look) disk() error {
	d := l.Disk
	is := func(free, size, few, least uint64) Severity {
		switch {
		case size == 0 || free >= few || free >= size/fewParts && free >= least:
			return OK
		case free < least:
			return Critical
		}
		return Warning
	}
	bytes, files := is(d.Free, d.Size, fewBytes, leastBytes), is(d.FreeFiles, d.Files, fewFiles, leastFiles)
	worst := max(bytes, files)
	if worst == OK {
		return nil
	}
	var left []string
	if bytes > OK {
		left = append(left, megabytes(d.Free)+" of "+megabytes(d.Size))
	}
	if files > OK {
		left = append(left, fmt.Sprintf("%d of %s", d.FreeFiles, plural.Count(int(d.Files), "inode")))
	}
	l.add(Finding{Code: DiskFull, Severity: worst, Stops: worst == Critical,
		What:   "the disk of the spool has only " + strings.Join(left, " and ") + " left",
		Remedy: "make room; spool archive moves old months elsewhere"})
	return nil
}

// supervisors reports jobs that run by the spool and have no supervisor.
func (l *look) supervisors() error {
	var died []pool.Claim
	for _, c := range l.claims {
		if supervised(c) && l.Died[c.LockName()] {
			died = append(died, c)
		}
	}
	if len(died) > 0 {
		l.add(Finding{Code: SupervisorDied, Severity: Warning,
			What:   "the supervisor of " + jobs(died) + " has died, and no starter has cleaned up after it",
			Remedy: "run starter, which makes such jobs idle again", Machines: []string{l.Host}})
	}
	return nil
}

// supervised reports whether a claim should have a supervisor.
func supervised(c pool.Claim) bool {
	return c.State == pool.RunningClaim || c.State == pool.Vacating
}

// Of looks at the spool that a command line names, and does not make one. Damage is a finding; the
// error says that nothing can be told.
func Of(c *cmdline.Call) ([]Finding, error) {
	s, err := c.ExistingSpool()
	var found []Finding
	if err == nil {
		found, err = In(c, s)
	}
	if damage, is := OfDamage(err); is {
		return []Finding{damage}, nil
	}
	return found, err
}

// OfDamage returns the finding that an error tells of, if that is of damage.
func OfDamage(err error) (f Finding, is bool) {
	damage := new(spool.DamageError)
	if !errors.As(err, &damage) {
		return f, false
	}
	return Finding{Code: Damage, Severity: Critical, Stops: true, What: legible(damage),
		Remedy: "spool check says what else is damaged, and spool-repair(7) what to do"}, true
}

// In looks at a spool that is open. The error may be a *spool.DamageError.
func In(c *cmdline.Call, s *spool.Spool) (found []Finding, err error) {
	_, found, err = Examine(c, s)
	return found, err
}

// Examine does as In, and returns the facts as well.
func Examine(c *cmdline.Call, s *spool.Spool) (f Facts, found []Finding, err error) {
	f, err = Gather(c, s)
	if err == nil {
		f.Died, err = died(s, f.Host)
	}
	if err == nil {
		err = s.View(func(v *spool.View) (err error) { found, err = Look(v, f); return err })
	}
	return f, found, err
}

// Gather returns the facts of a spool, except Died.
func Gather(c *cmdline.Call, s *spool.Spool) (f Facts, err error) {
	f = Facts{
		At: c.Reading(), Clock: time.Now(), Events: joblog.Unwritten(s),
		Patience: c.Config.HealthTimeout, ClaimTimeout: c.Config.Cycle.RequestClaimTimeout, Silence: Silences(c, s),
	}
	if f.Host, err = c.Hostname(); err != nil {
		return f, err
	}
	if f.Disk, err = diskOf(s.Dir()); err != nil {
		return f, err
	}
	if _, f.OnChange, err = c.OnChange(); err == nil && f.OnChange {
		f.Trouble, f.Troubled, err = onchange.Trouble(s.Dir())
	}
	if err != nil {
		return f, err
	}
	f.Hook, f.Hooked = hooks.Failed(s.Dir())
	if f.Served, err = s.Served(); err != nil {
		return f, err
	}
	if f.Holders, err = s.Holders("lock", "negotiate.lock", "fold.lock"); err != nil {
		return f, err
	}
	report, err := s.Report()
	if err == nil && report != nil {
		f.Cycled, err = timeOf(report)
	}
	f.Report = err
	return f, nil
}

// Silences returns what returns the silence of machines with a pilot.
func Silences(c *cmdline.Call, s *spool.Spool) func(machine string) lifecycle.Silence {
	boot, up := cmdline.Uptime()
	unheard := heard.By(s.Dir(), boot, up)
	return func(machine string) lifecycle.Silence {
		d, known := unheard(machine)
		return lifecycle.SilenceOf(d, known, c.Config.JobLease)
	}
}

// diskOf returns the space of a folder's file system for its owner.
func diskOf(dir string) (Disk, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return Disk{}, fmt.Errorf("%s: %w", dir, err)
	}
	block := uint64(st.Bsize)
	return Disk{Size: st.Blocks * block, Free: st.Bavail * block, Files: st.Files, FreeFiles: st.Ffree}, nil
}

// timeOf returns when the cycle of a report was.
func timeOf(text []byte) (time.Time, error) {
	head, err := report.HeadOf(text)
	switch {
	case err != nil:
		return time.Time{}, fmt.Errorf("cycle.json: %w", err)
	case head.Time == 0:
		return time.Time{}, errors.New("cycle.json: it has no Time")
	}
	return time.Unix(head.Time, 0), nil
}

// died returns the claims on a machine that have no supervisor, by their LockName. A supervisor
// that has just ended had a claim; if a later view still shows such a claim, it has no
// supervisor.
func died(s *spool.Spool, host string) (map[string]bool, error) {
	var here []pool.Claim
	err := s.View(func(v *spool.View) error {
		for _, c := range v.Claims() {
			if supervised(c) && strings.EqualFold(c.Machine, host) {
				here = append(here, c)
			}
		}
		return nil
	})
	all := map[string]bool{}
	for _, c := range here {
		locked, e := s.ClaimLocked(c.LockName())
		if e != nil {
			return nil, e
		}
		all[c.LockName()] = !locked
	}
	return all, err
}

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
			What:   fmt.Sprintf("the cycle that a change started failed %s ago: %s", age(ago), l.Trouble),
			Remedy: "run negotiate and starter, which show whether it still fails; negotiate.log in the spool has more"})
	}
	return nil
}

// waiting returns an idle job without a claim that has waited for longer than the Patience and
// should have had a cycle. It stops at the first.
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
	return slices.ContainsFunc(l.claims, supervised)
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

// mostNamed is how many machines or jobs a finding names.
const mostNamed = 3

// list names the first few of many.
func list(all []string, noun string) string {
	if len(all) > mostNamed+1 {
		all = append(all[:mostNamed:mostNamed], plural.Count(len(all)-mostNamed, "more "+noun))
	}
	return plural.List(all)
}

func names(machines []string) string { return list(machines, "machine") }

func jobs(claims []pool.Claim) string {
	var all []string
	for _, c := range claims {
		all = append(all, c.Job.String())
	}
	return plural.Noun(len(all), "job") + " " + list(all, "job")
}

// age words a duration, in the largest unit that it contains at least twice.
func age(d time.Duration) string {
	for _, u := range []struct {
		of   time.Duration
		noun string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}} {
		if d >= 2*u.of {
			return plural.Count(int(d/u.of), u.noun)
		}
	}
	return plural.Count(max(0, int(d/time.Second)), "second")
}

// megabytes words an amount of bytes.
func megabytes(n uint64) string {
	if n < 10<<30 {
		return fmt.Sprintf("%d MB", n>>20)
	}
	return fmt.Sprintf("%d GB", n>>30)
}

// legible returns an error without the advice that ours give.
func legible(err error) string {
	text, _, _ := strings.Cut(err.Error(), ": nothing was changed; ")
	return text
}
