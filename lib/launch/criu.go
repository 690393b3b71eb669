package launch

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
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

// isOurs tells whether a process is a child of ours.
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
