package qstat

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	sys "golang.org/x/sys/unix"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/operation"
	"fairspool/spool"
)

// watchFlags are those of -watch.
var watchFlags = []cmdline.Flag{{Name: "watch", Args: []string{"[SECONDS]"},
	Help: "show it again and again, every 2 seconds or as often as that at most, until q or ^C: whenever something has changed, and where times are shown that run. On a terminal it is drawn anew, elsewhere one follows the other behind a line with the time. Drawing a long queue takes less than a twentieth of one processor's time: then it is drawn less often"}}

// shows is what can be drawn again and again on the same opened spool.
type shows interface {
	show(w io.Writer, now time.Time) error
}

const (
	usualWatch            = "2"
	leastWatch, mostWatch = 0.1, 86400 // seconds
	// share is how much of the time may be spent on drawing: one of so many parts.
	share = 30
	// atLeast is how often something is drawn that has not changed, for what depends
	// on the time without showing it, such as the order of submitters.
	atLeast = time.Minute
)

// watch draws what the command line asks for until standard output is closed or a
// signal comes.
func watch(c *cmdline.Call) error {
	if err := only(c, "-watch", "wait"); err != nil {
		return err
	}
	every, err := strconv.ParseFloat(cmp.Or(c.Value("watch"), usualWatch), 64)
	if err != nil || !(every >= leastWatch && every <= mostWatch) {
		return cmdline.Usagef("-watch: %q: want a number of seconds from %v to %v", c.Value("watch"), leastWatch, mostWatch)
	}
	s, err := c.Spool()
	if err != nil {
		return err
	}
	var drawn bytes.Buffer
	d, err := shownBy(c)
	if err != nil {
		return err
	}
	c.Stderr = cmdline.Cleaned(&drawn) // what it complains of belongs to the display
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, sys.SIGTERM, sys.SIGHUP, sys.SIGQUIT)
	defer stop()
	sized := make(chan os.Signal, 1)
	signal.Notify(sized, sys.SIGWINCH)
	defer signal.Stop(sized)
	closed := closing(os.Stdout)
	screen := screenOf(c)
	switch k := keysOf(c); {
	case screen == nil:
	case k != nil:
		screen.head += endingKey
		defer k.listen(stop)()
	case c.KeysRead():
		screen.head += endingKey
	}
	w := watching{
		call: c, spool: s, shows: d, drawn: &drawn, every: time.Duration(every * float64(time.Second)),
		runs: runs(c, d), screen: screen, cpu: processorTime,
		pause: func(ctx context.Context, d time.Duration) bool { return pause(ctx, d, sized, closed) },
	}
	return w.loop(ctx)
}

// runs tells whether the display shows times that run, or priorities that grow with them.
func runs(c *cmdline.Call, d shows) bool {
	if list, ok := d.(display); ok && list.brief || operation.OneQueue(c.Config) {
		return true
	}
	for _, flag := range [...]string{"w", "urg", "ext", "af", "constraint", "s", "f"} {
		if c.Has(flag) {
			return true
		}
	}
	return false
}

// shownBy reads what the command line asks to be shown. Errors are about its usage.
func shownBy(c *cmdline.Call) (shows, error) {
	if c.Has("history") {
		return pastOf(c)
	}
	for _, flag := range [...]string{"limit", "since"} {
		if c.Has(flag) {
			return nil, cmdline.Usagef("-%s: has a meaning with -history only", flag)
		}
	}
	return displayOf(c)
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

	was  sight         // what was there when it was drawn last
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

// errClosed says that nobody reads what is written any more.
var errClosed = errors.New("closed")

// quiet leaves out that nobody reads any more.
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

// due tells whether to draw: something has changed, or times run, and the last time
// was long enough ago for what it cost.
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

// write brings what was drawn to the screen, or behind what stands there.
func (w *watching) write(now time.Time) error {
	if w.screen != nil {
		return w.screen.draw(w.call, w.drawn.Bytes(), now)
	}
	if _, err := fmt.Fprintf(w.call.Stdout, "%s %s\n", strings.Repeat("-", 20), clock(now)); err != nil {
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

// processorTime returns what the process has used.
func processorTime() time.Duration {
	var u sys.Rusage
	if err := sys.Getrusage(sys.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
