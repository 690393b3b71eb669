package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/deal"
	"fairspool/lib/negotiator/shapes"
	"fairspool/lib/pool"
)

// The number of submitters that are named as holding or wanting slots.
const (
	mostHolders = 5
	mostAhead   = 5
)

// asksAbout reports whether Config.Explain asks about any job of some runs.
func (d *findings) asksAbout(runs []deal.Run) bool {
	return slices.ContainsFunc(d.c.Config.Explain, func(p pool.Procs) bool {
		return slices.ContainsFunc(runs, func(r deal.Run) bool {
			_, ok := r.Intersect(p)
			return ok
		})
	})
}

// analyse returns the analysis of an autocluster.
func (d *diagnosis) analyse(k *deal.Autocluster) negotiator.Analysis {
	a := negotiator.Analysis{Steps: d.steps(k)}
	if id, ok := jobID(d.c.Billed(k.Autocluster), k.Ad); ok {
		a.Job = id
	}
	n := d.nearest(k)
	if n == nil {
		return a
	}
	a.Nearest = &negotiator.Nearest{Slot: n.slot.Name, Causes: d.causes(n, pool.JobID{}), Lacks: d.lacks(k, n)}
	if n.own > 0 {
		a.Nearest.Fails = d.fails("job", k.Ad, n.ad)
	}
	if n.theirs > 0 {
		a.Nearest.Fails = append(a.Nearest.Fails, d.fails("slot", n.ad, k.Ad)...)
	}
	s := d.asker[d.index[k]]
	if s != nil {
		a.Preemption = d.c.Protections(s, k, d.pairs)
	}
	if a.Preemption != nil {
		a.PreemptionFor = s.Name
	}
	a.Nearest.Holders = d.without(n).Holders
	f := d.fieldOf(k, n)
	d.ahead[k] = f
	a.Ahead, a.MoreAhead, a.Holders, a.MoreHolders = f.ahead, f.moreAhead, f.holders, f.moreHolders
	a.OneQueue = d.precedence != nil
	return a
}

func jobID(eval *classad.Context, ad *classad.Ad) (pool.JobID, bool) {
	cluster, ok := ad.EvalInt(eval, pool.AttrClusterID)
	proc, also := ad.EvalInt(eval, pool.AttrProcID)
	return pool.JobID{Cluster: int(cluster), Proc: int(proc)}, ok && also
}

// mostFails is how many failing clauses are named.
const mostFails = 8

// fails lists the clauses of one ad's Requirements that are not true with the other.
func (d *findings) fails(of string, my, target *classad.Ad) (list []negotiator.Failing) {
	for _, c := range classad.Explain(&d.c.Bill, my, target, pool.AttrRequirements) {
		if !c.Fails() || len(list) == mostFails {
			continue
		}
		f := negotiator.Failing{Of: of}
		if c.Expr != nil {
			f.Clause = clauseText(c.Expr)
			f.Values = d.values(c.Expr, my, target)
		}
		list = append(list, f)
	}
	return list
}

// Bounds of what is said of one clause.
const (
	mostValues = 4
	mostValue  = 60
)

// values says what the attributes in a clause are.
func (d *findings) values(e *classad.Expr, my, target *classad.Ad) string {
	own, theirs := classad.References(e, my)
	var list []string
	say := func(names []string, of, other *classad.Ad) {
		for _, name := range names {
			if len(list) < mostValues {
				list = append(list, name+" is "+clip(of.Eval(&d.c.Bill, name, other).String(), mostValue))
			}
		}
	}
	say(theirs, target, my)
	say(own, my, target)
	for i := range list[min(len(list), 1):] {
		list[i+1] = strings.Replace(list[i+1], " is ", " ", 1)
	}
	return strings.Join(list, ", ")
}

// clauseTexts numbers the texts of clauses of slots' Requirements.
type clauseTexts struct {
	texts  []string
	number map[string]int
	of     [][]int                    // by number of the group
	known  map[*classad.Expr][]string // of Requirements, which many shapes share
}

// slotClause returns the number of the text of the n-th clause of the Requirements
// of a group's slots.
func (t *clauseTexts) slotClause(g *deal.Group, n int) int {
	for len(t.of) <= g.Number {
		t.of = append(t.of, nil)
	}
	list := t.of[g.Number]
	if list == nil {
		for _, text := range t.clausesOf(g.Ad) {
			if t.number == nil {
				t.number = map[string]int{}
			}
			at, known := t.number[text]
			if !known {
				at = len(t.texts)
				t.number[text] = at
				t.texts = append(t.texts, text)
			}
			list = append(list, at)
		}
		t.of[g.Number] = list
	}
	return list[min(n, len(list)-1)]
}

// mostClause is how many characters of a clause are shown.
const mostClause = 160

// clausesOf returns the texts of the clauses of an ad's Requirements, at least one;
// empty for an ad without.
func (t *clauseTexts) clausesOf(ad *classad.Ad) []string {
	e, ok := ad.Lookup(pool.AttrRequirements)
	if !ok {
		return []string{""}
	}
	return once(&t.known, e, func() (texts []string) {
		for _, clause := range e.Clauses() {
			texts = append(texts, clauseText(clause))
		}
		return texts
	})
}

// clauseText returns a clause for people: without the parentheses around it, and
// without what makes it bear with ads that do not say, which is no matter where it
// fails; cut if it is too long.
func clauseText(clause *classad.Expr) string {
	text := bare(clause.String())
	if lenient, ok := strings.CutSuffix(text, " =!= false"); ok && bare(lenient) != lenient {
		text = bare(lenient)
	}
	return clip(text, mostClause)
}

// bare takes off the parentheses that are around the whole of an expression.
func bare(text string) string {
	for strings.HasPrefix(text, "(") && closing(text) == len(text)-1 {
		text = text[1 : len(text)-1]
	}
	return text
}

// closing returns where the parenthesis closes that an expression begins with.
func closing(text string) int {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// clip cuts a text that is too long for people.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-3], "") + "..."
}

// tally counts the slots at each step for one autocluster.
type tally struct {
	own         []int // by clause
	theirs      map[int]int
	small, wide []int // by resource
	by          map[negotiator.Cause]int
}

// steps returns the funnel of an autocluster.
func (d *findings) steps(k *deal.Autocluster) []negotiator.Step {
	c := d.c
	if k.Short {
		return nil
	}
	own := d.texts.clausesOf(k.Ad)
	t := tally{own: make([]int, len(own)), theirs: map[int]int{}, small: make([]int, len(c.Resources)+1),
		wide: make([]int, len(c.Resources)+1), by: map[negotiator.Cause]int{}}
	for i := range d.stands {
		st := &d.stands[i]
		switch v := c.Verdict(k.Autocluster, st.group.Group); {
		case v == shapes.TooSmall:
			t.wide[k.Request.First(st.group.Left)] += st.slots
		case v >= shapes.SlotClause:
			t.theirs[d.texts.slotClause(st.group, int(v-shapes.SlotClause))] += st.slots
		case v >= 0:
			t.own[min(int(v), len(own)-1)] += st.slots
		case st.standing == deal.Free && st.now != st.group && !st.taken && c.Verdict(k.Autocluster, st.now.Group) != shapes.Accepts:
			t.small[k.Request.First(st.now.Left)] += st.slots
		default:
			t.by[st.step()] += st.slots
		}
	}
	steps := d.list(t, own)
	d.none[k] = matching(steps)+slotsAt(steps, negotiator.CauseTooWide) == 0
	return steps
}

// step returns where slots drop out that match.
func (st *stand) step() negotiator.Cause {
	if st.taken {
		return negotiator.CauseTaken
	}
	return [deal.Standings]negotiator.Cause{deal.Free: negotiator.Left, deal.Claimed: negotiator.CauseClaimed, deal.Elsewhere: negotiator.CauseBusy, deal.Drained: negotiator.CauseDrained, deal.Resting: negotiator.CauseResting, deal.Reserved: negotiator.CauseReserved}[st.standing]
}

// list puts the counts into the order of the steps.
func (d *findings) list(t tally, own []string) (steps []negotiator.Step) {
	add := func(cause negotiator.Cause, text string, n int) {
		if n > 0 {
			steps = append(steps, negotiator.Step{Cause: cause, Text: text, Slots: n})
		}
	}
	add(negotiator.CauseSlotConstraint, "", len(d.c.Excluded))
	for i, n := range t.own {
		add(negotiator.CauseRequirements, own[i], n)
	}
	var theirs []int
	for at := range t.theirs {
		theirs = append(theirs, at)
	}
	slices.SortFunc(theirs, func(a, b int) int {
		return cmp.Or(cmp.Compare(t.theirs[b], t.theirs[a]), strings.Compare(d.texts.texts[a], d.texts.texts[b]))
	})
	for i, at := range theirs {
		if i == mostClauses {
			rest := 0
			for _, at := range theirs[i:] {
				rest += t.theirs[at]
			}
			add(negotiator.CauseSlotRequirements, fmt.Sprintf("%d others", len(theirs)-i), rest)
			break
		}
		cause := negotiator.CauseSlotRequirements
		if _, _, is := pool.MaintenanceOf(d.texts.texts[at]); is {
			cause = negotiator.CauseMaintenance
		}
		add(cause, d.texts.texts[at], t.theirs[at])
	}
	for i, n := range t.wide {
		add(negotiator.CauseTooWide, d.resource(i), n)
	}
	for i, n := range t.small {
		add(negotiator.CauseTooSmall, d.resource(i), n)
	}
	for _, cause := range []negotiator.Cause{negotiator.CauseClaimed, negotiator.CauseBusy, negotiator.CauseDrained, negotiator.CauseResting, negotiator.CauseReserved, negotiator.CauseTaken, negotiator.Left} {
		add(cause, "", t.by[cause])
	}
	return steps
}

// mostClauses is how many clauses of slots' Requirements one funnel names.
const mostClauses = 10

func (d *findings) resource(i int) string {
	if i < len(d.c.Resources) {
		return d.c.Resources[i].Name
	}
	return ""
}
