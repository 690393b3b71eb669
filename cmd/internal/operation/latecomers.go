package operation

import (
	"maps"
	"slices"
	"strings"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// latecomers are the matches that a cycle gave up, and that were taken up before
// its plan was applied: it has dealt out again what of its share or ceiling their
// submitter uses for them, and what they count for in concurrency limits and, under a
// policy with one queue, in limits of credentials.
type latecomers struct {
	submitters map[string]bool
	limits     map[string]bool
	claims     []pool.Claim
	limited    bool // credentials are
}

func (l *latecomers) add(c pool.Claim) {
	l.claims = append(l.claims, c)
	l.submitters[c.Submitter] = true
	for _, name := range limitNames(c.Limits) {
		l.limits[name] = true
	}
}

// bar tells whether a match has to wait for the next cycle, as it may rest on what
// a latecomer has.
func (l latecomers) bar(tx *spool.Tx, m negotiator.Match) bool {
	if len(l.submitters) == 0 {
		return false
	}
	return l.submitters[m.Submitter] || slices.ContainsFunc(limitNames(m.Limits), func(name string) bool { return l.limits[name] }) ||
		l.limited && l.shareCredential(tx, m)
}

// shareCredential tells whether the job of a match has a credential that a latecomer has.
func (l latecomers) shareCredential(tx *spool.Tx, m negotiator.Match) bool {
	ad, ok := tx.Job(m.Job)
	if !ok {
		return false
	}
	by := matchedBy(ad, m, accountant.Params{}) // nobody is limited by project
	return slices.ContainsFunc(l.claims, func(c pool.Claim) bool {
		for _, of := range [][2]string{{by.User, c.By.User}, {by.Group, c.By.Group}, {by.Account, c.By.Account}, {by.QOS, c.By.QOS}, {by.Class, c.By.Class}} {
			if of[0] != "" && of[0] == of[1] {
				return true
			}
		}
		return false
	})
}

// limitNames returns the names of limits that negotiator.Match has as "lic,sw.x:2".
func limitNames(limits string) []string {
	if limits == "" {
		return nil
	}
	names := strings.Split(limits, ",")
	for i, one := range names {
		names[i], _, _ = strings.Cut(one, ":")
	}
	return names
}

// outside returns what submitters hold by the slots' own words without the slots of
// latecomers: those are charged to them, and not to whom the cycle saw there.
func (l latecomers) outside(held map[string]negotiator.Holding, seen Snapshot, p accountant.Params) map[string]negotiator.Holding {
	if len(l.claims) == 0 {
		return held
	}
	held = maps.Clone(held)
	for _, c := range l.claims {
		slot, there := seen.slots[c.Slot]
		if !there {
			continue
		}
		name := p.Groups.Spelled(negotiator.Holder(&classad.Context{}, slot.ad))
		switch h := held[name]; {
		case h.Slots > 1:
			held[name] = negotiator.Holding{Slots: h.Slots - 1, Weight: max(h.Weight-c.Weight, 0)}
		case h.Slots == 1:
			delete(held, name)
		}
	}
	return held
}
