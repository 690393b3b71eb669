package negotiator

import (
	"fmt"
	"strconv"
	"strings"

	"fairspool/lib/pool"
)

// reason tells why the jobs left in q got no slot. At the end of a cycle no
// slot that they could use is free.
func (c *cycle) reason(s *submitter, q *queue) string {
	k := q.cluster
	if q.limited {
		return fmt.Sprintf("submitter limit exceeded: %s uses %s of a pie slice of %.2f, the other matching slots are taken",
			s.name, s.usage, s.slice)
	}
	return "no match found: " + unmatched(k, len(c.slots))
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
