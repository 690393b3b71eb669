package accountant

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// RootGroup is the name of the group of submitters without a group.
const RootGroup = "<none>"

// Group is one accounting group. Its entitlement is in units of slot weight.
type Group struct {
	Name     string // as configured: "group_physics", "group_physics.hep"
	Parent   int    // its place in Groups.List; -1 for the root
	Children []int  // by name
	// Factor is the priority factor of its members, 0 for none of its own
	// (GROUP_PRIO_FACTOR_name).
	Factor float64
	// Quota is the number configured, which is a fraction of the parent's if
	// Dynamic: GROUP_QUOTA_name wins over GROUP_QUOTA_DYNAMIC_name.
	Quota         float64
	Dynamic       bool
	AcceptSurplus bool
	Autoregroup   bool
}

// Groups is the tree of accounting groups. A nil *Groups has the root only.
type Groups struct {
	// List is all groups: breadth first, siblings by name, the root first.
	List   []Group
	byName map[string]int // lower case
}

// NewGroups makes the tree of the given groups, and derives Parent and Children from the
// dots in their names. It fails for a name that is empty, or has an empty part or
// characters that no submitter's name may have, for a name that occurs twice (case does
// not count) and for a group without its parent. Without any group it returns nil.
func NewGroups(list []Group) (*Groups, error) {
	if len(list) == 0 {
		return nil, nil
	}
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b Group) int {
		return cmp.Or(strings.Count(a.Name, ".")-strings.Count(b.Name, "."), strings.Compare(fold(a.Name), fold(b.Name)))
	})
	g := &Groups{List: []Group{root()}, byName: map[string]int{RootGroup: 0}}
	for _, one := range list {
		if err := g.add(one); err != nil {
			return nil, err
		}
	}
	return g.breadthFirst(), nil
}

// root gets the rest of the other groups, as in HTCondor, where it always accepts
// surplus.
func root() Group { return Group{Name: RootGroup, Parent: -1, AcceptSurplus: true} }

func fold(name string) string { return strings.ToLower(name) }

func (g *Groups) add(one Group) error {
	if err := CheckGroupName(one.Name); err != nil {
		return err
	}
	if _, twice := g.byName[fold(one.Name)]; twice {
		return fmt.Errorf("%s: defined twice", one.Name)
	}
	one.Parent, one.Children = 0, nil
	if dot := strings.LastIndexByte(one.Name, '.'); dot >= 0 {
		parent, ok := g.byName[fold(one.Name[:dot])]
		if !ok {
			return fmt.Errorf("%s: its parent %s is not defined; add %s, or leave out %s",
				one.Name, one.Name[:dot], one.Name[:dot], one.Name)
		}
		one.Parent = parent
	}
	g.byName[fold(one.Name)] = len(g.List)
	g.List[one.Parent].Children = append(g.List[one.Parent].Children, len(g.List))
	g.List = append(g.List, one)
	return nil
}

// breadthFirst sorts the list breadth first. The given list has parents before their
// children and siblings by name.
func (g *Groups) breadthFirst() *Groups {
	order := []int{0}
	for i := 0; i < len(order); i++ {
		order = append(order, g.List[order[i]].Children...)
	}
	place := make([]int, len(order))
	for at, was := range order {
		place[was] = at
	}
	sorted := &Groups{byName: map[string]int{}}
	for at, was := range order {
		one := g.List[was]
		if one.Parent >= 0 {
			one.Parent = place[one.Parent]
		}
		for i, child := range one.Children {
			one.Children[i] = place[child]
		}
		sorted.List = append(sorted.List, one)
		sorted.byName[fold(one.Name)] = at
	}
	return sorted
}

// Bounds of a group's name and of an AccountingGroup, in characters. The manuals have 40, which
// HTCondor does not enforce, and groups of several levels with a user behind them are longer at
// real sites: a longer name gives a warning.
const (
	manualName = 40
	maxName    = 256
)

// TooLong returns why a name cannot be a group's or an AccountingGroup for its length; nil if
// it can be.
func TooLong(name string) error {
	if n := utf8.RuneCountInString(name); n > maxName {
		return fmt.Errorf("%d characters, at most %d", n, maxName)
	}
	return nil
}

// LongName returns the warning of a name that is longer than the manuals allow; empty for any
// other.
func LongName(name string) string {
	if n := utf8.RuneCountInString(name); n > manualName {
		return fmt.Sprintf("%d characters, where the manual has at most %d", n, manualName)
	}
	return ""
}

// CheckGroupName refuses what cannot be the name of an accounting group.
func CheckGroupName(name string) error {
	switch {
	case name == "" || strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".") || strings.Contains(name, ".."):
		return fmt.Errorf("%q: want a name, with dots between the names of group and subgroup", name)
	case TooLong(name) != nil:
		return fmt.Errorf("%q...: %w", string([]rune(name)[:manualName]), TooLong(name))
	case strings.EqualFold(name, RootGroup):
		return fmt.Errorf("%s: is there by itself", name)
	case strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`@"\<>`, r) }):
		return fmt.Errorf("%q: blanks, control characters, quotes or any of @ < > in a group's name", name)
	}
	return nil
}

// Spelled returns the name of a submitter or group with the group's part spelled as
// configured.
func (g *Groups) Spelled(name string) string {
	if g == nil {
		return name
	}
	user, domain, ok := cutDomain(name)
	if user = g.Canonical(user); ok {
		return user + "@" + domain
	}
	return user
}

// None reports whether there is no group but the root.
func (g *Groups) None() bool { return g == nil }

// Find returns the place of the group with this name, in whatever case.
func (g *Groups) Find(name string) (int, bool) {
	if g == nil {
		return 0, name == RootGroup
	}
	i, ok := g.byName[fold(name)]
	return i, ok
}

// Of returns the place of the group that a submitter belongs to: what stands
// before the last dot of the part left of the @, looked up from the root as far
// as names are defined, without regard to case; without a dot there, or for a
// group that is not defined, the root (manual, "Group Accounting"). A group's
// own name, which has no @, is its group.
func (g *Groups) Of(submitter string) int {
	user, _, ok := cutDomain(submitter)
	if g == nil {
		return 0
	}
	if !ok {
		return g.byName[fold(user)]
	}
	i, _ := g.ofUser(user)
	return i
}

// ofUser returns the group of a user, and where its name ends.
func (g *Groups) ofUser(user string) (i, end int) {
	for dot := strings.LastIndexByte(user, '.'); dot >= 0; dot = strings.LastIndexByte(user[:dot], '.') {
		if i, ok := g.byName[fold(user[:dot])]; ok {
			return i, dot
		}
	}
	return 0, 0
}

// OfUser returns the group of submitters with names that begin with user and an @.
func (g *Groups) OfUser(user string) Group {
	if g == nil {
		return root()
	}
	i, _ := g.ofUser(user)
	return g.List[i]
}

// NameOf returns the name of the group that a submitter belongs to.
func (g *Groups) NameOf(submitter string) string {
	if g == nil {
		return RootGroup
	}
	return g.List[g.Of(submitter)].Name
}

// Up returns the places of a group and of those above it that its name begins
// with; the root, which no name begins with, has itself only.
func (g *Groups) Up(i int) []int {
	up := []int{i}
	for g != nil && i > 0 && g.List[i].Parent > 0 {
		i = g.List[i].Parent
		up = append(up, i)
	}
	return up
}

// Canonical returns the user part of a submitter's name, left of the @, with the name of
// its group spelled as configured, also if it is only a group's name. A name in an
// undefined group is unchanged.
func (g *Groups) Canonical(user string) string {
	if i, ok := g.Find(user); ok && i > 0 {
		return g.List[i].Name
	}
	if g == nil {
		return user
	}
	// Texts that are equal without case may differ in length.
	if i, dot := g.ofUser(user); i > 0 {
		return g.List[i].Name + user[dot:]
	}
	return user
}

// Quota is a group's entitlement in slot weight: its own, and together with the groups
// below.
type Quota struct{ Own, Subtree float64 }

// QuotaRules say how quotas are worked out.
type QuotaRules struct {
	// Oversubscribe lets static quotas stand as they are though they exceed the
	// parent's; false: they are scaled down to fit
	// (NEGOTIATOR_ALLOW_QUOTA_OVERSUBSCRIPTION).
	Oversubscribe bool
	// Twice is HTCondor's habit with oversubscription: an inner group, but not the
	// root, has its whole subtree quota for its own, though its children have theirs
	// of it, too; false: its own is what its children leave.
	Twice bool
}

// Quotas divides the pool's weight among the groups, in the order of List. A static quota
// is the configured one, a dynamic one its fraction of the parent's quota after the
// static ones; fractions that sum to more than 1 are scaled down. The rest after its
// children is a group's own quota, never below 0 (HTCondor's quota assignment).
// Regrouping makes no difference here: see Regroups.
func (g *Groups) Quotas(weight float64, r QuotaRules) []Quota {
	if g == nil {
		return []Quota{{weight, weight}}
	}
	quotas := make([]Quota, len(g.List))
	quotas[0].Subtree = max(0, weight)
	for i, one := range g.List { // parents stand before their children
		q := quotas[i].Subtree
		static, dynamic := g.below(i)
		allowed := static
		if !r.Oversubscribe {
			allowed = min(static, q)
		}
		rest, given := max(0, q-allowed), 0.0
		for _, c := range one.Children {
			child := g.List[c]
			switch {
			case q <= 0: // an empty pool, or an empty branch of it
			case child.Dynamic:
				quotas[c].Subtree = child.Quota * (rest / max(dynamic, 1))
			case static > 0:
				quotas[c].Subtree = child.Quota * (allowed / static)
			}
			given += quotas[c].Subtree
		}
		// A last digit is no quota, which would go before those that have none. HTCondor has it.
		if quotas[i].Own = max(0, q-given); quotas[i].Own < 1e-9*q && !r.Twice {
			quotas[i].Own = 0
		}
		if r.Oversubscribe && r.Twice && i > 0 {
			quotas[i].Own = q
		}
	}
	return quotas
}

// below returns the sums of the static and of the dynamic quotas configured for a
// group's children.
func (g *Groups) below(i int) (static, dynamic float64) {
	for _, c := range g.List[i].Children {
		if g.List[c].Dynamic {
			dynamic += g.List[c].Quota
		} else {
			static += g.List[c].Quota
		}
	}
	return static, dynamic
}

// Regroups reports whether any group regroups automatically. The root's quota is then
// the whole pool.
func (g *Groups) Regroups() bool {
	return g != nil && slices.ContainsFunc(g.List, func(one Group) bool { return one.Autoregroup })
}

// Caps returns, in the order of List, the limit under strict enforcement of each group
// together with the groups below it. For a group that does not accept surplus that is its
// static quota as configured or its dynamic quota as computed; for all others it is +Inf.
// The limits of all groups above a group hold for it, too.
func (g *Groups) Caps(quotas []Quota) []float64 {
	caps := make([]float64, len(quotas))
	for i := range caps {
		switch caps[i] = math.Inf(1); {
		case g == nil || g.List[i].AcceptSurplus:
		case g.List[i].Dynamic:
			caps[i] = quotas[i].Subtree
		default:
			caps[i] = g.List[i].Quota
		}
	}
	return caps
}

// Complaints returns a line for each set of quotas that does not fit into a pool of this
// weight, in the order of List: static quotas that exceed their parent's or the pool, and
// dynamic quotas that sum to more than 1. It is empty for a pool without weight.
func (g *Groups) Complaints(weight float64, r QuotaRules) []string {
	if g == nil || !(weight > 0) {
		return nil
	}
	then := "they are scaled down to fit"
	if r.Oversubscribe {
		then = "the groups served first may leave less than the quota of those served last"
	}
	var lines []string
	for i, q := range g.Quotas(weight, r) {
		static, dynamic := g.below(i)
		// Sums of fractions such as 0.1 may be off by a digit.
		if static > q.Subtree*(1+1e-9) {
			lines = append(lines, fmt.Sprintf("quotas of %s sum to %.6g of %s: %s", g.childrenOf(i), static, g.has(i, q.Subtree), then))
		}
		if dynamic > 1+1e-9 {
			lines = append(lines, fmt.Sprintf("dynamic quotas of %s sum to %.6g, want 1 at most: they are scaled down to fit", g.childrenOf(i), dynamic))
		}
	}
	return lines
}

func (g *Groups) childrenOf(i int) string {
	if i == 0 {
		return "the groups"
	}
	return "the groups in " + g.List[i].Name
}

func (g *Groups) has(i int, weight float64) string {
	if i == 0 {
		return fmt.Sprintf("a pool of %.6g", weight)
	}
	return fmt.Sprintf("its %.6g", weight)
}
