package qstat

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	sys "golang.org/x/sys/unix"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/clean"
)

// What a terminal understands.
const (
	home       = "\x1b[H"
	restOfLine = "\x1b[K"
	restOfAll  = "\x1b[J"
)

// screen draws on a terminal: over what stands there, so that nothing flickers, with
// the time on the first line, and no more lines than there are.
type screen struct {
	size func() (width, height int)
	head string // the first line without the time
	rows int    // where the cursor stands, from the top
}

// screenOf returns a screen for standard output, nil if that is no terminal.
func screenOf(c *cmdline.Call) *screen {
	if !c.Terminal() {
		return nil
	}
	return &screen{size: c.Screen, head: fmt.Sprintf("every %ss", cmp.Or(c.Value("watch"), usualWatch))}
}

// draw shows a display.
func (s *screen) draw(c *cmdline.Call, display []byte, now time.Time) error {
	width, height := s.size()
	var b bytes.Buffer
	b.WriteString(home + restOfLine + s.first(now, width))
	lines := strings.Split(strings.TrimSuffix(string(display), "\n"), "\n")
	s.rows = 1
	if room := max(height-2, 1); len(lines) > room {
		more := fmt.Sprintf("... %d more", len(lines)-room+1)
		lines = append(lines[:room-1:room-1], more)
	}
	for _, line := range lines {
		// Cleared first: behind a full line some terminals would clear its end.
		b.WriteString("\n" + restOfLine + fit(line, width))
		s.rows++
	}
	b.WriteString("\n" + restOfAll)
	s.rows++
	return s.write(c, b.Bytes())
}

// tick shows that the display still stands, where nothing is to be drawn.
func (s *screen) tick(c *cmdline.Call, now time.Time) error {
	if s == nil {
		return nil
	}
	width, _ := s.size()
	return s.write(c, fmt.Appendf(nil, "%s%s%s\x1b[%d;1H", home, restOfLine, s.first(now, width), s.rows))
}

func (s *screen) first(now time.Time, width int) string {
	return fit(s.head+"  "+clock(now), width)
}

func (s *screen) write(c *cmdline.Call, b []byte) error {
	if _, err := cmdline.Raw(c.Stdout).Write(b); err != nil {
		return err
	}
	return c.Flush()
}

// fit cuts a line to the width, and keeps what it says from steering the terminal.
func fit(line string, width int) string {
	line = clean.Line(strings.ReplaceAll(line, "\t", " "))
	if len(line) <= width || utf8.RuneCountInString(line)*2 <= width {
		return line
	}
	line, _ = within(line, width)
	return line
}

// unread tells whether a file is a pipe that nobody reads any more.
func unread(f *os.File) bool {
	fds := []sys.PollFd{{Fd: int32(f.Fd())}}
	n, err := sys.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&(sys.POLLERR|sys.POLLNVAL) != 0
}

// closing returns a channel that is closed when nobody reads a file any more.
func closing(f *os.File) <-chan struct{} {
	closed := make(chan struct{})
	go func() {
		fds := []sys.PollFd{{Fd: int32(f.Fd())}}
		for {
			n, err := sys.Poll(fds, -1)
			if err != nil && !errors.Is(err, sys.EINTR) {
				return // then it is seen when something is written
			}
			if n > 0 {
				close(closed)
				return
			}
		}
	}()
	return closed
}
