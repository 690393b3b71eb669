package chart

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"fairspool/lib/history"
)

func screen(t *testing.T, c Chart, s Screen) string {
	t.Helper()
	var b bytes.Buffer
	if err := c.Terminal(&b, s); err != nil {
		t.Fatalf("Terminal = %v", err)
	}
	return b.String()
}

func TestTerminal(t *testing.T) {
	up := history.Series{Name: "alice@x"}
	for i, in := range []float64{0, 0, 10, 10, 20} {
		up.Points = append(up.Points, history.Point{Time: noon.Add(time.Duration(i) * time.Hour), Effective: float64(1 + i), InUse: in})
	}
	flat := history.Series{Name: "bob@x"}
	for _, p := range up.Points {
		flat.Points = append(flat.Points, history.Point{Time: p.Time, Effective: 5})
	}
	const want = `the pool
    effective priority, lower is better
 5 +oooooooooooooooooooooooooooo*o*o*o*o
   |            ****************
 2 +   *********
 1 +***
    slots in use
20 +                            ********
   |
10 +          ******************
 0 +*o*o*o*o*ooooooooooooooooooooooooooo
   ++-----------------+----------------+
  12:00             14:00
 14 Nov
* alice@x  o bob@x
`
	got := screen(t, Chart{"the pool", []history.Series{up, flat}, time.UTC}, Screen{Width: 40, Height: 10})
	if got != want {
		t.Errorf("Terminal =\n%s\nwant\n%s", got, want)
	}
}

// TestTerminalFits holds the plot to the screen, whatever its size.
func TestTerminalFits(t *testing.T) {
	c := Chart{strings.Repeat("a long title ", 40), everybody(100), time.UTC}
	for _, s := range []Screen{{80, 24, false}, {132, 50, false}, {40, 24, false}} {
		rows := strings.Split(strings.TrimSuffix(screen(t, c, s), "\n"), "\n")
		if len(rows) >= s.Height {
			t.Errorf("Terminal(%v): %d rows", s, len(rows))
		}
		for _, r := range rows {
			if utf8.RuneCountInString(r) > s.Width {
				t.Errorf("Terminal(%v): %d characters in %q", s, utf8.RuneCountInString(r), r)
			}
		}
	}
	for _, s := range []Screen{{0, 0, false}, {-5, 1 << 40, true}, {1 << 40, 3, true}} {
		if got := screen(t, c, s); len(got) > 1<<16 {
			t.Errorf("Terminal(%v): %d bytes", s, len(got))
		}
	}
}

func TestTerminalColours(t *testing.T) {
	c := Chart{"", everybody(7), time.UTC}
	if got := screen(t, c, Screen{80, 24, false}); strings.Contains(got, "\x1b") || !strings.Contains(got, "and 1 more with less usage\n") {
		t.Errorf("Terminal without colours =\n%q", got)
	}
	if got := screen(t, c, Screen{80, 24, true}); !strings.Contains(got, "\x1b[34m*\x1b[0m user06@example.org") {
		t.Errorf("Terminal with colours =\n%q", got)
	}
}
