package negotiator

import (
	"fmt"
	"strings"

	"fairspool/lib/plural"
	"fairspool/lib/pool"
)

// Analysis is how far the slots of the pool are from taking the jobs of one
// autocluster, as the cycle left them.
type Analysis struct {
	// Job is the first job of the autocluster in the order of the negotiation.
	Job pool.JobID `json:"-"`
	// Steps are a funnel: each slot of the pool is counted once, at the step where it
	// drops out, in the order of the steps. Slots at the last step, Left, would take a
	// job, but something else is in the way.
	Steps []Step
	// Nearest is the slot that least is in the way of; nil: the pool has no slots, or
	// the job's Requirements take too many steps to look for one.
	Nearest *Nearest `json:",omitempty"`
	// Preemption is why claimed slots that match were not preempted for the submitter
	// PreemptionFor, in the order of Protections: of those that wait with such a job the
	// first, or the one that Config.Explain asks about.
	Preemption    []Protected `json:",omitempty"`
	PreemptionFor string      `json:",omitempty"`
	// Holders are the submitters that hold most of the matching slots, in whatever state,
	// and MoreHolders is the number of other holders.
	Holders     []SlotHolder `json:",omitempty"`
	MoreHolders int          `json:",omitempty"`
	// Ahead are the submitters that hold slots that match, got some, or wait for the
	// nearest, in the order of negotiation, and MoreAhead is the number of others.
	// OneQueue: this is the order of their first jobs in Config.Queue; submitters without
	// a waiting job come last.
	Ahead     []Contender `json:",omitempty"`
	MoreAhead int         `json:",omitempty"`
	OneQueue  bool        `json:",omitempty"`
}

// Step is a step at which a number of slots drops out. Its Cause is never one of a job's,
// except Left.
type Step struct {
	Cause Cause
	// Text is the first clause of Requirements that is not true, or the first resource of
	// which there is too little.
	Text  string `json:",omitempty"`
	Slots int
}

// Left is the step of slots that would take a job.
const Left Cause = "Left"

// Nearest is the slot that is nearest to taking a job: the one that fails the fewest
// clauses, of equals the one with the state nearest to free, then the first by name.
type Nearest struct {
	Slot string
	// Causes are the obstacles there, empty without any.
	Causes []Cause `json:",omitempty"`
	// Fails are the clauses that are not true, of the job's Requirements first.
	Fails []Failing `json:",omitempty"`
	// Lacks names the missing resource of a partitionable slot, such as "Cpus 2 of 4":
	// there are 2, and the job requests 4.
	Lacks string `json:",omitempty"`
	// Holders are the submitters that hold the slot, or parts of it, each once, by name.
	Holders []string `json:",omitempty"`
}

// Failing is a clause that is not true.
type Failing struct {
	// Of is "job" or "slot": the owner of the Requirements.
	Of string
	// Clause is its text; empty: there are no Requirements.
	Clause string `json:",omitempty"`
	// Values are the values of the clause's attributes, such as "Memory is 16384,
	// RequestMemory 20000".
	Values string `json:",omitempty"`
}

// SlotHolder is a submitter, and how many of the matching slots it holds: whole ones and
// pieces. New are those that it got in this cycle.
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
	// Place is the first waiting job's in Config.Queue; see Rejection.Place.
	Place int `json:",omitempty"`
}

// Lines describes what keeps the slots from taking a job: the steps, the nearest slot,
// the holders of matching slots, and the other submitters that want them.
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
		lines = append(lines, "slots that match are held by "+plural.Some(a.heldBy(), a.MoreHolders))
	}
	if len(a.Ahead) > 0 {
		order := "negotiation"
		if a.OneQueue {
			order = "the queue"
		}
		lines = append(lines, "in the order of "+order+": "+plural.Some(a.inOrder(), a.MoreAhead))
	}
	return lines
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
	case CauseMaintenance:
		return plural.Pick(s.Slots, "is ", "are ") + reserved(s.Text)
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
	CauseResting:        {"matches, but is left alone after matches that no starter took up", "match, but are left alone after matches that no starter took up"},
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
		if reserved(f.Clause) != "" {
			parts = append(parts, f.text())
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

// Near words what the job lacks in the nearest slot; slots is the number in the pool.
func (n *Nearest) Near(slots int) string {
	what := n.shortfall()
	switch {
	case what == "":
		return ""
	case slots == 1:
		return ": " + what
	}
	return fmt.Sprintf("; the nearest is %s: %s", n.Slot, what)
}

// shortfall words the first clause that the slot fails, or the resource that it lacks;
// empty if there is neither.
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

// reserved describes the maintenance that a clause is of. It returns "" for any other clause.
func reserved(clause string) string {
	const minute = "2006-01-02 15:04"
	start, end, is := pool.MaintenanceOf(clause)
	if !is {
		return ""
	}
	return fmt.Sprintf("reserved for maintenance from %s to %s UTC, and the job may run into that", start.Format(minute), end.Format(minute))
}

// text words a clause that is not true; empty if the clause is.
func (f Failing) text() string {
	maintenance := reserved(f.Clause)
	switch {
	case maintenance != "":
		return "it is " + maintenance
	case f.Clause == "":
		return ""
	case f.Clause == "false":
		return "the " + f.Of + "'s Requirements are false"
	case f.Values == "":
		return f.Clause + " is not true"
	}
	return f.Clause + " is not true, as " + f.Values
}
