package sge

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/pool"

	"pgregory.net/rapid"
)

const noon = 1_700_000_000

// known is a configuration with people.
func known() *Config {
	c := complexes()
	c.Complexes = append(c.Complexes, Complex{"memory", "mem", Memory, 1e-9}, Complex{"disk", "dk", Memory, 1e-9})
	c.PEs = environments().PEs
	c.Users = map[string]Object{"alice": {DefaultProject: "pa"}, "bob": {FShare: 3}}
	c.Projects = map[string]Object{"pa": {}, "pb": {}}
	c.Departments = map[string]Object{
		"theory": {Entries: []string{"alice", "@staff"}}, "lab": {Entries: []string{"bob", "@guests", "carol"}}, "zoo": {Entries: []string{"carol"}},
	}
	return c
}

func adOf(t testing.TB, text string) *classad.Ad {
	t.Helper()
	ad, err := classad.ParseAd("[" + text + "]")
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return ad
}

func TestQueueJob(t *testing.T) {
	// none is what a job says nothing of.
	none := Job{ID: pool.JobID{Cluster: 7, Proc: 3}, Count: 2, Department: DefaultDepartment, Submitted: noon, Slots: 1, LeastSlots: 1, CPUs: 1}
	for _, c := range []struct {
		ad     string
		change func(*Job)
	}{
		{``, func(*Job) {}},
		{`Owner = "dave"; QDate = 900`, func(j *Job) { j.User, j.Submitted = "dave", 900 }},
		{`QDate = "x"`, func(*Job) {}},
		{`QDate = real("INF")`, func(j *Job) { j.Submitted = latest }},
		// Whose, and which project and department.
		{`Owner = "alice"`, func(j *Job) { j.User, j.Project, j.Department = "alice", "pa", "theory" }},
		{`Owner = "alice"; Project = "pb"; Department = "zoo"`, func(j *Job) { j.User, j.Project, j.Department = "alice", "pb", "zoo" }},
		{`Owner = "alice"; Project = ""; Department = 5`, func(j *Job) { j.User, j.Project, j.Department = "alice", "pa", "theory" }},
		{`Owner = "dave"; UnixGroup = "staff"`, func(j *Job) { j.User, j.Department = "dave", "theory" }},
		{`Owner = "carol"`, func(j *Job) { j.User, j.Department = "carol", "lab" }},
		{`Owner = "alice"; UnixGroup = "guests"`, func(j *Job) { j.User, j.Project, j.Department = "alice", "pa", "lab" }},
		{`Owner = "@staff"`, func(j *Job) { j.User = "@staff" }},
		// Only constants decide.
		{`JobPrio = 5; Deadline = 1000; JobShare = 7; OverrideTickets = 9`, func(j *Job) { j.POSIX, j.Deadline, j.JobShare, j.OverrideTickets = 5, 1000, 7, 9 }},
		{`JobPrio = (-5)`, func(j *Job) { j.POSIX = -5 }},
		{`X = 1; JobPrio = 5 + X; Deadline = time() + 60; JobShare = 3 * X; OverrideTickets = random(9)`, func(*Job) {}},
		{`JobPrio = 5000`, func(j *Job) { j.POSIX = 1024 }},
		{`JobPrio = -5000`, func(j *Job) { j.POSIX = -1023 }},
		{`JobPrio = -1.9`, func(j *Job) { j.POSIX = -1 }},
		{`JobPrio = "9"; Deadline = -4; JobShare = -1; OverrideTickets = "x"`, func(*Job) {}},
		{`JobShare = 99999999999; OverrideTickets = 1e300; Deadline = 1e300`, func(j *Job) { j.JobShare, j.OverrideTickets, j.Deadline = MostShares, MostShares, latest }},
		{`Deadline = real("NaN"); JobShare = real("NaN")`, func(*Job) {}},
		// Slots.
		{`ParallelSlots = 4`, func(j *Job) { j.Slots, j.LeastSlots = 4, 4 }},
		{`ParallelSlots = "2-8"; ParallelEnvironment = "mpimax"; RequestCpus = 3`, func(j *Job) { j.Slots, j.LeastSlots, j.CPUs = 8, 2, 3 }},
		{`ParallelSlots = "4-"; ParallelEnvironment = "mpia*"`, func(j *Job) { j.Slots, j.LeastSlots = 12, 4 }},
		{`ParallelEnvironment = "mpimax"`, func(*Job) {}},
		{`ParallelSlots = 4; ParallelEnvironment = "gone"`, func(*Job) {}},
		{`ParallelSlots = "many"`, func(*Job) {}},
		{`ParallelSlots = -4`, func(*Job) {}},
		{`ParallelSlots = {1}`, func(*Job) {}},
		{`RequestCpus = ProcId + 1`, func(j *Job) { j.CPUs = 4 }},
		{`RequestCpus = 0`, func(*Job) {}},
		{`RequestCpus = 2.9`, func(j *Job) { j.CPUs = 2 }},
		// Requests.
		{`RequestLic = 2`, func(j *Job) { j.Requests = []Request{{1, 2, "2"}} }},
		{`requestl = "3"`, func(j *Job) { j.Requests = []Request{{1, 3, "3"}} }},
		{`RequestLic = 2; RequestL = 3`, func(j *Job) { j.Requests = []Request{{1, 2, "2"}} }},
		{`RequestLic = undefined; RequestL = 3`, func(j *Job) { j.Requests = []Request{{1, 3, "3"}} }},
		{`RequestLic = 2.9; RequestFdbl = 0.25; RequestFt = "0:1:30"; RequestOther = 4`,
			func(j *Job) {
				j.Requests = []Request{{1, 2, "2.9"}, {2, 0.25, "0.25"}, {3, 90, "0:1:30"}, {11, 4, "4"}}
			}},
		{`RequestFlag = true; RequestArch = "lx-amd64"; RequestSite = 5`, func(j *Job) { j.Requests = []Request{{5, 1, "TRUE"}, {6, 1, "lx-amd64"}, {7, 1, "5"}} }},
		{`RequestFlag = false`, func(j *Job) { j.Requests = []Request{{5, 0, "FALSE"}} }},
		{`RequestFlag = 1`, func(j *Job) { j.Requests = []Request{{5, 1, "1"}} }},
		{`RequestFlag = 2; RequestLic = true; RequestArch = {1}; RequestFdbl = error; RequestMf = "x"`, func(*Job) {}},
		{`RequestMem_free = "2G"`, func(j *Job) { j.Requests = []Request{{4, 2 << 30, "2G"}} }},
		{`RequestMf = 100`, func(j *Job) { j.Requests = []Request{{4, 100, "100"}} }},
		{`RequestMemory = 2048; RequestDisk = 1024`, func(j *Job) { j.Requests = []Request{{12, 2048 << 20, "2048"}, {13, 1 << 20, "1024"}} }},
		{`RequestMemory = "1K"`, func(j *Job) { j.Requests = []Request{{12, 1024, "1K"}} }},
		{`RequestLic = ProcId * 2`, func(j *Job) { j.Requests = []Request{{1, 6, "6"}} }},
		{`RequestSlots = 4; RequestS = 4; RequestIdle = 7; RequestNope = 3`, func(*Job) {}},
		{`RequestFdbl = real("NaN"); RequestFtime = real("INF")`, func(j *Job) { j.Requests = []Request{{3, 1e18, `real("INF")`}} }},
	} {
		ad := adOf(t, c.ad)
		ad.SetInt(pool.AttrClusterID, 7)
		ad.SetInt(pool.AttrProcID, 3)
		want := none
		c.change(&want)
		got := NewQueue(known(), World{}).Job(&classad.Context{Now: time.Unix(noon, 0)}, jobprio.Run{Procs: pool.Procs{Cluster: want.ID.Cluster, First: want.ID.Proc, Last: want.ID.Proc + 2 - 1}, Ad: ad})
		if !reflect.DeepEqual(got, want) {
			t.Errorf("[%s]: %+v, want %+v", c.ad, got, want)
		}
	}
}

// TestAttributes: what is in Attributes, and nothing else, decides; each stands there once.
func TestAttributes(t *testing.T) {
	names := known().Attributes()
	lower := strings.Split(strings.ToLower(strings.Join(names, " ")), " ")
	if slices.Sort(lower); len(slices.Compact(lower)) != len(names) {
		t.Errorf("Attributes() = %v, want each once", names)
	}
	for _, want := range []string{"RequestCpus", "Requestlic", "Requestl", "Requestmem"} {
		if !slices.Contains(names, want) {
			t.Errorf("Attributes() = %v, want %s among them", names, want)
		}
	}
	for _, never := range []string{"Requestslots", "Requests", "Requestidle"} {
		if slices.Contains(names, never) {
			t.Errorf("Attributes() = %v, want no %s", names, never)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		ad, only := classad.New(), classad.New()
		for _, name := range append([]string{"Cmd", "RequestIdle", "RequestSlots", "JobStatus"}, names...) {
			n := rapid.Int64Range(-2, 100).Draw(t, name)
			ad.SetInt(name, n)
			if slices.Contains(names, name) {
				only.SetInt(name, n)
			}
		}
		c, q := &classad.Context{Now: time.Unix(noon, 0)}, NewQueue(known(), World{})
		if a, b := q.Job(c, jobprio.Run{Ad: ad}), q.Job(c, jobprio.Run{Ad: only}); !reflect.DeepEqual(a, b) {
			t.Errorf("%+v with other attributes, %+v without", a, b)
		}
	})
}

// A complex named like something the pool knows itself is asked for there once.
func TestAttributesOnce(t *testing.T) {
	c := &Config{Complexes: []Complex{{"cpus", "CPUS", Int, 5}}}
	n := 0
	for _, name := range c.Attributes() {
		if strings.EqualFold(name, pool.AttrRequestCpus) {
			n++
		}
	}
	j := NewQueue(c, World{}).Job(&classad.Context{}, jobprio.Run{Ad: adOf(t, "RequestCpus = 3")})
	if n != 1 || j.CPUs != 3 || len(j.Requests) != 1 || j.Requests[0].Amount != 3 {
		t.Errorf("RequestCpus stands %d times in Attributes, and the job is %+v", n, j)
	}
}

// TestAlike: of runs of one Likeness, each has the facts that its ad says.
func TestAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shared := classad.New()
		for _, name := range append([]string{"JobStatus", "DeferralTime"}, known().Attributes()...) {
			if slices.Contains(jobprio.Apart[:], name) {
				continue
			}
			if text := rapid.SampledFrom([]string{"", "", "", "0", "7", "900", `"x"`, "2 + 3", "ClusterId", "QDate - 1"}).Draw(t, name); text != "" {
				e, err := classad.ParseExpr(text)
				if err != nil {
					t.Fatal(err)
				}
				shared.Set(name, e)
			}
		}
		var runs, plain []jobprio.Run
		like := new(jobprio.Likeness)
		for i := range rapid.IntRange(1, 4).Draw(t, "runs") {
			at := rapid.Int64Range(0, 3).Draw(t, "QDate") * 300
			ad := classad.New().Chain(shared)
			for k, name := range jobprio.Apart {
				ad.SetInt(name, []int64{int64(i), 0, at, at}[k])
			}
			r := jobprio.Run{Procs: pool.Procs{Cluster: i}, Submitter: "alice", Ad: ad}
			plain = append(plain, r)
			r.Likeness, r.QDate = like, at
			runs = append(runs, r)
		}
		q := NewQueue(known(), World{Now: time.Unix(500, 0)})
		got, want := q.look(runs), q.look(plain)
		q.leaveOut(got, runs)
		q.leaveOut(want, plain)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
	})
}
