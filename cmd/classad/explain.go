package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"fairspool/lib/classad"
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
}

// refusals says why a job and a slot that do not match do not.
func refusals(w *classad.Context, job, slot *classad.Ad) []refusal {
	of := side{"job", "slot", job, slot}.refusals(w)
	return append(of, side{"slot", "job", slot, job}.refusals(w)...)
}

// side is one ad looking at the other.
type side struct {
	name, opposite string
	my, target     *classad.Ad
}

func (s side) refusals(w *classad.Context) []refusal {
	if classad.Satisfies(w, s.my, s.target) {
		return nil
	}
	var list []refusal
	for _, k := range classad.Explain(w, s.my, s.target, requirements) {
		if k.Fails() {
			list = append(list, s.refusal(w, k))
		}
	}
	if len(list) == 0 { // every clause is content, and the whole is not
		whole, _ := s.my.Lookup(requirements)
		v := s.my.Eval(w, requirements, s.target)
		list = append(list, s.refusal(w, classad.Clause{Path: []string{requirements}, Expr: whole, Value: v}))
	}
	return list
}

func (s side) refusal(w *classad.Context, k classad.Clause) refusal {
	r := refusal{By: s.name, Path: k.Path, Value: k.Value.String(), Needs: []need{}}
	if k.Expr == nil {
		return r
	}
	r.Clause = k.Expr.String()
	r.Folded = r.Clause
	// A clause that its own ad decides would be no more than its value.
	folded := k.Expr.Specialize(w, s.my, nil)
	if _, constant := folded.Constant(); !constant {
		r.Folded = folded.String()
	}
	own, external := classad.References(k.Expr, s.my)
	for _, name := range own {
		r.Needs = append(r.Needs, attribute(w, s.name, name, s.my, s.target))
	}
	for _, name := range external {
		r.Needs = append(r.Needs, attribute(w, s.opposite, name, s.target, s.my))
	}
	return r
}

func attribute(w *classad.Context, of, name string, ad, other *classad.Ad) need {
	return need{Of: of, Name: name, Value: ad.Eval(w, name, other).String(), Missing: !ad.Has(name)}
}

// showRefusals says of each slot why it does not match, and at last how many
// have the same reason, which is what one looks for first.
func showRefusals(w io.Writer, not []pairing) error {
	var b strings.Builder
	for _, p := range not {
		b.Reset()
		fmt.Fprintf(&b, "\n%s:\n", oneLine(p.Name))
		for _, r := range p.Refusals {
			r.show(&b)
		}
		if _, err := io.WriteString(w, b.String()); err != nil {
			return err
		}
	}
	if len(not) < 2 {
		return nil
	}
	_, err := io.WriteString(w, counted(not))
	return err
}

// shown is how many attributes of a clause and how many bytes of a value are
// shown to people.
const (
	shownNeeds = 12
	shownBytes = 100
)

func (r refusal) show(b *strings.Builder) {
	if r.Clause == "" {
		fmt.Fprintf(b, "  the %s refuses: it has no %s\n", r.By, requirements)
		return
	}
	where := ""
	if len(r.Path) > 1 {
		where = r.Path[len(r.Path)-1] + ": "
	}
	fmt.Fprintf(b, "  the %s refuses: %s%s is %s\n", r.By, where, short(r.Clause), short(r.Value))
	for i, n := range r.Needs {
		switch {
		case i == shownNeeds:
			fmt.Fprintf(b, "      and %d more\n", len(r.Needs)-i)
			return
		case n.Missing:
			fmt.Fprintf(b, "      %-4s  has no %s\n", n.Of, n.Name)
		default:
			fmt.Fprintf(b, "      %-4s  %s = %s\n", n.Of, n.Name, short(n.Value))
		}
	}
}

// short keeps a text on its line.
func short(text string) string {
	text = oneLine(text)
	if len(text) > shownBytes {
		text = strings.ToValidUTF8(text[:shownBytes], "") + "..."
	}
	return text
}

// counted says for how many slots each reason holds, the most frequent first.
func counted(not []pairing) string {
	count := map[string]int{}
	for _, p := range not {
		for _, r := range p.Refusals {
			count[r.reason()]++
		}
	}
	var reasons []string
	for reason := range count {
		reasons = append(reasons, reason)
	}
	slices.SortFunc(reasons, func(x, y string) int {
		if count[x] != count[y] {
			return count[y] - count[x]
		}
		return strings.Compare(x, y)
	})
	var b strings.Builder
	b.WriteString("\nHow many slots do not match for which reason:\n")
	for _, reason := range reasons {
		fmt.Fprintf(&b, "%7d  %s\n", count[reason], reason)
	}
	return b.String()
}

// reason is what refusals by many slots have in common: the job's clauses with
// its constants, which are the same everywhere, and the slots' as written.
func (r refusal) reason() string {
	switch {
	case r.Clause == "":
		return fmt.Sprintf("the %s has no %s", r.By, requirements)
	case r.By == "job":
		return "the job wants " + short(r.Folded)
	}
	return "the slot wants " + short(r.Clause)
}
