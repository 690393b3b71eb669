package negotiator

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"fairspool/lib/accountant"
)

// FullGroup is an accounting group whose quota leaves no room for a job, in slot weight.
type FullGroup struct {
	Name string
	// Used is what the group's members use, and Allowed what they may: by their quota, and
	// the surplus that others leave. Subtree says that both are of the group with all groups
	// below it, which are together bound by its quota (NEGOTIATOR_STRICT_ENFORCE_QUOTA).
	Used, Allowed float64
	Subtree       bool `json:",omitempty"`
	// AcceptsSurplus says that the group may go beyond its quota, but that nothing is left
	// for it by others.
	AcceptsSurplus bool `json:",omitempty"`
}

// fullness asks which groups leave no room for a weight at a slot; nice users are
// bound by strict quotas alone.
type fullness struct {
	group  int
	nice   bool
	slot   string // whose holders have left; empty: they have not
	alone  bool   // nobody else asks for anything
	weight accountant.Weight
}

// full returns the groups that leave no room for a submitter's job of this weight at a slot:
// its own first, then those above; were the slot's holders gone, if gone, and did nobody else
// ask for anything, if alone.
func (d *diagnosis) full(s *submitter, weight accountant.Weight, n *nearest, gone, alone bool) []FullGroup {
	c := d.c
	if c.cfg.Params.Groups.None() || c.groupUse == nil && c.cfg.Pie != Spins {
		return nil
	}
	ask := fullness{c.cfg.Params.Groups.Of(s.name), s.nice, "", alone, weight}
	if gone {
		ask.slot = n.name
	}
	list, known := d.fulls[ask]
	if known {
		return list
	}
	var freed map[int]accountant.Weight
	if gone {
		freed = d.freedWeight(n)
	}
	if c.groupUse != nil {
		list = c.groupUse.full(ask, freed, d.wanting())
	} else {
		list = c.fullInSpins(ask.group, freed)
	}
	if d.fulls == nil {
		d.fulls = map[fullness][]FullGroup{}
	}
	d.fulls[ask] = list
	return list
}

// freedWeight returns, by group, what the holders of a slot are charged for it.
func (d *diagnosis) freedWeight(n *nearest) map[int]accountant.Weight {
	freed, tree := map[int]accountant.Weight{}, d.c.cfg.Params.Groups
	for _, cl := range d.c.ours[n.name] {
		if cl.State.Charged() {
			freed[tree.Of(cl.Submitter)] += cl.Weight
		}
	}
	for m := range d.takers(n.name) {
		freed[tree.Of(m.Submitter)] += m.Weight
	}
	if len(freed) == 0 && n.stand != nil && n.stand.standing == claimed {
		s := &d.c.slots[n.stand.first]
		for _, name := range d.c.holders(s) {
			freed[tree.Of(name)] += s.weight
		}
	}
	return freed
}

// wanting returns which groups have members that wait.
func (d *diagnosis) wanting() []bool {
	if d.wants == nil {
		d.wants = make([]bool, len(d.c.groupUse.own))
		for s, list := range d.queues {
			if slices.ContainsFunc(list, func(w waiter) bool { return w.kept == "" }) {
				d.wants[s.group] = true
			}
		}
	}
	return d.wants
}

// full returns the groups that would leave no room. What a group gets of its subgroups' quotas
// depends on what these want; one that accepts surplus could have it if nobody else
// asked for it.
func (u *groupUse) full(ask fullness, freed map[int]accountant.Weight, wanting []bool) (list []FullGroup) {
	own := &u.tree.List[ask.group]
	if !ask.nice && (own.Autoregroup || ask.group == 0 && u.tree.Regroups()) {
		return nil
	}
	used := func(i int) float64 { return (u.own[i] - freed[i]).Float() }
	if !ask.nice {
		requested := make([]float64, len(u.own))
		for i := range requested {
			if requested[i] = used(i); i != ask.group && wanting[i] && !ask.alone && !own.AcceptSurplus {
				requested[i] += u.quotas[0].Subtree
			}
		}
		requested[ask.group] += ask.weight.Float()
		allowed := u.tree.Allocate(u.quotas, requested, false)[ask.group].Weight
		room := allowed - used(ask.group)
		// One that accepts surplus may pass its allocation by a part of a slot.
		if !fits(ask.weight, room) && !(own.AcceptSurplus && room > slack) {
			list = append(list, FullGroup{Name: own.Name, Used: Micro(used(ask.group)), Allowed: Micro(allowed), AcceptsSurplus: own.AcceptSurplus && ask.group > 0})
		}
	}
	for _, a := range u.tree.Up(ask.group) {
		below := u.subtree[a]
		for i, w := range freed {
			if u.isIn(i, a) {
				below -= w
			}
		}
		if fits(ask.weight, u.caps[a]-below.Float()) || a == ask.group && len(list) > 0 && len(u.tree.List[a].Children) == 0 {
			continue
		}
		list = append(list, FullGroup{Name: u.tree.List[a].Name, Used: Micro(below.Float()), Allowed: Micro(u.caps[a]), Subtree: true})
	}
	return list
}

// fullInSpins returns the groups whose members spins let take nothing more.
func (c *cycle) fullInSpins(group int, freed map[int]accountant.Weight) (list []FullGroup) {
	tree, rows := c.cfg.Params.Groups, c.accounts()
	own := &tree.List[group]
	if own.Autoregroup || group == 0 && tree.Regroups() {
		return nil
	}
	used := func(i int) float64 { return rows[i].Used - freed[i].Float() }
	// Groups are bound by whole numbers there.
	if g := &rows[group]; used(group) >= math.Trunc(max(g.Allocated, g.EffectiveQuota)) || g.Allocated <= 0 {
		list = append(list, FullGroup{Name: g.Name, Used: Micro(used(group)), Allowed: g.Allocated, AcceptsSurplus: own.AcceptSurplus && group > 0})
	}
	if !c.cfg.Quotas.Strict {
		return list
	}
	caps, subtree := tree.Caps(c.quotas()), make([]float64, len(rows))
	for i := range rows {
		for _, a := range tree.Up(i) {
			subtree[a] += used(i)
		}
	}
	for _, a := range tree.Up(group) {
		if (a != group || len(list) == 0) && subtree[a] >= caps[a] {
			list = append(list, FullGroup{Name: rows[a].Name, Used: Micro(subtree[a]), Allowed: Micro(caps[a]), Subtree: true})
		}
	}
	return list
}

// namesOf names groups.
func namesOf(groups []FullGroup) string {
	var names []string
	for _, g := range groups {
		if !slices.Contains(names, g.Name) {
			names = append(names, g.Name)
		}
	}
	return strings.Join(names, ", ")
}

// raised reports whether to raise the quotas of others, and of those above them, may help any
// of some groups: where one group is above both.
func (d *diagnosis) raised(some, others []FullGroup) bool {
	tree := d.c.cfg.Params.Groups
	top := func(g FullGroup) int {
		at, _ := tree.Find(g.Name)
		up := tree.Up(at)
		return up[len(up)-1]
	}
	return slices.ContainsFunc(others, func(o FullGroup) bool {
		return slices.ContainsFunc(some, func(g FullGroup) bool { return top(g) == top(o) })
	})
}

// quotaReached tells of the first group that is full, and who uses what it has.
func (d *diagnosis) quotaReached(r *Rejection) string {
	if len(r.Groups) == 0 {
		return "group quota reached"
	}
	g := r.Groups[0]
	text := "group quota reached: " + g.text()
	if who := d.usersOf(g); who != "" {
		text += " (" + who + ")"
	}
	if g.AcceptsSurplus {
		return text + ", and others leave none"
	}
	return text
}

// text tells what a group uses of what it may.
func (g FullGroup) text() string {
	switch {
	case g.Subtree:
		return fmt.Sprintf("%s, with what is below it, uses %.6g of %.6g", g.Name, g.Used, g.Allowed)
	case g.Allowed == 0 && g.Used == 0:
		return g.Name + " has no quota of its own"
	}
	return fmt.Sprintf("%s uses %.6g of %.6g", g.Name, g.Used, g.Allowed)
}

// mostUsers is how many users of a group are named.
const mostUsers = 2

// usersOf names those who use the most of what a group has.
func (d *diagnosis) usersOf(g FullGroup) string {
	text, known := d.users[g]
	if !known {
		text = d.findUsers(g)
		d.users[g] = text
	}
	return text
}

func (d *diagnosis) findUsers(g FullGroup) string {
	tree := d.c.cfg.Params.Groups
	at, _ := tree.Find(g.Name)
	var users []*submitter
	for _, s := range d.c.submitters {
		of := tree.Of(s.name)
		if s.usage > 0 && (of == at || g.Subtree && slices.Contains(tree.Up(of), at)) {
			users = append(users, s)
		}
	}
	slices.SortStableFunc(users, func(a, b *submitter) int { return cmp.Compare(b.usage, a.usage) })
	var words []string
	for _, s := range users[:min(len(users), mostUsers)] {
		words = append(words, fmt.Sprintf("%s %s", s.name, s.usage))
	}
	return list(words, len(users)-len(words))
}
