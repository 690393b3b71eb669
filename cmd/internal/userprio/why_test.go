package userprio

import (
	"encoding/json"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// town makes a spool with submitters of all kinds, the report of a cycle, and a
// configuration with groups.
func town(t *testing.T) {
	t.Helper()
	at, day := time.Unix(cmdtest.Now, 0), 24*time.Hour
	put := func(tx *spool.Tx, r accountant.Record) {
		if r.At.IsZero() {
			r.At = at
		}
		r.HalfLife = day
		tx.PutSubmitter(r)
	}
	use := func(hours float64) accountant.Usage {
		u, err := accountant.UsageOf(hours * 3600)
		testenv.OK(t, err)
		return u
	}
	cmdtest.Spool(t, func(tx *spool.Tx) {
		put(tx, accountant.Record{Name: "alice@pool", Priority: 10, ResourcesUsed: 4, InUse: 4 * accountant.One, Weighted: use(100), Begin: at.Add(-10 * day), Last: at})
		put(tx, accountant.Record{Name: "bob@pool", Priority: 2, ResourcesUsed: 1, InUse: 2 * accountant.One, Ceiling: accountant.LimitOf(2), Floor: 1,
			CeilingLease: accountant.Lease{Until: at.Add(day), Before: -1}, Begin: at.Add(-time.Hour), Last: at})
		put(tx, accountant.Record{Name: "phys.hep.carol@pool", Priority: 40, Weighted: use(0.5), Begin: at.Add(-3 * day), Last: at.Add(-2 * day)})
		put(tx, accountant.Record{Name: "nice-user.dave@pool", Priority: 5, ResourcesUsed: 1, InUse: accountant.One, Begin: at.Add(-time.Hour), Last: at})
		put(tx, accountant.Record{Name: "erin@elsewhere"})
		put(tx, accountant.Record{Name: "erin@far", Priority: 3})
		put(tx, accountant.Record{Name: "phys", Priority: 30, Subtree: 3 * accountant.One, InUse: accountant.One, ResourcesUsed: 1, Weighted: use(7), Begin: at.Add(-5 * day), Last: at})
		put(tx, accountant.Record{Name: "phys.hep", Priority: 30, Subtree: 2 * accountant.One, InUse: 2 * accountant.One, ResourcesUsed: 2})
	})
	dir := t.TempDir()
	file := filepath.Join(dir, "fairspool.toml")
	config := `GROUP_NAMES = ["phys", "phys.hep"]
GROUP_QUOTA_phys = 6
GROUP_PRIO_FACTOR_phys = 20
GROUP_AUTOREGROUP_phys = true
DEFAULT_PRIO_FACTOR = 100
ACCOUNTANT_LOCAL_DOMAIN = "pool"
`
	testenv.OK(t, os.WriteFile(file, []byte(config), 0o600))
	t.Setenv("FAIRSPOOL_CONFIG", file)
}

// reported leaves a report of a cycle ten minutes ago.
func reported(t *testing.T) {
	t.Helper()
	var job pool.JobID
	cmdtest.Update(t, func(tx *spool.Tx) {
		ad := cmdtest.Ad(t, `[Owner = "alice"; JobStatus = 1; RequestCpus = 1]`)
		job.Cluster = tx.AddCluster(ad, []spool.NewRun{{Count: 12}})
	})
	text := `{"Cycle": 3, "Time": 1795217046, "Slots": 20, "Submitters": [
 {"Name": "bob@pool", "PieSlice": 12.5, "Limit": 10.5, "Idle": 9, "Matched": 0},
 {"Name": "alice@pool", "PieSlice": 4, "Limit": 1, "Idle": 12, "Matched": 1},
 {"Name": "nice-user.dave@pool", "PieSlice": 3.5, "Limit": 2.5, "Idle": 0, "Matched": 0}],
"Groups": [{"Name": "phys", "EffectiveQuota": 6, "SubtreeQuota": 6, "SurplusPolicy": "regroup"}, {"Name": "phys.hep", "SurplusPolicy": "no"}],
"Rejections": [{"Job": "` + job.String() + `", "Count": 11, "Reason": "submitter limit exceeded: alice@pool uses 4 of a pie slice of 4.00"},
 {"Job": "99.0", "Count": 1, "Reason": "of a job that is gone"}, {"Job": "x", "Count": 1, "Reason": "of no job"}]}`
	s, err := spool.Open(os.Getenv("FAIRSPOOL_DIR"), spool.Options{Program: "test", UIDDomain: "pool", Now: time.Unix(cmdtest.Now, 0)})
	testenv.OK(t, err)
	defer s.Close()
	if err := s.SetReport(strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
}

// said runs userprio and takes the configuration's directory out of what it says.
func said(t *testing.T, args string) string {
	t.Helper()
	status, out, bad := userprio(strings.Fields(args)...)
	if status != 0 || bad != "" {
		t.Fatalf("userprio %s = %d, %q", args, status, bad)
	}
	return strings.ReplaceAll(out, filepath.Dir(os.Getenv("FAIRSPOOL_CONFIG"))+"/", "")
}

// script is commands as they were called, with what they print, as in testdata.
func script(t *testing.T, file string, run func(call func(args string))) {
	t.Helper()
	var b strings.Builder
	run(func(args string) { fmt.Fprintf(&b, "$ userprio %s\n%s\n", args, said(t, args)) })
	want, err := os.ReadFile(file)
	testenv.OK(t, err)
	got := b.String()
	if account, err := user.Current(); err == nil {
		got = strings.ReplaceAll(got, "by "+account.Username+" on", "by root on")
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", file, got, want)
	}
}

func TestWhy(t *testing.T) {
	town(t)
	if status, _, bad := userprio("-setfactor", "bob@pool", "5"); status != 0 {
		t.Fatal(bad)
	}
	script(t, "testdata/why.txt", func(call func(string)) {
		for _, who := range []string{"alice", "bob@pool", "phys.hep.carol", "nice-user.dave", "erin@elsewhere", "phys", "phys.hep"} {
			call("-why " + who)
		}
		reported(t)
		for _, who := range []string{"alice", "bob@pool", "phys.hep.carol", "nice-user.dave", "phys"} {
			call("-why " + who)
		}
		cmdtest.Update(t, func(tx *spool.Tx) {
			r, _ := tx.Submitter("bob@pool")
			r.Factor, r.FactorLease = 8, accountant.Lease{Until: time.Unix(cmdtest.Now+3600, 0), Before: 5}
			tx.PutSubmitter(r)
		})
		call("-why bob")
		call("-why bob -json")
	})
}

func TestForecast(t *testing.T) {
	town(t)
	script(t, "testdata/forecast.txt", func(call func(string)) {
		for _, args := range []string{
			"alice", "nice-user.dave", "phys.hep.carol", "phys", "phys.hep.carol -json",
			"alice -until 500", "alice -until 1000", "alice -until 400", "alice -until 2000", "bob -until 3.5e2", "alice -until 500 -json", "alice -until 20 -json",
			"phys.hep.carol -below alice", "alice -below phys.hep.carol", "alice -below bob", "phys.hep.carol -below alice@pool -json",
		} {
			call("-forecast " + args)
		}
	})
}

// A forecast of something within reach is what the display says at that time.
func TestForecastComesTrue(t *testing.T) {
	town(t)
	var asked struct{ Until struct{ Time float64 } }
	testenv.OK(t, json.Unmarshal([]byte(said(t, "-forecast alice -until 500 -json")), &asked))
	t.Setenv("FAIRSPOOL_NOW", strconv.FormatFloat(asked.Until.Time, 'f', 3, 64))
	var then struct{ EUP float64 }
	testenv.OK(t, json.Unmarshal([]byte(said(t, "-forecast alice -json")), &then))
	if then.EUP > 500 || then.EUP < 499.999 {
		t.Errorf("at the time that -until 500 gave the EUP is %v", then.EUP)
	}
}

func TestWhyRefuses(t *testing.T) {
	town(t)
	for _, c := range []struct {
		args   string
		status int
	}{
		{"-why nobody", 1},
		{"-why alise@pool", 1},
		{"-why erin", 1},
		{"-why alice bob", 2},
		{"-forecast alice bob", 2},
		{"-forecast nobody", 1},
		{"-forecast alice -until 0", 2},
		{"-forecast alice -until -5", 2},
		{"-forecast alice -until x", 2},
		{"-forecast alice -until nan", 2},
		{"-forecast alice -below nobody", 1},
		{"-forecast alice -below alice@pool", 1},
		{"-forecast alice -below bob -until 5", 2},
		{"-why alice -forecast alice", 2},
	} {
		cmdtest.Refuses(t, command(), c.status, strings.Fields(c.args)...)
	}
}

// explained compares what userprio prints with the golden page.
func explained(t *testing.T, args string) {
	t.Helper()
	cmdtest.Printed(t, "userprio "+args, 0, said(t, args), "")
}

// saidAll fails for every text that the command does not print, or prints though it begins
// with a !.
func saidAll(t *testing.T, args string, texts ...string) {
	t.Helper()
	out := said(t, args)
	for _, text := range texts {
		want, not := strings.CutPrefix(text, "!")
		if strings.Contains(out, want) == not {
			t.Errorf("userprio %s prints\n%swant %q", args, out, text)
		}
	}
}

// Where all jobs stand in one queue, nobody is told of shares, slices and floors that there
// are not.
func TestWhyInOneQueue(t *testing.T) {
	town(t)
	reported(t)
	file := os.Getenv("FAIRSPOOL_CONFIG")
	config, err := os.ReadFile(file)
	testenv.OK(t, err)
	testenv.OK(t, os.WriteFile(file, append([]byte("JOB_PRIORITY_POLICY = \"maui\"\n"), config...), 0o600))
	explained(t, "-why bob") // its slice is of a cycle before the policy
	explained(t, "-why phys.hep.carol")
	saidAll(t, "-why bob -json", `"Policy": "maui"`, `"Share": 0,`)

	s, err := spool.Open(os.Getenv("FAIRSPOOL_DIR"), spool.Options{Program: "test", UIDDomain: "pool", Now: time.Unix(cmdtest.Now, 0)})
	testenv.OK(t, err)
	defer s.Close()
	if err := s.SetReport(strings.NewReader(`{"Cycle": 4, "Time": 1795217046, "JobPriorityPolicy": "maui", "Submitters": [{"Name": "bob@pool", "Idle": 9, "Matched": 2}]}`)); err != nil {
		t.Fatal(err)
	}
	explained(t, "-why bob")
}

// What was used counts by the share tree, if that has tickets to give.
func TestWhyInShareTree(t *testing.T) {
	town(t)
	file := os.Getenv("FAIRSPOOL_CONFIG")
	config, err := os.ReadFile(file)
	testenv.OK(t, err)
	const tree = "\n[sge.share_tree]\n\"/bob\" = 1\n"
	for _, c := range []struct {
		policy, table string
		counts        bool
	}{
		{"sge", "\n[sge]\nweight_tickets_share = 1000\n" + tree, true},
		{"sge", tree, false},
		{"sge", "\n[sge]\nweight_tickets_share = 1000\n", false},
		{"maui", "\n[sge]\nweight_tickets_share = 1000\n" + tree, false},
	} {
		text := fmt.Sprintf("JOB_PRIORITY_POLICY = %q\n%s%s", c.policy, config, c.table)
		testenv.OK(t, os.WriteFile(file, []byte(text), 0o600))
		field := `"Tree": true`
		if !c.counts {
			field = "!" + field
		}
		explained(t, "-why bob")
		saidAll(t, "-why bob -json", fmt.Sprintf(`"Policy": %q`, c.policy), field)
	}
}

// Who has jobs but no record, as before the first cycle, has a fresh one.
func TestWhyNewcomer(t *testing.T) {
	town(t)
	cmdtest.Update(t, func(tx *spool.Tx) {
		for owner, rows := range map[string][]string{
			"zoe":   {`[Owner = "zoe"; JobStatus = 1]`, `[Owner = "zoe"; JobStatus = 5]`},
			"yann":  {`[Owner = "yann"; AccountingGroup = "PHYS.yann"; JobStatus = 1]`},
			"xaver": {`[Owner = "xaver"; JobStatus = 5]`},
		} {
			for _, row := range rows {
				count := 1
				if owner == "zoe" {
					count = 3
				}
				tx.AddCluster(cmdtest.Ad(t, row), []spool.NewRun{{Count: count}})
			}
		}
	})
	explained(t, "-why zoe")
	saidAll(t, "-why zoe@pool -json", `"Waiting": 3`)
	explained(t, "-why phys.yann")
	explained(t, "-why xaver")
	explained(t, "-forecast zoe")
	saidAll(t, "-forecast zoe -json", `"Waiting": 3`)
	explained(t, "-forecast alice -below zoe")
	reported(t) // of a cycle that saw none of them
	explained(t, "-why zoe")
	cmdtest.Refuses(t, command(), 1, "-why", "zoee")
}

// A lease on a factor ends, which changes the EUP.
func TestWhyLease(t *testing.T) {
	cmdtest.Spool(t, func(tx *spool.Tx) {
		end, at := time.Unix(cmdtest.Now+7200, 0), time.Unix(cmdtest.Now, 0)
		for _, r := range []accountant.Record{
			{Name: "falls@pool", Factor: 8, FactorLease: accountant.Lease{Until: end}},
			{Name: "rises@pool", Factor: 2, FactorLease: accountant.Lease{Until: end, Before: 8}},
			{Name: "stays@pool", Factor: 4, FactorLease: accountant.Lease{Until: end, Before: 4}},
			{Name: "busy@pool", Factor: 8, FactorLease: accountant.Lease{Until: end}, Priority: 2, ResourcesUsed: 2, InUse: 2 * accountant.One},
			{Name: "other@pool", Priority: 2, ResourcesUsed: 2, InUse: 2 * accountant.One},
		} {
			r.At, r.HalfLife = at, 24*time.Hour
			tx.PutSubmitter(r)
		}
	})
	explained(t, "-why falls")
	explained(t, "-why rises")
	explained(t, "-why stays")
	explained(t, "-why busy")
	saidAll(t, "-why falls -json", `"Lease": {`, `"EUP": 0.5,`)
	explained(t, "-forecast falls")
	explained(t, "-forecast rises")
}

// A group's key may be spelled otherwise than the group.
func TestWhyOriginOfGroup(t *testing.T) {
	cmdtest.Spool(t, func(tx *spool.Tx) { tx.PutSubmitter(accountant.Record{Name: "Physics.alice@pool"}) })
	file := filepath.Join(t.TempDir(), "fairspool.toml")
	testenv.OK(t, os.WriteFile(file, []byte("GROUP_NAMES = [\"Physics\"]\nGROUP_PRIO_FACTOR_physics = 3\n"), 0o600))
	t.Setenv("FAIRSPOOL_CONFIG", file)
	explained(t, "-why Physics.alice")
}

// A ceiling below the floor is what counts.
func TestWhyFloor(t *testing.T) {
	for _, ceiling := range []int64{-1, 9, 3, 0} {
		cmdtest.Spool(t, func(tx *spool.Tx) {
			tx.PutSubmitter(accountant.Record{Name: "alice@pool", Floor: 6, Ceiling: accountant.LimitOf(ceiling)})
		})
		explained(t, "-why alice")
	}
}
