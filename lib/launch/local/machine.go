// Package local is this machine for attempts at the jobs of one spool, without knowledge of the spool: it
// makes, measures and ends their processes, keeps their limits and nice values, and has their scratch
// directories.
package local

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
	"fairspool/lib/family"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/launch"
	"fairspool/lib/launch/container"
	"fairspool/lib/pool"
)

// Settings are a machine's settings for the jobs of one spool.
type Settings struct {
	Folder Folder // of the scratch directories
	Prefix string // of the names of the families of the spool's jobs
	// Base is the cgroup below which families have theirs; empty: they have none.
	Base string
	// Patience is how long processes may take to go after SIGKILL.
	Patience time.Duration
	// Checkpoint is the command that makes transparent checkpoints; empty: there are
	// none.
	Checkpoint []string
	Memory     MemoryLimit
	// StrictDisk has a job keep to the disk space that it asked for.
	StrictDisk bool
	RunTime    RunTime
	// MaxScratch bounds each scratch directory, in MB; 0: to a share of the free space; negative: not at
	// all.
	MaxScratch int64
	// Containers are what runs jobs in containers.
	Containers container.Settings
}

// Machine is this machine for one attempt: it makes and ends the processes of its job, keeps their
// limits, and has the scratch directory. It is a supervise.Machine.
type Machine struct {
	Settings
	pool.Attempt
	pipe     *os.File
	complain func(error)

	limits  limits
	family  *family.Family  // of the job's processes; nil before Prepare
	criu    *launch.Criu    // what makes transparent checkpoints of them; nil: nothing does
	process *launch.Process // nil before the start
	inside  *container.Run  // the job's container; nil: it has none

	shells *shells // beside the job; nil before the start

	standard    bool // the job is of the standard universe
	interactive bool // the job exists for a shell beside it
	ended       bool // its program has ended
}

// New returns the machine for an attempt. The attempt's processes inherit the pipe as file descriptor 3; nil:
// they do not. Complain receives errors.
func New(s Settings, a pool.Attempt, pipe *os.File, complain func(error)) *Machine {
	return &Machine{Settings: s, Attempt: a, pipe: pipe, complain: complain}
}

// Scratch returns the path of the attempt's scratch directory.
func (m *Machine) Scratch() string { return m.Folder.Scratch(m.Attempt) }

// Prepare readies the machine for the job, by its ad and that of its slot. It returns the attributes for the
// job's ad that name the enforcers of its limits; nil: none enforces them. It may be called again.
func (m *Machine) Prepare(ad, slot *classad.Ad) []launch.Found {
	if m.family == nil {
		m.standard = isStandard(ad)
		m.interactive, _ = ad.EvalBool(&classad.Context{}, pool.AttrInteractive)
		m.limits = limitsOf(m.Settings, ad, slot)
		m.family = m.limits.open(m.FamilyOf(m.Attempt, ad), m.Scratch())
	}
	return m.limits.found()
}

// Close gives up the processes, which have ended.
func (m *Machine) Close() error {
	if m.inside != nil {
		m.inside.Close()
	}
	if m.family == nil {
		return nil
	}
	return m.family.Close()
}

// MakeRoom makes the folder of the scratch directories.
func (m *Machine) MakeRoom() error { return m.Folder.Make() }

// Tidy removes the scratch directory.
func (m *Machine) Tidy() error { return m.Folder.Remove(m.Attempt.String()) }

// Fetch gets the image of the job's container.
func (m *Machine) Fetch(ctx context.Context, job launch.Job) (took time.Duration, err error) {
	if job.Container != nil {
		m.inside, took, err = m.Containers.Fetch(ctx, job, m.FamilyOf(m.Attempt, nil).Name)
	}
	return took, err
}

// Start executes the job's program.
func (m *Machine) Start(job launch.Job) (launch.Running, error) {
	job.Mark = m.family.Mark()
	job.Limits = slices.Concat(job.Limits, m.limits.rlimits())
	plain := job
	if m.inside != nil {
		var err error
		job, err = m.inside.Wrap(job)
		defer job.Release()
		if err != nil {
			return nil, err
		}
	}
	held := m.pipe
	if m.criu != nil {
		held = nil // criu cannot restore the pipe: only the job's family shows which processes are left
	}
	m.ended = false
	err := m.family.Begin(func() (pid int, err error) {
		if m.process, err = launch.Start(job, held, m.family); err != nil {
			return 0, err
		}
		return m.process.PID(), nil
	})
	if err == nil {
		m.shells = m.listen(plain)
	}
	return m, err
}

// checkTime bounds how long the program that makes transparent checkpoints may take to
// say whether it can.
const checkTime = 30 * time.Second

// Attach has the job go on from images of its processes.
func (m *Machine) Attach(job launch.Job) func(ctx context.Context) (launch.Running, error) {
	m.criu = m.transparent(job)
	if m.criu != nil {
		if _, err := os.Stat(m.Folder.images(m.Job)); err == nil {
			return func(ctx context.Context) (launch.Running, error) { return m.restore(ctx, job) }
		}
	}
	m.tell(m.forgetImages())
	return nil
}

// transparent returns what makes transparent checkpoints of a job (manual, "How HTCondor
// Jobs Vacate Machines": the standard universe); nil for a job that is treated like all
// others, because it is of another universe, works in a scratch directory, which its
// processes would not find again, or the machine cannot do that. Nor are there any for jobs
// that have another user's rights: criu, which is root, opens their files again by names that
// this user may have led elsewhere meanwhile.
func (m *Machine) transparent(job launch.Job) *launch.Criu {
	if !m.standard || job.Container != nil || job.Transfer != nil || job.Account.Other() || len(m.Checkpoint) == 0 {
		return nil
	}
	criu := launch.NewCriu(m.Checkpoint)
	ctx, cancel := context.WithTimeout(context.Background(), checkTime)
	defer cancel()
	if err := criu.Usable(ctx); err != nil {
		m.tell(fmt.Errorf("no transparent checkpoints on this machine: %v", err))
		return nil
	}
	return criu
}

// restore makes the job's processes from their images. If that fails none of them is left, nor are
// the images, unless ctx was cancelled.
func (m *Machine) restore(ctx context.Context, job launch.Job) (launch.Running, error) {
	job.Mark = m.family.Mark()
	err := m.family.Begin(func() (pid int, err error) {
		p, err := m.criu.Restore(ctx, job, m.Folder.images(m.Job), m.family)
		if err != nil {
			return 0, err
		}
		m.process = p
		return p.PID(), nil
	})
	if err != nil {
		m.tell(m.End(true))
	}
	if err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		m.tell(m.forgetImages())
	}
	return m, err
}

// forgetImages removes images of the job's processes.
func (m *Machine) forgetImages() error { return m.Folder.Remove(m.Job.String() + imagesName) }

func (m *Machine) tell(err error) {
	if err != nil {
		m.complain(err)
	}
}

// Dump makes images of the job's processes.
func (m *Machine) Dump(patience time.Duration) (whole, done bool) {
	if m.criu == nil {
		return false, false
	}
	if alive := m.family.Processes(); !within(m.process.Tree(), alive) {
		return false, false // images of the tree would not be the whole job
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := m.criu.Dump(ctx, m.process, m.Folder.images(m.Job))
	m.tell(err)
	return err == nil, err == nil || ctx.Err() != nil
}

// within reports whether a tree has all of these processes. It may have others, that wait to be
// reaped.
func within(tree, processes []int) bool {
	return !slices.ContainsFunc(processes, func(pid int) bool { return !slices.Contains(tree, pid) })
}

func (m *Machine) Wait() launch.Ended {
	e := m.process.Wait()
	if m.inside != nil {
		m.inside.Ended(m.process, e)
	}
	return e
}

// Signal reaches the processes of a container that podman has directly: podman would pass it only to the first process,
// which the kernel shields from signals that it does not catch.
func (m *Machine) Signal(sig syscall.Signal) error {
	main := m.main()
	if main == m.process.Main() || sig == syscall.SIGKILL {
		return m.process.Signal(sig)
	}
	var err error
	asuser.Root(func() {
		drops := launch.Drops(main, sig)
		if err = syscall.Kill(-main, sig); drops {
			err = syscall.Kill(main, syscall.SIGKILL)
		}
	})
	return err
}

func (m *Machine) Catches(sig syscall.Signal) (yes bool) {
	asuser.Root(func() { yes = launch.Handles(m.main(), sig) })
	return yes
}

// main returns the process id of the job's own program.
func (m *Machine) main() int {
	if m.inside != nil {
		if pid := m.inside.Main(m.family.Processes()); pid > 0 {
			return pid
		}
	}
	return m.process.Main()
}

func (m *Machine) End(again bool) error {
	m.ended = true
	m.shells.close()
	var err error
	if again {
		err = m.family.Clear(m.Patience)
	} else {
		err = m.family.End(m.Patience)
	}
	if m.inside != nil {
		err = errors.Join(err, m.inside.Remove())
	}
	return err
}

func (m *Machine) Usage() pool.Progress {
	u := m.family.Usage()
	p := pool.Progress{UserCPU: u.User, SysCPU: u.System, RSSKB: u.RSSKB, PeakKB: u.PeakKB, IOBytes: u.ReadBytes + u.WrittenBytes}
	if m.ended {
		p.DiskKB = m.limits.finalDiskKB()
	} else {
		p.DiskKB = m.limits.diskKB()
	}
	return p
}

// Exceeded asks the limits, of a job that has ended whether the kernel has ended it for them.
func (m *Machine) Exceeded(ended *launch.Ended) (v jobpolicy.Verdict) {
	over := false
	if ended == nil {
		v, over = m.limits.over(m.family.Usage())
	} else {
		v, over = m.limits.stopped(*ended, m.family.Usage(), m.family.OutOfMemory())
	}
	switch {
	case over || m.inside == nil:
		return v
	case ended == nil:
		return m.inside.Abandoned(m.family.Processes())
	}
	return m.inside.Verdict(*ended)
}

func (m *Machine) Core(job launch.Job) (path string, err error) {
	err = job.Account.As(func() error { path = coreOf(job.Dir, m.process.PID()); return nil })
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

// EndContainer forgets the container of an attempt without a supervisor, whose processes have ended; ad is its job's,
// nil if unknown.
func (s Settings) EndContainer(a pool.Attempt, ad *classad.Ad) error {
	if ad != nil && !launch.IsContained(ad) {
		return nil
	}
	return s.Containers.Remove(s.FamilyOf(a, nil).Name)
}

// FamilyOf returns the options of the family of an attempt at a job of this ad; nil: it is unknown. All attempts of a
// job of the standard universe have one name: a later attempt may restore the processes with the environment that
// they had.
func (s Settings) FamilyOf(a pool.Attempt, ad *classad.Ad) family.Options {
	name := a.String()
	if ad != nil && isStandard(ad) {
		name = a.Job.String()
	}
	return family.Options{Name: s.Prefix + name, Base: s.Base}
}

func isStandard(ad *classad.Ad) bool {
	n, ok := ad.EvalInt(&classad.Context{}, pool.AttrJobUniverse)
	return ok && pool.Universe(n) == pool.Standard
}
