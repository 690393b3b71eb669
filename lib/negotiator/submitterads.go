package negotiator

import (
	"strings"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
)

// submitterAttributes are what a cycle adds to a job's ad where an expression asks
// for it (manual, "Negotiation"), as it is when the cycle begins.
var submitterAttributes = []struct {
	name   string
	groups bool // only where there are accounting groups
	value  func(*cycle, *submitter, Group) classad.Value
}{
	{"SubmitterUserPrio", false, func(_ *cycle, s *submitter, _ Group) classad.Value { return classad.Real(s.eup) }},
	{"SubmittorPrio", false, func(_ *cycle, s *submitter, _ Group) classad.Value { return classad.Real(s.eup) }},
	{"SubmitterUserResourcesInUse", false, func(_ *cycle, s *submitter, _ Group) classad.Value { return classad.Real(s.before.Float()) }},
	{"SubmitterGroup", true, func(_ *cycle, _ *submitter, g Group) classad.Value { return classad.String(g.Name) }},
	{"SubmitterGroupResourcesInUse", true, func(_ *cycle, _ *submitter, g Group) classad.Value { return classad.Real(g.Usage) }},
	{"SubmitterGroupQuota", true, func(_ *cycle, _ *submitter, g Group) classad.Value { return classad.Real(g.EffectiveQuota) }},
	{negotiatingGroup, false, func(c *cycle, s *submitter, _ Group) classad.Value {
		return classad.String(c.cfg.Params.Groups.NameOf(s.name))
	}},
	// Nobody's group is where groups regroup (regroup).
	{autoregrouped, false, func(c *cycle, s *submitter, _ Group) classad.Value {
		tree := c.cfg.Params.Groups
		return classad.Bool(tree.Regroups() && tree.Of(s.name) == 0)
	}},
}

// The attributes that change in the turn in which a submitter negotiates with nobody's group.
const (
	negotiatingGroup = "SubmitterNegotiatingGroup"
	autoregrouped    = "SubmitterAutoregroup"
)

// regroup prepares the queues of who negotiates with nobody's group, too, for that turn: its
// jobs are of other autoclusters then, where expressions look at who negotiates. asked are
// the names that any expression looks up in jobs. Only spins tell of that turn.
func (c *cycle) regroup(s *submitter, a *autoclusters, asked names) {
	tree := c.cfg.Params.Groups
	if c.cfg.Pie != Spins || !tree.Regroups() || !tree.List[tree.Of(s.name)].Autoregroup {
		return
	}
	group, turn := asked.has(strings.ToLower(negotiatingGroup)), asked.has(strings.ToLower(autoregrouped))
	if !group && !turn {
		return
	}
	for _, q := range s.queues {
		ad := q.cluster.ad.Clone()
		if group {
			ad.SetString(negotiatingGroup, accountant.RootGroup)
		}
		if turn {
			ad.SetBool(autoregrouped, true)
		}
		q.regrouped = a.of(jobprio.Run{Ad: ad})
		q.regrouped.barred = q.cluster.barred
		q.regrouped.idle += q.left
	}
}

// change makes the jobs what they are where their submitter regroups, and the second time
// what they were.
func (s *submitter) change() {
	for _, q := range s.queues {
		if q.regrouped != nil {
			q.cluster, q.regrouped = q.regrouped, q.cluster
		}
	}
}

// introduce adds to the ads of waiting jobs what expressions ask about their
// submitters. asked are the names that any expression looks up in jobs.
func (c *cycle) introduce(waiting map[string][]jobprio.Run, asked names) {
	var wanted []int
	for i, a := range submitterAttributes {
		if asked.has(strings.ToLower(a.name)) {
			wanted = append(wanted, i)
		}
	}
	if wanted == nil {
		return
	}
	groups := c.accounts()
	for _, s := range c.submitters {
		var g Group
		if groups != nil {
			g = groups[c.cfg.Params.Groups.Of(s.name)]
		}
		known := map[*classad.Ad]*classad.Ad{}
		for i := range waiting[s.name] {
			j := &waiting[s.name][i]
			ad := known[j.Ad]
			if ad == nil {
				ad = j.Ad.Clone()
				for _, w := range wanted {
					if a := submitterAttributes[w]; !a.groups || groups != nil {
						ad.Set(a.name, classad.Literal(a.value(c, s, g)))
					}
				}
				known[j.Ad] = ad
			}
			j.Ad = ad
		}
	}
}
