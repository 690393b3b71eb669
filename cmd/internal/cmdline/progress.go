package cmdline

import (
	"fmt"
	"io"
	"time"
)

// Progress shows on a terminal how far long work has come, on one line of
// standard error that goes when the work is done. Elsewhere, and on work that is
// not long, it shows nothing.
type Progress struct {
	to    io.Writer // nil: shows nothing
	what  string
	clock func() time.Time
	next  time.Time // not before
	shown bool
}

const (
	progressAfter = 300 * time.Millisecond // work that takes so long is long
	progressEvery = 100 * time.Millisecond

	restOfLine = "\x1b[K" // clears it
)

// Progress begins to show the progress of what is done, such as "folding".
func (c *Call) Progress(what string) *Progress {
	p := &Progress{what: what, clock: time.Now}
	if terminal(c.Stderr) {
		p.to = c.Stderr
	}
	p.next = p.clock().Add(progressAfter)
	return p
}

// Step tells that so many of all are done.
func (p *Progress) Step(done, all int) {
	p.show(func() string { return fmt.Sprintf("%d%%", 100*min(done, all)/max(all, 1)) })
}

// Count tells that so many things are done, where nobody knows of how many.
func (p *Progress) Count(done int, things string) {
	p.show(func() string { return fmt.Sprintf("%d %s", done, things) })
}

// End takes the line away.
func (p *Progress) End() {
	if p.shown {
		io.WriteString(Raw(p.to), "\r"+restOfLine)
	}
	p.to, p.shown = nil, false
}

func (p *Progress) show(far func() string) {
	if p.to == nil || p.clock().Before(p.next) {
		return
	}
	p.next = p.clock().Add(progressEvery)
	p.shown = true
	io.WriteString(Raw(p.to), "\r")
	fmt.Fprintf(p.to, "%s: %s", p.what, far())
	io.WriteString(Raw(p.to), restOfLine)
}
