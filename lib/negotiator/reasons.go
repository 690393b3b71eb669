package negotiator

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/accountant"
	"fairspool/lib/pool"
)

// reason tells why the jobs left in q got no slot. At the end of a cycle no
// slot that they could use is free, but for what limits, a ceiling or the rest of
// their cluster keep from them.
func (c *cycle) reason(s *submitter, q *queue) string {
	switch {
	case q.cluster.barred:
		return "no match found: NEGOTIATOR_JOB_CONSTRAINT is not true for the job"
	case q.blocked != "":
		return fmt.Sprintf("concurrency limit %s reached", q.blocked)
	}
	left := c.peek(q.cluster, math.Inf(1)) == found
	within := left && c.peek(q.cluster, s.room()) == found
	q.cluster.restore()
	if left && !within {
		return fmt.Sprintf("submitter ceiling reached: %s uses %s of at most %d", s.name, s.usage, s.ceiling.Slots)
	}
	lightest, heaviest := c.weights(q.cluster)
	room := s.slice - s.usage.Float()
	others := ""
	if lightest > 0 && fits(lightest, room) {
		others = c.others(s, q.cluster)
	}
	if q.limited && others == "" && -room < heaviest.Float() {
		return fmt.Sprintf("submitter limit exceeded: %s uses %s of a pie slice of %.2f, the other matching slots are taken",
			s.name, s.usage, s.slice)
	}
	return "no match found: " + c.unmatched(q.cluster) + others
}

// weights returns the least and the largest weight of the slots that were free
// for k's jobs.
func (c *cycle) weights(k *autocluster) (lightest, heaviest accountant.Weight) {
	any := false
	for _, b := range k.bundles {
		for _, g := range b.groups {
			if g.root != g || k.verdict(c, g) != accepts {
				continue
			}
			w := k.weight(c, g)
			if !any || w < lightest {
				lightest = w
			}
			heaviest, any = max(heaviest, w), true
		}
	}
	return lightest, heaviest
}

// others tells who took slots that k's jobs could have used, and how many, for a
// submitter that got less than its pie slice has room for. Shares do not
// foresee everything: the choice of slots goes by rank first, and a
// submitter's jobs go by their own order.
func (c *cycle) others(s *submitter, k *autocluster) string {
	took, sum := map[*submitter]take{}, take{}
	for number, v := range k.verdicts {
		if v != accepts {
			continue
		}
		for t, n := range c.groups[number].takers {
			if t != s {
				took[t] = take{took[t].all + n.all, took[t].byRank + n.byRank}
				sum = take{sum.all + n.all, sum.byRank + n.byRank}
			}
		}
	}
	of, how := func(n take) int { return n.all }, "first"
	if sum.byRank > 0 {
		of, how = func(n take) int { return n.byRank }, "by rank"
	}
	var who []*submitter
	for t, n := range took {
		if of(n) > 0 {
			who = append(who, t)
		}
	}
	if len(who) == 0 {
		return ""
	}
	slices.SortFunc(who, func(a, b *submitter) int {
		return cmp.Or(cmp.Compare(of(took[b]), of(took[a])), strings.Compare(a.name, b.name))
	})
	by, what := who[0].name, fmt.Sprintf("%d of them", of(sum))
	if len(who) > 1 {
		by += counted(len(who)-1, " and another", " and %d others")
	}
	if n := c.funnel(k).accept.total(); of(sum) == n {
		what = counted(n, "it", "them")
	}
	return fmt.Sprintf("; %s took %s %s", by, what, how)
}

// funnel is how many slots get how far with the jobs of an autocluster.
type funnel struct {
	meet   int    // slots that meet the jobs' Requirements
	mute   int    // those of them whose ads have no Requirements
	accept counts // those of them that accept the jobs
}

func (c *cycle) funnel(k *autocluster) (f funnel) {
	for number, v := range k.verdicts {
		g := c.groups[number]
		if v >= 0 && v < slotClause || g.root != g {
			continue
		}
		n := g.counts.total()
		f.meet += n
		if !g.ad.Has(pool.AttrRequirements) {
			f.mute += n
		}
		if v == accepts {
			f.accept.add(g.counts)
		}
	}
	return f
}

// unmatched tells how far the slots of the pool are from taking a job.
func (c *cycle) unmatched(k *autocluster) string {
	f, slots := c.funnel(k), len(c.slots)
	accept := f.accept.total()
	switch {
	case slots == 0:
		return "the pool has no slots"
	case f.meet == 0 && !k.ad.Has(pool.AttrRequirements):
		return "the job has no Requirements"
	case f.meet == 0:
		return fmt.Sprintf("%s the job's Requirements", counted(slots, "the only slot does not meet", "none of %d slots meets"))
	case accept == 0:
		return fmt.Sprintf("%d of %s the job's Requirements, %s", f.meet, counted(slots, "1 slot meets", "%d slots meet"), refusal(f))
	}
	taken := f.accept[claimed] + f.accept[free]
	if taken == accept {
		return fmt.Sprintf("%s taken (%d before this cycle)", counted(taken, "the only matching slot is", "all %d matching slots are"), f.accept[claimed])
	}
	return fmt.Sprintf("%s free: %s", counted(accept, "the only matching slot is not", "none of %d matching slots is"), whereabouts(f.accept))
}

// refusal tells why none of the slots that meet a job's Requirements accepts
// the job.
func refusal(f funnel) string {
	switch f.mute {
	case 0:
		return counted(f.meet, "but does not accept the job", "none of these accepts the job")
	case f.meet:
		return counted(f.meet, "but its ad has no Requirements", "but their ads have no Requirements")
	}
	return fmt.Sprintf("none of these accepts the job: %s no Requirements", counted(f.mute, "the ad of 1 has", "the ads of %d have"))
}

// whereabouts lists what the slots are that match but are not free.
func whereabouts(n counts) string {
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{
		{n[claimed], "claimed before"},
		{n[free], "matched in this cycle"},
		{n[elsewhere], "in a state that takes no job"},
		{n[resting], "left alone after matches that nobody took up"},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	return strings.Join(parts, ", ")
}

// counted returns one for 1, else many with n in the place of %d.
func counted(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return strings.Replace(many, "%d", strconv.Itoa(n), 1)
}
