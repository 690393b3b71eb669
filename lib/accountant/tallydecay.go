package accountant

import (
	"math"
	"time"
)

// DecayParams are the parameters of Grid Engine's decayed usage. With the zero
// value nothing decays, and nothing counts.
type DecayParams struct {
	HalfTime time.Duration // halftime; 0: nothing decays
	// Linear is whether what is left of a minute is reckoned as Grid Engine 8.1.9 does it, by
	// a straight line, and not by halving.
	Linear bool
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

// left returns which part of a kind of usage is left when d has passed, 0 to 1. After a
// half-life of one hour that is 0.5, and 0.49799 in Grid Engine's linear form, which takes
// ln 2 of a half-life off for every minute.
func (p DecayParams) left(of UsageParams, d time.Duration) float64 {
	halfLife := p.HalfTime
	if of.Own {
		halfLife = of.HalfLife
	}
	switch {
	case halfLife == 0:
		return 1
	case halfLife < 0:
		return 0
	case p.Linear:
		return math.Pow(max(1-math.Ln2/halfLife.Minutes(), 0), d.Minutes())
	}
	return math.Exp2(-d.Minutes() / halfLife.Minutes())
}

// after returns what is left of the usage when d has passed.
func (r Recent) after(d time.Duration, p DecayParams) Recent {
	if d <= 0 || r == (Recent{}) {
		return r
	}
	return Recent{r.CPU * p.left(p.CPU, d), r.Memory * p.left(p.Memory, d), r.IO * p.left(p.IO, d)}
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
