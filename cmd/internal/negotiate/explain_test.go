package negotiate

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// queueOfAll has jobs in every state: 1.0 runs, 1.1 is matched, 1.2 and cluster 2 wait,
// 3.3 and 3.4 are held, 3.5 is on its way out; the rest of 3 is more than any slot has.
func queueOfAll(t *testing.T) *spool.Spool {
	t.Helper()
	s := begun(t)
	update(t, s, func(tx *spool.Tx) error {
		tx.DropClaim(pool.JobID{Cluster: 2})
		tx.AddCluster(ad(t, `[Owner = "alice"; JobStatus = 1; RequestCpus = 1; Requirements = TARGET.Cpus > 8]`), []spool.NewRun{{Count: 6}})
		tx.SetRange(pool.Procs{Cluster: 3, First: 3, Last: 4}, pool.AttrJobStatus, classad.Literal(classad.Int(int64(pool.Held))))
		tx.SetRange(pool.Procs{Cluster: 3, First: 3, Last: 4}, pool.AttrHoldReason, classad.Literal(classad.String("no such program")))
		tx.SetRange(pool.Procs{Cluster: 3, First: 5, Last: 5}, pool.AttrJobStatus, classad.Literal(classad.Int(int64(pool.Removed))))
		return nil
	})
	return s
}

// slotName is the name of a slot: which one it is does not matter here.
var slotName = regexp.MustCompile(`slot\d@node`)

// printed holds that a command succeeds and prints what its page has, where slots are no
// particular ones.
func printed(t *testing.T, args ...string) {
	t.Helper()
	status, out, bad := negotiate(args...)
	if status != 0 {
		t.Errorf("negotiate %q = %d, want 0", args, status)
	}
	cmdtest.Printed(t, "negotiate "+strings.Join(args, " "), status, slotName.ReplaceAllString(out, "slotN@node"), bad)
}

func TestExplain(t *testing.T) {
	queueOfAll(t)
	for _, args := range []string{"1.0", "1.1", "3.4", "3.5", "1", "2.0", "2", "2 -dry-run", "3", "3.1"} {
		printed(t, strings.Fields("-explain "+args)...)
	}
	_, out, _ := negotiate("-explain", "2")
	if n := strings.Count(out, "3 slots:"); n != 1 {
		t.Errorf("negotiate -explain 2 tells of the slots %d times, want once for all that are alike:\n%s", n, out)
	}
	status, out, _ := negotiate("-explain", "1.0", "-what-if", "qdel 1.0")
	if status != 0 || strings.Contains(out, "runs on") {
		t.Errorf("after qdel 1.0 = %d, %q, want no word of it running", status, out)
	}
	status, out, bad := negotiate("-explain", "4", "-what-if", "submit 2 like 1", "-what-if", "slots add 9 like slot1@node")
	if status != 0 || bad != "" || !strings.Contains(out, "4.1 would be matched with what-if") {
		t.Errorf("of jobs that are not there yet = %d, %q, %q", status, out, bad)
	}
}

// A match that this very cycle gives up is none.
func TestExplainGivenUp(t *testing.T) {
	begun(t)
	const late = "1795217900"
	_, out, _ := negotiate("-explain", "1.1", "-now", late)
	if strings.Contains(out, "is matched with") || !strings.Contains(out, "1.1 would not be matched") {
		t.Errorf("negotiate -explain 1.1 when its match is given up prints %q", out)
	}
	_, out, _ = negotiate("-dry-run", "-now", late)
	const want = "\n2 claims would be given up, as no starter came in time:\n  1.1 of alice@pool on a slot, matched at 2026-11-20 23:34:06\n  2.0 of bob@pool on "
	if !strings.Contains(slotName.ReplaceAllString(out, "a slot"), want) {
		t.Errorf("negotiate -dry-run prints\n%swithout\n%s", out, want)
	}
}

func TestExplainJSON(t *testing.T) {
	queueOfAll(t)
	status, out, bad := negotiate("-explain", "3", "-json")
	var e struct {
		Job    string
		States []struct {
			Jobs          []string
			State, Reason string
		}
		Matches    []struct{ Job string }
		Rejections []struct {
			Jobs      []string
			Submitter string
			Reason    string
		}
		Submitters []struct {
			Name      string
			Place, Of int
			PieSlice  float64
		}
	}
	if err := json.Unmarshal([]byte(out), &e); err != nil || status != 0 || bad != "" {
		t.Fatalf("negotiate -explain 3 -json = %d, %q, %v\n%s", status, bad, err, out)
	}
	if e.Job != "3" || len(e.States) != 2 || e.States[0].State != "held" || e.States[0].Reason != "no such program" || e.States[0].Jobs[0] != "3.3-4" ||
		len(e.Matches) != 0 || len(e.Rejections) != 1 || e.Rejections[0].Jobs[0] != "3.0-2" || len(e.Submitters) != 1 || e.Submitters[0].Of != 2 {
		t.Errorf("negotiate -explain 3 -json = %s", out)
	}
}

// A slot that is kept for a wide job is told of where the job is asked about.
func TestExplainReservation(t *testing.T) {
	update(t, begun(t), func(tx *spool.Tx) error {
		tx.AddCluster(ad(t, `[Owner = "alice"; JobStatus = 1; RequestCpus = 1; Requirements = true]`), []spool.NewRun{{Count: 3}})
		tx.AddCluster(ad(t, `[Owner = "bob"; JobStatus = 1; RequestCpus = 4; Requirements = true]`), []spool.NewRun{{Count: 2}})
		return nil
	})
	for _, c := range []struct {
		job  string
		kept bool
	}{{"4", true}, {"4.0", true}, {"4.1", false}, {"3", false}} {
		status, out, bad := negotiate("-explain", c.job, "-what-if", "qdel 1 2", "-what-if", "slots withdraw slot2@node slot3@node",
			"-what-if", "slots set slot1@node PartitionableSlot=true Cpus=4 Requirements=true")
		if status != 0 || bad != "" || strings.Contains(out, "\nslot1@node is kept for 4.0: it has Cpus 1 of 4 requested.\n") != c.kept {
			t.Errorf("negotiate -explain %s = %d, %q, says that a slot is kept: %v, want %v\n%s", c.job, status, bad, !c.kept, c.kept, out)
		}
	}
}

// The example of waiting(7), whose long lines are broken, is what is printed.
func TestExplainAsOnThePage(t *testing.T) {
	page, err := os.ReadFile("../../../man/waiting.7")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(page), "\n$ negotiate -explain 2\n")
	example, _, ok := strings.Cut(example, ".Ed\n")
	if !ok {
		t.Fatal("waiting(7) has no example of -explain")
	}
	s := fill(t, 0, 12)
	update(t, s, func(tx *spool.Tx) error {
		for name, text := range map[string]string{
			"slot1@node1": "Cpus = 8; Memory = 16384; Requirements = TARGET.RequestCpus <= Cpus",
			"slot1@node2": "Cpus = 8; Memory = 16384; Requirements = TARGET.RequestCpus <= Cpus",
			"slot1@node3": `Cpus = 16; Memory = 65536; GPUs = 2; Requirements = TARGET.Owner == "carol"`,
		} {
			tx.PutSlot(name, ad(t, fmt.Sprintf("[Name = %q; PartitionableSlot = true; %s]", name, text)))
		}
		return nil
	})
	if status, _, bad := negotiate("-q"); status != 0 {
		t.Fatalf("negotiate = %d, %s", status, bad)
	}
	update(t, s, func(tx *spool.Tx) error {
		tx.AddCluster(ad(t, `[Owner = "bob"; JobStatus = 1; RequestCpus = 1; RequestMemory = 24576; Requirements = TARGET.GPUs >= 1]`), []spool.NewRun{{Count: 1}})
		tx.AddCluster(ad(t, `[Owner = "carol"; JobStatus = 1; RequestCpus = 1; RequestMemory = 128; Requirements = true]`), []spool.NewRun{{Count: 20}})
		return nil
	})
	_, out, bad := negotiate("-explain", "2", "-now", fmt.Sprint(now+60))
	folded := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	if got := strings.ReplaceAll(out, "@pool", "@example.org"); bad != "" || folded(got) != folded(example) {
		t.Errorf("negotiate -explain 2 prints %q and\n%swant as in waiting(7)\n%s", bad, got, example)
	}
}
