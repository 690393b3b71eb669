package door

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
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
		testenv.OK(t, err)
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
	testenv.OK(t, os.MkdirAll(filepath.Join(full, SocketName, "x"), 0o700))
	if _, err := Listen(full); err == nil {
		t.Error("a socket takes the place of a folder")
	}
}

// TestAdmit holds that a user has MaxCallers connections at a time, that one more is told why it is
// not let in, and that a place which becomes free is taken.
func TestAdmit(t *testing.T) {
	dir := t.TempDir()
	var places []io.Closer
	for n := range MaxCallers {
		ours, _ := pair(t)
		place, err := Admit(ours, dir)
		if err != nil {
			t.Fatalf("connection %d: %v", n+1, err)
		}
		places = append(places, place)
	}
	ours, theirs := pair(t)
	if _, err := Admit(ours, dir); err != errTooMany {
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
	place, err := Admit(ours, dir)
	if err != nil {
		t.Fatalf("a place is free: %v", err)
	}
	for _, f := range append(places, place) {
		f.Close()
	}
	if _, err := Admit(ours, filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a spool that is not there: %v", err)
	}
	ours.Close()
	if _, err := Admit(ours, dir); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a connection that is closed: %v", err)
	}
}

// TestCallers holds that only a Unix socket tells who calls, that a process has mostCallers of them,
// and that one that is not let in does not count.
func TestCallers(t *testing.T) {
	far, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skip(err)
	}
	defer far.Close()
	file, err := far.(*net.TCPListener).File()
	testenv.OK(t, err)
	defer file.Close()
	if _, err := CallersAt(file, t.TempDir()); err != errNetwork {
		t.Errorf("a socket of the network: %v, want %v", err, errNetwork)
	}
	dir := t.TempDir()
	l, err := Listen(dir)
	testenv.OK(t, err)
	defer l.Close()
	c := &Callers{l: l, dir: dir}
	calls := func() *net.UnixConn {
		conn, err := net.DialUnix("unix", nil, l.Addr().(*net.UnixAddr))
		testenv.OK(t, err)
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	for n := range mostCallers {
		calls()
		conn, place, err := c.Next()
		if err != nil {
			t.Fatalf("caller %d: %v", n+1, err)
		}
		conn.Close()
		place.Close()
	}
	if _, _, err := c.Next(); err != io.EOF {
		t.Errorf("one caller more: %v, want the end", err)
	}
	c.had = 0
	l.Close()
	if _, _, err := c.Next(); !errors.Is(err, net.ErrClosed) {
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

// TestKeep holds that Spare processes wait at a time, that those that have callers are replaced when few
// wait, that one which waits again counts, and that at the end the waiting ones are killed and the
// others are waited for.
func TestKeep(t *testing.T) {
	k := keep(t, `mkfifo $dir/go.$$
while read x <$dir/go.$$; do
	mkfifo $dir/end.$$; printf t >&3; read x <$dir/end.$$; rm $dir/end.$$; echo >>$dir/had.$$; printf w >&3
done`)
	gos := func() []string { return k.names("go.*") }
	say := func(fifo string) {
		testenv.OK(t, os.WriteFile(fifo, []byte("x\n"), 0))
	}
	has := func(n int) {
		t.Helper()
		testenv.Until(t, fmt.Sprintf("%d have callers", n), func() bool { return len(k.names("end.*")) == n })
	}
	ends := func(fifo string) string { return strings.Replace(fifo, "go.", "end.", 1) }
	testenv.Until(t, "Spare processes wait", func() bool { return len(gos()) == Spare })
	first := gos()
	for n, fifo := range first[:Spare/2+1] { // the last of these leaves too few
		say(fifo)
		has(n + 1)
	}
	testenv.Until(t, "another process waits", func() bool { return len(gos()) == Spare+1 })
	say(ends(first[0]))
	has(Spare / 2)
	testenv.Until(t, "its caller has gone", func() bool { return len(k.names("had.*")) == 1 })
	say(first[0])
	has(Spare/2 + 1)
	say(first[Spare-1]) // too few again, if each has been counted
	has(Spare/2 + 2)
	testenv.Until(t, "a further process waits", func() bool { return len(gos()) == Spare+2 })
	select {
	case err := <-k.wrong:
		t.Errorf("told of %v", err)
	default:
	}
	k.close()
	for _, fifo := range slices.Concat(first[:Spare/2+1], first[Spare-1:]) {
		select {
		case <-k.over:
			t.Error("Keep returns while a process has a caller")
		default:
		}
		say(ends(fifo))
	}
	<-k.over
	if n := len(gos()); n != Spare+2 {
		t.Errorf("%d processes were started, want %d", n, Spare+2)
	}
}

// TestKeepTells holds that Keep reports a process that ends without a caller, and one that
// cannot be started.
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
