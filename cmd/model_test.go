package cmd

import (
	"fmt"
	"regexp"
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
}

type job struct {
	owner                 string
	rests                 bool // no slot takes it
	cores                 int  // that it asks for; with more than one only a partitionable slot takes it
	licensed              bool // it counts for the concurrency limit
	prio, matches, starts int
	status                pool.Status
	claim                 pool.ClaimState // 0: none
	slot                  string          // of the claim
}

// licences is the concurrency limit of every ground.
const licences = 2

type slot struct {
	serial int
	open   bool // takes jobs
	cores  int  // of a partitionable slot; 0: a static one
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
}

// after returns the pool that follows from a step; false when it is impossible.
func (m *model) after(s step) (*model, bool) {
	n := &model{m.next, m.put, m.jobs.copy(), m.slots.copy(), m.submitters.copy()}
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
	case j.claim == pool.RunningClaim:
		j.status, j.claim = pool.Removed, pool.Vacating
		m.jobs.put(id, j)
		return "marked for removal"
	}
	m.jobs.drop(id)
	return "removed"
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

// claimed tells whether somebody has a slot, or a piece of it.
func (m *model) claimed(slot string) bool {
	for _, j := range m.jobs.rows {
		if j.claim != 0 && (j.slot == slot || wholeOf(j.slot) == slot) {
			return true
		}
	}
	return false
}

var pieceName = regexp.MustCompile(`^(.*)_\d+(@.*)$`)

// wholeOf returns the name of the slot that a dynamic one is a piece of, empty for
// any other.
func wholeOf(name string) string {
	if part := pieceName.FindStringSubmatch(name); part != nil {
		return part[1] + part[2]
	}
	return ""
}

// left returns how many cores the claims leave of a partitionable slot.
func (m *model) left(name string) int {
	cores := m.slots.rows[name].cores
	for _, j := range m.jobs.rows {
		if j.claim != 0 && wholeOf(j.slot) == name {
			cores -= j.cores
		}
	}
	return max(cores, 0) // it may have been larger
}

// licensed tells whether the concurrency limit admits one more job.
func (m *model) licensed() bool {
	n := 0
	for _, j := range m.jobs.rows {
		if j.claim != 0 && j.licensed {
			n++
		}
	}
	return n < licences
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

// match is a job and the slot that it was matched with.
type match struct {
	job  pool.JobID
	slot string
}

// takes tells whether a slot, or a new piece of it, can be a job's.
func (m *model) takes(name string, j job) bool {
	if m.claimed(name) || j.licensed && !m.licensed() {
		return false
	}
	if of := wholeOf(name); of != "" {
		return m.slots.rows[of].open && j.cores <= m.left(of)
	}
	s := m.slots.rows[name]
	return s.open && s.cores == 0 && j.cores == 1
}

// matched: negotiate made these claims; each needs an idle job, and a slot
// that takes it and is nobody's.
func matched(pairs []match) step {
	return step{text: fmt.Sprintf("matched %v", pairs), do: func(m *model) bool {
		for _, p := range pairs {
			j, there := m.jobs.rows[p.job]
			if !there || j.rests || j.status != pool.Idle || j.claim != 0 || !m.takes(p.slot, j) {
				return false
			}
			j.claim, j.slot = pool.Matched, p.slot
			j.matches++
			m.jobs.put(p.job, j)
		}
		return true
	}}
}

// wouldMatch: negotiate -dry-run said that these matches are to be had.
func wouldMatch(pairs []match) step {
	return step{text: fmt.Sprintf("would match %v", pairs), do: func(m *model) bool {
		_, ok := m.after(matched(pairs))
		return ok
	}}
}

// begun: a supervisor started a matched job.
func begun(id pool.JobID) step {
	waiting := regexp.MustCompile(fmt.Sprintf(`(?m)^%d %d \S+ \S+ 1 | %v Matched$`, id.Cluster, id.Proc, id))
	return step{text: fmt.Sprintf("%v begun", id), later: waiting.MatchString, do: func(m *model) bool {
		j, there := m.jobs.rows[id]
		if !there || j.claim != pool.Matched {
			return false
		}
		j.claim, j.status = pool.RunningClaim, pool.Running
		j.starts++
		m.jobs.put(id, j)
		return true
	}}
}

// ended: a supervisor recorded the end of a job, which leaves the queue.
func ended(id pool.JobID) step {
	there := regexp.MustCompile(fmt.Sprintf(`(?m)^%d %d | %v [A-Z]`, id.Cluster, id.Proc, id))
	return step{text: fmt.Sprintf("%v ended", id), later: there.MatchString, do: func(m *model) bool {
		j, there := m.jobs.rows[id]
		if !there || j.claim != pool.RunningClaim && j.claim != pool.Vacating {
			return false
		}
		m.jobs.drop(id)
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
	claims := map[string]string{}
	var lines []string
	for id, j := range m.jobs.rows {
		if j.claim == 0 {
			continue
		}
		state := map[pool.ClaimState]string{pool.Matched: "Matched", pool.RunningClaim: "Claimed", pool.Vacating: "Preempting"}[j.claim]
		claim := fmt.Sprintf(" %v %s", id, state)
		if s, there := m.slots.rows[wholeOf(j.slot)]; there {
			lines = append(lines, fmt.Sprintf("%s %d %v %d%s", j.slot, s.serial, s.open, j.cores, claim))
		}
		claims[j.slot] += claim // += shows a slot that is claimed twice
	}
	for name, s := range m.slots.rows {
		claim, cores := claims[name], "undefined"
		if claim == "" {
			claim = " undefined undefined"
		}
		if s.cores > 0 {
			cores = strconv.Itoa(m.left(name))
		}
		lines = append(lines, fmt.Sprintf("%s %d %v %s%s", name, s.serial, s.open, cores, claim))
	}
	return sorted(lines)
}

// showSubmitters is what userprio shows: who has jobs is charged for the
// claims on them, and only the RUP of those without is shown.
func showSubmitters(m *model) string {
	used, weight := map[string]int{}, map[string]int{}
	for _, j := range m.jobs.rows {
		if j.claim == pool.Matched || j.claim == pool.RunningClaim {
			used[j.owner+"@pool"]++
			weight[j.owner+"@pool"] += j.cores
		}
	}
	lines := make([]string, 0, len(m.submitters.rows))
	for name, s := range m.submitters.rows {
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
