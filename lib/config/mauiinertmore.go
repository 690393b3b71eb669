package config

import (
	"maps"
	"slices"

	"fairspool/lib/maui"
)

// inertDefaults finds what is said of the class DEFAULT and not of those without an entry.
func inertDefaults(m *maui.Config, tell teller) {
	d := m.Credentials[maui.Class][maui.DefaultName]
	for _, a := range []struct {
		name string
		set  bool
	}{{"PRIORITY", d.Priority != 0}, {"FSTARGET", d.FSTarget > 0}} {
		if a.set {
			tell("CLASSCFG["+maui.DefaultName+"]", "%s: counts for a class of that name only, as in Maui", a.name)
		}
	}
}

// inertQOS finds QOS that no job may have, and attributes of them that Maui 3.3.1 leaves out.
func inertQOS(m *maui.Config, tell teller) {
	given := map[string]bool{maui.DefaultName: true}
	for kind := range maui.Kinds {
		for _, c := range m.Credentials[kind] {
			if kind == maui.QOS {
				continue // it gives no access
			}
			given[c.QDef] = true
			for _, name := range c.QList {
				given[name] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Credentials[maui.QOS])) {
		key := maui.QOS.String() + "CFG[" + name + "]"
		if !given[name] {
			tell(key, "has no effect: no QDEF or QLIST has it, so that no job may")
		}
		if c := m.Credentials[maui.QOS][name]; c.FSWeight != 0 && m.Compatible {
			tell(key, "FSWEIGHT: has no effect in Maui 3.3.1")
		}
	}
}

// addsOfQOS tells whether a QOS adds to the weight of a subcomponent.
func addsOfQOS(m *maui.Config, sub maui.Sub) bool {
	return anyCredential(m, maui.QOS, func(c maui.Credential) bool {
		return sub == maui.QueueTime && c.QTWeight != 0 || sub == maui.XFactor && c.XFWeight != 0
	})
}

// inertCaps finds caps of what weighs nothing.
func inertCaps(m *maui.Config, tell teller) {
	for sub := range maui.Subs {
		if m.Subs[sub].Cap > 0 && m.Subs[sub].Weight == 0 && !addsOfQOS(m, sub) {
			p := sub.Parameters()
			tell(p.Cap, "has no effect while %s is 0", p.Weight)
		}
	}
}

// inertComponents finds components that weigh something while nothing in them does, but
// not if more is known of that.
func inertComponents(m *maui.Config, known []inert, tell teller) {
	initial := maui.Default()
	for i := range maui.Components {
		weight := m.Components[i].Weight
		full := weight == 0 || weight == initial.Components[i].Weight
		for sub := range maui.Subs {
			if sub.Component() == i {
				full = full || m.Subs[sub].Weight != 0 || addsOfQOS(m, sub) ||
					slices.ContainsFunc(known, func(k inert) bool { return k.key == sub.Parameters().Weight })
			}
		}
		if !full {
			tell(i.Parameters().Weight, "has no effect: no weight of its subcomponents is set")
		}
	}
}
