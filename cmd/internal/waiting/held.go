package waiting

import (
	"fmt"
	"maps"
	"slices"

	"fairspool/lib/pool"
)

// Holds tells once of each job that is put on hold. The zero Holds has told of
// none.
type Holds struct {
	told map[pool.JobID]bool
}

// News returns lines about the jobs that are held now, by their reason, and were
// not when it was last asked. Those of one reason share a line.
func (h *Holds) News(held map[pool.JobID]string) []string {
	of := map[string][]pool.JobID{}
	for _, id := range slices.SortedFunc(maps.Keys(held), pool.JobID.Compare) {
		if !h.told[id] {
			of[held[id]] = append(of[held[id]], id)
		}
	}
	h.told = make(map[pool.JobID]bool, len(held))
	for id := range held {
		h.told[id] = true
	}
	var lines []string
	for _, reason := range slices.SortedFunc(maps.Keys(of), func(a, b string) int { return of[a][0].Compare(of[b][0]) }) {
		lines = append(lines, sayHeld(of[reason], reason))
	}
	return lines
}

func sayHeld(ids []pool.JobID, reason string) string {
	who := fmt.Sprintf("%v is held", ids[0])
	switch n := len(ids) - 1; {
	case n == 1:
		who = fmt.Sprintf("%v and %v are held", ids[0], ids[1])
	case n > 1:
		who = fmt.Sprintf("%v and %d more are held", ids[0], n)
	}
	if reason != "" {
		who += " (" + reason + ")"
	}
	return who + "; still waiting"
}
