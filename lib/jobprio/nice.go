package jobprio

import "math"

// Runner is one of the jobs that run on a machine, as its run-time priority sees it.
type Runner struct {
	// Tickets is the job's tickets, all policies together. A fraction does not count, and
	// less than 1, or NaN, counts as 1.
	Tickets float64
	// Usage is the job's recent usage, in seconds of processor time (Forget); less than
	// 1, or NaN, counts as 1.
	Usage float64
	// Procs is how many processors it uses its time on; less than 1 counts as 1.
	Procs int
}

// Bounds of the formula's inputs. Real values do not come near them; they prevent
// overflow, whatever the ads say.
const (
	mostTickets = math.MaxUint32 // as much as Grid Engine's own numbers hold
	mostUsage   = 1e15
)

// The nice values that the system knows. Linux makes 19 of 20.
const (
	leastNice = -20
	mostNice  = 20
)

// NiceValues returns the nice value of each of the jobs that run on a machine, in the
// order of running, by the rule of Grid Engine's execution daemon:
//
//	share = 1000 * tickets / (all tickets) + 1
//	x     = usage * procs / share^2
//	nice  = best + trunc((worst - best) * (x - least x) / greatest x)
//
// So the best-off job has best, and one that is alone, too; one that is entitled to far
// less than another comes near worst. At equal usage a job with more tickets never has a
// larger value than one with fewer.
//
// Best and worst are cut to -20 to 20, which bounds the results; a best that is larger
// than worst counts as worst.
func NiceValues(running []Runner, best, worst int) []int {
	worst = min(max(worst, leastNice), mostNice)
	best = min(max(best, leastNice), worst)
	sum := 0.0
	for _, r := range running {
		sum += r.tickets()
	}
	xs := make([]float64, len(running))
	least, greatest := math.Inf(1), 0.0
	for i, r := range running {
		share := 1000*r.tickets()/sum + 1
		xs[i] = r.usage() * float64(max(r.Procs, 1)) / (share * share)
		least, greatest = min(least, xs[i]), max(greatest, xs[i])
	}
	values := make([]int, len(running))
	for i, x := range xs {
		values[i] = best + int(float64(worst-best)*((x-least)/greatest))
	}
	return values
}

// tickets returns the job's tickets as a whole number, 1 at least.
func (r Runner) tickets() float64 {
	if !(r.Tickets >= 1) { // NaN is not
		return 1
	}
	return math.Trunc(min(r.Tickets, mostTickets))
}

// usage returns the job's usage, 1 at least.
func (r Runner) usage() float64 {
	if !(r.Usage >= 1) {
		return 1
	}
	return min(r.Usage, mostUsage)
}

// Forget returns the rest of a job's recent usage when its tickets are delivered anew: a
// tenth. NaN and negative usage become 0.
func Forget(usage float64) float64 {
	if !(usage > 0) {
		return 0
	}
	return min(usage, mostUsage) / 10
}
