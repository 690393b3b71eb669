package negotiator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator/shapes"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
)

// Analysis is how far the slots of the pool are from taking the jobs of one
// autocluster, as the cycle left them.
type Analysis struct {
	// Job is the first job of the autocluster in the order of the negotiation.
	Job pool.JobID `json:"-"`
	// Steps are a funnel: each slot of the pool is counted once, at the step where
	// it drops out, in the order in which steps are taken. Those at the last step,
	// Left, would take a job, and something else is in the way.
	Steps []Step
	// Nearest is the slot that least is in the way of; nil: the pool has no slots, or
	// the job's Requirements take too many steps to look for one.
	Nearest *Nearest `json:",omitempty"`
	// Preemption is why claimed slots that match were not preempted for the submitter
	// PreemptionFor, in the order of Protections: of those that wait with such a job the
	// first, or the one that Config.Explain asks about.
	Preemption    []Protected `json:",omitempty"`
	PreemptionFor string      `json:",omitempty"`
	// Holders are those who hold the most of the slots that match, whatever these
	// are doing, and MoreHolders how many others there are.
	Holders     []SlotHolder `json:",omitempty"`
	MoreHolders int          `json:",omitempty"`
	// Ahead are the submitters that hold slots that match, got some, or wait for the
	// nearest, in the order of negotiation, and MoreAhead how many others there are. OneQueue
	// says that this is the order of their first jobs in Config.Queue; who waits with none
	// comes last.
	Ahead     []Contender `json:",omitempty"`
	MoreAhead int         `json:",omitempty"`
	OneQueue  bool        `json:",omitempty"`
}

// Step is where a number of slots drops out. Its Cause is none of a job's, but for
// Left.
type Step struct {
	Cause Cause
	// Text is the clause of Requirements that is the first not to be true, or the
	// resource that is the first of which there is too little.
	Text  string `json:",omitempty"`
	Slots int
}

// Left is the step of slots that would take a job.
const Left Cause = "Left"

// Nearest is the slot that is the nearest to taking a job: the one that fails the
// fewest clauses, of equals the one whose state is the nearest to free, then the
// first by name.
type Nearest struct {
	Slot string
	// Causes is what is in the way there, none if nothing is.
	Causes []Cause `json:",omitempty"`
	// Fails are the clauses that are not true, of the job's Requirements first.
	Fails []Failing `json:",omitempty"`
	// Lacks says what is too little of a partitionable slot, such as "Cpus 2 of 4":
	// there are 2, and the job requests 4.
	Lacks string `json:",omitempty"`
	// Holders are those who hold the slot, or parts of it, each once, by name.
	Holders []string `json:",omitempty"`
}

// Failing is a clause that is not true.
type Failing struct {
	// Of is "job" or "slot": whose Requirements the clause is of.
	Of string
	// Clause is its text; empty: there are no Requirements.
	Clause string `json:",omitempty"`
	// Values are those of the attributes in it, such as
	// "Memory is 16384, RequestMemory 20000".
	Values string `json:",omitempty"`
}

// SlotHolder is a submitter, and how many of the slots that match it holds: whole
// ones and pieces. New are those of them that it got in this cycle.
type SlotHolder struct {
	Submitter string
	Slots     int
	New       int `json:",omitempty"`
}

// Contender is a submitter in the order of negotiation.
type Contender struct {
	Submitter         string
	EffectivePriority float64
	// Slots are as SlotHolder's; Waiting are idle jobs that could use the nearest slot.
	Slots   int `json:",omitempty"`
	Waiting int `json:",omitempty"`
	// Place is that of the first of these in Config.Queue; see Rejection.Place.
	Place int `json:",omitempty"`
}

// How many are named of those who hold or want slots.
const (
	mostHolders = 5
	mostAhead   = 5
)

// Explained is jobs that Config.Explain asks about, and the index of their Analysis
// in the plan.
type Explained struct {
	Jobs        pool.Procs
	Autocluster int
}

// explainedRun is what Explained is made from.
type explainedRun struct {
	jobs    pool.Procs
	cluster *autocluster
}

// asksAbout reports whether Config.Explain asks about any job of some runs.
func (c *arrangement) asksAbout(runs []run) bool {
	return slices.ContainsFunc(c.cfg.Explain, func(p pool.Procs) bool {
		return slices.ContainsFunc(runs, func(r run) bool {
			_, ok := r.Intersect(p)
			return ok
		})
	})
}

// explain notes which jobs of a run Config.Explain asks about.
func (c *arrangement) explain(j jobprio.Run, k *autocluster) {
	for _, p := range c.cfg.Explain {
		if both, ok := j.Intersect(p); ok {
			k.explain = true
			c.explained = append(c.explained, explainedRun{both, k})
		}
	}
}

// analyse returns the analysis of an autocluster.
func (d *diagnosis) analyse(k *autocluster) Analysis {
	a := Analysis{Steps: d.steps(k)}
	if id, ok := jobID(d.c.Billed(k.Autocluster), k.Ad); ok {
		a.Job = id
	}
	n := d.nearest(k)
	if n == nil {
		return a
	}
	a.Nearest = &Nearest{Slot: n.name, Causes: d.causes(n, pool.JobID{}), Lacks: d.lacks(k, n)}
	if n.own > 0 {
		a.Nearest.Fails = d.fails("job", k.Ad, n.ad)
	}
	if n.theirs > 0 {
		a.Nearest.Fails = append(a.Nearest.Fails, d.fails("slot", n.ad, k.Ad)...)
	}
	s := d.asker[d.index[k]]
	if a.Preemption = d.protections(s, k); a.Preemption != nil {
		a.PreemptionFor = s.name
	}
	a.Nearest.Holders = d.freed(n).names
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
func (d *findings) fails(of string, my, target *classad.Ad) (list []Failing) {
	for _, c := range classad.Explain(&d.c.Bill, my, target, pool.AttrRequirements) {
		if !c.Fails() || len(list) == mostFails {
			continue
		}
		f := Failing{Of: of}
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

// Lines tells people how far the slots are from taking a job: the steps, the
// nearest slot, who holds what matches, and who else wants it.
func (a Analysis) Lines() []string {
	total := 0
	for _, s := range a.Steps {
		total += s.Slots
	}
	lines := []string{plural.Pick(total, "1 slot:", "%d slots:")}
	width := len(fmt.Sprint(total))
	for _, s := range a.Steps {
		lines = append(lines, fmt.Sprintf("  %*d  %s", width, s.Slots, s.text()))
	}
	if a.Nearest != nil {
		lines = append(lines, a.Nearest.lines()...)
	}
	lines = append(lines, protectionLines(a.Preemption, a.PreemptionFor)...)
	if len(a.Holders) > 0 {
		lines = append(lines, "slots that match are held by "+list(a.heldBy(), a.MoreHolders))
	}
	if len(a.Ahead) > 0 {
		order := "negotiation"
		if a.OneQueue {
			order = "the queue"
		}
		lines = append(lines, "in the order of "+order+": "+list(a.inOrder(), a.MoreAhead))
	}
	return lines
}

func list(some []string, more int) string {
	text := strings.Join(some, ", ")
	if more > 0 {
		text += plural.Pick(more, ", and another", ", and %d others")
	}
	return text
}

// text says where slots drop out.
func (s Step) text() string {
	switch s.Cause {
	case CauseRequirements:
		if s.Text == "" {
			return "the job has no Requirements"
		}
		return plural.Pick(s.Slots, "does", "do") + " not meet the job's " + s.Text
	case CauseSlotRequirements:
		if s.Text == "" {
			return plural.Pick(s.Slots, "has", "have") + " no Requirements"
		}
		return plural.Pick(s.Slots, "refuses the job by its ", "refuse the job by their ") + s.Text
	case CauseTooWide, CauseTooSmall:
		what := plural.Pick(s.Slots, "has", "have") + " too little left"
		if s.Cause == CauseTooWide {
			what = plural.Pick(s.Slots, "is", "are") + " not large enough"
		}
		if s.Text == "" {
			return what
		}
		return what + ": " + s.Text
	}
	if text, ok := stepTexts[s.Cause]; ok {
		return plural.Pick(s.Slots, text.one, text.many)
	}
	return string(s.Cause)
}

var stepTexts = map[Cause]struct{ one, many string }{
	CauseSlotConstraint: {"is left out by NEGOTIATOR_SLOT_CONSTRAINT", "are left out by NEGOTIATOR_SLOT_CONSTRAINT"},
	CauseClaimed:        {"matches, but was claimed before the cycle", "match, but were claimed before the cycle"},
	CauseBusy:           {"matches, but is in a state that takes no job", "match, but are in a state that takes no job"},
	CauseDrained:        {"matches, but is drained", "match, but are drained"},
	CauseResting:        {"matches, but is left alone after matches that nobody took up", "match, but are left alone after matches that nobody took up"},
	CauseReserved:       {"matches, but is kept for a wide job", "match, but are kept for wide jobs"},
	CauseTaken:          {"matches, but was taken in the cycle", "match, but were taken in the cycle"},
	Left:                {"matches, and is left", "match, and are left"},
}

func (n *Nearest) lines() []string {
	head := "the nearest is " + n.Slot
	var parts []string
	for _, f := range n.Fails {
		if f.Clause == "" {
			parts = append(parts, "the "+f.Of+" has no Requirements")
			continue
		}
		parts = append(parts, "the "+f.Of+"'s "+f.text())
	}
	if n.Lacks != "" {
		parts = append(parts, "it has "+n.Lacks+" requested")
	}
	if len(n.Holders) > 0 {
		parts = append(parts, "it is held by "+plural.List(n.Holders))
	}
	if len(parts) == 0 {
		return []string{head}
	}
	lines := []string{head + ":"}
	for _, p := range parts {
		lines = append(lines, "  "+p)
	}
	return lines
}

func (a Analysis) heldBy() []string {
	var some []string
	for _, h := range a.Holders {
		text := fmt.Sprintf("%s (%d", h.Submitter, h.Slots)
		if h.New > 0 {
			text += fmt.Sprintf(", %d of them new", h.New)
		}
		some = append(some, text+")")
	}
	return some
}

func (a Analysis) inOrder() []string {
	var some []string
	for _, x := range a.Ahead {
		var what []string
		if !a.OneQueue {
			what = append(what, fmt.Sprintf("EUP %.2f", x.EffectivePriority))
		}
		if x.Slots > 0 {
			what = append(what, fmt.Sprintf("has %d", x.Slots))
		}
		if x.Waiting > 0 {
			what = append(what, plural.Pick(x.Waiting, "1 job waits", "%d jobs wait"))
		}
		if x.Place > 0 {
			what[len(what)-1] += fmt.Sprintf(" from place %d on", x.Place)
		}
		some = append(some, fmt.Sprintf("%s (%s)", x.Submitter, strings.Join(what, ", ")))
	}
	return some
}

// near tells of the slot what it fails or lacks; slots are those of the pool.
func (n *Nearest) near(slots int) string {
	what := n.shortfall()
	switch {
	case what == "":
		return ""
	case slots == 1:
		return ": " + what
	}
	return fmt.Sprintf("; the nearest is %s: %s", n.Slot, what)
}

// shortfall tells the first that the slot fails, or what it lacks; empty for
// nothing that can be told.
func (n *Nearest) shortfall() string {
	if len(n.Fails) == 0 {
		if n.Lacks != "" {
			return "it has " + n.Lacks + " requested"
		}
		return ""
	}
	text := n.Fails[0].text()
	if more := len(n.Fails) - 1; more > 0 && text != "" {
		text += plural.Pick(more, ", and a clause more", ", and %d clauses more")
	}
	return text
}

// text tells of a clause that is not true; empty if there is none.
func (f Failing) text() string {
	switch {
	case f.Clause == "":
		return ""
	case f.Clause == "false":
		return "the " + f.Of + "'s Requirements are false"
	case f.Values == "":
		return f.Clause + " is not true"
	}
	return f.Clause + " is not true, as " + f.Values
}

// clauseTexts numbers the texts of clauses of slots' Requirements.
type clauseTexts struct {
	texts  []string
	number map[string]int
	of     [][]int // by number of the group
}

// slotClause returns the number of the text of the n-th clause of the Requirements
// of a group's slots.
func (t *clauseTexts) slotClause(g *group, n int) int {
	for len(t.of) <= g.Number {
		t.of = append(t.of, nil)
	}
	list := t.of[g.Number]
	if list == nil {
		for _, text := range clausesOf(g.Ad) {
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
func (d *findings) steps(k *autocluster) []Step {
	c := d.c
	if k.short {
		return nil
	}
	own := clausesOf(k.Ad)
	t := tally{own: make([]int, len(own)), theirs: map[int]int{}, small: make([]int, len(c.Resources)+1),
		wide: make([]int, len(c.Resources)+1), by: map[Cause]int{}}
	for i := range d.stands {
		st := &d.stands[i]
		switch v := c.Verdict(k.Autocluster, st.group.Group); {
		case v == shapes.TooSmall:
			t.wide[k.Request.First(st.group.Left)] += st.slots
		case v >= shapes.SlotClause:
			t.theirs[d.texts.slotClause(st.group, int(v-shapes.SlotClause))] += st.slots
		case v >= 0:
			t.own[min(int(v), len(own)-1)] += st.slots
		case st.standing == free && st.now != st.group && !st.taken && c.Verdict(k.Autocluster, st.now.Group) != shapes.Accepts:
			t.small[k.Request.First(st.now.Left)] += st.slots
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

// list puts the counts into the order of the steps.
func (d *findings) list(t tally, own []string) (steps []Step) {
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

func (d *findings) resource(i int) string {
	if i < len(d.c.Resources) {
		return d.c.Resources[i].Name
	}
	return ""
}
