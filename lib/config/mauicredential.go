package config

import (
	"slices"
	"strings"

	"fairspool/lib/maui"
)

// credentialKinds are USERCFG and the like, by maui.Kind.
var credentialKinds = func() []string {
	names := make([]string, maui.Kinds)
	for k := range maui.Kinds {
		names[k] = k.String() + "CFG"
	}
	return names
}()

// credentialKind returns which of credentialKinds a name is.
func credentialKind(name string) (maui.Kind, bool) {
	i := slices.Index(credentialKinds, name)
	return maui.Kind(max(i, 0)), i >= 0
}

// credentialKey reads a key such as USERCFG[john].
func credentialKey(key string) (kind maui.Kind, name string, ok bool) {
	before, rest, bracket := strings.Cut(key, "[")
	name, closed := strings.CutSuffix(rest, "]")
	kind, known := credentialKind(before)
	return kind, strings.TrimSpace(name), bracket && closed && known && strings.TrimSpace(name) != ""
}

// only returns the kinds of credentials that have the attribute; none: all do. Maui 3.3.1
// reads targets of service of a QOS only, though its manual has them everywhere.
func (a MauiAttribute) only(compatible bool) []maui.Kind {
	if compatible && (a.Name == "QTTARGET" || a.Name == "XFTARGET") {
		return []maui.Kind{maui.QOS}
	}
	return a.Only
}

// has tells whether credentials of the kind have the attribute.
func (a MauiAttribute) has(kind maui.Kind, compatible bool) bool {
	only := a.only(compatible)
	return len(only) == 0 || slices.Contains(only, kind)
}

// attributeOf returns the attribute of a kind of credentials.
func attributeOf(kind maui.Kind, name string, compatible bool) (MauiAttribute, bool) {
	i := slices.IndexFunc(MauiAttributes, func(a MauiAttribute) bool { return a.Name == name && a.has(kind, compatible) })
	if i < 0 {
		return MauiAttribute{}, false
	}
	return MauiAttributes[i], true
}

// attributesOf returns the names of a kind's attributes.
func attributesOf(kind maui.Kind, compatible bool) []string {
	var names []string
	for _, a := range MauiAttributes {
		if a.has(kind, compatible) {
			names = append(names, a.Name)
		}
	}
	return names
}
