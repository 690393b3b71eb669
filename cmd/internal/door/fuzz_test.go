package door

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"testing"
)

// request returns the frame of a request.
func request(t *testing.T, r Request) []byte {
	t.Helper()
	r.Version = Version
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
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
