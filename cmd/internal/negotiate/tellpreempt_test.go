package negotiate

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/operation"
	"fairspool/lib/accountant"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Two jobs of alice have run for two hours on all slots there are, and bob has come.
func overdue(t *testing.T) {
	t.Helper()
	s := fill(t, 2, 2)
	if status, _, bad := negotiate("-q"); status != 0 || bad != "" {
		t.Fatalf("negotiate = %d, %s", status, bad)
	}
	update(t, s, func(tx *spool.Tx) error {
		for proc := range 2 {
			if err := operation.Begin(tx, pool.JobID{Cluster: 1, Proc: proc}, 1, time.Unix(now+1, 0), 1, accountant.Params{HalfLife: 24 * time.Hour, DefaultFactor: 1}); err != nil {
				return err
			}
		}
		tx.AddCluster(ad(t, fmt.Sprintf(`[Owner = "bob"; JobStatus = 1; QDate = %d; RequestCpus = 1; Requirements = true]`, now)), []spool.NewRun{{Count: 3}})
		return nil
	})
	t.Setenv("FAIRSPOOL_NOW", fmt.Sprint(now+7201))
}

func TestPreemptionForPeople(t *testing.T) {
	overdue(t)
	if _, out, _ := negotiate("-explain", "1", "-json"); !strings.Contains(out, `"For": "2.0"`) || !strings.Contains(out, `"Rule": "Priority"`) {
		t.Errorf("negotiate -explain 1 -json = %s", out)
	}
	for _, args := range []string{"-dry-run", "-explain|2.0", "-explain|1", "-explain|2.2", "-what-if|qdel 2.0 2.1 2.2",
		"-what-if|config NEGOTIATOR_CONSIDER_PREEMPTION=false|-what-if|submit 1 like 2.0"} {
		printed(t, strings.Split(args, "|")...)
	}
	printed(t, "-q")
	for _, job := range []string{"1", "2.0", "2.2"} {
		printed(t, "-explain", job)
	}
}

// EUPs that differ are told as different ones.
func TestUnlike(t *testing.T) {
	for _, c := range []struct {
		a, b float64
		want string
	}{{0.5, 40, "0.50 40.00"}, {0.5001, 0.5004, "0.5001 0.5004"}, {0.501, 0.509, "0.50 0.51"}, {2, 2, "2.00 2.00"}} {
		if a, b := unlike(c.a, c.b); a+" "+b != c.want {
			t.Errorf("unlike(%v, %v) = %s %s, want %s", c.a, c.b, a, b, c.want)
		}
	}
}
