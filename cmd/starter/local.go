package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"fairspool/lib/asuser"
	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/family"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/launch"
	"fairspool/lib/pool"
)

// local is this machine for one attempt: it makes and ends the processes of its job, keeps their
// limits, and has the scratch directory.
type local struct {
	pool.Attempt
	config   *config.Config
	folder   string   // of the scratch directories
	prefix   string   // of the families of the spool's jobs
	pipe     *os.File // the claim's, which the processes inherit
	complain func(error)

	limits  limits
	family  *family.Family  // of the job's processes; nil before prepare
	criu    *launch.Criu    // what makes transparent checkpoints of them; nil: nothing does
	process *launch.Process // nil before the start

	standard bool // the job is of the standard universe
	ended    bool // its program has ended
}

// scratch returns the path of the attempt's scratch directory.
func (l *local) scratch() string { return filepath.Join(l.folder, l.Attempt.String()) }

// images returns where the images of the job's processes are, between two attempts.
func (l *local) images() string { return filepath.Join(l.folder, l.Job.String()+imagesName) }

// prepare readies the machine for the job, by its ad and that of its slot. It returns the attributes that say
// in the job's ad what keeps its limits; nil: nothing does. It may be called again.
func (l *local) prepare(ad, slot *classad.Ad) []launch.Found {
	if l.family == nil {
		l.standard = isStandard(ad)
		l.limits = limitsOf(l.config, ad, slot, l.folder)
		l.family = l.limits.open(family.Options{Name: l.prefix + familyName(l.Attempt, ad), Base: l.config.BaseCgroup}, l.scratch())
	}
	return l.limits.found()
}

// Close gives up the processes, which have ended.
func (l *local) Close() error {
	if l.family == nil {
		return nil
	}
	return l.family.Close()
}

// MakeRoom makes the folder of the scratch directories.
func (l *local) MakeRoom() error { return makeFolder(l.folder) }

// Tidy removes the scratch directory.
func (l *local) Tidy() error { return removeScratch(l.folder, filepath.Base(l.scratch())) }

// Forget removes what attempts have left for the next one of the job.
func (l *local) Forget() error { return removeKept(l.folder, l.Job) }

// Start executes the job's program.
func (l *local) Start(job launch.Job) (launch.Running, error) {
	job.Mark = l.family.Mark()
	job.Limits = slices.Concat(job.Limits, l.limits.rlimits())
	held := l.pipe
	if l.criu != nil {
		held = nil // criu cannot restore the pipe: the job's family alone tells who is left
	}
	l.ended = false
	err := l.family.Begin(func() (pid int, err error) {
		if l.process, err = launch.Start(job, held, l.family); err != nil {
			return 0, err
		}
		return l.process.PID(), nil
	})
	return l, err
}

// checkTime bounds how long the program that makes transparent checkpoints may take to
// say whether it can.
const checkTime = 30 * time.Second

// Attach has the job go on from images of its processes.
func (l *local) Attach(job launch.Job) func(ctx context.Context) (launch.Running, error) {
	l.criu = l.transparent(job)
	if l.criu != nil {
		if _, err := os.Stat(l.images()); err == nil {
			return func(ctx context.Context) (launch.Running, error) { return l.restore(ctx, job) }
		}
	}
	l.tell(l.forgetImages())
	return nil
}

// transparent returns what makes transparent checkpoints of a job (manual, "How HTCondor
// Jobs Vacate Machines": the standard universe); nil for a job that is treated like all
// others, because it is of another universe, works in a scratch directory, which its
// processes would not find again, or the machine cannot do that. Nor are there any for jobs
// that have another user's rights: criu, which is root, opens their files again by names that
// this user may have led elsewhere meanwhile.
func (l *local) transparent(job launch.Job) *launch.Criu {
	if !l.standard || job.Transfer != nil || job.Account.Other() || len(l.config.CheckpointCommand) == 0 {
		return nil
	}
	criu := launch.NewCriu(l.config.CheckpointCommand)
	ctx, cancel := context.WithTimeout(context.Background(), checkTime)
	defer cancel()
	if err := criu.Usable(ctx); err != nil {
		l.tell(fmt.Errorf("no transparent checkpoints on this machine: %v", err))
		return nil
	}
	return criu
}

// restore makes the job's processes from their images. If that fails none of them is left, nor are
// the images, unless ctx was cancelled.
func (l *local) restore(ctx context.Context, job launch.Job) (launch.Running, error) {
	job.Mark = l.family.Mark()
	err := l.family.Begin(func() (pid int, err error) {
		p, err := l.criu.Restore(ctx, job, l.images(), l.family)
		if err != nil {
			return 0, err
		}
		l.process = p
		return p.PID(), nil
	})
	if err != nil {
		l.tell(l.End(true))
	}
	if err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		l.tell(l.forgetImages())
	}
	return l, err
}

// forgetImages removes images that are of what the job was.
func (l *local) forgetImages() error { return removeScratch(l.folder, filepath.Base(l.images())) }

func (l *local) tell(err error) {
	if err != nil {
		l.complain(err)
	}
}

// Dump makes images of the job's processes.
func (l *local) Dump(patience time.Duration) (whole, done bool) {
	if l.criu == nil {
		return false, false
	}
	if alive := l.family.Processes(); !within(l.process.Tree(), alive) {
		return false, false // images of the tree would not be the whole job
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := l.criu.Dump(ctx, l.process, l.images())
	l.tell(err)
	return err == nil, err == nil || ctx.Err() != nil
}

// within reports whether a tree has all of these processes. It may have others, that wait to be
// reaped.
func within(tree, processes []int) bool {
	return !slices.ContainsFunc(processes, func(pid int) bool { return !slices.Contains(tree, pid) })
}

func (l *local) Wait() launch.Ended { return l.process.Wait() }

func (l *local) Signal(sig syscall.Signal) error { return l.process.Signal(sig) }

func (l *local) Catches(sig syscall.Signal) (yes bool) {
	asuser.Root(func() { yes = launch.Handles(l.process.PID(), sig) })
	return yes
}

func (l *local) End(again bool) error {
	l.ended = true
	if again {
		return l.family.Clear(l.config.KillingTimeout)
	}
	return l.family.End(l.config.KillingTimeout)
}

func (l *local) Usage() pool.Progress {
	u := l.family.Usage()
	p := pool.Progress{UserCPU: u.User, SysCPU: u.System, RSSKB: u.RSSKB, PeakKB: u.PeakKB, IOBytes: u.ReadBytes + u.WrittenBytes}
	if p.DiskKB = l.limits.diskKB(); l.ended {
		p.DiskKB = max(p.DiskKB, l.limits.finalDiskKB())
	}
	return p
}

// Exceeded asks the limits, of a job that has ended whether the kernel has ended it for them.
func (l *local) Exceeded(ended *launch.Ended) (v jobpolicy.Verdict) {
	if ended == nil {
		v, _ = l.limits.over(l.family.Usage())
	} else {
		v, _ = l.limits.stopped(*ended, l.family.Usage(), l.family.OutOfMemory())
	}
	return v
}

func (l *local) Core(job launch.Job) (path string, err error) {
	err = job.Account.As(func() error { path = coreOf(job.Dir, l.process.PID()); return nil })
	return path, err
}

// coreOf returns the path of the core file that a process left in its working directory;
// empty where it went elsewhere (core(5)).
func coreOf(dir string, pid int) string {
	for _, name := range []string{"core", fmt.Sprintf("core.%d", pid)} {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}
