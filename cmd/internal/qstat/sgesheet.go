package qstat

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"fairspool/cmd/internal/selection"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/lib/sge"
)

// userKey is Grid Engine's key, too.
func (p *sgeRanking) userKey() string { return "priority" }

// sheet writes what else the policy knows of a job, by Grid Engine's keys, and what its place
// in the queue comes from.
func (p *sgeRanking) sheet(d *sheet) {
	j := d.ranked.job
	d.line("jobshare", strconv.FormatFloat(j.JobShare, 'f', 0, 64))
	if j.OverrideTickets != 0 {
		d.line("override_tickets", strconv.FormatFloat(j.OverrideTickets, 'f', 0, 64))
	}
	d.line("parallel environment", p.parallel(d))
	d.line("dispatch_priority", p.equation(d)...)
}

// parallel says which parallel environment and which slots a job wants, empty for one that is
// not parallel.
func (p *sgeRanking) parallel(d *sheet) string {
	run, ok := d.view.Run(d.key.ID)
	if !ok {
		return ""
	}
	r := d.reader()
	r.of(selection.Span{Procs: pool.Only(d.key.ID), Run: run})
	name, wanted := p.environment(r)
	if wanted == "" {
		return ""
	}
	return fmt.Sprintf("%s range: %s, %d assumed", name, wanted, d.ranked.job.Slots)
}

// equation explains the priority of a sheet's first job. One that takes no part has none.
func (p *sgeRanking) equation(d *sheet) []string {
	id := d.key.ID
	var lines []string
	if in := d.hierarchy.at(id); d.claim == nil && in != nil && !p.later(in, id.Proc) {
		run, task := p.task(in, id.Proc)
		lines = p.listing.Ranking().Equation(run, task)
		if p.differ(d) {
			lines = append(lines, fmt.Sprintf("of %v, which is the first of these jobs; the others' tickets differ", id))
		}
	} else if i, _, ok := p.runs(id); ok {
		lines = p.listing.Ranking().RunningEquation(i)
	}
	return lines
}

// differ reports whether the jobs of a sheet have different numbers.
func (p *sgeRanking) differ(d *sheet) bool {
	var first *sge.Numbers
	for _, s := range d.ranges {
		for id := range s.Jobs() {
			in := d.hierarchy.at(id)
			if in == nil {
				continue
			}
			n := p.listing.Ranking().Pending(p.task(in, id.Proc))
			if first == nil {
				first = &n
			} else if n != *first {
				return true
			}
		}
	}
	return false
}

// contributions returns a line for each of a job's requests: what it adds to its urgency, as
// Grid Engine writes that.
func (p *sgeRanking) contributions(hard string, j *sge.Job) string {
	if hard == "" {
		return ""
	}
	var lines []string
	counted := map[string]bool{}
	for line := range strings.SplitSeq(hard, "\n") {
		key, _, _ := strings.Cut(line, "=")
		counted[strings.ToLower(key)] = true
	}
	for line := range strings.SplitSeq(hard, "\n") {
		key, _, _ := strings.Cut(line, "=")
		adds := 0.0
		if name := p.longName(key); strings.EqualFold(name, key) || !counted[strings.ToLower(name)] {
			adds = p.contribution(key, j)
		}
		lines = append(lines, strconv.FormatFloat(adds, 'f', 6, 64))
	}
	return strings.Join(lines, "\n")
}

// longName returns the name of the complex that a request by its shortcut is for, beside which
// the shortcut does not count; else the name itself.
func (p *sgeRanking) longName(key string) string {
	for _, c := range p.config.Complexes {
		if strings.EqualFold(c.Shortcut, key) {
			return c.Name
		}
	}
	return key
}

// contribution returns what a request adds by its name in small letters. Processors are what
// the implicit request for slots is for.
func (p *sgeRanking) contribution(name string, j *sge.Job) float64 {
	if strings.EqualFold(sge.RequestPrefix+name, pool.AttrRequestCpus) {
		return p.config.SlotsContribution(j)
	}
	for _, r := range j.Requests {
		if c := &p.config.Complexes[r.Complex]; strings.EqualFold(c.Name, name) || strings.EqualFold(c.Shortcut, name) {
			return p.config.Contribution(r, j.Slots)
		}
	}
	return 0
}

// requested returns what all requests of a job add to its urgency.
func (p *sgeRanking) requested(j *sge.Job) float64 {
	sum := p.config.SlotsContribution(j)
	for _, r := range j.Requests {
		sum += p.config.Contribution(r, j.Slots)
	}
	return sum
}

var (
	slotsName       = classad.NewName(sge.AttrParallelSlots)
	environmentName = classad.NewName(sge.AttrParallelEnvironment)
)

// environment returns the parallel environment of a job, and the slots that it wants there;
// empty for a job that is not parallel.
func (p *sgeRanking) environment(r *reader) (name, wanted string) {
	v := r.value(slotsName)
	if n, ok := v.Int(); ok {
		wanted = strconv.FormatInt(n, 10)
	} else if text, ok := v.Text(); ok {
		wanted = strings.Join(strings.Fields(text), "")
	}
	if wanted == "" {
		return "", ""
	}
	return cmp.Or(r.text(environmentName), sge.DefaultPE), wanted
}

// withAdds returns the lines of hard requests, each with what it adds to the urgency if that
// is known.
func (a *asked) withAdds() string {
	if a.adds == "" {
		return a.hard
	}
	var b strings.Builder
	adds := a.adds
	for line := range strings.SplitSeq(a.hard, "\n") {
		var more string
		more, adds, _ = strings.Cut(adds, "\n")
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(line + " (" + more + ")")
	}
	return b.String()
}
