package qstat

import (
	"strings"
	"testing"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/spool"
)

// What is shown by some attributes of the jobs is what is shown by whole ones, as they
// are read for a constraint. Among the jobs are some with expressions in place of values.
func TestShownByFewAttributes(t *testing.T) {
	everyKind(t)
	cmdtest.Update(t, func(tx *spool.Tx) {
		for _, more := range []string{
			`RequestCpus = Wanted + ProcId; Wanted = 2`, `JobStatus = Wanted; Wanted = 5; HoldReasonCode = ifThenElse(ProcId > 0, 6, 1)`,
			`jobprio = Wanted * 2; Wanted = 4`, `AfterOk = strcat("2", ""); DependenciesMet = Met; Met = true`, `Owner = strcat("er", "in")`,
		} {
			own := cmdtest.Ad(t, `[Wanted = 3; JobBatchName = "own"]`)
			tx.AddCluster(job(t, "erin", more), []spool.NewRun{{Count: 2}, {Count: 1, Ad: own}})
		}
	})
	for _, args := range []string{
		"", "-f", "-g c", "-xml", "-f -xml", "-g c -xml", "-g d", "-g t", "-w", "-pri -urg -ext", "-pri -urg -ext -xml",
		"-s p", "-s r", "-s z", "-s hu", "-s ho", "-s hs", "-s hj", "-s ha", "-u erin", "-u alice,bob", "-q *big*", "erin", "2 13", "1.5",
		"-json", "-long", "-af ClusterId ProcId Owner", "-json -s h", "-long -u erin", "-json 13", "-af JobStatus -s p", "-json -s s", "-long nobody",
	} {
		words := strings.Fields(args)
		constrained := append([]string{"-constraint", "true"}, words...)
		status, got, bad := qstat(words...)
		wantStatus, want, wantBad := qstat(constrained...)
		if got != want || status != wantStatus || bad != wantBad {
			t.Errorf("qstat %s = %d %s\n%swith whole ads\n%d %s\n%s", args, status, bad, got, wantStatus, wantBad, want)
		}
	}
}
