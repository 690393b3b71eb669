package cmd

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fairspool/internal/testenv"
)

// daemon returns the command of one of the engine's processes, by the name of the file that has its id.
func (b *batch) daemon(name string) []string {
	conf := b.site + "/slurm.conf"
	switch name {
	case "ctld":
		return []string{"/usr/sbin/slurmctld", "-D", "-f", conf}
	case "qmaster", "execd":
		return []string{"/usr/sbin/sge_" + name}
	}
	return []string{"/usr/sbin/slurmd", "-D", "-N", name, "-f", conf}
}

// kill kills one of the engine's processes.
func (b *batch) kill(name string) {
	b.Helper()
	text, err := os.ReadFile(b.site + "/" + name + ".mypid")
	pid, wrong := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || wrong != nil || syscall.Kill(pid, syscall.SIGKILL) != nil {
		b.Fatalf("%s is not there: %q, %v", name, text, err)
	}
	testenv.Until(b.T, name+" has ended", func() bool { return syscall.Kill(pid, 0) != nil || endedChild(pid) })
}

// revive starts one of the engine's processes again.
func (b *batch) revive(name string) {
	b.Helper()
	args := b.daemon(name)
	c := b.engine(args...)
	c.Env = append([]string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/"}, b.env...) // nothing of the farm's, whose processes are found by that
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := os.OpenFile(b.site+"/log/"+name+".again", os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	testenv.OK(b, err)
	defer out.Close()
	c.Stdout, c.Stderr = out, out
	testenv.OK(b, c.Start())
	go c.Wait()
	testenv.OK(b, os.WriteFile(b.site+"/"+name+".mypid", []byte(strconv.Itoa(c.Process.Pid)), 0o600))
	b.Cleanup(func() {
		if text, _ := os.ReadFile(out.Name()); b.Failed() {
			b.Logf("%s: %s", name, text[max(0, len(text)-2000):])
		}
	})
}

// reconfigured has Slurm go by another configuration.
func (b *batch) reconfigured(change func(string) string) {
	b.Helper()
	text, err := os.ReadFile(b.site + "/slurm.conf")
	testenv.OK(b, err)
	write(b.T, b.site+"/slurm.conf", change(string(text)))
	for _, name := range []string{"ctld", "n1", "n2"} {
		b.kill(name)
		b.revive(name)
	}
	b.until("Slurm has its nodes", func() bool {
		out, err := b.engine("sinfo", "-h", "-r", "-p", "main", "-t", "idle", "-o", "%D").Output()
		return err == nil && strings.TrimSpace(string(out)) == "2"
	})
}

// running returns the engine's names for the jobs that it runs, by pilot; nil if it does not answer. A Slurm that was killed may give a name
// to another job.
func (b *batch) running() map[int]string {
	list := []string{"squeue", "-h", "-t", "R", "-o", "%i %j"}
	if b.kind == "sge" {
		list = []string{"qstat", "-u", "*", "-s", "r", "-xml"}
	}
	out, err := b.engine(list...).Output()
	if err != nil {
		return nil
	}
	all := map[int]string{}
	for _, found := range jobsOf[b.kind].FindAllStringSubmatch(string(out), -1) {
		pilot, _ := strconv.Atoi(found[2])
		all[pilot] = found[1]
	}
	return all
}

// jobsOf finds the names of an engine's jobs, and the pilots that they are.
var jobsOf = map[string]*regexp.Regexp{
	"slurm": regexp.MustCompile(`(?m)^(\d+) fs-\w+-(\d+)$`),
	"sge":   regexp.MustCompile(`(?s)<JB_job_number>(\d+)</JB_job_number>.*?<JB_name>fs-\w+-(\d+)</JB_name>`),
}

// TestSoakEngineDaemonsKilled kills processes of a real engine just after a pilot has begun, and starts them again: each job ends once.
func TestSoakEngineDaemonsKilled(t *testing.T) {
	testenv.SoakWhole(t)
	for _, c := range []struct{ system, daemon string }{{"slurm", "ctld"}, {"slurm", "n1"}, {"sge", "qmaster"}, {"sge", "execd"}} {
		t.Run(c.daemon, func(t *testing.T) { daemonsKilled(t, c.system, c.daemon, 20) })
	}
}

func daemonsKilled(t *testing.T, system, daemon string, times int) {
	b := newQueue(t, system, system)
	write(t, b.path("fairspool.toml"), "JOB_LEASE = 10\nMACHINE_MAX_VACATE_TIME = 5\n"+b.config)
	jobs := 15 * times
	b.submit(jobs, "")
	b.cron()
	seen := map[int]bool{}
	for range times {
		b.until("another pilot has begun", func() bool {
			if b.queued() == 0 {
				t.Fatal("all jobs have ended before")
			}
			for pilot := range b.running() {
				if !seen[pilot] {
					seen[pilot] = true
					return true
				}
			}
			return false
		})
		lasts(300 * time.Millisecond)
		b.kill(daemon)
		b.revive(daemon)
		b.until("the engine answers", func() bool { return b.running() != nil })
		lasts(time.Second)
		if system == "slurm" { // which drains nodes that have a job that it does not remember
			b.engine("scontrol", "update", "NodeName=n1,n2", "State=RESUME").Run()
		}
		for pilot, ref := range b.running() {
			seen[pilot] = true
			b.engine(map[string]string{"slurm": "scancel", "sge": "qdel"}[system], ref).Run()
		}
	}
	write(t, b.path("told.d/short"), "")
	t.Logf("%d jobs were begun %d times, in pilots of %d", jobs, b.ended(jobs), len(seen))
}

// TestSoakEngineTakesMachinesBack has a real engine end pilots, with jobs that do not mind signals, for reasons of its own: the jobs are
// idle again with a reason that names the engine, none has ended, and all end later.
func TestSoakEngineTakesMachinesBack(t *testing.T) {
	testenv.SoakWhole(t)
	for _, c := range []struct {
		name string
		ask  string
		end  func(b *batch)
		why  string
	}{
		{"time limit", `"-t", "1", "--signal=B:USR1@20"`, func(*batch) {}, `^its pilot hpc-\d leaves: Slurm sent SIGUSR1$`},
		{"preemption", "", func(b *batch) {
			b.must("sbatch", "-p", "high", "-N", "2", "-n", "8", "-o", "/dev/null", "--wrap", "sleep 3")
		}, `^its pilot hpc-\d leaves: Slurm sent SIGTERM$`},
		{"node failure", "", func(b *batch) { b.lose(); lasts(15 * time.Second); b.revive("n1"); b.revive("n2") }, `^its machine hpc-\d was not heard of for [\dms]+; job \d+ of engine hpc is over: NODE_FAIL`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newQueue(t, "slurm", "slurm")
			config := fmt.Sprintf("JOB_LEASE = 50\nMACHINE_MAX_VACATE_TIME = 5\n%s", b.config)
			if c.ask != "" {
				config += fmt.Sprintf("ASK = [%s]\n", c.ask)
			}
			write(t, b.path("fairspool.toml"), config)
			b.reconfigured(func(conf string) string {
				conf = strings.Replace(conf, "PartitionName=main ", "PartitionName=high Nodes=ALL PriorityTier=10\nPartitionName=main PriorityTier=1 GraceTime=20 ", 1)
				return conf + "PreemptType=preempt/partition_prio\nPreemptMode=CANCEL\n"
			})
			b.submit(2, "9")
			b.cron()
			b.until("two jobs run", func() bool { return b.told("begin") == 2 })
			write(t, b.path("told.d/short"), "")
			c.end(b)
			why := regexp.MustCompile(c.why)
			seen := map[string]bool{} // the jobs that are idle again for the engine
			b.until("both jobs have left", func() bool {
				for line := range strings.Lines(b.run("qstat", "-constraint", "VacateReason isnt undefined", "-af", "ProcId", "VacateReason")) {
					if proc, reason, _ := strings.Cut(strings.TrimSpace(line), " "); why.MatchString(reason) {
						seen[proc] = true
					}
				}
				return len(seen) == 2 || b.queued() == 0
			})
			if len(seen) != 2 {
				t.Errorf("jobs %v have left for the engine, want both: %s", seen, b.run("qstat", "-history", "-af", "ProcId", "JobStatus", "ExitSignal", "RemoveReason", "NumJobStarts", "VacateReason"))
			}
			if b.ended(2) != 4 {
				t.Errorf("2 jobs were begun %d times, want each twice", b.told("begin"))
			}
		})
	}
}

// lose has all nodes of Slurm lose their power: what runs there ends.
func (b *batch) lose() {
	b.Helper()
	b.kill("n1")
	b.kill("n2")
	ends := map[int]bool{}
	for _, p := range b.processes() {
		ends[p.pid] = true
		for pid := p.pid; pid > 1; {
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if strings.HasPrefix(string(line), "slurmstepd:") {
				ends[pid] = true
			}
			_, rest, _ := strings.Cut(string(text), ") ")
			pid = 0
			fmt.Sscanf(rest, "%c %d", new(rune), &pid)
		}
	}
	for _, sig := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} { // so none sees another one's end
		for pid := range ends {
			syscall.Kill(pid, sig)
		}
	}
}

// TestPoliciesAcrossEngines has jobs of three users on 70 slots, half of them of pilots in Slurm: by each policy each
// user has as many as if all were the pool's own.
func TestPoliciesAcrossEngines(t *testing.T) {
	t.Parallel()
	b := newQueue(t, "slurm", "slurm")
	b.reconfigured(func(conf string) string {
		return strings.ReplaceAll(conf, "CPUs=4 RealMemory=1000", "CPUs=35 RealMemory=100000")
	})
	for _, policy := range []struct{ name, config string }{
		{"condor", ""}, {"maui", "JOB_PRIORITY_POLICY = \"maui\"\n"}, {"sge", "JOB_PRIORITY_POLICY = \"sge\"\n"},
	} {
		t.Run(policy.name, func(t *testing.T) {
			shares := func(own int, rest bool) (users string, slots int) {
				os.RemoveAll(b.path("spool"))
				os.RemoveAll(b.path("state"))
				config := strings.NewReplacer("Cpus = 1, Memory = 200", "Cpus = 35, Memory = 35000", "MAX_PILOTS = 3", "MAX_PILOTS = 1").Replace(b.config)
				write(t, b.path("fairspool.toml"), policy.config+config)
				b.run("slots", "detect", "-count", strconv.Itoa(own))
				for i, user := range []string{"alice", "bob", "carol"} {
					write(t, b.path("job.sub"), "executable = /bin/sleep\narguments = 1000\nrequest_memory = 10\nrequest_disk = 10\naccounting_group_user = "+user+"\nqueue 70\n")
					b.run("submit", "job.sub")
					b.run("userprio", "-setprio", user+"@pool", strconv.Itoa(5<<i))
				}
				if rest {
					asked := b.glide().Asked
					slots = asked * 35
					b.until("the pilots are there", func() bool { return strings.Count(b.run("slots", "list", "-af", "Name"), "\n") == own+asked })
				}
				b.run("negotiate", "-q")
				n := map[string]int{}
				for line := range strings.Lines(b.run("slots", "list", "-af", "RemoteUser")) {
					if user, _, claimed := strings.Cut(line, "@"); claimed {
						n[user]++
					}
				}
				b.run("qdel", "-a")
				if rest {
					b.engine("scancel", "--user=root").Run()
					b.until("the pilots are gone", func() bool { return len(b.running()) == 0 })
				}
				return fmt.Sprint(n), own + slots
			}
			across, slots := shares(35, true)
			if local, _ := shares(slots, false); across != local {
				t.Errorf("with half of the slots in Slurm users have %s, want %s", across, local)
			}
			if policy.name == "condor" && across != "map[alice:40 bob:20 carol:10]" {
				t.Errorf("the users have %s", across)
			}
			t.Logf("%d slots: %s", slots, across)
		})
	}
}
