// Package cmdtest is the common part of the tests of commands: a spool with known contents that the commands
// find, a way to run one of them in the test's own process, and scripts over several. Jobs that really run have
// their owners' rights if the test is root's: Users and Share let them.
//
// It knows how commands are called, but not their effects.
package cmdtest

import (
	"bytes"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/door"
	"fairspool/cmd/internal/systemd"
	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/lib/asuser"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Now is the policy time in Unix seconds: 2026-11-20 23:34:06 UTC.
const Now = 1795217646

// Spool makes a spool of the domain "pool" for the rest of the test, with what
// fill puts into it; nil leaves it to the command to make it. Commands find it,
// the defaults of the configuration, the time Now, and UTC.
func Spool(t *testing.T, fill func(*spool.Tx)) {
	t.Helper()
	zone := time.Local
	time.Local = time.UTC
	t.Cleanup(func() { time.Local = zone })
	t.Setenv("TZ", "UTC")
	t.Setenv("FAIRSPOOL_DIR", t.TempDir())
	t.Setenv("FAIRSPOOL_CONFIG", "/dev/null")
	t.Setenv("FAIRSPOOL_NOW", fmt.Sprint(Now))
	t.Setenv("FAIRSPOOL_QSTAT", "")
	if fill != nil {
		Update(t, fill)
	}
}

// Update changes the spool in one transaction.
func Update(t *testing.T, change func(*spool.Tx)) {
	t.Helper()
	s := open(t)
	defer s.Close()
	err := s.Update(func(tx *spool.Tx) error {
		tx.Op("test")
		change(tx)
		return nil
	})
	testenv.OK(t, err)
}

// View looks at the spool.
func View(t *testing.T, look func(*spool.View)) {
	t.Helper()
	s := open(t)
	defer s.Close()
	if err := s.View(func(v *spool.View) error { look(v); return nil }); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T) *spool.Spool {
	t.Helper()
	s, err := spool.Open(os.Getenv("FAIRSPOOL_DIR"), spool.Options{Program: "test", UIDDomain: "pool", Now: time.Unix(Now, 0)})
	testenv.OK(t, err)
	return s
}

// Run runs a command with empty standard input, and returns its exit status and its
// output on standard output and standard error.
func Run(c cmdline.Command, args ...string) (status int, out, bad string) {
	var o, b bytes.Buffer
	status = cmdline.Execute(c, args, strings.NewReader(""), &o, &b)
	return status, o.String(), b.String()
}

// Ad reads an ad in new form.
func Ad(t *testing.T, text string) *classad.Ad {
	t.Helper()
	ad, err := classad.ParseAd(text)
	testenv.OK(t, err)
	return ad
}

// Claims gives slots to jobs of cluster 1, which is alice's: 1.0 runs, and 1.1 is
// matched.
func Claims(tx *spool.Tx) {
	at := time.Unix(Now-60, 0)
	c := pool.Claim{Job: pool.JobID{Cluster: 1}, Attempt: 1, Slot: "slot1@node", Machine: "node", Submitter: "alice@pool",
		State: pool.RunningClaim, Weight: accountant.One, MatchedAt: at, StartedAt: at}
	tx.PutClaim(c)
	c.Job.Proc, c.State, c.StartedAt = 1, pool.Matched, time.Time{}
	tx.PutClaim(c)
	tx.PutSubmitter(accountant.Record{Name: "alice@pool", Priority: 1, At: at, ResourcesUsed: 2, InUse: 2 * accountant.One})
}

// Queue reads each job with its state, then each claim with its, then what keeps
// jobs back.
func Queue(t *testing.T) string {
	t.Helper()
	var list []string
	View(t, func(v *spool.View) {
		for id, ad := range v.Jobs() {
			n, _ := ad.EvalInt(&classad.Context{}, pool.AttrJobStatus)
			list = append(list, fmt.Sprintf("%v=%v", id, pool.Status(n)))
		}
		for _, c := range v.Claims() {
			list = append(list, fmt.Sprintf("%v:%v", c.Job, c.State))
		}
		for _, f := range v.Factories() {
			if f.Paused != "" {
				list = append(list, fmt.Sprintf("%d: %s", f.Cluster, f.Paused))
			}
		}
	})
	return strings.Join(list, " ")
}

// OwnerID is the uid and the group of everybody whom Users makes known.
const OwnerID = 65534

// Users makes users that the machine does not know, such as alice, known to the test's own code that
// runs jobs, or writes logs. If the test is root's they are found, with an account of no other user;
// only a user called a stranger is not, and one called unreachable cannot be looked up. Tests of
// others run all jobs as themselves.
func Users(t testing.TB) {
	t.Helper()
	dir := t.TempDir()
	testenv.OK(t, UsersIn(dir))
	before := asuser.Folders
	t.Cleanup(func() { asuser.Folders = before })
	LookIn(dir)
}

// LookIn has users looked up by the programs that UsersIn has put into a folder.
func LookIn(dir string) { asuser.Folders = append([]string{dir}, asuser.Folders...) }

// UsersIn puts the programs that find the users of Users into a folder.
func UsersIn(dir string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	id, err := os.ReadFile(whereIs("id"))
	if err != nil {
		return err
	}
	nobody := strconv.Itoa(OwnerID)
	for name, text := range map[string]string{
		"getent": `#!/bin/sh
case "$1 $2" in
*" stranger"*) exit 2 ;;
*" unreachable"*) exit 1 ;;
"passwd "[a-z]*) echo "$2:x:` + nobody + `:` + nobody + `::/:/bin/sh" ;;
*) exit 2 ;;
esac
`,
		"id": `#!/bin/sh
case "$1 $2" in "-G "[a-z]*) echo ` + nobody + ` ;; *) exec ` + filepath.Join(dir, "real", "id") + ` "$@" ;; esac
`,
		"real/id": string(id),
	} {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = os.WriteFile(path, []byte(text), 0o755)
		}
		if err != nil {
			return err
		}
	}
	for folder := dir; below(folder, os.TempDir()); folder = filepath.Dir(folder) {
		if err := letThrough(folder); err != nil {
			return err
		}
	}
	return nil
}

func whereIs(program string) string {
	path, _ := asuser.Find(program)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// machine names the folder of UsersIn in the environment of the tests that UsersOfMachine has begun
// anew.
const machine = "FAIRSPOOL_TEST_USERS"

// UsersOfMachine makes the users of Users known to all programs that the tests of a package start:
// root's tests begin anew in a mount namespace where getent(1) and id(1) know them. Done has to be
// called at the end. Where root may not make one, NeedUsers skips.
func UsersOfMachine() (done func(), err error) {
	dir := os.Getenv(machine)
	if os.Geteuid() != 0 || dir != "" {
		os.Unsetenv(machine)
		return func() { os.RemoveAll(dir) }, nil
	}
	if dir, err = os.MkdirTemp("", "users"); err != nil {
		return nil, err
	}
	if err = UsersIn(dir); err == nil {
		err = beginAnew(dir)
	}
	os.RemoveAll(dir)
	noUsers = err
	return func() {}, nil
}

// noUsers is why the machine has no users of tests; nil: it has them.
var noUsers error

// NeedUsers skips a test if UsersOfMachine could not make its users known.
func NeedUsers(t testing.TB) {
	t.Helper()
	if noUsers != nil {
		t.Skipf("there are no users for programs of root's: %v", noUsers)
	}
}

// beginAnew executes this program once more, where the programs in a folder are the machine's.
func beginAnew(dir string) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return os.NewSyscallError("unshare", err)
	}
	err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	for _, name := range []string{"getent", "id"} {
		if err == nil {
			err = unix.Mount(filepath.Join(dir, name), whereIs(name), "", unix.MS_BIND, "")
		}
	}
	if err != nil {
		return os.NewSyscallError("mount", err)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return unix.Exec(self, os.Args, append(os.Environ(), machine+"="+dir))
}

// Share lets the jobs of these users reach a directory of the test, and write to its present
// content. It does nothing unless the test is root's.
func Share(t testing.TB, dir string) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	testenv.OK(t, share(dir))
}

func share(dir string) error {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		own := info.Mode().Perm() & 0o700
		return os.Chmod(path, own|own>>3|own>>6)
	})
	for above := filepath.Dir(dir); err == nil && below(above, os.TempDir()); above = filepath.Dir(above) {
		err = letThrough(above)
	}
	return err
}

// letThrough makes the content of a directory reachable for all users, besides their
// present rights there.
func letThrough(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	return os.Chmod(dir, info.Mode().Perm()|0o011)
}

// below reports whether a path leads to something in a directory.
func below(path, dir string) bool {
	return strings.HasPrefix(path, filepath.Clean(dir)+string(filepath.Separator))
}

// RunFor runs a command for a user of that name who calls through the door, and returns the same
// as Run. The pool's spool is the test's, its configuration the given one, and the time the
// clock's.
func RunFor(t *testing.T, user, config string, c cmdline.Command, args ...string) (status int, out, bad string) {
	t.Helper()
	s := cmdline.Surroundings{
		UID: 500, UserName: func(int) (string, error) { return "fair", nil },
		Spool: os.Getenv("FAIRSPOOL_DIR"), Config: filepath.Join(t.TempDir(), "fairspool.toml"),
	}
	testenv.OK(t, os.WriteFile(s.Config, []byte(config), 0o600))
	for _, v := range []string{"FAIRSPOOL_DIR", "FAIRSPOOL_CONFIG", "FAIRSPOOL_NOW"} {
		was := os.Getenv(v)
		os.Unsetenv(v)
		defer os.Setenv(v, was)
	}
	ours, theirs := pair(t)
	served := make(chan struct{})
	go func() {
		defer close(served)
		defer ours.Close()
		session, err := door.Begin(ours, 0, func() {})
		if err == nil {
			session.Peer = door.Peer{UID: 1000, Name: user}
			s.Serve([]cmdline.Command{c}, session)
		}
	}()
	var o, b bytes.Buffer
	os.Setenv(cmdline.DoorVariable, strconv.Itoa(theirs))
	caller := s
	caller.UID, caller.UserName = 1000, func(int) (string, error) { return user, nil }
	status = caller.Execute(c, args, strings.NewReader(""), &o, &b)
	os.Unsetenv(cmdline.DoorVariable)
	ours.CloseRead() // the caller says no more, and may not even have come to the door
	<-served
	return status, o.String(), b.String()
}

// pair returns the two ends of a connection, one as a descriptor.
func pair(t *testing.T) (ours *net.UnixConn, theirs int) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	testenv.OK(t, err)
	f := os.NewFile(uintptr(fds[0]), "socketpair")
	defer f.Close()
	c, err := net.FileConn(f)
	testenv.OK(t, err)
	return c.(*net.UnixConn), fds[1]
}

// Systemd makes a machine that looks as if systemd ran it, with a script as systemd-run; the
// file calls of the folder has its arguments.
func Systemd(t *testing.T, dir, script string) systemd.Machine {
	t.Helper()
	for _, folder := range []string{"bin", "run/systemd/system", "run/user/1000/systemd/private", "linger/alice"} {
		testenv.OK(t, os.MkdirAll(filepath.Join(dir, folder), 0o755))
	}
	if script != "" {
		text := "#!/bin/sh\necho \"$*\" >>" + dir + "/calls\n" + script
		testenv.OK(t, os.WriteFile(filepath.Join(dir, "bin/systemd-run"), []byte(text), 0o755))
	}
	t.Setenv("PATH", "/usr/bin:/bin")
	before := asuser.Folders
	t.Cleanup(func() { asuser.Folders = before })
	asuser.Folders = []string{dir + "/bin", "/usr/bin", "/bin"}
	return systemd.Machine{Run: dir + "/run", Linger: dir + "/linger", UID: 0, Name: "root"}
}

// Execs is a systemd-run that executes its command.
const Execs = `while [ "$1" != -- ]; do shift; done; shift; exec "$@"`

// Queued returns attributes of a job in the queue as text, "gone" when it is not there.
func Queued(t testing.TB, s *spool.Spool, id pool.JobID, names ...string) string {
	t.Helper()
	text := "gone"
	err := s.View(func(v *spool.View) error {
		if ad, ok := v.Job(id); ok {
			text = Attributes(ad, names)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return text
}

// Attributes returns attributes of an ad as text.
func Attributes(ad *classad.Ad, names []string) string {
	var texts []string
	for _, name := range names {
		texts = append(texts, name+"="+ad.Eval(&classad.Context{}, name, nil).String())
	}
	return strings.Join(texts, " ")
}
