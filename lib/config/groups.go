package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"fairspool/lib/accountant"
	"fairspool/lib/nearest"
)

const (
	staticQuota  = "GROUP_QUOTA_"
	dynamicQuota = "GROUP_QUOTA_DYNAMIC_"
)

// GroupKeys are the keys that end with the name of an accounting group. Name is
// what stands before it; of two that fit, the first counts.
var GroupKeys = []GroupKey{
	{Key{Name: dynamicQuota, Kind: Real, Least: 0, Most: 1,
		Help: "The group's quota as a fraction of what static quotas leave of the parent's quota, or of the pool."},
		func(s *groupSettings, v any) { f := v.(float64); s.dynamic = &f }},
	{Key{Name: staticQuota, Kind: Real, Unit: "slot weight", Least: 0, Most: maxQuota,
		Help: "The group's quota; overrides GROUP_QUOTA_DYNAMIC_."},
		func(s *groupSettings, v any) { f := v.(float64); s.static = &f }},
	{Key{Name: "GROUP_PRIO_FACTOR_", Kind: Real, Least: 1, Most: MaxFactor,
		Help: "The priority factor of the group's members, unless theirs is set by hand. Lower is better."},
		func(s *groupSettings, v any) { s.factor = v.(float64) }},
	{Key{Name: "GROUP_ACCEPT_SURPLUS_", Kind: Boolean,
		Help: "Whether the group may use what others leave of their quotas; overrides GROUP_ACCEPT_SURPLUS."},
		func(s *groupSettings, v any) { b := v.(bool); s.surplus = &b }},
	{Key{Name: "GROUP_AUTOREGROUP_", Kind: Boolean,
		Help: "Whether the group's jobs take part a second time, with the jobs of no group; overrides GROUP_AUTOREGROUP."},
		func(s *groupSettings, v any) { b := v.(bool); s.regroup = &b }},
}

// GroupKey describes the keys that begin with a Name and end with a group's.
type GroupKey struct {
	Key
	setGroup func(*groupSettings, any)
}

// maxQuota keeps sums of quotas exact to thousandths.
const maxQuota = 1e12

// groupSettings is what keys say of one group; nil and zero: nothing.
type groupSettings struct {
	name, key        string            // the group's name and the first key that has it, as written
	keys             map[string]string // by Name of GroupKeys, the last key that said it, as written
	static, dynamic  *float64
	factor           float64
	surplus, regroup *bool
	members          *[]string // of [groups.NAME]
}

// groupKey returns which of GroupKeys a key is, and the group's name.
func groupKey(name string) (k GroupKey, group string, ok bool) {
	for _, k := range GroupKeys {
		if group, ok := strings.CutPrefix(name, k.Name); ok && group != "" {
			return k, group, true
		}
	}
	return GroupKey{}, "", false
}

// groups makes the tree of accounting groups from GROUP_NAMES and the keys of
// each. Their names are compared without regard to case.
func (c *Config) groups() error {
	list := make([]accountant.Group, 0, len(c.groupNames))
	known := map[string]bool{}
	for _, name := range c.groupNames {
		known[strings.ToLower(name)] = true
		list = append(list, c.group(name))
	}
	for _, s := range c.ofGroups {
		if !known[strings.ToLower(s.name)] {
			return c.complainOfGroup(s)
		}
	}
	tree, err := accountant.NewGroups(list)
	if err != nil {
		return c.Complain("GROUP_NAMES", err)
	}
	c.Groups = tree
	c.warnOfLongNames("GROUP_NAMES", c.groupNames)
	c.warnOfLongNames("NICE_USER_ACCOUNTING_GROUP_NAME", []string{c.NiceGroup})
	c.warnOfTwoQuotas()
	return nil
}

// warnOfTwoQuotas warns of the first group for which a file sets both kinds of quota, of which the static one counts.
func (c *Config) warnOfTwoQuotas() {
	var first *groupSettings
	more := 0
	for _, s := range c.ofGroups {
		switch {
		case s.static == nil || s.dynamic == nil || c.where[s.keys[staticQuota]].File == asked:
		case first == nil:
			first = s
		default:
			more++
		}
	}
	if first == nil {
		return
	}
	text := "has no effect beside " + OneLine(first.keys[staticQuota])
	if more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	c.Warnings = append(c.Warnings, c.Complain(first.keys[dynamicQuota], errors.New(text)).Error())
}

// warnOfLongNames warns of the first of the names that is longer than the manuals allow.
func (c *Config) warnOfLongNames(key string, names []string) {
	first, more := "", 0
	for _, name := range names {
		switch {
		case accountant.LongName(name) == "":
		case first == "":
			first = name
		default:
			more++
		}
	}
	if first == "" {
		return
	}
	text := fmt.Sprintf("%q: %s", first, accountant.LongName(first))
	if more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	c.Warnings = append(c.Warnings, c.Complain(key, errors.New(text)).Error())
}

// complainOfGroup tells that there is no group for a key. If an option changed
// GROUP_NAMES, the option is at fault, not the file.
func (c *Config) complainOfGroup(s *groupSettings) error {
	if c.where["GROUP_NAMES"].File == asked && c.where[s.key].File != asked {
		return c.Complain("GROUP_NAMES", fmt.Errorf("lacks the group of %s (%s)", OneLine(s.key), c.where[s.key]))
	}
	return c.Complain(s.key, fmt.Errorf("GROUP_NAMES has no group %s%s", OneLine(s.name), meantQuotas(s.key)))
}

// meantQuotas returns a hint at a key of all groups' quotas that one of a single
// group's resembles.
func meantQuotas(key string) string {
	name, ok := strings.CutPrefix(key, staticQuota)
	if !ok {
		return ""
	}
	var known []string
	for _, k := range Keys {
		if rest, ok := strings.CutPrefix(k.Name, staticQuota); ok {
			known = append(known, rest)
		}
	}
	if rest, ok := nearest.Name(name, known); ok {
		return didYouMean(staticQuota + rest)
	}
	return ""
}

// group returns the group with its settings.
func (c *Config) group(name string) accountant.Group {
	g := accountant.Group{Name: name, AcceptSurplus: c.acceptSurplus, Autoregroup: c.autoregroup}
	s := c.settingsOf(name)
	if s == nil {
		return g
	}
	g.Factor = s.factor
	switch {
	case s.static != nil:
		g.Quota = *s.static
	case s.dynamic != nil:
		g.Quota, g.Dynamic = *s.dynamic, true
	}
	if s.surplus != nil {
		g.AcceptSurplus = *s.surplus
	}
	if s.regroup != nil {
		g.Autoregroup = *s.regroup
	}
	return g
}

func (c *Config) settingsOf(group string) *groupSettings {
	for _, s := range c.ofGroups {
		if strings.EqualFold(s.name, group) {
			return s
		}
	}
	return nil
}

// setOfGroup stores the checked value of a key of a group's.
func (c *Config) setOfGroup(k GroupKey, key, group string, v any) {
	s := c.groupSettingsOf(group, key)
	s.keys[k.Name] = key
	c.values[key] = v
	k.setGroup(s, v)
}

// groupSettingsOf returns the settings of a group that a key names.
func (c *Config) groupSettingsOf(group, key string) *groupSettings {
	s := c.settingsOf(group)
	if s == nil {
		s = &groupSettings{name: group, key: key, keys: map[string]string{}}
		c.ofGroups = append(c.ofGroups, s)
	}
	return s
}

// groupTable is the name of the table that has a table for each accounting group.
const groupTable = "groups"

// groupsTable returns the table [groups].
func groupsTable() *Table {
	return &Table{Name: groupTable, Depth: func(string) int { return 1 }, Named: (*Config).takeGroup}
}

// MemberKey is what [groups.NAME] may say.
var MemberKey = Key{Name: "members", Kind: Names, Check: memberName,
	Help: "The users, and Unix groups with an @ before them, whose jobs may be charged to the group. Missing: all users, unless a group above has members."}

// memberName refuses a text that is neither a user's name nor a Unix group's with an @ before
// it.
func memberName(s string) error {
	name, _ := strings.CutPrefix(s, "@")
	if err := userName(name); err != nil {
		return fmt.Errorf("%w, or a Unix group's with an @ before it", err)
	}
	return nil
}

// Lists reports whether a list of users and @groups has a user with these Unix groups.
func Lists(list []string, user string, groups []string) bool {
	return slices.ContainsFunc(list, func(entry string) bool {
		group, isGroup := strings.CutPrefix(entry, "@")
		return isGroup && slices.Contains(groups, group) || !isGroup && entry == user
	})
}

// NamesGroups reports whether a list of users and @groups has a group.
func NamesGroups(list []string) bool {
	return slices.ContainsFunc(list, func(entry string) bool { return strings.HasPrefix(entry, "@") })
}

// Administers reports whether ADMINISTRATORS has a user with these Unix groups.
func (c *Config) Administers(user string, groups []string) bool {
	return Lists(c.Administrators, user, groups)
}

// MembersOf returns the list of users whose jobs may be charged to an accounting group, and the
// group that has the list: the group itself, or the nearest one above it. Restricted is false
// if there is no such list. Case does not count in the group's name.
func (c *Config) MembersOf(group string) (members []string, of string, restricted bool) {
	for of = group; ; {
		if s := c.settingsOf(of); s != nil && s.members != nil {
			return *s.members, s.name, true
		}
		dot := strings.LastIndexByte(of, '.')
		if dot < 0 {
			return nil, "", false
		}
		of = of[:dot]
	}
}

// takeGroup applies a key of [groups.NAME].
func (c *Config) takeGroup(s Setting) (ok bool, err error) {
	dot := strings.LastIndexByte(s.Name, '.')
	if dot < 1 {
		return true, fmt.Errorf("%s: want a table, as in [groups.%s] with %s = [\"alice\", \"@staff\"]", Shown(s.Value), OneLine(s.Name), MemberKey.Name)
	}
	group, name := strings.Trim(s.Name[:dot], `"`), s.Name[dot+1:]
	if _, isTable := s.Value.(map[string]any); isTable {
		return true, fmt.Errorf("a table: a group's name with a dot needs quotes, as in [groups.\"%s.%s\"]", group, name)
	}
	if belongsAtTop(name, true) {
		return true, fmt.Errorf("stands in table [groups.%s]; move it above the first table", group)
	}
	if name != MemberKey.Name {
		return true, unknownKey(nearest.Hint(name, []string{MemberKey.Name}) + "; a group's table has " + MemberKey.Name)
	}
	if _, isList := s.Value.([]any); !isList {
		return true, errors.New(Shown(s.Value) + `: want an array of names, as in ["alice", "@staff"]`)
	}
	v, err := MemberKey.value(s.Value)
	if err != nil {
		return true, err
	}
	list := v.([]string)
	c.groupSettingsOf(group, s.Key()).members = &list
	c.values[s.Key()] = v
	return true, nil
}
