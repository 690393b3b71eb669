package lifecycle

import (
	"testing"

	"fairspool/internal/testenv"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// BenchmarkPolicies looks at 100,000 jobs in as many runs that want nothing.
func BenchmarkPolicies(b *testing.B) {
	s, err := spool.Open(b.TempDir()+"/spool", spool.Options{Program: "test", UIDDomain: "example.org"})
	testenv.OK(b, err)
	ad, err := classad.ParseAd(`[Owner = "alice"; JobStatus = 1; PeriodicHold = false; PeriodicRelease = false; PeriodicRemove = false; LeaveJobInQueue = false;
		OnExitHold = false; OnExitRemove = true; Requirements = true]`)
	testenv.OK(b, err)
	testenv.OK(b, s.Update(func(tx *spool.Tx) error {
		tx.Op("submit")
		for range 100 {
			runs := make([]spool.NewRun, 1000)
			for i := range runs {
				runs[i] = spool.NewRun{Count: 1, Attrs: []spool.Attr{{Name: pool.AttrArgs, Expr: classad.Literal(classad.Int(int64(i)))}}}
			}
			tx.AddCluster(ad, runs)
		}
		return nil
	}))
	testenv.OK(b, s.View(func(v *spool.View) error {
		v.Clusters() // which a cycle reads anyway
		for b.Loop() {
			if o := Policies(v, noon, Look{}); len(o.Due) > 0 {
				b.Fatalf("Policies = %v, want nothing due", o)
			}
		}
		return nil
	}))
}
