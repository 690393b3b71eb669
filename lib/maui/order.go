package maui

import "fairspool/lib/pool"

// id returns the first of the jobs.
func (s *Queued) id() pool.JobID {
	return pool.JobID{Cluster: s.Job.ID.Cluster, Proc: s.Job.ID.Proc + s.From}
}

// inOrder returns jobs as they stand in the queue: higher priority first, and of equal ones
// the first by ID. Of those, the jobs of one user exchange the places that they have among
// themselves: higher JobPrio first. Jobs are taken out of runs where that is needed.
func inOrder(all []Queued) []Queued {
	sorted := sortedQueue(all)
	turns, parties := turnsOf(sorted)
	if turns == nil {
		return sorted
	}
	type head struct{ turn, used int } // who of a party goes next, and how many of these went
	heads := make([]head, len(sorted))
	for i := len(turns) - 1; i >= 0; i-- {
		heads[parties[turns[i]]].turn = i
	}
	places := make([]Queued, 0, len(sorted)+len(sorted)/8)
	for i := range sorted {
		for left := sorted[i].Count; left > 0; {
			h := &heads[parties[i]]
			s := sorted[turns[h.turn]]
			s.From, s.Count = s.From+h.used, s.Count-h.used
			some, rest := s.cut(left)
			left -= some.Count
			if h.used += some.Count; rest.Count == 0 {
				*h = head{turn: h.turn + 1}
			}
			places = behind(places, some)
		}
	}
	return places
}

// turnsOf tells in which order sorted jobs go among the party that they exchange places with:
// the jobs of the same user and priority. Turns has jobs, each party's together; parties has
// the party of each job. They are nil if nobody's JobPrio differs from that of others.
func turnsOf(sorted []Queued) (turns, parties []int) {
	type entry struct {
		at, user    int
		prio, start int64
	}
	users := map[string]int{}
	order := make([]entry, len(sorted))
	differ := false
	for i := range sorted {
		j := sorted[i].Job
		user, known := users[j.User]
		if !known {
			user = len(users)
			users[j.User] = user
		}
		order[i] = entry{i, user, j.JobPrio, sorted[i].Start}
		differ = differ || j.JobPrio != order[0].prio
	}
	if !differ {
		return nil, nil
	}
	order = sortBy(order, func(e *entry) uint64 { return ^ascending(e.prio) })
	order = sortBy(order, func(e *entry) uint64 { return uint64(e.user) })
	order = sortBy(order, func(e *entry) uint64 { return ^ascending(e.start) })
	turns, parties = make([]int, len(order)), make([]int, len(order))
	party := 0
	for i, e := range order {
		if i > 0 && (e.user != order[i-1].user || e.start != order[i-1].start) {
			party++
		}
		turns[i], parties[e.at] = e.at, party
	}
	return turns, parties
}

// sortedQueue returns jobs by priority and ID.
func sortedQueue(all []Queued) []Queued {
	type entry struct {
		at    int
		id    pool.JobID
		start int64
	}
	order := make([]entry, len(all))
	byID := true
	for i := range all {
		order[i] = entry{i, all[i].id(), all[i].Start}
		byID = byID && (i == 0 || order[i-1].id.Less(order[i].id))
	}
	if !byID {
		order = sortBy(order, func(e *entry) uint64 { return ascending(int64(e.id.Proc)) })
		order = sortBy(order, func(e *entry) uint64 { return ascending(int64(e.id.Cluster)) })
	}
	order = sortBy(order, func(e *entry) uint64 { return ^ascending(e.start) })
	sorted := make([]Queued, len(all))
	for i, e := range order {
		sorted[i] = all[e.at]
	}
	return sorted
}

// cut parts the first n jobs from the others.
func (s Queued) cut(n int) (head, rest Queued) {
	head, rest = s, s
	head.Count = min(n, s.Count)
	rest.From, rest.Count = s.From+head.Count, s.Count-head.Count
	return head, rest
}

// behind appends jobs; those of one run that follow each other stay together.
func behind(places []Queued, s Queued) []Queued {
	if n := len(places); n > 0 {
		if last := &places[n-1]; last.Run == s.Run && last.From+last.Count == s.From && last.Why == s.Why {
			last.Count += s.Count
			return places
		}
	}
	return append(places, s)
}
