package negotiator

import (
	"slices"
	"testing"

	"fairspool/lib/accountant"
	"fairspool/lib/jobprio"
)

// In spins a partitionable slot serves one job, a ceiling stops all that would begin
// beyond it, however light, and who has no share left gets nothing.
func TestCausesInSpins(t *testing.T) {
	large := `PartitionableSlot = true; Cpus = 4; Memory = 4096; Requirements = true`
	none := record("alice@x", 0.5)
	none.Ceiling.Set = true
	two := Pool{Slots: equal(t, 1, large), Jobs: []jobprio.Run{aJob(t, 1, 2, "alice@x", "")}}
	light := Pool{Slots: equal(t, 1, large+"; SlotWeight = Memory / 1024"), Jobs: []jobprio.Run{aJob(t, 1, 1, "alice@x", "")}, Submitters: []accountant.Record{none}}
	owned := Pool{Slots: equal(t, 1, `State = "Owner"`), Jobs: []jobprio.Run{aJob(t, 1, 1, "alice@x", "")}}
	for _, c := range []struct {
		name string
		pool Pool
		cfg  func(*Config)
		want []Cause
		text string
	}{
		{"the second of two jobs for one slot", two, nil, []Cause{CauseTaken}, "no match found: the only matching slot is taken (0 before this cycle); 1 partitionable slot served one job, and serves no more in a cycle"},
		{"a piece of no weight, and a ceiling of 0", light, nil, []Cause{CauseCeiling}, "submitter ceiling reached: alice@x uses 0 of at most 0"},
		{"a slot in use, and no pool to share", owned, func(c *Config) { c.PoolSizeConstraint = expr(t, "false") }, []Cause{CauseBusy, CauseShare},
			"no match found: the only matching slot is in a state that takes no job"},
	} {
		cfg := defaults(t)
		cfg.Pie = Spins
		if c.cfg != nil {
			c.cfg(&cfg)
		}
		plan := Cycle(c.pool, cfg, now)
		if len(plan.Rejections) != 1 {
			t.Errorf("%s: %d rejections, want 1", c.name, len(plan.Rejections))
			continue
		}
		r := plan.Rejections[0]
		if got := append([]Cause{r.Cause}, r.Also...); !slices.Equal(got, c.want) || r.Reason != c.text {
			t.Errorf("%s: causes of %v = %v: %q, want %v: %q", c.name, r.Job, got, r.Reason, c.want, c.text)
		}
	}
}
