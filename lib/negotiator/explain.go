package negotiator

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"fairspool/lib/plural"
)

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

// Standing tells people where the first job stands in the one queue of all, and its priority
// there; empty without such a queue.
func (x ReportedRejection) Standing() string {
	var parts []string
	switch {
	case x.Place > 0 && x.Count > 1:
		parts = append(parts, fmt.Sprintf("the first of them, %s, is at place %d in the queue", x.Job, x.Place))
	case x.Place > 0:
		parts = append(parts, fmt.Sprintf("place %d in the queue", x.Place))
	}
	if x.Priority != nil {
		parts = append(parts, "priority "+PriorityText(*x.Priority)+" (higher goes first)")
	}
	return strings.Join(parts, ", ")
}

// PriorityText writes a priority in the queue: a whole number, or with five digits behind
// the point.
func PriorityText(x float64) string {
	digits := 5
	if x == math.Trunc(x) {
		digits = 0
	}
	return strconv.FormatFloat(x, 'f', digits, 64)
}

// Line tells people of the reservation.
func (r ReportedReservation) Line() string {
	if r.GivenUp {
		return fmt.Sprintf("%s was kept for %s, and is not any more: RESERVE_MAX_TIME is over", r.Slot, r.Job)
	}
	text := fmt.Sprintf("%s is kept for %s", r.Slot, r.Job)
	if r.Lacks != "" {
		text += ": it has " + r.Lacks + " requested"
	}
	return text
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

// Help says what would let the first job of a rejection run; a is its analysis.
// Empty for a rejection of an older version.
func (x ReportedRejection) Help(a Analysis) string {
	var parts []string
	for _, c := range append([]Cause{x.Cause}, x.Also...) {
		if text := x.helps(c, a); text != "" {
			parts = append(parts, text)
		}
	}
	if len(parts) > 1 {
		return "all of: " + strings.Join(parts, "; ")
	}
	return strings.Join(parts, "")
}

func (x ReportedRejection) helps(c Cause, a Analysis) string {
	slot, held, lacks := "a slot", "", ""
	if a.Nearest != nil {
		slot, held, lacks = a.Nearest.Slot, plural.List(a.Nearest.Holders), a.Nearest.Lacks
	}
	switch c {
	case CauseNoSlots:
		return "a slot"
	case CauseRequirements:
		if a.Nearest == nil {
			return "Requirements that take fewer steps to evaluate"
		}
		return fmt.Sprintf("a slot like %s for which the job's Requirements are true, or Requirements that ask for less", slot)
	case CauseSlotRequirements:
		return fmt.Sprintf("Requirements of %s that accept the job", slot)
	case CauseTooWide:
		return fmt.Sprintf("a larger slot than %s, which has %s requested, or a smaller request", slot, lacks)
	case CauseTooSmall:
		return fmt.Sprintf("more of %s free, which has %s requested and is held by %s", slot, lacks, held)
	case CauseTaken, CauseClaimed:
		holders := 1
		if a.Nearest != nil {
			holders = max(1, len(a.Nearest.Holders))
		}
		return fmt.Sprintf("the end of the %s of %s on %s, or another slot like it", plural.Noun(holders, "job"), held, slot)
	case CauseReserved:
		return fmt.Sprintf("the end of the reservation of %s", slot)
	case CauseResting:
		return fmt.Sprintf("the end of the time that %s is left alone, and a starter that takes up matches there", slot)
	case CauseSlotConstraint:
		return fmt.Sprintf("a NEGOTIATOR_SLOT_CONSTRAINT that is true for %s", slot)
	case CauseBusy:
		return fmt.Sprintf("a state of %s in which it takes jobs", slot)
	case CauseDrained:
		return fmt.Sprintf("the machine of %s opened again (starter -drain -cancel)", slot)
	case CauseSteps:
		return "expressions of its owner's jobs that take fewer steps to evaluate, or a larger MAX_STEPS_PER_OWNER"
	case CauseJobConstraint:
		return "a NEGOTIATOR_JOB_CONSTRAINT that is true for the job"
	case CauseBlocked:
		return fmt.Sprintf("a job that the policy does not leave out (%s)", strings.TrimPrefix(x.Reason, "blocked: "))
	case CauseThrottle:
		return "a higher limit of the policy, or fewer running of the jobs that it counts"
	case CauseConcurrencyLimit:
		return fmt.Sprintf("more units of %s, or fewer in use", strings.Join(x.Limits, ", "))
	case CauseCeiling:
		return fmt.Sprintf("a higher ceiling of %s, or fewer of its jobs running", x.Submitter)
	case CauseQuota:
		return fmt.Sprintf("a larger quota of %s, or fewer of its jobs running", namesOf(x.Groups))
	case CauseShare:
		return fmt.Sprintf("a larger share of %s (a lower EUP, or less wanted by others)", x.Submitter)
	case CauseSkipped:
		return "NEGOTIATE_ALL_JOBS_IN_CLUSTER = true, or the jobs of its cluster before it out of the way"
	case CauseOthers:
		if a.OneQueue && x.Ahead > 0 {
			return fmt.Sprintf("the same for %s before it in the queue", plural.Pick(x.Ahead, "1 job of others", "%d jobs of others"))
		}
		if a.OneQueue {
			return "the same for the jobs of other groups that wait for it, whose quotas may go first"
		}
		return "the same for the jobs of others that wait for it"
	case CauseOwnJobs:
		return fmt.Sprintf("the same for %s of %s that %s first", plural.Pick(x.OwnJobs, "1 job", "%d jobs"), x.Submitter, plural.Pick(x.OwnJobs, "goes", "go"))
	}
	return ""
}
