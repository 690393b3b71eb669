package door

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fairspool/internal/testenv"
)

// TestListen holds that all users may connect, and that a dead process's socket is replaced.
func TestListen(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		l, err := Listen(dir)
		if err != nil {
			t.Fatal(err)
		}
		l.SetUnlinkOnClose(false)
		defer l.Close()
		info, err := os.Lstat(filepath.Join(dir, SocketName))
		if err != nil || info.Mode().Perm() != 0o666 || info.Mode().Type() != fs.ModeSocket {
			t.Errorf("the socket: %v, %v", info.Mode(), err)
		}
	}
	if _, err := Listen(filepath.Join(dir, "none")); err == nil {
		t.Error("a socket stands in no folder")
	}
	full := t.TempDir()
	if err := os.MkdirAll(filepath.Join(full, SocketName, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(full); err == nil {
		t.Error("a socket takes the place of a folder")
	}
}

// TestAdmit holds that a user has MaxCallers connections at a time, that one more is told why it is
// not let in, and that a place which becomes free is taken.
func TestAdmit(t *testing.T) {
	dir := t.TempDir()
	var places []*os.File
	for n := range MaxCallers {
		ours, _ := pair(t)
		if err := Admit(ours, dir); err != nil {
			t.Fatalf("connection %d: %v", n+1, err)
		}
		places = append(places, admitted)
	}
	ours, theirs := pair(t)
	if err := Admit(ours, dir); err != errTooMany {
		t.Errorf("one connection too many: %v", err)
	}
	r := bufio.NewReader(theirs)
	if kind, text, err := readFrame(r); kind != kindErr || !strings.Contains(string(text), fmt.Sprintf(" %d ", MaxCallers)) || err != nil {
		t.Errorf("the caller is told %q %q, %v", kind, text, err)
	}
	if kind, text, err := readFrame(r); kind != kindStatus || string(text) != "75" || err != nil {
		t.Errorf("the caller is told %q %q, %v, want status 75", kind, text, err)
	}
	places[7].Close()
	if err := Admit(ours, dir); err != nil {
		t.Errorf("a place is free: %v", err)
	}
	for _, f := range append(places, admitted) {
		f.Close()
	}
	if err := Admit(ours, filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a spool that is not there: %v", err)
	}
	ours.Close()
	if err := Admit(ours, dir); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a connection that is closed: %v", err)
	}
}

// TestNext holds that only a Unix socket tells who calls.
func TestNext(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skip(err)
	}
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := Next(l, t.TempDir()); err == nil {
		t.Error("a caller of the network is let in")
	}
	l.Close()
	if _, err := Next(l, t.TempDir()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a socket that is closed: %v", err)
	}
}

// keeper is a Keep whose processes are scripts.
type keeper struct {
	*testing.T
	dir   string
	over  chan struct{}
	close context.CancelFunc
	wrong chan error
}

// keep keeps scripts, each of which finds the folder of the test in $dir.
func keep(t *testing.T, script string) keeper {
	t.Helper()
	ctx, end := context.WithCancel(context.Background())
	k := keeper{t, t.TempDir(), make(chan struct{}), end, make(chan error, 1)}
	go func() {
		defer close(k.over)
		Keep(ctx, os.Stdin, func(_, taken *os.File) (*exec.Cmd, error) {
			p := exec.Command("sh", "-c", script)
			p.Env = append(os.Environ(), "dir="+k.dir)
			p.ExtraFiles = []*os.File{taken}
			return p, p.Start()
		}, func(err error) {
			select {
			case k.wrong <- err:
			default:
			}
		})
	}()
	t.Cleanup(func() { end(); <-k.over })
	return k
}

// names returns what stands in the folder.
func (k keeper) names(pattern string) []string {
	names, _ := filepath.Glob(filepath.Join(k.dir, pattern))
	return names
}

// TestKeep holds that Spare processes wait at a time, that each that has a caller is replaced, and
// that at the end the waiting ones are killed and the others are waited for.
func TestKeep(t *testing.T) {
	k := keep(t, `mkfifo $dir/go.$$ $dir/end.$$; read x <$dir/go.$$; printf t >&3; exec 3>&-; mv $dir/go.$$ $dir/took.$$; read x <$dir/end.$$; mv $dir/end.$$ $dir/done.$$`)
	testenv.Until(t, "Spare processes wait", func() bool { return len(k.names("end.*")) == Spare })
	first := k.names("go.*")
	slices.Sort(first)
	for _, fifo := range first[:2] {
		if err := os.WriteFile(fifo, []byte("x\n"), 0); err != nil {
			t.Fatal(err)
		}
	}
	testenv.Until(t, "two processes more wait", func() bool { return len(k.names("end.*")) == Spare+2 && len(k.names("took.*")) == 2 })
	select {
	case err := <-k.wrong:
		t.Errorf("told of %v", err)
	default:
	}
	k.close()
	for _, fifo := range first[:2] {
		select {
		case <-k.over:
			t.Error("Keep returns while a process has a caller")
		default:
		}
		if err := os.WriteFile(strings.Replace(fifo, "go.", "end.", 1), []byte("x\n"), 0); err != nil {
			t.Fatal(err)
		}
	}
	<-k.over
	if n := len(k.names("done.*")); n != 2 {
		t.Errorf("%d processes ended after their callers, want 2", n)
	}
}

// TestKeepTells holds that a process which ends without a caller is told of, and one that cannot
// be started.
func TestKeepTells(t *testing.T) {
	k := keep(t, `exit 0`)
	if err := <-k.wrong; err != errNoCaller {
		t.Errorf("a process that ends well: %v, want %v", err, errNoCaller)
	}
	k.close()
	<-k.over
	k = keep(t, `exit 7`)
	var status *exec.ExitError
	if err := <-k.wrong; !errors.As(err, &status) || status.ExitCode() != 7 {
		t.Errorf("a process that fails: %v, want exit status 7", err)
	}
	k.close()
	<-k.over
	fault := errors.New("fault")
	ctx, end := context.WithCancel(context.Background())
	Keep(ctx, os.Stdin, func(*os.File, *os.File) (*exec.Cmd, error) { return nil, fault }, func(err error) {
		if err != fault {
			t.Errorf("what cannot start: %v, want %v", err, fault)
		}
		end()
	})
}
