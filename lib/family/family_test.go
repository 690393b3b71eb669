package family

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fairspool/internal/testenv"
)

// The test's own program is what the scripts start where a shell will not do, too.
func TestMain(m *testing.M) {
	switch os.Getenv("FAMILY_TEST") {
	case "supervise": // NAME BASE SCRIPT: starts a family and waits to be killed, or for the end of the test
		f := Open(Options{Name: os.Args[1], Base: os.Args[2]})
		if _, err := begin(f, os.Args[3], os.Args[4:]...); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		io.Copy(io.Discard, os.Stdin)
	default:
		os.Exit(testenv.Run(m))
	}
}

// begin starts a script as the job's own process.
func begin(f *Family, script string, env ...string) (*exec.Cmd, error) {
	c := exec.Command("/bin/sh", "-c", script)
	c.Env = append([]string{"PATH=/usr/bin:/bin", f.Mark()}, env...)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	c.SysProcAttr.CgroupFD, c.SysProcAttr.UseCgroupFD = f.FD()
	err := f.Begin(func() (int, error) {
		err := c.Start()
		if err != nil {
			return 0, err
		}
		return c.Process.Pid, nil
	})
	return c, err
}

// try is a family under test.
type try struct {
	*testing.T
	*Family
	dir   string
	token string // an argument that processes of this test have, and no others
}

// kinds are the options that families are tried with.
var kinds = []struct{ name, base string }{{"cgroup", "fairspool-test"}, {"none", ""}}

func open(t *testing.T, base string) *try {
	t.Helper()
	name := fmt.Sprintf("test-%d-%d", os.Getpid(), time.Now().UnixNano())
	f := &try{t, Open(Options{Name: name, Base: base}), t.TempDir(), fmt.Sprintf("1000.%09d", time.Now().UnixNano()%1e9)}
	if _, ok := f.FD(); base != "" && !ok {
		t.Skip("this machine gives us no cgroup")
	}
	t.Cleanup(func() {
		f.Family.End(testenv.Longest)
		if err := f.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		for _, p := range f.tokens() {
			p.signal(syscall.SIGKILL)
		}
		if base != "" {
			dir := filepath.Dir(f.cell.dir)
			os.Remove(dir)
		}
	})
	return f
}

// start runs a script in the test's directory, in which $S is a word for sleep, and waits
// until it says that it is ready.
func (f *try) start(script string) *exec.Cmd {
	f.Helper()
	c, err := begin(f.Family, "cd "+f.dir+"\n"+script, "S=sleep "+f.token)
	if err != nil {
		f.Fatal(err)
	}
	testenv.Until(f, "the job is ready", func() bool { _, err := os.Stat(f.dir + "/ready"); return err == nil })
	return c
}

// tokens returns the living processes with the test's token among their arguments.
func (f *try) tokens() []process {
	list := map[int]process{}
	for pid, p := range allProcesses() {
		args, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
		if bytes.Contains(args, []byte("sleep\x00"+f.token)) {
			list[pid] = p
		}
	}
	return living(list)
}

// sleepers waits until so many processes of the test are there.
func (f *try) sleepers(n int) {
	f.Helper()
	testenv.Until(f, fmt.Sprintf("%d processes are there", n), func() bool { return len(f.tokens()) >= n })
}

// pidIn reads the process id that a job wrote to a file.
func (f *try) pidIn(name string) int {
	f.Helper()
	text, err := os.ReadFile(filepath.Join(f.dir, name))
	if err != nil {
		f.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		f.Fatal(err)
	}
	return pid
}

// None of these outlives End, with a cgroup or without.
func TestEnd(t *testing.T) {
	for _, c := range []struct {
		name, script string
		least        int // processes there when it is called
	}{
		{"nothing left", `>ready`, 0},
		{"children", `$S & $S & >ready; wait`, 2},
		{"an orphan", `($S & ) ; >ready`, 1},
		{"a session of its own", `setsid $S & >ready; wait`, 1},
		{"forked twice, with setsid", `(setsid sh -c "$S & exit" &) ; >ready`, 1},
		{"no file open and no environment", `(setsid env -i sh -c "exec 0<&- 1>&- 2>&- 3>&-; $S" &) ; >ready`, 1},
		{"stopped", `$S & setsid $S & >ready; wait`, 2},
		{"deaf to signals", `trap "" TERM HUP INT QUIT; ($S &) ; (setsid $S &) ; >ready`, 2},
		{"a tree", `b() { if [ $1 -gt 0 ]; then b $(($1-1)) & b $(($1-1)) & fi; $S; }; b 6 & >ready; wait`, 60},
		{"still forking", `i=0; >ready; while [ $i -lt 400 ]; do setsid $S & i=$((i+1)); done; wait`, 5},
		{"chasing", `c() { if [ $1 -gt 0 ]; then (setsid sh -c ": $1"; c $(($1-1))) & fi; }; c 300; ($S &); >ready`, 1},
	} {
		for _, kind := range kinds {
			t.Run(c.name+", "+kind.name, func(t *testing.T) {
				f := open(t, kind.base)
				job := f.start(c.script)
				f.sleepers(c.least)
				if c.name == "stopped" {
					for _, p := range f.tokens() {
						p.signal(syscall.SIGSTOP)
					}
				}
				job.Process.Kill()
				job.Wait()
				if err := f.Family.End(testenv.Longest); err != nil {
					t.Errorf("End: %v", err)
				}
				if left := f.tokens(); len(left) > 0 {
					t.Errorf("after End %d processes are alive, want none", len(left))
				}
				if left := f.members(); len(left) > 0 {
					t.Errorf("after End %d members, want none", len(left))
				}
			})
		}
	}
}

// With no time at all everybody is sent SIGKILL, and counted.
func TestEndWithoutPatience(t *testing.T) {
	f := open(t, "")
	job := f.start(`(setsid $S &) ; >ready`)
	f.sleepers(1)
	job.Process.Kill()
	job.Wait()
	const want = "1 processes that the job left behind are still there 0s after SIGKILL"
	if err := f.Family.End(0); err == nil || err.Error() != want {
		t.Errorf("End(0) = %v, want %s", err, want)
	}
	testenv.Until(f, "the process is dead", func() bool { return len(f.tokens()) == 0 })
}

// Programs that we run for ourselves are nobody's family: nobody else waits for
// them, measures or kills them.
func TestOwnPrograms(t *testing.T) {
	f := open(t, "")
	own := exec.Command("sleep", f.token)
	testenv.OK(t, own.Start())
	for range 100 {
		job, err := begin(f.Family, `(true &) ; exit 7`)
		testenv.OK(t, err)
		if err := exec.Command("true").Run(); err != nil {
			t.Fatalf("a program of our own: %v", err)
		}
		if err := job.Wait(); err == nil || err.Error() != "exit status 7" {
			t.Fatalf("the job's own process: %v, want exit status 7", err)
		}
	}
	if err := f.Family.End(testenv.Longest); err != nil {
		t.Errorf("End: %v", err)
	}
	if n := f.Usage().Processes; n != 0 || len(f.tokens()) != 1 {
		t.Errorf("%d processes in the family and %d of our own, want 0 and 1", n, len(f.tokens()))
	}
	own.Process.Kill()
	own.Wait()
}

// Orphans that end while the job runs do not stay as zombies.
func TestReaping(t *testing.T) {
	f := open(t, "")
	job := f.start(`mkfifo pipe; (sh -c 'echo $$ >pipe' &) ; read orphan <pipe; echo $orphan >orphan; >ready; $S`)
	pid := f.pidIn("orphan")
	testenv.Until(f, "the orphan is reaped", func() bool { return syscall.Kill(pid, 0) == syscall.ESRCH })
	job.Process.Kill()
	job.Wait()
}

// A kernel that does not list children leads to the same descendants.
func TestDescendantsOfAll(t *testing.T) {
	f := open(t, "")
	own := exec.Command("sleep", f.token)
	testenv.OK(t, own.Start())
	job := f.start(`(setsid sh -c "$S; :" &) ; $S & >ready; wait`)
	f.sleepers(3)
	ids := func(list []process) (pids []int) {
		for _, p := range list {
			pids = append(pids, p.pid)
		}
		slices.Sort(pids)
		return pids
	}
	if got, want := ids(f.descendantsOfAll()), ids(f.descendants()); !slices.Equal(got, want) || len(want) != 4 {
		t.Errorf("descendantsOfAll = %v, want the 4 of descendants, %v", got, want)
	}
	for _, c := range []*exec.Cmd{own, job} {
		c.Process.Kill()
		c.Wait()
	}
}

// A number alone does not make a process the one that was found.
func TestSignalsNobodyElse(t *testing.T) {
	c := exec.Command("sleep", "1000")
	testenv.OK(t, c.Start())
	p, ok := readProcess(c.Process.Pid)
	if !ok {
		t.Fatal("readProcess of a child = none")
	}
	other := p
	other.start--
	if err := other.signal(syscall.SIGKILL); err != syscall.ESRCH {
		t.Errorf("signal to an earlier process of that number: %v, want %v", err, syscall.ESRCH)
	}
	if now, ok := readProcess(p.pid); !ok || !now.alive() || !now.same(p) {
		t.Fatal("the later process is dead, want it alive")
	}
	if err := p.signal(syscall.SIGKILL); err != nil {
		t.Errorf("signal to the process itself: %v", err)
	}
	c.Wait()
}
