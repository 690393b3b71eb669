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

// Contradictions says, one line each, what of a pool's claims cannot be so: two claims
// have a slot, or are promised it; or a slot is promised to a job for which its holder
// does not leave it. The lines are in the order of the list.
func Contradictions(claims []Claim) []string {
	holders, promises := map[string]Claim{}, map[string]Claim{}
	var wrong []string
	add := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	for _, c := range claims {
		of, verb := holders, "claimed by"
		if c.State == Promised {
			of, verb = promises, "promised to"
		}
		if first, twice := of[c.Slot]; twice {
			add("slot %s is %s job %v and job %v", c.Slot, verb, first.Job, c.Job)
			continue
		}
		of[c.Slot] = c
	}
	for _, c := range claims {
		if c.State != Promised || promises[c.Slot].Job != c.Job {
			continue
		}
		if holder, held := holders[c.Slot]; held && !holder.Promises(c) {
			add("slot %s is promised to job %v, and job %v, which has it, does not leave it for that", c.Slot, c.Job, holder.Job)
		}
	}
	return wrong
}
