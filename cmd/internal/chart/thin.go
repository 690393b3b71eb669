package chart

import (
	"slices"

	"gonum.org/v1/plot/plotter"
)

// slices of time that a line is cut into which has more than twice as many
// points.
const slicesOfTime = 240

// course is how one quantity of a series went, over time in Unix seconds.
type course struct {
	plotter.XYs
	// low and high are the extremes since the point before, at each of the
	// XYs; none where the points are the series' own.
	low, high []float64
}

// thin returns the course of a quantity. A line of many points would be a
// carpet that hides those beneath it, so all points in the same slice of the
// time shown become one at the last's time: their mean, each counting for as
// long as it is since the point before.
func thin(l line, q quantity, s span) course {
	all := make(plotter.XYs, 0, len(l.points))
	for _, p := range l.points {
		if y, ok := q.of(p); ok {
			all = append(all, plotter.XY{X: seconds(p.Time), Y: y})
		}
	}
	if len(all) <= 2*slicesOfTime {
		return course{XYs: all}
	}
	slot := func(i int) int { return min(int((all[i].X-s.from)/(s.to-s.from)*slicesOfTime), slicesOfTime-1) }
	var c course
	for from := 0; from < len(all); {
		end := from + 1
		for end < len(all) && slot(end) == slot(from) {
			end++
		}
		c.add(all, from, end)
		from = end
	}
	return c
}

// add adds the point that stands for all[from:end].
func (c *course) add(all plotter.XYs, from, end int) {
	low, high, sum, time := all[from].Y, all[from].Y, 0.0, 0.0
	for i := from; i < end; i++ {
		low, high = min(low, all[i].Y), max(high, all[i].Y)
		if i > 0 {
			since := max(all[i].X-all[i-1].X, 0)
			sum, time = sum+all[i].Y*since, time+since
		}
	}
	mean := all[end-1].Y
	if time > 0 {
		// Rounding shall not take it out of the band.
		mean = max(low, min(high, sum/time))
	}
	c.XYs = append(c.XYs, plotter.XY{X: all[end-1].X, Y: mean})
	c.low, c.high = append(c.low, low), append(c.high, high)
}

// band returns the outline of what lies between the extremes, none for points
// that are the series' own.
func (c course) band() plotter.XYs {
	if len(c.low) == 0 {
		return nil
	}
	outline := make(plotter.XYs, 0, 2*len(c.low))
	for i := range c.low {
		outline = append(outline, plotter.XY{X: c.XYs[i].X, Y: c.low[i]})
	}
	back := len(outline)
	for i := range c.high {
		outline = append(outline, plotter.XY{X: c.XYs[i].X, Y: c.high[i]})
	}
	slices.Reverse(outline[back:])
	return outline
}
