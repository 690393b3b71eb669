package accountant

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Params are the settings that priorities depend on.
type Params struct {
	HalfLife      time.Duration // PRIORITY_HALFLIFE, above zero
	DefaultFactor float64       // DEFAULT_PRIO_FACTOR, at least 1
	NiceFactor    float64       // NICE_USER_PRIO_FACTOR
	NiceGroup     string        // NICE_USER_ACCOUNTING_GROUP_NAME
	RemoteFactor  float64       // REMOTE_PRIO_FACTOR
	LocalDomain   string        // ACCOUNTANT_LOCAL_DOMAIN; empty: everybody is local
	Groups        *Groups       // GROUP_NAMES and what belongs to them; nil: none
	Windows       WindowParams  // [maui], for tallies
	Decay         DecayParams   // [sge], for tallies
	// DefaultProjects are the projects of users whose jobs name none ([sge]), by user.
	DefaultProjects map[string]string
}

// FactorFrom says where a priority factor comes from.
type FactorFrom int

// The sources of a factor, in the order in which they are asked.
const (
	FactorSet     FactorFrom = iota + 1 // set by hand, for good
	FactorLeased                        // set by hand, on time
	FactorNice                          // NICE_USER_PRIO_FACTOR
	FactorGroup                         // GROUP_PRIO_FACTOR_group
	FactorRemote                        // REMOTE_PRIO_FACTOR
	FactorDefault                       // DEFAULT_PRIO_FACTOR
)

// FactorOf returns the priority factor that the configuration gives a
// submitter or group without one of its own, and which of its settings that is:
// nice users first, then that of the group, then users of another domain, then
// everybody (manual, "Effective User Priority").
func (p Params) FactorOf(name string) (float64, FactorFrom) {
	if p.Nice(name) {
		return p.NiceFactor, FactorNice
	}
	if p.Groups != nil {
		if f := p.Groups.List[p.Groups.Of(name)].Factor; f >= 1 {
			return f, FactorGroup
		}
	}
	if _, domain := split(name); domain != "" && p.LocalDomain != "" && !strings.EqualFold(domain, p.LocalDomain) {
		return p.RemoteFactor, FactorRemote
	}
	return p.DefaultFactor, FactorDefault
}

// Nice reports whether a submitter is a nice user, which is one of the group
// NiceGroup, without regard to case: nice-user.alice@example.org.
func (p Params) Nice(name string) bool {
	user, _ := split(name)
	group, _, ok := strings.Cut(user, ".")
	return ok && p.NiceGroup != "" && strings.EqualFold(group, p.NiceGroup)
}

// FactorIn returns the factor in force at t, and where it comes from: the one
// set by hand, else FactorOf.
func (r Record) FactorIn(t time.Time, p Params) (float64, FactorFrom) {
	if r = r.withoutOver(t); r.Factor < 1 {
		return p.FactorOf(r.Name)
	}
	if !r.FactorLease.Until.IsZero() {
		return r.Factor, FactorLeased
	}
	return r.Factor, FactorSet
}

// Effective returns the EUP at t: the RUP at t times the factor. Lower is
// better.
func (r Record) Effective(t time.Time, p Params) float64 {
	factor, _ := r.FactorIn(t, p)
	return r.AsOf(t, p).Priority * factor
}

// IsGroup reports whether the record is an accounting group's: its name has no @.
func (r Record) IsGroup() bool { return !strings.Contains(r.Name, "@") }

// NamesSubmitter reports whether a submitter may have this name: user@domain, with
// neither blanks nor double quotes nor what cannot be seen.
func NamesSubmitter(name string) bool {
	user, domain, _ := cutDomain(name)
	return user != "" && domain != "" && utf8.ValidString(name) && !strings.ContainsFunc(name, unnameable)
}

func unnameable(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '"'
}

// split cuts a submitter's name at its last @.
func split(name string) (user, domain string) {
	user, domain, _ = cutDomain(name)
	return user, domain
}

// cutDomain does as split, and tells whether there was an @.
func cutDomain(name string) (user, domain string, ok bool) {
	if i := strings.LastIndexByte(name, '@'); i >= 0 {
		return name[:i], name[i+1:], true
	}
	return name, "", false
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
