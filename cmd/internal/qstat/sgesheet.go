package qstat

import (
	"fmt"
	"strconv"

	"fairspool/cmd/internal/selection"
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

// differ tells whether the jobs of a sheet have different numbers.
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
