package door

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/signal"
	"os/user"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/internal/testenv"
)

// pair returns a connection's two ends.
func pair(t *testing.T) (ours, theirs *net.UnixConn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	testenv.OK(t, err)
	var ends [2]*net.UnixConn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "socketpair")
		c, err := net.FileConn(f)
		f.Close()
		testenv.OK(t, err)
		t.Cleanup(func() { c.Close() })
		ends[i] = c.(*net.UnixConn)
	}
	return ends[0], ends[1]
}

// on returns what dials a connection that is there.
func on(c *net.UnixConn) func() (io.ReadWriteCloser, error) {
	return func() (io.ReadWriteCloser, error) { return c, nil }
}

// files are a caller's.
type files map[string]string

func (f files) read(name string) ([]byte, error) {
	if text, ok := f[name]; ok {
		return []byte(text), nil
	}
	return nil, fs.ErrNotExist
}

func (f files) write(name string, mode fs.FileMode, text []byte) (int64, error) {
	if mode != 0o640 {
		return 0, fs.ErrPermission
	}
	f[name] = string(text)
	return int64(len(text)), nil
}

// called is what has come of a call.
type called struct {
	status   int
	err      error
	out, bad string
}

// call has a request served by a function, and returns what the caller gets.
func call(t *testing.T, c Caller, r Request, serve func(*Session)) called {
	t.Helper()
	ours, theirs := pair(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s, err := Begin(ours, 0, func() {})
		if err == nil {
			serve(s)
		}
		ours.Close()
	}()
	var out, bad bytes.Buffer
	c.Stdout, c.Stderr = &out, &bad
	status, err := c.Call(on(theirs), r)
	<-done
	return called{status, err, out.String(), bad.String()}
}

// TestSession is a command that prints, reads and writes files of the caller, and asks.
func TestSession(t *testing.T) {
	long := strings.Repeat("0123456789", MaxFrame/4)
	of := files{"a": "text of a", "b": long, "-": "input"}
	caller := Caller{ReadFile: of.read, WriteFile: of.write,
		Ready: answering(func(question []byte) (any, error) { return "of " + string(question), nil })}
	r := Request{Version: Version, Command: "test", Args: []string{"a", "-f", "b", "-to=c", "none", "d"},
		Environment: []string{"TZ=UTC"}, Width: 80, Height: 24, OutTerminal: true}
	got := call(t, caller, r, func(s *Session) {
		if !reflect.DeepEqual(s.Request, r) {
			t.Errorf("the request is %+v, want %+v", s.Request, r)
		}
		me, err := user.Current()
		if err != nil || s.Peer.UID != os.Getuid() || s.Peer.Name != me.Username {
			t.Errorf("the caller is %+v, want %+v, %v", s.Peer, me, err)
		}
		for _, c := range []struct {
			stream any
			is     bool
		}{{s.Stdout(), true}, {s.Stderr(), false}} {
			terminal := c.stream.(interface{ Terminal() (int, int, bool) })
			if w, h, is := terminal.Terminal(); w != 80 || h != 24 || is != c.is {
				t.Errorf("a terminal of %d, %d, %t, want 80, 24, %t", w, h, is, c.is)
			}
		}
		for name, want := range of {
			if text, err := s.ReadFile(name); string(text) != want || err != nil {
				t.Errorf("%s is read as %d bytes, %v, want %d", name, len(text), err, len(want))
			}
		}
		if text, err := s.ReadFile("none"); err == nil || !strings.Contains(err.Error(), fs.ErrNotExist.Error()) {
			t.Errorf("no file is read as %q, %v", text, err)
		}
		if n, err := s.WriteFile("c", 0o640, []byte(long)); n != int64(len(long)) || err != nil {
			t.Errorf("a file is written as %d bytes, %v, want %d", n, err, len(long))
		}
		if n, err := s.WriteFile("d", 0o600, nil); n != 0 || err == nil || err.Error() != fs.ErrPermission.Error() {
			t.Errorf("what may not be written: %d bytes, %v", n, err)
		}
		var answer string
		if err := ask(s, 7, &answer); answer != "of 7" || err != nil {
			t.Errorf("the answer is %q, %v", answer, err)
		}
		var number int
		if err := ask(s, 7, &number); err == nil {
			t.Errorf("an answer of another kind is taken for %d", number)
		}
		if err := ask(s, func() {}, &answer); err == nil {
			t.Error("what is no JSON is asked")
		}
		io.WriteString(s.Stdout(), long)
		io.WriteString(s.Stderr(), "warning")
		s.End(3)
	})
	if (got != called{3, nil, long, "warning"}) {
		t.Errorf("status %d, %v, %d bytes, %q", got.status, got.err, len(got.out), got.bad)
	}
	if of["c"] != long {
		t.Errorf("c has %d bytes, want %d", len(of["c"]), len(long))
	}
}

// ask asks a question and waits for its answer.
func ask(s *Session, asked, to any) error {
	answer, err := s.Ask(asked)
	if err != nil {
		return err
	}
	return answer(to)
}

// TestFirst holds that the answer to Request.First comes without being asked for, once, and that nothing else is
// asked before it is taken.
func TestFirst(t *testing.T) {
	var asked []string
	caller := Caller{First: 7, Ready: answering(func(question []byte) (any, error) {
		asked = append(asked, string(question))
		return "of " + string(question) + strings.Repeat("x", 2*MaxFrame), nil
	})}
	r := Request{Version: Version, Args: []string{"a"}}
	got := call(t, caller, r, func(s *Session) {
		var answer string
		if _, err := s.Ask(8); err == nil {
			t.Error("asked 8 before the answer to 7 was taken")
		}
		if _, err := s.ReadFile("a"); err == nil {
			t.Error("read a file before the answer to 7 was taken")
		}
		for _, n := range []int{7, 8, 7} {
			if err := ask(s, n, &answer); !strings.HasPrefix(answer, fmt.Sprintf("of %dx", n)) || err != nil {
				t.Errorf("the answer to %d is %.20q, %v", n, answer, err)
			}
		}
		s.End(0)
	})
	if want := []string{"7", "8", "7"}; got.err != nil || !slices.Equal(asked, want) {
		t.Errorf("asked %q, %v, want %q", asked, got.err, want)
	}
}

// TestFirstIsNotTaken holds that a command which ends without having asked for what the caller answers unasked ends
// as any other does.
func TestFirstIsNotTaken(t *testing.T) {
	for _, frames := range []int{1, 3 * ahead} {
		ours, theirs := pair(t)
		go func() {
			s, err := Begin(ours, 0, func() { t.Error("the caller was given up") })
			if err != nil {
				t.Error(err)
				return
			}
			testenv.Until(t, "the answer has come", func() bool { return len(s.first.answers) >= min(frames, ahead) })
			io.WriteString(s.Stderr(), "no")
			s.End(4)
		}()
		fd, err := unix.Dup(descriptor(t, theirs))
		if err == nil {
			err = unix.SetNonblock(fd, false) // as the connection that Dial makes
		}
		testenv.OK(t, err)
		var out, bad bytes.Buffer
		c := Caller{Stdout: &out, Stderr: &bad, First: 7,
			Ready: answering(func([]byte) (any, error) { return strings.Repeat("x", frames*MaxFrame), nil })}
		status, err := c.Call(func() (io.ReadWriteCloser, error) { return os.NewFile(uintptr(fd), "door"), nil }, Request{Version: Version})
		if status != 4 || err != nil || bad.String() != "no" {
			t.Errorf("an answer of %d frames: %d, %v, %q, want status 4", frames, status, err, bad.String())
		}
	}
}

// descriptor returns the file descriptor of a connection.
func descriptor(t *testing.T, c *net.UnixConn) (fd int) {
	t.Helper()
	raw, err := c.SyscallConn()
	if err == nil {
		err = raw.Control(func(n uintptr) { fd = int(n) })
	}
	testenv.OK(t, err)
	return fd
}

// TestCallersFilesAreSafe holds that a serve which asks for what the command line does not name
// gets nothing, and that the caller ends with an error.
func TestCallersFilesAreSafe(t *testing.T) {
	caller := Caller{ReadFile: files{"secret": "x"}.read, WriteFile: func(name string, _ fs.FileMode, _ []byte) (int64, error) {
		t.Errorf("%s is written", name)
		return 0, nil
	}}
	r := Request{Version: Version, Args: []string{"a", "-f=b", "secrets"}}
	for name, serve := range map[string]func(*Session){
		"reads":  func(s *Session) { s.ReadFile("secret") },
		"writes": func(s *Session) { s.WriteFile("secret", 0o600, []byte("y")) },
		"writes a set-user-ID program": func(s *Session) {
			s.asking(func(b []byte) []byte { return appendFrame(b, kindWrite, []byte("4755 a")) }, nil)
		},
		"names no mode": func(s *Session) {
			s.asking(func(b []byte) []byte { return appendFrame(b, kindWrite, []byte("a")) }, nil)
		},
		"asks what is not answered": func(s *Session) { ask(s, 1, nil) },
	} {
		if got := call(t, caller, r, serve); got.err == nil || errors.Is(got.err, ErrCut) || got.out+got.bad != "" {
			t.Errorf("serve %s: %+v, want an error", name, got)
		}
	}
}

// answering is ready at once.
func answering(a Answer) func() (Answer, error) {
	return func() (Answer, error) { return a, nil }
}

// TestAnswerFails holds that a caller ends with the error of its own end.
func TestAnswerFails(t *testing.T) {
	fault := errors.New("fault")
	r := Request{Version: Version}
	asks := func(s *Session) { ask(s, 1, nil) }
	got := call(t, Caller{Ready: answering(func([]byte) (any, error) { return nil, fault })}, r, asks)
	if got.err != fault {
		t.Errorf("%+v, want %v", got, fault)
	}
	got = call(t, Caller{Ready: func() (Answer, error) { return nil, fault }}, r, asks)
	if got.err != fault {
		t.Errorf("a caller that cannot make ready: %+v, want %v", got, fault)
	}
	got = call(t, Caller{Ready: answering(func([]byte) (any, error) { return func() {}, nil })}, r, asks)
	if got.err == nil {
		t.Errorf("an answer that is no JSON: %+v", got)
	}
}

// TestStrangeServe holds that a caller takes nothing for an answer but a whole one.
func TestStrangeServe(t *testing.T) {
	status := appendFrame(nil, kindStatus, []byte("0"))
	for name, c := range map[string]struct {
		says []byte
		cut  bool // the error is ErrCut
	}{
		"nothing":                {nil, true},
		"a part of a frame":      {status[:len(status)-1], true},
		"text and no status":     {appendFrame(nil, kindOut, []byte("text")), true},
		"a file without an end":  {appendFrame(appendFrame(nil, kindWrite, []byte("600 a")), kindContents, []byte("x")), true},
		"a file of other frames": {appendFrame(appendFrame(nil, kindWrite, []byte("600 a")), kindOut, nil), true},
		"a status of no number":  {appendFrame(nil, kindStatus, []byte("all right")), false},
		"a letter to come":       {appendFrame(nil, '!', nil), false},
		"a caller's letter":      {appendFrame(nil, kindRequest, nil), false},
	} {
		ours, theirs := pair(t)
		ours.Write(c.says)
		ours.CloseWrite()
		got, err := Caller{Stdout: io.Discard, Stderr: io.Discard}.Call(on(theirs), Request{Args: []string{"a"}})
		if err == nil || errors.Is(err, ErrCut) != c.cut {
			t.Errorf("serve says %s: %d, %v", name, got, err)
		}
	}
}

// TestLongCommandLine holds that it is refused before the door is called.
func TestLongCommandLine(t *testing.T) {
	dial := func() (io.ReadWriteCloser, error) {
		t.Error("the door is called with a request of more than a frame")
		return nil, io.EOF
	}
	if _, err := (Caller{}).Call(dial, Request{Args: []string{strings.Repeat("x", MaxFrame)}}); err == nil || err == io.EOF {
		t.Errorf("Call = %v, want that the request is too long", err)
	}
}

// TestFirstFrames holds that a caller which does not begin with a request is told why, and that no
// session begins.
func TestFirstFrames(t *testing.T) {
	for name, says := range map[string][]byte{
		"nothing":          nil,
		"half a frame":     []byte("q\x00"),
		"a long frame":     []byte("q\xff\xff\xff\xff"),
		"a signal":         appendFrame(nil, kindSignal, []byte("2")),
		"no request":       appendFrame(nil, kindRequest, []byte("qstat")),
		"another's letter": appendFrame(nil, kindOut, nil),
	} {
		ours, theirs := pair(t)
		theirs.Write(says)
		theirs.CloseWrite()
		s, err := Begin(ours, 0, func() { t.Errorf("%s: gone", name) })
		if s != nil || err == nil {
			t.Errorf("%s: a session begins", name)
		}
		ours.Close()
		r := bufio.NewReader(theirs)
		kind, text, err := readFrame(r)
		if kind != kindErr || !strings.HasPrefix(string(text), "fairspool: ") || err != nil {
			t.Errorf("%s: the caller is told %q %q, %v", name, kind, text, err)
		}
		if kind, text, err := readFrame(r); kind != kindStatus || string(text) != "1" || err != nil {
			t.Errorf("%s: the caller is told %q %q, %v, want status 1", name, kind, text, err)
		}
	}
	ours, _ := pair(t)
	if _, err := Begin(ours, time.Millisecond, nil); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a caller that says nothing: %v", err)
	}
}

// begun returns a session with a caller whose frames the test writes, and a channel that is closed
// when the caller is given up.
func begun(t *testing.T) (*Session, *net.UnixConn, <-chan struct{}) {
	t.Helper()
	ours, theirs := pair(t)
	theirs.Write(appendFrame(nil, kindRequest, []byte(`{"Version":1}`)))
	gone := make(chan struct{})
	s, err := Begin(ours, 0, sync.OnceFunc(func() { close(gone) }))
	testenv.OK(t, err)
	return s, theirs, gone
}

// TestStrangeCaller holds that a caller which says what it was not asked for is given up, and what a
// command that asks it gets.
func TestStrangeCaller(t *testing.T) {
	for name, says := range map[string][]byte{
		"nothing more":          nil,
		"half a frame":          []byte("d\x00"),
		"a second request":      appendFrame(nil, kindRequest, []byte(`{"Version":1}`)),
		"serve's letter":        appendFrame(nil, kindStatus, []byte("0")),
		"no letter":             appendFrame(nil, 0, nil),
		"contents":              appendAll(nil, kindContents, []byte("text")),
		"a failure":             appendFrame(nil, kindFailed, []byte("no such file")),
		"an answer":             appendAll(nil, kindAnswer, []byte("1")),
		"a size":                appendFrame(nil, kindWritten, []byte("1")),
		"SIGKILL":               appendFrame(nil, kindSignal, []byte("9")),
		"a signal of no number": appendFrame(nil, kindSignal, []byte("TERM")),
	} {
		s, theirs, gone := begun(t)
		theirs.Write(says)
		if len(says) < headSize {
			theirs.CloseWrite()
		}
		<-gone
		if _, err := s.ReadFile("a"); err == nil {
			t.Errorf("a caller that says %s is asked on", name)
		}
	}
}

// TestOutOfTurn holds that an answer is of its question's kind.
func TestOutOfTurn(t *testing.T) {
	read := func(s *Session) error { _, err := s.ReadFile("a"); return err }
	write := func(s *Session) error { _, err := s.WriteFile("a", 0o600, nil); return err }
	asks := func(s *Session) error { return ask(s, 1, new(int)) }
	contents, answer, written := appendAll(nil, kindContents, []byte("2")), appendAll(nil, kindAnswer, []byte("2")), appendFrame(nil, kindWritten, []byte("2"))
	for _, c := range []struct {
		name string
		do   func(*Session) error
		says []byte
		good bool
		is   error // nil: any
	}{
		{"contents", read, contents, true, nil},
		{"contents, after a while", read, append(appendFrame(nil, kindBusy, nil), contents...), true, nil},
		{"an answer for contents", read, answer, false, errOutOfTurn},
		{"a size for contents", read, written, false, errOutOfTurn},
		{"a size", write, written, true, nil},
		{"contents for a size", write, contents, false, errOutOfTurn},
		{"a size of no number", write, appendFrame(nil, kindWritten, []byte("all")), false, nil},
		{"an answer", asks, answer, true, nil},
		{"contents for an answer", asks, contents, false, errOutOfTurn},
		{"an answer of no JSON", asks, appendAll(nil, kindAnswer, []byte("{")), false, nil},
		{"a failure that is no text", read, appendFrame(nil, kindFailed, []byte("a\xff")), false, nil},
	} {
		s, theirs, _ := begun(t)
		go func() {
			readFrame(bufio.NewReader(theirs)) // the question
			theirs.Write(c.says)
		}()
		if err := c.do(s); (err == nil) != c.good || c.is != nil && err != c.is {
			t.Errorf("%s: %v, want it taken: %t", c.name, err, c.good)
		}
	}
}

// TestAnswersTwice holds that what comes behind an answer, before anything else is asked, ends the connection.
func TestAnswersTwice(t *testing.T) {
	answer := appendAll(nil, kindAnswer, []byte("2"))
	s, theirs, gone := begun(t)
	theirs.Write(slices.Concat(answer, answer))
	var n int
	if err := ask(s, 1, &n); err == nil && n != 2 {
		t.Errorf("the answer is %d", n)
	}
	<-gone
}

// TestSignals holds that the caller's interrupts reach the command, and that both of them alone do.
func TestSignals(t *testing.T) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGTERM) // for good: one of those that are sent may come late
	_, theirs, _ := begun(t)
	theirs.Write(appendFrame(nil, kindSignal, []byte("15")))
	<-signals

	ours, theirs := pair(t)
	done := make(chan called)
	go func() {
		status, err := Caller{Stdout: io.Discard, Stderr: io.Discard}.Call(on(theirs), Request{})
		done <- called{status: status, err: err}
	}()
	r := bufio.NewReader(ours)
	if kind, _, err := readFrame(r); kind != kindRequest || err != nil {
		t.Fatalf("a call begins with %q, %v", kind, err)
	}
	said := make(chan called, 1)
	go func() {
		kind, text, err := readFrame(r)
		said <- called{status: int(kind), out: string(text), err: err}
	}()
	var got called
	testenv.Until(t, "the caller hands on that it is ended", func() bool {
		unix.Kill(os.Getpid(), unix.SIGTERM) // again, as it may not listen yet
		select {
		case got = <-said:
			return true
		default:
			return false
		}
	})
	if got.status != kindSignal || got.out != "15" || got.err != nil {
		t.Errorf("a caller that is ended sends %v %q, %v, want signal 15", got.status, got.out, got.err)
	}
	ours.Write(appendFrame(nil, kindStatus, []byte("143")))
	if got := <-done; got.status != 143 || got.err != nil {
		t.Errorf("the caller ends with %+v", got)
	}
}

func reader(b string) *bufio.Reader { return bufio.NewReader(strings.NewReader(b)) }

// TestFrames holds that sent data is read again, in frames that are not too long.
func TestFrames(t *testing.T) {
	for _, n := range []int{0, 1, MaxFrame - 1, MaxFrame, MaxFrame + 1, 2 * MaxFrame, 2*MaxFrame + 5} {
		text := bytes.Repeat([]byte("x"), n)
		r := reader(string(appendAll([]byte{}, kindContents, text)))
		var got []byte
		for {
			kind, payload, err := readFrame(r)
			if err != nil || kind != kindContents {
				t.Fatalf("%d bytes: frame %q, %v", n, kind, err)
			}
			if len(payload) == 0 {
				break
			}
			got = append(got, payload...)
		}
		if !bytes.Equal(got, text) {
			t.Errorf("%d bytes come as %d", n, len(got))
		}
		if _, _, err := readFrame(r); err != io.EOF {
			t.Errorf("%d bytes: behind the last frame %v, want EOF", n, err)
		}
	}
}

// TestBrokenFrames holds that a connection that ends in a frame is distinguished from one
// that ends between two, and that no length is trusted.
func TestBrokenFrames(t *testing.T) {
	whole := string(appendFrame(nil, kindOut, []byte("text")))
	for n := 1; n < len(whole); n++ {
		if _, _, err := readFrame(reader(whole[:n])); err != io.ErrUnexpectedEOF {
			t.Errorf("the first %d bytes of a frame: %v, want %v", n, err, io.ErrUnexpectedEOF)
		}
	}
	const size = "q\x00\x04\x00\x01"
	_, _, err := readFrame(reader(size))
	if err == nil || errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a frame of a byte too much: %v", err)
	}
}

// TestRequests holds which requests are refused. A caller's own command sends none of these.
func TestRequests(t *testing.T) {
	many := `"a"` + strings.Repeat(`,"a"`, maxArgs)
	for _, c := range []struct {
		name, text string
		good       bool
	}{
		{"all that a command sends", `{"Version":1,"Command":"qstat","Args":["-a"],"Environment":["TZ=UTC","LINES="],"Width":80,"Height":24,"OutTerminal":true}`, true},
		{"bounds", `{"Version":1,"Width":10000,"Height":10000,"Environment":["TZ=` + strings.Repeat("x", 256) + `"]}`, true},
		{"nothing", ``, false},
		{"no JSON", `qstat`, false},
		{"another kind of JSON", `["qstat"]`, false},
		{"a version to come", `{"Version":2}`, false},
		{"no version", `{"Command":"qstat"}`, false},
		{"a variable of the loader's", `{"Version":1,"Environment":["LD_PRELOAD=x"]}`, false},
		{"a variable of the pool's", `{"Version":1,"Environment":["FAIRSPOOL_DIR=/"]}`, false},
		{"no name of a variable", `{"Version":1,"Environment":["=x"]}`, false},
		{"a long variable", `{"Version":1,"Environment":["TZ=` + strings.Repeat("x", 257) + `"]}`, false},
		{"a variable with a zero", `{"Version":1,"Environment":["TZ=a\u0000b"]}`, false},
		{"many arguments", `{"Version":1,"Args":[` + many + `]}`, false},
		{"a wide terminal", `{"Version":1,"Width":10001}`, false},
		{"a high terminal", `{"Version":1,"Height":10001}`, false},
		{"a narrow terminal", `{"Version":1,"Width":-1}`, false},
		{"a flat terminal", `{"Version":1,"Height":-1}`, false},
	} {
		if _, err := parseRequest([]byte(c.text)); (err == nil) != c.good {
			t.Errorf("%s: %v, want it taken: %t", c.name, err, c.good)
		}
	}
}

// request returns the frame of a request.
func request(t *testing.T, r Request) []byte {
	t.Helper()
	r.Version = Version
	text, err := json.Marshal(r)
	testenv.OK(t, err)
	return appendFrame(nil, kindRequest, text)
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
		server, caller := pair(t)
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
		server, caller := pair(t)
		server.Write(sent)
		server.CloseWrite()
		go io.Copy(io.Discard, server)
		c := Caller{
			Stdout: io.Discard, Stderr: io.Discard,
			ReadFile:  func(string) ([]byte, error) { return []byte("in"), nil },
			WriteFile: func(string, fs.FileMode, []byte) (int64, error) { return 0, nil },
		}
		c.Call(on(caller), Request{Version: Version, Command: "toy", Args: []string{"in"}})
	})
}
