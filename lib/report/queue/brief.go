package queue

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"fairspool/lib/clean"
	"fairspool/lib/jobargs"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/lifecycle"
	"fairspool/lib/negotiator"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
	"fairspool/lib/report/table"
	"fairspool/spool"
)

// briefly is a job in the brief layout. Jobs on one line have equal values.
type briefly struct {
	state string // in a word
	since string // for how long
	where string // the slot, or the reason in short
}

// briefState is a state of the brief layout: what that calls one job, several jobs, and what other texts call
// such jobs.
type briefState struct{ one, several, being string }

// briefStates are all of them, in the order of the last line.
var briefStates = [...]briefState{
	{"runs", "run", "running"}, {"suspended", "suspended", "suspended"}, {"starts", "start", "starting"}, {"leaves", "leave", "leaving"},
	{"waits", "wait", "waiting"}, {"held", "held", "held"}, {"ended", "ended", "ended"}, {"removed", "removed", "removed"},
}

// being returns what other texts call jobs in a state of the brief layout.
func being(one string) string {
	return briefStates[slices.IndexFunc(briefStates[:], func(s briefState) bool { return s.one == one })].being
}

// inWord returns the state of the procs, with this claim or nil, in a word of the brief layout.
func (r *reader) inWord(claim *pool.Claim) string {
	status := pool.Status(r.int(statusName))
	switch {
	case claim == nil:
	case claim.State == pool.Vacating, status == pool.Removed, status == pool.Held:
		return "leaves"
	case claim.State == pool.Promised:
		return "waits"
	case claim.State == pool.Matched:
		return "starts"
	case status == pool.Suspended:
		return "suspended"
	default:
		return "runs"
	}
	switch status {
	case pool.Removed:
		return "removed"
	case pool.Completed:
		return "ended"
	case pool.Held:
		return "held"
	}
	return "waits"
}

// inBrief fills in the brief layout's values, except those of the last cycle's report.
func (m *maker) inBrief(r *row) {
	now, since := m.context.Now, unix(cmp.Or(m.int(enteredName), r.key.QDate))
	b := &r.brief
	b.state = m.inWord(r.claim)
	switch {
	case r.claim != nil:
		b.where = clean.Line(r.slot)
		if since = r.at; r.claim.State == pool.Promised && b.state == "waits" {
			since = unix(r.key.QDate)
		}
	case b.state == "ended":
		b.where = ending(m.context, m.proc())
	case b.state == "held":
		b.where = m.heldFor()
	case r.state == "hqw":
		ok, either := jobpolicy.After(m.proc())
		b.where = "after " + numbers(append(ok, either...))
	case b.state == "waits":
		if later := unix(m.int(deferralName)); later.After(now) {
			b.where = "until " + soon(later, now)
		}
	}
	b.since = string(appendBriefly(nil, now.Sub(since)))
	r.at = time.Time{} // is not shown
	r.command = m.command()
}

// heldFor returns in short why a job is held.
func (r *reader) heldFor() string {
	const attribute = "The job attribute "
	why := clean.Line(r.text(holdName))
	switch code := r.int(codeName); {
	case code == jobpolicy.ByUser && strings.HasPrefix(why, "via "):
		if _, by, ok := strings.Cut(why, "(by user "); ok {
			return "by " + strings.TrimSuffix(by, ")")
		}
	case code == lifecycle.HeldAtSubmit:
		return "since submission"
	case code == jobpolicy.ByPolicy && strings.HasPrefix(why, attribute):
		name, _, _ := strings.Cut(why[len(attribute):], " ")
		return "by its " + name
	case code == jobpolicy.JobDuration, code == jobpolicy.ExecuteDuration, code == jobpolicy.WallTime:
		return "over its time limit"
	case code == jobpolicy.DependencyFailed:
		return "other jobs failed"
	}
	return why
}

// command returns the job's name, if it was given one, and its command: its program with
// the arguments, or its line for the shell.
func (r *reader) command() string {
	path := r.text(cmdName)
	if path == "" {
		return clean.Line(r.name()) // another user's
	}
	program := filepath.Base(path)
	words, _ := jobargs.FromAd(r.procs.Ad) // none of an ad that does not read
	line, name := program, r.text(batchName)
	if i := slices.Index(words, pool.BatchScriptPath); i >= 0 {
		// Of a batch script its interpreter says nothing: it goes by the name of the job.
		program, line, words = name, name, words[i+1:]
	}
	if path == "/bin/sh" && len(words) == 2 && words[0] == "-c" {
		line = words[1]
	} else {
		for _, w := range words {
			line += " " + quoted(w)
		}
	}
	if name != "" && name != program {
		line = name + ": " + line
	}
	return clean.Line(line)
}

// quoted returns a word as it is typed to a shell.
func quoted(w string) string {
	if w != "" && !strings.ContainsAny(w, " \t\n\"'\\$`*?[]{}()<>|&;#~!") {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// share takes up the command of another row that is to stand on this line: what both begin
// with is shown.
func (r *row) share(o *row) {
	if r.command == o.command {
		return
	}
	n := 0
	for n < len(r.command) && n < len(o.command) && r.command[n] == o.command[n] {
		n++
	}
	r.command, r.commands = r.command[:strings.LastIndexByte(r.command[:n], ' ')+1], true
}

// appendBriefly appends a length of time: 0:07, 12:30, 3h12m, 2d4h, 120d.
func appendBriefly(b []byte, d time.Duration) []byte {
	const day = 24 * time.Hour
	switch d = max(d, 0); {
	case d < time.Hour:
		return fmt.Appendf(b, "%d:%02d", d/time.Minute, d/time.Second%60)
	case d < day:
		return fmt.Appendf(b, "%dh%02dm", d/time.Hour, d/time.Minute%60)
	case d < 100*day:
		return fmt.Appendf(b, "%dd%dh", d/day, d/time.Hour%24)
	}
	return fmt.Appendf(b, "%dd", d/day)
}

// soon returns a point in time to come: the time of day if it is within a day, else the day.
func soon(t, now time.Time) string {
	if t.Sub(now) < 24*time.Hour {
		return t.Local().Format("15:04")
	}
	return t.Local().Format("2006-01-02")
}

// reasoned returns the rows with the reasons of waiting jobs that the last cycle's report
// and the claims have. A row of jobs with several reasons is divided.
func (q *Queue) reasoned(rows []*row) (list []*row) {
	last := sync.OnceValue(q.lastCycle)
	for _, r := range rows {
		switch {
		case r.claim != nil && r.claim.State == pool.Promised:
			r.brief.where = q.promisedBy(r)
		case r.state == "qw" && r.brief.where == "":
			list = append(list, last().divided(r)...)
			continue
		}
		list = append(list, r)
	}
	return list
}

// promisedBy says in short which job leaves the slot that is promised to another.
func (q *Queue) promisedBy(r *row) string {
	if c, ok := q.leaver(*r.claim); ok {
		return fmt.Sprintf("%v leaves first", c.Job)
	}
	return "holder leaves first"
}

// divided returns a row for each reason in short that the cycle has for the jobs of a row.
func (c cycle) divided(r *row) (list []*row) {
	parts := map[string]*row{}
	if c.unknown != "" {
		r.brief.where = unseen
		return []*row{r}
	}
	for _, v := range c.ofRow(r) {
		where := unseen
		if v.at > 0 {
			where = InShort(&c.report.Rejections[v.at-1])
		}
		part := parts[where]
		if part == nil {
			copied := *r
			part = &copied
			part.brief.where, part.ranges = where, nil
			parts[where], list = part, append(list, part)
		}
		part.ranges = joined(part.ranges, []pool.Procs{v.Procs})
	}
	return list
}

// unseen is the reason of a job that no cycle has looked at.
const unseen = "next cycle"

// InShort returns the reason of a rejection in a few words, and the whole one for a cause that
// is not known.
func InShort(x *negotiator.ReportedRejection) string {
	if x.Cause == negotiator.CauseConcurrencyLimit && len(x.Limits) > 0 {
		return "limit " + clean.Line(x.Limits[0])
	}
	if text, ok := causesInShort[x.Cause]; ok {
		return text
	}
	return clean.Line(x.Reason)
}

// Causes returns all causes that a reason is known for, by name.
func Causes() []negotiator.Cause {
	return slices.Sorted(func(yield func(negotiator.Cause) bool) {
		if yield(negotiator.CauseConcurrencyLimit) {
			maps.Keys(causesInShort)(yield)
		}
	})
}

var causesInShort = map[negotiator.Cause]string{
	negotiator.CauseNoSlots:          "no slots",
	negotiator.CauseRequirements:     "no slot matches",
	negotiator.CauseSlotRequirements: "no slot takes it",
	negotiator.CauseMaintenance:      "maintenance",
	negotiator.CauseTooWide:          "too large",
	negotiator.CauseTooSmall:         "slots too full",
	negotiator.CauseTaken:            "slots taken",
	negotiator.CauseClaimed:          "slots taken",
	negotiator.CauseReserved:         "slot is reserved",
	negotiator.CauseResting:          "slot rests",
	negotiator.CauseSlotConstraint:   "slots left out",
	negotiator.CauseBusy:             "slots busy",
	negotiator.CauseDrained:          "slots drained",
	negotiator.CauseBlocked:          "left out by policy",
	negotiator.CauseThrottle:         "limit of policy",
	negotiator.CauseJobConstraint:    "barred",
	negotiator.CauseSteps:            "put off: too many steps",
	negotiator.CauseCeiling:          "ceiling reached",
	negotiator.CauseQuota:            "quota of group",
	negotiator.CauseShare:            "share used up",
	negotiator.CauseSkipped:          "cluster skipped",
	negotiator.CauseOthers:           "others go first",
	negotiator.CauseOwnJobs:          "own jobs first",
}

// leastCommand is how many places of a line the command gets at least, if it needs them.
const leastCommand = 12

// briefID names the jobs of a row as commands do: 12.0, 12.0-99, 12.3,5-9.
func briefID(r *row) string {
	list := strings.Split(tasks(r.ranges), ",")
	for i, s := range list {
		list[i] = strings.TrimSuffix(s, ":1")
	}
	return fmt.Sprintf("%d.%s", r.cluster, strings.Join(list, ","))
}

// briefList writes the brief layout: the jobs, the jobs still to come, and the number of jobs
// in each state.
func (l Listing) briefList(w io.Writer, c columns, rows []*row) error {
	kept := l.Kept
	if !l.None() {
		kept = nil
	}
	rows = l.reasoned(rows)
	t := writer{columns: c, w: w}
	line := c.Width
	most := 0
	for _, r := range rows {
		if r.commands {
			r.command += cut
		}
		most = max(most, table.Width(r.command))
	}
	if c.Wide {
		t.shown, line = widened(c.shown, rows), math.MaxInt
	} else {
		t.shown, line = fitted(c.shown, rows, line, min(most, leastCommand))
	}
	if len(rows) > 0 {
		t.line(t.heading() + "command")
	}
	for _, r := range rows {
		for i := range t.shown {
			t.cell(&t.shown[i], r)
		}
		command, _ := table.Cut(r.command, line)
		t.line(command)
		if len(t.b) >= full && t.flush() != nil {
			break
		}
	}
	if err := t.flush(); err != nil {
		return err
	}
	if err := Kept(t.w, kept); err != nil {
		return err
	}
	if len(rows) == 0 && l.Named {
		return nil // that they do not exist is said elsewhere
	}
	for _, text := range wrapped(l.total(rows, kept), c.Width) {
		t.line(text)
	}
	return t.flush()
}

// wrapped returns a text with commas in lines of so many characters at most.
func wrapped(text string, width int) (lines []string) {
	for len(text) > width {
		i := strings.LastIndex(text[:width], ", ")
		if i < 0 {
			break
		}
		lines, text = append(lines, text[:i+1]), text[i+2:]
	}
	return append(lines, text)
}

// total returns the last line: the number of shown jobs in each state, or that there are
// none.
func (q *Queue) total(rows []*row, kept []spool.Factory) string {
	counts, all := map[string]int{}, 0
	for _, r := range rows {
		for _, s := range r.ranges {
			counts[r.brief.state] += s.Count()
			all += s.Count()
		}
	}
	if all == 0 {
		switch n := q.View.Len(); {
		case n > 0:
			return fmt.Sprintf("0 jobs shown of %d in the queue", n)
		case len(kept) > 0:
			return "0 jobs in the queue so far"
		}
		return "The queue is empty."
	}
	var words []string
	for _, s := range briefStates {
		if n := counts[s.one]; n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, plural.Pick(n, s.one, s.several)))
		}
	}
	return fmt.Sprintf("%s: %s", plural.Count(all, "job"), strings.Join(words, ", "))
}

// Line is a line of the brief layout.
type Line struct {
	Jobs  string // such as 12.0 or 12.0-99
	State string // one of StateWords
	Since string // for how long
	Where string // the slot, or the reason in short to wait or to be held
	// Command is the command as typed.
	Command string
}

// Lines returns the first lines of the brief layout, most at most, and how many more there are.
func (l Listing) Lines(most int) (lines []Line, more int) {
	l.Brief = true
	rows := l.reasoned(l.rows(l.columns(l.Options)))
	for _, r := range rows[:min(len(rows), most)] {
		if r.commands {
			r.command += cut
		}
		lines = append(lines, Line{briefID(r), being(r.brief.state), r.brief.since, r.brief.where, r.command})
	}
	return lines, len(rows) - len(lines)
}
