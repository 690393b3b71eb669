package maui

import (
	"math"
	"strconv"
	"strings"
)

var limitNames = [Limits]string{"JOB", "PROC", "PS", "PE", "NODE", "WC", "MEM"}

// String returns the limit's name as it stands behind MAX and MAXI, such as PROC.
func (l Limit) String() string { return limitNames[l] }

// quantity is how much there is of what a limit counts: whole ones, but millionths of MB and
// of processor equivalents. Sums of whole numbers do not depend on the order of counting.
type quantity int64

// boundless is what larger quantities count as. No limit is as large.
const boundless quantity = math.MaxInt64 / 2

const oneMillion = 1e6

func (l Limit) inMillionths() bool { return l == MaxPE || l == MaxMem }

// quantityOf returns x of what l counts; what is no number or below 0 is nothing.
func quantityOf(l Limit, x float64) quantity {
	if l.inMillionths() {
		x = math.Round(x * oneMillion)
	}
	switch {
	case !(x > 0):
		return 0
	case x >= float64(boundless):
		return boundless
	}
	return quantity(x)
}

// text returns the quantity as people write it.
func (a quantity) text(l Limit) string {
	if l.inMillionths() {
		return strconv.FormatFloat(float64(a)/oneMillion, 'f', -1, 64)
	}
	return strconv.FormatInt(int64(a), 10)
}

// quantities are how much a job takes of each of what limits count.
type quantities [Limits]quantity

// takes returns what one of the jobs takes while it may use its processors for so many
// seconds more. Every job is on one node at least.
func (s *Queued) takes(seconds float64) quantities {
	j := s.Job
	tasks := max(0, float64(j.Tasks))
	seconds = max(0, seconds)
	procs := tasks * procsPerTask(j)
	return quantities{
		MaxJob:  1,
		MaxProc: quantityOf(MaxProc, procs),
		MaxPS:   quantityOf(MaxPS, procs*seconds),
		MaxPE:   quantityOf(MaxPE, s.PE),
		MaxNode: quantityOf(MaxNode, float64(max(1, j.Nodes))),
		MaxWC:   quantityOf(MaxWC, seconds),
		MaxMem:  quantityOf(MaxMem, tasks*j.MemPerTask),
	}
}

// ceiling is what limits one credential, and what is taken of that.
type ceiling struct {
	kind  Kind
	name  string
	bound [Limits]struct {
		set        bool
		soft, hard quantity
	}
	used quantities
	said [2]saying // last, by soft and hard limits
}

// saying is what was said of a limit while so much of it was used and asked for.
type saying struct {
	of          Limit
	used, asked quantity
	text        string
}

// set takes over those limits that are set in from and not yet in c. A limit below 0, or one
// that is no number, is none; one larger than all quantities is, but nothing breaks it.
func (c *ceiling) set(from *[Limits]Bound) (any bool) {
	for l, b := range from {
		to := &c.bound[l]
		if to.set || !b.Set || !(b.Hard >= 0) || !(b.Soft >= 0) {
			continue
		}
		hard := limitOf(Limit(l), b.Hard)
		to.set, to.hard, to.soft = true, hard, min(limitOf(Limit(l), b.Soft), hard)
		any = true
	}
	return any
}

// limitOf is quantityOf for a limit.
func limitOf(l Limit, x float64) quantity {
	if a := quantityOf(l, x); a < boundless {
		return a
	}
	return math.MaxInt64
}

// most returns the limit's value in force.
func (c *ceiling) most(l Limit, hard bool) quantity {
	if hard {
		return c.bound[l].hard
	}
	return c.bound[l].soft
}

// ceilings are all that limit one job.
type ceilings []*ceiling

// broken returns the first limit that one more job would break; c is nil for none.
func (cs ceilings) broken(a *quantities, hard bool) (c *ceiling, l Limit) {
	for _, c := range cs {
		for l := range Limits {
			if c.bound[l].set && c.used[l]+a[l] > c.most(l, hard) {
				return c, l
			}
		}
	}
	return nil, 0
}

// fit returns how many of n more jobs the hard limits admit.
func (cs ceilings) fit(a *quantities, n int) int {
	for _, c := range cs {
		for l, each := range a {
			if c.bound[l].set && each > 0 {
				n = int(min(quantity(n), max(0, c.bound[l].hard-c.used[l])/each))
			}
		}
	}
	return n
}

// take counts n more jobs.
func (cs ceilings) take(a *quantities, n int) {
	for _, c := range cs {
		for l, each := range a {
			if each > 0 && quantity(n) > (boundless-c.used[l])/each {
				c.used[l] = boundless
			} else {
				c.used[l] += each * quantity(n)
			}
		}
	}
}

// throttle counts by credentials what is limited. A credential without a limit of its own
// has that of DEFAULT, and counts for itself.
type throttle struct {
	prefix string // of the limits' names: MAX or MAXI
	taken  string // what is counted are jobs that are so: "in use"
	bounds [Kinds]map[string][Limits]Bound
	of     [Kinds]map[string]*ceiling // nil: nothing limits it
	all    map[*profile]ceilings
	counts [Limits]bool // which limits are set for anybody
	kinds  [Kinds]bool  // and for what kinds
}

// newThrottle returns what counts the limits of what runs or, with idle, of what waits;
// nil if there are none.
func newThrottle(cfg *Config, idle bool) *throttle {
	t := &throttle{prefix: "MAX", taken: "in use", all: map[*profile]ceilings{}}
	if idle {
		t.prefix, t.taken = "MAXI", "considered"
	}
	limited := false
	for k := range Kinds {
		t.bounds[k], t.of[k] = map[string][Limits]Bound{}, map[string]*ceiling{}
		for name, c := range cfg.Credentials[k] {
			bounds := c.Limits
			if idle {
				bounds = c.IdleLimit
			}
			var any ceiling
			if !any.set(&bounds) {
				continue
			}
			t.bounds[k][name] = bounds
			t.kinds[k], limited = true, true
			for l := range any.bound {
				t.counts[l] = t.counts[l] || any.bound[l].set
			}
		}
	}
	if !limited {
		return nil
	}
	return t
}

// ceilingsOf returns what limits jobs. Those that have no credential of a kind have no limits
// by it.
func (t *throttle) ceilingsOf(s *Queued) ceilings {
	all, known := t.all[s.common]
	if known {
		return all
	}
	for k, name := range s.credentials() {
		if !t.kinds[k] || name == "" {
			continue
		}
		c, known := t.of[k][name]
		if !known {
			c = t.ceiling(Kind(k), name)
			t.of[k][name] = c
		}
		if c != nil {
			all = append(all, c)
		}
	}
	t.all[s.common] = all
	return all
}

// ceiling returns the limits of a credential; nil: it has none.
func (t *throttle) ceiling(k Kind, name string) *ceiling {
	c := &ceiling{kind: k, name: name}
	own, general := t.bounds[k][name], t.bounds[k][DefaultName]
	ofOwn, ofAll := c.set(&own), c.set(&general)
	if !ofOwn && !ofAll {
		return nil
	}
	return c
}

// tell says why a limit keeps out one more job that takes a, such as "MAXPROC 10 of user
// alice: 8 in use, 4 asked for".
func (t *throttle) tell(c *ceiling, l Limit, a *quantities, hard bool) string {
	said := &c.said[0]
	if hard {
		said = &c.said[1]
	}
	now := saying{of: l, used: c.used[l], asked: a[l], text: said.text}
	if now == *said && now.text != "" {
		return now.text // to many jobs, one after the other
	}
	now.text = t.prefix + l.String() + " " + c.most(l, hard).text(l) + " of " + c.kind.word() + " " + c.name +
		": " + c.used[l].text(l) + " " + t.taken
	if l != MaxJob {
		now.text += ", " + a[l].text(l) + " asked for"
	}
	*said = now
	return now.text
}

// word returns the kind as it stands in a sentence, such as user.
func (k Kind) word() string {
	if k == QOS {
		return "QOS"
	}
	return strings.ToLower(k.String())
}
