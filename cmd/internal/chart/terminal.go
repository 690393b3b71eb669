package chart

import (
	"fmt"
	"io"
	"math"
	"sort"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
	"gonum.org/v1/plot/plotter"
)

// Screen is the space for a chart of characters.
type Screen struct {
	Width, Height int  // in characters
	Colours       bool // lines may be coloured, by ANSI escape sequences
}

const (
	// symbols are what lines are made of, one for each of them, by rank.
	symbols = "*o+x#@"
	// narrow, wide, low and high bound the chart, whatever the screen's size.
	narrow, wide = 40, 200
	low, high    = 4, 16
)

// Terminal writes priority and slots in use as lines of characters, all ASCII except
// names. It returns ErrNothing, and has written nothing, if there is no point to draw.
func (c Chart) Terminal(w io.Writer, s Screen) error {
	lines, rest := pick(c.Series, len(symbols))
	if len(lines) == 0 {
		return ErrNothing
	}
	s.Width = max(narrow, min(s.Width, wide))
	names := s.names(lines)
	if rest.lines > 0 {
		names = append(names, rest.String())
	}
	covered := together(lines)
	// Besides the graphs there are the title, one above each, the time axis in
	// three rows, the names and the shell's prompt.
	rows := max(low, min((s.Height-7-len(names))/2, high))
	graphs := []*graph{newGraph(priority(), lines, covered.shown(), rows), newGraph(inUse(), lines, covered.shown(), rows)}
	margin := max(graphs[0].margin(), graphs[1].margin())

	var b strings.Builder
	fmt.Fprintln(&b, text.Snip(printable(c.Title), s.Width, "~"))
	for _, g := range graphs {
		fmt.Fprintln(&b, strings.Repeat(" ", margin+2)+g.label)
		g.fill(s.Width - margin - 2)
		g.write(&b, margin, s)
	}
	writeTimes(&b, margin, s.Width-margin-2, timeTicks(covered.shown(), max((s.Width-margin)/12, 2), c.Zone), covered.shown())
	fmt.Fprintln(&b, strings.Join(names, "\n"))
	_, err := io.WriteString(w, b.String())
	return err
}

// graph is one quantity as a grid of characters.
type graph struct {
	quantity
	scale
	courses []course
	shown   span
	// cells has, by row from the top and column, the lines that go there.
	cells [][][]int
}

func newGraph(q quantity, lines []line, shown span, rows int) *graph {
	g := &graph{quantity: q, shown: shown, courses: make([]course, len(lines)), cells: make([][][]int, rows)}
	for i, l := range lines {
		g.courses[i] = thin(l, q, shown)
		g.courses[i].low, g.courses[i].high = nil, nil
	}
	lo, hi := extent(g.courses)
	g.scale = q.scale(lo, hi, rows/2)
	return g
}

// margin returns how long the longest label is.
func (g *graph) margin() int {
	widest := 0
	for _, t := range g.ticks {
		widest = max(widest, len(t.label))
	}
	return widest
}

// fill puts the lines into cells.
func (g *graph) fill(columns int) {
	for r := range g.cells {
		g.cells[r] = make([][]int, columns)
	}
	each := (g.shown.to - g.shown.from) / float64(columns)
	for i, c := range g.courses {
		for col := range columns {
			from := g.shown.from + each*float64(col)
			if y, ok := c.value(from, from+each, g.steps == plotter.PreStep); ok {
				r := g.row(y)
				g.cells[r][col] = append(g.cells[r][col], i)
			}
		}
	}
}

func (g *graph) row(y float64) int {
	last := len(g.cells) - 1
	return max(0, min(int(math.Round((g.hi-y)/(g.hi-g.lo)*float64(last))), last))
}

// value returns a course's value in a span of time: its last point's there, or an
// interpolation of the points on both sides.
func (c course) value(from, to float64, mean bool) (float64, bool) {
	next := sort.Search(len(c.XYs), func(i int) bool { return c.XYs[i].X > to })
	switch {
	case next > 0 && c.XYs[next-1].X >= from:
		return c.XYs[next-1].Y, true
	case next == 0 || next == len(c.XYs):
		return 0, false
	case mean:
		return c.XYs[next].Y, true
	}
	a, b := c.XYs[next-1], c.XYs[next]
	return a.Y + (b.Y-a.Y)*(from-a.X)/(b.X-a.X), true
}

// write writes the cells behind the labels. Where lines meet, they take turns.
func (g *graph) write(b *strings.Builder, margin int, s Screen) {
	labels := make([]string, len(g.cells))
	for _, t := range g.ticks {
		labels[g.row(t.at)] = t.label
	}
	for r, cells := range g.cells {
		edge := "|"
		if labels[r] != "" {
			edge = "+"
		}
		row := fmt.Sprintf("%*s %s", margin, labels[r], edge)
		for col, here := range cells {
			if len(here) == 0 {
				row += " "
				continue
			}
			row += s.symbol(here[col%len(here)])
		}
		fmt.Fprintln(b, strings.TrimRight(row, " "))
	}
}

// symbol returns the symbol of the line of this rank, coloured if that may be.
func (s Screen) symbol(rank int) string {
	symbol := symbols[rank : rank+1]
	if !s.Colours {
		return symbol
	}
	// Blue, red, green, magenta, yellow and cyan, in the order of the pictures.
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", []int{34, 31, 32, 35, 33, 36}[rank], symbol)
}

// names returns the legend: as many names in a row as go there.
func (s Screen) names(lines []line) []string {
	widest := 0
	for i := range lines {
		lines[i].name = text.Snip(lines[i].name, s.Width-2, "~")
		widest = max(widest, text.StringWidthWithoutEscSequences(lines[i].name))
	}
	across := max(1, (s.Width+2)/(widest+4))
	var rows []string
	for i, l := range lines {
		entry := s.symbol(i) + " " + l.name
		if i%across == 0 {
			rows = append(rows, entry)
			continue
		}
		before := lines[i-1].name
		rows[len(rows)-1] += strings.Repeat(" ", widest-text.StringWidthWithoutEscSequences(before)+2) + entry
	}
	return rows
}

// writeTimes writes the time axis, and below it the labels that there is room
// for.
func writeTimes(b *strings.Builder, margin, columns int, ticks []tick, shown span) {
	axis := []byte(strings.Repeat("-", columns))
	var labels [2][]byte
	for i := range labels {
		labels[i] = []byte(strings.Repeat(" ", margin+2+columns))
	}
	for _, t := range ticks {
		at := min(int((t.at-shown.from)/(shown.to-shown.from)*float64(columns)), columns-1)
		axis[at] = '+'
		for i, label := range strings.Split(t.label, "\n") {
			begin := max(margin+2+at-len(label)/2, 1)
			if begin+len(label) <= len(labels[i]) && strings.TrimSpace(string(labels[i][begin-1:begin+len(label)])) == "" {
				copy(labels[i][begin:], label)
			}
		}
	}
	fmt.Fprintf(b, "%*s +%s\n", margin, "", axis)
	for _, l := range labels {
		if row := strings.TrimRight(string(l), " "); row != "" {
			fmt.Fprintln(b, row)
		}
	}
}
