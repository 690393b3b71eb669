package qstat

import (
	"fmt"
	"io"
	"slices"
	"time"

	"fairspool/cmd/internal/selection"
	"fairspool/lib/clean"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
)

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

// overview writes why all jobs wait that do, as Grid Engine's -j without jobs: the
// last cycle, and below each reason the jobs.
func (q queue) overview(w io.Writer, spans []selection.Span) error {
	last := q.report()
	o := overview{groups: map[string][]pool.Procs{}}
	r, claims := q.reader(), claimsOf(q.view.Claims())
	for _, s := range spans {
		for part, claim := range claims.parts(s) {
			if claim == nil {
				o.explain(r, part, last)
			}
		}
	}
	_, err := w.Write(o.append(nil, last))
	return err
}

// explain adds jobs without a slot: those of a run together, unless what counts is an
// expression.
func (o *overview) explain(r *reader, part selection.Span, last cycle) {
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
		what = "as of the negotiation cycle at " + clock(last.at)
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
