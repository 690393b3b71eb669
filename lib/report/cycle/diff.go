package cycle

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"fairspool/lib/negotiator"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
	"fairspool/lib/report/table"
)

// Comparison is what -what-if prints with -json.
type Comparison struct {
	Now, WhatIf negotiator.Report
	Difference  Difference
}

// Difference is the effect of the changes. Its lists hold only differences, in a fixed
// order.
type Difference struct {
	Submitters []ChangedSubmitter // in the order of negotiation after the changes
	Groups     []ChangedGroup     // in the order of their tree
	// Gained and Lost are the jobs that are matched only after, or only before the
	// changes; Moved those that are matched with another slot. By job.
	Gained, Lost []negotiator.ReportedMatch
	Moved        []Moved
	// Preempted are the jobs that have to go only after, Spared only before the changes, in
	// the order of the cycle.
	Preempted, Spared []Evicted
	// Reserved are slots kept only after, Released only before the changes. By slot.
	Reserved, Released []negotiator.ReportedReservation
	Rejections         []ChangedReason // by job
	// Places are jobs that wait before and after, with one queue of all jobs in both, and have
	// another place in it: in the order after the changes.
	Places []ChangedPlace

	before, after string // the policies with one queue
}

// Figures are a submitter's, as in a Report.
type Figures struct {
	EffectivePriority, PieSlice, Limit float64
	Idle, Matched                      int
}

func figuresOf(s negotiator.Share) Figures {
	return Figures{negotiator.Micro(s.EffectivePriority), negotiator.Micro(s.PieSlice), negotiator.Micro(s.Limit), s.Idle, s.Matched}
}

// ChangedSubmitter has nil for figures where the submitter takes no part.
type ChangedSubmitter struct {
	Name        string
	Now, WhatIf *Figures
}

// Quotas are a group's, as in a Report, and Demand what its idle jobs asked for.
type Quotas struct{ ConfigQuota, EffectiveQuota, SubtreeQuota, Used, Surplus, Demand float64 }

func quotasOf(g negotiator.Group) Quotas {
	return Quotas{negotiator.Micro(g.ConfigQuota), negotiator.Micro(g.EffectiveQuota), negotiator.Micro(g.SubtreeQuota),
		negotiator.Micro(g.Used), negotiator.Micro(g.Surplus), negotiator.Micro(g.Requested - g.Usage)}
}

// cells are the quotas in a row of a table.
func (q Quotas) cells() []string {
	return []string{strconv.FormatFloat(q.ConfigQuota, 'g', 4, 64), number(q.EffectiveQuota), number(q.SubtreeQuota), number(q.Used), number(q.Surplus), number(q.Demand)}
}

// ChangedGroup has nil for quotas where there is no such group.
type ChangedGroup struct {
	Name        string
	Now, WhatIf *Quotas
}

// Evicted is a job that has to go for another, by the rule Reason, with the work that is
// lost in slot weight times seconds. A job from outside may have no name.
type Evicted struct {
	Job                          string `json:",omitempty"`
	Submitter, Slot, For, Reason string
	WorkLost                     float64
}

// Moved is a job that is matched with another slot.
type Moved struct{ Job, Submitter, Now, WhatIf string }

// ChangedReason is why jobs of one submitter are not matched, empty where they are,
// or are not there.
type ChangedReason struct {
	Jobs        []pool.Procs
	Submitter   string
	Now, WhatIf string
}

// None reports whether nothing is different.
func (d Difference) None() bool {
	return len(d.Submitters)+len(d.Groups)+len(d.Gained)+len(d.Lost)+len(d.Moved)+len(d.Preempted)+len(d.Spared)+len(d.Reserved)+len(d.Released)+len(d.Rejections)+len(d.Places) == 0
}

// Compare returns the differences of b from a.
func Compare(a, b *negotiator.Plan) Difference {
	d := Difference{
		Submitters: compareSubmitters(a.Submitters, b.Submitters), Groups: compareGroups(a.Groups, b.Groups),
		Rejections: compareReasons(a.Rejections, b.Rejections), Places: comparePlaces(a, b), before: a.Policy, after: b.Policy,
	}
	d.matches(a.Matches, b.Matches)
	d.Preempted, d.Spared = onlyEvicted(b.Matches, a.Matches), onlyEvicted(a.Matches, b.Matches)
	d.Reserved, d.Released = onlyKept(b.Reservations, a.Reservations), onlyKept(a.Reservations, b.Reservations)
	return d
}

// onlyEvicted returns the jobs that have to go by one list of matches, and not by another.
func onlyEvicted(of, but []negotiator.Match) []Evicted {
	type victim struct{ slot, job, submitter string }
	by := func(m negotiator.Match) victim { return victim{m.Slot, m.Preempts.Name(), m.Preempts.Submitter} }
	spared := map[victim]bool{}
	for _, m := range but {
		if m.Preempts != nil {
			spared[by(m)] = true
		}
	}
	list := []Evicted{}
	for _, m := range of {
		if m.Preempts != nil && !spared[by(m)] {
			r := m.Report()
			list = append(list, Evicted{r.Preempts, r.PreemptedSubmitter, r.Slot, r.Job, r.Reason, r.WorkLost})
		}
	}
	return list
}

// onlyKept returns the reservations in force of one plan that the other does not have.
func onlyKept(of, but []negotiator.Reserved) []negotiator.ReportedReservation {
	list := []negotiator.ReportedReservation{}
	for _, r := range of {
		if !r.GivenUp && !slices.ContainsFunc(but, func(o negotiator.Reserved) bool { return !o.GivenUp && o.Slot == r.Slot && o.Job == r.Job }) {
			list = append(list, r.Report())
		}
	}
	return list
}

func compareSubmitters(a, b []negotiator.Share) []ChangedSubmitter {
	return compareNamed(a, b,
		func(s negotiator.Share) (string, Figures) {
			return s.Name, figuresOf(s)
		},
		func(name string, now, then *Figures) ChangedSubmitter { return ChangedSubmitter{name, now, then} })
}

func compareGroups(a, b []negotiator.Group) []ChangedGroup {
	if !bounded(a) && !bounded(b) {
		return []ChangedGroup{}
	}
	return compareNamed(a, b,
		func(g negotiator.Group) (string, Quotas) { return g.Name, quotasOf(g) },
		func(name string, now, then *Quotas) ChangedGroup { return ChangedGroup{name, now, then} })
}

// compareNamed returns the entries of b with other figures than in a, in the order of b,
// then the entries that only a has.
func compareNamed[T any, F comparable, C any](a, b []T, of func(T) (string, F), changed func(name string, now, then *F) C) []C {
	list := []C{}
	before := map[string]*F{}
	for _, x := range a {
		name, f := of(x)
		before[name] = &f
	}
	for _, x := range b {
		name, f := of(x)
		if was := before[name]; was == nil || *was != f {
			list = append(list, changed(name, was, &f))
		}
		delete(before, name)
	}
	for _, x := range a {
		if name, f := of(x); before[name] != nil {
			list = append(list, changed(name, &f, nil))
		}
	}
	return list
}

// matches compares the matches.
func (d *Difference) matches(a, b []negotiator.Match) {
	d.Gained, d.Lost, d.Moved = []negotiator.ReportedMatch{}, []negotiator.ReportedMatch{}, []Moved{}
	before := make(map[pool.JobID]negotiator.Match, len(a))
	for _, m := range byJob(a) {
		before[m.Job] = m
	}
	after := make(map[pool.JobID]bool, len(b))
	for _, m := range byJob(b) {
		after[m.Job] = true
		was, ok := before[m.Job]
		switch {
		case !ok:
			d.Gained = append(d.Gained, reported(m, d.after))
		case was.Slot != m.Slot:
			d.Moved = append(d.Moved, Moved{m.Job.String(), m.Submitter, was.Slot, m.Slot})
		}
	}
	for _, m := range byJob(a) {
		if !after[m.Job] {
			d.Lost = append(d.Lost, reported(m, d.before))
		}
	}
}

func byJob(list []negotiator.Match) []negotiator.Match {
	return slices.SortedFunc(slices.Values(list), func(a, b negotiator.Match) int { return a.Job.Compare(b.Job) })
}

// reported returns a match of a cycle under a policy as reports have it.
func reported(m negotiator.Match, policy string) negotiator.ReportedMatch {
	return (&negotiator.Plan{Policy: policy, Matches: []negotiator.Match{m}}).Report(0, epoch).Matches[0]
}

// stretch is consecutive procs that were not matched for one reason, or that stand in the
// queue one behind the other.
type stretch struct {
	pool.Procs
	submitter, reason string
	QueuePlace        // of the first
}

// from returns the rest of a stretch from a proc on.
func (s stretch) from(proc int) stretch {
	if s.Place > 0 {
		s.Place += proc - s.First
	}
	s.First = proc
	return s
}

func stretches(list []negotiator.Rejection) []stretch {
	var all []stretch
	for _, x := range list {
		for _, p := range x.Jobs {
			all = append(all, stretch{Procs: p, submitter: x.Submitter, reason: x.Reason})
		}
	}
	slices.SortFunc(all, func(a, b stretch) int { return a.Compare(b.Procs) })
	return all
}

// compareReasons returns the jobs with other reasons. Jobs that are alike in all else are
// one entry.
func compareReasons(a, b []negotiator.Rejection) []ChangedReason {
	list := []ChangedReason{}
	type key struct{ submitter, now, then string }
	at := map[key]int{}
	add := func(p pool.Procs, k key) {
		i, ok := at[k]
		if !ok {
			i = len(list)
			at[k] = i
			list = append(list, ChangedReason{Submitter: k.submitter, Now: k.now, WhatIf: k.then})
		}
		list[i].Jobs = append(list[i].Jobs, p)
	}
	overlay(stretches(a), stretches(b), func(p pool.Procs, now, then *stretch) {
		switch {
		case now == nil:
			add(p, key{then.submitter, "", then.reason})
		case then == nil:
			add(p, key{now.submitter, now.reason, ""})
		case now.reason != then.reason:
			add(p, key{then.submitter, now.reason, then.reason})
		}
	})
	for i := range list {
		list[i].Jobs = pool.JoinProcs(list[i].Jobs)
	}
	return list
}

// overlay calls fn for procs, ascending, with the stretches of a and b that they are
// part of, nil for none. Each list is in ascending order.
func overlay(a, b []stretch, fn func(p pool.Procs, in, on *stretch)) {
	alone := func(s *stretch, before *stretch) pool.Procs { // of s what stands before the other
		p := s.Procs
		if before != nil && before.Cluster == p.Cluster && before.First <= p.Last {
			p.Last = before.First - 1
		}
		return p
	}
	rest := func(list []stretch, p pool.Procs) []stretch { // the list without the procs up to p
		if list[0] = list[0].from(p.Last + 1); list[0].First > list[0].Last {
			return list[1:]
		}
		return list
	}
	head := func(list []stretch) *stretch {
		if len(list) == 0 {
			return nil
		}
		return &list[0]
	}
	for len(a) > 0 || len(b) > 0 {
		x, y := head(a), head(b)
		switch {
		case y == nil || x != nil && x.Compare(y.Procs) < 0:
			p := alone(x, y)
			fn(p, x, nil)
			a = rest(a, p)
		case x == nil || y.Compare(x.Procs) < 0:
			p := alone(y, x)
			fn(p, nil, y)
			b = rest(b, p)
		default:
			p := x.Procs
			p.Last = min(x.Last, y.Last)
			fn(p, x, y)
			a, b = rest(a, p), rest(b, p)
		}
	}
}

// QueuePlace is where a job stands in the one queue: its place among the jobs that the cycle
// leaves, 0 for one that the policy leaves out, and its priority, nil where it is not known.
type QueuePlace struct {
	Place    int
	Priority *float64
}

// ChangedPlace is the place of the first of consecutive procs; the others follow it
// directly.
type ChangedPlace struct {
	Jobs        pool.Procs
	Submitter   string
	Now, WhatIf QueuePlace
}

// comparePlaces returns the jobs that both cycles leave and that have another place, those
// before others first that are after the changes. Jobs that are one stretch in the one queue
// may be several in the other.
func comparePlaces(a, b *negotiator.Plan) []ChangedPlace {
	list := []ChangedPlace{}
	if a.Policy == "" || b.Policy == "" {
		return list
	}
	overlay(standing(a.Standings), standing(b.Standings), func(p pool.Procs, now, then *stretch) {
		if now != nil && then != nil && now.Place != then.Place {
			list = append(list, ChangedPlace{p, then.submitter, now.QueuePlace, then.QueuePlace})
		}
	})
	behind := func(c ChangedPlace) int { return cmp.Or(c.WhatIf.Place, math.MaxInt) }
	slices.SortStableFunc(list, func(a, b ChangedPlace) int { return cmp.Compare(behind(a), behind(b)) })
	return list
}

// standing returns where jobs stand, by job.
func standing(list []negotiator.Standing) []stretch {
	all := make([]stretch, len(list))
	for i, x := range list {
		s := stretch{Procs: x.Procs, submitter: x.Submitter, QueuePlace: QueuePlace{Place: x.Place}}
		if !math.IsNaN(x.Priority) && !math.IsInf(x.Priority, 0) {
			s.Priority = &x.Priority
		}
		all[i] = s
	}
	slices.SortFunc(all, func(a, b stretch) int { return a.Compare(b.Procs) })
	return all
}

// tellPlaces prints the places that are other ones.
func (d Difference) tellPlaces(w io.Writer) {
	var lines []string
	jobs, shown := 0, 0
	for _, x := range d.Places {
		n := x.Jobs.Last - x.Jobs.First + 1
		if jobs += n; len(lines) < mostLines {
			lines = append(lines, fmt.Sprintf("%s of %s: %s -> %s", x.Jobs, x.Submitter, x.Now.text(n), x.WhatIf.text(n)))
			shown = jobs
		}
	}
	if jobs == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s would have another place in the queue:\n", plural.Count(jobs, "job"))
	for _, l := range lines {
		fmt.Fprintf(w, "  %s\n", l)
	}
	if jobs > shown {
		fmt.Fprintf(w, "  and %d more\n", jobs-shown)
	}
}

// text words where the first of so many procs stands, and the others behind it.
func (s QueuePlace) text(procs int) string {
	place := "no place"
	if s.Place > 0 {
		place = fmt.Sprint(s.Place)
		if procs > 1 {
			place += fmt.Sprintf("-%d", s.Place+procs-1)
		}
	}
	if s.Priority == nil {
		return place
	}
	return fmt.Sprintf("%s (%s)", place, priority(s.Priority))
}

// epoch is the time of reports that show none.
var epoch = time.Unix(0, 0)

// Write writes what changes, as they were written, make different for the cycle of a number: before and
// after them.
func (d Difference) Write(w io.Writer, number int, changes []string, plan, after *negotiator.Plan) error {
	fmt.Fprintln(w, "What if:")
	for _, ch := range changes {
		fmt.Fprintf(w, "  %s\n", ch)
	}
	now, then := len(plan.Matches), len(after.Matches)
	leave := ""
	if now, then := preempted(plan), preempted(after); now+then > 0 {
		leave = fmt.Sprintf(", %s %s preempted", turn(now, then), plural.Noun(then, "job"))
	}
	fmt.Fprintf(w, "\nCycle %d: %s %s would be matched%s, %s of %s %s free.\n", number,
		turn(now, then), plural.Noun(then, "job"), leave, turn(plan.Candidates, after.Candidates),
		turn(plan.Slots, after.Slots), plural.Noun(after.Slots, "slot"))
	if d.None() {
		same := "shares, matches and reasons"
		if plan.Policy != "" && after.Policy != "" {
			same = "matches, reasons and places of waiting jobs"
		}
		fmt.Fprintf(w, "Nothing would be different: %s are the same.\n", same)
		return nil
	}
	return d.tell(w)
}

func (d Difference) tell(w io.Writer) error {
	columns, cells := columns, Figures.cells
	if d.before != "" && d.after != "" {
		columns, cells = jobColumns, Figures.jobs
		if d.otherEUPs() {
			columns, cells = eupColumns, Figures.withEUP
		}
	}
	if err := tellChanged(w, columns, d.Submitters, func(s ChangedSubmitter) []string {
		return figures(s.Name, s.Now, s.WhatIf, cells)
	}); err != nil {
		return err
	}
	if err := tellChanged(w, quotaColumns, d.Groups, func(g ChangedGroup) []string {
		return figures(g.Name, g.Now, g.WhatIf, Quotas.cells)
	}); err != nil {
		return err
	}
	showLines(w, plural.Noun(len(d.Gained), "job")+" would be matched that would not now", matchLines(d.Gained))
	showLines(w, plural.Noun(len(d.Lost), "job")+" would not be matched that would now", matchLines(d.Lost))
	var moved []string
	for _, m := range d.Moved {
		moved = append(moved, fmt.Sprintf("%s of %s: %s -> %s", m.Job, m.Submitter, m.Now, m.WhatIf))
	}
	showLines(w, plural.Noun(len(moved), "job")+" would be matched with another slot", moved)
	showLines(w, plural.Noun(len(d.Preempted), "job")+" would be preempted that would not now", evictedLines(d.Preempted))
	showLines(w, plural.Noun(len(d.Spared), "job")+" would not be preempted that would now", evictedLines(d.Spared))
	showLines(w, plural.Noun(len(d.Reserved), "slot")+" would be reserved that would not now", reservedLines(d.Reserved))
	showLines(w, plural.Noun(len(d.Released), "slot")+" would not be reserved that would now", reservedLines(d.Released))
	d.tellPlaces(w)
	d.tellReasons(w)
	return nil
}

// jobColumns are the columns without shares, and eupColumns those if the changes make
// other EUPs, which have no effect there.
var (
	jobColumns = []table.Column{{Head: "Submitter"}, {Head: "Idle", Right: true}, {Head: "Matched", Right: true}}
	eupColumns = slices.Insert(slices.Clone(jobColumns), 1, table.Column{Head: "EUP (decides nothing)", Right: true})
)

// otherEUPs reports whether the EUP of a submitter that takes part before and after
// differs.
func (d Difference) otherEUPs() bool {
	return slices.ContainsFunc(d.Submitters, func(s ChangedSubmitter) bool {
		return s.Now != nil && s.WhatIf != nil && s.Now.EffectivePriority != s.WhatIf.EffectivePriority
	})
}

func (f Figures) cells() []string {
	return []string{number(f.EffectivePriority), number(f.PieSlice), number(f.Limit), strconv.Itoa(f.Idle), strconv.Itoa(f.Matched)}
}

func (f Figures) jobs() []string { return []string{strconv.Itoa(f.Idle), strconv.Itoa(f.Matched)} }

func (f Figures) withEUP() []string {
	return append([]string{number(f.EffectivePriority)}, f.jobs()...)
}

func evictedLines(list []Evicted) (lines []string) {
	for _, x := range list {
		lines = append(lines, fmt.Sprintf("%s of %s on %s, for %s (%s), work lost: %s", nameOr(x.Job, "a job"), x.Submitter, x.Slot, x.For, x.Reason, work(x.WorkLost)))
	}
	return lines
}

func reservedLines(list []negotiator.ReportedReservation) (lines []string) {
	for _, r := range list {
		lines = append(lines, fmt.Sprintf("%s for %s of %s", r.Slot, r.Job, r.Submitter))
	}
	return lines
}

// tellChanged prints a table of differences.
func tellChanged[T any](w io.Writer, columns []table.Column, list []T, row func(T) []string) error {
	if len(list) == 0 {
		return nil
	}
	var rows [][]string
	for _, x := range list {
		rows = append(rows, row(x))
	}
	fmt.Fprintln(w)
	return table.Write(w, columns, rows)
}

// figures returns a row with the figures before and after the changes.
func figures[F any](name string, now, then *F, cells func(F) []string) []string {
	row := []string{name}
	none := slices.Repeat([]string{"-"}, len(cells(*new(F))))
	before, after := none, none
	if now != nil {
		before = cells(*now)
	}
	if then != nil {
		after = cells(*then)
	}
	for i := range none {
		row = append(row, turn(before[i], after[i]))
	}
	return row
}

func number(x float64) string { return fmt.Sprintf("%.2f", x) }

// turn returns what something is before and after the changes, once if it is the same.
func turn[T comparable](now, then T) string {
	if now == then {
		return fmt.Sprint(now)
	}
	return fmt.Sprintf("%v -> %v", now, then)
}

func matchLines(list []negotiator.ReportedMatch) []string {
	var lines []string
	for _, m := range list {
		lines = append(lines, fmt.Sprintf("%s of %s with %s", m.Job, m.Submitter, m.Slot))
	}
	return lines
}

// tellReasons prints the reasons that are other ones. Jobs that are matched after the
// changes are listed already.
func (d Difference) tellReasons(w io.Writer) {
	list := slices.DeleteFunc(slices.Clone(d.Rejections), func(x ChangedReason) bool { return x.WhatIf == "" })
	if len(list) == 0 {
		return
	}
	fmt.Fprintln(w, "\nReasons that would differ:")
	for _, x := range list[:min(len(list), mostLines)] {
		fmt.Fprintf(w, "  %s of %s\n", procsText(x.Jobs), x.Submitter)
		if x.Now != "" {
			fmt.Fprintf(w, "    now:     %s\n", x.Now)
		}
		fmt.Fprintf(w, "    what if: %s\n", x.WhatIf)
	}
	if n := len(list) - mostLines; n > 0 {
		fmt.Fprintf(w, "  and %d more\n", n)
	}
}
