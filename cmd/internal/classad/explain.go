package classad

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/nearest"
	"fairspool/lib/plural"
)

const requirements = "Requirements"

// refusal is one reason for which one side refuses the other.
type refusal struct {
	By     string   // "job" or "slot": the owner of the Requirements
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

	hint    string  // a likely replacement of a missing one
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

// hint returns the attribute that the job may have meant by a missing one: an attribute
// of the slot, or its own if the name is bare. The answer for one slot serves for later
// ones.
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

// without names the sides that lack an attribute.
func (n need) without() string {
	if n.neither {
		return "neither has"
	}
	return fmt.Sprintf("%-4s  has no", n.Of)
}

// reason is the common part of many slots' refusals: the refusing side, and the clause.
type reason struct {
	By     string
	Path   []string
	Clause string  // the job's with its constants put in, slots' as written; empty: there are no Requirements
	Slots  int     // how many it keeps from matching
	Only   int     // how many of them nothing else does
	Values []often // the clause's values
	Needs  []*spread

	folded bool           // Clause is not as written
	count  map[string]int // of its values
}

// spread is what an attribute that a clause looked at is in many slots.
type spread struct {
	Of, Name    string
	Missing     int     // how often it is missing
	Distinct    int     // how many values it has
	Values      []often // the most frequent of them
	Least, Most string  `json:",omitempty"` // of those that are numbers

	hint        string
	neither     bool // always: see need
	count       map[string]int
	numbers     int // how often it is a number
	least, most float64
}

// often is a value and how often it was found.
type often struct {
	Value string
	Slots int
}

// reasons counts why slots do not match.
type reasons struct {
	byClause map[string]*reason
}

// add counts the refusals of one slot.
func (rs *reasons) add(list []refusal) {
	if rs.byClause == nil {
		rs.byClause = map[string]*reason{}
	}
	seen := map[*reason]bool{} // a clause may be written twice
	for _, r := range list {
		k := rs.reason(r)
		if seen[k] {
			continue
		}
		seen[k] = true
		k.add(r)
	}
	if len(seen) == 1 {
		for k := range seen {
			k.Only++
		}
	}
}

func (rs *reasons) reason(r refusal) *reason {
	clause := r.Clause
	if r.By == "job" {
		clause = r.Folded
	}
	key := r.By + ": " + leading(r.Path) + clause
	k := rs.byClause[key]
	if k == nil {
		k = &reason{By: r.By, Path: r.Path, Clause: clause, folded: clause != r.Clause, Needs: []*spread{}, count: map[string]int{}}
		rs.byClause[key] = k
	}
	return k
}

func (k *reason) add(r refusal) {
	k.Slots++
	k.count[r.Value]++
	for _, n := range r.Needs {
		i := slices.IndexFunc(k.Needs, func(s *spread) bool { return s.Of == n.Of && s.Name == n.Name })
		if i < 0 {
			i = len(k.Needs)
			k.Needs = append(k.Needs, &spread{Of: n.Of, Name: n.Name, neither: true, count: map[string]int{}})
		}
		k.Needs[i].add(n)
	}
}

func (s *spread) add(n need) {
	if n.Missing {
		s.Missing++
		s.neither, s.hint = s.neither && n.neither, n.hint
		return
	}
	s.count[n.Value]++
	if !n.numeric {
		return
	}
	if s.numbers++; s.numbers == 1 || n.number < s.least {
		s.least, s.Least = n.number, n.Value
	}
	if s.numbers == 1 || n.number > s.most {
		s.most, s.Most = n.number, n.Value
	}
}

// sorted returns the reasons, the most frequent first, with their values
// counted.
func (rs *reasons) sorted() []*reason {
	list := []*reason{}
	for _, k := range rs.byClause {
		k.Values = mostOften(k.count)
		for _, s := range k.Needs {
			s.Values, s.Distinct = mostOften(s.count), len(s.count)
		}
		list = append(list, k)
	}
	slices.SortFunc(list, func(a, b *reason) int {
		return cmp.Or(b.Slots-a.Slots, b.Only-a.Only, strings.Compare(a.By, b.By), strings.Compare(leading(a.Path), leading(b.Path)), strings.Compare(a.Clause, b.Clause))
	})
	return list
}

// listedValues bounds the values in output for programs.
const listedValues = 100

// mostOften lists the most frequent values.
func mostOften(count map[string]int) []often {
	list := []often{}
	for value, n := range count {
		list = append(list, often{value, n})
	}
	slices.SortFunc(list, func(a, b often) int {
		return cmp.Or(b.Slots-a.Slots, strings.Compare(a.Value, b.Value))
	})
	return list[:min(len(list), listedValues)]
}

// The most that is shown to people of all the reasons, and of the values of an
// attribute.
const (
	shownReasons = 20
	shownValues  = 3
)

// show writes the reasons for people.
func (rs *reasons) show(w io.Writer) error {
	list := rs.sorted()
	if len(list) == 0 {
		return nil
	}
	var b strings.Builder
	b.WriteString("\nClauses that keep slots from matching, and how many slots. \"Only\" counts the\nslots that no other clause keeps from it.\n\n  Slots    Only\n")
	for i, k := range list {
		if i == shownReasons {
			fmt.Fprintf(&b, "\nAnd %s, each for at most %s.\n", plural.Count(len(list)-i, "other reason"), plural.Count(k.Slots, "slot"))
			break
		}
		k.show(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (k *reason) show(b *strings.Builder) {
	fmt.Fprintf(b, "%7d %7d  ", k.Slots, k.Only)
	if k.Clause == "" {
		fmt.Fprintf(b, "the %s has no %s\n", k.By, requirements)
		return
	}
	fmt.Fprintf(b, "the %s wants %s%s%s\n", k.By, leading(k.Path), short(k.Clause, clauseBytes), k.is())
	for i, s := range k.Needs {
		if i == shownNeeds {
			fmt.Fprintf(b, "%20sand %d more\n", "", len(k.Needs)-i)
			return
		}
		s.show(b, k)
	}
}

// is words the clause's value, empty if it is always false, as expected.
func (k *reason) is() string {
	if k.Values[0].Value == "false" && len(k.Values) == 1 {
		return ""
	}
	return ", which is " + either(k.Values, len(k.count))
}

// show writes what an attribute is, unless it is put into the clause.
func (s *spread) show(b *strings.Builder, k *reason) {
	if k.folded && s.Of == "job" && s.Missing == 0 && s.Distinct == 1 {
		return
	}
	switch {
	case s.Missing == k.Slots && s.neither:
		fmt.Fprintf(b, "%20sneither has %s%s\n", "", s.Name, s.hint)
	case s.Missing == k.Slots:
		fmt.Fprintf(b, "%20s%-4s  has no %s%s\n", "", s.Of, s.Name, s.hint)
	case s.Missing > 0:
		fmt.Fprintf(b, "%20s%-4s  has no %s: %d of %d\n", "", s.Of, s.Name, s.Missing, k.Slots)
	}
	if len(s.Values) > 0 {
		fmt.Fprintf(b, "%20s%-4s  %s = %s\n", "", s.Of, s.Name, s.text())
	}
}

// text is the values, shortened: all if they are few, the range of numbers,
// else the most frequent.
func (s *spread) text() string {
	total := 0
	for _, n := range s.count {
		total += n
	}
	if s.Distinct > shownValues && s.numbers == total {
		return s.Least + " to " + s.Most
	}
	return either(s.Values, s.Distinct)
}

// either names the first of some values, the most frequent of all.
func either(values []often, all int) string {
	var texts []string
	for i, v := range values {
		if i == shownValues {
			return strings.Join(texts, ", ") + " or " + plural.Count(all-i, "other value")
		}
		texts = append(texts, short(v.Value, valueBytes))
	}
	return strings.Join(texts, " or ")
}
