package door

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

func reader(b string) *bufio.Reader { return bufio.NewReader(strings.NewReader(b)) }

// TestFrames holds that what is sent is read again, in frames that are not too long.
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

// TestBrokenFrames holds that a connection which ends in a frame is told from one that ends
// between two, and that no length is believed.
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
