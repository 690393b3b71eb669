// Package shapes tells slots and jobs apart for a negotiation cycle.
//
// Slots that no match can tell apart are one group, and those that no rank can tell apart
// either are one class; the values of their expressions count, not the texts. Jobs that are
// alike in everything that any of these expressions refers to are one autocluster. An
// autocluster is matched once with each group, at the expense of the jobs' owners.
//
//   - shapes.go: the distinction of slots and jobs
//   - significant.go: the references of expressions
//   - meaning.go: the meanings of slots' expressions
//   - class.go: groups and classes of slots
//   - resource.go: the requests of jobs for partitionable slots
//   - autocluster.go: jobs that are alike, and which groups they match
//   - budget.go: the steps that the expressions of an owner's jobs may take
package shapes

import (
	"slices"
	"strings"
	"sync"

	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

// Shapes are the groups and classes of slots and the autoclusters of jobs. They grow as
// slots are divided; existing ones do not change.
type Shapes struct {
	by        *Payers
	Resources []Resource     // that partitionable slots are divided by; none: there are no such slots
	groups    []*Group       // by their first slot, later ones behind them
	classes   []*Class       // likewise
	clusters  []*Autocluster // by first appearance
	Telling   Names          // the attributes that tell autoclusters apart
	Limiting  Names          // those of Telling that concurrency limits look at
	InSlots   Names          // the attributes that any expression looks up in slots
	InJobs    Names          // and in jobs
	InClasses Names          // those of InSlots and others on which a slot's class can depend
	Ranking   Names          // the attributes of jobs that tell apart how they rank slots
	Macros    Names          // those of Ranking that the rank macros look up

	keys   slotKeys
	lex    *lexicon
	sig    *Significance
	known  map[string]*Autocluster
	origin *classad.Origin // of the attributes in Telling
	alike  map[*classad.Ad]*Autocluster
	of     jobprio.Memo[*Autocluster]
	apart  bool // Telling has attributes of jobprio.Apart

	signatures Numbering // see Remember; nil: none
	bySign     map[int]*Autocluster
	key        []byte
	numbering  Numbering              // see Rules
	requests   map[pool.Resources]int // numbers of requests for partitionable slots
	asking     *Autocluster           // the autocluster of matcher
	matcher    classad.Matcher
}

// Numbering numbers ads by their expressions.
type Numbering interface{ NumberOf(*classad.Ad) int }

// Rules are the settings that make slots and jobs differ.
type Rules struct {
	// JobConstraint is NEGOTIATOR_JOB_CONSTRAINT; nil: none.
	JobConstraint *classad.Expr
	// Ranks are NEGOTIATOR_PRE_JOB_RANK and NEGOTIATOR_POST_JOB_RANK, and Preemption
	// PREEMPTION_REQUIREMENTS and PREEMPTION_RANK, as far as they are asked; nil: not given.
	Ranks, Preemption []*classad.Expr
	// SlotWeight is SLOT_WEIGHT; nil: none. Consumption are attributes that tell
	// partitionable slots apart besides, in lower case; given the resources.
	SlotWeight  *classad.Expr
	Consumption func([]Resource) []string
	// AddSignificant are further attributes that distinguish autoclusters.
	AddSignificant []string
	// Numbering, unless nil, numbers ads from 1 so that those of one number have the same expressions that are no constants.
	Numbering Numbering
	// SomeSlots are ads of some slots that have all expressions which the slots' ads have, but for constants, and attributes that are
	// called like scopes if any has such; nil: all slots are looked at.
	SomeSlots []*classad.Ad
}

// New finds the attributes that distinguish slots and jobs, of which some stand for all (jobprio.AppendRepresentatives).
func New(p *Payers, slots []*Slot, jobs []jobprio.Run, rules Rules) *Shapes {
	lex := newLexicon()
	x := &Shapes{by: p, lex: lex, numbering: rules.Numbering, requests: map[pool.Resources]int{}, known: map[string]*Autocluster{},
		of: jobprio.NewMemo[*Autocluster](jobprio.OfAutocluster)}
	x.findResources(slots, jobs)
	ads := rules.SomeSlots
	if ads == nil {
		for _, s := range slots {
			ads = append(ads, s.Ad)
		}
	}
	x.sig = newSignificance(lex, ads, jobs, rules.Numbering)
	lex.shadowed = shadowed(ads, jobs)
	slotNeeds, jobNeeds := []string{requirements}, []string{requirements, concurrencyLimits}
	var amounts []string
	for _, r := range x.Resources {
		amounts = append(amounts, strings.ToLower(r.Name))
		jobNeeds = append(jobNeeds, strings.ToLower(r.request.String()))
	}
	ranks := given(rules.Ranks...)
	x.sig.constraint = rules.JobConstraint
	match := x.sig.of(slotNeeds, jobNeeds)
	slotNeeds, jobNeeds = append(slotNeeds, jobRank), append(jobNeeds, jobRank)
	all := x.sig.of(slotNeeds, jobNeeds, slices.Concat(ranks, rules.Preemption)...)
	asked, more := With(x.sig.asked(match.job), amounts), Names(nil)
	for _, name := range x.sig.asked(all.job) {
		if !asked.Has(name.String()) {
			more = append(more, name)
		}
	}
	x.keys = slotKeys{means: newMeanings(p.Eval, lex, sync.OnceValue(x.sig.everySlotName)), ranks: ranks,
		match: lookedOf(append(Names{requirementsName}, asked...)), more: lookedOf(more),
		classes: map[string]*Class{}, groups: map[string]*Group{}, likes: map[string]int{}}
	if x.Resources != nil {
		x.keys.raw = x.sig.of(append(rules.Consumption(x.Resources), slotWeight), nil, rules.SlotWeight).slot
	}
	x.InClasses = slices.Concat(x.sig.of(slotNeeds, jobNeeds, ranks...).slot, asked, more, x.keys.raw)
	x.keys.slotRank = lookedUp{name: classad.NewName(pool.AttrRank)}
	x.InSlots, x.InJobs = append(append(all.slot[:len(all.slot):len(all.slot)], asked...), more...), all.job
	x.Telling, x.Limiting = With(all.job, rules.AddSignificant), x.sig.of(nil, []string{concurrencyLimits}).job
	x.apart = TellsApart(x.Telling)
	x.origin, x.alike = classad.NewOrigin(x.Telling...), map[*classad.Ad]*Autocluster{}
	x.Ranking, x.Macros = x.sig.of(nil, []string{jobRank}, ranks...).job, x.sig.of(nil, nil, ranks...).job
	return x
}

// TellsApart reports whether runs of one Likeness may differ in attributes.
func TellsApart(names Names) bool {
	return slices.ContainsFunc(jobprio.Apart[:], func(name string) bool { return names.Has(strings.ToLower(name)) })
}

// Deciding returns the attributes that decide about the value of an expression with MY the
// slot, in slots and in jobs; none for nil.
func (x *Shapes) Deciding(e *classad.Expr) (inSlots, inJobs Names) {
	s := x.sig.of(nil, nil, e)
	return s.slot, s.job
}

// Among returns what decides about attributes of these jobs alone.
func (x *Shapes) Among(jobs []jobprio.Run) *Significance {
	return newSignificance(x.lex, nil, jobprio.AppendRepresentatives(nil, jobs), x.numbering)
}

// Looked returns the names of all attributes by which slots are told apart.
func (x *Shapes) Looked() []string {
	list := slices.Concat(x.InSlots.Texts(), x.keys.raw.Texts())
	slices.Sort(list)
	return slices.Compact(list)
}

// Signature appends the numbers of the ad's attributes called names.
func (x *Shapes) Signature(to []byte, ad *classad.Ad, names Names) []byte {
	return x.lex.signature(to, ad, names)
}

// AppendMeaning appends what an expression means that belongs to a slot's ad.
func (x *Shapes) AppendMeaning(key []byte, ad *classad.Ad, e *classad.Expr) []byte {
	return appendMeaning(key, x.keys.means.ofExpr(ad, e))
}

// AppendSlotRank appends the meaning of a slot's Rank.
func (x *Shapes) AppendSlotRank(key []byte, ad *classad.Ad) []byte {
	return appendMeaning(key, x.keys.means.at(ad, &x.keys.slotRank))
}

// Closed reports whether an expression that belongs to a slot's ad is the same whatever the job. That does not depend
// on the constants in the ad.
func (x *Shapes) Closed(ad *classad.Ad, e *classad.Expr) bool {
	return x.keys.means.isClosed(ad, e)
}

// Likes returns how many kinds of slots jobs themselves can rank differently by now.
func (x *Shapes) Likes() int { return len(x.keys.likes) }

// given returns the expressions that there are.
func given(exprs ...*classad.Expr) []*classad.Expr {
	return slices.DeleteFunc(exprs, func(e *classad.Expr) bool { return e == nil })
}

// shadowed reports whether any ad has attributes that are called like scopes.
func shadowed(slots []*classad.Ad, jobs []jobprio.Run) bool {
	return slices.ContainsFunc(slots, (*classad.Ad).ShadowsScopes) ||
		slices.ContainsFunc(jobs, func(j jobprio.Run) bool { return j.Ad.ShadowsScopes() })
}

// The attributes that begin it all, in lower case.
var (
	requirements = strings.ToLower(pool.AttrRequirements)
	jobRank      = strings.ToLower(pool.AttrRank)

	slotWeight        = strings.ToLower(pool.AttrSlotWeight)
	concurrencyLimits = strings.ToLower(pool.AttrConcurrencyLimits)
)
