package jobpolicy

import (
	"fmt"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// periodic are the expressions that are looked at now and then.
var periodic = []string{"PeriodicHold", "PeriodicRelease", "PeriodicRemove", "PeriodicVacate"}

// Never tells whether Periodic gives nothing but Stay for the ad, whatever the
// time and the job's state.
func Never(ad *classad.Ad) bool {
	for _, name := range periodic {
		if e, ok := ad.Lookup(name); ok {
			v, constant := e.Constant()
			if yes, isBool := v.Bool(); !constant || isBool && yes {
				return false
			}
		}
	}
	return true
}

// Periodic returns what the job's periodic expressions want done with it in its
// state.
func Periodic(c *classad.Context, ad *classad.Ad) Verdict {
	n, _ := ad.EvalInt(c, pool.AttrJobStatus)
	status := pool.Status(n)
	for _, x := range []struct {
		name   string
		action Action
		when   bool
	}{
		{"PeriodicHold", Hold, status == pool.Idle || status == pool.Running},
		{"PeriodicVacate", Vacate, status == pool.Running},
		{"PeriodicRelease", Release, status == pool.Held},
		{"PeriodicRemove", Remove, status == pool.Idle || status == pool.Running || status == pool.Held},
	} {
		if yes, ok := ad.EvalBool(c, x.name); x.when && ok && yes {
			return verdict(x.action, ad, x.name)
		}
	}
	return Verdict{}
}

func verdict(a Action, ad *classad.Ad, name string) Verdict {
	text := ""
	if e, ok := ad.Lookup(name); ok {
		text = e.String()
	}
	v := Verdict{Action: a, Reason: fmt.Sprintf("The job attribute %s expression '%s' evaluated to TRUE", name, text)}
	if a == Hold {
		v.Code = ByPolicy
	}
	return v
}
