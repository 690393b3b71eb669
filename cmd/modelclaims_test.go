package cmd

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"

	"fairspool/lib/pool"
)

// carol holds slots from outside, for which everybody is better.
const carol = "carol@elsewhere"

// claimed reports whether a job has a slot, or a piece of it, or is promised it.
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
		if j.claim != 0 && j.claim != pool.Promised && wholeOf(j.slot) == name {
			cores -= j.has
		}
	}
	return max(cores, 0) // it may have been larger
}

// licensed reports whether the concurrency limit admits one more job.
func (m *model) licensed() bool {
	n := 0
	for _, j := range m.jobs.rows {
		if j.claim != 0 && j.licensed {
			n++
		}
	}
	return n < licences
}

// match is a job and the slot that it was matched with.
type match struct {
	job    pool.JobID
	slot   string
	from   string     // the submitter who has to leave it; empty: nobody has it
	holder pool.JobID // whose job that is; zero: it is none of this pool
}

// free reports whether a slot, or a new piece of it, is nobody's and can be a job's.
func (m *model) free(name string, j job) bool {
	if m.claimed(name) {
		return false
	}
	if of := wholeOf(name); of != "" {
		return m.slots.rows[of].open && j.cores <= m.left(of)
	}
	return m.suits(name, j)
}

// suits reports whether a job can have a static slot.
func (m *model) suits(name string, j job) bool {
	s := m.slots.rows[name]
	return s.open && s.cores == 0 && j.cores == 1
}

// give makes the claim of a match, false when that cannot be: it needs a slot that takes
// the job, and that is nobody's, or whose holder has a job there that has to go.
func (m *model) give(p match, j *job) bool {
	j.claim, j.slot, j.has = pool.Matched, p.slot, j.cores
	if p.from == "" {
		return m.free(p.slot, *j) && !m.slots.rows[p.slot].held
	}
	j.claim = pool.Promised
	if p.holder == (pool.JobID{}) {
		return p.from == carol && m.free(p.slot, *j) && m.slots.rows[p.slot].held
	}
	v := m.jobs.rows[p.holder]
	suits := m.suits(p.slot, *j)
	if of := wholeOf(p.slot); of != "" {
		suits = m.slots.rows[of].open && j.cores <= v.has
	}
	if !suits || v.claim != pool.RunningClaim || v.slot != p.slot || p.from != v.owner+"@pool" || v.owner == j.owner || j.owner != "alice" {
		return false
	}
	v.claim, j.has = pool.Vacating, v.has
	m.jobs.put(p.holder, v)
	return true
}

// matched: negotiate made these claims, each for an idle job.
func matched(pairs []match) step {
	s := step{text: fmt.Sprintf("matched %v", pairs)}
	for _, p := range pairs {
		switch {
		case p.holder != (pool.JobID{}):
			s.victims = append(s.victims, p.holder)
		case p.from != "":
			s.outside++
		}
	}
	s.do = func(m *model) bool {
		m.arrive()
		for _, p := range pairs {
			j, there := m.jobs.rows[p.job]
			if !there || j.rests || j.status != pool.Idle || j.claim != 0 || j.licensed && !m.licensed() || !m.give(p, &j) {
				return false
			}
			j.matches++
			m.jobs.put(p.job, j)
		}
		return true
	}
	return s
}

// wouldMatch: negotiate -dry-run said that these matches are to be had.
func wouldMatch(pairs []match) step {
	return step{text: fmt.Sprintf("would match %v", pairs), do: func(m *model) bool {
		_, ok := m.after(matched(pairs))
		return ok
	}}
}

// arrive gives the slots that nobody has any more to whom they are promised.
func (m *model) arrive() {
	for id, j := range m.jobs.rows {
		if j.claim == pool.Promised && !m.slots.rows[j.slot].held && !m.vacating(j.slot) {
			j.claim = pool.Matched
			m.jobs.put(id, j)
		}
	}
}

// arrived: a pass of starter looked for slots that came free.
func arrived() step {
	return step{text: "looked for slots that came free", do: func(m *model) bool { m.arrive(); return true }}
}

func (m *model) vacating(slot string) bool {
	for _, j := range m.jobs.rows {
		if j.claim == pool.Vacating && j.slot == slot {
			return true
		}
	}
	return false
}

// begun: a supervisor started a matched job.
func begun(id pool.JobID) step {
	waiting := regexp.MustCompile(fmt.Sprintf(`(?m)^%d %d \S+ \S+ 1 | %v Matched `, id.Cluster, id.Proc, id))
	never := regexp.MustCompile(fmt.Sprintf(`(?m)^%d %d \S+ \S+ \d+ \d+ 0$`, id.Cluster, id.Proc))
	return step{text: fmt.Sprintf("%v begun", id), of: id, later: waiting.MatchString, once: never.MatchString, do: func(m *model) bool {
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

// ended: a supervisor recorded the end of an attempt, after which the job leaves the
// queue, or waits again, or is held, if it had to go before it was done.
func ended(id pool.JobID) step {
	there := regexp.MustCompile(fmt.Sprintf(`(?m)^%d %d | %v [A-Z]`, id.Cluster, id.Proc, id))
	runs := regexp.MustCompile(fmt.Sprintf(`(?m)^%d %d \S+ \S+ 2 | %v (Claimed|Preempting) `, id.Cluster, id.Proc, id))
	return step{text: fmt.Sprintf("%v ended", id), of: id, later: there.MatchString, once: runs.MatchString, do: func(m *model) bool {
		j, there := m.jobs.rows[id]
		if !there || j.claim != pool.RunningClaim && j.claim != pool.Vacating {
			return false
		}
		done := m.completed[id] == j.starts
		if j.claim == pool.RunningClaim && !done || done && j.status == pool.Removed {
			return false
		}
		slot := j.slot
		m.jobs.drop(id)
		if !done && j.status != pool.Removed {
			j.claim, j.slot, j.has = 0, "", 0
			if j.status != pool.Held {
				j.status = pool.Idle
			}
			m.jobs.put(id, j)
		}
		m.handOver(slot)
		return true
	}}
}

// handOver gives the slot of a claim that has ended to whom it is promised.
func (m *model) handOver(slot string) {
	for id, j := range m.jobs.rows {
		if j.claim == pool.Promised && j.slot == slot {
			j.claim = pool.Matched
			m.jobs.put(id, j)
		}
	}
}

// outcomes is what the history of a ground says of how attempts ended.
type outcomes struct {
	spool     string
	completed map[pool.JobID]int // by job the attempt that came to its own end
}

// readOutcomes reads the history anew.
func (o *outcomes) readOutcomes(t *testing.T) {
	t.Helper()
	o.completed = map[pool.JobID]int{}
	for _, ad := range history(t, o.spool) {
		id, err := pool.ParseJobID(value(ad, "ClusterId") + "." + value(ad, "ProcId"))
		if err != nil {
			t.Errorf("the history has a job %q: %v", ad, err)
		}
		if starts, err := strconv.Atoi(value(ad, "NumJobStarts")); err == nil && value(ad, "JobStatus") == "4" {
			o.completed[id] = starts
		}
	}
}
