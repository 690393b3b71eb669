package launch

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"fairspool/internal/testenv"
)

// stopped reports whether a process stands still.
func stopped(pid int) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(b), ") T ")
}

// A job that has stopped itself sees the signal all the same.
func TestSignalWakes(t *testing.T) {
	dir := t.TempDir()
	p := start(t, shellIn(dir, `trap 'exit 7' TERM; kill -STOP $$; while :; do sleep 0.01; done`), nil)
	testenv.Until(t, "the job has stopped itself", func() bool { return stopped(p.PID()) })
	testenv.OK(t, p.Signal(syscall.SIGTERM))
	if got := p.Wait(); got.Code != 7 {
		t.Errorf("Wait = code %d, signal %d, want 7, 0", got.Code, got.Signal)
	}
}

// A job that is to stop stays so until it is told to go on.
func TestSignalStops(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGTSTP} {
		p := start(t, shellIn(t.TempDir(), `exec sleep 1000`), nil)
		testenv.OK(t, p.Signal(sig))
		if sig == syscall.SIGSTOP { // SIGTSTP does nothing to who leads a session by itself
			testenv.Until(t, "the job has stopped", func() bool { return stopped(p.PID()) })
			testenv.OK(t, p.Signal(syscall.SIGCONT))
		}
		testenv.Until(t, "the job goes on", func() bool { return !stopped(p.PID()) })
		testenv.OK(t, p.Kill())
		if got := p.Wait(); got.Signal != int(syscall.SIGKILL) {
			t.Errorf("Wait = code %d, signal %d, want 0, 9", got.Code, got.Signal)
		}
	}
}

// A child that somebody else has started can be looked after like any other.
func TestAdopted(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("/bin/sh", "-c", `sleep 1000 & echo $! >child; trap 'exit 5' USR1; while :; do sleep 0.01; done`)
	cmd.Dir, cmd.SysProcAttr = dir, &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	testenv.OK(t, cmd.Start())
	p := adopted(cmd.Process.Pid)
	t.Cleanup(func() { p.Kill(); p.Wait() })
	child := number(t, filepath.Join(dir, "child"))
	if p.PID() != cmd.Process.Pid {
		t.Errorf("PID = %d, want %d", p.PID(), cmd.Process.Pid)
	}
	testenv.Until(t, "the trap is set", func() bool {
		status, _ := os.ReadFile("/proc/" + strconv.Itoa(p.PID()) + "/status")
		return isIn("SigCgt:", string(status), syscall.SIGUSR1)
	})
	testenv.OK(t, p.Signal(syscall.SIGUSR1))
	if got := p.Wait(); got.Code != 5 || got.Signal != 0 || got.Wall <= 0 || got.MaxRSSKB <= 0 {
		t.Errorf("Wait = %+v, want code 5", got)
	}
	testenv.Until(t, "what it left running is gone", func() bool { return !alive(child) })
	if err := p.Signal(syscall.SIGUSR1); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("Signal after the end = %v, want %v", err, os.ErrProcessDone)
	}
	if err := unix.Waitid(unix.P_PID, p.PID(), nil, unix.WEXITED|unix.WNOHANG, nil); err != unix.ECHILD {
		t.Errorf("waiting once more = %v, want no such child", err)
	}
}

func TestMark(t *testing.T) {
	job := shellIn(t.TempDir(), `echo $MARK`)
	job.Env, job.Mark = append(job.Env, "MARK=of the job"), "MARK=ours"
	start(t, job, nil).Wait()
	if got := contents(t, job.Out); got != "ours\n" {
		t.Errorf("the mark = %q, want ours", got)
	}
}

// cell is a cgroup that is there, or none.
type cell struct {
	dir *os.File
}

func (c cell) FD() (int, bool) {
	if c.dir == nil {
		return 0, false
	}
	return int(c.dir.Fd()), true
}

func TestStartInCell(t *testing.T) {
	job := shellIn(t.TempDir(), `grep ^0:: /proc/self/cgroup`)
	p, err := Start(job, nil, cell{})
	if err != nil {
		t.Fatalf("Start in no cgroup = %v", err)
	}
	p.Wait()
	root := cgroups()
	if root == "" {
		t.Skip("no cgroups of version 2 here")
	}
	dir, err := os.MkdirTemp(root, "launch-test-")
	if err != nil {
		t.Skipf("no cgroup of our own: %v", err)
	}
	defer os.Remove(dir)
	f, err := os.Open(dir)
	testenv.OK(t, err)
	defer f.Close()
	if p, err = Start(job, nil, cell{f}); err != nil {
		t.Fatalf("Start in a cgroup = %v", err)
	}
	p.Wait()
	if got := strings.TrimSpace(contents(t, job.Out)); filepath.Base(got) != filepath.Base(dir) {
		t.Errorf("the job runs in %s, want %s", got, dir)
	}
}

// cgroups returns where cgroups of version 2 are mounted, empty for nowhere.
func cgroups() string {
	for _, dir := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		var fs unix.Statfs_t
		if unix.Statfs(dir, &fs) == nil && fs.Type == unix.CGROUP2_SUPER_MAGIC {
			return dir
		}
	}
	return ""
}
