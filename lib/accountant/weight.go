package accountant

import (
	"fmt"
	"math"
	"strconv"
)

// Weight is how much a slot counts, in thousandths: a slot of SlotWeight 1
// has Weight 1000. Weights are whole so that what a claim adds when it begins
// is exactly what it takes away when it ends.
type Weight int64

// One is the weight of a plain slot.
const One Weight = 1000

// MaxWeight is the largest weight a single slot may have: a million.
const MaxWeight = 1_000_000 * One

// WeightOf rounds w to thousandths. It fails when w is not a number, negative
// or above a million.
func WeightOf(w float64) (Weight, error) {
	if math.IsNaN(w) || w < 0 || w > float64(MaxWeight/One) {
		return 0, fmt.Errorf("slot weight %v: want a number from 0 to %d", w, MaxWeight/One)
	}
	return Weight(math.Round(w * float64(One))), nil
}

// Float returns the weight as users see it, in slots.
func (w Weight) Float() float64 { return float64(w) / float64(One) }

// String returns the weight as users see it, without needless digits.
func (w Weight) String() string { return strconv.FormatFloat(w.Float(), 'g', -1, 64) }
