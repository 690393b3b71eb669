package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/internal/testenv"
	"fairspool/lib/pool"
)

// ground is a spool of its own, in which the built commands are run.
type ground struct {
	*testing.T
	bin, dir, spool string
	path            string   // PATH
	env             []string // more of the environment of commands
}

func newGround(t *testing.T) *ground {
	cmdtest.NeedUsers(t)
	g := &ground{T: t, bin: testenv.Commands(t), dir: t.TempDir(), path: os.Getenv("PATH")}
	g.spool = filepath.Join(g.dir, "spool")
	cmdtest.Share(t, g.dir)
	// A starter that nobody waits for would go on with the next job behind the model's back.
	write(t, filepath.Join(g.dir, "fairspool.toml"), fmt.Sprintf("UID_DOMAIN = \"pool\"\nNETWORK_HOSTNAME = \"node1\"\nCLAIM_WORKLIFE = 0\nLICENCE_LIMIT = %d\nPREEMPTION_REQUIREMENTS = \"true\"\n", licences))
	cmdtest.Share(t, filepath.Join(g.dir, "fairspool.toml")) // submit -owner reads it as the owner
	return g
}

// command returns a process of a command that is still to be started. The
// policy time stands still, so that what it shows follows from the calls.
func (g *ground) command(c context.Context, args ...string) *exec.Cmd {
	p := exec.CommandContext(c, filepath.Join(g.bin, args[0]), args[1:]...)
	p.Dir = g.dir
	p.Env = []string{
		"HOME=" + g.dir, "PATH=" + g.path, "FAIRSPOOL_DIR=" + g.spool,
		"FAIRSPOOL_CONFIG=" + filepath.Join(g.dir, "fairspool.toml"), "FAIRSPOOL_NOW=1900000000", "FAIRSPOOL_CYCLE_ON_CHANGE=false",
	}
	p.Env = append(p.Env, g.env...)
	p.WaitDelay = testenv.Longest
	return p
}

// answer is what a process said. The status of one that was killed is -1.
type answer struct {
	status   int
	out, bad string
}

// process is a command on its way.
type process struct {
	*exec.Cmd
	out, bad bytes.Buffer
	cancel   context.CancelFunc
}

// process returns a process that is still to be started, and is killed if it hangs.
func (g *ground) process(stdin string, args ...string) *process {
	c, cancel := context.WithTimeout(context.Background(), testenv.Longest)
	p := &process{Cmd: g.command(c, args...), cancel: cancel}
	p.Stdin, p.Stdout, p.Stderr = strings.NewReader(stdin), &p.out, &p.bad
	return p
}

func (p *process) answer() answer {
	defer p.cancel()
	err := p.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return answer{-2, p.out.String(), err.Error()}
	}
	return answer{p.ProcessState.ExitCode(), p.out.String(), p.bad.String()}
}

func (g *ground) run(stdin string, args ...string) answer {
	p := g.process(stdin, args...)
	if err := p.Start(); err != nil {
		return answer{-2, "", err.Error()}
	}
	return p.answer()
}

// call is one call of a command, and what may follow from it.
type call struct {
	args  []string
	stdin string
	did   func(out string) ([]step, error) // with exit status 0
	no    []step                           // with exit status 1; nil: that never happens
	busy  bool                             // whether exit status 75 is an answer
	might []step                           // when the answer was lost: all of it or none
}

// steps returns what the command did by its answer. An error is an answer
// that it must not give. Where the policy time stands still, jobs that last end
// after it, which commands may tell.
func (c call) steps(a answer) ([]step, error) {
	a.bad = without(a.bad, "before the last event; the time of the last event is used")
	switch lines := strings.Count(a.bad, "\n"); {
	case a.status == 0 && a.bad == "":
		return c.did(a.out)
	case a.status == 1 && c.no != nil && a.out == "" && lines >= 1:
		return c.no, nil
	case a.status == 75 && c.busy && a.out == "" && lines == 1:
		return nil, nil
	}
	return nil, fmt.Errorf("%v = %d, %q, %q", c.args, a.status, a.out, a.bad)
}

// without takes out the lines that say something.
func without(text, something string) string {
	var rest strings.Builder
	for line := range strings.Lines(text) {
		if !strings.Contains(line, something) {
			rest.WriteString(line)
		}
	}
	return rest.String()
}

// words are what a random call chooses from.
type words struct {
	*rand.Rand
	clusters []int // submitted by the caller
	last     int   // so many seconds the jobs last that have to go for others
}

// resting are clusters 1 and 2 of every ground, of two jobs each, that never
// leave.
var resting = []string{"1.0", "1.1", "2.0", "2.1", "1", "2"}

// jobs names one or two resting jobs, or whatever else was submitted.
func (w *words) job() string {
	if len(w.clusters) == 0 || w.IntN(2) == 0 {
		return resting[w.IntN(len(resting))]
	}
	return w.other()
}

// other names a cluster or a job that does not rest, or that was never there.
func (w *words) other() string {
	if len(w.clusters) == 0 {
		return "9999.7"
	}
	cluster := strconv.Itoa(w.clusters[w.IntN(len(w.clusters))])
	return cluster + []string{"", ".0", ".1"}[w.IntN(3)]
}

// steered names the jobs to hold or to release: all sorts of jobs if jobs last, else
// those that never run, as their time of start says nothing.
func (w *words) steered() string {
	if w.last > 0 {
		return w.job()
	}
	return resting[w.IntN(len(resting))]
}

func (w *words) slots() []string {
	first := w.IntN(slotCount)
	return []string{slotName(first), slotName((first + 1) % slotCount)}[:1+w.IntN(2)]
}

const slotCount = 4

func slotName(n int) string { return fmt.Sprintf("slot%d@node1", n+1) }

// divided is the partitionable slot, which is there now and then.
const divided = "divided@node1"

// writers are the commands that change the spool, each with how often it is
// called and a random call of it. `spool compact` and the like join by a row.
var writers = []struct {
	name string
	many int
	call func(w *words) call
}{
	{"submit", 4, func(w *words) call {
		j := job{owner: []string{"alice", "bob"}[w.IntN(2)], cores: 1 + w.IntN(6)/4, licensed: w.IntN(4) == 0}
		if j.owner == "bob" {
			j.lasts = w.last
		}
		return submitEach(1+w.IntN(5), j)
	}},
	{"prio", 6, func(w *words) call {
		n, adjust := w.IntN(9)-4, w.IntN(3) > 0
		names := []string{w.job()}
		if w.IntN(2) == 0 {
			names = []string{"1.0", "2.0"}
		}
		return prioritise(n, adjust, names)
	}},
	{"qdel", 3, func(w *words) call { return remove(w.other()) }},
	{"qhold", 3, func(w *words) call { return steer("qhold", w.steered(), (*model).hold) }},
	{"qrls", 3, func(w *words) call { return steer("qrls", w.steered(), (*model).release) }},
	{"slots advertise", 4, func(w *words) call {
		return advertise(w.slots(), slot{1 + w.IntN(1000), w.IntN(5) > 0, 0, w.IntN(2) > 0})
	}},
	{"slots advertise " + divided, 2, func(w *words) call {
		return advertise([]string{divided}, slot{1 + w.IntN(1000), w.IntN(6) > 0, 1 + w.IntN(4), false})
	}},
	{"slots withdraw", 1, func(w *words) call {
		names := w.slots()
		if w.IntN(4) == 0 {
			names = []string{divided}
		}
		return withdraw(names)
	}},
	{"userprio", 4, func(w *words) call {
		flag := []string{"-setprio", "-setfactor", "-setceiling", "-setfloor", "-resetusage", "-delete"}[w.IntN(6)]
		return edit(flag, fmt.Sprintf("fair%d@pool", w.IntN(2)), float64(1+w.IntN(50)))
	}},
	{"negotiate", 4, func(*words) call { return negotiation }},
	{"starter", 3, func(*words) call { return pass }},
	{"spool compact", 1, func(*words) call { return compaction }},
}

var (
	negotiation = call{args: []string{"negotiate", "-json"}, busy: true, did: func(out string) ([]step, error) {
		pairs, err := matches(out)
		return []step{matched(pairs)}, err
	}}
	pass       = call{args: []string{"starter", "-json", "-wait"}, did: started}
	compaction = call{args: []string{"spool", "compact"}, busy: true, did: anything}
)

// readers are the commands that only look.
var readers = []struct {
	name string
	call call
}{
	{"qstat", listing(showJobs, "qstat", "-af", "ClusterId", "ProcId", "Owner", "JobPrio", "JobStatus", "NumJobMatches", "NumJobStarts")},
	{"slots list", listing(showSlots, "slots", "list", "-af", "Name", "Serial", "Requirements", "Cpus", "JobId", "State", "PreemptingJobId")},
	{"userprio", listing(showSubmitters, "userprio", "-allusers", "-af", "Name", "PriorityFactor", "Ceiling", "Floor", "ResourcesUsed", "WeightedResourcesUsed",
		`ifThenElse(substr(Name, 0, 4) == "fair", Priority, "-")`)},
	{"negotiate -dry-run", call{args: []string{"negotiate", "-dry-run", "-json"}, did: func(out string) ([]step, error) {
		pairs, err := matches(out)
		return []step{wouldMatch(pairs)}, err
	}}},
	{"negotiate -what-if", call{args: []string{"negotiate", "-json", "-what-if", "userprio -setfactor alice@pool 3", "-what-if", "config LICENCE_LIMIT=1"}, did: anything}},
	{"negotiate -explain", call{args: []string{"negotiate", "-json", "-explain", "1.0"}, did: anything}},
	{"spool check", call{args: []string{"spool", "check"}, did: anything}},
}

// anything is what a command says that does not change what the pool holds.
func anything(string) ([]step, error) { return nil, nil }

func silent(done []step) func(string) ([]step, error) {
	return func(out string) ([]step, error) {
		if out != "" {
			return nil, fmt.Errorf("said %q, want nothing", out)
		}
		return done, nil
	}
}

func listing(show func(*model) string, args ...string) call {
	return call{args: args, did: func(out string) ([]step, error) {
		lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
		lines = slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, carol+" ") })
		return []step{saw(show, sorted(lines))}, nil
	}}
}

// submit is a call that submits n jobs of one core.
func submit(n int, owner string, rests bool) call {
	return submitEach(n, job{owner: owner, rests: rests, cores: 1})
}

// submitEach is a call that submits n jobs. Each adds a line to starts when it runs.
func submitEach(n int, each job) call {
	script := "echo $FAIRSPOOL_JOB >>starts"
	if each.lasts > 0 {
		script = fmt.Sprintf("sleep %d; %s", each.lasts, script)
	}
	text := "executable = /bin/sh\narguments = \"-c '" + script + "'\"\n"
	if each.rests {
		text += "requirements = false\n"
	}
	if each.cores > 1 {
		text += fmt.Sprintf("request_cpus = %d\n", each.cores)
	}
	if each.licensed {
		text += "concurrency_limits = licence\n"
	}
	return call{args: []string{"submit", "-json", "-owner", each.owner, "-"}, stdin: fmt.Sprintf("%squeue %d\n", text, n),
		might: []step{submitted(0, n, each)},
		did: func(out string) ([]step, error) {
			jobs, cluster := clusterOf(out)
			if jobs != n {
				return nil, fmt.Errorf("submit of %d jobs said %q", n, out)
			}
			return []step{submitted(cluster, n, each)}, nil
		}}
}

// clusterOf returns the number of jobs and the cluster in submit's output; 0 when out is
// not submit's.
func clusterOf(out string) (jobs, cluster int) {
	var report struct{ ClusterId, Jobs int }
	if json.Unmarshal([]byte(out), &report) != nil {
		return 0, 0
	}
	return report.Jobs, report.ClusterId
}

// prioritise is a call that sets the priority of the named jobs to n, or adds n.
func prioritise(n int, adjust bool, names []string) call {
	args := []string{"prio", "-p", strconv.Itoa(n)}
	if adjust {
		args = []string{"prio", fmt.Sprintf("%+d", n)}
	}
	done := []step{prioritised(n, adjust, names)}
	return call{args: append(args, names...), did: silent(done), no: []step{missing(names)}, might: done}
}

// remove is a call that takes jobs out of the queue.
func remove(names ...string) call {
	return call{args: append([]string{"qdel"}, names...), no: []step{missing(names)}, might: []step{removed(names, nil)},
		did: func(out string) ([]step, error) {
			answers, err := outcomesOf(out)
			return []step{removed(names, answers)}, err
		}}
}

// withdraw is a call that withdraws slots.
func withdraw(names []string) call {
	done := []step{withdrawn(names, false)}
	return call{args: append([]string{"slots", "withdraw"}, names...), no: []step{withdrawn(names, true)}, might: done,
		did: func(string) ([]step, error) { return done, nil }}
}

func advertise(names []string, s slot) call {
	var ads strings.Builder
	for _, name := range names {
		fmt.Fprintf(&ads, "Name = %q\nMachine = \"node1\"\nMemory = 1024\nDisk = 1000000\nSerial = %d\nRequirements = %v\n", name, s.serial, s.open)
		if s.held {
			fmt.Fprintf(&ads, "State = \"Claimed\"\nActivity = \"Busy\"\nRemoteUser = %q\n", carol)
		}
		if s.cores > 0 {
			fmt.Fprintf(&ads, "PartitionableSlot = true\nCpus = %d\n", s.cores)
		}
		ads.WriteByte('\n')
	}
	done := []step{advertised(names, s)}
	return call{args: []string{"slots", "advertise", "-"}, stdin: ads.String(), might: done,
		did: func(string) ([]step, error) { return done, nil }}
}

func edit(flag, name string, x float64) call {
	done := []step{edited(flag, name, x, false)}
	c := call{args: []string{"userprio", flag, name}, no: []step{edited(flag, name, x, true)}, might: done,
		did: func(string) ([]step, error) { return done, nil }}
	if strings.HasPrefix(flag, "-set") {
		c.args = append(c.args, fmt.Sprint(x), "-create")
	}
	return c
}

// steer is a call of qhold or qrls.
func steer(command, name string, one func(*model, pool.JobID) string) call {
	return call{args: []string{command, name}, no: []step{unsteered(one, name)}, might: []step{steered(one, name, nil)},
		did: func(out string) ([]step, error) {
			answers, err := outcomesOf(out)
			return []step{steered(one, name, answers)}, err
		}}
}

var outcomeLine = regexp.MustCompile(`^Jobs? (\d+)\.(\d+)(?:-(\d+))? (.*)$`)

// outcomesOf reads what qdel, qhold and qrls say: the answer of each job.
func outcomesOf(out string) (map[pool.JobID]string, error) {
	answers := map[pool.JobID]string{}
	for line := range strings.Lines(out) {
		part := outcomeLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if part == nil {
			return nil, fmt.Errorf("a command said %q", line)
		}
		if part[3] == "" {
			part[3] = part[2]
		}
		cluster, _ := strconv.Atoi(part[1])
		first, _ := strconv.Atoi(part[2])
		last, _ := strconv.Atoi(part[3])
		for proc := first; proc <= last; proc++ {
			answers[pool.JobID{Cluster: cluster, Proc: proc}] = part[4]
		}
	}
	return answers, nil
}

// matches reads negotiate's report.
func matches(out string) (pairs []match, err error) {
	var report struct {
		Matches []struct{ Job, Slot, Preempts, PreemptedSubmitter string }
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		return nil, err
	}
	for _, m := range report.Matches {
		id, err := pool.ParseJobID(m.Job)
		if err != nil {
			return nil, err
		}
		one := match{job: id, slot: m.Slot, from: m.PreemptedSubmitter}
		if m.Preempts != "" {
			if one.holder, err = pool.ParseJobID(m.Preempts); err != nil {
				return nil, err
			}
		}
		pairs = append(pairs, one)
	}
	return pairs, nil
}

// started reads what a pass of starter -wait reports: the jobs that it
// started, which have ended by then.
func started(out string) (steps []step, err error) {
	begins, err := starting(out)
	for _, s := range begins {
		if steps = append(steps, s); s.of != (pool.JobID{}) {
			steps = append(steps, ended(s.of))
		}
	}
	return steps, err
}

// starting reads what a pass reports that does not wait.
func starting(out string) (steps []step, err error) {
	var report struct{ Started, Failed, Lost []any }
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		return nil, err
	}
	if len(report.Failed)+len(report.Lost) > 0 {
		return nil, fmt.Errorf("starter reports trouble: %s", out)
	}
	steps = append(steps, arrived())
	for _, text := range report.Started {
		id, err := pool.ParseJobID(fmt.Sprint(text))
		if err != nil {
			return nil, err
		}
		steps = append(steps, begun(id))
	}
	return steps, nil
}
