package qstat

import (
	"fmt"
	"io"
	"iter"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/cmd/internal/adprint"
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/selection"
	"fairspool/lib/classad"
	"fairspool/lib/clean"
	"fairspool/lib/elapsed"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// pastFlags are those of -history.
var pastFlags = []cmdline.Flag{
	{Name: "history", Help: "show the jobs that have left the queue, the last one first: when they began and ended, how they ended, how long they ran and how long they waited for their first start (D+HH:MM:SS)"},
	{Name: "limit", Args: []string{"N"}, Help: "with -history, show N jobs at most"},
	{Name: "since", Args: []string{"TIME"}, Help: "with -history, show jobs that ended at TIME or later: Unix seconds, RFC 3339, a day, or so long ago, such as 90m, 2h or 1d"},
}

// past is what a command line asks to be shown of the jobs that have left the
// queue.
type past struct {
	call  *cmdline.Call
	form  string // "" for the table, or long, json, af
	limit int    // 0: none
	line  func() int
	which spool.Left
	// named and chosen tell whether a job is wanted.
	named      func(*classad.Ad) bool
	users      map[string]bool // nil: any
	constraint *selection.Constraint
}

// pastOf reads the command line. Errors are about its usage.
func pastOf(c *cmdline.Call) (past, error) {
	p := past{call: c, line: lineOf(c)}
	if err := only(c, "-history", "j", "f", "ne", "r", "g", "s", "q", "pri", "urg", "ext", "xml", "wait", "brief", "sge", "start"); err != nil {
		return p, err
	}
	var err error
	if p.form, err = c.One("long", "json", "af"); err != nil {
		return p, err
	}
	if c.Has("limit") {
		n, err := strconv.ParseUint(c.Value("limit"), 10, 31)
		if err != nil || n == 0 {
			return p, cmdline.Usagef("-limit: %q: want a whole number from 1 up", c.Value("limit"))
		}
		p.limit = int(n)
	}
	names, err := named(c, "")
	if err != nil {
		return p, err
	}
	p.which, p.named = names.Past()
	if users := strings.Split(c.Value("u"), ","); c.Has("u") && len(c.Args) > 0 && !slices.Contains(users, everybody) {
		p.users = map[string]bool{}
		for _, u := range users {
			p.users[u] = true
		}
	}
	if c.Has("since") {
		if _, err := c.Spool(); err != nil { // from now on it is the pool's time
			return p, err
		}
		if p.which.Since, err = cmdline.ParseSince(c.Value("since"), c.Now); err != nil {
			return p, cmdline.Usagef("-since: %v", err)
		}
	}
	if c.Has("constraint") {
		if p.constraint, err = selection.ParseConstraint(c.Value("constraint"), c.Config.Cycle.Steps); err != nil {
			return p, cmdline.Usagef("%v", err)
		}
	}
	return p, nil
}

// show writes what is asked for as of now.
func (p past) show(w io.Writer, now time.Time) error {
	c := *p.call
	c.Stdout, c.Now = w, now
	s, err := c.Spool()
	if err != nil {
		return err
	}
	p.call = &c
	var failed error
	ads := p.ads(s, &failed)
	if p.form == "" {
		err = pastTable(&c, p.line(), ads)
	} else {
		err = adprint.Print(&c, p.form, ads)
	}
	if failed != nil {
		return failed
	}
	return err
}

// ads goes through the ads that are wanted, the last job first, and notes what
// goes wrong.
func (p past) ads(s *spool.Spool, failed *error) iter.Seq[*classad.Ad] {
	return func(yield func(*classad.Ad) bool) {
		shown := 0
		err := s.History(p.which, func(ad *classad.Ad) bool {
			yes, err := p.wants(ad)
			if !yes || err != nil {
				*failed = err
				return err == nil
			}
			shown++
			return yield(ad) && shown != p.limit
		})
		if *failed == nil {
			*failed = err
		}
	}
}

// wants reports whether a job is wanted.
func (p past) wants(ad *classad.Ad) (bool, error) {
	if !p.named(ad) || p.users != nil && !ofUser(ad, p.users) {
		return false, nil
	}
	if p.constraint == nil {
		return true, nil
	}
	one := pool.Only(idOf(ad))
	kept, err := p.constraint.Of([]selection.Procs{{Procs: one, Run: spool.Run{Procs: one, Ad: ad}}}, p.call.Now)
	return len(kept) > 0, err
}

// ofUser reports whether a job is one of the users'.
func ofUser(ad *classad.Ad, users map[string]bool) bool {
	for _, attr := range [2]string{pool.AttrOwner, pool.AttrUser} {
		if user, ok := ad.EvalString(&classad.Context{}, attr); ok && users[user] {
			return true
		}
	}
	return false
}

// idOf returns the id that an ad gives.
func idOf(ad *classad.Ad) pool.JobID {
	number := func(name string) int {
		if n, ok := ad.EvalInt(&classad.Context{}, name); ok {
			return int(n)
		}
		return 0
	}
	return pool.JobID{Cluster: number(pool.AttrClusterID), Proc: number(pool.AttrProcID)}
}

// life is the course of a job that has ended.
type life struct {
	id                        pool.JobID
	name, user, how           string
	submitted, started, ended time.Time     // started is that of the last attempt; zero: it did not start
	ran                       time.Duration // in all attempts
	waited                    time.Duration // for the first start, or in vain
}

// lifeOf reads it from the job's ad.
func lifeOf(c *classad.Context, ad *classad.Ad) life {
	at := func(name string) time.Time {
		if n, ok := ad.EvalInt(c, name); ok && n > 0 {
			return unix(n)
		}
		return time.Time{}
	}
	owner, _ := ad.EvalString(c, pool.AttrOwner)
	l := life{
		id: idOf(ad), name: jobName(c, ad), user: owner, how: ending(c, ad), submitted: at(pool.AttrQDate),
		started: at(pool.AttrCurrentStartDate), ended: at(pool.AttrEnteredStatus),
	}
	if wall, ok := ad.EvalNumber(c, pool.AttrWallClock); ok {
		l.ran = seconds(wall)
	}
	served := l.ended
	if first := at(pool.AttrJobStartDate); !first.IsZero() {
		served = first
	}
	if !served.IsZero() && !l.submitted.IsZero() {
		l.waited = max(served.Sub(l.submitted), 0)
	}
	return l
}

// seconds returns a length of time, bounded as the type is.
func seconds(n float64) time.Duration {
	const most = float64(1<<63-1) / float64(time.Second)
	if !(n > 0) {
		return 0
	}
	if n >= most {
		return 1<<63 - 1
	}
	return time.Duration(n * float64(time.Second))
}

// ending says how a job ended.
func ending(c *classad.Context, ad *classad.Ad) string {
	status, _ := ad.EvalInt(c, pool.AttrJobStatus)
	if pool.Status(status) == pool.Removed {
		if why, ok := ad.EvalString(c, pool.AttrRemoveReason); ok && why != "" {
			return "removed: " + why
		}
		return "removed"
	}
	if by, ok := ad.EvalBool(c, pool.AttrExitBySignal); ok && by {
		n, _ := ad.EvalInt(c, pool.AttrExitSignal)
		return fmt.Sprintf("signal %d", n)
	}
	if n, ok := ad.EvalInt(c, pool.AttrExitCode); ok {
		return fmt.Sprintf("exit %d", n)
	}
	return ""
}

// jobName returns a job's name: what its user called it, else its program.
func jobName(c *classad.Context, ad *classad.Ad) string {
	if name, ok := ad.EvalString(c, pool.AttrJobBatchName); ok && name != "" {
		return name
	}
	cmd, _ := ad.EvalString(c, pool.AttrCmd)
	return filepath.Base(cmd)
}

const (
	pastRule = 144
	// leastHow is what a terminal has room for of how a job ended, at least.
	leastHow = 16
)

// pastColumns are those before how it ended. On a narrow terminal they are left out in the
// order of leaves, which the others have 0 for. Only names are cut.
var pastColumns = [...]struct {
	head          string
	width, leaves int
	right, cut    bool
	cell          func(l *life) string
}{
	{head: "job-ID", width: 11, cell: func(l *life) string { return l.id.String() }},
	{head: "name", width: 10, leaves: 5, cut: true, cell: func(l *life) string { return clean.Line(l.name) }},
	{head: "user", width: 12, cut: true, cell: func(l *life) string { return clean.Line(l.user) }},
	{head: "submitted", width: 19, leaves: 1, cell: func(l *life) string { return moment(l.submitted) }},
	{head: "started", width: 19, leaves: 3, cell: func(l *life) string { return moment(l.started) }},
	{head: "ended", width: 19, cell: func(l *life) string { return moment(l.ended) }},
	{head: "run time", width: 14, leaves: 4, right: true, cell: func(l *life) string { return dayTime(l.ran) }},
	{head: "waited", width: 13, leaves: 2, right: true, cell: func(l *life) string { return dayTime(l.waited) }},
}

// pastRow is what is shown of a job: the cells of pastColumns, and how it ended.
type pastRow struct {
	cells [len(pastColumns)]string
	how   string
}

func pastRowOf(ctx *classad.Context, ad *classad.Ad) pastRow {
	l := lifeOf(ctx, ad)
	r := pastRow{how: clean.Line(l.how)}
	for i, c := range pastColumns {
		r.cells[i] = c.cell(&l)
	}
	return r
}

// pastTable writes a line for each job, as they come; nothing at all without a job.
// Names are cut, and what has no room where a line has so many places; 0: any. With -w
// nothing is, for which all lines are looked at before the first is written.
func pastTable(c *cmdline.Call, line int, ads iter.Seq[*classad.Ad]) error {
	ctx := &classad.Context{Now: c.Now}
	rows := func(yield func(pastRow) bool) {
		for ad := range ads {
			if !yield(pastRowOf(ctx, ad)) {
				return
			}
		}
	}
	if !c.Has("w") {
		return pastLines(c, line, pastWidths(nil), rows)
	}
	all := slices.Collect(rows)
	return pastLines(c, 0, pastWidths(all), slices.Values(all))
}

// pastWidths returns how wide the columns are: as usual, or as wide as what stands in them.
func pastWidths(rows []pastRow) (widths [len(pastColumns)]int) {
	for i, c := range pastColumns {
		widths[i] = c.width
		for _, r := range rows {
			widths[i] = max(widths[i], breadth(r.cells[i]))
		}
	}
	return widths
}

func pastLines(c *cmdline.Call, line int, widths [len(pastColumns)]int, rows iter.Seq[pastRow]) error {
	shown, room := pastFitted(line)
	var b []byte
	for r := range rows {
		head := b == nil
		if b = b[:0]; head {
			b = appendPastHead(b, shown, widths, line)
		}
		for i, text := range r.cells {
			if shown[i] {
				b = appendPast(b, i, widths[i], text)
			}
		}
		how, _ := within(r.how, room)
		b = append(append(b, how...), '\n')
		if _, err := c.Stdout.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// pastFitted returns which columns there are on a line, and how many places it leaves for
// how a job ended.
func pastFitted(line int) (shown [len(pastColumns)]bool, room int) {
	room = line
	for i, c := range pastColumns {
		shown[i] = true
		room -= c.width + 1
	}
	if line == 0 {
		return shown, math.MaxInt
	}
	for next := 1; room < leastHow && next <= 5; next++ {
		for i, c := range pastColumns {
			if c.leaves == next {
				shown[i] = false
				room += c.width + 1
			}
		}
	}
	return shown, max(room, leastHow)
}

func appendPastHead(b []byte, shown [len(pastColumns)]bool, widths [len(pastColumns)]int, line int) []byte {
	start, rule := len(b), pastRule
	for i, c := range pastColumns {
		rule += widths[i] - c.width
		if shown[i] {
			b = appendPast(b, i, widths[i], c.head)
		}
	}
	b = append(b, "how\n"...)
	if line > 0 {
		rule = min(max(line, len(b)-start-1), pastRule)
	}
	return append(append(b, strings.Repeat("-", rule)...), '\n')
}

// appendPast appends a cell of a column.
func appendPast(b []byte, i, width int, text string) []byte {
	c := pastColumns[i]
	short, left := within(text, width)
	switch {
	case short != text && !c.cut:
		return append(append(b, text...), ' ')
	case c.right:
		return append(append(pad(b, left), text...), ' ')
	}
	return append(pad(append(b, short...), left), ' ')
}

// moment writes a point in time that may not have come.
func moment(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return clock(t)
}

// dayTime writes a length of time as D+HH:MM:SS.
func dayTime(d time.Duration) string { return elapsed.Days(int64(d / time.Second)) }
