package maui

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"fairspool/lib/config"
	"fairspool/lib/maui"
)

// inert is a setting of Maui's that has no effect, and why.
type inert struct{ key, why string }

// inertOf returns the settings that have no effect for want of others. They help to find
// the cause of an unexpected order; none is an error.
func inertOf(m *maui.Config) []inert {
	var found []inert
	tell := func(key, format string, with ...any) {
		found = append(found, inert{key, fmt.Sprintf(format, with...)})
	}
	inertWeights(m, tell)
	inertPriorities(m, tell)
	inertTargets(m, tell)
	inertShares(m, tell)
	inertDefaults(m, tell)
	inertQOS(m, tell)
	inertCaps(m, tell)
	inertComponents(m, found, tell)
	return found
}

// warn tells what of the table [maui] has no effect, if it counts at all.
func warn(c *config.Config) {
	if c.JobPriorityPolicy != policyName {
		return
	}
	for _, i := range inertOf(Settings(c)) {
		c.Warnings = append(c.Warnings, c.Complain(policyName+"."+i.key, errors.New(i.why)).Error())
	}
}

type teller func(key, format string, with ...any)

// inertWeights finds weights below a component that weighs nothing, and such as never
// count.
func inertWeights(m *maui.Config, tell teller) {
	initial := maui.Default()
	for sub := range maui.Subs {
		of, weight := sub.Component(), sub.Parameters().Weight
		switch {
		case m.Subs[sub].Weight == 0 || m.Subs[sub].Weight == initial.Subs[sub].Weight:
		case of == maui.Attribute || of == maui.Usage || sub == maui.UProc || sub == maui.UJob:
			tell(weight, "has no effect on the order of waiting jobs, as in Maui")
		case sub == maui.SPViolation && m.Compatible:
			tell(weight, "has no effect in Maui 3.3.1, which never counts violations")
		case m.Components[of].Weight == 0:
			tell(weight, "has no effect while %s is 0", of.Parameters().Weight)
		}
	}
}

// anyCredential reports whether a credential of the kind is such.
func anyCredential(m *maui.Config, kind maui.Kind, is func(maui.Credential) bool) bool {
	for _, c := range m.Credentials[kind] {
		if is(c) {
			return true
		}
	}
	return false
}

// inertPriorities finds PRIORITY without a weight, and weights without a PRIORITY.
func inertPriorities(m *maui.Config, tell teller) {
	for kind := range maui.Kinds {
		sub := maui.CredUser + maui.Sub(kind)
		weight := sub.Parameters().Weight
		set := anyCredential(m, kind, func(c maui.Credential) bool { return c.Priority != 0 })
		switch {
		case set && m.Subs[sub].Weight == 0:
			tell(weight, "is 0, so that PRIORITY of %sCFG has no effect", kind)
		case !set && m.Subs[sub].Weight != 0:
			tell(weight, "has no effect: no %sCFG[NAME] has a PRIORITY", kind)
		}
	}
}

// inertTargets finds QTTARGET and XFTARGET without their weights, and the other way round.
func inertTargets(m *maui.Config, tell teller) {
	for _, t := range []struct {
		sub  maui.Sub
		name string
		set  func(maui.Credential) bool
	}{
		{maui.TargetQueueTime, "QTTARGET", func(c maui.Credential) bool { return c.QTTarget > 0 }},
		{maui.TargetXFactor, "XFTARGET", func(c maui.Credential) bool { return c.XFTarget > 0 }},
	} {
		set := false
		for kind := range maui.Kinds {
			set = set || anyCredential(m, kind, t.set)
		}
		switch {
		case set && m.Subs[t.sub].Weight == 0:
			tell(t.sub.Parameters().Weight, "is 0, so that %s has no effect", t.name)
		case !set && m.Subs[t.sub].Weight != 0:
			tell(t.sub.Parameters().Weight, "has no effect: nobody has %s", t.name)
		}
	}
}

// inertShares finds FSTARGET without FSPOLICY or a weight, and weights without FSTARGET.
func inertShares(m *maui.Config, tell teller) {
	used := false
	for kind := range maui.Kinds {
		sub := maui.FSUser + maui.Sub(kind)
		weight := sub.Parameters().Weight
		set := anyCredential(m, kind, func(c maui.Credential) bool { return c.FSTarget > 0 })
		// Quotas keep jobs out, and count in no priority.
		weighed := anyCredential(m, kind, func(c maui.Credential) bool {
			return c.FSTarget > 0 && c.FSMode != maui.FSQuota && c.FSMode != maui.FSRelative
		})
		used = used || set || m.Subs[sub].Weight != 0
		switch {
		case weighed && m.Subs[sub].Weight == 0:
			tell(weight, "is 0, so that FSTARGET of %sCFG has no effect", kind)
		case !weighed && m.Subs[sub].Weight != 0:
			tell(weight, "has no effect: no %sCFG[NAME] has an FSTARGET that counts in priorities", kind)
		}
	}
	if used && m.FSPolicy == maui.NoFairShare {
		tell("FSPOLICY", "is NONE, so that fair share has no effect; set DEDICATEDPS, DEDICATEDPES or UTILIZEDPS")
	}
}

// inertDefaults finds settings of the class DEFAULT that do not apply to classes without
// an entry.
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

// addsOfQOS reports whether a QOS adds to the weight of a subcomponent.
func addsOfQOS(m *maui.Config, sub maui.Sub) bool {
	return anyCredential(m, maui.QOS, func(c maui.Credential) bool {
		return sub == maui.QueueTime && c.QTWeight != 0 || sub == maui.XFactor && c.XFWeight != 0
	})
}

// inertCaps finds caps of components without a weight.
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
