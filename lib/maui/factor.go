package maui

import (
	"math"
	"time"

	"fairspool/lib/accountant"
)

// factor returns the factor of a subcomponent that differs from job to job, uncapped, within
// bounds; 0 for those that are never reckoned. (Maui's manual, 5.1.2.)
func (r *Reckoner) factor(p *profile, j *Job, sub Sub) float64 {
	return bounded(r.number(p, j, sub))
}

func (r *Reckoner) number(p *profile, j *Job, sub Sub) float64 {
	switch sub {
	case QueueTime:
		return r.waited(j) / 60
	case XFactor:
		return r.xfactor(p, j)
	case SPViolation: // Maui 3.3.1 sets one word of flags and reads another
		if j.SoftViolation && !r.config.Compatible {
			return 1
		}
		return 0
	case Bypass:
		return float64(max(j.Bypassed, 0))
	case TargetQueueTime:
		if p.qtTarget > 0 {
			return nearness(p.qtTarget - r.towardsTarget(j))
		}
		return 0
	case TargetXFactor:
		if p.xfTarget > 0 {
			return nearness(p.xfTarget - r.xfactor(p, j))
		}
		return 0
	case Node, Proc, Mem, Swap, Disk, PS, PE, WallTime:
		return r.resource(p, j, sub)
	}
	return 0
}

// resource returns a job's request, processors or MB, over all its tasks.
func (r *Reckoner) resource(p *profile, j *Job, sub Sub) float64 {
	tasks := float64(max(j.Tasks, 0))
	switch sub {
	case Node:
		return float64(max(j.Nodes, 0))
	case Proc:
		return tasks * procsPerTask(j)
	case Mem:
		return tasks * size(j.MemPerTask)
	case Swap:
		return tasks * size(j.SwapPerTask)
	case Disk:
		return tasks * size(j.DiskPerTask)
	case PS:
		return tasks * procsPerTask(j) * p.limit(j)
	case PE:
		return r.PE(j)
	}
	return p.limit(j) // WallTime
}

// PE returns a job's processor equivalents: how many processors of the pool it takes by
// the resource of which it takes most (Maui's manual, 5.1.2). Resources that it does not
// request, and those that the pool lacks, do not count; without processors it is 0.
func (r *Reckoner) PE(j *Job) float64 {
	all := r.world.Totals
	if !(all.Procs > 0) {
		return 0
	}
	share := max(part(procsPerTask(j), all.Procs), part(size(j.MemPerTask), all.Mem), part(size(j.DiskPerTask), all.Disk), part(size(j.SwapPerTask), all.Swap))
	return bounded(all.Procs * float64(max(j.Tasks, 0)) * share)
}

func part(of, all float64) float64 {
	if of > 0 && all > 0 {
		return bounded(of / all)
	}
	return 0
}

// size is a number of a job that makes sense: 0 or more.
func size(x float64) float64 { return max(bounded(x), 0) }

func procsPerTask(j *Job) float64 { return float64(max(j.ProcsPerTask, 0)) }

// limit returns a job's wall-clock limit in seconds, as Config.WCLimit.
func (p *profile) limit(j *Job) float64 {
	if j.WCLimit > 0 {
		return float64(j.WCLimit)
	}
	return float64(p.wclimit)
}

// since returns the Unix second since when a job's queue time counts. With
// USESYSTEMQUEUETIME off nothing stops its clock.
func (r *Reckoner) since(j *Job) float64 {
	switch {
	case !r.config.UseSystemQueueTime:
		return float64(j.Submitted)
	case j.Stopped:
		return r.now
	}
	return float64(j.Since)
}

// waited returns the seconds that count as queue time, 0 or more.
func (r *Reckoner) waited(j *Job) float64 { return max(r.now-r.since(j), 0) }

// xfactor returns the expansion factor: how many times its limit a job will have taken if
// it starts now and uses the limit up. XFMINWCLIMIT bounds the divisor only (observed).
// Maui 3.3.1 takes queue time for less than none where it begins later than now.
func (r *Reckoner) xfactor(p *profile, j *Job) float64 {
	waited := r.waited(j)
	if r.config.Compatible {
		waited = r.now - r.since(j)
	}
	return (waited + p.limit(j)) / max(r.config.XFMinWCLimit.Seconds(), p.limit(j))
}

// towardsTarget returns the seconds that are compared with QTTARGET: the job's waiting
// time; in Maui 3.3.1, the Unix second since when its queue time counts.
func (r *Reckoner) towardsTarget(j *Job) float64 {
	if r.config.Compatible {
		return r.since(j)
	}
	return r.waited(j)
}

// leastDistance bounds how near a target may be, and so what nearness comes to: 1e8.
const leastDistance = 0.0001

// nearness is how a target counts at a distance from it: the more the nearer, and once it
// is reached, always the same.
func nearness(distance float64) float64 { return inverseSquare(max(distance, leastDistance)) }

// mostFactor bounds every factor both ways. Nothing real comes near it, and no sum of
// weighted factors overflows.
const mostFactor = 1e30

// bounded returns a factor within bounds; NaN counts as 0.
func bounded(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return min(max(x, -mostFactor), mostFactor)
}

// capped returns a number cut to its cap. A cap of 0 or less means none: caps bound from
// above only (observed on Maui 3.3.1).
func capped(x float64, most int64) float64 {
	if most > 0 {
		return min(x, float64(most))
	}
	return x
}

// whole returns a number without its fraction, within the range of int64; 0 for NaN.
func whole(x float64) int64 {
	switch {
	case math.IsNaN(x):
		return 0
	case x >= math.MaxInt64:
		return math.MaxInt64
	case x <= math.MinInt64:
		return math.MinInt64
	}
	return int64(x)
}

// plus returns the sum, at most and at least what an int64 holds.
func plus(a, b int64) int64 {
	switch {
	case b > 0 && a > math.MaxInt64-b:
		return math.MaxInt64
	case b < 0 && a < math.MinInt64-b:
		return math.MinInt64
	}
	return a + b
}

// inverseSquare returns x to the power of -2, rounded once: as pow of the C library has it,
// where that does not miss the nearest number by a hair. Dividing by x*x would miss it for
// one x in four, and on which side of a whole number a priority lies hangs on the last bit.
func inverseSquare(x float64) float64 {
	square := x * x
	if math.IsInf(square, 0) {
		return 0
	}
	r := 1 / square
	wrong := math.FMA(r, square, -1) + float64(r*math.FMA(x, x, -square))
	return r - float64(r*wrong)
}

// FairShareTarget returns the FSTARGET of a credential in percent, and its modifier: its
// own, or else its kind's DEFAULT's; QOS and classes have only their own (observed). 0:
// there is none.
func (c *Config) FairShareTarget(k Kind, name string) (float64, FSMode) {
	entries := c.Credentials[k]
	if !(entries[name].FSTarget > 0) && k != QOS && k != Class {
		name = DefaultName
	}
	if target := entries[name].FSTarget; target > 0 {
		return target, entries[name].FSMode
	}
	return 0, FSTarget
}

// fairShare returns the fair share factor of a credential: target less usage in percent
// points, or with FSPOLICY % the missing part as a fraction of the target. It is 0 without
// a credential, a target or any usage, and for targets that are quotas. (Maui's manual,
// 6.3.)
func (r *Reckoner) fairShare(k Kind, name string) float64 {
	c, total := r.config, r.world.Used.Total
	if c.FSPolicy == NoFairShare || !(total > 0) || name == "" {
		return 0
	}
	target, mode := c.FairShareTarget(k, name)
	if target == 0 {
		return 0
	}
	used := accountant.Percent(r.world.Used.Of[k][name], total)
	delta := target - used
	if c.FSRatio {
		delta = 1 - used/target
	}
	switch mode {
	case FSTarget:
		return bounded(delta)
	case FSFloor:
		return max(bounded(delta), 0)
	case FSCeiling:
		return min(bounded(delta), 0)
	}
	return 0
}

// UsedOf returns what fair share compares by FSPOLICY, from the tallies that have windows,
// as of now; nothing with FSPOLICY NONE.
func UsedOf(tallies []accountant.Tally, c *Config, now time.Time) (u Used) {
	of := c.FSPolicy.usage()
	if of == nil {
		return u
	}
	for _, y := range tallies {
		if !y.Windowed() {
			continue
		}
		used := y.AsOf(now, accountant.Params{Windows: c.Windows}).FairShare(of, c.Windows)
		if y.Kind == accountant.KindTotal {
			u.Total += used
			continue
		}
		k := tallied[y.Kind]
		if u.Of[k] == nil {
			u.Of[k] = map[string]float64{}
		}
		u.Of[k][y.Name] += used
	}
	return u
}

// tallied are the kinds of credentials in the accountant's words.
var tallied = map[string]Kind{
	accountant.KindUser: User, accountant.KindGroup: Group, accountant.KindAccount: Account,
	accountant.KindQOS: QOS, accountant.KindClass: Class,
}

// usage returns the quantity of a window that a policy counts; nil for none.
func (p FSPolicy) usage() func(accountant.Window) accountant.Usage {
	switch p {
	case DedicatedPS:
		return accountant.DedicatedPS
	case DedicatedPES:
		return accountant.DedicatedPES
	case UtilizedPS:
		return accountant.UtilizedPS
	}
	return nil
}
