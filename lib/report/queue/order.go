package queue

import (
	"cmp"
	"slices"
	"strings"

	"fairspool/lib/accountant"
	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

// account is a submitter as of now.
type account struct {
	name     string
	rup, eup float64
	place    int // among the submitters of the jobs that are listed, by EUP; from 1 up
}

// order compares jobs by the order of service.
type order struct {
	*Queue
	params accountant.Params
	known  map[[2]string]*account // by owner and accounting group
	named  map[string]*account    // by name
}

func (q *Queue) order() *order {
	return &order{Queue: q, params: q.Config.Params, known: map[[2]string]*account{}, named: map[string]*account{}}
}

// account returns the submitter of an owner's jobs in an accounting group.
func (o *order) account(owner, group string) *account {
	if a, ok := o.known[[2]string{owner, group}]; ok {
		return a
	}
	name := accountant.SubmitterName(owner, o.Config.Groups.Canonical(group), o.Domain)
	a, ok := o.named[name]
	if !ok {
		record, _ := o.View.Submitter(name)
		now := o.Now
		a = &account{name: name, rup: record.AsOf(now, o.params).Priority, eup: record.Effective(now, o.params)}
		o.named[name] = a
	}
	o.known[[2]string{owner, group}] = a
	return a
}

// ordered puts rows into the order of the table: those with a slot, by slot; the waiting
// ones as they would be served, behind them those that a policy leaves out; the held ones and
// those that take no part likewise; those that have ended. Neighbours that look alike share a
// line if that is wanted.
func (o *order) ordered(rows []*row, share bool) []*row {
	submitters := o.places()
	var placed, waiting, held, ended []*row
	for _, r := range rows {
		switch {
		case r.claim != nil:
			placed = append(placed, r)
		case r.state == "z":
			ended = append(ended, r)
		case r.state == "qw" && !r.aside:
			waiting = append(waiting, r)
		default:
			held = append(held, r)
		}
	}
	slices.SortStableFunc(placed, func(a, b *row) int {
		return cmp.Or(pool.CompareNames(a.slot, b.slot), a.key.ID.Compare(b.key.ID))
	})
	if o.hierarchy != nil {
		slices.SortFunc(waiting, o.hierarchy.compare)
		slices.SortFunc(held, o.hierarchy.compare)
	} else {
		waiting, held = o.served(submitters, waiting), o.served(submitters, held)
	}
	if share && o.hierarchy != nil && o.hierarchy.display.Arrays {
		waiting, held, ended = gather(waiting), gather(held), merge(ended)
	} else if share {
		waiting, held, ended = merge(waiting), merge(held), merge(ended)
	}
	return slices.Concat(placed, waiting, held, ended)
}

// places returns the submitters by EUP, equal ones by name, and sets each one's place.
func (o *order) places() []*account {
	list := make([]*account, 0, len(o.named))
	for _, a := range o.named {
		list = append(list, a)
	}
	slices.SortFunc(list, func(a, b *account) int { return cmp.Or(cmp.Compare(a.eup, b.eup), strings.Compare(a.name, b.name)) })
	for i, a := range list {
		a.place = i + 1
	}
	return list
}

// served orders waiting jobs as a cycle would serve them: submitters by EUP, and
// each one's jobs in their order.
func (o *order) served(submitters []*account, rows []*row) []*row {
	of := make([][]*row, len(submitters)+1)
	for _, r := range rows {
		of[r.who.place] = append(of[r.who.place], r)
	}
	ordered := make([]*row, 0, len(rows))
	for _, mine := range of {
		keys := make([]jobprio.Job, len(mine))
		for i, r := range mine {
			keys[i] = r.key
		}
		for _, i := range jobprio.InOrder(keys) {
			ordered = append(ordered, mine[i])
		}
	}
	return ordered
}

// merge puts neighbours of one cluster that look alike on one line.
func merge(rows []*row) []*row {
	var out []*row
	for _, r := range rows {
		k := len(out) - 1
		if k < 0 || out[k].cells != r.cells || out[k].extras != r.extras {
			out = append(out, r)
			continue
		}
		out[k].share(r)
		out[k].ranges = joined(out[k].ranges, r.ranges)
	}
	return out
}

// gather puts rows of one cluster that look alike on one line, wherever they stand: at the
// place and with the numbers of the first.
func gather(rows []*row) []*row {
	parts := map[int]int{} // of a cluster
	for _, r := range rows {
		parts[r.cluster]++
	}
	type look struct {
		cells
		extras
	}
	var out []*row
	lines := map[look]*row{}
	for _, r := range rows {
		if parts[r.cluster] > 1 {
			k := look{r.cells, r.extras}
			if line := lines[k]; line != nil {
				line.share(r)
				line.ranges = append(line.ranges, r.ranges...)
				continue
			}
			lines[k] = r
		}
		out = append(out, r)
	}
	for _, r := range lines {
		slices.SortFunc(r.ranges, pool.Procs.Compare)
		r.ranges = joined(nil, r.ranges)
	}
	return out
}
