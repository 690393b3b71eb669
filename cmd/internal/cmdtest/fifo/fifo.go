// Package fifo is a policy for tests: first come, first served. It shows what a new policy takes:
// this package, and one line in the registry.
package fifo

import (
	"fmt"
	"iter"
	"slices"
	"strconv"

	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/jobprio"
	"fairspool/lib/policy"
	"fairspool/lib/pool"
)

// Policy orders all jobs by their age.
type Policy struct{ policy.Common }

type settings struct{ newestFirst bool }

type queue struct {
	policy.CommonListing
	settings
	now int64
}

func (Policy) Name() string { return "fifo" }

func (Policy) Table() *config.Table {
	return &config.Table{Name: "fifo", Begin: func() any { return &settings{} }, Keys: []config.Key{
		{Name: "newest_first", Kind: config.Boolean, Default: false, Help: "Whether the youngest job goes first.",
			Set: func(c *config.Config, v any) { of(c).newestFirst = v.(bool) }},
	}}
}

func of(c *config.Config) *settings { return c.Settings("fifo").(*settings) }

func (Policy) Queue(c *config.Config, from policy.Sources) jobprio.Queue { return newQueue(c, from) }

func (Policy) Listing(c *config.Config, from policy.Sources) policy.Listing { return newQueue(c, from) }

func newQueue(c *config.Config, from policy.Sources) *queue {
	return &queue{settings: *of(c), now: from.Now.Unix()}
}

func (Policy) Display(*config.Config) policy.Display {
	return policy.Display{Columns: []policy.Column{{Head: "age", Width: 8, After: "prior", Element: "age",
		Cell: func(b []byte, cells any) []byte { return strconv.AppendInt(b, cells.(int64), 10) }}}}
}

func (*queue) Name() string { return "fifo" }

func (*queue) Attributes() []string { return []string{pool.AttrQDate} }

func (q *queue) age(r jobprio.Run) int64 {
	submitted, _ := r.Ad.EvalInt(&classad.Context{}, pool.AttrQDate)
	return q.now - submitted
}

func (q *queue) Order(w jobprio.Waiting) (o jobprio.Order) {
	for i, r := range w.Idle {
		o.Places = append(o.Places, jobprio.Place{Part: jobprio.Part{Run: i, Procs: r.Procs}, Priority: float64(q.age(r))})
	}
	slices.SortStableFunc(o.Places, func(a, b jobprio.Place) int {
		if q.newestFirst {
			a, b = b, a
		}
		return int(b.Priority - a.Priority)
	})
	return o
}

func (q *queue) List(w jobprio.Waiting) (list []policy.Listed) {
	for _, p := range q.Order(w).Places {
		list = append(list, policy.Listed{Part: p.Part})
	}
	return list
}

func (q *queue) Show(j policy.Job, _ policy.Options) policy.Shown {
	return policy.Shown{Prior: q.age(j.Run()), Cells: q.age(j.Run())}
}

func (q *queue) Sheet(j policy.Job, _ iter.Seq[policy.Job]) []policy.Line {
	return []policy.Line{{Key: "age", Values: []string{fmt.Sprintf("%d s, which alone decides", q.age(j.Run()))}}}
}

func (q *queue) Explain(j policy.Job) (numbers, course any) {
	return map[string]int64{"Age": q.age(j.Run()), "Place": int64(j.Place)}, nil
}
