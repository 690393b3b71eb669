package history

import (
	"math"
	"time"
)

// Thin returns at most n of the points, n at least 5: the first and the last,
// and of each of equal stretches of time between them the last and, if it lies
// outside of what that and the one before show, the one with the RUP that is
// farthest from them. Each point's InUse is the mean since the point before it
// that is left.
func Thin(points []Point, n int) []Point {
	n = max(n, 5)
	if len(points) <= n {
		return points
	}
	first, last := points[0].Time, points[len(points)-1].Time
	stretches := (n - 1) / 2
	length := last.Sub(first)/time.Duration(stretches) + 1
	thin := make([]Point, 1, n)
	thin[0] = points[0]
	for i := 1; i < len(points); {
		number := points[i].Time.Sub(first) / length
		end := i + 1
		for end < len(points) && points[end].Time.Sub(first)/length == number {
			end++
		}
		if e, ok := extreme(thin[len(thin)-1], points[i:end]); ok {
			thin = append(thin, merged(thin[len(thin)-1].Time, points[i:i+e+1]))
			i += e + 1
		}
		thin = append(thin, merged(thin[len(thin)-1].Time, points[i:end]))
		i = end
	}
	return thin
}

// extreme returns the place of the point that is farthest outside of what the
// points before and the last one show, and false if none is.
func extreme(before Point, points []Point) (place int, ok bool) {
	end := points[len(points)-1]
	low, high := math.Min(before.Priority, end.Priority), math.Max(before.Priority, end.Priority)
	farthest := 0.0
	for i, p := range points[:len(points)-1] {
		if out := math.Max(low-p.Priority, p.Priority-high); out > farthest {
			place, farthest = i, out
		}
	}
	return place, farthest > 0
}

// merged returns the last of the points, with the mean of what was in use since
// a time.
func merged(since time.Time, points []Point) Point {
	p := points[len(points)-1]
	total := p.Time.Sub(since).Seconds()
	used := 0.0
	for _, q := range points {
		used += q.InUse * q.Time.Sub(since).Seconds()
		since = q.Time
	}
	if total > 0 {
		p.InUse = used / total
	}
	return p
}
