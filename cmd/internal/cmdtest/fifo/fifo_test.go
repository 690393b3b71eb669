package fifo_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/cmd/internal/cmdtest/fifo"
	"fairspool/cmd/internal/negotiate"
	"fairspool/cmd/internal/qstat"
	"fairspool/lib/policy/registry"
	"fairspool/spool"
)

func TestMain(m *testing.M) {
	registry.Policies = append(registry.Policies, fifo.Policy{}) // the line that a policy takes
	os.Exit(m.Run())
}

// inPool makes a pool with this policy, with settings of its table, one slot, and jobs of three
// owners, the oldest of them the second.
func inPool(t *testing.T, settings string) {
	t.Helper()
	cmdtest.Spool(t, func(tx *spool.Tx) {
		for i, owner := range []string{"alice", "bob", "carol"} {
			ad := cmdtest.Ad(t, fmt.Sprintf(`[Owner = "%s"; User = "%[1]s@pool"; JobStatus = 1; Cmd = "/bin/true"; QDate = %d]`, owner, cmdtest.Now-[]int{60, 3600, 600}[i]))
			tx.AddCluster(ad, []spool.NewRun{{Count: 1}})
		}
		tx.PutSlot("slot1@node", cmdtest.Ad(t, `[Name = "slot1@node"; Machine = "node"; Cpus = 1]`))
	})
	file := filepath.Join(t.TempDir(), "fairspool.toml")
	if err := os.WriteFile(file, []byte("JOB_PRIORITY_POLICY = \"fifo\"\nUID_DOMAIN = \"pool\"\n[fifo]\n"+settings), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("FAIRSPOOL_CONFIG", file)
}

func says(t *testing.T, out, bad string, status int, want ...string) {
	t.Helper()
	for _, w := range want {
		if status != 0 || bad != "" || !strings.Contains(out, w) {
			t.Errorf("exit status %d, %q, want 0, nothing and %q in\n%s", status, bad, w, out)
		}
	}
}

// owners returns the owners in the lines of a list, in its order.
func owners(out string) (list []string) {
	for line := range strings.SplitSeq(out, "\n") {
		for _, owner := range []string{"alice", "bob", "carol"} {
			if strings.Contains(line, owner) {
				list = append(list, owner)
			}
		}
	}
	return list
}

// TestPolicy holds that one package and one line in the registry make a policy: cycles go by it, and
// lists, qstat -j and the configuration have what is its own.
func TestPolicy(t *testing.T) {
	for settings, order := range map[string]string{"": "bob carol alice", "newest_first = true\n": "alice carol bob"} {
		inPool(t, settings)
		status, out, bad := cmdtest.Run(qstat.Command())
		says(t, out, bad, status, " age ", " 3600 ", " 600 ")
		if got := strings.Join(owners(out), " "); got != order {
			t.Errorf("with %q the queue is %s, want %s:\n%s", settings, got, order, out)
		}
		status, out, bad = cmdtest.Run(qstat.Command(), "-j", "2")
		says(t, out, bad, status, "age:                        3600 s, which alone decides\n")
		status, out, bad = cmdtest.Run(qstat.Command(), "-json", "-j", "2")
		says(t, out, bad, status, `"Age": 3600`)
		status, out, bad = cmdtest.Run(negotiate.Command(), "-check-config")
		says(t, out, bad, status, "fifo.newest_first")
		if status, _, bad := cmdtest.Run(negotiate.Command()); status != 0 {
			t.Fatalf("negotiate: exit status %d, %s", status, bad)
		}
		first, _, _ := strings.Cut(order, " ")
		_, out, _ = cmdtest.Run(qstat.Command())
		if got := owners(out); len(got) != 3 || got[0] != first {
			t.Errorf("with %q the slot went to %v, want %s:\n%s", settings, got, first, out)
		}
	}
}

// TestSettings holds that an unknown key of the table is refused, and the nearest one named.
func TestSettings(t *testing.T) {
	inPool(t, "newest_firs = true\n")
	status, _, bad := cmdtest.Run(negotiate.Command(), "-check-config")
	if status == 0 || !strings.Contains(bad, "newest_first") {
		t.Errorf("exit status %d, %q; want the key to be refused, and the one that was meant named", status, bad)
	}
}
