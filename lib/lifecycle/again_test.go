package lifecycle

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/internal/testenv"
	"fairspool/lib/jobad"
	"fairspool/lib/pool"
	"fairspool/lib/submitfile"
	"fairspool/spool"
)

// greedy is a spool in which 1.0 is the only job that is not held, with what the commands
// of a description set.
func greedy(t *testing.T, commands string) bench {
	t.Helper()
	d, _, err := submitfile.Parse("executable = /x\n"+commands+"\nqueue\n", "a.sub", submitfile.Options{})
	testenv.OK(t, err)
	jobs, _, err := jobad.New(d, jobad.Options{Owner: "alice", Domain: "example.org", Dir: "/"})
	testenv.OK(t, err)
	cluster, err := jobs.Expand(1)
	testenv.OK(t, err)
	ad := cluster.Runs[0].Ad().Chain(cluster.Ad).Flat()
	b := newBench(t)
	b.hold(1, 3, noon)
	b.update(func(tx *spool.Tx) error {
		tx.Op("set")
		for _, name := range ad.Names() {
			e, _ := ad.Lookup(name)
			if strings.Contains(name, "Request") || strings.HasPrefix(name, "Transform") {
				tx.Set(first, name, e)
			}
		}
		return nil
	})
	return b
}

// takesTooMuch has the job, which is idle, run and take more than it may, and returns in
// which state it is then.
func (b bench) takesTooMuch(at time.Time, subcode int, peakKB int64) pool.Status {
	b.t.Helper()
	n := b.start(at)
	why := pool.Reason{Text: "too much", Code: jobad.OutOfResources, Subcode: subcode}
	b.update(func(tx *spool.Tx) error {
		tx.Op("policy")
		_, err := Hold(tx, pool.Procs{Cluster: 1, First: 0, Last: 0}, why, at, params)
		return err
	})
	b.update(func(tx *spool.Tx) error {
		return Finish(tx, first, n, at.Add(time.Minute), pool.Ending{Lost: "too much", Signal: 15, Wall: time.Minute, MaxRSSKB: peakKB}, params)
	})
	return b.status()
}

func (b bench) status() pool.Status { return pool.Status(b.number(pool.AttrJobStatus)) }

// What becomes of a job that takes too much again and again: the state that it is in and
// what it asks for.
func TestAsksForMore(t *testing.T) {
	for _, c := range []struct {
		commands string
		subcode  int
		want     string
	}{
		{"request_memory = 100", jobad.OutOfMemory, "held 100"},
		{"request_memory = 100\nretry_request_memory = 200", jobad.OutOfMemory, "idle 200, held 200"},
		{"request_memory = 100\nretry_request_memory = 200", jobad.OutOfDisk, "held 100"},
		{"request_memory = 100, 200, 400", jobad.OutOfMemory, "idle 200, idle 400, held 400"},
		{"request_memory = 100\nretry_request_memory_increase = 80\nretry_request_memory_max = 250", jobad.OutOfMemory, "idle 180, idle 250, held 250"},
		{"request_memory = 100\nretry_request_memory_increase = MemoryUsage * 3", jobad.OutOfMemory, "idle 600, held 600"},
		{"request_memory = 100\nretry_request_memory_increase = NoSuch * 2", jobad.OutOfMemory, "held 100"},
		{"request_memory = 100\nretry_request_memory = 50", jobad.OutOfMemory, "held 100"},
		{"request_memory = 100\nretry_request_memory_max = 50", jobad.OutOfMemory, "held 100"},
		{"request_memory = 100\nretry_request_memory = 300, 200", jobad.OutOfMemory, "idle 300, held 300"},
		{"request_memory = 100\n+TransformOnEvict = \"\"", jobad.OutOfMemory, "held 100"},
		{"request_memory = 100\n+TransformOnEvict = \"a\"\n+TransformBody_a = \"SET x 1\"", jobad.OutOfMemory, "held 100"},
		{"request_memory = 100\n+TransformOnEvict = \"a\"\n+TransformBody_a = \"EVALSET RequestMemory 1/0\"", jobad.OutOfMemory, "held 100"},
		{"request_memory = 100\nrequest_disk = 1MB, 2MB", jobad.OutOfDisk, "idle 100, held 100"},
	} {
		b := greedy(t, c.commands)
		var got []string
		for i := range strings.Split(c.want, ", ") {
			state := "idle"
			switch status := b.takesTooMuch(noon.Add(time.Duration(i)*time.Hour), c.subcode, 200<<10); {
			case status == pool.Held:
				state = "held"
			case status != pool.Idle:
				t.Errorf("%q: JobStatus = %v, want idle or held", c.commands, status)
			}
			got = append(got, fmt.Sprint(state, " ", b.number(pool.AttrRequestMemory)))
			if state == "held" {
				break
			}
		}
		if got := strings.Join(got, ", "); got != c.want {
			t.Errorf("%q: a job that takes too much is %s, want %s", c.commands, got, c.want)
		}
	}
}

// The ad says what happened, and nobody is told of a hold that is none.
func TestAsksForMoreTells(t *testing.T) {
	b := greedy(t, "request_memory = 100\nretry_request_memory = 200")
	b.watch(Watch)
	n := b.start(noon)
	why := pool.Reason{Text: "too much", Code: jobad.OutOfResources, Subcode: jobad.OutOfMemory}
	var done []Done
	b.update(func(tx *spool.Tx) (err error) {
		tx.Op("policy")
		done, err = Hold(tx, pool.Procs{Cluster: 1, First: 0, Last: 0}, why, noon, params)
		return err
	})
	c := b.claim(first)
	if len(done) != 1 || done[0].Outcome != LeavesForMore || b.status() != pool.Running || c.State != pool.Vacating ||
		c.VacateReason != why.Text || c.VacateCode != why.Code || c.VacateSubcode != why.Subcode {
		t.Errorf("Hold did %v with the job, which is %v with the claim %+v, want it running, and vacating for %v", done, b.status(), c, why)
	}
	if r := b.alice(noon); r.InUse != 0 {
		t.Errorf("in use while it leaves = %v, want 0", r.InUse)
	}
	b.update(func(tx *spool.Tx) error { return Finish(tx, first, n, noon, pool.Ending{Lost: why.Text}, params) })
	for name, want := range map[string]string{
		"JobStatus": "1", "VacateReason": `"too much"`, "VacateReasonCode": "34", "VacateReasonSubCode": "102",
		"NumHolds": "none", "NumSystemHolds": "none", "HoldReason": "none", "RequestMemory": "200",
	} {
		if got := b.attribute(first, name); got != want {
			t.Errorf("%s of a job that asks for more = %s, want %s", name, got, want)
		}
	}
	if e, _ := b.watched(); e.Held != 0 {
		t.Errorf("the cluster's endings count %d jobs that were held, want none", e.Held)
	}
	b.takesTooMuch(noon.Add(time.Hour), jobad.OutOfMemory, 0)
	for name, want := range map[string]string{
		"JobStatus": "5", "HoldReason": `"too much"`, "HoldReasonCode": "34", "HoldReasonSubCode": "102", "NumHolds": "1", "NumSystemHolds": "1",
	} {
		if got := b.attribute(first, name); got != want {
			t.Errorf("%s of a job that asks for no more = %s, want %s", name, got, want)
		}
	}
	if e, _ := b.watched(); e.Held != 1 {
		t.Errorf("the cluster's endings count %d jobs that were held, want 1", e.Held)
	}
}

// What cannot be done is told, and so is why it was not.
func TestTransformFails(t *testing.T) {
	for _, c := range []struct{ commands, want string }{
		{"retry_request_memory = 50", `"too much; TransformOnEvict: RequestMemory would be less than the 100 of before"`},
		{"retry_request_memory_increase = NoSuch * 2", `"too much; TransformBody_RequestMemory: RequestMemory: NextRequestMemory is undefined"`},
	} {
		b := greedy(t, "request_memory = 100\n"+c.commands)
		b.takesTooMuch(noon, jobad.OutOfMemory, 0)
		if got := b.attribute(first, "HoldReason"); got != c.want {
			t.Errorf("%q: HoldReason = %s, want %s", c.commands, got, c.want)
		}
	}
}

// A job that has to leave for another reason gets what it wants then, also when that is
// less, and runs again; one that its user has held meanwhile stays so.
func TestTransformForOthers(t *testing.T) {
	const commands = "request_memory = 100\n+TransformOnEvict = \"a\"\n+TransformBody_a = \"REQUIREMENTS VacateReasonCode == 1004\\036SET RequestMemory 50\""
	for _, c := range []struct {
		code int
		held bool
		want string
	}{{VacatedByUser, false, "1 50"}, {VacatedByUser, true, "5 50"}, {PreemptedByRank, false, "1 100"}} {
		b := greedy(t, commands)
		n := b.start(noon)
		b.update(func(tx *spool.Tx) error {
			tx.Op("vacate")
			Vacate(tx, first, pool.Reason{Text: "away", Code: c.code}, noon, params)
			return nil
		})
		if c.held {
			b.hold(0, 0, noon)
		}
		b.update(func(tx *spool.Tx) error { return Finish(tx, first, n, noon, pool.Ending{Lost: "away"}, params) })
		if got := b.attribute(first, "JobStatus") + " " + b.attribute(first, "RequestMemory"); got != c.want {
			t.Errorf("vacated with code %d, held %v: status and RequestMemory = %s, want %s", c.code, c.held, got, c.want)
		}
	}
}

// However a job words it: each time that it takes too much it asks for more, and for no
// more than its maximum, or it is held with the request that it had.
func TestAsksForMoreLaw(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.IntRange(0, 400)
		most := size.Draw(rt, "most")
		commands := fmt.Sprintf("request_memory = %d\n", size.Draw(rt, "first"))
		switch rapid.IntRange(0, 3).Draw(rt, "how") {
		case 0:
			commands += fmt.Sprintf("retry_request_memory = %d, %d, %d", size.Draw(rt, "a"), size.Draw(rt, "b"), size.Draw(rt, "c"))
			most = 400
		case 1:
			commands += fmt.Sprintf("retry_request_memory_max = %d", most)
		case 2:
			commands += fmt.Sprintf("retry_request_memory_increase = %d\nretry_request_memory_max = %d", size.Draw(rt, "step"), most)
		case 3:
			expr := rapid.SampledFrom([]string{"RequestMemory * 2", "RequestMemory / 2", "MemoryUsage * 3", "600 - RequestMemory", "RequestMemory + 0.5", "NoSuch * 2", `strcat("x", Owner)`}).Draw(rt, "expression")
			commands += fmt.Sprintf("retry_request_memory_increase = %s\nretry_request_memory_max = %d", expr, most)
		}
		b := greedy(t, commands)
		for i := range 4 {
			was := b.number(pool.AttrRequestMemory)
			status := b.takesTooMuch(noon.Add(time.Duration(i)*time.Hour), jobad.OutOfMemory, rapid.Int64Range(0, 1<<20).Draw(rt, "peak"))
			is := b.number(pool.AttrRequestMemory)
			if status == pool.Held && is == was {
				return
			}
			if status != pool.Idle || is <= was || is > float64(most) {
				rt.Fatalf("%q: attempt %d: %v, and RequestMemory %v after %v, want it idle with more, up to %d, or held with the same", commands, i+1, status, is, was, most)
			}
		}
	})
}
