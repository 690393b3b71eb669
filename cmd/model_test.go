package cmd

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/pool"
)

// model is what the commands are held to: the pool as they show it, in a few
// maps, where each command is a step from one pool to the next.
type model struct {
	next       int // the next free cluster
	put        int // jobs that were submitted, ever
	jobs       table[pool.JobID, job]
	slots      table[string, slot]
	submitters table[string, submitter]
	*outcomes
}

type job struct {
	owner                 string
	rests                 bool // no slot takes it
	cores                 int  // that it asks for; with more than one only a partitionable slot takes it
	licensed              bool // it counts for the concurrency limit
	lasts                 int  // seconds, in which others may take its slot
	prio, matches, starts int
	status                pool.Status
	claim                 pool.ClaimState // 0: none
	slot                  string          // of the claim
	has                   int             // cores of the claim
}

// licences is the concurrency limit of every ground.
const licences = 2

type slot struct {
	serial int
	open   bool // takes jobs
	cores  int  // of a partitionable slot; 0: a static one
	held   bool // by its own words somebody else has it
}

type submitter struct{ prio, factor, ceiling, floor float64 }

// step is what one command did, or may have done, at one moment: it changes
// the model, or finds that this cannot have been.
type step struct {
	text string // for messages
	do   func(*model) bool
	// listing is what a reader saw, and later tells whether a step comes after
	// the reader who saw such a listing; nil: nothing is known of that.
	listing string
	later   func(listing string) bool
	// once is later where the job had to go at some time, but was begun only once.
	once    func(listing string) bool
	of      pool.JobID   // whom later is about
	victims []pool.JobID // the jobs that have to go for others
	outside int          // so many slots that others hold are promised
	steers  string       // the cluster or job that may have to go since it is held
}

// after returns the pool that follows from a step; false when it is impossible.
func (m *model) after(s step) (*model, bool) {
	n := &model{m.next, m.put, m.jobs.copy(), m.slots.copy(), m.submitters.copy(), m.outcomes}
	return n, s.do(n)
}

func (m *model) equal(o *model) bool {
	return m.next == o.next && m.put == o.put && m.jobs.equal(&o.jobs) && m.slots.equal(&o.slots) && m.submitters.equal(&o.submitters)
}

func (m *model) hash() uint64 { return m.jobs.sum ^ m.slots.sum ^ m.submitters.sum }

// submitted: a cluster of n idle jobs. Cluster 0 is for one whose number nobody
// was told.
func submitted(cluster, n int, each job) step {
	each.status = pool.Idle
	return step{text: fmt.Sprintf("cluster %d of %d jobs submitted", cluster, n), do: func(m *model) bool {
		if cluster != 0 && cluster != m.next {
			return false
		}
		for proc := range n {
			m.jobs.put(pool.JobID{Cluster: m.next, Proc: proc}, each)
		}
		m.next++
		m.put += n
		return true
	}}
}

// named returns the jobs that CLUSTER and CLUSTER.PROC name; false when one of
// the words names none.
func (m *model) named(words []string) (ids []pool.JobID, ok bool) {
	for _, word := range words {
		before := len(ids)
		for id := range m.jobs.rows {
			if id.String() == word || strconv.Itoa(id.Cluster) == word {
				ids = append(ids, id)
			}
		}
		if len(ids) == before {
			return nil, false
		}
	}
	return ids, true
}

// prioritised: JobPrio was set to n, or n was added.
func prioritised(n int, adjust bool, words []string) step {
	return step{text: fmt.Sprintf("JobPrio of %v: %d", words, n), do: func(m *model) bool {
		ids, ok := m.named(words)
		for _, id := range ids {
			j := m.jobs.rows[id]
			if adjust {
				j.prio += n
			} else {
				j.prio = n
			}
			m.jobs.put(id, j)
		}
		return ok
	}}
}

// missing: a command was refused because one of the words names no job.
func missing(words []string) step {
	return step{text: fmt.Sprintf("one of %v is missing", words), do: func(m *model) bool {
		_, ok := m.named(words)
		return !ok
	}}
}

// removed: the jobs were taken out of the queue, with these answers by job;
// nil when nobody was told.
func removed(words []string, answers map[pool.JobID]string) step {
	return step{text: fmt.Sprintf("%v removed: %v", words, answers), do: func(m *model) bool {
		ids, ok := m.named(words)
		for _, id := range ids {
			if said := m.remove(id); answers != nil && answers[id] != said {
				return false
			}
		}
		return ok && (answers == nil || len(answers) == len(ids))
	}}
}

// remove takes one job out, and says what qdel says of it.
func (m *model) remove(id pool.JobID) string {
	j := m.jobs.rows[id]
	switch {
	case j.status == pool.Removed:
		return "marked for removal already"
	case j.claim == pool.RunningClaim || j.claim == pool.Vacating:
		j.status, j.claim = pool.Removed, pool.Vacating
		m.jobs.put(id, j)
		return "marked for removal"
	}
	m.jobs.drop(id)
	return "removed"
}

// steered: qhold or qrls, whose doing with one job is one, was called for these
// names, with these answers by job; nil when nobody was told.
func steered(one func(*model, pool.JobID) string, name string, answers map[pool.JobID]string) step {
	return step{text: fmt.Sprintf("%v steered: %v", name, answers), steers: name, do: func(m *model) bool {
		ids, ok := m.named([]string{name})
		told := 0
		for _, id := range ids {
			said := one(m, id)
			if answers != nil && answers[id] != said {
				return false
			}
			if said != "" {
				told++
			}
		}
		return ok && (answers == nil || told > 0 && len(answers) == told)
	}}
}

// unsteered: they found none of whom that could be done.
func unsteered(one func(*model, pool.JobID) string, name string) step {
	return step{text: fmt.Sprintf("%v not steered", name), do: func(m *model) bool {
		ids, _ := m.named([]string{name})
		for _, id := range ids {
			if one(m, id) != "" {
				return false
			}
		}
		return true
	}}
}

// hold holds one job, and says what qhold says of it; nothing of one that is to
// leave the queue.
func (m *model) hold(id pool.JobID) string {
	j := m.jobs.rows[id]
	switch {
	case j.status == pool.Held:
		return "already held"
	case j.status == pool.Removed:
		return ""
	case j.claim == pool.RunningClaim:
		j.claim = pool.Vacating
	case j.claim != pool.Vacating:
		j.claim, j.slot, j.has = 0, "", 0
	}
	j.status = pool.Held
	m.jobs.put(id, j)
	return "held"
}

// release releases one job, and says what qrls says of it; nothing of one that is
// not held.
func (m *model) release(id pool.JobID) string {
	j := m.jobs.rows[id]
	switch {
	case j.status != pool.Held:
		return ""
	case j.claim == pool.Vacating:
		j.status = pool.Running
	default:
		j.status = pool.Idle
	}
	m.jobs.put(id, j)
	return "released"
}

// advertised: the slots have new ads, all of the same serial number.
func advertised(names []string, s slot) step {
	return step{text: fmt.Sprintf("%v advertised: %v", names, s), do: func(m *model) bool {
		for _, name := range names {
			m.slots.put(name, s)
		}
		return true
	}}
}

// withdrawn: the slots went, or had to stay because one of them is claimed or
// not there.
func withdrawn(names []string, refused bool) step {
	return step{text: fmt.Sprintf("%v withdrawn, refused: %v", names, refused), do: func(m *model) bool {
		for _, name := range names {
			if _, there := m.slots.rows[name]; !there || m.claimed(name) {
				return refused
			}
		}
		if !refused {
			for _, name := range names {
				m.slots.drop(name)
			}
		}
		return !refused
	}}
}

// edited: userprio changed a submitter, or did not know it.
func edited(flag, name string, x float64, refused bool) step {
	return step{text: fmt.Sprintf("%s %s %g, refused: %v", flag, name, x, refused), do: func(m *model) bool {
		s, known := m.submitters.rows[name]
		if !known {
			s = submitter{prio: 0.5, factor: 1, ceiling: -1}
		}
		if creates := strings.HasPrefix(flag, "-set"); !known && !creates || refused {
			return !known && !creates && refused
		}
		switch flag {
		case "-setprio":
			s.prio = x
		case "-setfactor":
			s.factor = x
		case "-setceiling":
			s.ceiling = x
		case "-setfloor":
			s.floor = x
		}
		m.submitters.put(name, s)
		if flag == "-delete" {
			m.submitters.drop(name)
		}
		return true
	}}
}

// saw: a command listed a part of the pool as this.
func saw(show func(*model) string, listing string) step {
	return step{text: "listed\n" + listing, listing: listing, do: func(m *model) bool { return show(m) == listing }}
}

// showJobs is what qstat shows of the pool, as the table readers asks for it.
func showJobs(m *model) string {
	lines := make([]string, 0, len(m.jobs.rows))
	for id, j := range m.jobs.rows {
		lines = append(lines, fmt.Sprintf("%d %d %s %d %d %d %d", id.Cluster, id.Proc, j.owner, j.prio, j.status, j.matches, j.starts))
	}
	return sorted(lines)
}

// showSlots is what slots list shows.
func showSlots(m *model) string {
	claims, promised := map[string]string{}, map[string]string{}
	for id, j := range m.jobs.rows {
		if j.claim == pool.Promised {
			promised[j.slot] += fmt.Sprintf(" %v", id) // += shows a slot that is promised twice
		}
	}
	promise := func(name string) string { return cmp.Or(promised[name], " undefined") }
	var lines []string
	for id, j := range m.jobs.rows {
		if j.claim == 0 || j.claim == pool.Promised {
			continue
		}
		state := map[pool.ClaimState]string{pool.Matched: "Matched", pool.RunningClaim: "Claimed", pool.Vacating: "Preempting"}[j.claim]
		claim := fmt.Sprintf(" %v %s", id, state)
		if s, there := m.slots.rows[wholeOf(j.slot)]; there {
			lines = append(lines, fmt.Sprintf("%s %d %v %d%s%s", j.slot, s.serial, s.open, j.has, claim, promise(j.slot)))
		}
		claims[j.slot] += claim // += shows a slot that is claimed twice
	}
	for name, s := range m.slots.rows {
		claim, cores := claims[name], "undefined"
		switch {
		case claim == "" && s.held:
			claim = " undefined Claimed"
		case claim == "":
			claim = " undefined undefined"
		}
		if s.cores > 0 {
			cores = strconv.Itoa(m.left(name))
		}
		lines = append(lines, fmt.Sprintf("%s %d %v %s%s%s", name, s.serial, s.open, cores, claim, promise(name)))
	}
	return sorted(lines)
}

// showSubmitters is what userprio shows: who has jobs is charged for the
// claims on them, and only the RUP of those without is shown. What carol is charged
// follows from what the cycles saw, and not from what there is.
func showSubmitters(m *model) string {
	used, weight := map[string]int{}, map[string]int{}
	for _, j := range m.jobs.rows {
		if j.claim.Charged() {
			used[j.owner+"@pool"]++
			weight[j.owner+"@pool"] += j.has
		}
	}
	lines := make([]string, 0, len(m.submitters.rows))
	for name, s := range m.submitters.rows {
		if name == carol {
			continue
		}
		prio := "-"
		if strings.HasPrefix(name, "fair") {
			prio = fmt.Sprintf("%.1f", s.prio)
		}
		lines = append(lines, fmt.Sprintf("%s %.1f %.0f %.0f %d %d.0 %s", name, s.factor, s.ceiling, s.floor, used[name], weight[name], prio))
	}
	return sorted(lines)
}

// sorted returns the lines in order, as one text.
func sorted(lines []string) string {
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
