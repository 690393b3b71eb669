package container

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/lib/asuser"
	"fairspool/lib/config"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/launch"
)

// Settings are a machine's settings for containers.
type Settings struct {
	Runtimes []string // CONTAINER_RUNTIMES: the names or paths of the programs, the preferred ones first
	Mounts   []Mount  // CONTAINER_MOUNTS
	Root     bool     // CONTAINER_ROOT: jobs may have uid 0
	// Cache is CONTAINER_CACHE, the folder that says which images podman has fetched; empty: the usual one.
	Cache     string
	CacheSize int64 // CONTAINER_CACHE_SIZE, in bytes
}

// Mount is a file or directory of the machine that a container has.
type Mount = config.ContainerMount

// Of returns the settings of a configuration.
func Of(c *config.Config) Settings {
	return Settings{
		Runtimes: c.ContainerRuntimes, Mounts: c.ContainerMounts, Root: c.ContainerRoot,
		Cache: c.ContainerCache, CacheSize: c.ContainerCacheSize << 20,
	}
}

// runtime is a program that runs containers.
type runtime struct {
	name     string   // what slots say
	programs []string // the names that it may have
	kinds    []launch.ImageKind
	// attribute names the attribute of a slot that says that there is this runtime, and version the one with its
	// version; empty: none does.
	attribute, version string
	// command returns the arguments that run a job, and the environment of the runtime itself.
	command func(r request) (args, env []string, err error)
	// monitors: it reports what becomes of the job's own program to file descriptor 4.
	monitors bool
	// forgets are the arguments that remove the record of a container, with its remaining processes; nil: the runtime
	// keeps no records. A runtime with records reads the environment from file descriptor 4, and runs with root's
	// rights in root's pool.
	forgets []string
	// fetches: images are fetched before the start, and named by their IDs.
	fetches bool
	// conmon: a program of this name watches over the runtime's container, which cannot end
	// without it.
	conmon bool
	// complains begins the lines of its errors.
	complains string
	// trial returns the arguments that run a program of this machine in a container; nil: only the version is asked for.
	trial func(root, program string) []string
}

var runtimes = []runtime{bubblewrap, apptainer, podman, docker}

// request is a job that is to be run by a runtime.
type request struct {
	launch.Job
	mounts []Mount // of the operator and the job, the scratch directory among them
	name   string  // of the container
	tmp    string  // a directory for temporary files, in the scratch directory
	image  string  // the ID of an image that was fetched; empty: none was
}

// named returns the runtime of a program.
func named(program string) (runtime, bool) {
	i := slices.IndexFunc(runtimes, func(r runtime) bool { return slices.Contains(r.programs, filepath.Base(program)) })
	if i < 0 {
		return runtime{}, false
	}
	return runtimes[i], true
}

// folders are where programs are looked for that may run for root.
var folders = []string{"/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"}

// find returns the path of a program; empty: it is not installed.
func find(program string) string {
	if !asuser.Privileged() {
		path, _ := exec.LookPath(program)
		return path
	}
	in := folders
	if filepath.IsAbs(program) {
		in = []string{filepath.Dir(program)}
	}
	for _, folder := range in {
		path := filepath.Join(folder, filepath.Base(program))
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// installed is a runtime that is there.
type installed struct {
	runtime
	path  string
	tmp   string   // its folder for temporary files; empty: the usual one
	extra *os.File // file descriptor 3 of the runtime; nil: none
}

// installed returns the runtimes that are allowed and there, in their order. One with two names counts once.
func (s Settings) installed() (list []installed) {
	for _, program := range s.Runtimes {
		r, ok := named(program)
		if !ok || slices.ContainsFunc(list, func(i installed) bool { return i.name == r.name }) {
			continue
		}
		if path := find(program); path != "" {
			list = append(list, installed{runtime: r, path: path})
		}
	}
	return list
}

// choose returns the runtime for an image: the first that takes this kind, of those that the slot has.
func (s Settings) choose(kind launch.ImageKind, has []string) (installed, error) {
	var names []string
	for _, r := range s.installed() {
		if has != nil && !slices.Contains(has, r.name) {
			continue
		}
		if slices.Contains(r.kinds, kind) {
			return r, nil
		}
		names = append(names, r.name)
	}
	what := cmp.Or(strings.Join(names, " and "), "no program")
	return installed{}, &launch.StartError{Reason: fmt.Sprintf("container: this machine has %s that runs %s: install one that CONTAINER_RUNTIMES allows, then run slots detect again", missing(what), kind)}
}

func missing(names string) string {
	if names == "no program" {
		return names
	}
	return names + ", and nothing"
}

// Run is the container of an attempt at a job.
type Run struct {
	Settings
	by     installed
	name   string
	id     string     // of an image that was fetched
	use    *os.File   // keeps it
	job    launch.Job // as the runtime runs it
	failed error      // why the job's program was not executed; nil: it was

	begun     time.Time // when the runtime was
	monitored bool      // podman's conmon was there
	alone     time.Time // since when processes of the job have been without it; zero: they have not
}

// HoldImage is HTCondor's HoldReasonCode of a job without its container image.
const HoldImage = 35

// Fetch returns the container of a job, with its image on this machine, and the time that fetching the image took; name
// is the container's name. The scratch directory must exist. Errors are *launch.StartErrors.
func (s Settings) Fetch(ctx context.Context, j launch.Job, name string) (*Run, time.Duration, error) {
	c := j.Container
	by, err := s.choose(c.Kind, c.Runtimes)
	if err != nil {
		return nil, 0, err
	}
	r := &Run{Settings: s, by: by, name: name}
	switch {
	case j.Account.UID == 0 && !s.Root:
		return nil, 0, &launch.StartError{Reason: "container: jobs of root run in no container, unless CONTAINER_ROOT is true"}
	case by.forgets != nil && j.Transfer == nil && asuser.Privileged():
		// Root would mount paths that the user names, and the user could redirect them.
		return nil, 0, &launch.StartError{Reason: "container: " + by.name + " of root runs no job without file transfer: want should_transfer_files = YES"}
	case !by.fetches:
		return r, 0, nil
	}
	key, archive, err := source(j)
	if err != nil {
		return nil, 0, err
	}
	defer archive.Close()
	var took time.Duration
	if e := asuser.Root(func() { r.id, r.use, took, err = s.cache(by).fetch(ctx, key, archive, c.PullAlways) }); e != nil {
		err = e
	}
	var refused *launch.StartError
	if err != nil && !errors.As(err, &refused) {
		err = &launch.StartError{Reason: "CONTAINER_CACHE: " + err.Error()}
	}
	return r, took, err
}

// Close gives up the image, which may be removed then.
func (r *Run) Close() { r.use.Close() }

// Wrap returns the job as one that the runtime runs. Errors are *launch.StartErrors.
func (r *Run) Wrap(j launch.Job) (launch.Job, error) {
	tmp, err := temporary(j)
	if err != nil {
		return j, err
	}
	q := request{Job: j, name: r.name, mounts: r.mounts(j), tmp: tmp, image: r.id}
	args, env, err := r.by.command(q)
	if err != nil {
		return j, err
	}
	j.Cmd, j.Arg0, j.Args, j.Env = r.by.path, "", args, env
	switch {
	case r.by.monitors:
		j.Monitor, err = launch.Unnamed("")
	case r.by.forgets != nil:
		j.AsRoot, j.Limits, j.Core = asuser.Privileged(), nil, -1
		j.Inherited, err = launch.Unnamed(environment(q))
	}
	r.job, r.failed = j, nil
	r.begun, r.monitored, r.alone = time.Now(), false, time.Time{}
	return j, err
}

// Ended finds out why the job's program was not executed in the container, if it was not. Its processes are there yet.
func (r *Run) Ended(p *launch.Process, e launch.Ended) {
	executed := e.Signal != 0
	switch {
	case executed:
	case r.job.Monitor != nil:
		executed = p.Executed()
	case r.by.forgets != nil:
		executed = e.Code < 125 || e.Code > 127
		if !executed {
			ctx, cancel := context.WithTimeout(context.Background(), trialTime)
			defer cancel()
			state, err := r.by.ask(ctx, "container", "inspect", "--format", "{{.State.Status}}", r.name)
			executed = err == nil && strings.TrimSpace(state) != "created"
		}
	default:
		executed = true
	}
	if executed {
		return
	}
	text := r.by.name + " ended with status " + strconv.Itoa(e.Code) + " before the job's program began"
	r.job.Account.As(func() error {
		if last := lastLine(r.job.Err, r.by.complains); last != "" {
			text = last
		}
		return nil
	})
	r.failed = &launch.StartError{Reason: "container: " + text}
}

// Verdict returns the verdict on a job whose container has ended; Stay: the container ended as
// the job did.
func (r *Run) Verdict(e launch.Ended) jobpolicy.Verdict {
	switch {
	case r.failed != nil:
		return jobpolicy.Verdict{Action: jobpolicy.Hold, Reason: r.failed.Error(), Code: launch.HoldStart}
	case e.Signal != 0:
		return jobpolicy.Verdict{Action: jobpolicy.Vacate, Reason: "container: " + r.by.name + " was ended by signal " + strconv.Itoa(e.Signal)}
	}
	return jobpolicy.Verdict{}
}

// Abandoned returns the verdict on a job whose running processes have lost the program that watches over their
// container: podman would wait forever, and their output is lost. Without such a program podman is given a minute to
// start it.
func (r *Run) Abandoned(processes []int) jobpolicy.Verdict {
	const patience, slowest = time.Second, time.Minute
	others, now := false, time.Now()
	itself := filepath.Base(r.by.path)
	for _, pid := range processes {
		switch name := nameOf(pid); {
		case nameOf(launch.ParentOf(pid)) == itself: // it unpacks images, and asks conmon for its version
		case name == conmon:
			r.monitored, r.alone = true, time.Time{}
			return jobpolicy.Verdict{}
		case slices.Contains([]string{"", itself, "crun", "runc"}, name):
		default:
			others = true
		}
	}
	switch {
	case !r.by.conmon || !others || !r.monitored && now.Sub(r.begun) < slowest:
		r.alone = time.Time{}
	case r.alone.IsZero():
		r.alone = now
	case now.Sub(r.alone) > patience:
		return jobpolicy.Verdict{Action: jobpolicy.Vacate, Reason: "container: " + conmon + ", which watches over it, has ended"}
	}
	return jobpolicy.Verdict{}
}

// Main returns the first process in podman's container, the leader of its session, or 0 without one.
func (r *Run) Main(processes []int) int {
	i := slices.IndexFunc(processes, func(pid int) bool {
		session, _ := unix.Getsid(pid)
		return session == pid && nameOf(pid) != conmon && nameOf(launch.ParentOf(pid)) == conmon
	})
	if i < 0 || !r.by.conmon {
		return 0
	}
	return processes[i]
}

// conmon is the program with which podman watches over a container.
const conmon = "conmon"

// nameOf returns the name of a process; empty: it has gone.
func nameOf(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return strings.TrimSpace(string(text))
}

// lastLine returns the last line with a beginning in the last 4 KiB of a file, or an empty text.
func lastLine(path, begin string) (last string) {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	const most = 4096
	if size, err := f.Seek(0, io.SeekEnd); err == nil && size > most {
		f.Seek(-most, io.SeekEnd)
	} else {
		f.Seek(0, io.SeekStart)
	}
	text, _ := io.ReadAll(io.LimitReader(f, most))
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, begin) {
			last = strings.TrimSpace(line)
		}
	}
	return last
}

// Remove forgets the container after its processes have ended.
func (r *Run) Remove() error {
	if r.by.forgets == nil {
		return nil
	}
	return r.by.remove(r.name)
}

// Remove forgets the container of a name after its processes have ended.
func (s Settings) Remove(name string) error {
	var wrong error
	for _, r := range s.installed() {
		if r.forgets != nil {
			wrong = errors.Join(wrong, r.remove(name))
		}
	}
	return wrong
}

// remove forgets the container of a name, if there is one.
func (i installed) remove(name string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), trialTime)
	defer cancel()
	for range 2 { // podman 4.3 fails once if conmon was killed
		if _, err = i.ask(ctx, append(slices.Clone(i.forgets), name)...); err == nil || strings.Contains(strings.ToLower(err.Error()), "no such container") {
			return nil
		}
	}
	return fmt.Errorf("container %s: %w", name, err)
}

// mounts returns the files of the machine that the container of a job has.
func (s Settings) mounts(j launch.Job) []Mount {
	list := slices.Clone(s.Mounts)
	for _, path := range j.Container.Binds {
		list = append(list, Mount{From: path, To: path, Writable: path == j.Dir})
	}
	return append(list, Mount{From: j.Scratch, To: j.Container.Target, Writable: true})
}

// temporaryName is the directory for temporary files in a scratch directory. It is no output: a job that names
// none has only files as its output.
const temporaryName = ".tmp"

func temporary(j launch.Job) (string, error) {
	path := filepath.Join(j.Scratch, temporaryName)
	err := j.Account.As(func() error {
		if err := os.Mkdir(path, 0o700); err != nil && !os.IsExist(err) {
			return &launch.StartError{Reason: fmt.Sprintf("container: %v", err), Passing: true}
		}
		return nil
	})
	return path, err
}

// program returns the path of the job's program inside; empty: the image knows it.
func (r request) program() string { return r.Inside(r.Cmd) }
