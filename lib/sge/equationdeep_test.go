package sge

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fairspool/lib/pool"
)

// A tree of many levels has a table of as many lines, none of which is as long as all names
// together.
func TestEquationOfDeepTree(t *testing.T) {
	const levels = 2000
	c := &Config{WeightTicket: 1, TicketsShare: 1000, Tree: &Node{}, MaxPendingTasks: 1}
	at := c.Tree
	for i := range levels {
		at.Children = []*Node{{Name: fmt.Sprintf("team%d", i), Shares: 1}}
		at = at.Children[0]
	}
	at.Children = []*Node{{Name: "alice", Shares: 1}}
	job := Job{ID: pool.JobID{Cluster: 1}, Count: 1, User: "alice", Slots: 1, LeastSlots: 1}
	lines := Rank(c, World{Now: time.Unix(1000, 0)}, []Job{job}, nil).Equation(0, 0)
	last := lines[len(lines)-1]
	if len(lines) < levels || !strings.Contains(last, "team1999/alice ") || !strings.HasPrefix(strings.TrimSpace(last), "...") {
		t.Errorf("%d lines, the last %.80q: want one for each of %d levels, with the end of its path", len(lines), last, levels)
	}
	for i, l := range lines {
		if len(l) > longestPath+200 {
			t.Fatalf("line %d has %d bytes: %.80q", i, len(l), l)
		}
	}
}
