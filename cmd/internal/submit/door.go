package submit

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/door"
	"fairspool/lib/asuser"
	"fairspool/lib/jobad"
	"fairspool/spool"
)

// wanted is a question of serve to the caller's end. The zero value asks for the jobs. Otherwise it asks for
// the problems of the jobs' files if the jobs become that cluster in a pool with that domain.
type wanted struct {
	Cluster int
	Domain  string
}

// offer is the first answer.
type offer struct {
	Digest []byte // of jobad.Jobs; empty: the description asks for no jobs
	Kept   bool   // the jobs keep their output
}

// doomed is a trouble that the second answer tells of. It only puts the caller's own jobs on hold.
type doomed struct {
	First, Count  int
	Why           string
	Code, Subcode int
}

// before returns what reads the description with the caller's rights, and answers serve with its jobs.
func before(c *cmdline.Call) (func() (door.Answer, error), error) {
	o, err := readOptions(c)
	if err != nil {
		return nil, err
	}
	s := &submission{Call: c, options: o}
	switch done, err := o.asOwner(c, false); {
	case err != nil:
		return nil, err
	case done:
		return nil, cmdline.ErrDone
	}
	c.First = wanted{}
	return func() (door.Answer, error) {
		jobs, err := s.read()
		if err == nil {
			err = s.strict()
		}
		if err != nil {
			return nil, err
		}
		return func(question []byte) (any, error) {
			var w wanted
			if err := json.Unmarshal(question, &w); err != nil {
				return nil, err
			}
			if w.Cluster == 0 {
				return s.offer(jobs)
			}
			return s.lookFor(jobs, w)
		}, nil
	}, nil
}

// offer returns the first answer.
func (s *submission) offer(d *jobad.Jobs) (o offer, err error) {
	o.Kept = s.kept
	if d.Count() > 0 {
		o.Digest, _, err = d.Digest(true)
	}
	return o, err
}

// lookFor makes the jobs as they will be in the pool, and returns procs doomed by their files.
func (s *submission) lookFor(d *jobad.Jobs, w wanted) (list []doomed, err error) {
	d.SetDomain(w.Domain)
	k := cluster{all: d.Count()}
	if k.Cluster, err = d.First(w.Cluster); err != nil {
		return nil, err
	}
	troubles, err := s.look(d, k)
	if err != nil {
		return nil, &forcible{err}
	}
	for _, t := range troubles {
		list = append(list, doomed{t.first, t.count, t.why, t.code, t.subcode})
	}
	return list, s.strict()
}

// receive asks the caller's end for the jobs, and checks them like those of a description. It trusts the
// caller's end for the folder, the environment and the command line only. Meanwhile the caller's end looks
// at the jobs' files; s.looked waits for its answer.
func (s *submission) receive(sp *spool.Spool) (*jobad.Jobs, error) {
	var answer offer
	offered, err := s.Ask(wanted{})
	if err == nil {
		err = offered(&answer)
	}
	if err != nil {
		return nil, err
	}
	s.kept = answer.Kept
	if len(answer.Digest) == 0 {
		return nil, errors.New("the description asks for no jobs: nothing is submitted")
	}
	n, err := sp.NextCluster()
	if err != nil {
		return nil, err
	}
	look, err := s.Ask(wanted{n, sp.Domain()})
	if err != nil {
		return nil, err
	}
	s.looked = sync.OnceValues(func() (list []doomed, err error) {
		err = look(&list)
		return list, err
	})
	o, err := s.surroundings("")
	if err != nil {
		return nil, err
	}
	o.Domain = sp.Domain()
	return jobad.ReadDigest(answer.Digest, o)
}

// troubles returns those that are about some of so many jobs.
func troubles(of []doomed, jobs int) (list []trouble) {
	for _, t := range of {
		if t.First < 0 || t.Count < 1 || t.First > jobs-t.Count || len(t.Why) > maxWhy {
			continue
		}
		list = append(list, trouble{t.First, t.Count, t.Why, t.Code, t.Subcode})
	}
	return list
}

// maxWhy bounds the reason of a trouble, in bytes.
const maxWhy = 4096

// asOwner has root's submit -owner USER done by a process of that user, which reads the
// description, runs its commands and looks at files. Then it returns the command's end. With serve it
// does for that process what serve does, as the spool is root's own; else the process goes through
// the door. done is false if the caller is not root, or the machine knows no such user.
func (o options) asOwner(c *cmdline.Call, serve bool) (done bool, err error) {
	if os.Geteuid() != 0 || o.inPlaceOf == "" || o.dryRunTo != "" || c.Trial != nil {
		return false, nil
	}
	u, known, err := asuser.LookUp(o.inPlaceOf)
	if err != nil || !known || u.UID == 0 {
		return false, err
	}
	p := exec.Command("/proc/self/exe", c.Typed...)
	p.Args[0] = os.Args[0]
	p.Stdin, p.Stdout, p.Stderr = os.Stdin, os.Stdout, os.Stderr
	// A session of its own has no terminal, into which the user could type for root. The process
	// dies with this one, that is with the thread that made it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p.SysProcAttr = &syscall.SysProcAttr{Credential: u.Credential(), Setsid: true, Pdeathsig: syscall.SIGKILL}
	if !serve {
		return true, ended(p.Run())
	}
	ours, theirs, err := pair()
	if err != nil {
		return false, err
	}
	p.ExtraFiles = []*os.File{theirs}
	p.Env = append(os.Environ(), cmdline.DoorVariable+"=3")
	err = p.Start()
	theirs.Close()
	if err != nil {
		return false, err
	}
	wait := sync.OnceValue(p.Wait)
	session, err := door.Begin(ours, 0, func() {
		wait()
		os.Exit(max(p.ProcessState.ExitCode(), 1))
	})
	switch {
	case err == nil:
		err = c.Serve(Command(), session)
	case errors.Is(err, io.EOF): // the process has ended without a request, and said why
		err = nil
	}
	if err != nil {
		p.Process.Kill()
		wait()
		return true, err
	}
	return true, ended(wait())
}

// ended returns how a process has ended as the command's end.
func ended(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return cmdline.ExitStatus(max(exit.ExitCode(), 1))
	}
	return err
}

// pair returns the two ends of a connection.
func pair() (ours *net.UnixConn, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	f := os.NewFile(uintptr(fds[0]), "socketpair")
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		unix.Close(fds[1])
		return nil, nil, err
	}
	return c.(*net.UnixConn), os.NewFile(uintptr(fds[1]), "socketpair"), nil
}
