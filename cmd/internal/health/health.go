// Package health finds out what keeps a pool from running its jobs, or soon will: no cycles,
// matches that no starter takes up, slots of machines without a starter, damage, a full disk.
//
// Look judges what a view of the spool holds by Facts, which are found out before it: the time,
// the disk, the locks. It reads neither all jobs nor all slots, so that monitoring may ask every
// minute.
package health

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"fairspool/cmd/internal/joblog"
	"fairspool/cmd/internal/operation"
	"fairspool/lib/accountant"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Severity is how bad something is: the exit status by which monitoring knows it.
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

// The codes. Of an Unreadable spool nothing can be told; that of a Damage ends the look.
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
	MatchNotTaken   Code = "MatchNotTaken"
	SupervisorDied  Code = "SupervisorDied"
	ClockAhead      Code = "ClockAhead" // events are still to come
	ClockSet        Code = "ClockSet"
	JournalLong     Code = "JournalLong"
	ReportUnread    Code = "ReportUnreadable"
	EventsUnwritten Code = "EventsUnwritten"
)

// Codes are all of them.
var Codes = []Code{
	Unreadable, Damage, LockHeld, DiskFull, NoCycle, CycleFailed, NoSlots, OtherMachine, NoStarter, MatchNotTaken,
	SupervisorDied, ClockAhead, ClockSet, JournalLong, ReportUnread, EventsUnwritten,
}

// Finding is one thing that is amiss.
type Finding struct {
	Code     Code
	Severity Severity
	// What is what was found, and Remedy what to do about it: a sentence each, without a
	// capital and a full stop.
	What, Remedy string
	// Machines are those whose slots it is about.
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

// Facts are what Look judges by beside the view.
type Facts struct {
	At    accountant.Reading // policy time
	Clock time.Time          // the machine's, by which files and locks are dated
	Host  string             // this machine, as slots name it
	// Patience is HEALTH_TIMEOUT, ClaimTimeout REQUEST_CLAIM_TIMEOUT.
	Patience, ClaimTimeout time.Duration
	// OnChange says that cycles follow changes of the pool, so that an unchanged one needs
	// none.
	OnChange bool
	// Trouble is what went wrong with the last such cycle, and Troubled when; empty: nothing.
	Trouble  string
	Troubled time.Time

	Cycled  time.Time // policy time of the last cycle; zero: none is known
	Report  error     // why cycle.json does not read; nil: it does, or is not there
	Disk    Disk
	Holders []spool.Holder
	Events  []joblog.Pending
	// Served is when starters have last looked after machines, by their names in lower case.
	Served map[string]time.Time
	// Died are the claims on this machine without a supervisor, by their LockName.
	Died map[string]bool
}

// Disk is what the spool's file system has, in bytes and files. Files is 0 where their number has
// no bound.
type Disk struct{ Size, Free, Files, FreeFiles uint64 }

// Look returns what is amiss in a pool, the worst first. A *spool.DamageError that the view meets
// leaves the function that was given the view.
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

// clock reports events that are still to come, and that the clock was set.
func (l *look) clock() error {
	if words := operation.Beyond(l.view, l.At.Now); words != "" {
		l.add(Finding{Code: ClockAhead, Severity: Warning, What: words,
			Remedy: "set the machine's clock right, or wait until then"})
	}
	if words := operation.ClockSet(l.view, l.At); words != "" {
		l.add(Finding{Code: ClockSet, Severity: Warning, What: words,
			Remedy: "the next cycle notes it; let NTP keep the clock"})
	}
	return nil
}

// spool reports what is odd about files, beside damage, which ends the look.
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
			What:   "the supervisor of " + jobs(died) + " has died, and nothing has looked after what it left",
			Remedy: "run starter, which makes such jobs idle again", Machines: []string{l.Host}})
	}
	return nil
}

// supervised reports whether a claim should have a supervisor.
func supervised(c pool.Claim) bool {
	return c.State == pool.RunningClaim || c.State == pool.Vacating
}
