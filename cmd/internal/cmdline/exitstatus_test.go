package cmdline

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestExitStatusOfWhatWasWaitedFor(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{ExitStatus(0), 0},
		{ExitStatus(3), 3},
		{ExitStatus(137), 137},
		{fmt.Errorf("more: %w", ExitStatus(7)), 7},
	} {
		var bad bytes.Buffer
		command := Command{Name: "toy", WithoutSpool: true, Run: func(*Call) error { return c.err }}
		if got := Execute(command, nil, strings.NewReader(""), &bytes.Buffer{}, &bad); got != c.want || bad.Len() > 0 {
			t.Errorf("exit status of %v = %d, %q, want %d without a word", c.err, got, bad.String(), c.want)
		}
	}
	if errors.Is(ExitStatus(1), ErrReported) {
		t.Error("ExitStatus(1) is ErrReported, want it to be its own")
	}
}
