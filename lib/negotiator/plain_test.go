package negotiator

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

// plainCycle is the cycle over static slots as the package's comments have it, with
// nothing remembered: every job meets every slot each time it is asked, and the best
// is found by sorting. It is what the fast one has to equal.
type plainCycle struct {
	cfg     Config
	now     time.Time
	eval    *classad.Context
	slots   []*plainSlot
	jobs    []*plainJob
	users   []*plainUser
	inUse   *unitsInUse
	played  bool
	tenants []*plainTenant
	last    bool // who can take no free slot by now will take none
	parts   bool // who has nothing may leave others short of a part of a slot
	matches []Match
}

type plainSlot struct {
	name    string
	ad      *classad.Ad
	weight  accountant.Weight
	free    bool
	counted bool
	claimed bool
	rests   bool
	kind    string   // equal for slots that no match can tell apart
	users   []string // shapes of the jobs that can use it
	// place is where contention puts it among those that rank alike.
	place int
	// spare says that a forecast has not dealt it yet.
	spare bool
}

type plainJob struct {
	id     pool.JobID
	ad     *classad.Ad
	user   *plainUser
	shape  string // equal for jobs that nothing can tell apart
	kin    string // what it is passed over with; empty: nothing
	barred bool
	gone   bool // matched or passed over
	passed bool // passed over
}

type plainUser struct {
	name                 string
	nice                 bool
	eup                  float64
	before, usage        accountant.Weight
	ceiling              accountant.Limit
	floor                int64
	jobs                 []*plainJob     // in job-priority order
	shapes               []string        // of the jobs, in that order
	skipped              map[string]int  // kins, and behind which job
	barren               map[string]bool // shapes for which nothing was left
	slice, limit, target float64
	entitled             float64 // of the whole pool
}

func plain(p Pool, cfg Config, now time.Time) *plainCycle {
	c := &plainCycle{cfg: cfg, now: now, eval: &classad.Context{Now: now}, inUse: newUnitsInUse(cfg.Limits)}
	claims := slices.DeleteFunc(slices.Clone(p.Claims), c.overdue)
	c.lookAtSlots(p, claims)
	c.findTenants(claims)
	c.gather(p, claims)
	c.introduce()
	c.shape()
	c.fill()
	return c
}

func (c *plainCycle) overdue(cl pool.Claim) bool {
	return cl.State == pool.Matched && c.cfg.RequestClaimTimeout > 0 && c.now.Sub(cl.MatchedAt) > c.cfg.RequestClaimTimeout
}

func (c *plainCycle) user(name string) *plainUser {
	for _, u := range c.users {
		if u.name == name {
			return u
		}
	}
	u := &plainUser{name: name, nice: c.cfg.Params.Nice(name), skipped: map[string]int{}, barren: map[string]bool{}}
	c.users = append(c.users, u)
	return u
}

func (c *plainCycle) weigh(ad *classad.Ad) accountant.Weight {
	e := c.cfg.SlotWeight
	if own, ok := ad.Lookup("SlotWeight"); ok {
		e = own
	}
	if !c.cfg.UseSlotWeights || e == nil {
		return accountant.One
	}
	n, ok := e.Eval(c.eval, ad, nil).Number()
	w, err := accountant.WeightOf(n)
	if !ok || err != nil {
		return accountant.One
	}
	return w
}

func (c *plainCycle) lookAtSlots(p Pool, claims []pool.Claim) {
	for _, cl := range claims {
		c.inUse.add(cl.Limits)
	}
	slots := slices.Clone(p.Slots)
	slices.SortFunc(slots, func(a, b pool.Slot) int { return pool.CompareNames(a.Name, b.Name) })
	for _, s := range slots {
		life, _ := s.Ad.EvalInt(c.eval, "ClassAdLifetime")
		heard, _ := s.Ad.EvalInt(c.eval, "LastHeardFrom")
		if life > 0 && heard+life < c.now.Unix() || !c.allows(c.cfg.SlotConstraint, s.Ad) {
			continue
		}
		sl := &plainSlot{name: s.Name, ad: s.Ad, weight: c.weigh(s.Ad), free: true, counted: c.allows(c.cfg.PoolSizeConstraint, s.Ad)}
		c.slots = append(c.slots, sl)
		state, _ := s.Ad.EvalString(c.eval, "State")
		outside := Holder(c.eval, s.Ad)
		if outside != "" { // until it has gone, whoever the slot is promised to
			limits, _ := s.Ad.EvalString(c.eval, "ConcurrencyLimits")
			c.inUse.add(limits)
		}
		switch {
		case slices.ContainsFunc(claims, func(cl pool.Claim) bool { return cl.Slot == s.Name }):
			sl.free, sl.claimed = false, true
		case outside != "":
			sl.free, sl.claimed = false, true
			c.user(c.spelled(outside)).before += sl.weight
		case state != "" && state != "Unclaimed" && state != "Matched":
			sl.free = false
		}
		for _, b := range p.Backoffs {
			sl.rests = sl.rests || b.Slot == s.Name && b.Until.After(c.now)
		}
		for _, cl := range p.Claims {
			sl.rests = sl.rests || cl.SlotAd() == s.Name && c.overdue(cl)
		}
		sl.free = sl.free && !sl.rests
	}
}

// spelled returns a name with its group's as configured.
func (c *plainCycle) spelled(name string) string { return c.cfg.Params.Groups.Spelled(name) }

func (c *plainCycle) allows(e *classad.Expr, ad *classad.Ad) bool {
	return e == nil || e.Eval(c.eval, ad, nil).True()
}

func (c *plainCycle) gather(p Pool, claims []pool.Claim) {
	for _, cl := range claims {
		if cl.State != pool.Vacating {
			c.user(cl.Submitter).before += cl.Weight
		}
	}
	for _, run := range p.Jobs {
		for i := range run.Count {
			id := pool.JobID{Cluster: run.First.Cluster, Proc: run.First.Proc + i}
			if slices.ContainsFunc(claims, func(cl pool.Claim) bool { return cl.Job == id }) {
				continue
			}
			j := &plainJob{id: id, ad: run.Ad.Clone(), user: c.user(run.Submitter)}
			j.ad.SetInt("ProcId", int64(id.Proc))
			j.barred = !c.allows(c.cfg.JobConstraint, j.ad)
			c.jobs = append(c.jobs, j)
		}
	}
	slices.SortFunc(c.jobs, func(a, b *plainJob) int {
		return jobprio.Condor{}.Compare(jobprio.JobOf(c.eval, a.id, a.ad), jobprio.JobOf(c.eval, b.id, b.ad))
	})
	for _, j := range c.jobs {
		j.user.jobs = append(j.user.jobs, j)
	}
	for _, u := range c.users {
		r := accountant.Record{Name: u.name}
		for _, known := range p.Submitters {
			if known.Name == u.name {
				r = known
			}
		}
		r = r.AsOf(c.now, c.cfg.Params)
		u.usage, u.eup, u.ceiling, u.floor = u.before, r.Effective(c.now, c.cfg.Params), r.Ceiling, r.Floor
	}
	slices.SortFunc(c.users, func(a, b *plainUser) int {
		if a.nice != b.nice {
			return map[bool]int{false: -1, true: 1}[a.nice]
		}
		return cmp.Or(cmp.Compare(a.eup, b.eup), strings.Compare(a.name, b.name))
	})
}

var identifier = regexp.MustCompile(`[A-Za-z_]\w*`)

// matter returns the names in slots and in jobs that can matter to what begins with
// these: those that their expressions have in them, and so on. Names are in lower case.
func (c *plainCycle) matter(slot, job []string, exprs ...*classad.Expr) (inSlot, inJob map[string]bool) {
	inSlot, inJob = map[string]bool{}, map[string]bool{}
	add := func(text string) {
		for _, n := range identifier.FindAllString(text, -1) {
			inSlot[strings.ToLower(n)], inJob[strings.ToLower(n)] = true, true
		}
	}
	for _, e := range exprs {
		if e != nil {
			add(e.String())
		}
	}
	for _, n := range slot {
		inSlot[n] = true
	}
	for _, n := range job {
		inJob[n] = true
	}
	follow := func(ad *classad.Ad, names map[string]bool) {
		for _, n := range ad.Names() {
			e, _ := ad.Lookup(n)
			if _, constant := e.Constant(); !constant && names[strings.ToLower(n)] {
				add(e.String())
			}
		}
	}
	for known := -1; known < len(inSlot)+len(inJob); {
		known = len(inSlot) + len(inJob)
		for _, s := range c.slots {
			follow(s.ad, inSlot)
		}
		for _, j := range c.jobs {
			follow(j.ad, inJob)
		}
	}
	return inSlot, inJob
}

// look returns how an ad looks to one who sees no other attributes than these.
func look(ad *classad.Ad, names map[string]bool) string {
	var lines []string
	for _, n := range ad.Names() {
		if e, _ := ad.Lookup(n); names[strings.ToLower(n)] {
			lines = append(lines, strings.ToLower(n)+" = "+e.String())
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func (c *plainCycle) shape() {
	match, _ := c.matter([]string{"requirements"}, []string{"requirements", "concurrencylimits"}, c.cfg.JobConstraint)
	exprs := []*classad.Expr{c.cfg.JobConstraint, c.cfg.PreJobRank, c.cfg.PostJobRank}
	if c.cfg.Preemption.Consider && slices.ContainsFunc(c.slots, func(s *plainSlot) bool { return s.claimed }) {
		exprs = append(exprs, c.cfg.Preemption.Requirements, c.cfg.Preemption.Rank)
	}
	_, all := c.matter([]string{"requirements", "rank"}, []string{"requirements", "concurrencylimits", "rank"}, exprs...)
	for _, s := range c.slots {
		s.kind = fmt.Sprint(s.weight, look(s.ad, match))
	}
	for _, n := range c.cfg.AddSignificant {
		all[strings.ToLower(n)] = true
	}
	kin := map[string]bool{}
	for n := range all {
		kin[n] = !containsFold(c.cfg.RemoveSignificant, n)
	}
	switch {
	case c.cfg.SkipClusters && len(c.cfg.Significant) > 0:
		kin = map[string]bool{}
		for _, n := range c.cfg.Significant {
			kin[strings.ToLower(n)] = true
		}
	case c.cfg.SkipClusters:
		kin = map[string]bool{"clusterid": true}
	case len(c.cfg.RemoveSignificant) == 0:
		kin = nil
	}
	for _, j := range c.jobs {
		if j.shape = look(j.ad, all); kin != nil {
			j.kin = "kin of " + look(j.ad, kin)
		}
		if !slices.Contains(j.user.shapes, j.shape) {
			j.user.shapes = append(j.user.shapes, j.shape)
		}
	}
	sets := map[string]bool{}
	for _, s := range c.slots {
		if s.users = c.usedBy(s); s.free && len(s.users) > 0 {
			sets[strings.Join(s.users, "\x00")] = true
		}
	}
	c.played = len(sets) > 1
}

// usedBy returns the shapes of the jobs that can use a slot.
func (c *plainCycle) usedBy(s *plainSlot) (shapes []string) {
	for _, j := range c.jobs {
		if !j.barred && classad.Match(c.eval, j.ad, s.ad) && !slices.Contains(shapes, j.shape) {
			shapes = append(shapes, j.shape)
		}
	}
	slices.Sort(shapes)
	return shapes
}
