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
// same number. A user's submissions of one second stay together, and nothing moves before the start. The think time of a job that follows
// others moves with it, and does not become negative.
//
// A difference that such moves make by themselves is no difference between two configurations (Tsafrir, Ouaknine,
// Feitelson: Reducing performance evaluation sensitivity and variability by input shaking, MASCOTS 2007).
func (w *Workload) Shaken(number int) *Workload {
	shaken := *w
	shaken.Jobs, shaken.Steps = slices.Clone(w.Jobs), slices.Clone(w.Steps)
	for i := range shaken.Jobs {
		j := &shaken.Jobs[i]
		h := fnv.New64a()
		fmt.Fprint(h, number, j.Submit, j.User)
		by := int64(h.Sum64()>>20%(2*Shift+1)) - Shift
		j.Submit = max(j.Submit+by, 0)
		if w.Steps != nil {
			shaken.Steps[i].Think = max(w.Steps[i].Think+by, 0)
		}
	}
	order := make([]int, len(w.Jobs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(shaken.Jobs[a].Submit, shaken.Jobs[b].Submit) })
	shaken.Jobs, shaken.Steps = permuted(shaken.Jobs, order), permuted(shaken.Steps, order)
	return &shaken
}

// permuted returns a list in another order; nil for nil.
func permuted[T any](list []T, order []int) []T {
	if list == nil {
		return nil
	}
	changed := make([]T, len(list))
	for i, k := range order {
		changed[i] = list[k]
	}
	return changed
}
