package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/lib/asuser"
)

// Criu makes transparent checkpoints with criu(8): images of all processes of a job, which do not notice
// it, and later the same processes from the images, with their old ids. criu needs Linux and root,
// or from its version 4 on a caller with CAP_CHECKPOINT_RESTORE.
type Criu struct{ command []string }

// NewCriu returns a Criu that runs a program with these first arguments.
func NewCriu(command []string) *Criu { return &Criu{command} }

// Usable returns an error in one line if the program cannot work on this machine. It takes some 50 ms.
func (c *Criu) Usable(ctx context.Context) error {
	said, err := c.run(ctx, criuCall{verb: "check"})
	return c.failed("check", said, err)
}

// Files beside the images with the id of the job's own process, before and after. The ids should be
// equal.
const (
	numberFile   = "fairspool.pid"
	restoredFile = "restored.pid"
)

// Dump makes images of the job's own process and all its descendants, in the new
// directory dir, which replaces another. The images are synced, and complete or not there at
// all. On success the processes are killed, and p ends by SIGKILL; on an error they go on. If ctx
// ends meanwhile, the processes are killed, as their state is unknown, and there are no images.
//
// The images lack processes that no longer descend from p: the caller ensures that there are none
// (Tree). A job with a connection over the network cannot be dumped, nor a job with the claim's
// lock, as file descriptor 3 or otherwise (see Restore).
func (c *Criu) Dump(ctx context.Context, p *Process, dir string) error {
	made := dir + Unfinished
	err := c.dump(ctx, p, made)
	if err == nil {
		if err = supplant(made, dir); err != nil {
			err = fmt.Errorf("%s: %w", dir, cause(err))
		}
	}
	if err != nil {
		RemoveTree(made)
		RemoveTree(dir) // these images are of an earlier state of the job
	}
	if err == nil || ctx.Err() != nil {
		p.whileThere(killTree)
		p.Wait()
		return err
	}
	p.whileThere(func(pid int) { signalTree(pid, unix.SIGCONT) }) // only the last steps have failed: the processes are stopped
	return err
}

// whileThere calls fn with the id of the job's own process, unless that has ended. No other process
// gets the id before fn returns.
func (p *Process) whileThere(fn func(pid int)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.gone {
		fn(p.pid)
	}
}

// dump makes the images, and leaves the processes stopped: they are needed until the images are synced.
func (c *Criu) dump(ctx context.Context, p *Process, made string) error {
	err := RemoveTree(made)
	if err == nil {
		err = os.Mkdir(made, 0o700)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", made, cause(err))
	}
	said, err := c.run(ctx, criuCall{verb: "dump", dir: made, args: []string{
		"--tree", strconv.Itoa(p.PID()), "--leave-stopped", "--file-locks",
		"--manage-cgroups=ignore", "--ghost-limit", ghostLimit,
	}})
	if err := c.failed("dump", said, err); err != nil {
		return err
	}
	number := []byte(strconv.Itoa(p.PID()) + "\n")
	if err := os.WriteFile(filepath.Join(made, numberFile), number, 0o600); err != nil {
		return err
	}
	return syncFiles(made)
}

// ghostLimit bounds the size in bytes of an open file without a name.
const ghostLimit = "268435456"

// syncFiles syncs the files of a directory and the directory.
func syncFiles(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := syncPath(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return syncPath(dir)
}

// Restore makes the processes from their images in dir, with their ids, environment, limits, and open
// files at their positions. From job it takes the mark, and the nice value and processors if the
// images lack them; in gives the cgroup. Restore removes the images: they lack what the job does to
// its files from now on, and after an error the job begins anew. Only if ctx has ended do the images
// stay, and no process runs.
//
// It fails if an id is taken, or a file is gone or has another size.
//
// The kernel kills the job's own process when the caller ends, as with Start. But the claim's lock is
// not inherited: criu opens files anew, and a lock belongs to the open file. So a job that may be
// dumped must be started without it, and after the supervisor's death only the family finds the job's
// processes.
func (c *Criu) Restore(ctx context.Context, job Job, dir string, in Cell) (*Process, error) {
	type result struct {
		p   *Process
		err error
	}
	done := make(chan result)
	go func() {
		// The kernel sends the restored process its signal when this thread ends. So the thread stays
		// until that process has ended, and is not used again if it was changed for the job.
		runtime.LockOSThread()
		bent, err := job.bend()
		if !bent {
			defer runtime.UnlockOSThread()
		}
		var pid int
		if err == nil {
			pid, err = c.restore(ctx, dir, job.Mark, in)
		}
		if err != nil {
			done <- result{nil, err}
			return
		}
		p := adopted(pid)
		done <- result{p, nil}
		p.Wait()
	}()
	r := <-done
	if ctx.Err() == nil || r.err == nil {
		RemoveTree(dir)
	}
	return r.p, r.err
}

// restore runs the program and returns the id of the job's own process. On an error it kills the
// processes that the program has made.
func (c *Criu) restore(ctx context.Context, dir, mark string, in Cell) (pid int, err error) {
	restored := filepath.Join(dir, restoredFile)
	if pid, err = readNumber(filepath.Join(dir, numberFile)); err != nil {
		return 0, fmt.Errorf("images of the job: %w", err)
	}
	os.Remove(restored)
	said, err := c.run(ctx, criuCall{verb: "restore", dir: dir, mark: mark, in: in, args: []string{
		"--restore-detached", "--restore-sibling", "--pidfile", restored,
		"--file-locks", "--manage-cgroups=ignore",
	}})
	if err = c.failed("restore", said, err); err == nil {
		if pid, err = readNumber(restored); err == nil && !isOurs(pid) {
			err = fmt.Errorf("%s restore: process %d is no child of ours", c.name(), pid)
		}
		return pid, err
	}
	if isOurs(pid) {
		killTree(pid)
		unix.Wait4(pid, nil, 0, nil)
	}
	return 0, err
}

// isOurs reports whether a process is a child of this one.
func isOurs(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return err == nil
		}
	}
}

func readNumber(path string) (int, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, cause(err))
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid < 2 {
		return 0, fmt.Errorf("%s: want the id of a process", path)
	}
	return pid, nil
}

// Tree returns the ids of the job's own process and all its descendants.
func (p *Process) Tree() []int { return descent(p.PID()) }

// descent returns a process and all its descendants, each behind its parent.
func descent(pid int) []int {
	const most = 100_000
	all := []int{pid}
	for i := 0; i < len(all) && i < most; i++ {
		lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", all[i]))
		for _, list := range lists {
			text, _ := os.ReadFile(list)
			for _, field := range strings.Fields(string(text)) {
				if child, err := strconv.Atoi(field); err == nil {
					all = append(all, child)
				}
			}
		}
	}
	return all
}

// signalTree sends a signal to a process and all its descendants.
func signalTree(pid int, sig syscall.Signal) {
	for _, member := range descent(pid) {
		unix.Kill(member, sig)
	}
}

// killTree kills a process and all its descendants. It stops them first, so that they start no more.
func killTree(pid int) {
	signalTree(pid, unix.SIGSTOP)
	all := descent(pid)
	for _, member := range all {
		unix.Kill(member, unix.SIGKILL)
	}
}

// criuCall is one run of the program.
type criuCall struct {
	verb string
	dir  string // of the images and the log; empty: none
	args []string
	mark string // in its environment, and so in that of new processes until they have their own
	in   Cell
}

// run runs the program and returns its messages. The program is in the session of this process, so that
// the family does not count it as the job's. It is killed when ctx ends, as it ignores other
// signals.
func (c *Criu) run(ctx context.Context, call criuCall) (said string, err error) {
	if len(c.command) == 0 {
		return "", errNoCommand
	}
	args := append(c.command[1:len(c.command):len(c.command)], call.verb)
	if call.dir != "" {
		args = append(args, "--images-dir", call.dir, "--log-file", call.verb+".log")
	}
	args = append(args, call.args...)
	if os.Geteuid() != 0 {
		args = append(args, "--unprivileged")
	}
	cmd := exec.CommandContext(ctx, lookUp(c.command[0]), args...)
	cmd.Env = []string{"PATH=" + asuser.Path, withoutBreakpoints}
	if call.mark != "" {
		cmd.Env = append(cmd.Env, call.mark)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if call.in != nil {
		cmd.SysProcAttr.CgroupFD, cmd.SysProcAttr.UseCgroupFD = call.in.FD()
	}
	if call.dir != "" {
		err = toEnd(cmd)
		text, _ := os.ReadFile(filepath.Join(call.dir, call.verb+".log"))
		said = string(text)
	} else {
		said, err = output(cmd)
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return said, err
}

// withoutBreakpoints makes criu stop a process by its system calls. By default it uses hardware
// breakpoints, which on some virtual machines never come, so that it would wait forever.
const withoutBreakpoints = "CRIU_FAULT=130"

var errNoCommand = errors.New("CHECKPOINT_COMMAND is empty")

// lookUp returns the path of a program: for root the system's, whatever PATH is; for other callers by
// PATH, and where PATH, like cron's, is too short, the system's.
func lookUp(name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	if _, err := exec.LookPath(name); err == nil && !asuser.Privileged() {
		return name
	}
	if path, ok := asuser.Find(name); ok {
		return path
	}
	return name
}

// toEnd runs a command to its end. It does not fork while this process has the limits of a job that is
// being started.
func toEnd(cmd *exec.Cmd) error {
	var err error
	forking.RLock()
	promptly(func() { err = cmd.Start() }) // the restored processes inherit its timers
	forking.RUnlock()
	if err != nil {
		return err
	}
	return cmd.Wait()
}

// output runs a command to its end, and returns the beginning of its output. It does not wait for
// processes that the command leaves behind.
func output(cmd *exec.Cmd) (string, error) {
	var said beginning
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &said, &said, time.Second
	err := toEnd(cmd)
	return string(said), err
}

// beginning keeps the first bytes that are written to it.
type beginning []byte

func (b *beginning) Write(p []byte) (int, error) {
	const most = 64 << 10
	*b = append(*b, p[:min(len(p), max(0, most-len(*b)))]...)
	return len(p), nil
}

// name returns the program's name for errors.
func (c *Criu) name() string { return filepath.Base(c.command[0]) }

// failed words the error of a run, with the program's own message if there is one.
func (c *Criu) failed(verb, said string, err error) error {
	var exit *exec.ExitError
	var path *exec.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errNoCommand):
		return err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s %s: %w", c.name(), verb, err)
	case errors.As(err, &path):
		return fmt.Errorf("%s: %w", c.command[0], path.Err)
	case !errors.As(err, &exit):
		return fmt.Errorf("%s: %w", c.command[0], cause(err))
	}
	if why := complaint(said); why != "" {
		return fmt.Errorf("%s %s: %s", c.name(), verb, why)
	}
	return fmt.Errorf("%s %s: %w", c.name(), verb, exit)
}

// criuError matches an error in the log, "(00.1) 12: Error (criu/f.c:3): why".
var criuError = regexp.MustCompile(`(?m)^.*?Error \([^)]*\): (.*)$`)

// criuUsage is the message of versions that work for root only.
const criuUsage = "unrecognized option '--unprivileged'"

// complaint returns the first error of a log that is a cause of failure, the last line of a log without one.
func complaint(log string) string {
	if strings.Contains(log, criuUsage) {
		return "this version does that by root only"
	}
	for _, found := range criuError.FindAllStringSubmatch(log, -1) {
		why := strings.TrimSpace(found[1])
		switch {
		case strings.HasPrefix(why, "exited, status="): // of an attempt that may fail
		case strings.HasPrefix(why, "rlimit: Can't setup"): // it goes on without
		default:
			return brief(why)
		}
	}
	lines := strings.Split(strings.TrimSpace(log), "\n")
	return brief(strings.TrimSpace(lines[len(lines)-1]))
}

// brief returns a text for an ad: of bounded length and in one line.
func brief(text string) string {
	const most = 300
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}
