package launch

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/internal/testenv"
)

// realCriu returns criu(8), or what FAIRSPOOL_CRIU says is one, if it can do with this
// machine.
func realCriu(t *testing.T) *Criu {
	t.Helper()
	command := []string{"criu"}
	if text := os.Getenv("FAIRSPOOL_CRIU"); text != "" {
		command = strings.Fields(text)
	}
	c := NewCriu(command)
	if err := c.Usable(t.Context()); err != nil {
		t.Skipf("no transparent checkpoints on this machine: %v", err)
	}
	return c
}

// restoreIn, set in the environment, makes the test binary restore the job whose images are
// in the directory that it names, and wait for it.
const restoreIn = "LAUNCH_TEST_RESTORE"

func init() {
	if images := os.Getenv(restoreIn); images != "" {
		os.Exit(restorerMain(images))
	}
}

func restorerMain(images string) (code int) {
	c := NewCriu(strings.Fields(os.Getenv("LAUNCH_TEST_CRIU")))
	p, err := c.Restore(context.Background(), Job{}, images, nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	return p.Wait().Code
}

// eachAccount tries something with jobs of this user, and with those of another one where
// we may see and set what those have.
func eachAccount(t *testing.T, try func(t *testing.T, account Account)) {
	t.Run("own", func(t *testing.T) { try(t, CurrentAccount()) })
	t.Run("other", func(t *testing.T) {
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var have [2]unix.CapUserData
		testenv.OK(t, unix.Capget(&header, &have[0]))
		if os.Geteuid() != 0 || have[0].Effective&(1<<unix.CAP_SYS_RESOURCE) == 0 {
			t.Skip("criu reads and sets the limits of another user's processes only for root with CAP_SYS_RESOURCE")
		}
		try(t, Account{Name: "nobody", UID: 65534, GID: 65534})
	})
}

// dumped starts a job of an account that counts and has a child, and makes images of it.
// The numbers of its processes are free again when it returns.
func dumped(t *testing.T, c *Criu, account Account) (p *Process, job Job, images string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "launch-criu-")
	testenv.OK(t, err)
	t.Cleanup(func() { RemoveTree(dir) })
	testenv.OK(t, os.Chown(dir, account.UID, account.GID))
	job = shellIn(dir, `(trap 'echo child >child; exit' TERM; while :; do sleep 0.02; done) & `+counting)
	job.Account, job.Core = account, -1
	images = filepath.Join(t.TempDir(), "images")
	p = start(t, job, nil)
	testenv.Until(t, "the job has begun", func() bool { return lines(t, job.Out) > 3 })
	begun := time.Now()
	all := p.Tree()
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Longest)
	defer cancel()
	if err := c.Dump(ctx, p, images); err != nil {
		t.Fatalf("Dump = %v, want nil", err)
	}
	t.Logf("dumped in %v", time.Since(begun))
	if e := p.Wait(); e.Signal != int(unix.SIGKILL) {
		t.Errorf("after Dump the job ended as %+v, want SIGKILL", e)
	}
	testenv.Until(t, "init has reaped the job's other processes", func() bool {
		for _, pid := range all {
			if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err == nil {
				return false
			}
		}
		return true
	})
	return p, job, images
}

// A job that is dumped and restored goes on where it was, in the same files, as the same
// processes with the same rights, and as a child of ours.
func TestRealCriu(t *testing.T) {
	c := realCriu(t)
	eachAccount(t, func(t *testing.T, account Account) {
		p, job, images := dumped(t, c, account)
		at := lines(t, job.Out)
		begun := time.Now()
		again, err := c.Restore(t.Context(), job, images, nil)
		if err != nil {
			t.Fatalf("Restore = %v, want nil", err)
		}
		t.Logf("restored in %v", time.Since(begun))
		defer func() { again.Kill(); again.Wait() }()
		if again.PID() != p.PID() {
			t.Errorf("restored as %d, want %d", again.PID(), p.PID())
		}
		testenv.Until(t, "the job goes on", func() bool { return lines(t, job.Out) > at+3 })
		for i, line := range strings.Split(strings.TrimSpace(contents(t, job.Out)), "\n") {
			if line != fmt.Sprint(i+1) {
				t.Fatalf("line %d of the output is %q", i+1, line)
			}
		}
		var about unix.Stat_t
		if err := unix.Stat(fmt.Sprintf("/proc/%d", again.PID()), &about); err != nil || int(about.Uid) != account.UID {
			t.Errorf("the restored job belongs to %d, %v, want %d", about.Uid, err, account.UID)
		}
		if err := again.Signal(unix.SIGTERM); err != nil {
			t.Errorf("Signal = %v", err)
		}
		if e := again.Wait(); e.Signal != int(unix.SIGTERM) {
			t.Errorf("the restored job ended as %+v, want SIGTERM", e)
		}
	})
}

// A restored job ends with whoever restored it.
func TestRealCriuFollowsItsSupervisor(t *testing.T) {
	c := realCriu(t)
	eachAccount(t, func(t *testing.T, account Account) {
		p, job, images := dumped(t, c, account)
		at := lines(t, job.Out)
		supervisor := exec.Command(os.Args[0])
		supervisor.Env = append(os.Environ(), restoreIn+"="+images, "LAUNCH_TEST_CRIU="+strings.Join(c.command, " "))
		supervisor.Stderr = os.Stderr
		testenv.OK(t, supervisor.Start())
		defer supervisor.Process.Kill()
		testenv.Until(t, "the job goes on", func() bool { return lines(t, job.Out) > at+3 })
		supervisor.Process.Kill()
		supervisor.Wait()
		testenv.Until(t, "the job has gone", func() bool { return !alive(p.PID()) })
		// Its child is nobody's to end here.
		for _, pid := range inFolder(job.Dir) {
			unix.Kill(pid, unix.SIGKILL)
		}
	})
}

// inFolder returns the processes whose working directory a directory is.
func inFolder(dir string) (pids []int) {
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && to == dir {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(link))); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
