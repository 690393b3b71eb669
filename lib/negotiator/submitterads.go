package negotiator

import (
	"strings"

	"fairspool/lib/classad"
)

// rootGroup is what expressions call nobody's group.
const rootGroup = "<none>"

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
	{"SubmitterNegotiatingGroup", false, func(*cycle, *submitter, Group) classad.Value { return classad.String(rootGroup) }},
	{"SubmitterAutoregroup", false, func(*cycle, *submitter, Group) classad.Value { return classad.Bool(false) }},
}

// introduce adds to the ads of waiting jobs what expressions ask about their
// submitters. asked are the names that any expression looks up in jobs.
func (c *cycle) introduce(waiting map[string][]Job, asked names) {
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
