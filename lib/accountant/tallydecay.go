package accountant

import (
	"math"
	"time"
)

// DecayParams are the parameters of Grid Engine's decayed usage. With the zero
// value nothing decays, and nothing counts.
type DecayParams struct {
	HalfTime time.Duration // halftime; 0: nothing decays
	// CPU, Memory and IO are what usage_weight_list and halflife_decay_list say
	// of each.
	CPU, Memory, IO UsageParams
}

// UsageParams are the parameters of one kind of usage.
type UsageParams struct {
	Weight float64 // of it in the combined usage, 0 and more
	// Own is whether HalfLife counts and not HalfTime: 0 does not decay, and
	// below zero all is gone at once.
	Own      bool
	HalfLife time.Duration
}

// Recent is usage as Grid Engine reckons it.
type Recent struct {
	CPU    float64 // seconds
	Memory float64 // GB seconds
	IO     float64 // GB
}

// Combined returns the usage as one number: each kind times its weight, the
// weights divided by their sum. Without weights it is 0.
func (r Recent) Combined(p DecayParams) float64 {
	sum := p.CPU.Weight + p.Memory.Weight + p.IO.Weight
	if sum <= 0 {
		return 0
	}
	return r.CPU*(p.CPU.Weight/sum) + r.Memory*(p.Memory.Weight/sum) + r.IO*(p.IO.Weight/sum)
}

// perMinute returns what is left of usage after a minute. It is Grid Engine's
// linear form of halving: after a half-life of one hour 0.49799 is left.
func (p DecayParams) perMinute(of UsageParams) float64 {
	halfLife := p.HalfTime
	if of.Own {
		halfLife = of.HalfLife
	}
	switch {
	case halfLife == 0:
		return 1
	case halfLife < 0:
		return 0
	}
	return max(1-math.Ln2/halfLife.Minutes(), 0)
}

// after returns what is left of the usage when d has passed.
func (r Recent) after(d time.Duration, p DecayParams) Recent {
	if d <= 0 || r == (Recent{}) {
		return r
	}
	left := func(of UsageParams) float64 { return math.Pow(p.perMinute(of), d.Minutes()) }
	return Recent{r.CPU * left(p.CPU), r.Memory * left(p.Memory), r.IO * left(p.IO)}
}

func (r Recent) plus(x Recent) Recent {
	return Recent{r.CPU + x.CPU, r.Memory + x.Memory, r.IO + x.IO}
}

// recentOf returns what was measured, less what is not a number from 0 up.
func recentOf(u Used) Recent {
	measured := func(x float64) float64 {
		if !(x > 0) || math.IsInf(x, 0) {
			return 0
		}
		return x
	}
	return Recent{measured(u.CPU.Seconds()), measured(u.Memory), measured(u.IO)}
}
