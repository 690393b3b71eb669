package main

import (
	"fmt"
	"io"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/nearest"
)

const requirements = "Requirements"

// refusal is one reason for which one side does not take the other.
type refusal struct {
	By     string   // "job" or "slot": whose Requirements it is
	Path   []string // Requirements, and the attributes that lead to the clause
	Clause string   // as it is written; empty when there are no Requirements
	Folded string   // with the constants of its own ad put in
	Value  string   // false, undefined, error, or something that is no boolean
	Needs  []need
}

// need is an attribute that a clause looked at.
type need struct {
	Of, Name, Value string // Of is "job" or "slot"
	Missing         bool

	hint    string  // what a missing one may be instead
	neither bool    // a bare name, and the side that refuses does not have it either
	number  float64 // the value, if numeric
	numeric bool
}

// explainer says why a job and slots do not match.
type explainer struct {
	world *classad.Context
	job   *classad.Ad
	hints map[string]string // for names that slots do not have
}

func newExplainer(w *classad.Context, job *classad.Ad) *explainer {
	return &explainer{world: w, job: job, hints: map[string]string{}}
}

// refusals says why the job and a slot that do not match do not.
func (x *explainer) refusals(slot *classad.Ad) []refusal {
	of := side{x, "job", "slot", x.job, slot}.refusals()
	return append(of, side{x, "slot", "job", slot, x.job}.refusals()...)
}

// side is one ad looking at the other.
type side struct {
	*explainer
	name, opposite string
	my, target     *classad.Ad
}

func (s side) refusals() []refusal {
	if classad.Satisfies(s.world, s.my, s.target) {
		return nil
	}
	var list []refusal
	for _, k := range classad.Explain(s.world, s.my, s.target, requirements) {
		if k.Fails() {
			list = append(list, s.refusal(k))
		}
	}
	if len(list) == 0 { // every clause is content, and the whole is not
		whole, _ := s.my.Lookup(requirements)
		v := s.my.Eval(s.world, requirements, s.target)
		list = append(list, s.refusal(classad.Clause{Path: []string{requirements}, Expr: whole, Value: v}))
	}
	return list
}

func (s side) refusal(k classad.Clause) refusal {
	r := refusal{By: s.name, Path: k.Path, Value: k.Value.String(), Needs: []need{}}
	if k.Expr == nil {
		return r
	}
	r.Clause = k.Expr.String()
	r.Folded = r.Clause
	// A clause that its own ad decides would be no more than its value.
	folded := k.Expr.Specialize(s.world, s.my, nil)
	if _, constant := folded.Constant(); !constant {
		r.Folded = folded.String()
	}
	own, external := classad.References(k.Expr, s.my)
	for _, name := range own {
		r.Needs = append(r.Needs, s.need(s.name, name, s.my, s.target))
	}
	clause := strings.ToLower(r.Clause)
	for _, name := range external {
		n := s.need(s.opposite, name, s.target, s.my)
		// A bare name may have been meant for either side.
		n.neither = n.Missing && !s.my.Has(name) && !strings.Contains(clause, "target."+strings.ToLower(name))
		if n.Missing && s.name == "job" { // slots are seldom written by hand, and for many sorts of jobs
			n.hint = s.hint(n)
		}
		r.Needs = append(r.Needs, n)
	}
	return r
}

// need returns what an attribute of an ad is in the match.
func (s side) need(of, name string, ad, other *classad.Ad) need {
	v := ad.Eval(s.world, name, other)
	n := need{Of: of, Name: name, Value: v.String(), Missing: !ad.Has(name)}
	if kind := v.Kind(); kind == classad.KindInteger || kind == classad.KindReal {
		n.number, n.numeric = v.Number()
	}
	return n
}

// hint returns which attribute the job may have meant by one that is missing:
// one of the slot, or its own if the name is bare. What was found for one slot
// serves for those after it.
func (s side) hint(n need) string {
	hint, ok := s.hints[n.Name]
	if !ok {
		known := s.target.Names()
		if n.neither {
			known = append(known, s.my.Names()...)
		}
		hint = nearest.Hint(n.Name, known)
		s.hints[n.Name] = hint
	}
	return hint
}

// showRefusals says of each slot why it does not match.
func showRefusals(w io.Writer, not []pairing) error {
	var b strings.Builder
	for _, p := range not {
		b.Reset()
		fmt.Fprintf(&b, "\n%s:\n", visible(p.Name))
		for _, r := range p.Refusals {
			r.show(&b)
		}
		if _, err := io.WriteString(w, b.String()); err != nil {
			return err
		}
	}
	return nil
}

// shownNeeds is how many attributes of a clause are shown to people.
const shownNeeds = 12

func (r refusal) show(b *strings.Builder) {
	if r.Clause == "" {
		fmt.Fprintf(b, "  the %s refuses: it has no %s\n", r.By, requirements)
		return
	}
	fmt.Fprintf(b, "  the %s refuses: %s%s is %s\n", r.By, leading(r.Path), short(r.Clause, clauseBytes), short(r.Value, valueBytes))
	for i, n := range r.Needs {
		switch {
		case i == shownNeeds:
			fmt.Fprintf(b, "      and %d more\n", len(r.Needs)-i)
			return
		case n.Missing:
			fmt.Fprintf(b, "      %s %s%s\n", n.without(), n.Name, n.hint)
		default:
			fmt.Fprintf(b, "      %-4s  %s = %s\n", n.Of, n.Name, short(n.Value, valueBytes))
		}
	}
}

// leading names the attribute that a clause stands in, if it is another one
// than Requirements.
func leading(path []string) string {
	if len(path) < 2 {
		return ""
	}
	return path[len(path)-1] + ": "
}

// without says who lacks an attribute.
func (n need) without() string {
	if n.neither {
		return "neither has"
	}
	return fmt.Sprintf("%-4s  has no", n.Of)
}
