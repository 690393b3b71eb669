package cmdline

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// playedProgress is a progress on a terminal whose clock the test sets.
func playedProgress(what string) (p *Progress, out *strings.Builder, later func(time.Duration)) {
	now := time.Unix(1795217646, 0)
	out = &strings.Builder{}
	p = &Progress{to: out, what: what, clock: func() time.Time { return now }, next: now.Add(progressAfter)}
	return p, out, func(d time.Duration) { now = now.Add(d) }
}

func TestProgress(t *testing.T) {
	p, out, later := playedProgress("folding")
	p.Step(1, 10)
	later(progressAfter)
	p.Step(2, 10)
	p.Step(3, 10) // too soon
	later(progressEvery)
	p.Count(7, "ads")
	later(progressEvery)
	p.Step(12, 10)
	later(progressEvery)
	p.Step(0, 0)
	p.End()
	p.Step(10, 10)
	p.End()
	const want = "\rfolding: 20%\x1b[K\rfolding: 7 ads\x1b[K\rfolding: 100%\x1b[K\rfolding: 0%\x1b[K\r\x1b[K"
	if out.String() != want {
		t.Errorf("progress = %q, want %q", out.String(), want)
	}
}

// TestProgressSilent holds that short work shows nothing, and that nothing but
// a terminal is shown anything.
func TestProgressSilent(t *testing.T) {
	p, out, later := playedProgress("folding")
	p.Step(1, 2)
	later(progressAfter - 1)
	p.Step(2, 2)
	p.End()
	if out.String() != "" {
		t.Errorf("progress of short work = %q, want nothing", out.String())
	}
	var bad bytes.Buffer
	p = (&Call{Stderr: &bad}).Progress("folding")
	p.next = time.Time{}
	p.Step(1, 2)
	p.End()
	if bad.Len() > 0 {
		t.Errorf("progress into a file = %q, want nothing", bad.String())
	}
}
