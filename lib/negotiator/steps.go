package negotiator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// clauseTexts numbers the texts of clauses of slots' Requirements.
type clauseTexts struct {
	texts  []string
	number map[string]int
	of     [][]int // by number of the group
}

// slotClause returns the number of the text of the n-th clause of the Requirements
// of a group's slots.
func (t *clauseTexts) slotClause(g *group, n int) int {
	for len(t.of) <= g.number {
		t.of = append(t.of, nil)
	}
	list := t.of[g.number]
	if list == nil {
		for _, text := range clausesOf(g.ad) {
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
		t.of[g.number] = list
	}
	return list[min(n, len(list)-1)]
}

// mostClause is how many characters of a clause are shown.
const mostClause = 160

// clausesOf returns the texts of the clauses of an ad's Requirements, at least one;
// empty for an ad without.
func clausesOf(ad *classad.Ad) []string {
	e, ok := ad.Lookup(pool.AttrRequirements)
	if !ok {
		return []string{""}
	}
	var texts []string
	for _, clause := range e.Clauses() {
		texts = append(texts, clauseText(clause))
	}
	return texts
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
	by          map[Cause]int
}

// steps returns the funnel of an autocluster.
func (d *diagnosis) steps(k *autocluster) []Step {
	c := d.c
	if k.short {
		return nil
	}
	own := clausesOf(k.ad)
	t := tally{own: make([]int, len(own)), theirs: map[int]int{}, small: make([]int, len(c.resources)+1),
		wide: make([]int, len(c.resources)+1), by: map[Cause]int{}}
	for i := range d.stands {
		st := &d.stands[i]
		switch v := k.verdict(c, st.group); {
		case v == tooSmall:
			t.wide[k.request.first(st.group.left)] += st.slots
		case v >= slotClause:
			t.theirs[d.texts.slotClause(st.group, int(v-slotClause))] += st.slots
		case v >= 0:
			t.own[min(int(v), len(own)-1)] += st.slots
		case st.standing == free && st.now != st.group && !st.taken && k.verdict(c, st.now) != accepts:
			t.small[k.request.first(st.now.left)] += st.slots
		default:
			t.by[st.step()] += st.slots
		}
	}
	steps := d.list(t, own)
	d.none[k] = matching(steps)+slotsAt(steps, CauseTooWide) == 0
	return steps
}

// step returns where slots drop out that match.
func (st *stand) step() Cause {
	if st.taken {
		return CauseTaken
	}
	return [standings]Cause{free: Left, claimed: CauseClaimed, elsewhere: CauseBusy, drained: CauseDrained, resting: CauseResting, reserved: CauseReserved}[st.standing]
}

// first returns the first resource of which so much is not enough.
func (q *request) first(left amounts) int {
	for i, x := range q.ask {
		if x > left[i] {
			return i
		}
	}
	return len(left)
}

// list puts the counts into the order of the steps.
func (d *diagnosis) list(t tally, own []string) (steps []Step) {
	add := func(cause Cause, text string, n int) {
		if n > 0 {
			steps = append(steps, Step{cause, text, n})
		}
	}
	add(CauseSlotConstraint, "", len(d.c.excluded))
	for i, n := range t.own {
		add(CauseRequirements, own[i], n)
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
			add(CauseSlotRequirements, fmt.Sprintf("%d others", len(theirs)-i), rest)
			break
		}
		add(CauseSlotRequirements, d.texts.texts[at], t.theirs[at])
	}
	for i, n := range t.wide {
		add(CauseTooWide, d.resource(i), n)
	}
	for i, n := range t.small {
		add(CauseTooSmall, d.resource(i), n)
	}
	for _, cause := range []Cause{CauseClaimed, CauseBusy, CauseDrained, CauseResting, CauseReserved, CauseTaken, Left} {
		add(cause, "", t.by[cause])
	}
	return steps
}

// mostClauses is how many clauses of slots' Requirements one funnel names.
const mostClauses = 10

func (d *diagnosis) resource(i int) string {
	if i < len(d.c.resources) {
		return d.c.resources[i].name
	}
	return ""
}
