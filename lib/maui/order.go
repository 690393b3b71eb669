package maui

import (
	"fairspool/lib/pool"
	"fairspool/lib/radix"
)

// id returns the first of the jobs.
func (s *Queued) id() pool.JobID {
	return pool.JobID{Cluster: s.Job.ID.Cluster, Proc: s.Job.ID.Proc + s.From}
}

// inOrder returns jobs as they stand in the queue: higher priority first, and of equal ones
// the first by ID. Of those, the jobs of one submitter exchange the places that they have among
// themselves: higher JobPrio first. Jobs are taken out of runs where that is needed; all is used up.
func inOrder(all []*Queued) []*Queued {
	sorted := sortedQueue(all)
	if !differ(all) {
		return sorted
	}
	turns, parties := turnsOf(sorted)
	type head struct{ turn, used int } // who of a party goes next, and how many of these went
	heads := make([]head, len(sorted))
	for i := len(turns) - 1; i >= 0; i-- {
		heads[parties[turns[i]]].turn = i
	}
	places := make([]*Queued, 0, len(sorted)+len(sorted)/8)
	for i := range sorted {
		for left := sorted[i].Count; left > 0; {
			h := &heads[parties[i]]
			_, s := sorted[turns[h.turn]].cut(h.used)
			some, rest := s.cut(left)
			left -= some.Count
			if h.used += some.Count; rest == nil {
				*h = head{turn: h.turn + 1}
			}
			places = behind(places, some)
		}
	}
	return places
}

// differ tells whether jobs have another JobPrio than others.
func differ(all []*Queued) bool {
	for i := range all {
		if all[i].Job.JobPrio != all[0].Job.JobPrio {
			return true
		}
	}
	return false
}

// turnsOf tells in which order sorted jobs go among the party that they exchange places with:
// the jobs of the same submitter and priority. Turns has jobs, each party's together; parties has
// the party of each job.
func turnsOf(sorted []*Queued) (turns, parties []int) {
	known := map[string]int{}
	whose := make([]int, len(sorted))
	for i := range sorted {
		name := sorted[i].submitter
		one, ok := known[name]
		if !ok {
			one = len(known)
			known[name] = one
		}
		whose[i] = one
	}
	order := radix.Ordered(len(sorted), func(i int) uint64 { return ^radix.Ascending(sorted[i].Start) },
		func(i int) uint64 { return uint64(whose[i]) }, func(i int) uint64 { return ^radix.Ascending(sorted[i].Job.JobPrio) })
	turns, parties = make([]int, len(order)), make([]int, len(order))
	party := 0
	for i, e := range order {
		if i > 0 && (whose[e.At] != whose[order[i-1].At] || sorted[e.At].Start != sorted[order[i-1].At].Start) {
			party++
		}
		turns[i], parties[e.At] = e.At, party
	}
	return turns, parties
}

// sortedQueue returns jobs by priority and ID.
func sortedQueue(all []*Queued) []*Queued {
	type key struct{ start, cluster, proc uint64 }
	keys, byID := make([]key, len(all)), true
	for i := range all {
		id := all[i].id()
		k := key{^radix.Ascending(all[i].Start), radix.Ascending(int64(id.Cluster)), radix.Ascending(int64(id.Proc))}
		keys[i] = k
		byID = byID && (i == 0 || keys[i-1].cluster < k.cluster || keys[i-1].cluster == k.cluster && keys[i-1].proc < k.proc)
	}
	by := []func(int) uint64{
		func(i int) uint64 { return keys[i].start },
		func(i int) uint64 { return keys[i].cluster },
		func(i int) uint64 { return keys[i].proc },
	}
	if byID { // as Ordered leaves those who are equal
		by = by[:1]
	}
	sorted := make([]*Queued, len(all))
	for i, e := range radix.Ordered(len(all), by...) {
		sorted[i] = all[e.At]
	}
	return sorted
}

// cut parts the first n jobs from the others; nil where there are none of either.
func (s *Queued) cut(n int) (head, rest *Queued) {
	switch {
	case n <= 0:
		return nil, s
	case n >= s.Count:
		return s, nil
	}
	one, other := *s, *s
	one.Count = n
	other.From, other.Count = s.From+n, s.Count-n
	return &one, &other
}

// behind appends jobs; those of one run that follow each other stay together.
func behind(places []*Queued, s *Queued) []*Queued {
	if n := len(places); n > 0 {
		if last := places[n-1]; last.Run == s.Run && last.From+last.Count == s.From && last.Why == s.Why {
			both := *last
			both.Count += s.Count
			places[n-1] = &both
			return places
		}
	}
	return append(places, s)
}
