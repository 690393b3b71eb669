package starter

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/internal/testenv"
)

// What systemd is told: that it is ready, how many jobs run, that it reads its
// configuration, and that it ends.
func TestNotify(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	p.match(awaitGo)
	path := filepath.Join(t.TempDir(), "notify")
	listen, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	testenv.OK(t, err)
	defer listen.Close()
	listen.SetReadDeadline(time.Now().Add(testenv.Longest))
	c := p.command("-watch", "-q")
	c.Env = append(c.Env, "NOTIFY_SOCKET="+path)
	var bad bytes.Buffer
	c.Stderr = &bad
	testenv.OK(t, c.Start())
	defer c.Process.Kill()
	var told []string
	hear := func(want string) {
		t.Helper()
		b := make([]byte, 4096)
		for told = nil; !slices.Contains(told, want); {
			n, err := listen.Read(b)
			if err != nil {
				t.Fatalf("systemd hears %q and then %v, want %q", told, err, want)
			}
			told = append(told, strings.Split(string(b[:n]), "\n")...)
		}
	}
	hear("READY=1")
	hear("STATUS=1 job on node1")
	c.Process.Signal(unix.SIGHUP)
	hear("RELOADING=1")
	if !slices.ContainsFunc(told, func(s string) bool { return strings.HasPrefix(s, "MONOTONIC_USEC=") }) {
		t.Errorf("with RELOADING=1 systemd hears %q, want the time too", told)
	}
	hear("READY=1")
	p.open()
	hear("STATUS=0 jobs on node1")
	c.Process.Signal(unix.SIGTERM)
	hear("STOPPING=1")
	if err := c.Wait(); err != nil || bad.Len() > 0 {
		t.Errorf("starter -watch ends with %v, complains %q, want neither", err, bad.String())
	}
	p.noClaims()
}

// A watch that has lost its spool ends.
func TestWatchWithoutSpool(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	c := p.command("-watch")
	var bad bytes.Buffer
	c.Stderr = &bad
	testenv.OK(t, c.Start())
	defer c.Process.Kill()
	p.until("it watches", func() bool { return strings.HasPrefix(p.read("spool/watch.node1.lock"), "held by") })
	testenv.OK(t, os.Rename(p.spool.Dir(), p.dir+"/elsewhere"))
	c.Wait()
	lines := strings.Split(strings.TrimSpace(bad.String()), "\n")
	p.printed("starter -watch", c.ProcessState.ExitCode(), lines[len(lines)-1]+"\n")
	testenv.OK(t, os.Rename(p.dir+"/elsewhere", p.spool.Dir()))
}
