package workload

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
)

// Shift bounds by how many seconds Shaken moves a submission, to either side.
const Shift = 60

// Shaken returns the workload with each submission moved by up to Shift seconds: by chance, but always alike for the
// same number. A user's submissions of one second stay together, and nothing moves before the start.
//
// A difference that such moves make by themselves is no difference between two configurations (Tsafrir, Ouaknine,
// Feitelson: Reducing performance evaluation sensitivity and variability by input shaking, MASCOTS 2007).
func (w *Workload) Shaken(number int) *Workload {
	shaken := *w
	shaken.Jobs = slices.Clone(w.Jobs)
	for i := range shaken.Jobs {
		j := &shaken.Jobs[i]
		h := fnv.New64a()
		fmt.Fprint(h, number, j.Submit, j.User)
		j.Submit = max(j.Submit+int64(h.Sum64()>>20%(2*Shift+1))-Shift, 0)
	}
	slices.SortStableFunc(shaken.Jobs, func(a, b Job) int { return cmp.Compare(a.Submit, b.Submit) })
	return &shaken
}
