package pool

import "fmt"

// HeldOutside returns the Promised claims that wait for no claim of the same slot to
// end, in the order of the list: by their slots' own words somebody else holds them, or
// did so at the match.
func HeldOutside(claims []Claim) []Claim {
	var promised []Claim
	for _, c := range claims {
		if c.State == Promised {
			promised = append(promised, c)
		}
	}
	if len(promised) == 0 {
		return nil
	}
	held := map[string]bool{}
	for _, c := range claims {
		if c.State != Promised {
			held[c.Slot] = true
		}
	}
	var waiting []Claim
	for _, c := range promised {
		if !held[c.Slot] {
			waiting = append(waiting, c)
		}
	}
	return waiting
}

// Contradiction is a claim that cannot be beside the others, and why, in one line.
type Contradiction struct {
	Claim Claim
	Why   string
}

// Contradictions returns the claims of a pool that cannot be so: two claims have a slot, or
// are promised it, of which it is the later one; or a slot is promised to a job for which
// its holder does not leave it. Without these claims the others are sound. They are in the
// order of the list, promises that are not kept behind the rest.
func Contradictions(claims []Claim) []Contradiction {
	holders, promises := map[string]Claim{}, map[string]Claim{}
	var wrong []Contradiction
	add := func(c Claim, format string, args ...any) {
		wrong = append(wrong, Contradiction{c, fmt.Sprintf(format, args...)})
	}
	for _, c := range claims {
		of, verb := holders, "claimed by"
		if c.State == Promised {
			of, verb = promises, "promised to"
		}
		if first, twice := of[c.Slot]; twice {
			add(c, "slot %s is %s job %v and job %v", c.Slot, verb, first.Job, c.Job)
			continue
		}
		of[c.Slot] = c
	}
	for _, c := range claims {
		if c.State != Promised || promises[c.Slot].Job != c.Job {
			continue
		}
		if holder, held := holders[c.Slot]; held && !holder.Promises(c) {
			add(c, "slot %s is promised to job %v, and job %v, which has it, does not leave it for that", c.Slot, c.Job, holder.Job)
		}
	}
	return wrong
}
