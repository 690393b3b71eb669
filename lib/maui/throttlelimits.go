package maui

import (
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
)

// limits are the limits of what runs, as a negotiation cycle asks for them.
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
		active.ceilingsOf(s).take(&takes, s.Count)
	}
	return l
}

// limitFacts are the names of those Facts that each limit counts, and kindFacts of those
// that say whose it is: which QOS jobs go by depends on all their credentials.
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

// Kind returns the number of what limits make of jobs.
func (l *limits) Kind(r jobprio.Run) int {
	if kind, known := l.byAd[r.Ad]; known {
		return kind
	}
	kind := l.kindOf(l.queue.look([]jobprio.Run{r})[0])
	l.byAd[r.Ad] = kind
	return kind
}

// kindOf is Kind for jobs whose facts are known.
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

// breaks says whether one more of some jobs would break soft limits, and hard ones.
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

// Lasting says whether nothing that limits a job of the kind depends on how long it runs:
// what one has left of its time, its successor has not.
func (l *limits) Lasting(kind int) bool {
	for _, c := range l.kinds[kind].ceilings {
		if c.bound[MaxPS].set || c.bound[MaxWC].set {
			return false
		}
	}
	return true
}
