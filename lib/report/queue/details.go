package queue

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/clean"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/lifecycle"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Sheets writes everything that matters about the jobs, as Grid Engine's -j does: a rule
// before each, then keys and values. Equal sheets of jobs of a cluster are written once.
func (q *Queue) Sheets(w io.Writer, procs []spool.Run) error {
	claims := q.claims(procs)
	last, fits := sync.OnceValue(q.lastCycle), &fitting{queue: q}
	p := pile{w: w}
	for _, s := range procs {
		for _, r := range q.split(s, claims) {
			d := sheet{Queue: q, row: r, context: q.context()}
			d.all(last, fits)
			if err := p.add(&d); err != nil {
				return err
			}
		}
	}
	return p.flush()
}

// claims returns the claims of jobs.
func (q *Queue) claims(procs []spool.Run) map[pool.JobID]pool.Claim {
	claims := map[pool.JobID]pool.Claim{}
	n := 0
	for _, s := range procs {
		n += s.Count()
	}
	if n <= fewJobs {
		for _, s := range procs {
			for id := range s.Jobs() {
				if c, ok := q.View.Claim(id); ok {
					claims[id] = c
				}
			}
		}
		return claims
	}
	list := claimsOf(q.View.Claims())
	for _, s := range procs {
		for _, c := range list.parts(s) {
			if c != nil {
				claims[c.Job] = *c
			}
		}
	}
	return claims
}

// fewJobs is how many claims are read one by one at most.
const fewJobs = 1000

// sheet is what -j shows of jobs that are alike.
type sheet struct {
	*Queue
	*row
	context *classad.Context
	text    []byte
	named   []naming // where in the text the jobs are named
}

// all writes the sheet.
func (d *sheet) all(last func() cycle, fits *fitting) {
	d.text = append(d.text, strings.Repeat("=", 62)+"\n"...)
	d.identity()
	d.program()
	d.requests()
	if d.hierarchy != nil {
		d.hierarchy.sheet(d)
	}
	d.policy()
	d.dependencies()
	d.course()
	d.line("scheduling info", d.lines(last, fits)...)
}

// lines says why the jobs wait, what would let them run, and where they could.
func (d *sheet) lines(last func() cycle, fits *fitting) []string {
	var why []string
	if moving := d.moving(d.row); moving != "" {
		why = append(why, moving)
	}
	why = append(append(why, d.release()...), d.Stuck(d.state, d.claim)...)
	if d.state != "qw" {
		return append(why, d.could(last, fits)...)
	}
	if at := d.time(jobpolicy.AttrDeferralTime); at.After(d.Now) {
		why = append(why, "is not to be executed before "+Clock(at))
	}
	return append(append(why, last().scheduling(d.row)...), d.could(last, fits)...)
}

// line writes a key with its values below each other; nothing without one.
func (d *sheet) line(key string, values ...string) {
	for i, v := range values {
		switch {
		case v == "":
		case i == 0:
			d.text = fmt.Appendf(d.text, "%-27s %s\n", key+":", d.filled(v))
		default:
			d.text = fmt.Appendf(d.text, "%27s %s\n", "", d.filled(v))
		}
	}
}

// value returns an attribute's value as -af shows it, empty if it is undefined.
func (d *sheet) value(name string) string {
	v := d.ad.Eval(d.context, name, nil)
	if s, ok := v.Text(); ok {
		return s
	}
	if v.Kind() == classad.KindUndefined {
		return ""
	}
	return v.String()
}

// expression returns an attribute as it was written, empty if it is missing or has a
// usual value.
func (d *sheet) expression(name string, usual ...string) string {
	e, ok := d.ad.Lookup(name)
	if !ok {
		return ""
	}
	text := e.String()
	for _, u := range usual {
		if strings.EqualFold(text, u) {
			return ""
		}
	}
	return text
}

// number returns a whole number, 0 if there is none.
func (d *sheet) number(name string) int64 {
	if n, ok := d.ad.EvalInt(d.context, name); ok {
		return n
	}
	return 0
}

// time returns a point in time, zero if there is none.
func (d *sheet) time(name string) time.Time {
	if n := d.number(name); n > 0 {
		return unix(n)
	}
	return time.Time{}
}

// since returns a point in time as it is shown, empty if there is none.
func (d *sheet) since(name string) string {
	t := d.time(name)
	if t.IsZero() {
		return ""
	}
	return Clock(t)
}

// Grid Engine's headings of jobs that wait whatever the slots do.
const (
	inError    = "Jobs dropped because of error state"
	onHold     = "Jobs dropped because of hold state"
	notYet     = "Jobs can not run because execution time not reached"
	dependency = "Job dropped because of job dependencies"
	noSlot     = "Jobs can not run because "
)

// mostNamed bounds how many rows of jobs are named below one heading.
const mostNamed = 20

// waitingHeadings are those headings in their order.
var waitingHeadings = []string{inError, onHold, notYet, dependency}

// overview is why the jobs of a queue wait, grouped.
type overview struct {
	groups  map[string][]pool.Procs // by heading
	reasons []string                // the headings that come from the cycle
}

func (o *overview) add(heading string, p pool.Procs) {
	if o.groups[heading] == nil && !slices.Contains(waitingHeadings, heading) {
		o.reasons = append(o.reasons, heading)
	}
	list := o.groups[heading]
	if k := len(list) - 1; k >= 0 && list[k].Extend(p) {
		return
	}
	o.groups[heading] = append(list, p)
}

// Overview writes why all jobs wait that do, as Grid Engine's -j without jobs: the
// last cycle, and below each reason the jobs.
func (q *Queue) Overview(w io.Writer, procs []spool.Run) error {
	last := q.lastCycle()
	o := overview{groups: map[string][]pool.Procs{}}
	r, claims := q.reader(), claimsOf(q.View.Claims())
	for _, s := range procs {
		for part, claim := range claims.parts(s) {
			if claim == nil {
				o.explain(r, part, last)
			}
		}
	}
	_, err := w.Write(o.append(nil, last))
	return err
}

// explain adds jobs without a slot: those of a run together, unless a deciding attribute
// is an expression.
func (o *overview) explain(r *reader, part spool.Run, last cycle) {
	end := part.Last
	for part.First <= end {
		part.Last = part.First
		r.of(part)
		state, h, submitted := r.standing(nil).state(), r.holds(), unix(r.int(qdateName))
		if !r.varies {
			part.Last = end
		}
		o.sort(part.Procs, state, h, submitted, last)
		part.First = part.Last + 1
	}
}

// sort adds jobs in a state, held in these ways.
func (o *overview) sort(jobs pool.Procs, state string, h holds, submitted time.Time, last cycle) {
	switch {
	case state == "Eqw":
		o.add(inError, jobs)
	case state == "hqw" && h.job:
		o.add(dependency, jobs)
	case state == "hqw":
		o.add(onHold, jobs)
	case state != "qw":
	case h.time:
		o.add(notYet, jobs)
	case last.unknown != "":
		o.add(noSlot+last.unknown, jobs)
	default:
		for _, v := range last.verdicts(jobs, submitted) {
			o.add(noSlot+v.reason, v.Procs)
		}
	}
}

func (o *overview) append(b []byte, last cycle) []byte {
	what := last.unknown
	if what == "" {
		what = "as of the negotiation cycle at " + Clock(last.at)
	}
	b = fmt.Appendf(b, "%-27s %s\n", "scheduling info:", clean.Line(what))
	slices.SortStableFunc(o.reasons, func(a, b string) int { return o.count(b) - o.count(a) })
	for _, heading := range slices.Concat(o.reasons, waitingHeadings) {
		list := o.groups[heading]
		if len(list) == 0 {
			continue
		}
		b = fmt.Appendf(b, "\n%s\n", clean.Line(heading))
		named := list[:min(len(list), mostNamed)]
		for _, p := range named {
			b = append(append(append(b, '\t'), p.String()...), '\n')
		}
		if rest := countProcs(list[len(named):]); rest > 0 {
			b = fmt.Appendf(b, "\tand %d %s more\n", rest, plural.Pick(rest, "job", "jobs"))
		}
	}
	return b
}

func (o *overview) count(heading string) int { return countProcs(o.groups[heading]) }

func countProcs(list []pool.Procs) (n int) {
	for _, p := range list {
		n += p.Count()
	}
	return n
}

// fitting tells which of the pool's slots could run a job.
type fitting struct {
	queue *Queue
	// judged is how many jobs were held against all slots. A display of very many
	// does that for the first of them only.
	judged int
}

// mostJudged bounds the pairs of job and slot that a display looks at.
const mostJudged = 1_000_000

// could names the slots that match the job as advertised, claimed or not. It is empty for
// a job that has a slot, and if the job's analysis names them already.
func (d *sheet) could(last func() cycle, fits *fitting) []string {
	if d.claim != nil || d.state == "z" {
		return nil
	}
	c := last()
	for _, v := range c.ofRow(d.row) {
		if _, a := c.rejection(v); a != nil && d.state == "qw" {
			return nil
		}
	}
	if text := fits.of(d.context, d.ad); text != "" {
		return []string{text}
	}
	return nil
}

// of says which slots match an ad; nothing in a pool without slots.
func (f *fitting) of(c *classad.Context, ad *classad.Ad) string {
	if f.judged > mostJudged {
		return ""
	}
	names, all := lifecycle.SlotsThat(f.queue.View, func() func(slot *classad.Ad) bool { return classad.NewMatcher(c, ad).Match })
	f.judged += all
	switch n := len(names); {
	case all == 0:
		return ""
	case n == 0:
		return fmt.Sprintf("slots that match: none of %d", all)
	default:
		names = leading(names, 3)
		if n > len(names) {
			names = append(names, "...")
		}
		return fmt.Sprintf("slots that match: %d of %d, %s", n, all, strings.Join(names, ", "))
	}
}

// leading returns the first n names in their order.
func leading(names []string, n int) (list []string) {
	for _, name := range names {
		if len(list) < n || pool.CompareNames(name, list[n-1]) < 0 {
			i, _ := slices.BinarySearchFunc(list, name, pool.CompareNames)
			list = slices.Insert(list, i, name)
			list = list[:min(len(list), n)]
		}
	}
	return list
}
