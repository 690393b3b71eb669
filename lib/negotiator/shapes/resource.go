package shapes

import (
	"maps"
	"math"
	"slices"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

// Resource is something that partitionable slots are divided by.
type Resource struct {
	Name    string        // the slots' attribute, such as Cpus
	held    *classad.Name // the same
	request *classad.Name // the jobs' attribute, such as RequestCpus
}

// Amounts is how much of each of the cycle's resources, in their order.
type Amounts []float64

// Request is the request of an autocluster's jobs for a partitionable slot.
type Request struct {
	Number int     // the same for the same amounts
	Ask    Amounts // as the jobs say
	take   Amounts // rounded up as slots are divided
	Takes  pool.Resources
}

// findResources lists what partitionable slots are divided by: the standard
// resources, and every other that a job requests and such a slot has a number of.
func (x *Shapes) findResources(slots []*Slot, jobs []jobprio.Run) {
	i := slices.IndexFunc(slots, func(s *Slot) bool { return s.Whole != nil })
	if i < 0 {
		return
	}
	known := map[string]bool{}
	add := func(name string) {
		if !known[strings.ToLower(name)] {
			known[strings.ToLower(name)] = true
			x.Resources = append(x.Resources, Resource{name, classad.NewName(name), classad.NewName("Request" + name)})
		}
	}
	for _, name := range pool.StandardResources {
		add(name)
	}
	custom := map[string]bool{}
	for j := range jobs {
		if j > 0 && jobs[j].Ad.SameNames(jobs[j-1].Ad) {
			continue
		}
		for _, name := range jobs[j].Ad.NamesFrom(pool.RequestPrefix) {
			if name = name[len(pool.RequestPrefix):]; name != "" {
				custom[strings.ToLower(name)] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(custom)) {
		if spelled := x.divisible(slots, name); spelled != "" {
			add(spelled)
		}
	}
}

// divisible returns how a partitionable slot spells the resource, empty if none
// has a number of it.
func (x *Shapes) divisible(slots []*Slot, name string) string {
	for _, s := range slots {
		if s.Whole == nil {
			continue
		}
		if _, ok := x.amountIn(s.Whole, name); !ok {
			continue
		}
		if own := classad.Spelling(s.Whole, name); own != "" {
			return own
		}
	}
	return ""
}

// LeftIn returns the amounts in a partitionable slot's ad. Of a standard resource
// that the ad does not name there is no end, of any other there is nothing.
func (x *Shapes) LeftIn(ad *classad.Ad) Amounts {
	left := make(Amounts, len(x.Resources))
	for i, r := range x.Resources {
		if i < len(pool.StandardResources) {
			left[i] = math.Inf(1)
		}
		if n, ok := x.amountIn(ad, r.Name); ok {
			left[i] = n
		}
	}
	return left
}

// amountIn returns how much of a resource a slot's ad has, if it says so with a
// number (pool.Left takes from nothing else): never less than nothing, and nothing
// where that is no amount.
func (x *Shapes) amountIn(ad *classad.Ad, name string) (n float64, ok bool) {
	v := ad.Eval(x.by.Eval, name, nil)
	if v.Kind() != classad.KindInteger && v.Kind() != classad.KindReal {
		return 0, false
	}
	if n, ok = v.Number(); !(n > 0) { // also NaN
		n = 0
	}
	return n, ok
}

// RequestOf returns what jobs like this one ask of a partitionable slot: one core
// where they do not say, and nothing else.
func (x *Shapes) RequestOf(job *classad.Ad) *Request {
	q := &Request{Ask: make(Amounts, len(x.Resources)), take: make(Amounts, len(x.Resources))}
	for i, r := range x.Resources {
		n, ok := job.EvalNumber(&x.by.Bill, r.request.String())
		switch {
		case ok && n > 0 && !math.IsInf(n, 0):
			q.Ask[i] = n
		case r.Name == pool.AttrCpus:
			q.Ask[i] = 1
		}
		q.take[i] = pool.RoundedUp(r.Name, q.Ask[i])
	}
	q.Takes = x.Text(q.take)
	number, known := x.requests[q.Takes]
	if !known {
		number = len(x.requests)
		x.requests[q.Takes] = number
	}
	q.Number = number
	return q
}

func (x *Shapes) Text(a Amounts) pool.Resources {
	list := make([]pool.Amount, len(a))
	for i, r := range x.Resources {
		list[i] = pool.Amount{Name: r.Name, Of: a[i]}
	}
	return pool.ResourcesOf(list)
}

// Fits reports whether a slot with so much left can be divided for the request.
func (q *Request) Fits(left Amounts) bool {
	for i, x := range q.Ask {
		if x > left[i] {
			return false
		}
	}
	return true
}

// From returns the amounts really taken if left is left: rounding up never takes more
// than there is, and a resource without a number in the slot is not taken.
func (q *Request) From(left Amounts) (take Amounts, clipped bool) {
	for i, x := range q.take {
		endless := math.IsInf(left[i], 1)
		if x > left[i] || endless && x > 0 {
			if !clipped {
				take, clipped = slices.Clone(q.take), true
			}
			if take[i] = left[i]; endless {
				take[i] = 0
			}
		}
	}
	if !clipped {
		take = q.take
	}
	return take, clipped
}

// Times returns how many such requests so much is enough for.
func (q *Request) Times(left Amounts) int {
	n := math.Inf(1)
	for i, x := range q.take {
		if x > 0 {
			n = math.Min(n, math.Floor(left[i]/x+1e-9))
		}
	}
	if n < 1 && q.Fits(left) {
		return 1
	}
	return int(math.Min(n, math.MaxInt32))
}

// Lack returns the part of the request that is missing, of the resource that most is
// missing of.
func (q *Request) Lack(left Amounts) (most float64) {
	for i, x := range q.Ask {
		if x > left[i] {
			most = math.Max(most, (x-left[i])/x)
		}
	}
	return most
}

// First returns the first resource of which left is not enough.
func (q *Request) First(left Amounts) int {
	for i, x := range q.Ask {
		if x > left[i] {
			return i
		}
	}
	return len(left)
}
