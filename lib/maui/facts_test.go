package maui

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

func TestJobOf(t *testing.T) {
	// none is what a job says nothing of.
	none := Job{ID: pool.JobID{Cluster: 7, Proc: 3}, Submitted: noon, Since: noon, Tasks: 1, ProcsPerTask: 1}
	for _, c := range []struct {
		ad     string
		change func(*Job)
	}{
		{``, func(*Job) {}},
		{`Owner = "alice"; UnixGroup = "staff"; AcctGroup = "physics"; QOS = "high"; Class = "batch"`,
			func(j *Job) {
				j.User, j.Group, j.Account, j.QOS, j.Class = "alice", "staff", "physics", "high", "batch"
			}},
		{`QDate = 900`, func(j *Job) { j.Submitted, j.Since = 900, 900 }},
		{`QDate = 900; EligibleSince = 950`, func(j *Job) { j.Submitted, j.Since = 900, 950 }},
		{`QDate = 900; EligibleSince = 0`, func(j *Job) { j.Submitted, j.Since, j.Stopped = 900, 0, true }},
		{`QDate = 900; EligibleSince = "x"`, func(j *Job) { j.Submitted, j.Since = 900, 900 }},
		{`QDate = 0`, func(j *Job) { j.Submitted, j.Since = 0, 0 }},
		{`WallTimeLimit = 60; AllowedExecuteDuration = 70`, func(j *Job) { j.WCLimit = 60 }},
		{`WallTimeLimit = 0; AllowedExecuteDuration = 30 * 2 + 10`, func(j *Job) { j.WCLimit = 70 }},
		// What is short only as long as the job waits does not count.
		{`JobStatus = 1; WallTimeLimit = ifThenElse(JobStatus == 1, 1, 100000)`, func(*Job) {}},
		{`WallTimeLimit = ifThenElse(TARGET.Name =?= undefined, 1, 100000)`, func(*Job) {}},
		{`WallTimeLimit = ifThenElse(time() < 99999999999, 1, 100000); AllowedExecuteDuration = 90`, func(j *Job) { j.WCLimit = 90 }},
		{`WallTimeLimit = 1 + random(5)`, func(*Job) {}},
		{`WallTimeLimit = eval("JobStatus")`, func(*Job) {}},
		{`AllowedExecuteDuration = 70.9`, func(j *Job) { j.WCLimit = 70 }},
		{`ParallelSlots = 4`, func(j *Job) { j.Tasks = 4 }},
		{`ParallelSlots = "2-8"`, func(j *Job) { j.Tasks = 2 }},
		{`ParallelSlots = "2,4-8"`, func(j *Job) { j.Tasks = 2 }},
		{`ParallelSlots = "4-"`, func(j *Job) { j.Tasks = 4 }},
		{`ParallelSlots = "-8"`, func(*Job) {}},
		{`ParallelSlots = "3"`, func(j *Job) { j.Tasks = 3 }},
		{`ParallelSlots = "many"`, func(*Job) {}},
		{`ParallelSlots = -2; RequestCpus = 0; RequestMemory = -5; RequestDisk = -1; BypassCount = -1; SystemPriority = -4`, func(*Job) {}},
		{`RequestCpus = ProcId + 1; RequestMemory = 2048; RequestDisk = 1536; RequestSwap = 100.5`,
			func(j *Job) { j.ProcsPerTask, j.MemPerTask, j.DiskPerTask, j.SwapPerTask = 4, 2048, 1.5, 100.5 }},
		{`MinHosts = 1`, func(*Job) {}},
		{`MinHosts = 3`, func(j *Job) { j.Nodes = 3 }},
		{`MinHosts = 3; RequestNodes = 1`, func(j *Job) { j.Nodes = 1 }},
		{`BypassCount = 5; SystemPriority = 2000000007; JobPrio = -3`, func(j *Job) { j.Bypassed, j.System, j.JobPrio = 5, 2_000_000_007, -3 }},
		{`RequestCpus = error; RequestMemory = "x"; Owner = 5; WallTimeLimit = undefined; JobPrio = {1}`, func(*Job) {}},
		{`RequestMemory = real("NaN"); RequestDisk = real("INF"); RequestCpus = real("INF")`, func(j *Job) { j.DiskPerTask, j.ProcsPerTask = mostFactor, 1<<63-1 }},
	} {
		ad, err := classad.ParseAd(`[` + c.ad + `]`)
		if err != nil {
			t.Fatalf("%s: %v", c.ad, err)
		}
		ad.SetInt(pool.AttrClusterID, 7)
		ad.SetInt(pool.AttrProcID, 3)
		want := none
		c.change(&want)
		got := JobOf(&classad.Context{Now: time.Unix(noon, 0)}, jobprio.Run{Procs: pool.Procs{Cluster: 7, First: 3, Last: 4}, Ad: ad})
		if got != want {
			t.Errorf("[%s]: %+v, want %+v", c.ad, got, want)
		}
	}
}

// TestAttributes: what is in Attributes, and nothing else, decides; each stands there once.
func TestAttributes(t *testing.T) {
	names := Attributes()
	if sorted := slices.Sorted(slices.Values(names)); len(slices.Compact(sorted)) != len(names) || len(names) < len(Facts) {
		t.Errorf("Attributes() = %v, want each once", names)
	}
	rapid.Check(t, func(t *rapid.T) {
		ad, only := classad.New(), classad.New()
		for _, name := range append([]string{"Cmd", "RequestGPUs", "JobStatus"}, names...) {
			n := rapid.Int64Range(-2, 100).Draw(t, name)
			ad.SetInt(name, n)
			if slices.Contains(names, name) {
				only.SetInt(name, n)
			}
		}
		c := &classad.Context{Now: time.Unix(noon, 0)}
		if a, b := JobOf(c, jobprio.Run{Ad: ad}), JobOf(c, jobprio.Run{Ad: only}); a != b {
			t.Errorf("%+v with other attributes, %+v without", a, b)
		}
	})
}

// TestAlike: of runs of one Likeness, each has the facts that its ad says.
func TestAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shared := classad.New()
		for _, name := range append([]string{"JobStatus"}, Attributes()...) {
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
		c, x := &classad.Context{Now: time.Unix(noon, 0)}, newReader()
		for i, r := range runs {
			if got, want := x.job(c, r), JobOf(c, plain[i]); got != want {
				t.Errorf("%s: %+v, want %+v", r.Ad.Flat().Format(classad.StyleSpool), got, want)
			}
		}
	})
}
