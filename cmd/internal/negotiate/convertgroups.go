package negotiate

import (
	"fmt"
	"slices"
	"strings"

	"fairspool/lib/accountant"
	"fairspool/lib/condorconfig"
	"fairspool/lib/config"
)

// groupNames takes over GROUP_NAMES, without the names that HTCondor ignores and those
// that are none here.
func (v *conversion) groupNames(m condorconfig.Macro) error {
	x, err := v.Expand(m)
	if err != nil {
		return err
	}
	if len(x.Unknown) > 0 {
		v.refuse(config.Key{}, m, "depends on "+strings.Join(x.Unknown, ", ")+", which only HTCondor knows; write the value")
		return nil
	}
	names, left := groupTree(condorconfig.List(x.Text))
	for _, why := range left {
		v.warn(m.Place, "%s: %s", m.Name, why)
	}
	for _, name := range names {
		if long := accountant.LongName(name); long != "" {
			v.warn(m.Place, "%s: %s: %s", m.Name, name, long)
		}
	}
	v.groups = names
	v.add(tomlLine{key: "GROUP_NAMES", value: tomlList(names), above: left, from: m.Place.String()}, m, x)
	return nil
}

// groupTree returns the names that make a tree, and why the others are left out.
func groupTree(all []string) (names, left []string) {
	spelled := map[string]string{}
	for _, name := range all {
		first, twice := spelled[strings.ToLower(name)]
		err := accountant.CheckGroupName(name)
		switch {
		case twice && first == name:
			left = append(left, fmt.Sprintf("%s is there twice: HTCondor ignores the second", name))
		case twice:
			left = append(left, fmt.Sprintf("%s is left out: %s is the same, as case does not count; HTCondor ignores it, too", name, first))
		case err != nil:
			left = append(left, fmt.Sprintf("left out: %v", err))
		default:
			spelled[strings.ToLower(name)] = name
			names = append(names, name)
		}
	}
	// A parent stands in fewer parts than its child, so that one pass is enough.
	inOrder := slices.Clone(names)
	slices.SortStableFunc(inOrder, func(a, b string) int { return strings.Count(a, ".") - strings.Count(b, ".") })
	for _, name := range inOrder {
		dot := strings.LastIndexByte(name, '.')
		if dot < 0 {
			continue
		}
		if _, ok := spelled[strings.ToLower(name[:dot])]; !ok {
			delete(spelled, strings.ToLower(name))
			left = append(left, fmt.Sprintf("%s is left out: its parent %s is not listed; HTCondor ignores such a group with a warning", name, name[:dot]))
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { _, ok := spelled[strings.ToLower(name)]; return !ok }), left
}

// groupKeys sets those of single groups, in the order of GROUP_NAMES.
func (v *conversion) groupKeys() error {
	for _, group := range v.groups {
		before := "GROUP_NAMES = " + tomlList(withParents(group)) + "\n"
		for _, k := range config.GroupKeys {
			m, ok := v.first([]string{k.Name + group})
			if !ok {
				continue
			}
			if err := v.take(k.Key, k.Name+group, m, before); err != nil {
				return err
			}
		}
	}
	return nil
}

// requirements takes over SUBMIT_REQUIREMENT_NAMES, and what each of the names has to say. All of
// it or none is taken: without its expression a name means nothing.
func (v *conversion) requirements(names condorconfig.Macro) error {
	x, err := v.Expand(names)
	if err != nil {
		return err
	}
	type part struct {
		tomlLine
		m condorconfig.Macro
		x condorconfig.Expansion
	}
	var parts []part
	list := condorconfig.List(x.Text)
	text := "SUBMIT_REQUIREMENT_NAMES = " + tomlList(list) + "\n"
	for _, name := range list {
		for _, k := range slices.Backward(config.RequirementKeys) {
			key := "SUBMIT_REQUIREMENT_" + name + k.Name
			m, ok := v.first([]string{key})
			if !ok {
				continue
			}
			x, err := v.Expand(m)
			if err != nil {
				return err
			}
			value, err := tomlOf(k.Kind, x.Text)
			if len(x.Unknown) > 0 {
				err = fmt.Errorf("depends on %s, which only HTCondor knows; write the value", strings.Join(x.Unknown, ", "))
			}
			if err != nil {
				v.refuse(config.Key{}, m, err.Error())
				v.refuse(config.Key{}, names, key+": "+err.Error())
				return nil
			}
			line := tomlLine{key: key, value: value, from: m.Place.String()}
			text += line.key + " = " + line.value + "\n"
			parts = append(parts, part{line, m, x})
		}
	}
	if _, err := config.Parse("", []byte(text)); err != nil {
		v.refuse(config.Key{}, names, reasonOf(err, "SUBMIT_REQUIREMENT_NAMES"))
		return nil
	}
	v.add(tomlLine{key: "SUBMIT_REQUIREMENT_NAMES", value: tomlList(list), from: names.Place.String()}, names, x)
	for _, p := range parts {
		v.add(p.tomlLine, p.m, p.x)
	}
	return nil
}

// withParents returns the group and those it is in.
func withParents(group string) []string {
	names := []string{group}
	for i, c := range []byte(group) {
		if c == '.' {
			names = append(names, group[:i])
		}
	}
	return names
}

// ofGroup returns the group that a macro is about, if it is about one.
func ofGroup(name string) (group string, ok bool) {
	upper := strings.ToUpper(name)
	for _, k := range config.GroupKeys {
		if strings.HasPrefix(upper, k.Name) && len(name) > len(k.Name) {
			return name[len(k.Name):], true
		}
	}
	return "", false
}

// limits sets the concurrency limits, in the order of the files.
func (v *conversion) limits() error {
	for _, m := range v.Macros() {
		k, key, ok := limitOf(v.Plain(m.Name))
		counts, _ := v.Lookup(v.Plain(m.Name))
		if !ok || counts.Name != m.Name || v.known(m) || v.elsewhere(m) != "" || family(v.Plain(m.Name)) != "" {
			continue
		}
		x, err := v.Expand(m)
		if err != nil {
			return err
		}
		line, why := v.lineOf(k, key, m, x, "")
		switch {
		case strings.HasPrefix(why, "unknown key"):
		case v.isEmpty(m):
			v.leaveUnset(m)
		case why != "":
			v.reasons[strings.ToLower(m.Name)] = "no concurrency limit: " + why
		default:
			v.add(line, m, x)
		}
	}
	return nil
}

// known tells of a macro that has become a line, or has a reason why not.
func (v *conversion) known(m condorconfig.Macro) bool {
	name := strings.ToLower(m.Name)
	return v.set[name] || v.reasons[name] != ""
}

// limitOf returns which of the keys of limits a macro is, and how it is written.
func limitOf(name string) (k config.Key, key string, ok bool) {
	upper := strings.ToUpper(name)
	of, suffix := config.LimitKeys[0].Name, config.LimitKeys[1].Name
	if strings.HasPrefix(upper, of) {
		return config.LimitKeys[0].Key, of + name[len(of):], true
	}
	if strings.HasSuffix(upper, suffix) && len(name) > len(suffix) {
		return config.LimitKeys[1].Key, name[:len(name)-len(suffix)] + suffix, true
	}
	return k, "", false
}
