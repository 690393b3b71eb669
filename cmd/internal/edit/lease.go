package edit

import (
	"fmt"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/plural"
)

// lease is how one of the settings that may be on time is kept.
type lease struct {
	word  string // "floor"
	flag  string // that ends it
	form  string // how its value is printed
	show  func(Given) any
	in    func(*accountant.Record) *accountant.Lease
	value func(accountant.Record) float64
	set   func(*accountant.Record, float64)
}

var factorLease = lease{"priority-factor", "cancelfactorlease", "%f", asReal,
	func(r *accountant.Record) *accountant.Lease { return &r.FactorLease },
	func(r accountant.Record) float64 { return r.Factor },
	func(r *accountant.Record, x float64) { r.Factor = x },
}

var ceilingLease = lease{"ceiling", "cancelceilinglease", "%d", asWhole,
	func(r *accountant.Record) *accountant.Lease { return &r.CeilingLease },
	func(r accountant.Record) float64 { return float64(r.Ceiling.Int()) },
	func(r *accountant.Record, x float64) { r.Ceiling = accountant.LimitOf(int64(x)) },
}

var floorLease = lease{"floor", "cancelfloorlease", "%d", asWhole,
	func(r *accountant.Record) *accountant.Lease { return &r.FloorLease },
	func(r accountant.Record) float64 { return float64(r.Floor) },
	func(r *accountant.Record, x float64) { r.Floor = int64(x) },
}

// leasable are the edits that take -duration.
var leasable = map[string]*lease{"setfactor": &factorLease, "setceiling": &ceilingLease, "setfloor": &floorLease}

// setting is the edit that sets it: for good, which ends a lease of it, or on
// time.
func setting(op string, takes *quantity, l *lease, format string, show func(Given) any) Kind {
	return Kind{op, takes, true,
		func(r accountant.Record, v Given) (accountant.Record, error) { return l.give(r, v) },
		func(name string, v Given) string {
			if v.span == 0 {
				return wasSet(format, show)(name, v)
			}
			return fmt.Sprintf("Set %s lease on %s to "+l.form+" for %s", l.word, name, l.show(v), plural.Count(int(v.span/time.Second), "second"))
		},
	}
}

func (l *lease) give(r accountant.Record, v Given) (accountant.Record, error) {
	now := accountant.Lease{}
	if v.span > 0 {
		if until := l.in(&r).Until; !until.IsZero() {
			return r, fmt.Errorf("%s: its %s is leased already, until %s: end that first, with -%s", r.Name, l.word, Shown(until), l.flag)
		}
		now = accountant.Lease{Until: v.now.Truncate(time.Millisecond).Add(v.span).UTC(), Before: l.value(r)}
	}
	*l.in(&r) = now
	l.set(&r, v.x)
	return r, nil
}

// cancelling is the edit that ends a lease.
func cancelling(op string, l *lease) Kind {
	return Kind{op, nil, false,
		func(r accountant.Record, _ Given) (accountant.Record, error) {
			now := l.in(&r)
			if now.Until.IsZero() {
				return r, fmt.Errorf("%s: no %s lease is in effect", r.Name, l.word)
			}
			l.set(&r, now.Before)
			*now = accountant.Lease{}
			return r, nil
		},
		func(name string, _ Given) string { return fmt.Sprintf("Cancelled %s lease for %s", l.word, name) },
	}
}

// Shown is a time as userprio tells it: in the local time zone.
func Shown(t time.Time) string { return t.Local().Format(ToSecond) }

// ToSecond is the layout of such times.
const ToSecond = "2006-01-02 15:04:05"
