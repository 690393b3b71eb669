package operation

import (
	"errors"
	"testing"
	"time"

	"fairspool/lib/pool"
	"fairspool/spool"
)

// Who was started for an earlier attempt has no say in a later one, whatever has
// become of that.
func TestEarlierAttempt(t *testing.T) {
	b := newBench(t)
	b.negotiate(noon, nil)
	var earlier pool.Claim
	b.view(func(v *spool.View) { earlier, _ = v.Claim(first) })
	late := noon.Add(5 * time.Minute)
	b.negotiate(late, nil)
	again := late.Add(time.Hour)
	b.negotiate(again, nil)
	unchanged := func(what string, want pool.ClaimState) {
		t.Helper()
		b.view(func(v *spool.View) {
			if c, ok := v.Claim(first); !ok || c.Attempt != 2 || c.State != want {
				t.Errorf("after %s of attempt 1 the claim is %+v, want attempt 2, %v", what, c, want)
			}
		})
		if r := b.alice(again); r.ResourcesUsed != 2 {
			t.Errorf("after %s of attempt 1 alice is charged for %d slots, want 2", what, r.ResourcesUsed)
		}
	}
	b.update(func(tx *spool.Tx) error {
		if GiveUp(tx, earlier, again, params) {
			t.Error("GiveUp of attempt 1 = true")
		}
		if err := Begin(tx, first, 1, again, 1, params); !errors.Is(err, ErrGone) {
			t.Errorf("Begin of attempt 1 = %v, want ErrGone", err)
		}
		return nil
	})
	unchanged("Begin", pool.Matched)
	b.update(func(tx *spool.Tx) error { return Begin(tx, first, 2, again, 1, params) })
	b.update(func(tx *spool.Tx) error {
		if err := Finish(tx, first, 1, again, Ending{}, params); !errors.Is(err, ErrGone) {
			t.Errorf("Finish of attempt 1 = %v, want ErrGone", err)
		}
		return nil
	})
	unchanged("Finish", pool.RunningClaim)
}
