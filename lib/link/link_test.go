package link

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"

	"fairspool/internal/testenv"
)

func TestReadGreeting(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, version, err string }{
		{"fairspool-link 1 0.1.0\n", "0.1.0", ""},
		{"Welcome to n1!\n\nfairspool-link 1 0.1.0\nrest", "0.1.0", ""},
		{"no line's end before it\nfairspool-link 1\n", "", ""},
		{strings.Repeat("x", mostNoise-1) + "\nfairspool-link 1 0.1.0\n", "", `it says "xxx`},
		{strings.Repeat("x\n", 1000) + "fairspool-link 1 0.1.0\n", "0.1.0", ""},
		{"fairspool-link 1 0.1.0", "", `it says "fairspool-link 1 0.1.0"`},
		{"fairspool-link 0 0.1.0\n", "", "it says"},
		{"fairspool-link -1 0.1.0\n", "", "it says"},
		{"fairspool-link 99999999999999999999 x\n", "", "it says"},
		{"fairspool-link 1 " + strings.Repeat("x", longestGreeting) + "\n", "", "it says"},
		{"bash: starter: command not found\nmore\n", "", `it says "bash: starter: command not found"`},
		{"", "", "has ended without a greeting"},
		{" \n\n", "", "has ended without a greeting"},
	} {
		protocol, version, err := readGreetingOf(c.text)
		if c.err == "" && (err != nil || protocol != 1 || version != c.version) {
			t.Errorf("%.60q: %d %q, %v, want 1 %q", c.text, protocol, version, err, c.version)
		}
		if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%.60q: %v, want %q", c.text, err, c.err)
		}
	}
}

func readGreetingOf(text string) (protocol int, version string, err error) {
	return readGreeting(bufio.NewReaderSize(strings.NewReader(text), 64<<10))
}

// pipes returns two ends of a pipe.
func pipes(t testing.TB) (a, b net.Conn) {
	t.Helper()
	a, b = net.Pipe()
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

// linked returns two ends of a link.
func linked(t testing.TB) (first, second *Link) {
	t.Helper()
	a, b := pipes(t)
	done := make(chan error, 1)
	go func() {
		var err error
		second, err = New(b, Settings{Version: "2.0", Patience: time.Minute, Every: time.Minute})
		done <- err
	}()
	first, err := New(a, Settings{Version: "1.0", First: true, Patience: time.Minute, Every: time.Minute})
	testenv.OK(t, errors.Join(err, <-done))
	t.Cleanup(func() { first.Close(); second.Close() })
	return first, second
}

func TestLink(t *testing.T) {
	t.Parallel()
	first, second := linked(t)
	if first.Version != "2.0" || second.Version != "1.0" {
		t.Errorf("the versions are %q and %q", first.Version, second.Version)
	}
	go func() {
		for {
			stream, err := second.Accept()
			if err != nil {
				return
			}
			go func() {
				defer stream.Close()
				var text string
				if ReadMessage(stream, &text) == nil {
					WriteMessage(stream, text+"!")
				}
			}()
		}
	}()
	for _, text := range []string{"", "a", strings.Repeat("long ", 1<<20)} {
		stream, err := first.Open()
		testenv.OK(t, err)
		var got string
		if err := errors.Join(WriteMessage(stream, text), ReadMessage(stream, &got)); err != nil || got != text+"!" {
			t.Errorf("%.10q is answered %.10q, %v", text, got, err)
		}
		stream.Close()
	}
	second.Close()
	<-first.Done()
	if _, err := first.Open(); !errors.Is(err, ErrBroken) {
		t.Errorf("Open on a link that has ended: %v", err)
	}
	if _, err := first.Accept(); !errors.Is(err, ErrBroken) {
		t.Errorf("Accept on a link that has ended: %v", err)
	}
}

// TestRefusesLink holds that an end of another protocol, and one that says nothing, are refused, and that the pipe is closed then.
func TestRefusesLink(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		greets, err string
		patience    time.Duration
	}{
		{"fairspool-link 2 9.9\n", "the other end is fairspool 9.9, which is newer (link 2, here 1)", time.Hour},
		{"hello\n", "has not greeted for", 20 * time.Millisecond},
		{"", "has not greeted for", 20 * time.Millisecond},
	} {
		a, b := pipes(t)
		go io.Copy(io.Discard, b)
		go io.WriteString(b, c.greets)
		_, err := New(a, Settings{Version: "1", Patience: c.patience, Every: time.Minute})
		if err == nil || !strings.Contains(err.Error(), c.err) {
			t.Errorf("greeted with %q: %v, want %q", c.greets, err, c.err)
		}
		if _, err := a.Write([]byte("x")); err == nil {
			t.Errorf("greeted with %q: the pipe is still open", c.greets)
		}
	}
	older := &VersionError{Protocol: Protocol - 1, Version: "0"}
	if !strings.Contains(older.Error(), "older") {
		t.Errorf("an older end: %v", older)
	}
}

// TestSilentEnd holds that a link ends when nothing is heard of the other end.
func TestSilentEnd(t *testing.T) {
	t.Parallel()
	a, b := pipes(t)
	go func() {
		io.WriteString(b, "fairspool-link 1 x\n")
		io.Copy(io.Discard, b)
	}()
	l, err := New(a, Settings{Patience: 50 * time.Millisecond, Every: 20 * time.Millisecond})
	testenv.OK(t, err)
	select {
	case <-l.Done():
	case <-time.After(time.Minute):
		t.Error("a link without an answer goes on")
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOf(rapid.String()).Draw(t, "texts")
		var b bytes.Buffer
		for _, text := range texts {
			testenv.OK(t, WriteMessage(&b, text))
		}
		whole := bytes.Clone(b.Bytes())
		r := iotest.OneByteReader(&b)
		for _, text := range texts {
			var got string
			if err := ReadMessage(r, &got); err != nil || got != strings.ToValidUTF8(text, "\ufffd") {
				t.Fatalf("%q is read as %q, %v", text, got, err)
			}
		}
		if err := ReadMessage(r, new(string)); err != io.EOF {
			t.Fatalf("behind the last: %v", err)
		}
		if len(texts) == 0 {
			return
		}
		n := rapid.IntRange(1, min(len(texts[len(texts)-1])+5, len(whole))).Draw(t, "cut")
		cutShort := bytes.NewReader(whole[:len(whole)-n])
		var err error
		for err == nil {
			err = ReadMessage(cutShort, new(string))
		}
		if at := len(whole) - n; err != io.EOF && err != io.ErrUnexpectedEOF || at == 0 && err != io.EOF {
			t.Fatalf("cut short by %d bytes: %v", n, err)
		}
	})
}

func TestLongMessages(t *testing.T) {
	t.Parallel()
	if err := WriteMessage(io.Discard, strings.Repeat("x", LongestMessage)); err == nil {
		t.Error("a message that is too long is sent")
	}
	for _, n := range []uint32{LongestMessage, LongestMessage + 1, 1<<32 - 1} {
		if err := ReadMessage(bytes.NewReader(binary.BigEndian.AppendUint32(nil, n)), new(string)); err == nil || n <= LongestMessage && err != io.ErrUnexpectedEOF {
			t.Errorf("a message of which only the length %d came: %v", n, err)
		}
	}
}

// TestBodies holds that a body comes as it went, and that no part of one is taken for the whole.
func TestBodies(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom([]int{0, 1, 5, chunk - 5, chunk - 1, chunk, chunk + 1, 3*chunk + 7}), 0, 5).Draw(t, "parts")
		var want, b bytes.Buffer
		body := NewBody(&b)
		for i, n := range parts {
			part := bytes.Repeat([]byte{byte(i + 1)}, n)
			want.Write(part)
			if k, err := body.Write(part); k != n || err != nil {
				t.Fatalf("Write of %d = %d, %v", n, k, err)
			}
		}
		fails := rapid.Bool().Draw(t, "fails")
		if fails {
			body.Fail("because")
		} else {
			body.Close()
		}
		whole := bytes.Clone(b.Bytes())
		got, err := io.ReadAll(ReadBody(&b))
		var why *BodyError
		switch {
		case fails && (!errors.As(err, &why) || why.Why != "because" || !bytes.HasPrefix(want.Bytes(), got)):
			t.Fatalf("a body that breaks off is %d of %d bytes, %v", len(got), want.Len(), err)
		case !fails && (err != nil || !bytes.Equal(got, want.Bytes()) || b.Len() > 0):
			t.Fatalf("%d bytes came of %d, %v, and %d are left", len(got), want.Len(), err, b.Len())
		}
		short := whole[:rapid.IntRange(0, len(whole)-1).Draw(t, "cut")]
		if got, err = io.ReadAll(ReadBody(bytes.NewReader(short))); err != io.ErrUnexpectedEOF || !bytes.HasPrefix(want.Bytes(), got) {
			t.Fatalf("a body of %d bytes cut to %d: %v", len(whole), len(short), err)
		}
	})
	for _, n := range []uint32{chunk + 1, failed - 1} {
		if _, err := io.ReadAll(ReadBody(bytes.NewReader(binary.BigEndian.AppendUint32(nil, n)))); err == nil || err == io.ErrUnexpectedEOF {
			t.Errorf("a chunk of %d bytes: %v", n, err)
		}
	}
	long := &bytes.Buffer{}
	NewBody(long).Fail(strings.Repeat("x", 2*longestReason))
	if _, err := io.ReadAll(ReadBody(long)); err == nil || len(err.Error()) != longestReason {
		t.Errorf("a long reason comes with %d bytes", len(err.Error()))
	}
}

func FuzzGreeting(f *testing.F) {
	for _, s := range []string{"fairspool-link 1 0.1.0\n", "x\nfairspool-link 2 y\n", "fairspool-link \n", "\xff\xfe\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if n, _, err := readGreetingOf(text); err == nil && (n <= 0 || !strings.Contains(text, greeting)) {
			t.Errorf("protocol %d in %q", n, text)
		}
	})
}

func FuzzMessage(f *testing.F) {
	for _, s := range []string{"\x00\x00\x00\x02{}", "\x00\x00\x00\x00", "\x03\xff\xff\xff[", "\xff\xff\xff\xff", "\x00\x00\x00\x05{\"A\":"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var v struct {
			A int
			B map[string][]byte
		}
		r := bytes.NewReader(b)
		for ReadMessage(r, &v) == nil {
		}
	})
}

func FuzzBody(f *testing.F) {
	for _, s := range []string{"\x00\x00\x00\x01a\x00\x00\x00\x00", "\xff\xff\xff\xff\x00\x00\x00\x01x", "\x00\x04\x00\x01", "\xff\xff\xff\xff\xff\xff\xff\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, err := io.ReadAll(ReadBody(bytes.NewReader(b))); len(got) > len(b) || err == nil && len(b) < 4 {
			t.Errorf("%d bytes of %d, %v", len(got), len(b), err)
		}
	})
}

// FuzzSession has an end of a link get any bytes behind the greeting: it ends, and does nothing worse.
func FuzzSession(f *testing.F) {
	for _, s := range []string{
		"", "\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x00", // a stream
		"\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x06\x00\x00\x00\x02{}", // with a message
		"\x00\x01\x00\x01\x00\x00\x00\x01\xff\xff\xff\xff",                   // and a window
		"\x00\x02\x00\x01\x00\x00\x00\x00\x00\x00\x00\x07",                   // a ping
		"\x00\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",                   // the end
		"\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",                   // another version of yamux
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		ours, theirs := net.Pipe()
		go io.Copy(io.Discard, theirs)
		go func() {
			theirs.Write(append([]byte("fairspool-link 1 x\n"), b...))
			theirs.Close()
		}()
		l, err := New(ours, Settings{Patience: time.Minute, Every: time.Minute})
		if err != nil { // the other end was gone before it was greeted
			return
		}
		for {
			stream, err := l.Accept()
			if err != nil {
				break
			}
			var v any
			ReadMessage(stream, &v)
			stream.Close()
		}
		<-l.Done()
		l.Close()
	})
}

func BenchmarkBody(b *testing.B) {
	first, second := linked(b)
	go func() {
		for {
			stream, err := second.Accept()
			if err != nil {
				return
			}
			io.Copy(io.Discard, struct{ io.Reader }{ReadBody(stream)})
			stream.Close()
		}
	}()
	const size = 64 << 20
	part := make([]byte, 512<<10)
	b.SetBytes(size)
	for b.Loop() {
		stream, err := first.Open()
		testenv.OK(b, err)
		body := NewBody(stream)
		for range size / len(part) {
			if _, err := body.Write(part); err != nil {
				b.Fatal(err)
			}
		}
		testenv.OK(b, body.Close())
		stream.Close()
	}
}
