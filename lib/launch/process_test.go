package launch

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/internal/testenv"
)

// supervise, set in the environment, makes the test binary start one job in
// the directory that it names, with a held lock, and wait for it.
const supervise = "LAUNCH_TEST_SUPERVISE"

func TestMain(m *testing.M) {
	if dir := os.Getenv(supervise); dir != "" {
		held, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
		if err == nil {
			err = unix.Flock(int(held.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		}
		if err == nil {
			var p *Process
			job := shellIn(dir, os.Getenv("LAUNCH_TEST_SCRIPT"))
			job.In = cmp.Or(os.Getenv("LAUNCH_TEST_IN"), job.In)
			if p, err = Start(job, held, nil); err == nil {
				os.Exit(p.Wait().Code)
			}
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(99)
	}
	os.Exit(testenv.Run(m))
}

func shellIn(dir, script string) Job {
	return Job{
		Cmd: "/bin/sh", Args: []string{"-c", script}, Env: []string{"PATH=" + DefaultPath}, Dir: dir,
		In: os.DevNull, Out: filepath.Join(dir, "out"), Err: filepath.Join(dir, "err"),
	}
}

func start(t *testing.T, job Job, held *os.File) *Process {
	t.Helper()
	p, err := Start(job, held, nil)
	if err != nil {
		t.Fatalf("Start: %v", err)
	}
	t.Cleanup(func() { p.Kill(); p.Wait() })
	return p
}

func contents(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	testenv.OK(t, err)
	return string(b)
}

// number waits until a job has written a whole line with a number to a file.
func number(t *testing.T, name string) int {
	t.Helper()
	var line string
	testenv.Until(t, name+" has a line", func() bool {
		b, _ := os.ReadFile(name)
		line = string(b)
		return strings.HasSuffix(line, "\n")
	})
	n, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// alive reports whether a process still runs; one that waits to be reaped does
// not.
func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	i := bytes.LastIndexByte(b, ')')
	return i < 0 || !bytes.HasPrefix(b[i:], []byte(") Z"))
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	testenv.OK(t, os.WriteFile(filepath.Join(dir, "in"), []byte("hello\n"), 0o600))
	job := shellIn(dir, `read word; echo "$word $1 $N" "$PWD"; echo bad >&2; exit 3`)
	job.Args = append(job.Args, "sh", "two words")
	job.Env = append(job.Env, "N=5")
	job.In = filepath.Join(dir, "in")
	testenv.OK(t, os.WriteFile(job.Out, []byte(strings.Repeat("of a former run\n", 10)), 0o600))
	begun := time.Now()
	p := start(t, job, nil)
	got := p.Wait()
	if got.Code != 3 || got.Signal != 0 {
		t.Errorf("Wait = code %d, signal %d, want 3, 0", got.Code, got.Signal)
	}
	if got.Wall <= 0 || got.Wall > time.Since(begun) || got.MaxRSSKB < 100 || got.UserCPU < 0 {
		t.Errorf("Wait = %+v: not what such a job takes", got)
	}
	if out, want := contents(t, job.Out), "hello two words 5 "+dir+"\n"; out != want {
		t.Errorf("output = %q, want %q", out, want)
	}
	if out, want := contents(t, job.Err), "bad\n"; out != want {
		t.Errorf("error = %q, want %q", out, want)
	}
	if err := p.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("Signal after the end = %v, want %v", err, os.ErrProcessDone)
	}
}

func TestIOBytes(t *testing.T) {
	if got := ioBytes(&unix.Rusage{Inblock: 3, Oublock: 5}); got != 4096 {
		t.Errorf("ioBytes of 3 and 5 blocks = %d, want 4096", got)
	}
}

func TestEnvironmentIsClean(t *testing.T) {
	t.Setenv("LAUNCH_TEST_SECRET", "x")
	dir := t.TempDir()
	job := shellIn(dir, "")
	for _, env := range [][]string{nil, {"A=1", "B=two words"}} {
		job.Cmd, job.Args, job.Env = "/usr/bin/env", nil, env
		start(t, job, nil).Wait()
		want := ""
		for _, e := range env {
			want += e + "\n"
		}
		if got := contents(t, job.Out); got != want {
			t.Errorf("environment %q arrives as %q", env, got)
		}
	}
}

func TestProcessorTime(t *testing.T) {
	job := shellIn(t.TempDir(), `i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done`)
	got := start(t, job, nil).Wait()
	if used := got.UserCPU + got.SysCPU; used <= 0 || used > got.Wall+time.Second {
		t.Errorf("Wait = user %v, system %v in %v", got.UserCPU, got.SysCPU, got.Wall)
	}
}

func TestOutAndErrTogether(t *testing.T) {
	job := shellIn(t.TempDir(), `echo one; echo two >&2; echo three`)
	job.Err = job.Out
	start(t, job, nil).Wait()
	if got, want := contents(t, job.Out), "one\ntwo\nthree\n"; got != want {
		t.Errorf("output and error in one file = %q, want %q", got, want)
	}
}

func TestOutAndErrTogetherByTwoNames(t *testing.T) {
	dir := t.TempDir()
	job := shellIn(dir, `echo one; echo two >&2; echo three`)
	testenv.OK(t, os.Symlink(job.Out, job.Err))
	start(t, job, nil).Wait()
	if got, want := contents(t, job.Out), "one\ntwo\nthree\n"; got != want {
		t.Errorf("output and error in one file = %q, want %q", got, want)
	}
}

func TestDirectoryWithBlanks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "two  words 'and' quotes")
	testenv.OK(t, os.Mkdir(dir, 0o755))
	if err := os.WriteFile(filepath.Join(dir, "the job"), []byte("#!/bin/sh\npwd; echo \"$0\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	ad := jobAd(t, "Cmd", `"the job"`, "Out", `"the output"`)
	ad.SetString("Iwd", dir)
	job, err := FromAd(ad, Place{Slot: "slot1@node"}, alice)
	testenv.OK(t, err)
	start(t, job, nil).Wait()
	if got, want := contents(t, dir+"/the output"), dir+"\n"+dir+"/the job\n"; got != want {
		t.Errorf("output = %q, want %q", got, want)
	}
}

// signalMask is a script that prints one of the shell's own masks. A command
// would not do: the shell blocks all signals while it starts one.
func signalMask(name string) string {
	return `while read n mask; do case $n in ` + name + `:) echo ` + name + ` $mask; esac; done </proc/$$/status`
}

// What blocks signals in the supervisor's caller must not reach the job.
func TestNoSignalIsBlocked(t *testing.T) {
	dir := t.TempDir()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), supervise+"="+dir, "LAUNCH_TEST_SCRIPT="+signalMask("SigBlk"))
	blocked := unix.Sigset_t{}
	blocked.Val[0] = 1<<(unix.SIGTERM-1) | 1<<(unix.SIGUSR1-1)
	var before unix.Sigset_t
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	testenv.OK(t, unix.PthreadSigmask(unix.SIG_BLOCK, &blocked, &before))
	out, err := c.CombinedOutput()
	unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got, want := contents(t, dir+"/out"), "SigBlk 0000000000000000\n"; got != want {
		t.Errorf("the job's signals: %q, want %q", got, want)
	}
}

// TestTimers holds that a job of a supervisor whose timers may be late has usual timers itself.
func TestTimers(t *testing.T) {
	dir := t.TempDir()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), supervise+"="+dir, "LAUNCH_TEST_SCRIPT=cat /proc/$$/timerslack_ns /proc/$PPID/timerslack_ns")
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	var err error
	Lazily(func() { err = c.Start() })
	if err == nil {
		err = c.Wait()
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	if got, want := contents(t, dir+"/out"), fmt.Sprintf("%d\n%d\n", usualSlack, lazySlack); got != want {
		t.Errorf("timers of the job and its supervisor may be late by %q ns, want %q", got, want)
	}
}

func TestDiesBySignal(t *testing.T) {
	got := start(t, shellIn(t.TempDir(), `kill -KILL $$`), nil).Wait()
	if got.Signal != int(syscall.SIGKILL) || got.Code != 0 {
		t.Errorf("Wait = code %d, signal %d, want 0, 9", got.Code, got.Signal)
	}
}

func TestSignalReachesTheGroup(t *testing.T) {
	dir := t.TempDir()
	p := start(t, shellIn(dir, `trap 'wait; exit 7' USR1
(trap 'echo inner; exit' USR1; echo >ready; while :; do sleep 0.01; done) &
while :; do sleep 0.01; done`), nil)
	testenv.Until(t, "both shells trap", func() bool { _, err := os.Stat(filepath.Join(dir, "ready")); return err == nil })
	if err := p.Signal(syscall.SIGUSR1); err != nil {
		t.Fatalf("Signal: %v", err)
	}
	if got := p.Wait(); got.Code != 7 {
		t.Errorf("Wait = code %d, signal %d, want 7, 0", got.Code, got.Signal)
	}
	if got, want := contents(t, filepath.Join(dir, "out")), "inner\n"; got != want {
		t.Errorf("output = %q, want %q", got, want)
	}
}

func TestLeftoversAreKilled(t *testing.T) {
	dir := t.TempDir()
	p := start(t, shellIn(dir, `sleep 1000 & echo $! >pid`), nil)
	if got := p.Wait(); got.Code != 0 {
		t.Errorf("Wait = code %d, want 0", got.Code)
	}
	pid := number(t, filepath.Join(dir, "pid"))
	testenv.Until(t, "what the job left running is gone", func() bool { return !alive(pid) })
}

func TestKill(t *testing.T) {
	p := start(t, shellIn(t.TempDir(), `trap '' TERM; sleep 1000`), nil)
	if err := p.Signal(syscall.SIGTERM); err != nil {
		t.Fatalf("Signal: %v", err)
	}
	if err := p.Kill(); err != nil {
		t.Fatalf("Kill: %v", err)
	}
	if got := p.Wait(); got.Signal == 0 {
		t.Errorf("Wait = code %d, want a signal", got.Code)
	}
}

// lockIsFree reports whether somebody else could take the lock.
func lockIsFree(t *testing.T, name string) bool {
	t.Helper()
	f, err := os.Open(name)
	testenv.OK(t, err)
	defer f.Close()
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err != nil && !errors.Is(err, unix.EWOULDBLOCK) {
		t.Fatal(err)
	}
	return err == nil
}

func TestJobHoldsTheLock(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	held, err := os.Create(name)
	testenv.OK(t, err)
	testenv.OK(t, unix.Flock(int(held.Fd()), unix.LOCK_EX))
	p := start(t, shellIn(filepath.Dir(name), `sleep 1000; exit 0`), held)
	held.Close()
	if lockIsFree(t, name) {
		t.Error("the lock is free while the job runs, want it held")
	}
	p.Kill()
	p.Wait()
	testenv.Until(t, "the lock is free", func() bool { return lockIsFree(t, name) })
}

// A supervisor that is killed takes the job's first process with it; what that
// process has started keeps the lock.
func TestJobDiesWithItsSupervisor(t *testing.T) {
	dir := t.TempDir()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), supervise+"="+dir,
		"LAUNCH_TEST_SCRIPT=sleep 1000 & echo $! >child; echo $$ >main; wait")
	c.Stderr = os.Stderr
	testenv.OK(t, c.Start())
	main, child := number(t, filepath.Join(dir, "main")), number(t, filepath.Join(dir, "child"))
	testenv.OK(t, c.Process.Kill())
	c.Wait()
	testenv.Until(t, "the job's own process is gone", func() bool { return !alive(main) })
	lock := filepath.Join(dir, "lock")
	if lockIsFree(t, lock) {
		t.Error("the lock is free while a process of the job runs, want it held")
	}
	syscall.Kill(child, syscall.SIGKILL)
	testenv.Until(t, "the lock is free", func() bool { return lockIsFree(t, lock) })
}

func TestStartRefuses(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		testenv.OK(t, os.WriteFile(path, []byte(text), mode))
		return path
	}
	plain, script := file("plain", "x", 0o644), file("script", "#!/bin/sh\n", 0o755)
	link := func(to string) string {
		testenv.OK(t, os.Symlink(to, filepath.Join(dir, "link")))
		return filepath.Join(dir, "link")
	}
	for _, c := range []struct {
		name   string
		change func(*Job)
		code   int
		number unix.Errno
		want   string
	}{
		{"no directory", func(j *Job) { j.Dir = dir + "/no" }, HoldIwd, unix.ENOENT, "working directory " + dir + "/no: no such file or directory"},
		{"directory is a file", func(j *Job) { j.Dir = plain }, HoldIwd, unix.ENOTDIR, "working directory " + plain + ": not a directory"},
		{"no executable", func(j *Job) { j.Cmd = dir + "/no" }, HoldStart, unix.ENOENT, "executable " + dir + "/no: no such file or directory"},
		{"executable is a directory", func(j *Job) { j.Cmd = dir }, HoldStart, unix.EISDIR, "executable " + dir + ": is a directory"},
		{"not executable", func(j *Job) { j.Cmd = plain }, HoldStart, unix.EACCES, "executable " + plain + ": no user may execute it: chmod +x it"},
		{"no interpreter", func(j *Job) { j.Cmd = file("noint", "#!/no/such\n", 0o755) }, HoldStart, unix.ENOENT,
			"executable " + dir + "/noint: the interpreter that it names is missing"},
		{"no program", func(j *Job) { j.Cmd = file("data", "\x00\x01\x02", 0o755) }, HoldStart, unix.ENOEXEC, "executable " + dir + "/data: exec format error"},
		{"no input", func(j *Job) { j.In = dir + "/no" }, HoldStdin, unix.ENOENT, "input " + dir + "/no: no such file or directory"},
		{"input is a directory", func(j *Job) { j.In = dir }, HoldStdin, unix.EISDIR, "input " + dir + ": is a directory"},
		{"no directory for output", func(j *Job) { j.Out = dir + "/no/out" }, HoldStdout, unix.ENOENT, "output " + dir + "/no/out: the directory " + dir + "/no does not exist"},
		{"error is a directory", func(j *Job) { j.Err = dir }, HoldStdout, unix.EISDIR, "error " + dir + ": is a directory"},
		{"output is the input", func(j *Job) { j.In, j.Out = plain, plain }, HoldStdout, 0, "output " + plain + ": is the input as well"},
		{"error is the input by another name", func(j *Job) { j.In, j.Err = plain, link(plain) }, HoldStdout, 0, "error " + dir + "/link: is the input as well"},
		{"output is the executable", func(j *Job) { j.Cmd = script; j.Out = script }, HoldStdout, 0, "output " + script + ": is the executable"},
		{"a very long argument", func(j *Job) { j.Args = []string{strings.Repeat("x", 1<<20)} }, HoldStart, unix.E2BIG, "executable /bin/sh: argument list too long"},
		{"a very long path", func(j *Job) { j.Cmd = "/" + strings.Repeat("x", 5000) }, HoldStart, unix.ENAMETOOLONG, "executable /" + strings.Repeat("x", 5000) + ": file name too long"},
		{"a NUL byte", func(j *Job) { j.Args = []string{"a\x00b"} }, HoldStart, unix.EINVAL, "executable /bin/sh: invalid argument"},
	} {
		t.Run(c.name, func(t *testing.T) {
			job := shellIn(dir, "exit 0")
			c.change(&job)
			p, err := Start(job, nil, nil)
			if err == nil {
				p.Wait()
				t.Fatalf("Start = a process, want %s", c.want)
			}
			var refused *StartError
			if !errors.As(err, &refused) || *refused != (StartError{Reason: c.want, Code: c.code, Subcode: int(c.number)}) {
				t.Errorf("Start = %+v, want %s, codes %d, %d", refused, c.want, c.code, c.number)
			}
			if got := contents(t, plain) + contents(t, script); got != "x#!/bin/sh\n" {
				t.Errorf("what the job was to read is now %q, want it as it was", got)
			}
		})
	}
}

// Opening a named pipe waits for the other side; a supervisor that did so
// could not be stopped.
func TestNamedPipes(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	testenv.OK(t, unix.Mkfifo(pipe, 0o600))
	job := shellIn(dir, "cat")
	job.In = pipe
	if got := start(t, job, nil).Wait(); got.Code != 0 {
		t.Errorf("Wait = code %d, want 0", got.Code)
	}
	job.In, job.Out = os.DevNull, pipe
	if _, err := Start(job, nil, nil); err == nil {
		t.Error("Start with a pipe for output that nobody reads = nil, want an error")
	}
}

func TestPassing(t *testing.T) {
	err := startError(HoldStart, "executable /bin/x", &os.PathError{Op: "fork/exec", Path: "/bin/x", Err: unix.EAGAIN})
	if want := (StartError{Reason: "executable /bin/x: resource temporarily unavailable", Passing: true, Code: HoldStart, Subcode: int(unix.EAGAIN)}); *err != want {
		t.Errorf("startError = %+v, want %+v", *err, want)
	}
}

// terminal returns the path of a terminal that controls no session.
func terminal(t *testing.T) string {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("no terminals: %v", err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	testenv.OK(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	testenv.OK(t, err)
	return fmt.Sprintf("/dev/pts/%d", n)
}

// A terminal that a job reads does not become that of its supervisor: who
// has the other end could interrupt root's process.
func TestTerminalIsNotTheSupervisors(t *testing.T) {
	in := terminal(t)
	if _, err := os.Stat(in); err != nil {
		t.Skipf("terminals are not in /dev/pts: %v", err)
	}
	dir := t.TempDir()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), supervise+"="+dir, "LAUNCH_TEST_IN="+in, `LAUNCH_TEST_SCRIPT=read pid name state ppid group session tty rest </proc/$PPID/stat; echo $((session == PPID)) $tty`)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if text, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "out")); err != nil || strings.TrimSpace(string(got)) != "1 0" {
		t.Errorf("the supervisor leads its session, and has a terminal: %q, %v, want \"1 0\"", got, err)
	}
}
