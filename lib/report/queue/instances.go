package queue

import (
	"cmp"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/clean"
	"fairspool/lib/lifecycle"
	"fairspool/lib/pool"
	"fairspool/lib/report/table"
	"fairspool/spool"
)

// instance is a slot as Grid Engine shows a queue on a host. Amounts are cores.
type instance struct {
	name, machine         string
	kind                  string // S static, P partitionable, D dynamic
	reserved, used, total float64
	loaded                bool    // load is known
	load                  float64 // of the machine
	arch, states          string
	jobs                  []*row
	parts                 []*instance // the dynamic slots of a partitionable one
}

// instances returns the slots that -q asks for with the jobs on them, by name: behind each
// partitionable one its dynamic slots. A slot of a claim that is not advertised any more
// is among them, in state o.
func (l Listing) instances(placed []*row) []*instance {
	list := l.claimed(l.advertised(), placed)
	slices.SortFunc(list, func(a, b *instance) int { return pool.CompareNames(a.name, b.name) })
	var flat []*instance
	for _, s := range list {
		slices.SortFunc(s.parts, func(a, b *instance) int { return pool.CompareNames(a.name, b.name) })
		flat = append(append(flat, s), s.parts...)
	}
	if l.Taken {
		flat = slices.DeleteFunc(flat, func(s *instance) bool {
			return len(s.jobs) == 0 && !slices.ContainsFunc(s.parts, func(p *instance) bool { return len(p.jobs) > 0 })
		})
	}
	return flat
}

// claimed returns advertised slots and those of claims that are not advertised any more, with what claims take of
// them and the jobs on them.
func (l Listing) claimed(list []*instance, placed []*row) []*instance {
	byName := make(map[string]*instance, len(list))
	for _, s := range list {
		byName[s.name] = s
	}
	for _, c := range l.View.Claims() {
		if !l.onSlot(&c) {
			continue
		}
		s, ok := byName[c.SlotAd()]
		if !ok {
			s = &instance{name: c.SlotAd(), machine: c.Machine, kind: "S", arch: unknown, states: "o"}
			byName[s.name], list = s, append(list, s)
		}
		s.take(c, byName)
	}
	for _, r := range placed {
		if s := byName[r.slot]; s != nil {
			s.jobs = append(s.jobs, r)
		}
	}
	return list
}

// take counts a claim on the slot, which may be on a part of it.
func (s *instance) take(c pool.Claim, byName map[string]*instance) {
	cores := s.total
	if c.Piece.Of != "" {
		cores = c.Piece.Takes.Of(pool.AttrCpus)
		part, ok := byName[c.Slot]
		if !ok {
			part = &instance{name: c.Slot, machine: s.machine, kind: "D", total: cores, loaded: s.loaded, load: s.load, arch: s.arch, states: s.states}
			byName[c.Slot], s.parts = part, append(s.parts, part)
		}
		part.count(c, cores)
	}
	s.count(c, cores)
}

// count counts cores as used, or as reserved for a job that waits for them.
func (s *instance) count(c pool.Claim, cores float64) {
	if c.State == pool.Promised {
		s.reserved += cores
		return
	}
	s.used += cores
}

const unknown = "-NA-"

// advertised returns the slots of the pool that -q asks for, as if they were free.
func (l Listing) advertised() (list []*instance) {
	var bad []error
	lifecycle.LookAtSlots(l.View, func(v *spool.View) { list, bad = l.advertisedIn(v) })
	for _, err := range bad {
		l.Warn("%v", err)
	}
	l.keep(list)
	return list
}

// advertisedIn returns the slots of a view, and errors of slot ads.
func (l Listing) advertisedIn(v *spool.View) (list []*instance, bad []error) {
	slots, bad := lifecycle.Slots(v)
	ctx := l.context()
	resting := l.resting()
	for _, slot := range slots {
		s := &instance{}
		if l.summarized(s, pool.SummaryOf(ctx, slot), resting) {
			s.read(ctx, slot.Ad)
			list = append(list, s)
		}
	}
	return list, bad
}

// resting returns which slots are left alone for a while.
func (q *Queue) resting() map[string]bool {
	left := map[string]bool{}
	for _, b := range q.View.Backoffs() {
		left[b.Slot] = q.Now.Before(b.Until)
	}
	return left
}

// summarized makes s the slot of a summary, and reports whether -q asks for it.
func (l Listing) summarized(s *instance, slot pool.SlotSummary, resting map[string]bool) bool {
	if !l.takes(slot.Name, slot.Machine) {
		return false
	}
	s.name, s.machine, s.kind, s.total = slot.Name, slot.On(), "S", 1
	if slot.Partitionable {
		s.kind = "P"
	}
	if n := slot.Cpus; n >= 0 && !math.IsInf(n, 0) {
		s.total = n
	}
	if s.loaded = !math.IsNaN(slot.Load); s.loaded {
		s.load = slot.Load
	}
	switch slot.State {
	case "Owner", pool.Drained:
		s.states += "d"
	}
	if slot.Until != 0 && slot.Until < l.Now.Unix() {
		s.states += "u"
	}
	if resting[slot.Name] {
		s.states += "D"
	}
	return true
}

// keep counts the cores of partitionable slots that are kept for wide jobs.
func (q *Queue) keep(list []*instance) {
	kept := q.kept()
	for _, s := range list {
		s.reserved += kept[s.name]
	}
}

// kept returns how many cores of slots are kept for wide jobs.
func (q *Queue) kept() map[string]float64 {
	kept := map[string]float64{}
	for _, r := range spool.Reservations.All(q.View) {
		if ad, ok := q.View.Job(r.Job); ok {
			n, _ := ad.EvalNumber(q.context(), pool.AttrRequestCpus)
			kept[r.Slot] += n
		}
	}
	return kept
}

// read reads the architecture and system of a slot.
func (s *instance) read(ctx *classad.Context, ad *classad.Ad) {
	arch, _ := ad.EvalString(ctx, "Arch")
	system, _ := ad.EvalString(ctx, "OpSys")
	s.arch = cmp.Or(strings.Trim(clean.Line(arch)+"/"+clean.Line(system), "/"), unknown)
}

// amount writes cores, which may be parts of one.
func amount(x float64) string { return strconv.FormatFloat(math.Round(x*100)/100, 'f', -1, 64) }

const (
	slotRule   = 81 // of a list of the usual width
	blockRule  = 76
	usualWidth = 82
)

// bySlot writes the slots with their jobs, then the others, as Grid Engine's -f does.
func (l Listing) bySlot(w io.Writer, c columns, rows []*row) error {
	n := 0
	for n < len(rows) && rows[n].claim != nil {
		n++
	}
	t := c.writer(w, rows)
	slot, block := t.slotRules()
	t.instances(l.instances(rows[:n]), slot)
	ended := len(rows)
	for ended > n && rows[ended-1].state == "z" {
		ended--
	}
	t.block("PENDING", rows[n:ended], block)
	t.block("FINISHED", rows[ended:], block)
	return t.flush()
}

// slotRules returns the lengths of the rules above slots, and of those around headings of
// jobs without one.
func (t *writer) slotRules() (slot, block int) {
	slot, block = slotRule, blockRule
	switch {
	case t.width > 0: // all of it fits, or is cut
	case t.display.Rulers != nil && !t.Wide:
		if t.Ext {
			slot, block = slot+t.display.Rulers.SlotExt, block+t.display.Rulers.BlockExt
		}
	default:
		wider := max(len(t.heading()+tasksHead)-usualWidth, 0)
		slot, block = slot+wider, block+wider
	}
	return min(slot, t.most()), min(block, t.most())
}

func (t *writer) instances(list []*instance, rule int) {
	name, arch := t.slotWidths(list)
	line := func(texts ...string) {
		for i, width := range [...]int{name, 5, 14, 8, arch} {
			s := texts[i]
			if i == 0 || i == 4 { // the others are never cut
				s, _ = table.Cut(s, width)
			}
			t.b = append(table.Pad(append(t.b, s...), width-table.Width(s)), ' ')
		}
		t.line(texts[5])
	}
	if len(list) > 0 {
		line("queuename", "qtype", "resv/used/tot.", "load_avg", "arch", "states")
	}
	for _, s := range list {
		t.line(strings.Repeat("-", rule))
		load := unknown
		if s.loaded {
			load = strconv.FormatFloat(s.load, 'f', 2, 64)
		}
		line(clean.Line(s.name), s.kind, amount(s.reserved)+"/"+amount(s.used)+"/"+amount(s.total), load, s.arch, s.states)
		t.rows(s.jobs)
	}
}

// slotWidths returns how wide the names of slots and their architectures are: all of them
// with -w, and on a terminal as wide as they need to be, or as a line allows.
func (t *writer) slotWidths(list []*instance) (name, arch int) {
	const usualName, usualArch, others = 30, 13, 5 + 14 + 8 + 6 + 5
	if t.width == 0 && !t.Wide {
		return usualName, usualArch
	}
	name, arch = len("queuename"), len("arch")
	for _, s := range list {
		name, arch = max(name, table.Width(clean.Line(s.name))), max(arch, table.Width(s.arch))
	}
	if t.Wide {
		return max(name, usualName), max(arch, usualArch)
	}
	for name+arch+others > t.width && name > len("queuename") {
		name--
	}
	return name, arch
}

// block writes the jobs that have no slot, under a heading.
func (t *writer) block(kind string, rows []*row, rule int) {
	if len(rows) == 0 {
		return
	}
	t.line("\n" + strings.Repeat("#", rule))
	heading := strings.Repeat(" - "+kind+" JOBS", 5)
	t.line(heading[:min(len(heading), t.most())])
	t.line(strings.Repeat("#", rule))
	t.rows(rows)
}
