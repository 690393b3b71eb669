package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/cmdtest"
	"fairspool/cmd/internal/qstat"
	"fairspool/lib/classad"
	"fairspool/spool"
)

// TestJobsOfOthersAreNotThere holds that with QUEUE_VISIBLE = "own" each command answers about a job of
// another user through the door as about one that never was, and shows nothing of it elsewhere.
func TestJobsOfOthersAreNotThere(t *testing.T) {
	cmdtest.Spool(t, func(tx *spool.Tx) {
		for _, owner := range []string{"alice", "bob"} {
			ad, err := classad.ParseAd(`[Owner = "` + owner + `"; User = "` + owner + `@pool"; JobStatus = 1; QDate = 1; RequestCpus = 1; RequestMemory = 1; RequestDisk = 1;
				Requirements = true; Cmd = "/home/` + owner + `/program"; Iwd = "/home/` + owner + `"; Out = "out"; JobPrio = 0]`)
			if err != nil {
				t.Fatal(err)
			}
			tx.AddCluster(ad, []spool.NewRun{{Count: 2}})
		}
	})
	all := commands()
	answer := func(command, line string) string {
		t.Helper()
		c := all[slices.IndexFunc(all, func(c cmdline.Command) bool { return c.Name == command })]
		status, out, bad := cmdtest.RunFor(t, "bob", "QUEUE_VISIBLE = \"own\"\n", c, strings.Fields(line)...)
		return fmt.Sprintf("status %d\n%s%s", status, out, bad)
	}
	const there, never = "1", "77" // clusters
	for _, c := range []struct {
		command string
		lines   []string
	}{
		{"qstat", []string{"-u bob", "-af ClusterId -constraint ClusterId==ID", "-start ID.0"}},
		{"qdel", []string{"ID", "ID.0", "-constraint ClusterId==ID", "-force ID.0"}},
		{"qhold", []string{"ID", "ID.1", "-constraint ClusterId==ID"}},
		{"qrls", []string{"ID", "ID.1", "-constraint ClusterId==ID"}},
		{"prio", []string{"-p 5 ID", "+5 ID.0", "-set Rank=7 ID.0"}},
		{"qtail", []string{"ID", "ID.0"}},
		{"negotiate", []string{"-explain ID.0", "-explain ID", "-dry-run"}},
	} {
		for _, line := range c.lines {
			got := answer(c.command, strings.ReplaceAll(line, "ID", there))
			want := answer(c.command, strings.ReplaceAll(line, "ID", never))
			if got != strings.ReplaceAll(want, never, there) {
				t.Errorf("%s %s = %s\nof a job that never was: %s", c.command, line, got, want)
			}
		}
	}
	for _, c := range []struct {
		command string
		lines   []string
	}{
		{"qstat", []string{"", "-g c", "-af Owner", "-j " + there + ".0"}}, {"userprio", []string{"-all", "-all -json", "-why alice@pool"}}, {"slots", []string{"list -long"}},
		{"qdel", []string{"alice", "-all"}}, {"qhold", []string{"-a"}}, {"prio", []string{"-p 5 alice"}},
	} {
		for _, line := range c.lines {
			got := answer(c.command, line)
			if strings.Contains(got, "/home/alice") || strings.Contains(got, there+".0 ") {
				t.Errorf("%s %s shows a job of alice: %s", c.command, line, got)
			}
		}
	}
	status, out, bad := cmdtest.Run(qstat.Command(), "-af", "ClusterId", "JobStatus", "JobPrio")
	if want := there + " 1 0\n" + there + " 1 0\n"; status != 0 || out != want {
		t.Errorf("then qstat = %d, %q, %q, want %q: bob's jobs are removed, alice's are as they were", status, out, bad, want)
	}
}
