package negotiate

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/cmd/internal/whatif"
	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/lifecycle"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// later is the time of a second cycle, in which matches of the first still hold.
const later = now + 60

// begun fills a spool and runs a cycle, after which 1.0 runs and the other matches
// wait.
func begun(t *testing.T) *spool.Spool {
	t.Helper()
	zone := time.Local
	time.Local = time.UTC
	t.Cleanup(func() { time.Local = zone })
	s := fill(t, 3, 4, 4)
	if status, _, bad := negotiate("-q"); status != 0 || bad != "" {
		t.Fatalf("negotiate = %d, %s", status, bad)
	}
	update(t, s, func(tx *spool.Tx) error {
		return lifecycle.Begin(tx, pool.JobID{Cluster: 1}, 1, time.Unix(now+1, 0), 1, "", accountant.Params{HalfLife: 24 * time.Hour, DefaultFactor: 1})
	})
	t.Setenv("FAIRSPOOL_NOW", fmt.Sprint(later))
	return s
}

func update(t *testing.T, s *spool.Spool, fn func(*spool.Tx) error) {
	t.Helper()
	if err := s.Update(func(tx *spool.Tx) error { tx.Op("test"); return fn(tx) }); err != nil {
		t.Fatal(err)
	}
}

// reportOf returns what negotiate prints with -json, or a member of it.
func reportOf(t *testing.T, member string, args ...string) any {
	t.Helper()
	status, out, bad := negotiate(append(args, "-json")...)
	if status != 0 || bad != "" {
		t.Fatalf("negotiate %q = %d, %s", args, status, bad)
	}
	var all map[string]any
	if err := json.Unmarshal([]byte(out), &all); err != nil || all["SchemaVersion"] != 1.0 {
		t.Fatalf("negotiate %q: SchemaVersion %v, %v", args, all["SchemaVersion"], err)
	}
	delete(all, "SchemaVersion")
	if member != "" {
		return all[member]
	}
	return all
}

// made makes a change for good, by its command. What has to leave its slot for it has left then. It returns what the
// command says where that fails.
func made(t *testing.T, s *spool.Spool, text string) error {
	t.Helper()
	words, err := whatif.Split(text)
	testenv.OK(t, err)
	for _, k := range whatif.All() {
		if k.Name != words[0] {
			continue
		}
		if status, _, bad := cmdtest.Run(k.Command(), words[1:]...); status != 0 {
			return errors.New(bad)
		}
	}
	update(t, s, func(tx *spool.Tx) error {
		for _, c := range tx.Claims() {
			if c.State != pool.Vacating {
				continue
			}
			p := accountant.Params{HalfLife: 24 * time.Hour, DefaultFactor: 1}
			if err := lifecycle.Finish(tx, c.Job, c.Attempt, time.Unix(later, 0), pool.Ending{Lost: "a test"}, p); err != nil {
				return err
			}
		}
		return nil
	})
	return nil
}

// changed sets attributes of a slot of a transaction, or makes a new one like it.
func changed(tx *spool.Tx, from, to string, set ...string) error {
	s, ok := tx.Advertised(from)
	if !ok {
		return fmt.Errorf("no slot %s", from)
	}
	one := s.Ad.Clone()
	one.SetString(pool.AttrName, to)
	for i := 0; i < len(set); i += 2 {
		e, err := classad.ParseExpr(set[i+1])
		if err != nil {
			return err
		}
		one.Set(set[i], e)
	}
	tx.PutSlot(to, one)
	return nil
}

// TestWhatIfIsTheRealThing holds that a cycle after a change is what -what-if said.
func TestWhatIfIsTheRealThing(t *testing.T) {
	slot := func(from, to string, set ...string) func(*spool.Tx) error {
		return func(tx *spool.Tx) error { return changed(tx, from, to, set...) }
	}
	for _, c := range []struct {
		what string
		same bool                    // nothing is different
		do   []func(*spool.Tx) error // what is no command's, in the place of the first changes
	}{
		{"userprio -setfactor alice@pool 4", false, nil},
		{"userprio -setp bob@pool 100", false, nil},
		{"userprio -setceil alice@pool 0", false, nil}, // another thing is in the way
		{"userprio -setfloor bob@pool 3", false, nil},
		{"userprio -del bob@pool", false, nil},
		{"userprio -resetall", true, nil},
		{"userprio -setaccum alice@pool 7", true, nil},
		{"prio +5 1.3", false, nil}, // another one is the first without a slot
		{"prio -set 'Requirements = false' -pre1 7 2", false, nil},
		{"qhold 1", false, nil},
		{"qhold 2.3|qrls 2", true, nil},
		{"submit -a 'request_memory = 1' -- /bin/true", false, nil},
		{"slots add 1 like slot1@node|userprio -setceil bob@pool 0", false, []func(*spool.Tx) error{slot("slot1@node", "what-if1-slot1@node")}},
		{"slots add 1 like slot1@node|userprio -setfloor alice@pool 3", false, []func(*spool.Tx) error{slot("slot1@node", "what-if1-slot1@node")}},
		{"slots add 1 like slot1@node|prio +5 2.3", false, []func(*spool.Tx) error{slot("slot1@node", "what-if1-slot1@node")}},
		{"slots add 2 like slot2@node", false, []func(*spool.Tx) error{func(tx *spool.Tx) error {
			return cmp.Or(changed(tx, "slot2@node", "what-if1-slot2@node"), changed(tx, "slot2@node", "what-if2-slot2@node"))
		}}},
		{"slots set slot1@node Requirements=false", false, []func(*spool.Tx) error{slot("slot1@node", "slot1@node", pool.AttrRequirements, "false")}},
		{"submit 1 like 1.0", false, []func(*spool.Tx) error{func(tx *spool.Tx) error {
			tx.AddCluster(ad(t, fmt.Sprintf(`[Owner = "alice"; JobStatus = 1; QDate = %d; RequestCpus = 1; Requirements = true]`, later)), []spool.NewRun{{Count: 1}})
			return nil
		}}},
		{"qdel 2.0", false, nil},
		{"qdel 2.0|slots withdraw slot2@node", false, nil},
		{"qdel 1.0", false, nil}, // which runs, and ends then
	} {
		s := begun(t)
		var args []string
		for _, what := range strings.Split(c.what, "|") {
			args = append(args, "-what-if", what)
		}
		if same := reportOf(t, "Now", args...); !reflect.DeepEqual(same, reportOf(t, "", "-dry-run")) {
			t.Errorf("%s: Now = %v, want what a dry run prints", c.what, same)
		}
		got := reportOf(t, "WhatIf", args...)
		if same := reflect.DeepEqual(got, reportOf(t, "", "-dry-run")); same != c.same {
			t.Errorf("%s: the same as without = %v, want %v", c.what, same, c.same)
		}
		for i, what := range strings.Split(c.what, "|") {
			if i < len(c.do) {
				update(t, s, c.do[i])
			} else if err := made(t, s, what); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		if want := reportOf(t, "", "-dry-run"); !reflect.DeepEqual(got, want) {
			t.Errorf("-what-if %q = %v\nwant what is so afterwards\n%v", c.what, got, want)
		}
	}
}

// A job whose reservation was given up gets no other for the time being, also when the
// slot is gone by then.
func TestWhatIfWithdrawsReservedSlot(t *testing.T) {
	s := fill(t, 0, 8)
	update(t, s, func(tx *spool.Tx) error {
		for i, requirements := range []string{"true", "true", "false"} {
			name := fmt.Sprintf("slot%d@node", i+1)
			tx.PutSlot(name, ad(t, fmt.Sprintf(`[Name = %q; Machine = "node"; PartitionableSlot = true; Cpus = 4; Requirements = %s]`, name, requirements)))
		}
		return nil
	})
	if status, _, bad := negotiate("-q"); status != 0 || bad != "" {
		t.Fatalf("negotiate = %d, %s", status, bad)
	}
	update(t, s, func(tx *spool.Tx) error {
		tx.AddCluster(ad(t, `[Owner = "bob"; JobStatus = 1; RequestCpus = 4; Requirements = true]`), []spool.NewRun{{Count: 1}})
		spool.Reservations.Put(tx, pool.Reservation{Slot: "slot3@node", Job: pool.JobID{Cluster: 2}, Submitter: "bob@pool", Since: now - 100_000})
		return nil
	})
	got := reportOf(t, "WhatIf", "-what-if", "slots withdraw slot3@node")
	update(t, s, func(tx *spool.Tx) error { tx.DropSlot("slot3@node"); return nil })
	want := reportOf(t, "", "-dry-run")
	if !reflect.DeepEqual(got, want) {
		t.Errorf("after slots withdraw slot3@node: %v\nwant what is so afterwards\n%v", got, want)
	}
	if list, _ := want.(map[string]any)["Reservations"].([]any); len(list) != 1 || list[0].(map[string]any)["GivenUp"] != true {
		t.Errorf("Reservations = %v, want the one that was given up", list)
	}
}

// TestWhatIfConfigured holds that -what-if 'config ...' does as the file with it.
func TestWhatIfConfigured(t *testing.T) {
	for _, setting := range []string{
		`SLOT_WEIGHT = "2"`, `GROUP_NAMES = ["physics"]`, `DEFAULT_PRIO_FACTOR = 7`, `REQUEST_CLAIM_TIMEOUT = 10`, `NEGOTIATOR_USE_SLOT_WEIGHTS = false`,
	} {
		begun(t)
		got := reportOf(t, "WhatIf", "-what-if", "config '"+setting+"'")
		file := filepath.Join(t.TempDir(), "fairspool.toml")
		testenv.OK(t, os.WriteFile(file, []byte(setting), 0o600))
		if want := reportOf(t, "", "-dry-run", "-config", file); !reflect.DeepEqual(got, want) {
			t.Errorf("-what-if 'config %s' = %v\nwant\n%v", setting, got, want)
		}
	}
}

func TestWhatIfRefuses(t *testing.T) {
	begun(t)
	for _, c := range []struct {
		what   string
		status int
	}{
		{"", 2},
		{"usrprio -setfactor a@b 2", 2},
		{"frobnicate", 2},
		{"userprio", 2},
		{"userprio -setfactor alice 2", 2},
		{"userprio -setfactor alice@pool 0", 2},
		{"userprio -setfactor alice@pool", 2},
		{"userprio -setfactor alice@pool 2 3", 2},
		{"userprio -setfactor alice@pool 2 -setprio bob@pool 2", 2},
		{"userprio -setprio alice@pool 2 -duration 5", 2},
		{"userprio -delete alise@pool", 1},
		{"userprio -help", 2},
		{"config", 2},
		{"config SLOT_WEIGHT", 2},
		{"config SLOT_WIEGHT=2", 1},
		{"config SLOT_WEIGHT=1+", 1},
		{"slots", 2},
		{"slots add 2 like slot7@nodes", 1},
		{"slots add -1 like slot1@node", 2},
		{"slots withdraw slot1@node", 1},
		{"slots set slot1@node Name=5", 2},
		{"slots set slot1@node Cpus=(", 2},
		{"slots set slot1@node 'My Cpus=2'", 2},
		{"slots set slot1@node 2=2", 2},
		{`slots set slot1@node State="Owner"`, 1},
		{"submit 5 as 1", 1},
		{"submit 5 like 9", 1},
		{"submit 5 like x", 2},
		{"prio 5 1", 2},
		{"prio -system high 1", 2},
		{"prio -system 5 1", 1},
		{"prio +5", 2},
		{"prio +2147483648 1", 2},
		{"prio +5 1.9", 1},
		{"qdel", 2},
		{"qdel 1.x", 2},
		{"qdel carol", 1},
		{"qdel 'carol", 2},
	} {
		cmdtest.Refuses(t, Command(), c.status, "-what-if", c.what)
	}
	for args, want := range map[string]string{
		"-q -what-if x": "what-if and -q", "-q -explain 1": "explain and -q", "-explain x": `-explain: "x": want a cluster`, "-explain 9": "9: not in the queue",
	} {
		if status, out, bad := negotiate(strings.Fields(args)...); status == 0 || out != "" || !strings.Contains(bad, want) {
			t.Errorf("negotiate %s = %d, %q, %q, want %q", args, status, out, bad, want)
		}
	}
}

// What is added like a slot or a job has nothing of what became of that.
func TestWhatIfAddsNewOnes(t *testing.T) {
	s := begun(t)
	like := func() (names []string) {
		update(t, s, func(tx *spool.Tx) error {
			old, _ := tx.Job(pool.JobID{Cluster: 1})
			ad := whatif.Anew(old, later)
			if status, _ := ad.EvalInt(&classad.Context{}, pool.AttrJobStatus); pool.Status(status) != pool.Idle {
				t.Errorf("a job like 1.0 is %v, want it idle", pool.Status(status))
			}
			names = slices.Sorted(slices.Values(ad.Names()))
			return nil
		})
		return names
	}
	want := []string{"EnteredCurrentStatus", "JobStatus", "Owner", "QDate", "RequestCpus", "Requirements"}
	if names := like(); !slices.Equal(names, want) { // which runs
		t.Errorf("submit 3 like 1.0 adds jobs with %q, want them with %q", names, want)
	}
	update(t, s, leadALife)
	want = append(want, "DiskUsage", "ImageSize")
	if names := like(); !slices.Equal(names, slices.Sorted(slices.Values(want))) {
		t.Errorf("submit 3 like 1.0, which has run and was held, adds jobs with %q, want them with %q", names, want)
	}
}

// leadALife has 1.0, which runs, leave a checkpoint, give its slot back, and be held and
// released and held once more.
func leadALife(tx *spool.Tx) error {
	p, id, at := accountant.Params{HalfLife: 24 * time.Hour, DefaultFactor: 1}, pool.JobID{Cluster: 1}, time.Unix(later, 0)
	used := pool.Progress{Wall: time.Minute, UserCPU: time.Second, SysCPU: time.Second, PeakKB: 5, DiskKB: 7}
	if err := lifecycle.Checkpointed(tx, id, 1, used, pool.Progress{}, at, p); err != nil {
		return err
	}
	how := pool.Ending{Lost: "a test", VacateCode: lifecycle.VacatedByUser, Wall: 2 * time.Minute, Reported: used, Sent: 1, Received: 2}
	if err := lifecycle.Finish(tx, id, 1, at, how, p); err != nil {
		return err
	}
	only := pool.Procs{Cluster: 1}
	for range 2 {
		if _, err := lifecycle.Release(tx, only, "enough", at); err != nil {
			return err
		}
		if _, err := lifecycle.Hold(tx, only, pool.Reason{Text: "a test", Code: 3, Subcode: 4}, at, p); err != nil {
			return err
		}
	}
	return nil
}

// A change sees what those before it made.
func TestWhatIfInOrder(t *testing.T) {
	begun(t)
	got := reportOf(t, "WhatIf", "-what-if", "slots add 1 like slot1@node", "-what-if", "slots withdraw what-if1-slot1@node")
	want := reportOf(t, "", "-dry-run")
	if !reflect.DeepEqual(got, want) {
		t.Errorf("a slot that came and went makes %v, want %v", got, want)
	}
	submitted := reportOf(t, "WhatIf", "-what-if", "submit 1 like 1.0", "-what-if", "prio -p 7 3")
	if same := reportOf(t, "WhatIf", "-what-if", "submit 3 like 1.0", "-what-if", "qdel 3.1", "-what-if", "qdel 3.2", "-what-if", "prio +7 3.0"); !reflect.DeepEqual(submitted, same) {
		t.Errorf("three jobs that came, two of which went, make %v, want %v", same, submitted)
	}
	if got := reportOf(t, "WhatIf", "-what-if", "submit 1 like 1.0", "-what-if", "submit 1 like 3", "-what-if", "qdel 3 4.0"); !reflect.DeepEqual(got, want) {
		t.Errorf("jobs that came and went make %v, want %v", got, want)
	}
	for _, second := range []string{"prio -p 5 2.1", "qdel 2.1", "qdel 3"} {
		if status, _, bad := negotiate("-what-if", "qdel 2.1", "-what-if", second); status != 1 || !strings.Contains(bad, ": not in the queue") {
			t.Errorf("qdel 2.1, then %s = %d, %s; want that it is not in the queue", second, status, bad)
		}
	}
	if status, _, bad := negotiate("-what-if", "slots withdraw what-if1-slot1@node", "-what-if", "slots add 1 like slot1@node"); status != 1 {
		t.Errorf("a slot that is not there yet was withdrawn: %d, %s", status, bad)
	}
}

// A look sees groups' names as the configuration spells them, as a cycle does, which
// changes the records first.
func TestLookRespells(t *testing.T) {
	s := fill(t, 2, 3, 3)
	update(t, s, func(tx *spool.Tx) error {
		tx.SetRange(pool.Procs{Cluster: 1, First: 0, Last: 2}, pool.AttrAccountingGroup, classad.Literal(classad.String("PHYSICS.alice")))
		tx.PutSubmitter(accountant.Record{Name: "PHYSICS.alice@pool", Priority: 40, At: time.Unix(now, 0), HalfLife: 24 * time.Hour})
		return nil
	})
	file := filepath.Join(t.TempDir(), "fairspool.toml")
	testenv.OK(t, os.WriteFile(file, []byte(`GROUP_NAMES = ["physics"]`), 0o600))
	dry := reportOf(t, "Submitters", "-dry-run", "-config", file)
	what := reportOf(t, "WhatIf", "-what-if", `config 'GROUP_NAMES=["physics"]'`).(map[string]any)["Submitters"]
	real := reportOf(t, "Submitters", "-config", file)
	if !reflect.DeepEqual(dry, real) || !reflect.DeepEqual(what, real) {
		t.Errorf("submitters of a dry run = %v\nof -what-if = %v\nof the cycle = %v", dry, what, real)
	}
	if text := fmt.Sprint(real); !strings.Contains(text, "EffectivePriority:40") || !strings.Contains(text, "physics.alice@pool") {
		t.Errorf("submitters = %s, want physics.alice with the record of PHYSICS.alice", text)
	}
}

// TestWhatIfInOneQueue holds that EUPs, which decide nothing in one queue, are shown only
// where they are what the change changes.
func TestWhatIfInOneQueue(t *testing.T) {
	file := filepath.Join(t.TempDir(), "fairspool.toml")
	testenv.OK(t, os.WriteFile(file, []byte(hierarchical), 0o600))
	for what, head := range map[string]string{
		"slots add 2 like slot1@node":       "\nSubmitter  Idle  Matched\n",
		"userprio -setfactor alice@pool 70": "\nSubmitter   EUP (decides nothing)  Idle  Matched\n",
	} {
		begun(t)
		status, out, _ := negotiate("-what-if", what, "-config", file)
		if status != 0 || !strings.Contains(out, head) {
			t.Errorf("-what-if %q = %d,\n%swant a line%s", what, status, out, head)
		}
	}
}

// TestWhatIfThroughTheDoor holds that users of other accounts try what they like, but settings; that their
// own end reads the files which changes name; and that jobs are tried with their submitter's rights.
func TestWhatIfThroughTheDoor(t *testing.T) {
	fill(t, 2, 1)
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"a.sub": "executable = /bin/sleep\nqueue 2\n", "b.sub": "executable = /bin/sleep\nqueue from items\n", "items": "a\nb\nc\n",
		"more.ads": "Name = \"slot9@node\"\nCpus = 1\nRequirements = true\n",
	} {
		testenv.OK(t, os.WriteFile(name, []byte(text), 0o600))
	}
	before := everyFile(t)
	for _, c := range []struct {
		what   string
		status int
		says   string
	}{
		{"submit a.sub|submit b.sub|slots advertise more.ads", 0, "dave@pool"},
		{"submit a.sub|slots advertise more.ads", 0, "2.1 of dave@pool with slot9@node"},
		{"userprio -setfactor alice@pool 7|qdel 1", 0, "1.0 of alice@pool"},
		{"config SLOT_WEIGHT=2", 1, "only administrators may try settings"},
		{"submit -owner alice a.sub", 1, "only administrators may submit for others"},
		{"submit c.sub", 1, "-what-if 'submit c.sub': c.sub: no such file or directory"},
		{"slots advertise less.ads", 1, "less.ads: no such file or directory"},
	} {
		var args []string
		for _, what := range strings.Split(c.what, "|") {
			args = append(args, "-what-if", what)
		}
		status, out, bad := cmdtest.RunFor(t, "dave", "", Command(), args...)
		if status != c.status || !strings.Contains(out+bad, c.says) {
			t.Errorf("negotiate %q = %d, %q, %q, want %d and %q", args, status, out, bad, c.status, c.says)
		}
		if after := everyFile(t); !maps.Equal(after, before) {
			t.Fatalf("negotiate %q changed the spool", args)
		}
	}
}
