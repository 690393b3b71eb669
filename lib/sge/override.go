package sge

// overriding is the override policy in a pass (Seed; sched_conf(5), share_override_tickets):
// objects have tickets of their own, and share them among their active jobs.
type overriding struct {
	objects []object
	shared  bool
	active  []int32 // how many jobs of each object run, or are taken as if they did
}

// override gives the members what their objects and they themselves have of override tickets.
func (p *pass) override(before []float64) {
	of, n := p.crowd.categories(func(w *party) (stake, bool) {
		s := stake{own: w.extra}
		some := w.extra > 0
		for kind, o := range w.objects {
			if p.crowd.objects[o].oticket > 0 {
				s.by[kind], some = uint64(o), true
			}
		}
		return s, some
	})
	if n == 0 {
		return
	}
	o := &overriding{p.crowd.objects, p.config.ShareOverride, p.crowd.active(p.running)}
	p.ran[Override] = make([]float64, p.running)
	for m := range p.ran[Override] {
		p.ran[Override][m] = o.amount(&p.crowd.parties[p.crowd.of[m]], 0)
	}
	waits := make([]float64, len(p.members)-p.running)
	p.waits[Override] = waits
	if !o.shared {
		for i := range waits {
			waits[i] = o.amount(&p.crowd.parties[p.crowd.of[p.running+i]], 0)
		}
		return
	}
	c := contest{members: p.members, before: before, trial: func(w *party) float64 { return o.amount(w, 1) }}
	c.begin(p.contenders(of, n))
	for top := c.next(); top != nil; top = c.next() {
		waiting := int(top.members[0]) - p.running
		waits[waiting] = top.trial
		p.trace.overridden(waiting, p.party(p.running+waiting), o)
		for _, object := range top.party.objects {
			o.active[object]++
		}
		c.goes()
	}
}

// amount returns what a job of a party gets when so many more jobs of its objects are active.
func (o *overriding) amount(w *party, more int32) float64 {
	return o.part(w.objects[ofUser], more) + o.part(w.objects[ofProject], more) + o.part(w.objects[ofDepartment], more) + w.extra
}

func (o *overriding) part(object, more int32) float64 {
	x := o.objects[object].oticket
	if x > 0 && o.shared {
		x /= float64(o.active[object] + more)
	}
	return x
}

// active counts the jobs of each object that run: the first ones of the members.
func (w *crowd) active(running int) []int32 {
	n := make([]int32, len(w.objects))
	for _, number := range w.of[:running] {
		for _, object := range w.parties[number].objects {
			n[object]++
		}
	}
	return n
}

// stake is what a member competes with for tickets.
type stake struct {
	by  [kinds]uint64 // objects, or what they are entitled to
	own float64       // of the job itself
	// before is what it has of other policies, and alone its category if its members differ in
	// that.
	before float64
	alone  int32
}

// categories numbers the different stakes of the parties, from 0 on, and returns how many there
// are; -1 is the number of parties that have none.
func (w *crowd) categories(stakeOf func(*party) (s stake, some bool)) (of []int32, n int) {
	known := map[stake]int32{}
	of = make([]int32, len(w.parties))
	for i := range w.parties {
		s, some := stakeOf(&w.parties[i])
		if !some {
			of[i] = -1
			continue
		}
		number, met := known[s]
		if !met {
			number = int32(len(known))
			known[s] = number
		}
		of[i] = number
	}
	return of, len(known)
}
