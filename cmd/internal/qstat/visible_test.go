package qstat

import (
	"slices"
	"strings"
	"testing"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/lib/classad"
	"fairspool/spool"
)

// TestVisible holds what a user sees of others' jobs through the door, in each layout: nothing of their
// details, and with QUEUE_VISIBLE = "own" nothing at all, also by a constraint.
func TestVisible(t *testing.T) {
	cmdtest.Spool(t, func(tx *spool.Tx) {
		for _, owner := range []string{"alice", "bob"} {
			ad, err := classad.ParseAd(`[Owner = "` + owner + `"; User = "` + owner + `@pool"; JobStatus = 1; QDate = 1; RequestCpus = 1; RequestMemory = 1; RequestDisk = 1; Requirements = true;
				Cmd = "/home/` + owner + `/secret"; Arguments = "secret"; Environment = "A=secret"; Iwd = "/secret"; Out = "/secret/out"; UserLog = "/secret/log";
				JobPrio = 0; HoldReason = "no /secret"; Told = Environment]`)
			if err != nil {
				t.Fatal(err)
			}
			tx.AddCluster(ad, []spool.NewRun{{Count: 2}})
		}
	})
	for _, args := range []string{"", "-sge", "-g d", "-r", "-f", "-xml", "-long", "-json", "-j 1", "-j 1 -json", "-j 1 -xml", "-j",
		"-af Environment Env Arguments Iwd Out Told HoldReason", "-af strcat(Cmd,Arguments)"} {
		words := strings.Fields(args)
		for _, c := range []struct {
			config       string
			whole, lists bool
		}{
			{"", false, true}, {"JOB_DETAILS_VISIBLE = \"all\"\n", true, true}, {"QUEUE_VISIBLE = \"own\"\n", false, false},
			{"ADMINISTRATORS = [\"bob\"]\nQUEUE_VISIBLE = \"own\"\n", true, true},
		} {
			if strings.HasPrefix(args, "-j 1") && !c.lists {
				continue // of which nothing is said but that
			}
			only := words
			if c.lists && !slices.Contains(words, "-j") {
				only = append(words[:len(words):len(words)], "-u", "alice")
				if strings.HasPrefix(args, "-af") {
					only = append([]string{"-u", "alice"}, words...)
				}
			}
			status, out, bad := cmdtest.RunFor(t, "bob", c.config, Command(), only...)
			shows := strings.Contains(out, "secret")
			switch {
			case status != 0:
				t.Errorf("%q: qstat %q = %d, %q", c.config, only, status, bad)
			case !c.whole && c.lists && shows:
				t.Errorf("%q: qstat %q shows\n%s", c.config, only, out)
			case !c.lists && strings.Contains(out, "alice"):
				t.Errorf("%q: qstat %q lists\n%s", c.config, only, out)
			}
		}
	}
	const own = "QUEUE_VISIBLE = \"own\"\n"
	for _, c := range []struct{ config, args, want string }{
		{"", `-af ClusterId -constraint Arguments=="secret"`, "2\n2\n"},
		{"", `-af ClusterId -constraint Told=?="A=secret"`, "2\n2\n"},
		{"", "-af:V Arguments HoldReason", "undefined \"not shown\"\nundefined \"not shown\"\n\"secret\" \"no /secret\"\n\"secret\" \"no /secret\"\n"},
		{"JOB_DETAILS_VISIBLE = \"all\"\n", "-af Arguments", "secret\nsecret\nsecret\nsecret\n"},
		{own, "-af ClusterId", "2\n2\n"},
		{own, "-af ClusterId -constraint true", "2\n2\n"},
		{own, "-u alice -json", "[]\n"},
	} {
		if status, out, bad := cmdtest.RunFor(t, "bob", c.config, Command(), strings.Fields(c.args)...); status != 0 || out != c.want {
			t.Errorf("%q: qstat %s = %d, %q, %q, want %q", c.config, c.args, status, out, bad, c.want)
		}
	}
	if status, _, bad := cmdtest.RunFor(t, "bob", own, Command(), "-j", "1.0"); status != 1 || strings.Contains(bad, "alice") {
		t.Errorf("qstat -j of a job that is not to be seen = %d, %q", status, bad)
	}
}
