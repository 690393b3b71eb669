package accountant

import (
	"strings"
	"time"
)

// Params are the settings that priorities depend on.
type Params struct {
	HalfLife      time.Duration // PRIORITY_HALFLIFE, above zero
	DefaultFactor float64       // DEFAULT_PRIO_FACTOR, at least 1
	NiceFactor    float64       // NICE_USER_PRIO_FACTOR
	NiceGroup     string        // NICE_USER_ACCOUNTING_GROUP_NAME
	RemoteFactor  float64       // REMOTE_PRIO_FACTOR
	LocalDomain   string        // ACCOUNTANT_LOCAL_DOMAIN; empty: everybody is local
}

// FactorOf returns the priority factor that the configuration gives a
// submitter without one of its own: nice users first, then users of another
// domain, then everybody (manual, "Effective User Priority").
func (p Params) FactorOf(name string) float64 {
	if p.Nice(name) {
		return p.NiceFactor
	}
	if _, domain := split(name); p.LocalDomain != "" && !strings.EqualFold(domain, p.LocalDomain) {
		return p.RemoteFactor
	}
	return p.DefaultFactor
}

// Nice tells whether a submitter is a nice user, which is one of the group
// NiceGroup, without regard to case: nice-user.alice@example.org.
func (p Params) Nice(name string) bool {
	user, _ := split(name)
	group, _, ok := strings.Cut(user, ".")
	return ok && p.NiceGroup != "" && strings.EqualFold(group, p.NiceGroup)
}

// FactorIn returns the factor in force: the one set by hand, else FactorOf.
func (r Record) FactorIn(p Params) float64 {
	if r.Factor >= 1 {
		return r.Factor
	}
	return p.FactorOf(r.Name)
}

// Effective returns the EUP at t: the RUP at t times the factor. Lower is
// better.
func (r Record) Effective(t time.Time, p Params) float64 {
	return r.AsOf(t, p).Priority * r.FactorIn(p)
}

// split cuts a submitter's name at its last @.
func split(name string) (user, domain string) {
	if i := strings.LastIndexByte(name, '@'); i >= 0 {
		return name[:i], name[i+1:]
	}
	return name, ""
}

// SubmitterName returns the name under which a job is accounted: owner, or
// the accounting group in its place, at the pool's domain (manual, "Group
// Accounting": the group is given without domain, which is appended).
func SubmitterName(owner, accountingGroup, domain string) string {
	if accountingGroup != "" {
		owner = accountingGroup
	}
	return owner + "@" + domain
}
