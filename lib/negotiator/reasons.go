package negotiator

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/accountant"
	"fairspool/lib/pool"
)

// reason tells why the jobs left in q got no slot. At the end of a cycle no
// slot that they could use is free, but for what a ceiling keeps from them.
func (c *cycle) reason(s *submitter, q *queue) string {
	if q.cluster.left() && !q.cluster.leftWithin(s.room()) {
		return fmt.Sprintf("submitter ceiling reached: %s uses %s of at most %d", s.name, s.usage, s.ceiling.Slots)
	}
	lightest, heaviest := q.weights()
	room := s.slice - s.usage.Float()
	others := ""
	if lightest > 0 && fits(lightest, room) {
		others = q.others(s)
	}
	if q.limited && others == "" && -room < heaviest.Float() {
		return fmt.Sprintf("submitter limit exceeded: %s uses %s of a pie slice of %.2f, the other matching slots are taken",
			s.name, s.usage, s.slice)
	}
	return "no match found: " + unmatched(q.cluster, len(c.slots)) + others
}

// weights returns the least and the largest weight of the slots that were free
// for q's jobs.
func (q *queue) weights() (lightest, heaviest accountant.Weight) {
	for i, b := range q.cluster.bundles {
		if i == 0 || b.weight < lightest {
			lightest = b.weight
		}
		heaviest = max(heaviest, b.weight)
	}
	return lightest, heaviest
}

// others tells who took slots that q could have used, and how many, for a
// submitter that got less than its pie slice has room for. Shares do not
// foresee everything: the choice of slots goes by rank first, and a
// submitter's jobs go by their own order.
func (q *queue) others(s *submitter) string {
	took, sum := map[*submitter]take{}, take{}
	for _, b := range q.cluster.bundles {
		for t, n := range b.takers {
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
	if n := q.cluster.accept.total(); of(sum) == n {
		what = counted(n, "it", "them")
	}
	return fmt.Sprintf("; %s took %s %s", by, what, how)
}

// unmatched tells how far the slots of the pool are from taking a job.
func unmatched(k *autocluster, slots int) string {
	accept := k.accept.total()
	switch {
	case slots == 0:
		return "the pool has no slots"
	case k.meet == 0 && !k.ad.Has(pool.AttrRequirements):
		return "the job has no Requirements"
	case k.meet == 0:
		return fmt.Sprintf("%s the job's Requirements", counted(slots, "the only slot does not meet", "none of %d slots meets"))
	case accept == 0:
		return fmt.Sprintf("%d of %s the job's Requirements, %s", k.meet, counted(slots, "1 slot meets", "%d slots meet"), refusal(k))
	}
	taken := k.accept[claimed] + k.accept[free]
	if taken == accept {
		return fmt.Sprintf("%s taken (%d before this cycle)", counted(taken, "the only matching slot is", "all %d matching slots are"), k.accept[claimed])
	}
	return fmt.Sprintf("%s free: %s", counted(accept, "the only matching slot is not", "none of %d matching slots is"), whereabouts(k.accept))
}

// refusal tells why none of the slots that meet a job's Requirements accepts
// the job.
func refusal(k *autocluster) string {
	switch k.mute {
	case 0:
		return counted(k.meet, "but does not accept the job", "none of these accepts the job")
	case k.meet:
		return counted(k.meet, "but its ad has no Requirements", "but their ads have no Requirements")
	}
	return fmt.Sprintf("none of these accepts the job: %s no Requirements", counted(k.mute, "the ad of 1 has", "the ads of %d have"))
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
