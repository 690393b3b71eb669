package sge

import (
	"strconv"
	"testing"

	"fairspool/lib/pool"
)

// benchmarkForest has a million members of a thousand users, mostly a few in a row, in a tree of
// three levels and 10,000 nodes.
func benchmarkForest(b *testing.B) (*Config, *Used, []member) {
	root := nodeOf("Root", 1)
	used := Used{Own: map[string]float64{}}
	for i := range 10 {
		group := nodeOf("group"+strconv.Itoa(i), float64(1+i))
		for k := range 10 {
			part := nodeOf("part"+strconv.Itoa(k), float64(1+k))
			for u := range 98 {
				name := "user" + strconv.Itoa(u*100+i*10+k)
				part.Children = append(part.Children, nodeOf(name, float64(1+u%7)))
				used.Own[name] = float64(u * 1000)
			}
			group.Children = append(group.Children, part)
		}
		root.Children = append(root.Children, group)
	}
	jobs := make([]Job, 1000000)
	members := make([]member, len(jobs))
	for i := range jobs {
		jobs[i] = Job{ID: pool.JobID{Cluster: i + 1}, Count: 1, User: "user" + strconv.Itoa(i/3*7919%1000), Slots: 1, LeastSlots: 1}
		members[i].job = &jobs[i]
	}
	return &Config{Tree: root, Compensation: 5, TicketsShare: 1e6}, &used, members
}

func BenchmarkForest(b *testing.B) {
	c, used, members := benchmarkForest(b)
	before := make([]float64, len(members))
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			newForest(c, used, members, 1000)
		}
	})
	f := newForest(c, used, members, 1000)
	b.Run("pending", func(b *testing.B) {
		for b.Loop() {
			f.pendingTickets(1e6, nil)
		}
	})
	b.Run("dependent", func(b *testing.B) {
		for b.Loop() {
			f.pendingTickets(1e6, before)
		}
	})
	b.Run("running", func(b *testing.B) {
		for b.Loop() {
			only := f.onlyRunning(c)
			only.runningTickets(1e6)
		}
	})
}
