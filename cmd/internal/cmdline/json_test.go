package cmdline

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"fairspool/internal/testenv"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
	lastreport "fairspool/lib/report"
)

func TestSchemaVersion(t *testing.T) {
	for _, c := range []struct {
		v            any
		shown, aLine string
	}{
		{struct{}{}, "{\n  \"SchemaVersion\": 1\n}\n", `{"SchemaVersion":1}`},
		{struct{ A int }{3}, "{\n  \"SchemaVersion\": 1,\n  \"A\": 3\n}\n", `{"SchemaVersion":1,"A":3}`},
		{struct{ SchemaVersion int }{7}, "{\n  \"SchemaVersion\": 7\n}\n", `{"SchemaVersion":7}`},
		{struct{ A any }{struct{ B int }{2}}, "{\n  \"SchemaVersion\": 1,\n  \"A\": {\n    \"B\": 2\n  }\n}\n", `{"SchemaVersion":1,"A":{"B":2}}`},
		{[]int{}, "[]\n", "[]"},
		{"{", "\"{\"\n", `"{"`},
	} {
		if text, err := JSON(c.v); err != nil || string(text) != c.shown {
			t.Errorf("JSON(%v) = %q, %v, want %q", c.v, text, err, c.shown)
		}
		if text, err := Line(c.v); err != nil || string(text) != c.aLine+"\n" {
			t.Errorf("Line(%v) = %q, %v, want %q", c.v, text, err, c.aLine)
		}
	}
}

func TestStream(t *testing.T) {
	type row struct{ A []int }
	for _, rows := range [][]row{{}, {{[]int{1}}}, {{nil}, {[]int{2, 3}}}} {
		var b strings.Builder
		s := NewStream(&b, "Rows")
		for _, r := range rows {
			testenv.OK(t, s.Add(r))
		}
		testenv.OK(t, s.End())
		if want, _ := JSON(struct{ Rows []row }{rows}); b.String() != string(want) {
			t.Errorf("%v = %s, want %s", rows, b.String(), want)
		}
	}
}

// Lines writes what Line does, with a line for each member and each value of a list.
func TestLines(t *testing.T) {
	type inner struct {
		A int `json:",omitempty"`
		B []string
	}
	type report struct {
		First []inner
		inner
		Named  string `json:"Other,omitempty"`
		Nil    *inner `json:",omitempty"`
		None   []inner
		Empty  []inner  `json:",omitempty"`
		Texts  []string `json:",omitempty"`
		Hidden int      `json:"-"`
	}
	for _, c := range []struct {
		v     any
		lines int
	}{
		{report{}, 6},
		{report{First: []inner{{1, nil}, {2, []string{"a", "<&>"}}}, Named: "x", Nil: &inner{}, Empty: []inner{}, Texts: []string{"\n"}, inner: inner{A: 3}}, 15},
		{lastreport.Document{}, 12},
		{lastreport.Document{
			Cycles: []lastreport.Cycle{{Cycle: 1}, {Cycle: 2}}, Policy: &lastreport.Policy{Held: 1},
			Report: negotiator.Report{Policy: "maui", Warnings: []string{"w"}, Rejections: []negotiator.ReportedRejection{{Job: "1.0", Jobs: []pool.Procs{{Cluster: 1}}}}},
		}, 22},
	} {
		var b bytes.Buffer
		n, err := Lines{c.v}.WriteTo(&b)
		testenv.OK(t, err)
		var compact bytes.Buffer
		testenv.OK(t, json.Compact(&compact, b.Bytes()))
		line, err := Line(c.v)
		testenv.OK(t, err)
		if compact.String()+"\n" != string(line) || n != int64(b.Len()) || strings.Count(b.String(), "\n") != c.lines {
			t.Errorf("Lines of %d bytes:\n%s\nwant\n%s", n, &b, line)
		}
	}
	end, to := io.Pipe()
	end.Close()
	if n, err := (Lines{report{Named: "x"}}).WriteTo(to); n != 0 || !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("to a closed pipe: %d bytes, %v", n, err)
	}
	if _, err := (Lines{struct{ F float64 }{math.NaN()}}).WriteTo(io.Discard); err == nil {
		t.Error("a number that JSON has not: no error")
	}
}

func TestErrorsAsJSON(t *testing.T) {
	command := func(run func(*Call) error) Command {
		return Command{Name: "one", WithoutSpool: true, Flags: []Flag{{Name: "json"}, {Name: "of", Args: []string{"X"}}}, Run: run}
	}
	warns := func(c *Call) error {
		c.Warn("warning: %s", "a\nb")
		c.Warn("c \x1b d")
		return ErrReported
	}
	fails := func(c *Call) error { return errors.New(`no "x"`) }
	for _, c := range []struct {
		args   string
		run    func(*Call) error
		status int
		want   string
	}{
		{"", fails, 1, "one: no \"x\"\n"},
		{"-json", fails, 1, `{"SchemaVersion":1,"Error":{"Command":"one","Message":"no \"x\"","Status":1}}` + "\n"},
		{"a --json", fails, 1, `{"SchemaVersion":1,"Error":{"Command":"one","Message":"no \"x\"","Status":1}}` + "\n"},
		{"-- -json", fails, 1, "one: no \"x\"\n"},
		{"-json -nosuch", fails, 2, `{"SchemaVersion":1,"Error":{"Command":"one","Message":"unknown flag -nosuch; see one -help","Status":2}}` + "\n"},
		{"-json -of", fails, 2, `{"SchemaVersion":1,"Error":{"Command":"one","Message":"-of: wants X","Status":2}}` + "\n"},
		{"-nosuch -- -json", fails, 2, "one: unknown flag -nosuch; see one -help\n"},
		{"", warns, 1, "one: warning: a\\nb\none: c ? d\n"},
		{"-json", warns, 1, `{"SchemaVersion":1,"Warning":{"Command":"one","Message":"a\\nb"}}` + "\n" +
			`{"SchemaVersion":1,"Warning":{"Command":"one","Message":"c \u001b d"}}` + "\n"},
	} {
		var out, bad strings.Builder
		if status := Execute(command(c.run), strings.Fields(c.args), strings.NewReader(""), &out, &bad); status != c.status || bad.String() != c.want || out.Len() > 0 {
			t.Errorf("one %s = %d, %q, %q, want %d, %q", c.args, status, bad.String(), out.String(), c.status, c.want)
		}
	}
}
