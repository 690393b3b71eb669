package maui

import "slices"

// Admits says whether one more job of a kind breaks no limit once a job of each of some kinds
// has ended. What these give back of time is what they could take at most.
func (l *limits) Admits(kind int, ended []int, hard bool) bool {
	k := &l.kinds[kind]
	for _, c := range k.ceilings {
		used := c.used
		for _, e := range ended {
			if !slices.Contains(l.kinds[e].ceilings, c) {
				continue
			}
			for which, each := range l.kinds[e].takes {
				used[which] = max(0, used[which]-each)
			}
		}
		for which := range Limits {
			if c.bound[which].set && used[which]+k.takes[which] > c.most(which, hard) {
				return false
			}
		}
	}
	return true
}
