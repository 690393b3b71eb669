package slots

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/cmdtest"
	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/lib/lifecycle"
	"fairspool/lib/pool"
	"fairspool/spool"
	"fairspool/spool/heard"
)

// twoPilots makes a spool with pilots: of node1, which runs one job of two and was last heard of at the time
// heardAt, ago before now, and one of node2, which has not come yet.
func twoPilots(t *testing.T, ago time.Duration) (dir string) {
	t.Helper()
	cmdtest.Spool(t, nil)
	cmdtest.Users(t)
	dir = t.TempDir()
	cmdtest.Share(t, dir)
	at := time.Unix(cmdtest.Now-600, 0)
	cmdtest.Update(t, func(tx *spool.Tx) {
		tx.AddCluster(cmdtest.Ad(t, `[Owner = "alice"; JobStatus = 1; Cmd = "/bin/true"; UserLog = "`+filepath.Join(dir, "log")+`"; Requirements = true]`), []spool.NewRun{{Count: 2}})
		for _, name := range []string{"slot1@node1", "slot2@node1", "slot1@node3"} {
			_, machine, _ := strings.Cut(name, "@")
			tx.PutSlot(name, ad(t, `[Name = "`+name+`"; Machine = "`+machine+`"; Cpus = 1; Requirements = true]`))
		}
		p := accountant.Params{HalfLife: 24 * time.Hour, DefaultFactor: 1}
		one := lifecycle.Ask(tx, "farm", "node1", "", at)
		if _, err := lifecycle.Greet(tx, one.ID, "a", -1, time.Minute, at.Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		for proc := range 2 {
			tx.PutClaim(pool.Claim{Job: pool.JobID{Cluster: 1, Proc: proc}, Attempt: 1, Slot: []string{"slot1@node1", "slot2@node1"}[proc], Machine: "node1",
				Submitter: "alice@pool", State: pool.Matched, Weight: accountant.One, MatchedAt: at})
			r, _ := tx.Submitter("alice@pool")
			tx.PutSubmitter(r.Start(at, accountant.One, p))
		}
		testenv.OK(t, lifecycle.Begin(tx, pool.JobID{Cluster: 1}, 1, at, 4711, "a", p))
		lifecycle.Ask(tx, "farm", "node2", "5e88", at.Add(2*time.Minute))
		tx.Op("test")
	})
	boot, up := cmdline.Uptime()
	testenv.OK(t, heard.Note(os.Getenv("FAIRSPOOL_DIR"), "node1", heard.Sign{
		Boot: boot, Up: max(up-ago, 0), At: time.Unix(cmdtest.Now-300, 0), Served: heard.Served{Pilot: 1, Jobs: 7, Idle: 90 * time.Second},
	}))
	return dir
}

// runSlots runs slots, and holds it to an exit status.
func runSlots(t *testing.T, want int, args ...string) (out, bad string) {
	t.Helper()
	status, out, bad := cmdtest.Run(Command(), args...)
	if status != want {
		t.Errorf("slots %q: status %d, %s", args, status, bad)
	}
	return out, bad
}

func TestListPilots(t *testing.T) {
	cmdtest.Spool(t, func(*spool.Tx) {})
	if out, _ := runSlots(t, 0, "list", "-pilots", "-json"); strings.Join(strings.Fields(out), " ") != `{ "SchemaVersion": 1, "Pilots": [] }` {
		t.Errorf("without pilots -json = %s", out)
	}
	twoPilots(t, 5*time.Second)
	out, _ := runSlots(t, 0, "list", "-pilots")
	want := []string{
		`^ *ID  Machine +Engine +State +Since +Heard +Claims +Jobs +Idle +Why$`,
		`^ *1  node1 +farm +Live +2026-11-20 23:25:06 +0:0\d +2 +7 +1:30$`, `^ *2  node2 +farm +Asked +2026-11-20 23:26:06 +0$`,
	}
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	for i, line := range want {
		if len(lines) != len(want) || !regexp.MustCompile(line).MatchString(strings.TrimRight(lines[i], " ")) {
			t.Fatalf("list -pilots:\n%swant lines like %q", out, want)
		}
	}
	out, _ = runSlots(t, 0, "list", "-pilots", "-json")
	var all struct{ Pilots []map[string]any }
	err := json.Unmarshal([]byte(out), &all)
	got := all.Pilots
	if err != nil || len(got) != 2 {
		t.Fatalf("%s: %v", out, err)
	}
	if x, ok := got[0]["Heard"].(float64); !ok || x < 5 || x > 60 {
		t.Errorf("node1 was heard of %v s ago, want 5", got[0]["Heard"])
	}
	delete(got[0], "Heard")
	wantJSON := []map[string]any{
		{"ID": 1., "Machine": "node1", "Engine": "farm", "State": "Live", "AskedAt": cmdtest.Now - 600., "LiveAt": cmdtest.Now - 540., "OverAt": 0., "Claims": 2., "Jobs": 7., "Idle": 90.},
		{"ID": 2., "Machine": "node2", "Engine": "farm", "State": "Asked", "AskedAt": cmdtest.Now - 480., "LiveAt": 0., "OverAt": 0., "Claims": 0.},
	}
	if !reflect.DeepEqual(got, wantJSON) {
		t.Errorf("list -pilots -json = %v, want %v", got, wantJSON)
	}
	runSlots(t, 2, "list", "-pilots", "node1")
	runSlots(t, 2, "list", "-pilots", "-long")
}

// TestListQueuedPilots holds what is said of the pilots of a batch engine together.
func TestListQueuedPilots(t *testing.T) {
	cmdtest.Spool(t, nil)
	at := time.Unix(cmdtest.Now-600, 0)
	cmdtest.Update(t, func(tx *spool.Tx) {
		for i := range 4 {
			p := lifecycle.AskEngine(tx, "hpc", "", "", at)
			if i == 3 {
				break // it has not come
			}
			if _, err := lifecycle.Greet(tx, p.ID, "a", -1, time.Minute, at.Add(time.Duration(i+1)*time.Minute)); err != nil {
				t.Fatal(err)
			}
		}
		lifecycle.Bye(tx, 1, "it has ended", at.Add(3*time.Minute), accountant.Params{})
	})
	boot, up := cmdline.Uptime()
	for i, idle := range []time.Duration{time.Minute, 0, 95 * time.Second} {
		sign := heard.Sign{Boot: boot, Up: up, At: at, Served: heard.Served{Pilot: i + 1, Jobs: 100 * i, Idle: idle}}
		testenv.OK(t, heard.Note(os.Getenv("FAIRSPOOL_DIR"), "hpc-"+strconv.Itoa(i+1), sign))
	}
	out, _ := runSlots(t, 0, "list", "-pilots")
	// They waited for 1, 2 and 3 minutes, and were there for 2, 8 and 7.
	if want := "hpc: 3 pilots waited 2:00 on average; there for 17:00 in all, 2:35 of that without a job; 300 jobs\n"; !strings.HasSuffix(out, want) {
		t.Errorf("list -pilots:\n%swant at its end %q", out, want)
	}
}

func TestWithdrawGone(t *testing.T) {
	dir := twoPilots(t, time.Hour)
	if _, bad := runSlots(t, 1, "withdraw", "-gone", "node3"); !strings.Contains(bad, "node3: no pilot runs or was asked for there") {
		t.Errorf("of a machine without pilots: %s", bad)
	}
	runSlots(t, 2, "withdraw", "-gone", "node1", "slot1@node1")
	runSlots(t, 2, "withdraw", "-gone", "node1", "-all")
	out, bad := runSlots(t, 0, "withdraw", "-gone", "NODE1")
	if want := "node1 is given up: 1 job has lost its slot, 2 slots withdrawn.\n"; out != want || bad != "" {
		t.Errorf("withdraw -gone says %q, %q, want %q", out, bad, want)
	}
	if got, want := cmdtest.Queue(t), "1.0=idle 1.1=idle"; got != want {
		t.Errorf("the queue is %s, want %s", got, want)
	}
	cmdtest.View(t, func(v *spool.View) {
		if p, _ := spool.Pilots.Get(v, 1); p.State != pool.Void || !strings.HasSuffix(p.Why, "said that the machine is gone") {
			t.Errorf("the pilot is %+v", p)
		}
		if p, _ := spool.Pilots.Get(v, 2); p.State != pool.Asked {
			t.Errorf("the pilot of the other machine is %+v", p)
		}
		if slots, _ := v.Slots(); len(slots) != 1 || slots[0].Name != "slot1@node3" {
			t.Errorf("the slots are %v", slots)
		}
		if r, _ := v.Submitter("alice@pool"); r.InUse != 0 || r.Slots.Millis != 300_000 {
			t.Errorf("alice is charged %+v, want 300 s of the one job: until the machine was heard of", r)
		}
	})
	if log, err := os.ReadFile(filepath.Join(dir, "log")); err != nil || !strings.Contains(string(log), "007 (001.000.000)") || !strings.Contains(string(log), "\tits machine node1 is gone\n") {
		t.Errorf("the log of the job is %s, %v", log, err)
	}
	if _, bad := runSlots(t, 1, "withdraw", "-gone", "node1"); !strings.Contains(bad, "no pilot") {
		t.Errorf("once more: %s", bad)
	}
}

// TestWithdrawGoneWarns holds that a machine that lives is not given up without a word.
func TestWithdrawGoneWarns(t *testing.T) {
	twoPilots(t, 0)
	if _, bad := runSlots(t, 0, "withdraw", "-gone", "node1"); !strings.Contains(bad, "warning: node1 was heard of ") {
		t.Errorf("of a machine that lives: %q", bad)
	}
}
