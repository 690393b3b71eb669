package cmdline

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/door"
	"fairspool/internal/testenv"
)

// copying is a command that copies a file of the caller's, and what it is given, to another file.
func copying() Command {
	return Command{
		Name: "copying", Brief: "copy", Served: true,
		Flags: []Flag{{Name: "to", Args: []string{"FILE"}, Help: "write FILE"}},
		Run: func(c *Call) error {
			if !c.ThroughDoor() {
				return errors.New("not through the door")
			}
			who, err := c.Caller()
			if err != nil {
				return err
			}
			text, err := c.ReadFile(c.Args[0])
			if err != nil {
				return fmt.Errorf("%s: %w", c.Args[0], err)
			}
			given, err := c.ReadFile("-")
			if err != nil {
				return err
			}
			n, err := c.Replace(c.Value("to"), 0o640, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "%s%s", text, given)
				return err
			})
			if err != nil {
				return fmt.Errorf("%s: %w", c.Value("to"), err)
			}
			dir, err := c.SpoolDir()
			if err != nil {
				return err
			}
			fmt.Fprintf(c.Stdout, "%d bytes, at %s, keys %t, private %t, %v\n", n, time.Unix(0, 0).Format("15:04"), c.KeysRead(), c.Private(dir), who.Admin)
			return ErrReported
		},
	}
}

// doorPool is a pool of another account, whose door is open.
type doorPool struct {
	*testing.T
	Surroundings
	served []Command
}

// newDoorPool opens the door of a pool, in which these commands are served.
func newDoorPool(t *testing.T, served ...Command) doorPool {
	t.Helper()
	for _, v := range []string{"FAIRSPOOL_DIR", "FAIRSPOOL_CONFIG", "FAIRSPOOL_NOW", DoorVariable} {
		t.Setenv(v, "")
	}
	zone := time.Local
	t.Cleanup(func() { time.Local = zone })
	dir := t.TempDir()
	p := doorPool{t, Surroundings{UID: os.Getuid() + 1, UserName: people, Spool: dir, Config: filepath.Join(t.TempDir(), "fairspool.toml")}, served}
	testenv.OK(t, os.WriteFile(p.Config, nil, 0o600))
	l, err := door.Listen(dir)
	testenv.OK(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := l.AcceptUnix()
			if err != nil {
				return
			}
			session, err := door.Begin(conn, 0, func() {})
			if err == nil {
				session.Peer = door.Peer{UID: p.UID, Name: "alice"}
				account := p.Surroundings
				account.UID = os.Getuid()
				account.Serve(served, session)
			}
			conn.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-ended })
	return p
}

// call runs a command of the caller's.
func (p doorPool) call(c Command, input string, args ...string) (status int, out, bad string) {
	var o, b bytes.Buffer
	status = p.Execute(c, args, strings.NewReader(input), &o, &b)
	return status, o.String(), b.String()
}

// TestHandOver is a command that reads and writes the caller's files through the door.
func TestHandOver(t *testing.T) {
	p := newDoorPool(t, copying())
	t.Setenv("TZ", "Asia/Kolkata")
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	testenv.OK(t, os.WriteFile(from, []byte("one "), 0o600))
	status, out, bad := p.call(copying(), "two", "-to", to, from)
	if want := "7 bytes, at 05:30, keys false, private false, false\n"; status != 1 || out != want || bad != "" {
		t.Errorf("status %d, %q, %q, want 1, %q", status, out, bad, want)
	}
	text, err := os.ReadFile(to)
	if err != nil || string(text) != "one two" {
		t.Errorf("the copy is %q, %v", text, err)
	}
	for _, c := range []struct{ name, to, from, want string }{
		{"no such file", to, from + "s", from + "s: no such file or directory"},
		{"no such folder", dir + "/none/to", from, dir + "/none/to: no such file or directory"},
		{"a folder", to, dir, dir + ": is a directory"},
	} {
		if status, out, bad := p.call(copying(), "", "-to", c.to, c.from); status != 1 || out != "" || bad != "copying: "+c.want+"\n" {
			t.Errorf("%s: status %d, %q, %q, want %q", c.name, status, out, bad, c.want)
		}
	}
}

// TestHandOverRefuses holds which options do not go through a door, and the advice to the caller.
func TestHandOverRefuses(t *testing.T) {
	other := copying()
	other.Name = "other"
	p := newDoorPool(t, copying())
	own := copying()
	own.Served = false
	for _, c := range []struct {
		name    string
		command Command
		args    string
		status  int
		want    string
	}{
		{"a command of the account's", own, "x", 1, "copying: not available through the door of another account's pool: run it as the account, sudo -u "},
		{"the time", copying(), "-now 5 x", 2, "copying: -now: not available in the pool of another account\n"},
		{"a configuration", copying(), "-config /dev/null x", 2, "copying: -config: not available in the pool of another account\n"},
		{"a command that serve does not know", other, "x", 2, `fairspool: "other": no command that serve runs` + "\n"},
	} {
		status, out, bad := p.call(c.command, "", strings.Fields(c.args)...)
		if status != c.status || out != "" || !strings.HasPrefix(bad, c.want) {
			t.Errorf("%s: status %d, %q, %q, want %d, %q", c.name, status, out, bad, c.status, c.want)
		}
	}
}

// TestBefore holds that serve is asked for nothing where the caller's end is done, or has failed.
func TestBefore(t *testing.T) {
	asked := copying()
	asked.Run = func(*Call) error { t.Error("serve is asked"); return nil }
	p := newDoorPool(t, asked)
	for _, c := range []struct {
		err    error
		status int
		bad    string
	}{{ErrDone, 0, ""}, {errors.New("fault"), 1, "copying: fault\n"}} {
		ended := false
		asked.Before = func(c2 *Call) (func() (door.Answer, error), error) {
			c2.AtEnd(func() { ended = true })
			return nil, c.err
		}
		if status, out, bad := p.call(asked, "", "x"); status != c.status || out != "" || bad != c.bad || !ended {
			t.Errorf("Before = %v: status %d, %q, %q, ended: %t, want %d, %q", c.err, status, out, bad, ended, c.status, c.bad)
		}
	}
}

// TestNobodyAnswers holds the message about a door without a serve.
func TestNobodyAnswers(t *testing.T) {
	p := newDoorPool(t)
	p.Spool = t.TempDir()
	l, err := door.Listen(p.Spool)
	testenv.OK(t, err)
	l.SetUnlinkOnClose(false)
	l.Close()
	path := filepath.Join(p.Spool, door.SocketName)
	want := "copying: " + path + ": nothing answers there: "
	if status, _, bad := p.call(copying(), "", "x"); status != 1 || !strings.HasPrefix(bad, want) {
		t.Errorf("a door that is shut: status %d, %q, want %q", status, bad, want)
	}
	// One that is removed between the look and the call.
	gone := copying()
	gone.Before = func(*Call) (func() (door.Answer, error), error) { return nil, os.Remove(path) }
	if status, _, bad := p.call(gone, "", "x"); status != 1 || bad != "copying: "+path+": no such file or directory\n" {
		t.Errorf("a door that is gone: status %d, %q", status, bad)
	}
}

// TestInheritedDoor holds that a connection which a process has made for this one is a Unix socket.
func TestInheritedDoor(t *testing.T) {
	p := newDoorPool(t)
	inherits := func(fd int) (status int, bad string) {
		t.Setenv(DoorVariable, strconv.Itoa(fd))
		status, _, bad = p.call(copying(), "", "-now", "5", "x")
		return status, bad
	}
	var pipe [2]int
	testenv.OK(t, unix.Pipe2(pipe[:], unix.O_CLOEXEC))
	unix.Close(pipe[1])
	if status, bad := inherits(pipe[0]); status != 1 || !strings.HasPrefix(bad, "copying: "+DoorVariable+": ") {
		t.Errorf("a pipe: %d, %q", status, bad)
	}
	udp, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Skip(err)
	}
	if status, bad := inherits(udp); status != 1 || bad != "copying: "+DoorVariable+": no Unix socket\n" {
		t.Errorf("a socket of the network: %d, %q", status, bad)
	}
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	testenv.OK(t, err)
	unix.Close(ends[1])
	if status, bad := inherits(ends[0]); status != 1 || bad != "copying: "+door.ErrCut.Error()+"\n" {
		t.Errorf("a connection whose other end is shut: %d, %q", status, bad)
	}
}

// TestReplace holds that a file is written as a whole or not at all, whatever
// was there before.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "pool.dump")
	link := filepath.Join(dir, "link")
	testenv.OK(t, os.Symlink("pool.dump", link))
	say := func(text string, err error) func(io.Writer) error {
		return func(w io.Writer) error {
			io.WriteString(w, text)
			return err
		}
	}
	broken := errors.New("broken")
	for _, c := range []struct {
		name  string
		write func(io.Writer) error
		err   error
		left  string
	}{
		{name, say("half", broken), broken, ""},
		{name, say("one", nil), nil, "one"},
		{name, say("half", broken), broken, "one"},
		{name, say("second", nil), nil, "second"},
		{link, say("third", nil), nil, "third"},
	} {
		n, err := Replace(c.name, 0o600, c.write)
		if !errors.Is(err, c.err) || err == nil && n != int64(len(c.left)) {
			t.Errorf("Replace(%s) = %d, %v, want %d, %v", c.name, n, err, len(c.left), c.err)
		}
		got, err := os.ReadFile(name)
		if c.left == "" != os.IsNotExist(err) || string(got) != c.left {
			t.Errorf("%s is then %q, %v, want %q", name, got, err, c.left)
		}
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is no link any more: %v, %v", info, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("the folder has %v, %v, want the file and the link only", entries, err)
	}
}

func TestReplaceRefuses(t *testing.T) {
	for name, want := range map[string]string{
		t.TempDir():                              "not a regular file",
		"/dev/null":                              "not a regular file",
		filepath.Join(t.TempDir(), "no", "such"): "no such file or directory",
	} {
		if _, err := Replace(name, 0o600, func(io.Writer) error { return nil }); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Replace(%s) = %v, want %s", name, err, want)
		}
	}
	if info, err := os.Stat("/dev/null"); err != nil || info.Mode().IsRegular() {
		t.Errorf("/dev/null is now %v, %v", info, err)
	}
}
