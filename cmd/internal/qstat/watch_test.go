package qstat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/cmdtest"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// counted is a display that says how often it was drawn.
type counted struct {
	n    int
	fail error
}

func (s *counted) show(w io.Writer, _ time.Time) error {
	s.n++
	fmt.Fprintf(w, "display %d\n", s.n)
	return s.fail
}

// clockwork is a watch of a spool whose time passes by the test's steps.
func clockwork(t *testing.T, c *cmdline.Call, d shows, steps []func(*watching)) (*watching, *[]int) {
	t.Helper()
	s, err := c.Spool()
	if err != nil {
		t.Fatal(err)
	}
	drawn := []int{}
	w := &watching{call: c, spool: s, shows: d, drawn: new(bytes.Buffer), every: time.Second}
	spent := time.Duration(0)
	w.cpu = func() time.Duration { spent += time.Millisecond; return spent }
	w.pause = func(context.Context, time.Duration) bool {
		if x, ok := d.(*counted); ok {
			drawn = append(drawn, x.n)
		}
		if len(steps) == 0 {
			return false
		}
		steps[0](w)
		steps = steps[1:]
		return true
	}
	return w, &drawn
}

// called runs a function with a call of qstat on the test's spool.
func called(t *testing.T, do func(*cmdline.Call)) (out string) {
	t.Helper()
	c := Command()
	c.Run = func(call *cmdline.Call) error { do(call); return nil }
	_, out, bad := cmdtest.Run(c)
	if bad != "" {
		t.Errorf("standard error has %q", bad)
	}
	return out
}

// TestWatchDraws holds when a display is drawn: at once, when something has been
// committed, reported or written by hand, and not when nothing has.
func TestWatchDraws(t *testing.T) {
	fill(t)
	quiet := func(*watching) {}
	steps := []func(*watching){
		quiet,
		func(*watching) {
			cmdtest.Update(t, func(tx *spool.Tx) {
				tx.Set(pool.JobID{Cluster: 5}, pool.AttrJobPrio, classad.Literal(classad.Int(3)))
			})
		},
		quiet,
		func(*watching) { reported(t, `{"Cycle":1}`) },
		quiet,
		func(*watching) {
			if err := os.WriteFile(os.Getenv("FAIRSPOOL_DIR")+"/slots.d/x.ads", []byte("Name = \"x\"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		},
		func(w *watching) { w.at = w.at.Add(-atLeast) },
		func(w *watching) { w.runs = true },
		quiet,
	}
	var got *[]int
	out := called(t, func(c *cmdline.Call) {
		w, drawn := clockwork(t, c, &counted{}, steps)
		got = drawn
		w.at = time.Time{}
		inner := w.cpu
		w.cpu = func() time.Duration { w.cost = 0; return inner() } // drawing costs nothing
		if err := w.loop(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if want := "[1 1 2 2 3 3 4 5 6 7]"; fmt.Sprint(*got) != want {
		t.Errorf("drawn so often after each step: %v, want %s", *got, want)
	}
	if want := "-------------------- 11/20/2026 23:34:06\ndisplay 1\n"; !strings.HasPrefix(out, want) {
		t.Errorf("output begins %.80q, want %q", out, want)
	}
}

// TestWatchWaits holds that what costs much to draw is drawn less often.
func TestWatchWaits(t *testing.T) {
	now := time.Unix(now, 0)
	w := watching{at: now, cost: 2 * time.Second, runs: true}
	for _, c := range []struct {
		later time.Duration
		want  bool
	}{{-time.Second, true}, {0, false}, {59 * time.Second, false}, {60 * time.Second, true}} {
		if got := w.due(sight{}, now.Add(c.later)); got != c.want {
			t.Errorf("due %v after drawing for 2 s = %v, want %v", c.later, got, c.want)
		}
	}
}

func TestWatchEnds(t *testing.T) {
	fill(t)
	called(t, func(c *cmdline.Call) {
		ended, stop := context.WithCancel(t.Context())
		w, drawn := clockwork(t, c, &counted{}, []func(*watching){func(*watching) { stop() }})
		if err := w.loop(ended); err != nil || len(*drawn) != 1 {
			t.Errorf("a signal ends the loop with %v after %d looks, want nil after 1", err, len(*drawn))
		}
		w, _ = clockwork(t, c, &counted{fail: errors.New("broken")}, nil)
		if err := w.loop(t.Context()); err == nil || err.Error() != "broken" {
			t.Errorf("a display that fails ends the loop with %v, want its error", err)
		}
		w, drawn = clockwork(t, c, &counted{fail: cmdline.ErrReported}, []func(*watching){func(*watching) {}})
		if err := w.loop(t.Context()); err != nil || len(*drawn) != 2 {
			t.Errorf("a job that is not there ends the loop with %v after %d looks, want nil after 2", err, len(*drawn))
		}
	})
}

func TestUnread(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if unread(w) {
		t.Errorf("a pipe with a reader is unread, want it read")
	}
	r.Close()
	if !unread(w) {
		t.Errorf("a pipe without a reader is read, want it unread")
	}
}

// A pause ends early when the window gets another size, and when nobody reads any more.
func TestPause(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	sized, closed := make(chan os.Signal, 1), closing(w)
	if !pause(t.Context(), time.Millisecond, sized, closed) {
		t.Errorf("pause of a display that is read = false, want true")
	}
	sized <- os.Interrupt
	if !pause(t.Context(), time.Hour, sized, closed) {
		t.Errorf("pause when the window changes = false, want true")
	}
	r.Close()
	if pause(t.Context(), time.Hour, sized, closed) {
		t.Errorf("pause when nobody reads any more = true, want false")
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	if pause(ended, time.Hour, sized, make(chan struct{})) {
		t.Errorf("pause after a signal = true, want false")
	}
}

// TestScreen holds what a terminal gets: each line cut to its width and cleared, no
// more of them than there are, and nothing of the display that steers.
func TestScreen(t *testing.T) {
	at := time.Unix(now, 0).UTC()
	for _, c := range []struct {
		width, height int
		display, want string
	}{
		{40, 6, "one\ntwo\n", "1s  11/20/2026 23:34:06\n<K>one\n<K>two\n<J>"},
		{4, 6, "abcdef\n\x1b[2J\n世界人\n", "1s  \n<K>abcd\n<K>?[2J\n<K>世界\n<J>"},
		{40, 4, "1\n2\n3\n4\n", "1s  11/20/2026 23:34:06\n<K>1\n<K>... 3 more\n<J>"},
		{40, 4, "1\n2\n", "1s  11/20/2026 23:34:06\n<K>1\n<K>2\n<J>"},
		{40, 1, "1\n2\n", "1s  11/20/2026 23:34:06\n<K>... 2 more\n<J>"},
		{40, 4, "", "1s  11/20/2026 23:34:06\n<K>\n<J>"},
	} {
		s := screen{head: "1s", size: func() (int, int) { return c.width, c.height }}
		zone := time.Local
		time.Local = time.UTC
		var out bytes.Buffer
		err := s.draw(&cmdline.Call{Stdout: &out}, []byte(c.display), at)
		time.Local = zone
		got := strings.NewReplacer(home+restOfLine, "", restOfLine, "<K>", restOfAll, "<J>").Replace(out.String())
		if err != nil || got != c.want {
			t.Errorf("draw of %q on %d by %d = %q, %v, want %q", c.display, c.width, c.height, got, err, c.want)
		}
	}
}

func TestWatchRefuses(t *testing.T) {
	fill(t)
	for _, args := range []string{"-watch 0", "-watch soon", "-watch NaN", "-watch 1 -limit 3"} {
		cmdtest.Refuses(t, Command(), 2, strings.Fields(args)...)
	}
}
