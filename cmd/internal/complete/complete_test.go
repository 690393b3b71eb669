package complete_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"fairspool/cmd/internal/chart"
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/cmdtest"
	"fairspool/cmd/internal/negotiate"
	"fairspool/cmd/internal/prio"
	"fairspool/cmd/internal/qdel"
	"fairspool/cmd/internal/qstat"
	"fairspool/cmd/internal/qtail"
	"fairspool/cmd/internal/slots"
	"fairspool/cmd/internal/submit"
	"fairspool/cmd/internal/userprio"
	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/spool"
)

func TestMain(m *testing.M) { os.Exit(testenv.Run(m)) }

func fill(t *testing.T) {
	t.Helper()
	cmdtest.Spool(t, func(tx *spool.Tx) {
		for i, owner := range []string{"alice", "bob", "eve$(reboot)"} {
			ad := cmdtest.Ad(t, fmt.Sprintf(`[Owner = %q; User = %q; JobStatus = 1; QDate = 1; Cmd = "/bin/run%d"; RequestCpus = 1; Requirements = true]`, owner, owner+"@pool", i))
			tx.AddCluster(ad, []spool.NewRun{{Count: 3 - i}})
			tx.PutSubmitter(accountant.Record{Name: owner + "@pool", Priority: 1})
		}
		tx.PutSlot("slot1@node", cmdtest.Ad(t, `[MyType = "Machine"; Name = "slot1@node"; Machine = "node"; Cpus = 4; Requirements = true]`))
		cmdtest.Claims(tx)
	})
}

// offered returns the words that a command offers behind others, the last of which is at the cursor.
func offered(t *testing.T, c cmdline.Command, words ...string) string {
	t.Helper()
	status, out, bad := cmdtest.Run(c, append(words, "--generate-bash-completion")...)
	if status != 0 || bad != "" {
		t.Fatalf("%s %q = %d, %s", c.Name, words, status, bad)
	}
	return firsts(out)
}

// firsts returns the words of an answer, without what they mean.
func firsts(out string) string {
	var list []string
	for l := range strings.Lines(out) {
		word, _, _ := strings.Cut(l, "\t")
		list = append(list, word)
	}
	return strings.Join(list, " ")
}

func TestNames(t *testing.T) {
	fill(t)
	for _, c := range []struct {
		command cmdline.Command
		words   []string
		want    string
	}{
		{qstat.Command(), []string{""}, "3 2 1 alice bob alice@pool bob@pool"},
		{qstat.Command(), []string{"al"}, "alice alice@pool"},
		{qstat.Command(), []string{"1."}, "1.0 1.1 1.2"},
		{qstat.Command(), []string{"9."}, ""},
		{qstat.Command(), []string{"-j", ""}, "3 2 1"},
		{qstat.Command(), []string{"-j", "1,2"}, "1,2"},
		{qstat.Command(), []string{"-u", "alice,b"}, "alice,bob alice,bob@pool"},
		{qstat.Command(), []string{"-q", "sl"}, "slot1@node"},
		{qstat.Command(), []string{"-g", ""}, "c d t"},
		{qstat.Command(), []string{"-af", "Job"}, "JobStatus"},
		{qstat.Command(), []string{"-af", "JobStatus", "Re"}, "RequestCpus Requirements"},
		{qstat.Command(), []string{"-hist"}, "-history"},
		{qstat.Command(), []string{"-u", "-hist"}, "-history"},
		{qstat.Command(), []string{"-spool", "/missing", ""}, ""},
		{qstat.Command(), []string{"-config", "/missing", ""}, ""},
		{qstat.Command(), []string{"-nonsense", "al"}, "alice alice@pool"},
		{qtail.Command(), []string{"-f", "2"}, "2"},
		{qdel.Command(), []string{"--", "b"}, "bob bob@pool"},
		{prio.Command(), []string{"-set", "Req"}, "RequestCpus= Requirements="},
		{prio.Command(), []string{"-p", "7", "2."}, "2.0 2.1"},
		{negotiate.Command(), []string{"-explain", "2.1"}, "2.1"},
		{userprio.Command(chart.Plot), []string{"-setfactor", ""}, "alice@pool bob@pool"},
		{userprio.Command(chart.Plot), []string{"-setfactor", "alice@pool", ""}, ""},
		{userprio.Command(chart.Plot), []string{"-af", "RealP", "Eff"}, "EffectivePriority"},
		{slots.Command(), []string{""}, "advertise list withdraw reserve"},
		{slots.Command(), []string{"withdraw", ""}, "slot1@node"},
		{slots.Command(), []string{"withdraw", "-al"}, "-all"},
		{slots.Command(), []string{"list", "-af", "Mach"}, "Machine"},
		{submit.Command(), []string{"--", "e"}, ""},
		{submit.Command(), []string{"-batch-n"}, "-batch-name"},
	} {
		got := offered(t, c.command, c.words...)
		if c.command.Name == "slots" && c.words[0] == "" {
			got = strings.Join(strings.Fields(got)[:4], " ")
		}
		if got != c.want {
			t.Errorf("%s %q offers %q, want %q", c.command.Name, c.words, got, c.want)
		}
	}
}

// TestNothingIsMade holds that a completion makes no spool, and waits for no lock.
func TestNothingIsMade(t *testing.T) {
	cmdtest.Spool(t, nil)
	dir := os.Getenv("FAIRSPOOL_DIR") + "/none"
	t.Setenv("FAIRSPOOL_DIR", dir)
	if got := offered(t, qdel.Command(), ""); got != "" {
		t.Errorf("qdel offers %q", got)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a spool was made")
	}
}

// TestThroughDoor holds that users of another account are offered names, too, and those alone that they may see.
func TestThroughDoor(t *testing.T) {
	fill(t)
	for config, want := range map[string]string{"": "3 2 1", "QUEUE_VISIBLE = \"own\"\n": "2"} {
		status, out, bad := cmdtest.RunFor(t, "bob", config, qtail.Command(), "", "--generate-bash-completion")
		if got := firsts(out); status != 0 || got != want {
			t.Errorf("with %q qtail offers %q, %d, %s: want %q", config, got, status, bad, want)
		}
	}
}
