package negotiator

import (
	"maps"
	"math"
	"slices"
	"strings"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

// resource is something that partitionable slots are divided by.
type resource struct {
	name    string        // the slots' attribute, such as Cpus
	held    *classad.Name // the same
	request *classad.Name // the jobs' attribute, such as RequestCpus
	quantum float64       // requests are rounded up to multiples of it; 0: not at all
}

// amounts is how much of each of the cycle's resources, in their order.
type amounts []float64

// request is what the jobs of an autocluster ask of a partitionable slot.
type request struct {
	number int     // the same for the same amounts
	ask    amounts // as the jobs say
	take   amounts // rounded up as slots are divided
	takes  pool.Resources
}

// standard are the resources that every slot has (HTCondor's defaults of
// MODIFY_REQUEST_EXPR_REQUESTCPUS, ...MEMORY and ...DISK).
var standard = []struct {
	name    string
	quantum float64
}{{pool.AttrCpus, 1}, {pool.AttrMemory, 128}, {pool.AttrDisk, 1024}}

const requestPrefix = "request"

// findResources lists what partitionable slots are divided by: the standard
// resources, and every other that a job requests and such a slot has a number of.
func (c *cycle) findResources(jobs []jobprio.Run) {
	i := slices.IndexFunc(c.slots, func(s slot) bool { return s.whole != nil })
	if i < 0 {
		return
	}
	known := map[string]bool{}
	add := func(name string, quantum float64) {
		if !known[strings.ToLower(name)] {
			known[strings.ToLower(name)] = true
			c.resources = append(c.resources, resource{name, classad.NewName(name), classad.NewName("Request" + name), quantum})
		}
	}
	for _, s := range standard {
		add(s.name, s.quantum)
	}
	custom := map[string]bool{}
	for j := range jobs {
		if j > 0 && jobs[j].Ad.SameNames(jobs[j-1].Ad) {
			continue
		}
		for _, name := range jobs[j].Ad.Names() {
			if len(name) > len(requestPrefix) && strings.EqualFold(name[:len(requestPrefix)], requestPrefix) {
				custom[strings.ToLower(name[len(requestPrefix):])] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(custom)) {
		if spelled := c.divisible(name); spelled != "" {
			add(spelled, 0)
		}
	}
}

// divisible returns how a partitionable slot spells the resource, empty if none
// has a number of it.
func (c *cycle) divisible(name string) string {
	for _, s := range c.slots {
		if s.whole == nil {
			continue
		}
		if _, ok := c.amountIn(s.whole, name); !ok {
			continue
		}
		for _, own := range s.whole.Names() {
			if strings.EqualFold(own, name) {
				return own
			}
		}
	}
	return ""
}

// leftIn returns the amounts in a partitionable slot's ad. Of a standard resource
// that the ad does not name there is no end, of any other there is nothing.
func (c *cycle) leftIn(ad *classad.Ad) amounts {
	left := make(amounts, len(c.resources))
	for i, r := range c.resources {
		if i < len(standard) {
			left[i] = math.Inf(1)
		}
		if x, ok := c.amountIn(ad, r.name); ok {
			left[i] = x
		}
	}
	return left
}

// amountIn returns how much of a resource a slot's ad has, if it says so with a
// number (pool.Left takes from nothing else): never less than nothing, and nothing
// where that is no amount.
func (c *cycle) amountIn(ad *classad.Ad, name string) (x float64, ok bool) {
	v := ad.Eval(c.eval, name, nil)
	if v.Kind() != classad.KindInteger && v.Kind() != classad.KindReal {
		return 0, false
	}
	if x, ok = v.Number(); !(x > 0) { // also NaN
		x = 0
	}
	return x, ok
}

// requestOf returns what jobs like this one ask of a partitionable slot: one core
// where they do not say, and nothing else.
func (c *cycle) requestOf(job *classad.Ad) *request {
	q := &request{ask: make(amounts, len(c.resources)), take: make(amounts, len(c.resources))}
	for i, r := range c.resources {
		x, ok := job.EvalNumber(&c.bill, r.request.String())
		switch {
		case ok && x > 0 && !math.IsInf(x, 0):
			q.ask[i] = x
		case r.name == pool.AttrCpus:
			q.ask[i] = 1
		}
		q.take[i] = q.ask[i]
		if r.quantum > 0 && q.ask[i] > 0 {
			q.take[i] = math.Max(1, math.Ceil(q.ask[i]/r.quantum-1e-9)) * r.quantum
		}
	}
	q.takes = c.text(q.take)
	number, known := c.requests[q.takes]
	if !known {
		number = len(c.requests)
		c.requests[q.takes] = number
	}
	q.number = number
	return q
}

func (c *cycle) text(a amounts) pool.Resources {
	list := make([]pool.Amount, len(a))
	for i, r := range c.resources {
		list[i] = pool.Amount{Name: r.name, Of: a[i]}
	}
	return pool.ResourcesOf(list)
}

// fits reports whether a slot with so much left can be divided for the request.
func (q *request) fits(left amounts) bool {
	for i, x := range q.ask {
		if x > left[i] {
			return false
		}
	}
	return true
}

// from returns what is really taken where so much is left: rounding up never takes
// more than there is, and nothing is taken of what the slot has no number of.
func (q *request) from(left amounts) (take amounts, clipped bool) {
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

// times returns how many such requests so much is enough for.
func (q *request) times(left amounts) int {
	n := math.Inf(1)
	for i, x := range q.take {
		if x > 0 {
			n = math.Min(n, math.Floor(left[i]/x+1e-9))
		}
	}
	if n < 1 && q.fits(left) {
		return 1
	}
	return int(math.Min(n, math.MaxInt32))
}

// pieceWeight returns the weight of a dynamic slot: that of its own ad.
func (c *cycle) pieceWeight(root *group, takes pool.Resources) accountant.Weight {
	key := piece{root, takes}
	w, ok := c.pieces[key]
	if !ok {
		w = c.weighPart(pool.DynamicAd(root.ad, "", takes))
		c.pieces[key] = w
	}
	return w
}

// piece is a part of a slot of a group.
type piece struct {
	root  *group
	takes pool.Resources
}

// divide takes a piece off a slot that has just been taken out of a class, and
// puts what is left into the class where it belongs now.
func (c *cycle) divide(at int, from *class, q *request) pool.Resources {
	take, clipped := q.from(from.group.left)
	takes, number := q.takes, q.number
	if clipped {
		takes, number = c.text(take), -1
	}
	next := from.after[number]
	if next == nil {
		ad := pool.Left(c.eval, from.ad, []pool.Resources{takes})
		next = c.classOf(ad, from.group.weight, true, from.begun || c.cfg.DepthFirst)
		if g := next.group; g.bundle == nil {
			g.root, g.bundle = from.group.root, from.group.bundle
			g.bundle.groups = append(g.bundle.groups, g)
		}
		if !clipped {
			if from.after == nil {
				from.after = map[int]*class{}
			}
			from.after[number] = next
		}
	}
	c.arrive(at, next)
	return takes
}

// arrive makes a slot a candidate of a class during the cycle.
func (c *cycle) arrive(at int, k *class) {
	g := k.group
	c.slots[at].now = g
	k.free.Push(slotIndex(at))
	g.free++
	g.arrivals = append(g.arrivals, k)
	g.event = len(c.events)
	c.events = append(c.events, g)
}

// dynamicName returns a name for the next piece of a slot that no slot has.
func (c *cycle) dynamicName(at int) string {
	s := &c.slots[at]
	for {
		s.pieces++
		name := pool.DynamicName(s.name, s.pieces)
		if !c.named[name] {
			c.named[name] = true
			return name
		}
	}
}

// takes returns what the jobs of k take of a partitionable slot of the group.
func (k *autocluster) takes(c *cycle, g *group) pool.Resources {
	if take, clipped := k.request.from(g.left); clipped {
		return c.text(take)
	}
	return k.request.takes
}
