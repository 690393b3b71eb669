package queue

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/accountant"
	"fairspool/lib/clean"
	"fairspool/lib/lifecycle"
	"fairspool/lib/parallel"
	"fairspool/lib/pool"
	"fairspool/lib/report/table"
	"fairspool/spool"
)

// Machine is the slots of one machine, as Grid Engine sums up a cluster queue. Amounts
// are cores.
type Machine struct {
	Name                         string
	Used, Reserved, Avail, Total float64
	Load, Measured               float64 // Load is the sum over the cores with a known load, Measured their number
	Resting, Broken              float64 // out of use for a while, and until they are repaired
}

// Machines sums up the slots that the filter takes by machine, in the order of their names; behind more than one
// the total, which has no Name. A slot of a claim that is not advertised any more is among them, out of use.
func (l Listing) Machines() (list []Machine) {
	slots, bad := lifecycle.SlotSummaries(l.View)
	for _, err := range bad {
		l.Warn("%v", err)
	}
	var s instance
	at, resting, kept, held := map[string]int{}, l.resting(), l.kept(), l.held()
	add := func() {
		i, ok := at[s.machine]
		if !ok {
			i = len(list)
			at[s.machine], list = i, append(list, Machine{Name: s.machine})
		}
		list[i].add(&s)
	}
	for i := range slots {
		if s = (instance{}); !l.summarized(&s, slots[i], resting) {
			continue
		}
		if len(kept) > 0 {
			s.reserved += kept[s.name]
		}
		if h := held[s.name]; h != nil {
			h.found = true
			s.used, s.reserved = s.used+h.used+float64(h.whole)*s.total, s.reserved+h.reserved+float64(h.promised)*s.total
		}
		add()
	}
	for _, c := range l.bound() {
		if h := held[c.SlotAd()]; h != nil && h.ad && !h.found {
			h.found, s = true, instance{machine: h.machine, states: "o", used: h.used, reserved: h.reserved}
			add()
		}
	}
	slices.SortFunc(list, func(a, b Machine) int { return pool.CompareNames(a.Name, b.Name) })
	if len(list) < 2 {
		return list
	}
	var sum Machine
	for _, m := range list {
		sum.Used, sum.Reserved, sum.Avail, sum.Total = sum.Used+m.Used, sum.Reserved+m.Reserved, sum.Avail+m.Avail, sum.Total+m.Total
		sum.Resting, sum.Broken = sum.Resting+m.Resting, sum.Broken+m.Broken
		sum.Load, sum.Measured = sum.Load+m.Load, sum.Measured+m.Measured
	}
	return append(list, sum)
}

// held is what claims take of a slot.
type held struct {
	whole, promised int     // claims on all of it
	used, reserved  float64 // cores of pieces
	ad              bool    // it is the slot ad of a claim, and not only the dynamic slot of one
	machine         string  // of the claim
	found           bool
}

// held returns what claims take, by the names of slots.
func (l Listing) held() map[string]*held {
	claims := l.bound()
	room, slots := make([]held, len(claims)), make(map[string]*held, len(claims))
	of := func(name string) *held {
		h := slots[name]
		if h == nil {
			if len(room) == 0 {
				room = make([]held, 1+len(claims))
			}
			h, room = &room[0], room[1:]
			slots[name] = h
		}
		return h
	}
	for i := range claims {
		c := &claims[i]
		if l.Slots != nil && !l.takes(c.Slot, c.SlotAd(), c.Machine) {
			continue
		}
		h := of(c.SlotAd())
		if !h.ad {
			h.ad, h.machine = true, c.Machine
		}
		if c.Piece.Of == "" {
			if c.State == pool.Promised {
				h.promised++
			} else {
				h.whole++
			}
			continue
		}
		cores := c.Piece.Takes.Of(pool.AttrCpus)
		h.piece(c.State, cores)
		of(c.Slot).piece(c.State, cores)
	}
	return slots
}

// piece adds the cores of a piece.
func (h *held) piece(state pool.ClaimState, cores float64) {
	if state == pool.Promised {
		h.reserved += cores
	} else {
		h.used += cores
	}
}

// totalName is what tables call the total of all machines.
const totalName = "total"

// shown returns what tables call the machine.
func (m Machine) shown() string { return cmp.Or(clean.Line(m.Name), totalName) }

func (m *Machine) add(s *instance) {
	free := max(s.total-s.used-s.reserved, 0)
	switch s.states {
	case "":
		m.Avail += free
	case "D":
		m.Resting += s.total
	default:
		m.Broken += s.total
	}
	m.Used, m.Reserved, m.Total = m.Used+s.used, m.Reserved+s.reserved, m.Total+s.total
	if s.loaded {
		m.Load, m.Measured = m.Load+s.load, m.Measured+s.total
	}
}

// tally is how many jobs are in a state, and how many cores they have or ask for.
type tally struct{ jobs, cores int64 }

// shownStates are the states in the order of the summary.
var shownStates = [...]string{"r", "Rr", "s", "Rs", "t", "Rt", "dr", "dt", "hr", "ht", "qw", "hqw", "Eqw", "z"}

// count counts the jobs of the list by state. It makes no rows, and all processors take part.
func (l Listing) count() map[string]tally {
	byState := func(_ *reader, _ *pool.Claim, state string) string { return state }
	if l.All {
		return countAll(l.Queue, byState)
	}
	return countBy(l.Queue, l.Jobs, claimsOf(l.View.Claims()), byState)
}

// countBy counts jobs by a key that is made of their attributes, the state of their claim and their state.
func countBy[K comparable](q *Queue, procs []spool.Run, claims claims, key func(r *reader, claim *pool.Claim, state string) K) map[K]tally {
	bounds := parallel.Bounds(len(procs), 1)
	counted := make([]map[K]tally, len(bounds)-1)
	parallel.Parts(bounds, func(part, from, to int) {
		r, sums := q.reader(), map[K]tally{}
		for _, s := range procs[from:to] {
			for p, claim := range claims.parts(s) {
				countInto(sums, r, p, claim, key)
			}
		}
		counted[part] = sums
	})
	all := map[K]tally{}
	for _, sums := range counted {
		for k, n := range sums {
			all[k] = tally{all[k].jobs + n.jobs, all[k].cores + n.cores}
		}
	}
	return all
}

// countAll does as countBy for all jobs of the queue, of which it reads few.
func countAll[K comparable](q *Queue, key func(r *reader, claim *pool.Claim, state string) K) map[K]tally {
	all := q.bound()
	alike, others := spool.Totals(q.View, all)
	r, sums := q.reader(), map[K]tally{}
	for _, a := range alike {
		var claim *pool.Claim
		if a.Claim != 0 {
			claim = &pool.Claim{State: a.Claim}
		}
		countInto(sums, r, spool.Run{Procs: pool.Procs{Last: a.Jobs - 1}, Ad: a.Ad}, claim, key)
	}
	var some claims
	var procs []spool.Run
	for _, c := range others {
		procs = append(procs, c.Runs...)
		for len(all) > 0 && all[0].Job.Cluster < c.ID {
			all = all[1:]
		}
		for ; len(all) > 0 && all[0].Job.Cluster == c.ID; all = all[1:] {
			some = append(some, pool.Claim{Job: all[0].Job, State: all[0].State})
		}
	}
	for k, n := range countBy(q, procs, some, key) {
		sums[k] = tally{sums[k].jobs + n.jobs, sums[k].cores + n.cores}
	}
	return sums
}

// bound returns what totals need of all claims.
func (q *Queue) bound() []pool.ClaimSummary {
	if q.claimed == nil {
		q.claimed = spool.ClaimSummaries(q.View)
	}
	return q.claimed
}

func countInto[K comparable](sums map[K]tally, r *reader, s spool.Run, claim *pool.Claim, key func(*reader, *pool.Claim, string) K) {
	last := s.Last
	for s.First <= last {
		r.of(s)
		k, cores := key(r, claim, r.standing(claim).state()), int64(1)
		if n, ok := r.value(cpusName).Int(); ok {
			cores = n
		}
		if r.varies {
			s.Last = s.First
		}
		n := int64(s.Last - s.First + 1)
		sum := sums[k]
		sums[k] = tally{sum.jobs + n, sum.cores + n*cores}
		s.First, s.Last = s.Last+1, last
	}
}

// Summary writes the use of the machines, and the number of jobs in each state.
func (l Listing) Summary(w io.Writer) error {
	list := l.Machines()
	if l.XML {
		return summaryXML(w, list)
	}
	sums := l.count()
	if err := l.writeMachines(w, list); err != nil {
		return err
	}
	between := ""
	if len(list) > 0 && len(sums) > 0 {
		between = "\n"
	}
	return writeTallies(w, between, sums)
}

// writeMachines writes Grid Engine's summary of cluster queues, with machines instead.
// The load is per core.
func (o Options) writeMachines(w io.Writer, list []Machine) error {
	if len(list) == 0 {
		return nil
	}
	name, end := o.machineWidth(list)
	b := table.Pad(append([]byte(nil), machineHeading...), name-len(machineHeading))
	b = append(append(b, "  CQLOAD   USED    RES  AVAIL  TOTAL aoACDS  cdsuE"...), end...)
	b = append(append(b, strings.Repeat("-", name+machineOthers)...), '\n')
	for _, m := range list {
		load := unknown
		if m.Measured > 0 {
			load = strconv.FormatFloat(m.Load/m.Measured, 'f', 2, 64)
		}
		b = table.Append(b, m.shown(), name)
		b = fmt.Appendf(b, " %7s %6s %6s %6s %6s %6s %6s", load,
			amount(m.Used), amount(m.Reserved), amount(m.Avail), amount(m.Total), amount(m.Resting), amount(m.Broken))
		b = append(b, end[min(1, len(end)-1):]...)
	}
	_, err := w.Write(b)
	return err
}

const (
	machineHeading = "CLUSTER QUEUE"
	machineOthers  = 50 // places behind the name
)

// machineWidth returns the width of machines' names, and the end of the heading: on a
// terminal it is not in table.Blanks, for which there may be no room.
func (o Options) machineWidth(list []Machine) (name int, end string) {
	const usual = 30
	line := o.Width
	if line == 0 && !o.Wide {
		return usual, "  \n"
	}
	name = len(machineHeading)
	for _, m := range list {
		name = max(name, table.Width(m.shown()))
	}
	if o.Wide {
		return max(name, usual), "  \n"
	}
	return max(min(name, line-machineOthers), len(machineHeading)), "\n"
}

// writeTallies writes a line for each state that a job is in, and the total.
func writeTallies(w io.Writer, before string, sums map[string]tally) error {
	if len(sums) == 0 {
		return nil
	}
	b := append([]byte(before), "JOBS          jobs      slots\n-----------------------------\n"...)
	var all tally
	for _, state := range shownStates {
		if n := sums[state]; n.jobs > 0 {
			b = fmt.Appendf(b, "%-7s %10d %10d\n", state, n.jobs, n.cores)
			all = tally{all.jobs + n.jobs, all.cores + n.cores}
		}
	}
	b = fmt.Appendf(b, "%-7s %10d %10d\n", "total", all.jobs, all.cores)
	_, err := w.Write(b)
	return err
}

// summaryXML writes the summary as Grid Engine's -g c -xml does.
func summaryXML(w io.Writer, list []Machine) error {
	b := []byte(jobInfo)
	for _, m := range list {
		if m.Name == "" && len(list) > 1 {
			continue
		}
		b = append(b, "  <cluster_queue_summary>\n"...)
		b = element(b, "name", m.Name)
		if m.Measured > 0 {
			b = element(b, "load", strconv.FormatFloat(m.Load/m.Measured, 'f', 5, 64))
		}
		for _, x := range [...]struct {
			name string
			n    float64
		}{
			{"used", m.Used}, {"resv", m.Reserved}, {"available", m.Avail}, {"total", m.Total},
			{"temp_disabled", m.Resting}, {"manual_intervention", m.Broken},
		} {
			b = element(b, x.name, amount(x.n))
		}
		b = append(b, "  </cluster_queue_summary>\n"...)
	}
	_, err := w.Write(append(b, "</job_info>\n"...))
	return err
}

// Count is how many jobs of a submitter are in a state, for a reason.
type Count struct {
	Submitter string // who is charged
	Owner     string
	State     string // one of StateWords
	// Why says in short what holds the jobs, or what they wait for besides a slot; empty:
	// nothing.
	Why  string
	Jobs int
}

// StateWords are the states of Counts, in the order of the brief layout's last line.
func StateWords() (words []string) {
	for _, s := range briefStates {
		words = append(words, s.being)
	}
	return words
}

// Counts counts the jobs of the queue. They are in the order of submitters, states and reasons.
func (q *Queue) Counts() (list []Count) {
	type key struct{ owner, group, state, why string }
	read := *q
	read.View = q.View.Only(append(wordsOf(groupName), totalsNames...))
	sums := countAll(&read, func(r *reader, claim *pool.Claim, state string) key {
		k := key{r.text(ownerName), r.text(groupName), r.inWord(claim), ""}
		switch {
		case k.state == "held":
			k.why = r.heldFor()
		case state == "hqw":
			k.why = "waits for other jobs"
		case k.state == "waits" && claim != nil:
			k.why = "promised a slot whose holder leaves first"
		case k.state == "waits" && unix(r.int(deferralName)).After(r.context.Now):
			k.why = "is not to start yet"
		}
		return k
	})
	for k, n := range sums {
		submitter := accountant.SubmitterName(k.owner, q.Config.Groups.Canonical(k.group), q.Domain)
		list = append(list, Count{Submitter: submitter, Owner: k.owner, State: being(k.state), Why: k.why, Jobs: int(n.jobs)})
	}
	order := StateWords()
	slices.SortFunc(list, func(a, b Count) int {
		return cmp.Or(strings.Compare(a.Submitter, b.Submitter), cmp.Compare(slices.Index(order, a.State), slices.Index(order, b.State)),
			strings.Compare(a.Why, b.Why), strings.Compare(a.Owner, b.Owner))
	})
	return list
}
