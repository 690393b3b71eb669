package pilotdesk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/desk"
	"fairspool/internal/testenv"
	"fairspool/lib/supervise"
)

// dies has the test binary be serve, which kills itself at a step if nobody has made the file behind the step before.
const dies = "PILOTDESK_TEST_DIES"

func TestMain(m *testing.M) {
	if at, mark, ok := strings.Cut(os.Getenv(dies), " "); ok {
		reached = func(s supervise.Step) {
			if string(s) != at {
				return
			}
			if f, err := os.OpenFile(mark, os.O_CREATE|os.O_EXCL, 0o600); err == nil {
				f.Close()
				syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		}
		cmdline.Main(cmdline.Command{
			Name: "serve", Synopsis: []string{""}, Run: Run,
			Flags: []cmdline.Flag{{Name: "pilot"}, {Name: "engine", Args: []string{"NAME"}}, {Name: "machine", Args: []string{"HOST"}}},
		})
		return
	}
	os.Exit(testenv.Run(m))
}

// TestKilledAfterEachStep has serve killed when it has done what the row says for a job of two. Another one goes on: each
// job is begun and has ended once, and its log has both once.
func TestKilledAfterEachStep(t *testing.T) {
	t.Parallel()
	for _, at := range []supervise.Step{desk.Begun, desk.Kept, desk.Finished, desk.Concluded} {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			path := func(name string) string { return filepath.Join(h.dir, name) }
			testenv.WriteProgram(t, path("ssh"), []byte("#!/bin/sh\nunset FAIRSPOOL_DIR FAIRSPOOL_CONFIG\nshift; exec sh -c \"$*\"\n"))
			testenv.WriteProgram(t, path("job"), []byte("#!/bin/sh\necho $1 >>"+path("begun")+"\necho $1 >made.$1\n"))
			config := fmt.Sprintf("NETWORK_HOSTNAME = 'head'\nUID_DOMAIN = 'pool'\n[engine.farm]\nKIND = 'ssh'\nHOSTS = ['n1']\nSSH = ['%s']\nSTARTER = '%s'\nSTATE = '%s'\n",
				path("ssh"), filepath.Join(h.bin, "starter"), path("state"))
			sub := "executable = job\narguments = $(Process)\nlog = log\ntransfer_output_files = made.$(Process)\nrequirements = Machine == \"n1\"\nrequest_cpus = 2\nqueue 2\n"
			testenv.OK(t, errors.Join(os.WriteFile(path("fairspool.toml"), []byte(config), 0o600), os.WriteFile(path("job.sub"), []byte(sub), 0o600)))
			h.run("submit", "job.sub")
			ended := make(chan struct{})
			var serve *exec.Cmd
			start := func() {
				self, err := os.Executable()
				testenv.OK(t, err)
				serve = exec.Command(self, "-pilot", "-engine", "farm", "-machine", "n1")
				serve.Dir, serve.Env = h.dir, append(h.command("serve").Env, dies+"="+string(at)+" "+path("died"))
				testenv.OK(t, serve.Start())
				ended = make(chan struct{})
				go func(c *exec.Cmd, ended chan struct{}) { c.Wait(); close(ended) }(serve, ended)
			}
			start()
			defer func() {
				serve.Process.Signal(syscall.SIGTERM)
				<-ended
				os.RemoveAll(path("state"))
				testenv.Until(t, "no supervisor is left without its folder", func() bool {
					lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
					return !slices.ContainsFunc(lines, func(line string) bool {
						text, _ := os.ReadFile(line)
						return strings.Contains(string(text), path("state"))
					})
				})
			}()
			testenv.Until(t, "the jobs have ended", func() bool {
				select {
				case <-ended:
					start()
				default:
				}
				h.run("negotiate", "-q")
				h.run("starter", "-q")
				return h.run("qstat", "-af", "ProcId") == ""
			})
			if _, err := os.Stat(path("died")); errors.Is(err, fs.ErrNotExist) {
				t.Error("serve has not died")
			}
			if got, want := h.run("qstat", "-history", "-af", "ProcId", "JobStatus", "ExitCode", "NumJobStarts"), []string{"0 4 0 1\n", "1 4 0 1\n"}; strings.Count(got, "\n") != 2 || !strings.Contains(got, want[0]) || !strings.Contains(got, want[1]) {
				t.Errorf("the jobs are %q, want %q", got, want)
			}
			for name, want := range map[string]string{"begun": "0 1", "made.0": "0", "made.1": "1"} {
				text, _ := os.ReadFile(path(name))
				words := strings.Fields(string(text))
				slices.Sort(words) // a machine may run both at once
				if got := strings.Join(words, " "); got != want {
					t.Errorf("%s has %q, want %q", name, got, want)
				}
			}
			testenv.Until(t, "the log has both ends", func() bool {
				h.run("starter", "-q")
				text, _ := os.ReadFile(path("log"))
				return strings.Count(string(text), "005 (") == 2
			})
			text, _ := os.ReadFile(path("log"))
			if begun := strings.Count(string(text), "001 ("); begun > 2 {
				t.Errorf("the log is told %d times that a program begins", begun)
			}
			h.run("spool", "check")
		})
	}
}
