package maui

import (
	"time"
)

// profile is the common data of jobs with the same credentials.
type profile struct {
	qos      string
	refused  bool
	qtTarget float64 // seconds; 0: none
	xfTarget float64 // 0: none
	wclimit  int64   // seconds, of jobs that name no limit
	counting []counting
}

// terms are all terms of a profile, those that add nothing among them.
type terms struct {
	components [Components]Term // with the QOS's additions
	subs       [Subs]Term
	given      [Subs]float64 // factors of CRED and FS, uncapped
}

// counting is a component that adds something: the same for all jobs of the profile, or
// what its terms come to.
type counting struct {
	Term
	same  float64
	terms []countingSub
}

type countingSub struct {
	Sub
	Term
}

var (
	credSubs = [Kinds]Sub{User: CredUser, Group: CredGroup, Account: CredAccount, QOS: CredQOS, Class: CredClass}
	fsSubs   = [Kinds]Sub{User: FSUser, Group: FSGroup, Account: FSAccount, QOS: FSQOS, Class: FSClass}
)

// given reports whether the factors of a component are the same for all jobs of a profile.
func (c Component) given() bool { return c == Credentials || c == FairShare }

// profile returns what jobs with these names have in common.
func (r *Reckoner) profile(n names) *profile {
	p, t := r.profileAndTerms(n)
	p.counting = t.count()
	return &p
}

// profileAndTerms is profile without what counts, but with all terms.
func (r *Reckoner) profileAndTerms(n names) (p profile, t terms) {
	c := r.config
	p.wclimit, t.components, t.subs = c.classWCLimit(n.class), c.Components, c.Subs
	p.qos, p.refused = c.qosOf(n)
	n.qos = p.qos
	p.qtTarget = c.target(n, func(o Credential) float64 { return o.QTTarget.Seconds() })
	p.xfTarget = c.target(n, func(o Credential) float64 { return o.XFTarget })
	qos := c.Credentials[QOS][p.qos]
	t.subs[QueueTime].Weight = plus(t.subs[QueueTime].Weight, qos.QTWeight)
	t.subs[XFactor].Weight = plus(t.subs[XFactor].Weight, qos.XFWeight)
	if !c.Compatible {
		t.components[FairShare].Weight = plus(t.components[FairShare].Weight, qos.FSWeight)
	}
	for k := range Kinds {
		t.given[credSubs[k]] = float64(c.priority(k, n.of(k)))
		t.given[fsSubs[k]] = r.fairShare(k, n.of(k))
	}
	return p, t
}

// count returns the components that add something.
func (t *terms) count() (list []counting) {
	for of := range Components {
		c := counting{Term: t.components[of]}
		if c.Weight == 0 {
			continue
		}
		for sub := range Subs {
			switch w := t.subs[sub]; {
			case w.Weight == 0 || sub.Component() != of || !sub.counts():
			case of.given():
				c.same += w.adds(t.given[sub])
			default:
				c.terms = append(c.terms, countingSub{sub, w})
			}
		}
		if len(c.terms) > 0 || c.same != 0 {
			list = append(list, c)
		}
	}
	return list
}

// adds returns a term's contribution to its sum. The conversion keeps compilers from
// joining the product and the sum, which would then be rounded only once.
func (t Term) adds(factor float64) float64 {
	return float64(float64(t.Weight) * capped(bounded(factor), t.Cap))
}

// counts reports whether a subcomponent enters the priority of a waiting job at all: those
// of ATTR, and UPROC and UJOB, never do (observed), those of USAGE once the job runs.
func (s Sub) counts() bool {
	switch s.Component() {
	case Attribute, Usage:
		return false
	}
	return s != UProc && s != UJob
}

// priority returns the PRIORITY of a credential: its own, or if that is 0, as for one that
// has no entry, the DEFAULT's of its kind; without that way out for QOS and classes
// (observed).
func (c *Config) priority(k Kind, name string) int64 {
	own := c.Credentials[k][name].Priority
	if own != 0 || k == QOS || k == Class {
		return own
	}
	return c.Credentials[k][DefaultName].Priority
}

// target returns a target of jobs with these names, with n.qos as their QOS; 0 if there is
// none. It is the QOS's, or else the user's, group's, account's or class's, each one's own
// before its kind's DEFAULT's, as the manual's examples have it. Maui 3.3.1 knows targets
// of the QOS only.
func (c *Config) target(n names, of func(Credential) float64) float64 {
	if t := of(c.Credentials[QOS][n.qos]); t > 0 || c.Compatible {
		return max(bounded(t), 0)
	}
	for _, k := range givers[QOS] {
		for _, name := range [...]string{n.of(k), DefaultName} {
			if t := of(c.Credentials[k][name]); t > 0 {
				return bounded(t)
			}
		}
	}
	return 0
}

// defaultWCLimit is the default limit of jobs: 100 days, Maui's own.
const defaultWCLimit = 100 * 24 * time.Hour

// WCLimit returns the wall-clock limit of a job in seconds, 1 or more: its own, or else
// the DEFAULT.WCLIMIT of its class or of the class DEFAULT, or else 100 days.
func (c *Config) WCLimit(j *Job) int64 {
	if j.WCLimit > 0 {
		return j.WCLimit
	}
	return c.classWCLimit(j.Class)
}

func (c *Config) classWCLimit(class string) int64 {
	for _, name := range [...]string{class, DefaultName} {
		if l := c.Credentials[Class][name].WCLimit; l >= time.Second {
			return int64(l / time.Second)
		}
	}
	return int64(defaultWCLimit / time.Second)
}

// names are the credentials in a job's ad.
type names struct{ user, group, account, qos, class string }

func (j *Job) names() names { return names{j.User, j.Group, j.Account, j.QOS, j.Class} }

// of returns the name of a kind; of QOS, the one the job asks for.
func (n names) of(k Kind) string {
	return [Kinds]string{User: n.user, Group: n.group, Account: n.account, QOS: n.qos, Class: n.class}[k]
}

// qosOf returns the QOS of jobs with these names: the requested one, if it is accessible,
// or else the first accessible QDEF of user, group, account and class, each one's own
// before its kind's DEFAULT's. A job without any has the QOS DEFAULT, which all may have.
// Refused says that they request an inaccessible one.
func (c *Config) qosOf(n names) (qos string, refused bool) {
	if n.qos != "" && (n.qos == DefaultName || c.access(n, QOS).to(n.qos)) {
		return n.qos, false
	}
	if qos := c.given(n, QOS); qos != "" {
		return qos, n.qos != ""
	}
	return DefaultName, n.qos != ""
}
