package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"fairspool/lib/nearest"
)

// groupTable is the table of the file that has a table for each accounting group.
const groupTable = "groups"

// MemberKey is what [groups.NAME] may say.
var MemberKey = Key{Name: "members", Kind: Names, check: memberName,
	Help: "Whose jobs may be charged to the group: names of users, and of Unix groups with an @ before them. Without it everybody's may, unless a group above says otherwise."}

// memberName refuses what is neither a user's name nor that of a Unix group with an @ before it.
func memberName(s string) error {
	name, _ := strings.CutPrefix(s, "@")
	if err := userName(name); err != nil {
		return fmt.Errorf("%w, or a Unix group's with an @ before it", err)
	}
	return nil
}

// Lists reports whether a list of users and @groups has a user, who belongs to the Unix groups.
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

// Administers reports whether ADMINISTRATORS has a user, who belongs to the Unix groups.
func (c *Config) Administers(user string, groups []string) bool {
	return Lists(c.Administrators, user, groups)
}

// MembersOf returns the list of those whose jobs may be charged to an accounting group, and the
// group that has it: the group itself, or the nearest one above it. Restricted is false where
// there is no such list. Case does not count in the group's name.
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

// groupMembers returns what the table of a group says: a setting for each key.
func (r *reader) groupMembers(group string, p toml.Primitive, _ map[string]any) (said []setting, ok bool) {
	keys := map[string]toml.Primitive{}
	if r.meta.PrimitiveDecode(p, &keys) != nil {
		return nil, true
	}
	for _, name := range r.below(keys, groupTable, group) {
		s := setting{table: groupTable, name: group + "." + name, value: r.plain(keys[name]), from: r.from(keys[name])}
		if _, table := s.value.(map[string]any); table {
			s.from = origin{file: r.file, line: max(r.dotted(keys[name]), 1)}
		}
		said = append(said, s)
	}
	return said, true
}

// takeGroup sets what a key of [groups.NAME] says.
func (c *Config) takeGroup(s setting) (ok bool, err error) {
	dot := strings.LastIndexByte(s.name, '.')
	if dot < 1 {
		return true, fmt.Errorf("%s: want a table, as in [groups.%s] with %s = [\"alice\", \"@staff\"]", shown(s.value), oneLine(s.name), MemberKey.Name)
	}
	group, name := strings.Trim(s.name[:dot], `"`), s.name[dot+1:]
	if _, isTable := s.value.(map[string]any); isTable {
		return true, fmt.Errorf("a table: a group's name with a dot needs quotes, as in [groups.\"%s.%s\"]", group, name)
	}
	if belongsAtTop(groupTable, name) {
		return true, fmt.Errorf("stands in table [groups.%s]; move it above the first table", group)
	}
	if name != MemberKey.Name {
		return true, unknownKey(nearest.Hint(name, []string{MemberKey.Name}) + "; a group's table has " + MemberKey.Name)
	}
	if _, isList := s.value.([]any); !isList {
		return true, errors.New(shown(s.value) + `: want an array of names, as in ["alice", "@staff"]`)
	}
	v, err := MemberKey.value(s.value)
	if err != nil {
		return true, err
	}
	list := v.([]string)
	c.groupSettingsOf(group, s.key()).members = &list
	c.values[s.key()] = v
	return true, nil
}
