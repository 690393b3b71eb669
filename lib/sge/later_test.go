package sge

import (
	"fmt"
	"slices"
	"testing"

	"fairspool/lib/jobprio"
)

// TestLater: a job that is to start at a time takes no part before a slot is looked for, as in
// Grid Engine, and changes nobody's numbers; but it stands in the queue.
func TestLater(t *testing.T) {
	c := shared()
	c.WeightUrgency, c.WeightWaitingTime = 0.1, 1
	for _, x := range []struct {
		deferral string
		part     bool
	}{
		{"", true}, {fmt.Sprintf("; DeferralTime = %d", noon+1), false}, {fmt.Sprintf("; DeferralTime = %d", noon), true}, {"; DeferralTime = 5", true},
		{fmt.Sprintf("; DeferralTime = %d; DeferralPrepTime = 300; ScheddInterval = 60", noon+360), true},
		{fmt.Sprintf("; DeferralTime = %d; DeferralPrepTime = 300; ScheddInterval = 60", noon+361), false},
		{`; DeferralTime = "tomorrow"`, true}, {"; DeferralTime = undefined", true}, {"; DeferralTime = -1", true}, {"; DeferralTime = 1e300", false},
	} {
		w := jobprio.Waiting{Idle: []jobprio.Run{
			runOf(t, 1, 2, `Owner = "bob"; QDate = 100`+x.deferral), runOf(t, 2, 1, `Owner = "alice"; QDate = 900`), runOf(t, 3, 1, `Owner = "bob"; QDate = 950`),
		}}
		q := NewQueue(c, queueWorld)
		var got []string
		for _, p := range q.Order(w).Places {
			got = append(got, fmt.Sprintf("%d.%d x%d", p.Cluster, p.First, p.Count()))
		}
		want := []string{"1.0 x1", "1.1 x1", "2.0 x1", "3.0 x1"}
		if !x.part {
			want = []string{"2.0 x1", "3.0 x1", "1.0 x2"}
		}
		if x.part && got[0] != want[0] || !x.part && !slices.Equal(got, want) {
			t.Errorf("with %q the order is %q, want %q", x.deferral, got, want)
		}
		r := q.Listing(w).Ranking()
		if n := r.Pending(0, 0); (n.Prio > 0) != x.part || !x.part && n != (Numbers{}) {
			t.Errorf("with %q the numbers are %+v", x.deferral, n)
		}
		if n := r.Pending(2, 0); !x.part && (n.NUrg != 0 || n.NTckts != 1) {
			t.Errorf("with %q those of another job are %+v", x.deferral, n)
		}
	}
}
