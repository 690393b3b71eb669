package sge

import (
	"math"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"fairspool/lib/pool"
)

// modelJobs does what pendingTickets does in as few words as possible: each node sorts all jobs
// below it.
type modelJobs struct {
	f      *forest
	before []float64
	value  map[int]float64
	part   map[int]float64
}

func (m *modelJobs) under(i int32) (list []int) {
	for at, branch := range m.f.at {
		if branch == i {
			list = append(list, at)
		}
	}
	for child := range m.f.children(i) {
		list = append(list, m.under(child)...)
	}
	return list
}

func (m *modelJobs) sort(i int32) {
	for child := range m.f.children(i) {
		m.sort(child)
	}
	list := m.under(i)
	slices.SortFunc(list, func(a, b int) int {
		switch {
		case (a < m.f.running) != (b < m.f.running) && a < m.f.running:
			return -1
		case (a < m.f.running) != (b < m.f.running):
			return 1
		case m.value[a] > m.value[b]:
			return -1
		case m.value[a] < m.value[b]:
			return 1
		}
		return a - b
	})
	divisor := 1.0
	for _, at := range list {
		m.part[at] = m.f.branches[i].short / divisor
		m.value[at] = m.part[at] * 1e3
		if m.before != nil {
			m.value[at] += m.before[at]
		}
		divisor += float64(m.f.members[at].job.LeastSlots)
	}
}

func (m *modelJobs) tickets() []float64 {
	m.value, m.part = map[int]float64{}, map[int]float64{}
	for at := range m.f.members {
		if share := m.f.members[at].job.JobShare; m.before != nil {
			m.value[at] = m.before[at] + 0.01*share
		} else {
			m.value[at] = share
		}
	}
	start := int32(0)
	for len(m.under(start)) > 0 && m.f.branches[start].own == 0 {
		var with []int32
		for child := range m.f.children(start) {
			if len(m.under(child)) > 0 {
				with = append(with, child)
			}
		}
		if len(with) != 1 {
			break
		}
		start = with[0]
	}
	if m.f.branches[start].own > 0 {
		m.sort(start)
	} else {
		for child := range m.f.children(start) {
			m.sort(child)
		}
	}
	given := make([]float64, len(m.f.members)-m.f.running)
	for i := range given {
		given[i] = m.part[m.f.running+i] * 1e3
	}
	return given
}

// anyTree draws a tree in which names occur more than once, some of them of projects.
func anyTree(t *rapid.T, depth int) *Node {
	n := &Node{Shares: float64(rapid.SampledFrom([]int{1, 1, 2, 5, 60, 0}).Draw(t, "shares"))}
	if depth == 0 {
		return n
	}
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"alice", "bob", "carol", "pa", "pb", "eng", DefaultNode}), 0, 4, rapid.ID).Draw(t, "children")
	for _, name := range names {
		child := anyTree(t, rapid.IntRange(0, depth-1).Draw(t, "depth"))
		child.Name = name
		n.Children = append(n.Children, child)
	}
	return n
}

// anyForestJobs draws jobs, of which some run.
func anyForestJobs(t *rapid.T) (jobs []Job, running int) {
	jobs = make([]Job, rapid.IntRange(0, 12).Draw(t, "jobs"))
	for i := range jobs {
		jobs[i] = Job{ID: pool.JobID{Cluster: i + 1}, Count: 1, Slots: 1,
			User:       rapid.SampledFrom([]string{"alice", "bob", "carol", "dave"}).Draw(t, "user"),
			Project:    rapid.SampledFrom([]string{"", "", "pa", "pb"}).Draw(t, "project"),
			JobShare:   float64(rapid.SampledFrom([]int{0, 0, 1, 700}).Draw(t, "job share")),
			LeastSlots: rapid.SampledFrom([]int64{1, 1, 1, 4}).Draw(t, "slots")}
	}
	return jobs, rapid.IntRange(0, len(jobs)).Draw(t, "running")
}

func anyUsed(t *rapid.T) Used {
	u := Used{Own: map[string]float64{}, Project: map[string]float64{}, Within: map[[2]string]float64{}}
	usage := rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(0, 1e4))
	for _, user := range []string{"alice", "bob", "carol", "dave"} {
		u.Own[user] = usage.Draw(t, "own")
		u.Within[[2]string{user, "pa"}] = usage.Draw(t, "in pa")
	}
	u.Project["pa"], u.Project["pb"] = usage.Draw(t, "pa"), usage.Draw(t, "pb")
	return u
}

func anyTreeConfig(t *rapid.T) *Config {
	return &Config{Tree: anyTree(t, 4), Projects: map[string]Object{"pa": {}, "pb": {}},
		Compensation: rapid.SampledFrom([]float64{0, 0, 0.5, 1.2, 5}).Draw(t, "compensation_factor")}
}

func TestPendingTicketsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs, running := anyForestJobs(t)
		var before []float64
		if rapid.Bool().Draw(t, "dependent") {
			before = make([]float64, len(jobs))
			for i := range before {
				before[i] = float64(rapid.SampledFrom([]int{0, 0, 10, 400, 2000}).Draw(t, "before"))
			}
		}
		f := forestOf(anyTreeConfig(t), anyUsed(t), jobs, running)
		m := modelJobs{f: f, before: before}
		if got, want := f.pendingTickets(1e3, before), m.tickets(); !slices.Equal(got, want) {
			t.Fatalf("tickets %v, want %v", got, want)
		}
	})
}

// deep is a tree of n nodes below each other, and at the end some users, beside one user.
func deep(n int) *Node {
	end := nodeOf("end", 1, nodeOf("alice", 1), nodeOf("bob", 2))
	for i := range n {
		end = nodeOf("n"+strconv.Itoa(i), 3, end)
	}
	return nodeOf("", 1, nodeOf("carol", 1), end)
}

// A long way without a fork changes neither targets nor, once the order of the jobs with the
// most of other policies has settled, the order; and it costs little.
func TestDeepTree(t *testing.T) {
	users := make([]string, 100000)
	for i := range users {
		users[i] = []string{"alice", "bob", "carol"}[i%3]
	}
	jobs := jobsOf(users...)
	before := make([]float64, len(jobs))
	for i := range before {
		before[i] = float64(i % 1000)
	}
	tickets := func(levels int, before []float64) []float64 {
		return forestOf(&Config{Tree: deep(levels), Compensation: 5}, Used{}, jobs, 5).pendingTickets(1e6, before)
	}
	if !slices.Equal(tickets(10000, nil), tickets(1, nil)) {
		t.Error("tickets of a deep tree are others")
	}
	if !slices.Equal(tickets(10000, before), tickets(1000, before)) {
		t.Error("tickets of a deep tree are others where they depend on others")
	}
}

// Whatever goes in, all numbers that come out are numbers.
func TestTreeNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		odd := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64}))
		c, u := anyTreeConfig(t), anyUsed(t)
		eachNode(c.Tree, func(n *Node) { n.Shares = odd.Draw(t, "shares") })
		c.Compensation = odd.Draw(t, "compensation_factor")
		for _, user := range []string{"alice", "bob"} {
			u.Own[user], u.Within[[2]string{user, "pa"}], u.Project["pa"] = odd.Draw(t, "own"), odd.Draw(t, "within"), odd.Draw(t, "pa's")
		}
		jobs, running := anyForestJobs(t)
		before := make([]float64, len(jobs))
		for i := range jobs {
			before[i], jobs[i].JobShare, jobs[i].LeastSlots = odd.Draw(t, "before"), odd.Draw(t, "job share"), rapid.Int64().Draw(t, "slots")
		}
		f := forestOf(c, u, jobs, running)
		pool := odd.Draw(t, "tickets")
		numbers := slices.Concat(f.runningTickets(pool), f.pendingTickets(pool, before), f.pendingTickets(pool, nil))
		for _, n := range f.nodes() {
			numbers = append(numbers, n.Usage, n.Actual, n.LongTarget, n.ShortTarget, n.TotalLong, n.TotalShort)
		}
		for _, x := range numbers {
			if !(x >= 0) || math.IsInf(x, 0) {
				t.Fatalf("%v comes out", x)
			}
		}
	})
}
