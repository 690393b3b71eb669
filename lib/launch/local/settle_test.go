package local

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"fairspool/internal/testenv"
)

// unprivileged takes from the test's thread the rights of root that matter here, until
// the test ends.
func unprivileged(t *testing.T) {
	t.Helper()
	runtime.LockOSThread()
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var has [2]unix.CapUserData
	testenv.OK(t, unix.Capget(&head, &has[0]))
	less := has
	less[0].Effective &^= 1<<unix.CAP_SYS_NICE | 1<<unix.CAP_SYS_ADMIN
	testenv.OK(t, unix.Capset(&head, &less[0]))
	t.Cleanup(func() {
		if unix.Capset(&head, &has[0]) == nil {
			runtime.UnlockOSThread() // else the thread ends with the test
		}
	})
}

// settle sets a job's nice values, as soon as the kernel lets us set its autogroups.
func (p player) settle(t *testing.T, want int) (s settle) {
	t.Helper()
	testenv.Until(t, "the kernel lets us set autogroups", func() bool {
		s = settle{want: want}
		s.all(p)
		return !s.again
	})
	return s
}

// An ordinary user may give threads larger values only, and sessions what they like
// from 0 on: there the value is as it should be, and nothing is told.
func TestSettleUnprivileged(t *testing.T) {
	t.Parallel()
	p := play(t, sleepers)
	unprivileged(t)
	for _, c := range []struct {
		want, threads, group int
		says                 string
	}{
		{5, 5, 5, ""},
		{3, 5, 3, ""},
		{19, 19, 19, ""},
		{0, 19, 0, ""},
		{-7, 19, 0, "the nice value -7 is due to its session: only root may give a session less than 0"},
	} {
		s := p.settle(t, c.want)
		pids := p.Processes()
		name, group := autogroup(pids[len(pids)-1])
		if name == "" {
			t.Skip("this kernel has no autogroups")
		}
		raw, err := unix.Getpriority(unix.PRIO_PROCESS, pids[len(pids)-1])
		if threads := 20 - raw; err != nil || threads != c.threads || group != c.group {
			t.Errorf("settle %d: the nice value is %d, and %d of its session, want %d and %d", c.want, threads, group, c.threads, c.group)
		}
		says := ""
		if s.failed != nil {
			says = s.failed.Error()
		}
		if says != c.says {
			t.Errorf("settle %d: fails with %q, want %q", c.want, says, c.says)
		}
	}
}

// Without sessions of its own what a thread has cannot be made good.
func TestSettleThreads(t *testing.T) {
	t.Parallel()
	p := play(t, linger+" & echo ready; wait")
	pid := p.Processes()[0]
	unprivileged(t)
	for _, c := range []struct {
		want, got int
		says      string
	}{
		{5, 5, ""},
		{5, 5, ""},
		{4, 5, "the nice value 4 is due to it, and it keeps 5: only root may give a process a smaller one than it has"},
		{6, 6, ""},
	} {
		s := settle{want: c.want}
		changed, err := s.process(pid)
		raw, bad := unix.Getpriority(unix.PRIO_PROCESS, pid)
		if got := 20 - raw; bad != nil || got != c.got || err != nil != (c.says != "") || err != nil && err.Error() != c.says {
			t.Errorf("settle %d: the nice value is %d (%v), %v, want %d, %q", c.want, got, changed, err, c.got, c.says)
		}
	}
}

// A limit may allow an ordinary user what lies between.
func TestSettleLimit(t *testing.T) {
	t.Parallel()
	p := play(t, linger+" & echo ready; wait")
	pid := p.Processes()[0]
	var limit unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_NICE, &unix.Rlimit{Cur: 17, Max: 17}, &limit); err != nil {
		t.Skipf("RLIMIT_NICE cannot be raised here: %v", err)
	}
	testenv.OK(t, unix.Setpriority(unix.PRIO_PROCESS, pid, 10))
	unprivileged(t)
	s := settle{want: 0}
	changed, err := s.process(pid)
	if raw, _ := unix.Getpriority(unix.PRIO_PROCESS, pid); !changed || err == nil || 20-raw != 3 {
		t.Errorf("with the limit 17, settle 0: %v, %v, the nice value %d, want 3", changed, err, 20-raw)
	}
}

// All threads of a process get the value. The process is this test itself.
func TestSettleAllThreads(t *testing.T) {
	t.Parallel()
	const many = "LOCAL_TEST_THREADS"
	if os.Getenv(many) != "" {
		for range 4 {
			go func() {
				runtime.LockOSThread()
				select {}
			}()
		}
		io.Copy(io.Discard, os.Stdin)
		return
	}
	ordinary(t)
	c := exec.Command(os.Args[0], "-test.run=^TestSettleAllThreads$")
	c.Env = append(os.Environ(), many+"=1")
	in, err := c.StdinPipe()
	testenv.OK(t, err)
	testenv.OK(t, c.Start())
	defer c.Wait()
	defer in.Close()
	tasks := func() []string { list, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", c.Process.Pid)); return list }
	testenv.Until(t, "it has 6 threads", func() bool { return len(tasks()) >= 6 })
	// One that is being made while we look has what its maker had before; the next look finds it.
	testenv.Until(t, "all threads have the nice value 4", func() bool {
		s := settle{want: 4}
		s.process(c.Process.Pid)
		var got []int
		for _, task := range tasks() {
			tid, _ := strconv.Atoi(filepath.Base(task))
			raw, _ := unix.Getpriority(unix.PRIO_PROCESS, tid)
			got = append(got, 20-raw)
		}
		return len(got) > 0 && slices.Min(got) == 4 && slices.Max(got) == 4
	})
}

// A job's own control group gets the weight, where the controller is in force.
func TestSettleWeigh(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	testenv.OK(t, err)
	defer unix.Close(fd)
	s := settle{want: -7}
	if s.weigh(player{dir: fd}); s.failed != nil {
		t.Errorf("without the controller it fails: %v", s.failed)
	}
	file := filepath.Join(dir, "cpu.weight.nice")
	testenv.OK(t, os.WriteFile(file, nil, 0o600))
	s.weigh(player{dir: fd})
	if text, err := os.ReadFile(file); string(text) != "-7" || err != nil || s.failed != nil {
		t.Errorf("weigh writes %q, %v, %v, want -7", text, err, s.failed)
	}
	testenv.OK(t, os.Remove(file))
	testenv.OK(t, os.Mkdir(file, 0o700))
	if s.weigh(player{dir: fd}); s.failed == nil {
		t.Error("weigh does not tell what it cannot write")
	}
}
