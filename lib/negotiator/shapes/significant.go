package shapes

import (
	"bytes"
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
)

// lexicon numbers expressions so that equal ones have equal numbers, and
// remembers which attributes each refers to. 0 stands for a missing one.
type lexicon struct {
	byExpr map[*classad.Expr]uint32 // of those that are no constants
	byBits map[classad.Value]uint32 // of numbers and booleans
	byText map[string]uint32        // of all others, strings behind a NUL byte
	refs   map[uint32]refs          // of those that refer to anything
	last   uint32                   // the highest number
	buf    []byte
	// shadowed says that some ad has an attribute that is called like a scope, so
	// that MY and TARGET may mean something else.
	shadowed bool
}

// refs are the attributes an expression refers to, in lower case: of the ad
// that it stands in, and of the other one. A name without a scope is looked up
// in both.
type refs struct {
	own, other []string
	// all is set when there is no telling: anything may matter.
	all bool
}

func newLexicon() *lexicon {
	return &lexicon{
		byExpr: map[*classad.Expr]uint32{}, byBits: map[classad.Value]uint32{}, byText: map[string]uint32{}, refs: map[uint32]refs{},
	}
}

// number returns the number of e.
func (x *lexicon) number(e *classad.Expr) uint32 {
	if v, ok := e.Constant(); ok {
		return x.constant(v)
	}
	n, ok := x.byExpr[e]
	if !ok {
		x.buf = e.AppendTo(x.buf[:0], classad.StyleSpool)
		if n, ok = x.byText[string(x.buf)]; !ok {
			n = x.next()
			x.refs[n] = x.referred(e, x.buf)
			x.byText[string(x.buf)] = n
		}
		x.byExpr[e] = n
	}
	return n
}

// constant returns the number of an expression that is a constant.
func (x *lexicon) constant(v classad.Value) uint32 {
	switch v.Kind() {
	case classad.KindInteger, classad.KindReal, classad.KindBoolean:
		n, ok := x.byBits[v]
		if !ok {
			n = x.next()
			x.byBits[v] = n
		}
		return n
	}
	if s, ok := v.Text(); ok {
		x.buf = append(append(x.buf[:0], 0), s...)
	} else {
		x.buf = classad.Literal(v).AppendTo(x.buf[:0], classad.StyleSpool)
	}
	n, ok := x.byText[string(x.buf)]
	if !ok {
		n = x.next()
		x.byText[string(x.buf)] = n
	}
	return n
}

// next returns the next number.
func (x *lexicon) next() uint32 {
	x.last++
	return x.last
}

// at returns the number of the ad's attribute of that name.
func (x *lexicon) at(ad *classad.Ad, name *classad.Name) uint32 {
	v, e, ok := ad.Get(name)
	switch {
	case !ok:
		return 0
	case e != nil:
		return x.number(e)
	}
	return x.constant(v)
}

// referred finds what e refers to. Where that takes more than its names, what e
// expects of the other ad is looked for in its own as well.
func (x *lexicon) referred(e *classad.Expr, text []byte) refs {
	if _, ok := e.Constant(); ok {
		return refs{}
	}
	if looks, ok := classad.Sides(e); ok && !x.shadowed {
		return refs{own: lower(slices.Concat(looks.Own, looks.Either)), other: lower(slices.Concat(looks.Other, looks.Either))}
	}
	own, other := classad.References(e, classad.New())
	// The text that the function eval reads may refer to anything.
	if own == nil || bytes.Contains(bytes.ToLower(text), []byte("eval(")) {
		return refs{all: true}
	}
	return refs{own: lower(slices.Concat(own, other)), other: lower(other)}
}

func lower(names []string) []string {
	for i, n := range names {
		names[i] = strings.ToLower(n)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// signature appends the numbers of the ad's attributes called names: ads with equal
// signatures are equal for an expression that uses only these.
func (x *lexicon) signature(to []byte, ad *classad.Ad, names Names) []byte {
	for _, name := range names {
		to = binary.LittleEndian.AppendUint32(to, x.at(ad, name))
	}
	return to
}

// sides are the attributes that something refers to, by the ad they stand
// in.
type sides struct{ slot, job Names }

// Names are sorted and in lower case.
type Names []*classad.Name

func (n Names) Has(name string) bool {
	return slices.ContainsFunc(n, func(have *classad.Name) bool { return have.String() == name })
}

// Significance finds which attributes can make a difference.
type Significance struct {
	lex   *lexicon
	all   []*classad.Ad // of slots
	slots []*classad.Ad // that have all expressions which these have
	jobs  []jobprio.Run
	ads   []*classad.Ad // that have all expressions which the jobs' ads have
	// inSlots and inJobs hold the different expressions that an attribute has
	// among all ads.
	inSlots, inJobs map[string][]uint32
	// constraint is NEGOTIATOR_JOB_CONSTRAINT, with MY the job; nil: none.
	constraint *classad.Expr
	// everySlot and everyJob are the names of all attributes, once asked for.
	everySlot, everyJob []string
}

func newSignificance(lex *lexicon, slots []*classad.Ad, jobs []jobprio.Run, by Numbering) *Significance {
	return &Significance{lex: lex, all: slots, slots: slots, jobs: jobs, ads: telling(jobs, by), inSlots: map[string][]uint32{}, inJobs: map[string][]uint32{}}
}

// telling returns ads that contain all expressions of the jobs' ads: if a job's own attributes are
// constants, the ad that it shares with others.
func telling(jobs []jobprio.Run, by Numbering) []*classad.Ad {
	var ads []*classad.Ad
	seen, numbers := map[*classad.Ad]bool{}, map[int]bool{}
	last := 0
	for i := range jobs {
		ad, like := jobs[i].Ad, jobs[i].Likeness
		if known := like != nil && like.By == by && by != nil; known && (like.Expressions == last || numbers[like.Expressions]) {
			last = like.Expressions
			continue
		}
		if up := ad.Parent(); up != nil && ad.Simple() {
			if by != nil {
				n := by.NumberOf(up)
				if like != nil {
					like.Expressions, like.By = n, by
				}
				if numbers[n] {
					continue
				}
				numbers[n], last = true, n
			} else if seen[up] {
				continue
			}
			seen[up] = true
			ad = up
		}
		ads = append(ads, ad)
	}
	return ads
}

// of returns all attributes that decide about the value of the slots' attributes slot,
// the jobs' attributes job and of expressions with MY the slot: themselves, their
// references, the references of these, and so on.
func (s *Significance) of(slot, job []string, exprs ...*classad.Expr) sides {
	inSlot, inJob := map[string]bool{}, map[string]bool{}
	var todoSlot, todoJob []string
	need := func(slot, job []string) {
		for _, n := range slot {
			if !inSlot[n] {
				inSlot[n] = true
				todoSlot = append(todoSlot, n)
			}
		}
		for _, n := range job {
			if !inJob[n] {
				inJob[n] = true
				todoJob = append(todoJob, n)
			}
		}
	}
	need(slot, job)
	follow := func(n uint32, fromJob bool) {
		switch r := s.lex.refs[n]; {
		case r.all:
			need(s.allNames())
		case fromJob:
			need(r.other, r.own)
		default:
			need(r.own, r.other)
		}
	}
	for _, e := range exprs {
		if e != nil {
			follow(s.lex.number(e), false)
		}
	}
	if s.constraint != nil {
		follow(s.lex.number(s.constraint), true)
	}
	for len(todoSlot)+len(todoJob) > 0 {
		slot, job := todoSlot, todoJob
		todoSlot, todoJob = nil, nil
		s.lookInJobs(job)
		for _, name := range slot {
			for _, n := range s.slotExprs(name) {
				follow(n, false)
			}
		}
		for _, name := range job {
			for _, n := range s.jobExprs(name) {
				follow(n, true)
			}
		}
	}
	return sides{ready(inSlot), ready(inJob)}
}

// asked returns the names that jobs look up in slots when their attributes are
// evaluated, but not what these refer to in turn.
func (s *Significance) asked(job Names) Names {
	set := map[string]bool{}
	for _, name := range job {
		for _, n := range s.jobExprs(name.String()) {
			r := s.lex.refs[n]
			if r.all {
				r.other, _ = s.allNames()
			}
			for _, o := range r.other {
				set[o] = true
			}
		}
	}
	return ready(set)
}

// slotExprs returns the different expressions that the slots have under name.
func (s *Significance) slotExprs(name string) []uint32 {
	found, ok := s.inSlots[name]
	if !ok {
		seen, n := map[uint32]bool{}, classad.NewName(name)
		var last *classad.Expr
		for i := range s.slots {
			if _, e, _ := s.slots[i].Get(n); e != nil && e != last {
				found, last = s.note(found, seen, e), e
			}
		}
		s.inSlots[name] = found
	}
	return found
}

// jobExprs returns the different expressions that the jobs have under name.
func (s *Significance) jobExprs(name string) []uint32 {
	s.lookInJobs([]string{name})
	return s.inJobs[name]
}

// lookInJobs finds the expressions that the jobs have under several names, going through
// the jobs once.
func (s *Significance) lookInJobs(names []string) {
	type search struct {
		name  *classad.Name
		found []uint32
		seen  map[uint32]bool
		last  *classad.Expr
	}
	var all []search
	for _, n := range names {
		if _, known := s.inJobs[n]; !known {
			all = append(all, search{name: classad.NewName(n), seen: map[uint32]bool{}})
		}
	}
	for _, ad := range s.ads {
		for k := range all {
			x := &all[k]
			if _, e, _ := ad.Get(x.name); e != nil && e != x.last {
				x.found, x.last = s.note(x.found, x.seen, e), e
			}
		}
	}
	for _, x := range all {
		s.inJobs[x.name.String()] = x.found
	}
}

// note appends the number of an expression if it refers to anything and is new; a
// constant refers to nothing.
func (s *Significance) note(found []uint32, seen map[uint32]bool, e *classad.Expr) []uint32 {
	n := s.lex.number(e)
	if r := s.lex.refs[n]; seen[n] || !r.all && len(r.own)+len(r.other) == 0 {
		return found
	}
	seen[n] = true
	return append(found, n)
}

// InJobs returns the attributes of jobs that decide about those called job, in whatever case.
func (s *Significance) InJobs(job []string) Names { return s.of(nil, lower(slices.Clone(job))).job }

// allNames returns the names of all attributes of all slots and all jobs.
func (s *Significance) allNames() (slot, job []string) {
	if s.everySlot == nil && s.everyJob == nil {
		inSlots, inJobs := map[string]bool{}, map[string]bool{}
		for _, ad := range s.all {
			addNames(inSlots, ad)
		}
		for _, j := range s.jobs {
			addNames(inJobs, j.Ad)
		}
		s.everySlot, s.everyJob = slices.Sorted(maps.Keys(inSlots)), slices.Sorted(maps.Keys(inJobs))
	}
	return s.everySlot, s.everyJob
}

// everySlotName returns the names of all attributes of all slots.
func (s *Significance) everySlotName() Names {
	slot, _ := s.allNames()
	set := map[string]bool{}
	for _, name := range slot {
		set[name] = true
	}
	return ready(set)
}

func addNames(set map[string]bool, ad *classad.Ad) {
	for _, name := range ad.Names() {
		set[strings.ToLower(name)] = true
	}
}

// ready returns the names of a set, sorted, ready to look up.
func ready(set map[string]bool) Names {
	var out Names
	for _, name := range slices.Sorted(maps.Keys(set)) {
		out = append(out, classad.NewName(name))
	}
	return out
}

// Texts returns the names as texts.
func (n Names) Texts() []string {
	list := make([]string, len(n))
	for i, name := range n {
		list[i] = strings.ToLower(name.String())
	}
	return list
}

// With returns names and more of them.
func With(some Names, more []string) Names {
	for _, m := range more {
		if !some.Has(strings.ToLower(m)) {
			some = append(some[:len(some):len(some)], classad.NewName(strings.ToLower(m)))
		}
	}
	return some
}
