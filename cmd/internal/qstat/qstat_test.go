package qstat

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

const now = cmdtest.Now

// job returns a cluster's ad.
func job(t *testing.T, owner string, more string) *classad.Ad {
	t.Helper()
	return cmdtest.Ad(t, fmt.Sprintf(`[Owner = %q; Cmd = "/bin/sleep"; Args = "300"; JobStatus = 1; QDate = %d; RequestCpus = 1; %s]`, owner, now-3600, more))
}

// fill makes a spool with jobs in every state.
func fill(t *testing.T) {
	t.Helper()
	claim := func(cluster, proc int, slot string, state pool.ClaimState) pool.Claim {
		c := pool.Claim{Job: pool.JobID{Cluster: cluster, Proc: proc}, Attempt: 1, Slot: slot, Machine: "node", Submitter: "alice@pool",
			State: state, Weight: accountant.One, MatchedAt: time.Unix(now-60, 0)}
		if state != pool.Matched {
			c.StartedAt = time.Unix(now-30, 0)
		}
		return c
	}
	cmdtest.Spool(t, func(tx *spool.Tx) {
		tx.AddCluster(job(t, "alice", ""), []spool.NewRun{{Count: 1000}})                              // 1
		tx.AddCluster(job(t, "bob", "RequestCpus = 4"), []spool.NewRun{{Count: 1}})                    // 2
		tx.AddCluster(job(t, "alice", `JobPrio = 5`), []spool.NewRun{{Count: 2}})                      // 3
		tx.AddCluster(job(t, "carol", "JobStatus = 5"), []spool.NewRun{{Count: 1}})                    // 4
		tx.AddCluster(job(t, "carol", `JobBatchName = "a name too long"`), []spool.NewRun{{Count: 1}}) // 5
		set := func(c, p int, status pool.Status) {
			tx.Set(pool.JobID{Cluster: c, Proc: p}, pool.AttrJobStatus, classad.Literal(classad.Int(int64(status))))
		}
		set(1, 1, pool.Running)
		set(1, 2, pool.Removed)
		tx.PutClaim(claim(1, 0, "slot3@node", pool.Matched))
		tx.PutClaim(claim(1, 1, "slot10@node", pool.RunningClaim))
		tx.PutClaim(claim(1, 2, "slot2@node", pool.Vacating))
		tx.Set(pool.JobID{Cluster: 1, Proc: 500}, pool.AttrJobPrio, classad.Literal(classad.Int(7)))
		tx.PutSubmitter(accountant.Record{Name: "alice@pool", Priority: 10, At: time.Unix(now, 0)})
	})
}

func qstat(args ...string) (status int, out, bad string) { return cmdtest.Run(Command(), args...) }

// displays compares displays with the page testdata/messages/qstat.txt, widths of columns and
// all.
func displays(t *testing.T, calls ...string) {
	t.Helper()
	for _, args := range calls {
		status, out, bad := qstat(strings.Fields(args)...)
		if status != 0 || bad != "" {
			t.Errorf("qstat %s = %d, %q", args, status, bad)
		}
		cmdtest.Displayed(t, "qstat "+args, status, out, bad)
	}
}

// listedJobs is a line of the list.
type listedJobs struct {
	Cluster int    `xml:"JB_job_number"`
	Tasks   string `xml:"tasks"`
	State   string `xml:"state"`
	Prior   string `xml:"JAT_prio"`
	Place   int    `xml:"JobPlace"`
	Slot    string `xml:"queue_name"`
}

// id returns the job, or the jobs with their cluster, as in 1.3-499:1.
func (j listedJobs) id() string { return fmt.Sprintf("%d.%s", j.Cluster, j.Tasks) }

// lines returns the lines of the list in order, as -xml has them.
func lines(t *testing.T, args string) []listedJobs {
	t.Helper()
	status, out, bad := qstat(append(strings.Fields(args), "-xml")...)
	var x struct {
		Placed []listedJobs `xml:"queue_info>job_list"`
		Others []listedJobs `xml:"job_info>job_list"`
	}
	if err := xml.Unmarshal([]byte(out), &x); err != nil || status != 0 || bad != "" {
		t.Fatalf("qstat %s -xml = %d, %q, %v\n%s", args, status, bad, err, out)
	}
	return append(x.Placed, x.Others...)
}

// ids returns the jobs of a list with their states.
func ids(t *testing.T, args string) string {
	t.Helper()
	var ids []string
	for _, j := range lines(t, args) {
		ids = append(ids, j.id()+" "+j.State)
	}
	return strings.Join(ids, ", ")
}

func TestTable(t *testing.T) {
	fill(t)
	const (
		placed = "1.2 dr, 1.0 t, 1.1 r, "
		others = "2.0 qw, 5.0 qw, 1.500 qw, 3.0-1:1 qw, 1.3-499:1,501-999:1 qw, 4.0 hqw"
	)
	for _, c := range []struct{ args, want string }{
		{"", placed + others},
		{"-u *", placed + others},
		{"-u bob,carol", "2.0 qw, 5.0 qw, 4.0 hqw"},
		{"carol", "5.0 qw, 4.0 hqw"},
		{"3", "3.0-1:1 qw"},
		{"2 1.500 1.1", "1.1 r, 2.0 qw, 1.500 qw"},
		{"-u alice 2 3", "3.0-1:1 qw"},
		{"-u dave", ""},
		{"dave", ""},
	} {
		if got := ids(t, c.args); got != c.want {
			t.Errorf("qstat %s lists %s, want %s", c.args, got, c.want)
		}
	}
	displays(t, "", "2 1.500 1.1")
	for _, c := range []struct{ args, want string }{
		{"dave", "qstat: warning: dave has no job in the queue\n"},
		{"-u carl", "qstat: warning: carl has no job in the queue; did you mean carol?\n"},
		{"-u carl,bob", ""},
		{"-json -u carl", ""},
		{"-constraint Owner==carol", "qstat: warning: -constraint: no job has carol; put a text in double quotes: -constraint 'Owner==\"carol\"'\n"},
		{"-constraint JobSatus==2", "qstat: warning: -constraint: no job has JobSatus; did you mean JobStatus?\n"},
		{"-constraint JobStatus==77", ""},
	} {
		if status, _, bad := qstat(strings.Fields(c.args)...); status != 0 || bad != c.want {
			t.Errorf("qstat %s = %d, %q, want %q", c.args, status, bad, c.want)
		}
	}
}

// Procs that share a line must share their place: a priority that is an
// expression is evaluated for each.
func TestExpressionPriority(t *testing.T) {
	fill(t)
	cmdtest.Update(t, func(tx *spool.Tx) {
		tx.AddCluster(job(t, "erin", "JobPrio = ProcId / 2"), []spool.NewRun{{Count: 4}})
	})
	if got, want := priors(t, "6"), "6.2-3:1 1, 6.0-1:1 0"; got != want {
		t.Errorf("qstat 6 lists %s, want %s", got, want)
	}
}

// priors returns the jobs of a list with what prior has.
func priors(t *testing.T, args string) string {
	t.Helper()
	var priors []string
	for _, j := range lines(t, args) {
		priors = append(priors, j.id()+" "+j.Prior)
	}
	return strings.Join(priors, ", ")
}

func TestTableRefuses(t *testing.T) {
	fill(t)
	for _, u := range []string{"", ",", "alice, bob"} {
		for _, args := range [][]string{{"-u", u}, {"-history", "-u", u}, {"-u", u, "1"}} {
			cmdtest.Refuses(t, Command(), 2, args...)
		}
	}
	for _, c := range []struct {
		args   string
		status int
	}{
		{"99", 1},
		{"-j 99,3.7", 1},
		{"-j nosuch", 1},
		{"-j nosuch,99,dave", 1},
		{"-l arch=x", 2},
		{"-s x", 2},
		{"-s", 2},
		{"-g x", 2},
		{"-g c -f", 2},
		{"-f -j 1", 2},
		{"-json -f", 2},
		{"-j 1 -xml -json", 2},
		{"-json -pri", 2},
		{"-j 1 -s p", 2},
		{"-w -xml", 2},
		{"-ne", 2},
		{"-q [", 2},
		{"-constraint Owner", 1},
		{"-j 1 -long", 2},
		{"-j 1 2", 2},
		{"0", 2},
		{"%", 2},
	} {
		cmdtest.Refuses(t, Command(), c.status, strings.Fields(c.args)...)
	}
}

// reported leaves a report in the spool.
func reported(t *testing.T, report string) {
	t.Helper()
	s, err := spool.Open(os.Getenv("FAIRSPOOL_DIR"), spool.Options{Program: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.SetReport(strings.NewReader(report)); err != nil {
		t.Fatal(err)
	}
}

func TestDetails(t *testing.T) {
	fill(t)
	reported(t, `{"Cycle":1,"Time":1795217646,"Rejections":[{"Job":"3.0","Count":2,"Jobs":["3.0-1"],"Reason":"no match found"}]}`)
	displays(t, "-j 3", "-j 1.1")
}

// The reason of a job is what the report says of exactly this job: a
// rejection may span clusters, and a cluster's procs may be of different
// shapes.
func TestSchedulingInfo(t *testing.T) {
	fill(t)
	cmdtest.Printed(t, "qstat -j 2 (before the first cycle)", 0, info("2"), "")
	report := `{"Cycle":4,"Time":%d,"Rejections":[
		{"Job":"3.0","Count":400,"Jobs":["1.3-499","3.0"],"Reason":"small"},
		{"Job":"2.0","Count":2,"Jobs":["2.0","5.0"],"Reason":"several clusters"},
		{"Job":"1.501","Count":300,"Jobs":["1.501-700","1.801-900"],"Reason":"shape A"},
		{"Job":"1.701","Count":100,"Jobs":["1.701-800"],"Reason":"shape B"}]}`
	for _, c := range []struct {
		when string
		time int
		jobs []string
	}{
		{"after a cycle", now, []string{"2.0", "5.0", "1.3", "1.500", "3", "3.1", "1.700", "1.701", "1.901", "1"}},
		{"submitted after a cycle", now - 8000, []string{"3.1", "2"}},
	} {
		reported(t, fmt.Sprintf(report, c.time))
		for _, job := range c.jobs {
			cmdtest.Printed(t, fmt.Sprintf("qstat -j %s (%s)", job, c.when), 0, info(job), "")
		}
	}
	reported(t, `{"Cycle":4,"Time":5,"Rejections":[{"Job":"2.0","Count":1,"Reason":"x"}]}`)
	cmdtest.Printed(t, "qstat -j 2 (with an older version's report)", 0, info("2"), "")
	if err := os.WriteFile(filepath.Join(os.Getenv("FAIRSPOOL_DIR"), "cycle.json"), []byte(`{"Cycle":`), 0o600); err != nil {
		t.Fatal(err)
	}
	cmdtest.Printed(t, "qstat -j 2 (with a report that is cut short)", 0, info("2"), "")
}

var schedulingInfo = regexp.MustCompile(`(?m)^scheduling info:.*\n( .*\n)*`)

// info returns why jobs wait, as their sheets have it.
func info(job string) string {
	_, out, _ := qstat("-j", job)
	return strings.Join(schedulingInfo.FindAllString(out, -1), "")
}

func TestPrograms(t *testing.T) {
	fill(t)
	_, out, _ := qstat("3", "-af", "ClusterId", "ProcId", "JobPrio")
	if want := "3 0 5\n3 1 5\n"; out != want {
		t.Errorf("qstat -af = %q, want %q", out, want)
	}
	_, out, _ = qstat("3.1", "-long")
	for _, line := range []string{"ClusterId = 3\n", "ProcId = 1\n", "Owner = \"alice\"\n"} {
		if !strings.Contains(out, line) {
			t.Errorf("qstat -long lacks %q:\n%s", line, out)
		}
	}
	_, out, _ = qstat("-json", "3", "bob")
	var ads []struct {
		ClusterId, ProcId int
		Owner             string
	}
	if err := json.Unmarshal([]byte(out), &ads); err != nil || fmt.Sprint(ads) != "[{2 0 bob} {3 0 alice} {3 1 alice}]" {
		t.Errorf("qstat -json = %v, %v\n%s", ads, err, out)
	}
	if _, out, _ = qstat("-json", "dave"); out != "[]\n" {
		t.Errorf("qstat -json without jobs = %q, want []", out)
	}
}
