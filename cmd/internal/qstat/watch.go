package qstat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	sys "golang.org/x/sys/unix"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/door"
	"fairspool/lib/clean"
	"fairspool/lib/report/queue"
	"fairspool/lib/report/table"
	"fairspool/spool"
)

// shows is what can be drawn again and again on the same opened spool.
type shows interface {
	show(w io.Writer, now time.Time) error
}

const (
	// share is how much of the time may be spent on drawing: one of so many parts.
	share = 30
	// atLeast is how often something is drawn that has not changed, for what depends
	// on the time without showing it, such as the order of submitters.
	atLeast = time.Minute
)

// watch draws a display until standard output is closed or a signal comes.
func watch(c *cmdline.Call, d shows, o options) error {
	s, err := c.Spool()
	if err != nil {
		return err
	}
	var drawn bytes.Buffer
	c.Stderr = cmdline.Cleaned(&drawn) // complaints belong to the display
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, sys.SIGTERM, sys.SIGHUP, sys.SIGQUIT)
	defer stop()
	sized := make(chan os.Signal, 1)
	signal.Notify(sized, sys.SIGWINCH)
	defer signal.Stop(sized)
	closed := closing(os.Stdout)
	screen := screenOf(c, o.watch)
	switch k := keysOf(c); {
	case screen == nil:
	case k != nil:
		screen.head += endingKey
		defer k.listen(stop)()
	case c.KeysRead():
		screen.head += endingKey
	}
	w := watching{
		call: c, spool: s, shows: d, drawn: &drawn, every: o.watch,
		runs: o.runs, screen: screen, cpu: processorTime,
		pause: func(ctx context.Context, d time.Duration) bool { return pause(ctx, d, sized, closed) },
	}
	return w.loop(ctx)
}

// watching is a display that is drawn again and again.
type watching struct {
	call   *cmdline.Call
	spool  *spool.Spool
	shows  shows
	drawn  *bytes.Buffer
	every  time.Duration
	runs   bool
	screen *screen // nil: no terminal
	// cpu returns the processor time that was used so far, and pause waits: it
	// returns false when it is to end.
	cpu   func() time.Duration
	pause func(context.Context, time.Duration) bool

	was  sight         // the sight of the last drawing
	at   time.Time     // when that was, zero: never
	cost time.Duration // of drawing it
}

// sight tells, when it is not the same as before, that something may have changed.
type sight struct {
	seq    uint64
	report time.Time
	byHand string
	// The terminal's size.
	width, height int
}

func (w *watching) loop(ctx context.Context) error {
	for {
		if err := w.look(); err != nil {
			return quiet(err)
		}
		if !w.pause(ctx, w.every) || ctx.Err() != nil {
			return nil
		}
	}
}

// errClosed says that the output has no reader any more.
var errClosed = errors.New("closed")

// quiet returns nil for the error that the output has no reader any more, else err.
func quiet(err error) error {
	if errors.Is(err, errClosed) || errors.Is(err, sys.EPIPE) {
		return nil
	}
	return err
}

// look draws the display if there is reason to.
func (w *watching) look() error {
	if unread(os.Stdout) {
		return errClosed
	}
	now, start := w.call.Later().Now, w.cpu()
	seen, err := w.sight()
	if err != nil {
		return err
	}
	if !w.due(seen, now) {
		return w.screen.tick(w.call, now)
	}
	w.drawn.Reset()
	if err := w.shows.show(cmdline.Cleaned(w.drawn), now); err != nil && !errors.Is(err, cmdline.ErrReported) {
		return err
	}
	if err := w.write(now); err != nil {
		return err
	}
	w.was, w.at, w.cost = seen, now, w.cpu()-start
	return nil
}

// due reports whether to draw: something has changed or shown times run, and the last
// drawing was long enough ago for its cost.
func (w *watching) due(seen sight, now time.Time) bool {
	ago := now.Sub(w.at)
	switch {
	case w.at.IsZero(), ago < 0: // or the clock was set
		return true
	case ago < share*w.cost:
		return false
	}
	return w.runs || seen != w.was || ago >= atLeast
}

// sight looks at what displays are made from. With nothing committed since, it
// costs next to nothing.
func (w *watching) sight() (sight, error) {
	var now sight
	err := w.spool.View(func(v *spool.View) error { now.seq = v.Seq(); return nil })
	if err != nil {
		return now, err
	}
	if w.screen != nil {
		now.width, now.height = w.screen.size()
	}
	now.report = changed(filepath.Join(w.spool.Dir(), "cycle.json"))
	files, err := filepath.Glob(filepath.Join(w.spool.Dir(), "slots.d", "*.ads"))
	for _, name := range files {
		now.byHand += name + changed(name).Format(time.RFC3339Nano)
	}
	return now, err
}

// changed returns when a file was changed, zero for one that is not there.
func changed(name string) time.Time {
	info, err := os.Stat(name)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// write puts the drawing on the screen, or appends it to the output.
func (w *watching) write(now time.Time) error {
	if w.screen != nil {
		return w.screen.draw(w.call, w.drawn.Bytes(), now)
	}
	if _, err := fmt.Fprintf(w.call.Stdout, "%s %s\n", strings.Repeat("-", 20), queue.Clock(now)); err != nil {
		return err
	}
	if _, err := cmdline.Raw(w.call.Stdout).Write(w.drawn.Bytes()); err != nil {
		return err
	}
	return w.call.Flush()
}

// pause waits so long, or until the window has another size. It returns false when the
// context has ended or standard output is closed.
func pause(ctx context.Context, d time.Duration, sized <-chan os.Signal, closed <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-sized:
		return true
	case <-closed:
		return false
	case <-ctx.Done():
		return false
	}
}

// processorTime returns the processor time that the process has used.
func processorTime() time.Duration {
	var u sys.Rusage
	if err := sys.Getrusage(sys.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// keys reads single keys from the terminal that is standard input. Meanwhile the terminal
// neither waits for the end of a line nor shows the keys; ^C and ^Z keep their meaning.
type keys struct {
	fd  int
	was *sys.Termios // the terminal as it was found
}

// keysOf returns the keys of the terminal that standard input is, and nil if standard input is no terminal.
func keysOf(c *cmdline.Call) *keys {
	f, ok := c.Stdin.(*os.File)
	if !ok {
		return nil
	}
	was, err := sys.IoctlGetTermios(int(f.Fd()), sys.TCGETS)
	if err != nil {
		return nil
	}
	return &keys{int(f.Fd()), was}
}

// endingKey says which key ends -watch.
const endingKey = ", q ends it"

// before reads the keys of -watch that runs in serve: q interrupts it.
func before(c *cmdline.Call) (func() (door.Answer, error), error) {
	k := keysOf(c)
	if !c.Has("watch") || !c.Terminal() || k == nil {
		return nil, nil
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, sys.SIGINT, sys.SIGTERM, sys.SIGHUP, sys.SIGQUIT)
	ended := make(chan struct{})
	// What hands signals on to serve may not listen yet: so it is sent one until all has ended.
	const again = 100 * time.Millisecond
	interrupt := sync.OnceFunc(func() {
		for {
			select {
			case <-ended:
				return
			default:
			}
			sys.Kill(sys.Getpid(), sys.SIGINT)
			select {
			case <-ended:
			case <-time.After(again):
			}
		}
	})
	go func() {
		for {
			select {
			case s := <-signals:
				if s == sys.SIGHUP || s == sys.SIGQUIT {
					go interrupt()
				} else {
					time.AfterFunc(again, interrupt)
				}
			case <-ended:
				return
			}
		}
	}()
	end := k.listen(interrupt)
	c.AtEnd(func() {
		close(ended)
		end()
		signal.Stop(signals)
	})
	return nil, nil
}

// listen calls quit once q is typed. The returned function restores the terminal's state. ^Z
// restores it too, until the process goes on in the foreground.
func (k *keys) listen(quit func()) (end func()) {
	k.enter()
	jobControl := make(chan os.Signal, 1)
	signal.Notify(jobControl, sys.SIGTSTP, sys.SIGCONT)
	go func() {
		for s := range jobControl {
			if s == sys.SIGTSTP {
				k.leave()
				sys.Kill(sys.Getpid(), sys.SIGSTOP)
			}
			k.enter()
		}
	}()
	go func() {
		if k.typed() {
			quit()
		}
	}()
	return func() {
		signal.Stop(jobControl)
		k.leave()
	}
}

// foreground reports whether the process may use the terminal: in the background that would
// stop it.
func (k *keys) foreground() bool {
	group, err := sys.IoctlGetInt(k.fd, sys.TIOCGPGRP)
	return err == nil && group == sys.Getpgrp()
}

func (k *keys) enter() {
	mode := *k.was
	mode.Lflag &^= sys.ICANON | sys.ECHO
	mode.Cc[sys.VMIN], mode.Cc[sys.VTIME] = 1, 0
	k.set(&mode)
}

func (k *keys) leave() { k.set(k.was) }

// set changes the terminal. Where that fails, -watch goes on without keys.
func (k *keys) set(mode *sys.Termios) {
	if k.foreground() {
		sys.IoctlSetTermios(k.fd, sys.TCSETS, mode)
	}
}

// typed waits until q is typed. It returns false when nothing will be any more.
func (k *keys) typed() bool {
	const backgroundWait = 500 // milliseconds
	for {
		fds := []sys.PollFd{{Fd: int32(k.fd), Events: sys.POLLIN}}
		n, err := sys.Poll(fds, -1)
		switch {
		case errors.Is(err, sys.EINTR), n == 0:
			continue
		case err != nil || fds[0].Revents&sys.POLLIN == 0:
			return false
		case !k.foreground(): // the keys are for another process
			sys.Poll(nil, backgroundWait)
			continue
		}
		var key [1]byte
		if n, err := sys.Read(k.fd, key[:]); err != nil && !errors.Is(err, sys.EINTR) || n == 0 {
			return false
		}
		if key[0] == 'q' || key[0] == 'Q' {
			return true
		}
	}
}

// Control sequences of terminals.
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
func screenOf(c *cmdline.Call, every time.Duration) *screen {
	if !c.Terminal() {
		return nil
	}
	return &screen{size: c.Screen, head: fmt.Sprintf("every %vs", every.Seconds())}
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
	return fit(s.head+"  "+queue.Clock(now), width)
}

func (s *screen) write(c *cmdline.Call, b []byte) error {
	if _, err := cmdline.Raw(c.Stdout).Write(b); err != nil {
		return err
	}
	return c.Flush()
}

// fit cuts a line to the width, and removes characters that steer the terminal.
func fit(line string, width int) string {
	line = clean.Line(strings.ReplaceAll(line, "\t", " "))
	if len(line) <= width || utf8.RuneCountInString(line)*2 <= width {
		return line
	}
	line, _ = table.Cut(line, width)
	return line
}

// unread reports whether a file is a pipe without a reader.
func unread(f *os.File) bool {
	fds := []sys.PollFd{{Fd: int32(f.Fd())}}
	n, err := sys.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&(sys.POLLERR|sys.POLLNVAL) != 0
}

// closing returns a channel that is closed when a file is a pipe without a reader.
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
