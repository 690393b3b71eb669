package cmd

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fairspool/internal/testenv"
)

// newQueue starts a batch engine, which glidein asks for pilots of one core by a driver of a kind. The engine's commands note that they
// are called.
func newQueue(t *testing.T, system, kind string) *batch {
	t.Helper()
	b := newBatch(t, system)
	testenv.OK(t, os.Mkdir(b.path("commands"), 0o755))
	for _, name := range []string{"sbatch", "squeue", "scancel", "qsub", "qstat", "qdel"} {
		testenv.WriteProgram(t, b.path("commands/"+name), []byte(fmt.Sprintf("#!/bin/sh\necho %s >>'%s'\nexec /usr/bin/%[1]s \"$@\"\n", name, b.path("calls"))))
	}
	b.config = fmt.Sprintf("NETWORK_HOSTNAME = \"head\"\nUID_DOMAIN = \"pool\"\nDETECT_SLOTS = false\n[engine.hpc]\nKIND = \"%s\"\nFILESYSTEM_DOMAIN = \"head\"\n"+
		"PILOT = { Cpus = 1, Memory = 200 }\nPILOT_TIME = 1200\nIDLE = 10\nMAX_PILOTS = 3\nHOME = \"%s\"\nSTARTER = \"%s/starter\"\nSTATE = \"%s\"\nBIN = \"%s\"\nENV = [\"%s\"]\n",
		kind, b.path("home"), b.bin, b.dir, b.path("commands"), strings.Join(b.env, `", "`))
	if kind == "command" {
		b.config += slurmByTables(t)
	}
	write(t, b.path("fairspool.toml"), b.config)
	return b
}

// slurmByTables returns what docs/engines.md says of Slurm.
func slurmByTables(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../docs/engines.md")
	testenv.OK(t, err)
	_, tables, found := strings.Cut(string(text), "```toml\n")
	tables, _, closed := strings.Cut(tables, "```")
	if !found || !closed {
		t.Fatal("docs/engines.md has no tables")
	}
	return tables
}

// engineReport is what glidein reports of an engine.
type engineReport struct {
	Asked, Waiting, Live int
	Jobs                 map[string]int
}

// glide makes a pass, and returns what it reports.
func (b *batch) glide(args ...string) engineReport {
	b.Helper()
	var r struct{ Engines []engineReport }
	if out := b.run(append([]string{"glidein", "-json"}, args...)...); json.Unmarshal([]byte(out), &r) != nil || len(r.Engines) != 1 {
		b.Fatalf("glidein %v reports %q", args, out)
	}
	return r.Engines[0]
}

// called returns how often commands of the engine were called.
func (b *batch) called(name string) int {
	text, _ := os.ReadFile(b.path("calls"))
	n := 0
	for _, line := range strings.Fields(string(text)) {
		if line == name {
			n++
		}
	}
	return n
}

// TestEnginesGivePilots has the jobs of an empty pool run in pilots that glidein asks a real engine for: as many as it said before, with one
// look at the engine a pass. Pilots without jobs end, and one that is cancelled has its job run in another.
func TestEnginesGivePilots(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ kind, system, look string }{
		{"slurm", "slurm", "squeue"}, {"command", "slurm", "squeue"}, {"sge", "sge", "qstat"},
	} {
		t.Run(c.kind, func(t *testing.T) {
			t.Parallel()
			b := newQueue(t, c.system, c.kind)
			b.submit(8, "0.")
			foreseen := b.glide("-dry-run")
			if foreseen.Asked != 3 || b.called("sbatch")+b.called("qsub") != 0 {
				t.Errorf("a dry run would ask for %d pilots, and calls %d times, want 3 and 0", foreseen.Asked, b.called("sbatch")+b.called("qsub"))
			}
			if now := b.glide(); now.Asked != foreseen.Asked || fmt.Sprint(now.Jobs) != fmt.Sprint(foreseen.Jobs) {
				t.Errorf("glidein asks for %+v, and said before that it would for %+v", now, foreseen)
			}
			if n := b.called(c.look); n != 2 {
				t.Errorf("two passes called %s %d times", c.look, n)
			}
			if again := b.glide(); again.Asked != 0 && !strings.Contains(b.run("slots", "list", "-pilots"), "Gone") { // on a slow machine one may have come, and left
				t.Errorf("the next pass asks for %d pilots more:\n%s", again.Asked, b.run("slots", "list", "-pilots"))
			}
			b.cron()
			if begun := b.ended(8); begun != 8 {
				t.Errorf("8 jobs were begun %d times", begun)
			}
			b.cron()
			b.until("pilots without jobs are gone", func() bool { return !strings.Contains(b.run("slots", "list", "-pilots"), " Live ") })
			if out := b.run("slots", "list", "-pilots"); !strings.HasSuffix(out, "; 8 jobs\n") {
				t.Errorf("the pilots of 8 jobs are\n%s", out)
			}

			b.run("submit", "requirements=Machine != \"head\"", "--", "sleep", "1000")
			b.until("a job runs", func() bool { return b.run("qstat", "-af", "JobStatus") == "2\n" })
			id := strings.TrimSpace(b.run("qstat", "-af", "RemoteHost"))
			id = id[strings.LastIndex(id, "-")+1:]
			b.run("glidein", "-cancel", id)
			b.until("its pilot is gone", func() bool { return strings.Contains(b.state("hpc-"+id), "Gone") })
			b.until("it runs in another", func() bool { return b.run("qstat", "-af", "JobStatus", "NumJobStarts") == "2 2\n" })
			b.run("qdel", "-a")
			b.until("the job is gone", func() bool { return b.queued() == 0 })
			b.stop()
		})
	}
}

// TestAsksKilled kills glidein and what it runs at moments that are drawn, most often while it submits pilots: behind two passes the pool has a
// row for each job of the engine, and the engine a job for each pilot that is not over.
func TestAsksKilled(t *testing.T) {
	t.Parallel()
	for _, system := range []string{"slurm", "sge"} {
		t.Run(system, func(t *testing.T) {
			t.Parallel()
			asksKilled(t, system, 5, 1)
		})
	}
}

func TestSoakAsksKilled(t *testing.T) {
	seed := testenv.SoakWhole(t)
	for _, system := range []string{"slurm", "sge"} {
		t.Run(system, func(t *testing.T) { asksKilled(t, system, 300, seed) })
	}
}

func asksKilled(t *testing.T, system string, kills int, seed uint64) {
	b := newQueue(t, system, system)
	hold := map[string]string{"slurm": "--hold", "sge": "-h"}[system]
	write(t, b.path("fairspool.toml"), strings.Replace(b.config, "MAX_PILOTS = 3\n", fmt.Sprintf("MAX_PILOTS = 1000\nMAX_WAITING = 1000\nASK_TIMEOUT = 1\nASK = [\"%s\"]\n", hold), 1))
	draw := rand.New(rand.NewPCG(seed, 1))
	killed, asking := 0, 0
	for killed < kills {
		b.submit(1, "0.")
		c := b.command(t.Context(), "glidein", "-q")
		c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		asked := b.called("sbatch") + b.called("qsub")
		testenv.OK(t, c.Start())
		if draw.IntN(3) > 0 { // most often when it has begun to submit
			testenv.Await(func() bool { return b.called("sbatch")+b.called("qsub") > asked || endedChild(c.Process.Pid) })
		}
		lasts(time.Duration(draw.IntN(80)) * time.Millisecond)
		syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		if c.Wait(); c.ProcessState.ExitCode() < 0 {
			killed++
			if b.called("sbatch")+b.called("qsub") > asked {
				asking++
			}
		}
	}
	b.glide()
	lasts(1100 * time.Millisecond) // ASK_TIMEOUT
	b.glide()
	var all struct {
		Pilots []struct {
			ID         int
			Ref, State string
		}
	}
	testenv.OK(t, json.Unmarshal([]byte(b.run("slots", "list", "-pilots", "-json")), &all))
	of := map[string]int{} // the pilot, by the engine's name for its job
	for _, row := range all.Pilots {
		if row.State != "Void" {
			of[row.Ref] = row.ID
		}
	}
	jobs := b.jobs()
	if !maps.Equal(of, jobs) {
		t.Errorf("the pool's pilots are %v, and those of the engine are %v", of, jobs)
	}
	t.Logf("%d kills, %d of them after a submission had begun; %d pilots", killed, asking, len(jobs))
}

// TestSoakOutrunsArrays has 8 slots of pilots in Slurm run 1,000 jobs of /bin/true, and Slurm itself an array of them on as many cores: the
// pool's are at least 5 times as quick. With 1,000 jobs of a second its slots are busy for 90 % of the time.
func TestSoakOutrunsArrays(t *testing.T) {
	testenv.SoakWhole(t)
	b := newQueue(t, "slurm", "slurm")
	write(t, b.path("fairspool.toml"), "NEGOTIATOR_INTERVAL = 1\n"+strings.NewReplacer("Cpus = 1, Memory = 200", "Cpus = 4, Memory = 400", "MAX_PILOTS = 3", "MAX_PILOTS = 2", "IDLE = 10", "IDLE = 600").Replace(b.config))
	const slots, jobs, tasks = 8, 1000, 200
	run := func(executable string, n int) time.Duration {
		write(t, b.path("job.sub"), fmt.Sprintf("executable = %s\nrequest_memory = 1\nqueue %d\n", executable, n))
		c := b.command(t.Context(), "submit", "job.sub")
		c.Env = append(c.Env, "FAIRSPOOL_CYCLE_ON_CHANGE=true")
		begun := time.Now()
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		b.until("all jobs have ended", func() bool { return b.queued() == 0 })
		return time.Since(begun)
	}
	b.submit(slots, "0.")
	b.glide()
	b.until("the pilots are there", func() bool { return strings.Count(b.run("slots", "list", "-af", "Name"), "\n") == 2 })
	b.cron()
	b.ended(slots)
	pool := float64(jobs) / run("/bin/true", jobs).Seconds()
	second := run("/bin/sleep\narguments = 1", jobs)
	b.must("scancel", "--user=root")
	b.until("the pilots are gone", func() bool { return b.must("squeue", "-h") == "" })
	begun := time.Now()
	b.must("sbatch", "--parsable", fmt.Sprintf("--array=1-%d", tasks), "-n", "1", "-o", "/dev/null", "--wrap", "/bin/true")
	b.until("the array has ended", func() bool { return b.must("squeue", "-h") == "" })
	array := tasks / time.Since(begun).Seconds()
	busy := jobs / (slots * second.Seconds())
	t.Logf("%.1f jobs a second, a Slurm array %.1f; with jobs of a second slots are busy for %.1f %% of the time", pool, array, 100*busy)
	if pool < 5*array || busy < 0.9 {
		t.Error("want 5 times as many, and 90 %")
	}
}

// endedChild reports whether a child has ended.
func endedChild(pid int) bool {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return len(text) == 0 || strings.Contains(string(text), ") Z ")
}

// jobs returns the pilots that the engine has, by its name for their jobs.
func (b *batch) jobs() map[string]int {
	b.Helper()
	list := []string{"qstat", "-u", "*", "-xml"}
	if b.kind == "slurm" {
		list = []string{"squeue", "--noheader", "--format=%i %j"}
	}
	all := map[string]int{}
	for _, found := range jobsOf[b.kind].FindAllStringSubmatch(b.must(list...), -1) {
		all[found[1]], _ = strconv.Atoi(found[2])
	}
	return all
}
