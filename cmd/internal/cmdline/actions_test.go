package cmdline

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func TestActions(t *testing.T) {
	alone(t)
	c := Command{
		Name: "toy", Brief: "try actions", Synopsis: []string{"go", "stay"},
		Flags: []Flag{{Name: "fast", Help: "go: hurry"}, {Name: "q", Aliases: []string{"quiet"}, Help: "say nothing"}},
		Actions: []Action{
			{"go", []string{"fast", "q"}, func(c *Call, args []string) error {
				_, err := fmt.Fprintln(c.Stdout, "go", args, c.Has("fast"))
				return err
			}},
			{"stay", []string{"q"}, func(c *Call, args []string) error { return Usagef("stay: no") }},
		},
		WithoutSpool: true,
	}
	for _, k := range []struct {
		args, out, bad string
		status         int
	}{
		{"go", "go [] false\n", "", 0},
		{"-fast go here there", "go [here there] true\n", "", 0},
		{"stay", "", "toy: stay: no\n", 2},
		{"", "", "toy: what to do? one of go, stay; see toy -help\n", 2},
		{"sta", "", "toy: sta: unknown action: want one of go, stay; did you mean stay?\n", 2},
		{"xyzzy", "", "toy: xyzzy: unknown action: want one of go, stay; see toy -help\n", 2},
		{"stay -quiet -fast", "", "toy: -fast: has no meaning for stay\n", 2},
	} {
		var out, bad bytes.Buffer
		status := Execute(c, strings.Fields(k.args), strings.NewReader(""), &out, &bad)
		if status != k.status || out.String() != k.out || bad.String() != k.bad {
			t.Errorf("toy %s = %d, %q, %q, want %d, %q, %q", k.args, status, out.String(), bad.String(), k.status, k.out, k.bad)
		}
	}
}
