package maui

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
)

var limitNames = [Limits]string{"JOB", "PROC", "PS", "PE", "NODE", "WC", "MEM"}

// String returns the limit's name as it stands behind MAX and MAXI, such as PROC.
func (l Limit) String() string { return limitNames[l] }

// quantity is an amount of what a limit counts: whole ones, except millionths of MB and of
// processor equivalents. Sums of whole numbers do not depend on the order of counting.
type quantity int64

// boundless is what larger quantities count as. No limit is as large.
const boundless quantity = math.MaxInt64 / 2

const oneMillion = 1e6

func (l Limit) inMillionths() bool { return l == MaxPE || l == MaxMem }

// quantityOf returns x in units of l; NaN and numbers below 0 count as 0.
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

// quantities are a job's amounts of the quantities that limits count.
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

// ceiling is the limits of one credential, with the amounts taken.
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

// saying is the text for a limit with an amount in use and one requested.
type saying struct {
	of          Limit
	used, asked quantity
	text        string
}

// set copies the limits that are set in from and not yet in c. A limit below 0, or NaN, is
// no limit; one larger than all quantities is, but is never exceeded.
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

// throttle counts limited quantities by credentials. A credential without a limit of its
// own has DEFAULT's, and counts for itself.
type throttle struct {
	prefix string // of the limits' names: MAX or MAXI
	taken  string // the state of the counted jobs: "in use"
	bounds [Kinds]map[string][Limits]Bound
	of     [Kinds]map[string]*ceiling // nil: nothing limits it
	all    map[*profile]ceilings
	counts [Limits]bool // which limits are set for anybody
	kinds  [Kinds]bool  // and for what kinds
}

// newThrottle returns the throttle for limits on running jobs or, with idle, on waiting
// ones; nil if there are none.
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

// Admits reports whether one more job of a kind breaks no limit once a job of each of some kinds
// has ended. These return the most time that they could take.
func (l *limits) Admits(kind int, ended []int, hard bool) bool {
	k := &l.kinds[kind]
	for _, c := range k.ceilings {
		used := c.used
		for _, e := range ended {
			if !slices.Contains(l.kinds[e].ceilings, c) {
				continue
			}
			for which, each := range l.kinds[e].takes {
				used[which] = max(0, used[which]-each)
			}
		}
		for which := range Limits {
			if c.bound[which].set && used[which]+k.takes[which] > c.most(which, hard) {
				return false
			}
		}
	}
	return true
}

// limits are the limits on running jobs, for a negotiation cycle.
type limits struct {
	queue  *Queue
	active *throttle
	kinds  []limitedKind // the first has no limits
	known  map[kindKey]int
	byAd   map[*classad.Ad]int
}

// limitedKind is what limits make of jobs that are equal to them.
type limitedKind struct {
	ceilings
	takes quantities
}

// kindKey tells kinds apart: by those credentials and quantities that limits look at.
type kindKey struct {
	names [Kinds]string
	takes quantities
}

// newLimits counts what runs; nil: nothing is limited.
func (q *Queue) newLimits(running []jobprio.Running) *limits {
	active := newThrottle(q.config, false)
	if active == nil {
		return nil
	}
	l := &limits{queue: q, active: active, kinds: make([]limitedKind, 1), known: map[kindKey]int{}, byAd: map[*classad.Ad]int{}}
	runs := make([]jobprio.Run, len(running))
	for i, r := range running {
		runs[i] = r.Run
	}
	for i, s := range q.look(runs) {
		ran := max(0, q.world.Now.Sub(running[i].Started).Truncate(time.Second).Seconds())
		takes := s.takes(s.wclimit() - ran)
		active.ceilingsOf(s).take(&takes, s.Count())
	}
	return l
}

// limitFacts are the names of the Facts that each limit counts, and kindFacts those of
// the credentials: a job's QOS depends on all of them.
var (
	limitFacts = [Limits][]string{
		MaxJob:  nil,
		MaxProc: {"tasks", "processors of a task"},
		MaxPS:   {"tasks", "processors of a task", "wall-clock limit", "class"},
		MaxPE:   {"tasks", "processors of a task", "memory of a task", "swap space of a task", "disk space of a task"},
		MaxNode: {"nodes"},
		MaxWC:   {"wall-clock limit", "class"},
		MaxMem:  {"tasks", "memory of a task"},
	}
	kindFacts = [Kinds][]string{
		User: {"user"}, Group: {"group"}, Account: {"account"}, Class: {"class"},
		QOS: {"user", "group", "account", "QOS asked for", "class"},
	}
)

// Attributes are the names of the attributes that tell jobs apart to the limits that are set.
func (l *limits) Attributes() (names []string) {
	needed := map[string]bool{}
	need := func(counted bool, facts []string) {
		for _, f := range facts {
			needed[f] = needed[f] || counted
		}
	}
	for which, counted := range l.active.counts {
		need(counted, limitFacts[which])
	}
	for k, counted := range l.active.kinds {
		need(counted, kindFacts[k])
	}
	for _, f := range Facts {
		if needed[f.Name] {
			names = append(names, f.Attributes...)
		}
	}
	return names
}

// Kind returns the number of jobs that limits treat alike.
func (l *limits) Kind(r jobprio.Run) int {
	if kind, known := l.byAd[r.Ad]; known {
		return kind
	}
	kind := l.kindOf(l.queue.look([]jobprio.Run{r})[0])
	l.byAd[r.Ad] = kind
	return kind
}

// kindOf is Kind for jobs with known facts.
func (l *limits) kindOf(s *Queued) int {
	key := kindKey{takes: s.takes(s.wclimit())}
	names := s.credentials()
	for k, limited := range l.active.kinds {
		if limited {
			key.names[k] = names[k]
		}
	}
	for i, counted := range l.active.counts {
		if !counted {
			key.takes[i] = 0
		}
	}
	kind, known := l.known[key]
	if !known {
		if by := l.active.ceilingsOf(s); len(by) > 0 {
			kind = len(l.kinds)
			l.kinds = append(l.kinds, limitedKind{ceilings: by, takes: key.takes})
		}
		l.known[key] = kind
	}
	return kind
}

// Refuses says which limit one more job of a kind would break; empty for none.
func (l *limits) Refuses(kind int, hard bool) string {
	k := &l.kinds[kind]
	c, which := k.broken(&k.takes, hard)
	if c == nil {
		return ""
	}
	return l.active.tell(c, which, &k.takes, hard)
}

// breaks reports whether one more of some jobs would break soft limits, and hard ones.
func (l *limits) breaks(s *Queued) (soft, hard bool) {
	by, takes := l.active.ceilingsOf(s), s.takes(s.wclimit())
	bySoft, _ := by.broken(&takes, false)
	byHard, _ := by.broken(&takes, true)
	return bySoft != nil, byHard != nil
}

// Take counts one more job of a kind.
func (l *limits) Take(kind int) {
	k := &l.kinds[kind]
	k.take(&k.takes, 1)
}

// Lasting reports whether nothing that limits a job of the kind depends on how long it runs:
// what one has left of its time, its successor has not.
func (l *limits) Lasting(kind int) bool {
	return !slices.ContainsFunc(l.kinds[kind].ceilings, func(c *ceiling) bool { return c.bound[MaxPS].set || c.bound[MaxWC].set })
}
