package cmdtest

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/door"
)

// RunFor runs a command as a user of that name does who calls through the door, and returns what
// Run does. The pool's spool is the test's, its configuration the given one, and the time the
// clock's.
func RunFor(t *testing.T, user, config string, c cmdline.Command, args ...string) (status int, out, bad string) {
	t.Helper()
	s := cmdline.Surroundings{
		UID: 500, UserName: func(int) (string, error) { return "fair", nil },
		Spool: os.Getenv("FAIRSPOOL_DIR"), Config: filepath.Join(t.TempDir(), "fairspool.toml"),
	}
	if err := os.WriteFile(s.Config, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fds[0]), "socketpair")
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		t.Fatal(err)
	}
	return c.(*net.UnixConn), fds[1]
}
