package maui

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

// resource returns what a job asks for, processors and MB in all its tasks.
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
// what it takes most of (Maui's manual, 5.1.2). What it does not ask for, and what the
// pool has none of, does not count; without processors it is 0.
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

// towardsTarget returns the seconds that are compared with QTTARGET: what the job has
// waited; in Maui 3.3.1, the Unix second since when its queue time counts.
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
