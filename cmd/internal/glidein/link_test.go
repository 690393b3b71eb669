package glidein

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/cmd/internal/systemd"
	"fairspool/internal/testenv"
	"fairspool/lib/config"
	"fairspool/spool"
)

// TestLinked holds that a machine with a link is left as it is, and that -cancel ends serve, and nothing
// else that watches over a machine.
func TestLinked(t *testing.T) {
	cmdtest.Spool(t, nil)
	dir := os.Getenv("FAIRSPOOL_DIR")
	config := filepath.Join(t.TempDir(), "fairspool.toml")
	bin := filepath.Join(t.TempDir(), "bin")
	for path, text := range map[string]string{
		config: "[engine.farm]\nKIND = 'ssh'\nHOSTS = ['N1']\n[engine.lab]\nKIND = 'ssh'\nLINK = 'home'\nHOSTS = ['n2']\n", bin + "/serve": "",
	} {
		testenv.OK(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)))
	}
	t.Setenv("FAIRSPOOL_CONFIG", config)
	t.Chdir(filepath.Dir(bin))
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	defer signal.Stop(ended)
	watched := func(program, machine string, fn func()) {
		t.Helper()
		s, err := spool.Open(dir, spool.Options{Program: program, UIDDomain: "pool"})
		testenv.OK(t, err)
		defer s.Close()
		if err := s.Watching(machine, func() error { fn(); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	watched("serve", "n2", func() {
		watched("serve", "n1", func() {
			cmdtest.Says(t, Command(), 0)
			if _, err := os.Stat(linkPath(dir, "n1")); err == nil {
				t.Error("a link was started beside the one that is there")
			}
			cmdtest.Says(t, Command(), 0, "-cancel", "N1")
			select {
			case <-ended:
			case <-time.After(time.Minute):
				t.Error("serve got no SIGTERM in a minute")
			}
		})
		out := cmdtest.Says(t, Command(), 0)
		if want := "N1 is left alone for 10 min: "; !strings.Contains(out, want) {
			t.Errorf("glidein prints %q, want %q", out, want)
		}
	})
	watched("starter", "n1", func() { cmdtest.Refuses(t, Command(), 1, "-cancel", "n1") })
	select {
	case <-ended:
		t.Error("starter got SIGTERM")
	default:
	}
}

// TestCommand holds that serve is in a unit of its own where systemd gives units.
func TestCommand(t *testing.T) {
	m := machine{"n1", config.Engine{Name: "farm"}}
	unit := cmdtest.Systemd(t, t.TempDir(), cmdtest.Execs).Scope
	for _, c := range []struct {
		what  string
		unit  func() *systemd.Scope
		spool string
		in    bool
	}{
		{"systemd", unit, "/spool", true},
		{"a name that systemd-run changes", unit, "/sp$ool", false},
		{"another init", func() *systemd.Scope { return nil }, "/spool", false},
	} {
		k := keeper{unit: c.unit, serve: "/bin/serve", common: []string{"-spool", c.spool}}
		got := strings.Join(k.command(m).Args, " ")
		serve := "/bin/serve -spool " + c.spool + " -pilot -engine farm -machine n1"
		unit := fmt.Sprintf(" --unit=fairspool-serve-n1-%d.scope -- ", os.Getpid())
		if in := strings.HasSuffix(got, unit+serve); in != c.in || !in && got != serve {
			t.Errorf("%s: %q, want %q in a unit: %v", c.what, got, serve, c.in)
		}
	}
}

// TestOneAtATime holds that a machine that another glidein looks after is left to that.
func TestOneAtATime(t *testing.T) {
	dir := t.TempDir()
	l, err := openLink(linkPath(dir, "n1"), true)
	testenv.OK(t, err)
	if _, err := openLink(linkPath(dir, "N1"), true); !errors.Is(err, errBusy) {
		t.Errorf("a second openLink: %v, want %v", err, errBusy)
	}
	// serve inherits no lock.
	pid, err := l.startServe(exec.Command("/bin/sleep", "1000"), time.Now())
	testenv.OK(t, err)
	defer syscall.Kill(pid, syscall.SIGKILL)
	if sid, err := unix.Getsid(pid); err != nil || sid != pid {
		t.Errorf("the session of serve is %d, %v, want its own, %d", sid, err, pid)
	}
	l.close()
	again, err := openLink(linkPath(dir, "n1"), true)
	if err != nil {
		t.Fatalf("openLink beside serve: %v", err)
	}
	again.close()
}

// TestTries holds how the waits grow, and that they begin anew after a link that was up for long.
func TestTries(t *testing.T) {
	for _, c := range []struct {
		tries  int
		chance float64
		want   time.Duration
	}{
		{1, 0, 10 * time.Second}, {1, 1, 13 * time.Second}, {2, 0, 20 * time.Second}, {3, 0.5, 45 * time.Second},
		{6, 0, 320 * time.Second}, {7, 0, mostWait}, {1 << 40, 0, mostWait}, {8, 1, mostWait * 5 / 4},
	} {
		if got := waitAfter(c.tries, c.chance); got != c.want {
			t.Errorf("waitAfter(%d, %v) = %v, want %v", c.tries, c.chance, got, c.want)
		}
	}
	dir := t.TempDir()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, c := range []struct {
		after time.Duration // since the start, when serve has written its last line
		tries int
	}{
		{time.Second, 1}, {time.Minute, 2}, {longLink - time.Second, 3}, {longLink, 4}, {time.Second, 1}, {time.Second, 2},
	} {
		l, err := openLink(linkPath(dir, "n1"), true)
		testenv.OK(t, err)
		if _, err := l.startServe(exec.Command("/bin/true"), now); err != nil {
			t.Fatal(err)
		}
		l.close()
		at := now.Add(c.after)
		testenv.OK(t, os.Chtimes(linkPath(dir, "n1"), at, at))
		l, err = openLink(linkPath(dir, "n1"), false)
		testenv.OK(t, err)
		if l.tries != c.tries || !l.start.Equal(now) || l.wait != waitAfter(c.tries, 0) {
			t.Errorf("start %d is try %d at %v, with a wait of %v; want try %d", i, l.tries, l.start, l.wait, c.tries)
		}
		l.close()
		now = now.Add(time.Hour)
	}
}

// TestReason holds what is read of a machine's file.
func TestReason(t *testing.T) {
	const first = "2030-01-01T00:00:00Z try 3, the next after 43 s\n"
	long := strings.Repeat("x", 5000)
	for _, c := range []struct{ text, reason string }{
		{first, ""}, {first + "serve: n1: it is down\n", "n1: it is down"}, {first + "a\nb", "b"}, {first + "a\n\n\n", "a"},
		{first + long + "\nserve: b\x1b[2J\n", "b?[2J"}, {"", ""}, {"serve: n1: no first line\n", ""}, {long, ""},
	} {
		dir := t.TempDir()
		testenv.OK(t, os.WriteFile(linkPath(dir, "n1"), []byte(c.text), 0o600))
		l, err := openLink(linkPath(dir, "n1"), false)
		testenv.OK(t, err)
		if l.reason != c.reason || strings.HasPrefix(c.text, first) != (l.tries == 3) {
			t.Errorf("%.80q: reason %q, try %d, want %q", c.text, l.reason, l.tries, c.reason)
		}
		l.close()
	}
}

// TestEach holds that each thing is done once, and how many at a time.
func TestEach(t *testing.T) {
	const n, most = 100, 8
	did := make([]int, n)
	busy, last := make(chan struct{}, most), 0
	each(n, most, func(i int) {
		select {
		case busy <- struct{}{}:
		default:
			t.Errorf("more than %d at a time", most)
		}
		did[i]++
		<-busy
	}, func(done int) {
		if last++; done != last {
			t.Errorf("step %d, want %d", done, last)
		}
	})
	for i, times := range did {
		if times != 1 {
			t.Errorf("%d was done %d times", i, times)
		}
	}
	if last != n {
		t.Errorf("%d steps, want %d", last, n)
	}
}
