package queue

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/clean"
	"fairspool/lib/parallel"
	"fairspool/lib/pool"
	"fairspool/lib/report/table"
	"fairspool/spool"
)

// machine is the slots of one machine, as Grid Engine sums up a cluster queue. Amounts
// are cores.
type machine struct {
	name                         string
	used, reserved, avail, total float64
	load, measured               float64 // in all, of so many cores of which it is known
	resting, broken              float64 // out of use for a while, and until somebody does something
}

// machines sums up slots by machine, in the order of their names; behind more than one
// the total.
func machines(slots []*instance) (list []machine) {
	at := map[string]int{}
	for _, s := range slots {
		if s.kind == "D" {
			continue // is part of another
		}
		i, ok := at[s.machine]
		if !ok {
			i = len(list)
			at[s.machine], list = i, append(list, machine{name: s.machine})
		}
		list[i].add(s)
	}
	slices.SortFunc(list, func(a, b machine) int { return pool.CompareNames(a.name, b.name) })
	if len(list) < 2 {
		return list
	}
	sum := machine{name: "total"}
	for _, m := range list {
		sum.used, sum.reserved, sum.avail, sum.total = sum.used+m.used, sum.reserved+m.reserved, sum.avail+m.avail, sum.total+m.total
		sum.resting, sum.broken = sum.resting+m.resting, sum.broken+m.broken
		sum.load, sum.measured = sum.load+m.load, sum.measured+m.measured
	}
	return append(list, sum)
}

func (m *machine) add(s *instance) {
	free := max(s.total-s.used-s.reserved, 0)
	switch s.states {
	case "":
		m.avail += free
	case "D":
		m.resting += s.total
	default:
		m.broken += s.total
	}
	m.used, m.reserved, m.total = m.used+s.used, m.reserved+s.reserved, m.total+s.total
	if s.loaded {
		m.load, m.measured = m.load+s.load, m.measured+s.total
	}
}

// tally is how many jobs are in a state, and how many cores they have or ask for.
type tally struct{ jobs, cores int64 }

// shownStates are the states in the order of the summary.
var shownStates = [...]string{"r", "Rr", "s", "Rs", "t", "Rt", "dr", "dt", "hr", "ht", "qw", "hqw", "Eqw", "z"}

// count counts jobs by state. It makes no rows, and all processors take part.
func (q *Queue) count(procs []spool.Run) map[string]tally {
	claims := claimsOf(q.View.Claims())
	bounds := parallel.Bounds(len(procs), 1)
	counted := make([]map[string]tally, len(bounds)-1)
	parallel.Parts(bounds, func(part, from, to int) {
		r, sums := q.reader(), map[string]tally{}
		for _, s := range procs[from:to] {
			for p, claim := range claims.parts(s) {
				r.count(sums, p, claim)
			}
		}
		counted[part] = sums
	})
	all := map[string]tally{}
	for _, sums := range counted {
		for state, n := range sums {
			all[state] = tally{all[state].jobs + n.jobs, all[state].cores + n.cores}
		}
	}
	return all
}

func (r *reader) count(sums map[string]tally, s spool.Run, claim *pool.Claim) {
	last := s.Last
	for s.First <= last {
		r.of(s)
		state, cores := r.standing(claim).state(), int64(1)
		if n, ok := r.value(cpusName).Int(); ok {
			cores = n
		}
		if r.varies {
			s.Last = s.First
		}
		n := int64(s.Last - s.First + 1)
		sum := sums[state]
		sums[state] = tally{sum.jobs + n, sum.cores + n*cores}
		s.First, s.Last = s.Last+1, last
	}
}

// Summary writes how full the machines are, and how many jobs there are in which state.
func (l Listing) Summary(w io.Writer) error {
	list, sums := machines(l.instances(nil)), l.count(l.Jobs)
	if l.XML {
		return summaryXML(w, list)
	}
	if err := l.writeMachines(w, list); err != nil {
		return err
	}
	between := ""
	if len(list) > 0 && len(sums) > 0 {
		between = "\n"
	}
	return writeTallies(w, between, sums)
}

// writeMachines writes Grid Engine's summary of cluster queues, of machines instead. The
// load is that of a core.
func (o Options) writeMachines(w io.Writer, list []machine) error {
	if len(list) == 0 {
		return nil
	}
	name, end := o.machineWidth(list)
	b := table.Pad(append([]byte(nil), machineHeading...), name-len(machineHeading))
	b = append(append(b, "  CQLOAD   USED    RES  AVAIL  TOTAL aoACDS  cdsuE"...), end...)
	b = append(append(b, strings.Repeat("-", name+machineOthers)...), '\n')
	for _, m := range list {
		load := unknown
		if m.measured > 0 {
			load = strconv.FormatFloat(m.load/m.measured, 'f', 2, 64)
		}
		b = table.Append(b, clean.Line(m.name), name)
		b = fmt.Appendf(b, " %7s %6s %6s %6s %6s %6s %6s", load,
			amount(m.used), amount(m.reserved), amount(m.avail), amount(m.total), amount(m.resting), amount(m.broken))
		b = append(b, end[min(1, len(end)-1):]...)
	}
	_, err := w.Write(b)
	return err
}

const (
	machineHeading = "CLUSTER QUEUE"
	machineOthers  = 50 // places behind the name
)

// machineWidth returns how wide the names of machines are, and what the heading ends
// with: on a terminal not in table.Blanks, for which there may be no room.
func (o Options) machineWidth(list []machine) (name int, end string) {
	const usual = 30
	line := o.Width
	if line == 0 && !o.Wide {
		return usual, "  \n"
	}
	name = len(machineHeading)
	for _, m := range list {
		name = max(name, table.Width(clean.Line(m.name)))
	}
	if o.Wide {
		return max(name, usual), "  \n"
	}
	return max(min(name, line-machineOthers), len(machineHeading)), "\n"
}

// writeTallies writes a line for each state that a job is in, and the total.
func writeTallies(w io.Writer, before string, sums map[string]tally) error {
	if len(sums) == 0 {
		return nil
	}
	b := append([]byte(before), "JOBS          jobs      slots\n-----------------------------\n"...)
	var all tally
	for _, state := range shownStates {
		if n := sums[state]; n.jobs > 0 {
			b = fmt.Appendf(b, "%-7s %10d %10d\n", state, n.jobs, n.cores)
			all = tally{all.jobs + n.jobs, all.cores + n.cores}
		}
	}
	b = fmt.Appendf(b, "%-7s %10d %10d\n", "total", all.jobs, all.cores)
	_, err := w.Write(b)
	return err
}

// summaryXML writes the summary as Grid Engine's -g c -xml does.
func summaryXML(w io.Writer, list []machine) error {
	b := []byte(jobInfo)
	for _, m := range list {
		if m.name == "total" && len(list) > 1 {
			continue
		}
		b = append(b, "  <cluster_queue_summary>\n"...)
		b = element(b, "name", m.name)
		if m.measured > 0 {
			b = element(b, "load", strconv.FormatFloat(m.load/m.measured, 'f', 5, 64))
		}
		for _, x := range [...]struct {
			name string
			n    float64
		}{
			{"used", m.used}, {"resv", m.reserved}, {"available", m.avail}, {"total", m.total},
			{"temp_disabled", m.resting}, {"manual_intervention", m.broken},
		} {
			b = element(b, x.name, amount(x.n))
		}
		b = append(b, "  </cluster_queue_summary>\n"...)
	}
	_, err := w.Write(append(b, "</job_info>\n"...))
	return err
}
