package maui

import (
	"fairspool/lib/parallel"
)

// Reckoner reckons the priorities of jobs by one configuration in one state of the world. Its
// methods change nothing, and may be called at the same time.
//
// Arithmetic is in double precision, term by term in the order of Components and Subs, and
// nothing is rounded before the priority is cut to a whole number: as Maui does, to the
// last bit. Whatever the configuration and the jobs hold, no result is NaN or infinite: a
// factor that is no number counts as 0, and one beyond 1e30 as 1e30. Numbers of jobs below 0
// that cannot be count as 0.
type Reckoner struct {
	config *Config
	world  World
	now    float64 // Unix seconds, whole ones
}

// NewReckoner returns a reckoner. The configuration must not change while it is used.
func NewReckoner(c *Config, w World) *Reckoner { return &Reckoner{c, w, float64(w.Now.Unix())} }

// Of returns the priority of a job that waits, and everything it comes from.
func (r *Reckoner) Of(j *Job) Priority {
	own, terms := r.profileAndTerms(j.names())
	p := Priority{QOS: own.qos, Refused: own.refused, Waited: r.waited(j)}
	for sub := range Subs {
		full := terms.given[sub]
		if !sub.Component().given() {
			full = r.factor(&own, j, sub)
		}
		p.setSub(sub, terms.subs[sub], full)
	}
	for of := range Components {
		p.sum(of, terms.components[of], Sub.counts)
		p.Raw += p.Parts[of].Adds()
	}
	p.Value = r.config.bound(p.Raw, j.System)
	p.Start = whole(p.Value)
	return p
}

// setSub sets a subcomponent from its factor before the cap.
func (p *Priority) setSub(sub Sub, t Term, full float64) {
	p.Subs[sub] = Part{t.Weight, full, capped(full, t.Cap), t.Cap}
}

// sum sets a component from its subcomponents that count.
func (p *Priority) sum(of Component, t Term, counts func(Sub) bool) {
	full := 0.0
	for sub := range Subs {
		if sub.Component() == of && counts(sub) {
			full += p.Subs[sub].Adds()
		}
	}
	p.Parts[of] = Part{t.Weight, full, capped(full, t.Cap), t.Cap}
}

// start returns the start priority of a job with this profile: Of(j).Start.
func (r *Reckoner) start(own *profile, j *Job) int64 {
	raw := 0.0
	for i := range own.counting {
		c := &own.counting[i]
		f := c.same
		for _, t := range c.terms {
			f += t.adds(r.number(own, j, t.Sub))
		}
		raw += float64(float64(c.Weight) * capped(f, c.Cap))
	}
	return whole(r.config.bound(raw, j.System))
}

// The meaning of system priorities (setspri(1) of Maui): up to maxStart they replace the
// job's own priority, above all others; larger ones are relativeStart plus an addition.
const (
	maxStart      = 1e9
	relativeStart = 2e9
)

// bound returns the priority that a weighted sum comes to with a system priority. Sums
// below 1 count as 1, unless negative priorities are enabled or rejected, and those above
// 1e9 as 1e9.
func (c *Config) bound(raw float64, system int64) float64 {
	if raw < 1 && !c.EnableNegative && !c.RejectNegative {
		raw = 1
	}
	raw = min(raw, maxStart)
	switch {
	case system > maxStart:
		return raw + (float64(system) - relativeStart)
	case system > 0:
		return maxStart + float64(system)
	}
	return raw
}

// RunPriority returns the priority of a job that has run since a Unix second: its priority at
// the start plus USAGE (Maui's manual, 5.1.2). CONSUMED and REMAINING are processor-seconds,
// EXECUTIONTIME is in seconds, PERCENT is the used part of its limit. Maui 3.3.1 counts only
// EXECUTIONTIME, caps nothing, and compares PERCENT with the rest of the limit, without
// fractions. No queue uses it: Maui compares it when jobs preempt others for their priority,
// and here none do.
func (r *Reckoner) RunPriority(j *Job, since int64) Priority {
	began := *r
	began.now = min(float64(since), r.now)
	p := began.Of(j)
	own, terms := r.profileAndTerms(j.names())
	ran, limit, procs := r.now-began.now, own.limit(j), float64(j.Procs())
	left := max(limit-ran, 0)
	percent, counts := 100*ran/limit, func(Sub) bool { return true }
	if r.config.Compatible {
		percent = float64(whole(100 * ran / max(1, left)))
		counts = func(sub Sub) bool { return sub == ExecutionTime }
	}
	for sub, full := range map[Sub]float64{Consumed: procs * ran, ExecutionTime: ran, Remaining: procs * left, Percent: percent} {
		t := terms.subs[sub]
		if r.config.Compatible {
			t.Cap = 0
		}
		p.setSub(sub, t, bounded(full))
	}
	t := terms.components[Usage]
	if r.config.Compatible {
		t.Cap = 0
	}
	p.sum(Usage, t, counts)
	p.Raw += p.Parts[Usage].Adds()
	p.Value = float64(p.Start) + p.Parts[Usage].Adds()
	p.Start = whole(p.Value)
	return p
}

// profiles finds the profiles of jobs with known facts.
func (r *Reckoner) profiles(all []*Queued) {
	parallel.Parts(parallel.Bounds(len(all), manyRuns), func(_, from, to int) {
		known := map[names]*profile{}
		var own *profile
		var last names
		for _, s := range all[from:to] {
			if n := s.Job.names(); own == nil || n != last {
				last = n
				if own = known[n]; own == nil {
					own = r.profile(n)
					known[n] = own
				}
			}
			s.common, s.QOS = own, own.qos
		}
	})
}

// starts reckons the start priorities of jobs that have profiles.
func (r *Reckoner) starts(all []*Queued) {
	parallel.Parts(parallel.Bounds(len(all), manyRuns), func(_, from, to int) {
		for _, s := range all[from:to] {
			s.Start = r.start(s.common, s.Job)
		}
	})
}

// manyRuns are worth another processor.
const manyRuns = 1000
