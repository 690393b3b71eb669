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

// Criu makes transparent checkpoints: images of all processes of a job, who know nothing
// of it, and later the same processes from them, under their old numbers. It is the program
// of that name, criu(8), which needs Linux and root, or from its version 4 on a caller with
// CAP_CHECKPOINT_RESTORE.
type Criu struct{ command []string }

// NewCriu returns the use of a program and its first arguments. Without any it is of none.
func NewCriu(command []string) *Criu { return &Criu{command} }

// Usable asks the program whether it can do with this machine; the error is in one line
// why not. That takes some 50 ms.
func (c *Criu) Usable(ctx context.Context) error {
	said, err := c.run(ctx, criuCall{verb: "check"})
	return c.failed("check", said, err)
}

// Files beside the images with the id of the job's own process, as it was and as it is
// again. They should be the same.
const (
	numberFile   = "fairspool.pid"
	restoredFile = "restored.pid"
)

// Dump makes images of the job's own process and all that descend from it, in the new
// directory dir, which replaces another. They are on the disk, and whole or not there at
// all. When it has succeeded those processes are killed, and p ends by SIGKILL; when
// it has failed they go on. If ctx ends meanwhile they are killed too, for nobody
// knows in which state they are, and there are no images.
//
// Processes that p does not descend to any more are not in the images: the caller has to
// see to it that there are none (Tree). Nor are connections over the network, and a job
// that has one cannot be dumped; neither can one with the claim's lock, as file descriptor
// 3 or otherwise (see Restore).
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
		RemoveTree(dir) // what is there is none of what the job is about to become
	}
	if err == nil || ctx.Err() != nil {
		p.whileThere(killTree)
		p.Wait()
		return err
	}
	p.whileThere(func(pid int) { signalTree(pid, unix.SIGCONT) }) // only the last steps have failed
	return err
}

// whileThere calls fn with the id of the job's own process, unless that has ended. The
// number is nobody else's until fn returns.
func (p *Process) whileThere(fn func(pid int)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.gone {
		fn(p.pid)
	}
}

// dump makes the images, and leaves the processes stopped: as long as it is not sure that
// the images are on the disk they are all there is.
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

// ghostLimit is how large a file may be that has no name any more, in bytes.
const ghostLimit = "268435456"

// syncFiles has the files of a directory, and their names, on the disk.
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

// Restore makes the processes again of which there are images in dir, with what they had:
// numbers, environment, limits, and open files at the positions where they were. Of job
// count the mark, and the nice value and processors for what the images do not say; the
// cgroup is that of in. The images are used up by that, for what the job does to its files
// from now on is not in them; also when it fails, for the job then begins anew. Only when
// ctx has ended are they still there, and nothing runs.
//
// It fails if a number is taken, or a file is gone or has another size than it had.
//
// The kernel kills the job's own process when the caller ends, as Start has it. But the
// claim's lock is not handed on: criu opens files anew, and a lock belongs to the open file.
// So a job that may be dumped is to be started without it, and what is left of such a job
// when its supervisor has died is found by its family alone.
func (c *Criu) Restore(ctx context.Context, job Job, dir string, in Cell) (*Process, error) {
	type result struct {
		p   *Process
		err error
	}
	done := make(chan result)
	go func() {
		// The kernel sends the restored process its signal when this thread ends: it stays
		// until that process has gone, and is not used again if it was bent to the job.
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

// restore runs the program, takes away what it has made when it fails, and returns the id
// of the job's own process.
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

// isOurs reports whether a process is a child of ours.
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

// Tree returns the ids of the job's own process and all that descend from it.
func (p *Process) Tree() []int { return descent(p.PID()) }

// descent returns a process and all that descend from it, each behind its parent.
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

// signalTree sends a signal to a process and all that descend from it.
func signalTree(pid int, sig syscall.Signal) {
	for _, member := range descent(pid) {
		unix.Kill(member, sig)
	}
}

// killTree kills a process and all that descend from it: first they are stopped, lest
// they start more.
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
	dir  string // of the images and the log; empty: there are none
	args []string
	mark string // is in its environment, and so in that of what it makes before that has its own
	in   Cell
}

// run runs the program and returns what it had to complain about. It is in our own session,
// by which a family tells that it is none of the job's; and it is killed when ctx ends,
// for it heeds no other signal.
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
	cmd.Env = []string{"PATH=" + asuser.Path}
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

var errNoCommand = errors.New("CHECKPOINT_COMMAND is empty")

// lookUp returns the path of a program: that of the system for root, whatever its PATH is; for
// others also where PATH, as that of cron, does not lead there.
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

// toEnd runs a command to its end, and is not forked under the limits of a job that is
// being started.
func toEnd(cmd *exec.Cmd) error {
	forking.RLock()
	err := cmd.Start()
	forking.RUnlock()
	if err != nil {
		return err
	}
	return cmd.Wait()
}

// output runs a command to its end, and returns the beginning of what it says. What it has
// started and left behind does not hold that up.
func output(cmd *exec.Cmd) (string, error) {
	var said beginning
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &said, &said, time.Second
	err := toEnd(cmd)
	return string(said), err
}

// beginning keeps the first of what is written to it.
type beginning []byte

func (b *beginning) Write(p []byte) (int, error) {
	const most = 64 << 10
	*b = append(*b, p[:min(len(p), max(0, most-len(*b)))]...)
	return len(p), nil
}

// name is what the program is called in errors.
func (c *Criu) name() string { return filepath.Base(c.command[0]) }

// failed words the error of a run: with what the program itself says, if that is
// known.
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

// criuError is a line of the log that tells of an error, "(00.1) 12: Error (criu/f.c:3): why".
var criuError = regexp.MustCompile(`(?m)^.*?Error \([^)]*\): (.*)$`)

// criuUsage is what a version complains of that takes checkpoints
// by root only.
const criuUsage = "unrecognized option '--unprivileged'"

// complaint returns the first error of a log that tells why the rest failed, its last line
// if it tells of none.
func complaint(log string) string {
	if strings.Contains(log, criuUsage) {
		return "this version does that by root only"
	}
	for _, found := range criuError.FindAllStringSubmatch(log, -1) {
		why := strings.TrimSpace(found[1])
		switch {
		case strings.HasPrefix(why, "exited, status="): // of a try that it makes
		case strings.HasPrefix(why, "rlimit: Can't setup"): // it can do without
		default:
			return brief(why)
		}
	}
	lines := strings.Split(strings.TrimSpace(log), "\n")
	return brief(strings.TrimSpace(lines[len(lines)-1]))
}

// brief bounds a text that goes into an ad, and has it in one line.
func brief(text string) string {
	const most = 300
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}
