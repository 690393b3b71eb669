package starter

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fairspool/cmd/internal/desk"
	"fairspool/internal/testenv"
	"fairspool/lib/supervise"
)

// TestKilledOnAPilotsMachine has a supervisor on another machine, which is this one at the other end of a pipe, killed
// when it has done what the row says. The pilot repairs that, and the job runs to its end, as if nothing had been.
func TestKilledOnAPilotsMachine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		at     supervise.Step
		begins string // how often the program is begun
		events string // of its log; a later attempt tells of its beginning
	}{
		{desk.Locked, "1", "1 5"},
		{desk.Begun, "1", "7 1 5"},
		{supervise.Placing, "1", "7 1 5"},
		{supervise.Placed, "1", "7 1 5"},
		{supervise.Executed, "1|2", "7 1 5|1 7 1 5"},
		{supervise.Logged, "1|2", "7 1 5|1 7 1 5"}, // it is told beside the job
		{supervise.Ended, "2", "1 7 1 5|7 1 5"},
		{supervise.Alone, "2", "1 7 1 5|7 1 5"},
		{supervise.Stored, "2", "1 7 1 5|7 1 5"},
		{supervise.Tidied, "2", "1 7 1 5|7 1 5"},
		{desk.Finished, "1", "1 5"},
		{desk.Unlocked, "1", "1 5"},
	} {
		for _, domain := range []string{"head", "n1"} {
			t.Run(string(c.at)+" "+domain, func(t *testing.T) {
				t.Parallel()
				p := newPilots(t, domain, string(c.at))
				p.ends()
				if got := fmt.Sprint(strings.Count(p.read("begun"), "\n")); !among(got, c.begins) {
					t.Errorf("the program was begun %s times, want %s", got, c.begins)
				}
				if got := spaced(p.events()); !among(got, c.events) {
					t.Errorf("events %s, want %s", got, c.events)
				}
			})
		}
	}
}

func among(text, choices string) bool {
	for choice := range strings.SplitSeq(choices, "|") {
		if choice == text {
			return true
		}
	}
	return false
}

// pilots is a pool whose one job runs on n1, where a supervisor kills itself at a step.
type pilots struct {
	*testing.T
	dir string
}

func newPilots(t *testing.T, domain, step string) pilots {
	t.Helper()
	p := pilots{t, t.TempDir()}
	self, err := os.Executable()
	testenv.OK(t, err)
	script := fmt.Sprintf("#!/bin/sh\nunset FAIRSPOOL_DIR FAIRSPOOL_CONFIG\nexport %s=1 %s='%s %s %[3]s'\nshift; exec sh -c \"$*\"\n", isStarter, dies, step, p.path("died"))
	testenv.WriteProgram(t, p.path("ssh"), []byte(script))
	testenv.WriteProgram(t, p.path("job"), []byte("#!/bin/sh\nexec 8>>HERE/lock\nflock -n 8 || echo overlap >>HERE/overlap\necho >>HERE/begun\nsetsid sleep 1000 &\necho made >made\n"))
	p.write("job", strings.ReplaceAll(p.read("job"), "HERE", p.dir))
	p.write("fairspool.toml", fmt.Sprintf("NETWORK_HOSTNAME = 'head'\nUID_DOMAIN = 'pool'\n[engine.farm]\nKIND = 'ssh'\nHOSTS = ['n1']\nSSH = ['%s']\nSTARTER = '%s'\nSTATE = '%s'\nFILESYSTEM_DOMAIN = '%s'\n",
		p.path("ssh"), self, p.path("state"), domain))
	p.write("job.sub", "executable = job\nlog = log\ntransfer_output_files = made\nrequirements = Machine == \"n1\"\nqueue\n")
	p.run("submit", "job.sub")
	return p
}

func (p pilots) path(name string) string { return filepath.Join(p.dir, name) }

func (p pilots) read(name string) string {
	text, _ := os.ReadFile(p.path(name))
	return string(text)
}

func (p pilots) write(name, text string) {
	p.Helper()
	if err := os.WriteFile(p.path(name), []byte(text), 0o700); err != nil {
		p.Fatal(err)
	}
}

func (p pilots) command(args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(testenv.Commands(p), args[0]), args[1:]...)
	c.Dir = p.dir
	c.Env = append(os.Environ(), "HOME="+p.dir, "FAIRSPOOL_DIR="+p.path("spool"), "FAIRSPOOL_CONFIG="+p.path("fairspool.toml"))
	return c
}

func (p pilots) run(args ...string) string {
	p.Helper()
	out, err := p.command(args...).CombinedOutput()
	if err != nil {
		p.Errorf("%v: %v: %s", args, err, out)
	}
	return string(out)
}

// ends has cycles and a link until the job has ended, and holds that it has done so once, after a supervisor died.
func (p pilots) ends() {
	p.Helper()
	serve := p.command("serve", "-pilot", "-engine", "farm", "-machine", "n1")
	if err := serve.Start(); err != nil {
		p.Fatal(err)
	}
	defer func() { serve.Process.Signal(syscall.SIGTERM); serve.Wait() }()
	testenv.Until(p, "the job has ended", func() bool {
		p.run("negotiate", "-q")
		return p.run("qstat", "-af", "ProcId") == ""
	})
	testenv.Until(p, "nothing is left of the attempts", func() bool {
		files, _ := filepath.Glob(p.path("state/claims.d/*"))
		scratch, _ := filepath.Glob(p.path("state/execute/*"))
		return len(files)+len(scratch)+len(processesWith("cmdline", []byte(p.dir+"/state\x00-supervise"))) == 0
	})
	if p.read("died") == "" {
		p.Error("no supervisor died")
	}
	if got, want := strings.Join(strings.Fields(p.run("qstat", "-history", "-af", "JobStatus", "ExitCode")), " "), "4 0"; got != want {
		p.Errorf("the job: %s, want %s once", got, want)
	}
	if p.read("made") != "made\n" || p.read("overlap") != "" {
		p.Errorf("the job has made %q; two attempts at once: %q", p.read("made"), p.read("overlap"))
	}
	p.run("spool", "check")
}

// events returns the numbers of the events in the job's log behind that of its submission.
func (p pilots) events() (list []int) {
	for line := range strings.Lines(p.read("log")) {
		var n int
		if _, err := fmt.Sscanf(line, "%03d (", &n); err == nil && n != 0 {
			list = append(list, n)
		}
	}
	return list
}
