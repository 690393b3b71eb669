package door

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// ends returns the two ends of a connection.
func ends(t testing.TB) (server, caller *net.UnixConn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var list [2]*net.UnixConn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "socketpair")
		c, err := net.FileConn(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		list[i] = c.(*net.UnixConn)
	}
	return list[0], list[1]
}

func request(t testing.TB, r Request) []byte {
	t.Helper()
	r.Version = Version
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return appendFrame(nil, kindRequest, text)
}

// TestCall has a command run over a connection: what it prints, reads, writes and asks.
func TestCall(t *testing.T) {
	server, caller := ends(t)
	long := strings.Repeat("0123456789abcdef", 3*MaxFrame/16)
	go func() {
		s, err := Begin(server, 0, func() {})
		if err != nil {
			t.Errorf("Begin = %v", err)
			return
		}
		if s.Peer.UID != os.Getuid() || s.Peer.Name == "" || s.Request.Command != "toy" {
			t.Errorf("Begin = %+v, %+v, want this user's toy", s.Peer, s.Request)
		}
		text, err := s.ReadFile("in")
		if string(text) != long || err != nil {
			t.Errorf("ReadFile = %d bytes, %v, want %d", len(text), err, len(long))
		}
		if _, err := s.ReadFile("none"); err == nil || err.Error() != "no such file" {
			t.Errorf("ReadFile of what is not there = %v, want no such file", err)
		}
		n, err := s.WriteFile("out", 0o640, []byte(long))
		if n != int64(len(long)) || err != nil {
			t.Errorf("WriteFile = %d, %v, want %d", n, err, len(long))
		}
		var answer string
		if err := s.Ask("how many?", &answer); answer != "how many? 12" || err != nil {
			t.Errorf("Ask = %q, %v, want 12", answer, err)
		}
		io.WriteString(s.Stdout(), long)
		io.WriteString(s.Stderr(), "toy: done\n")
		s.End(3)
	}()
	var out, bad bytes.Buffer
	written := ""
	c := Caller{
		Stdout: &out, Stderr: &bad,
		ReadFile: func(name string) ([]byte, error) {
			if name == "in" {
				return []byte(long), nil
			}
			return nil, errors.New("no such file")
		},
		WriteFile: func(name string, mode fs.FileMode, text []byte) (int64, error) {
			if name == "out" && mode == 0o640 {
				written = string(text)
			}
			return int64(len(text)), nil
		},
		Answer: func(q []byte) (any, error) {
			var text string
			err := json.Unmarshal(q, &text)
			return text + " 12", err
		},
	}
	status, err := c.Call(caller, Request{Version: Version, Command: "toy", Args: []string{"-f", "in", "none", "x=out"}})
	if status != 3 || err != nil || out.String() != long || bad.String() != "toy: done\n" || written != long {
		t.Errorf("Call = %d, %v, %d bytes, %q, wrote %d bytes, want 3 and all of it", status, err, out.Len(), bad.String(), len(written))
	}
}

// TestNamedAlone holds that the caller's end reads and writes only what the command line names.
func TestNamedAlone(t *testing.T) {
	for _, f := range [][]byte{appendFrame(nil, kindRead, []byte("/etc/shadow")), appendFrame(nil, kindWrite, []byte("644 .bashrc"))} {
		server, caller := ends(t)
		go func() {
			server.Write(f)
			io.Copy(io.Discard, server)
		}()
		never := errors.New("was called")
		c := Caller{
			Stdout: io.Discard, Stderr: io.Discard,
			ReadFile:  func(string) ([]byte, error) { return nil, never },
			WriteFile: func(string, fs.FileMode, []byte) (int64, error) { return 0, never },
		}
		_, err := c.Call(caller, Request{Version: Version, Command: "toy", Args: []string{"bashrc", "shadow"}})
		if err == nil || errors.Is(err, never) || !strings.Contains(err.Error(), "which the command line does not name") {
			t.Errorf("Call, asked %q = %v, want a refusal", f, err)
		}
	}
}

// TestHostile holds that whatever a stranger sends, serve runs nothing of it, and gives the caller up.
func TestHostile(t *testing.T) {
	for name, c := range map[string]struct {
		sent []byte
		asks bool // the command asks for a file
	}{
		"nothing":            {nil, false},
		"half a head":        {[]byte("q\x00"), false},
		"half a frame":       {[]byte("q\x00\x00\x01\x00{"), false},
		"too long a frame":   {[]byte("q\xff\xff\xff\xff"), false},
		"another letter":     {appendFrame(nil, kindAnswer, []byte("1")), false},
		"no JSON":            {appendFrame(nil, kindRequest, []byte("qstat")), false},
		"another version":    {appendFrame(nil, kindRequest, []byte(`{"Version":99,"Command":"qstat"}`)), false},
		"a variable":         {appendFrame(nil, kindRequest, []byte(`{"Version":1,"Command":"qstat","Environment":["LD_PRELOAD=x"]}`)), false},
		"a wide terminal":    {appendFrame(nil, kindRequest, []byte(`{"Version":1,"Command":"qstat","Width":99999999}`)), false},
		"a second request":   {append(request(t, Request{Command: "toy"}), request(t, Request{Command: "toy"})...), true},
		"an answer too many": {appendFrame(append(request(t, Request{Command: "toy"}), appendAll(nil, kindContents, nil)...), kindContents, nil), true},
		"another answer":     {append(request(t, Request{Command: "toy"}), appendFrame(nil, kindAnswer, nil)...), true},
		"serve's letter":     {append(request(t, Request{Command: "toy"}), appendFrame(nil, kindStatus, []byte("0"))...), true},
		"another signal":     {append(request(t, Request{Command: "toy"}), appendFrame(nil, kindSignal, []byte("9"))...), true},
		"silence at the end": {request(t, Request{Command: "toy"}), true},
	} {
		t.Run(name, func(t *testing.T) {
			server, caller := ends(t)
			over := make(chan error, 1)
			go func() {
				gone := make(chan struct{}, 2)
				s, err := Begin(server, 0, func() { gone <- struct{}{} })
				if err == nil && c.asks {
					_, err = s.ReadFile("in")
					if err == nil { // more than was asked for comes behind it
						<-gone
						err = errors.New("given up")
					}
				}
				over <- err
			}()
			caller.Write(c.sent)
			caller.CloseWrite() // half closed: a caller that has gone
			if err := <-over; err == nil {
				t.Errorf("a session = nil, want an error")
			}
		})
	}
}

// FuzzSession sends serve any bytes behind a request.
func FuzzSession(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(appendFrame(nil, kindContents, []byte("x")))
	f.Add(appendAll(nil, kindContents, []byte("x")))
	f.Add(appendFrame(nil, kindFailed, []byte("x")))
	f.Add(appendFrame(nil, kindBusy, nil))
	f.Fuzz(func(t *testing.T, sent []byte) {
		if bytes.IndexByte(sent, kindSignal) >= 0 {
			t.Skip("would interrupt the test")
		}
		server, caller := ends(t)
		over := make(chan struct{})
		go func() {
			defer close(over)
			if s, err := Begin(server, 0, func() {}); err == nil {
				s.ReadFile("in")
			}
		}()
		caller.Write(append(request(t, Request{Command: "toy"}), sent...))
		caller.CloseWrite()
		<-over
	})
}

// FuzzCaller sends the caller's end any bytes.
func FuzzCaller(f *testing.F) {
	f.Add(appendFrame(nil, kindStatus, []byte("1")))
	f.Add(appendFrame(appendFrame(nil, kindRead, []byte("in")), kindStatus, []byte("x")))
	f.Add(appendAll(appendFrame(nil, kindWrite, []byte("644 in")), kindContents, []byte("text")))
	f.Fuzz(func(t *testing.T, sent []byte) {
		server, caller := ends(t)
		server.Write(sent)
		server.CloseWrite()
		go io.Copy(io.Discard, server)
		c := Caller{
			Stdout: io.Discard, Stderr: io.Discard,
			ReadFile:  func(string) ([]byte, error) { return []byte("in"), nil },
			WriteFile: func(string, fs.FileMode, []byte) (int64, error) { return 0, nil },
		}
		c.Call(caller, Request{Version: Version, Command: "toy", Args: []string{"in"}})
	})
}

// TestFrames is the law of frames: what is written is read again.
func TestFrames(t *testing.T) {
	for _, n := range []int{0, 1, MaxFrame - 1, MaxFrame, MaxFrame + 1, 3 * MaxFrame} {
		payload := bytes.Repeat([]byte{7}, n)
		in := bufio.NewReader(bytes.NewReader(appendAll(nil, kindOut, payload)))
		var got []byte
		for {
			kind, part, err := readFrame(in)
			if kind != kindOut || err != nil {
				t.Fatalf("readFrame = %q, %v, want o", kind, err)
			}
			if len(part) == 0 {
				break
			}
			got = append(got, part...)
		}
		if !bytes.Equal(got, payload) {
			t.Errorf("%d bytes came back as %d", n, len(got))
		}
	}
}

// TestAdmit holds that a user has so many connections at a time, and another user is let in beside them.
func TestAdmit(t *testing.T) {
	dir := t.TempDir()
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	own := unix.Flock_t{Type: unix.F_WRLCK, Start: int64(os.Getuid()) * MaxCallers, Len: MaxCallers - 1}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &own); err != nil {
		t.Fatal(err)
	}
	for i, want := range []error{nil, errTooMany} {
		server, caller := ends(t)
		if err := Admit(server, dir); err != want {
			t.Errorf("Admit of connection %d = %v, want %v", MaxCallers+i, err, want)
		}
		if want != nil {
			caller.SetReadDeadline(time.Now().Add(time.Minute))
			kind, text, err := readFrame(bufio.NewReader(caller))
			if kind != kindErr || !strings.Contains(string(text), "try again") {
				t.Errorf("the caller is told %q, %q, %v, want to try again", kind, text, err)
			}
		}
	}
	admitted.Close()
}
