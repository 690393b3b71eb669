package negotiator

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/pool"

	"pgregory.net/rapid"
)

// plainQueue is the cycle over static slots with one queue of all jobs, as the package's
// comments have it, with nothing remembered: after each match it begins again with the first.
type plainQueue struct {
	*plainCycle
	jobprio.Order
	line  []*placedJob
	moved []*placedJob // that were matched
	runs  []jobprio.Running
	held  []jobprio.Run
	idle  []jobprio.Run
	hard  bool
}

// placedJob is a job with its place.
type placedJob struct {
	*plainJob
	jobprio.Place
	kind int
}

func plainInOrder(p Pool, cfg Config, now time.Time) *plainQueue {
	cfg.Preemption.Requirements, cfg.IgnoreUserPriorities = nil, false
	c := &plainQueue{plainCycle: &plainCycle{cfg: cfg, now: now, eval: &classad.Context{Now: now}, inUse: newUnitsInUse(cfg.Limits)}}
	claims := slices.DeleteFunc(slices.Clone(p.Claims), c.overdue)
	c.lookAtSlots(p, claims)
	c.findTenants(claims)
	c.gather(p, claims)
	c.introduce()
	c.shape()
	var offered []*plainJob
	for _, j := range c.jobs {
		if !j.barred {
			offered = append(offered, j)
			c.idle = append(c.idle, jobprio.Run{First: j.id, Count: 1, Submitter: j.user.name, Ad: j.ad})
		}
	}
	w := jobprio.Waiting{Idle: c.idle}
	for _, r := range p.Running {
		if slices.ContainsFunc(claims, func(cl pool.Claim) bool { return cl.Job == r.First }) {
			w.Running = append(w.Running, r)
		}
	}
	for _, h := range procs(p.Held) {
		w.Held = append(w.Held, jobprio.Run(h))
	}
	c.held, c.runs = w.Held, w.Running
	c.Order = cfg.Queue.Order(w)
	for _, place := range c.Places {
		j := &placedJob{plainJob: offered[place.Run], Place: place}
		if c.Limits != nil {
			j.kind = c.Limits.Kind(c.idle[place.Run])
		}
		c.line = append(c.line, j)
	}
	slices.SortStableFunc(c.line, func(a, b *placedJob) int {
		if a.user.nice == b.user.nice {
			return 0
		}
		return map[bool]int{false: -1, true: 1}[a.user.nice]
	})
	c.fill()
	return c
}

func (c *plainQueue) fill() {
	c.serve()
	for before := -1; len(c.tenants) > 0 && before != len(c.matches); {
		before = len(c.matches)
		c.last = true
		for _, u := range c.users {
			clear(u.skipped)
		}
		for _, j := range c.jobs {
			j.gone = j.gone && !j.passed
			j.passed = false
		}
		c.serve()
	}
}

func (c *plainQueue) serve() {
	for _, tier := range c.tiers() {
		c.contendAlike(tier)
		if c.hard = false; c.Limits != nil {
			for c.serveFirst(tier) {
			}
		}
		c.hard = true
		for c.serveFirst(tier) {
		}
	}
}

// serveFirst gives the first job of a tier that can have any slot the best one.
func (c *plainQueue) serveFirst(tier []*plainUser) bool {
	for i, j := range c.line {
		u := j.user
		if j.gone || !slices.Contains(tier, u) {
			continue
		}
		if behind, skips := u.skipped[j.kin]; skips && i > behind {
			j.gone, j.passed = true, true
			continue
		}
		if _, blocked := c.inUse.blocked(c.limitsOf(j.shape)); blocked || c.Limits != nil && c.Limits.Refuses(j.kind, c.hard) != "" {
			continue
		}
		slot, tenant, why, there := c.offer(u, j.plainJob, u.room())
		switch {
		case tenant != nil:
			c.preempt(j.plainJob, tenant, why)
		case slot != nil:
			c.match(j.plainJob, slot)
		default:
			for i, alike := range c.line {
				if !there && alike.user == u && alike.shape == j.shape && alike.kind == j.kind {
					u.skip(alike.plainJob, i)
				}
			}
			continue
		}
		m := &c.matches[len(c.matches)-1]
		m.QOS, m.PE, m.Priority = j.QOS, j.PE, j.Priority
		c.moved = append(c.moved, j)
		if c.Limits != nil {
			c.Limits.Take(j.kind)
		}
		return true
	}
	return false
}

// contendAlike puts all slots in the order of contention: everybody is expected to spread all
// that jobs want over the slots that they can use, those together that limits do not tell
// apart.
func (c *plainQueue) contendAlike(tier []*plainUser) {
	load, users := map[*plainSlot]float64{}, map[*plainSlot]map[*plainUser]bool{}
	for _, s := range c.slots {
		users[s] = map[*plainUser]bool{}
	}
	type lot struct {
		user  *plainUser
		shape string
		kind  int
	}
	left, lots := map[lot]int{}, []lot(nil)
	add := func(l lot, jobs int) {
		if _, known := left[l]; !known {
			lots = append(lots, l)
		}
		left[l] += jobs
	}
	for _, j := range c.jobs {
		if !j.barred && slices.Contains(tier, j.user) {
			add(lot{j.user, j.shape, -1}, 0) // also those that are left out could use slots
		}
	}
	for _, j := range c.line {
		if slices.Contains(tier, j.user) && !j.gone && (c.Limits == nil || c.Limits.Refuses(j.kind, true) == "") {
			add(lot{j.user, j.shape, j.kind}, 1)
		}
	}
	for _, l := range lots {
		heaviest, all := c.supply(l.shape)
		part := min(float64(min(left[l], c.inUse.headroom(c.limitsOf(l.shape))))*heaviest, all)
		for _, s := range c.slots {
			if slices.Contains(s.users, l.shape) && c.played {
				if all > 0 {
					load[s] += part / all
				}
				users[s][l.user] = true
			}
		}
	}
	less := func(a, b *plainSlot) int {
		round := func(s *plainSlot) float64 { return math.Round(load[s]*1e6) / 1e6 }
		return cmp.Or(cmp.Compare(round(a), round(b)), cmp.Compare(len(users[a]), len(users[b])), cmp.Compare(len(a.users), len(b.users)))
	}
	for _, s := range c.slots {
		s.place = 0
		for _, o := range c.slots {
			if less(o, s) < 0 {
				s.place++
			}
		}
	}
}

// told returns what the cycle decided, proc by proc.
func (c *plainQueue) told() string {
	var b strings.Builder
	for _, m := range c.matches {
		fmt.Fprintln(&b, toldOf(m), m.QOS, m.PE, m.Priority)
	}
	var lines []string
	for _, k := range c.Clocks {
		r := c.idle
		if k.Held {
			r = c.held
		}
		lines = append(lines, fmt.Sprintf("%s since %d", r[k.Run].First, k.Since))
	}
	for i, j := range c.line {
		behind := 0
		for _, m := range c.moved {
			if slices.Index(c.line, m) > i {
				behind++
			}
		}
		if !slices.Contains(c.moved, j) && behind > 0 && c.CountPassed {
			lines = append(lines, fmt.Sprintf("%s passed %d", j.id, behind))
		}
	}
	if c.CountPassed {
		slices.SortStableFunc(c.moved, func(a, b *placedJob) int { return cmp.Compare(slices.Index(c.line, a), slices.Index(c.line, b)) })
		for _, m := range c.moved {
			fmt.Fprintln(&b, "passing", m.id)
		}
	}
	for _, m := range c.moved {
		if c.Order.Tickets != nil {
			lines = append(lines, ticketsTold(m.id, m.Place.Tickets))
		}
	}
	for i, n := range c.Order.Tickets {
		if n >= 0 {
			lines = append(lines, ticketsTold(c.runs[i].First, n))
		}
	}
	return b.String() + inLines(lines)
}

func ticketsTold(id pool.JobID, n float64) string { return fmt.Sprintf("%s has %v tickets", id, n) }

func inLines(lines []string) string {
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// inOrderTold returns what a plan decided as plainQueue tells it.
func inOrderTold(p *Plan) string {
	var b strings.Builder
	for _, m := range p.Matches {
		fmt.Fprintln(&b, toldOf(m), m.QOS, m.PE, m.Priority)
	}
	var lines []string
	each := func(p Procs, text string) {
		for proc := p.First; proc <= p.Last; proc++ {
			lines = append(lines, pool.JobID{Cluster: p.Cluster, Proc: proc}.String()+text)
		}
	}
	for _, k := range p.Clocks {
		each(k.Procs, fmt.Sprint(" since ", k.Since))
	}
	for _, x := range p.Tickets {
		lines = append(lines, ticketsTold(x.Job, x.Tickets))
	}
	for _, id := range p.Passing {
		fmt.Fprintln(&b, "passing", id)
	}
	for _, x := range p.Passed {
		each(x.Procs, fmt.Sprint(" passed ", x.Times))
	}
	return b.String() + inLines(lines)
}

// The cycle with one queue does what one does that remembers nothing, and no share has a part
// in it.
func TestOneQueueIsThePlainOne(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var p Pool
		var cfg Config
		if rapid.Bool().Draw(rt, "busy") {
			cfg = busyConfig(rt, t)
			p = busyPool(rt, t, cfg, false, lawUsers)
			if slices.ContainsFunc(p.Slots, func(s pool.Slot) bool {
				return (&plainCycle{cfg: cfg, eval: &classad.Context{Now: now}}).weigh(s.Ad) == 0
			}) {
				return
			}
			if e := cfg.Preemption.Rank; e != nil && strings.Contains(e.String(), "InUse") {
				return
			}
			for i := range p.Claims {
				p.Claims[i].Weight = max(p.Claims[i].Weight, accountant.One/2)
			}
		} else {
			p, cfg = lawPool(rt, t, false), lawConfig(rt, t)
		}
		if p, cfg = maybeQueued(rt, t, p, cfg); cfg.Queue == nil {
			return
		}
		if rapid.Bool().Draw(rt, "no ranks at all") {
			cfg.PreJobRank, cfg.PostJobRank = nil, nil
		}
		want := plainInOrder(p, cfg, now).told()
		if got := inOrderTold(dealOut(p, cfg, now).plan); got != want {
			rt.Fatalf("Cycle does\n%s\nwant\n%s\n%s", got, want, portrait(p, cfg))
		}
	})
}
