package config

import (
	"slices"

	"fairspool/lib/maui"
)

// MauiTerm is what the weight and the cap of a component or a subcomponent of Maui's
// priority are called, and what it counts. Both are keys of [maui].
type MauiTerm struct {
	Weight, Cap string // Cap is empty where there is none
	Default     int64  // of the weight; a cap is 0 by default, which is none
	Counts      string
}

// MauiComponents are the components, by maui.Component.
var MauiComponents = [maui.Components]MauiTerm{
	maui.Service:     {"SERVICEWEIGHT", "SERVICEWCAP", 1, "how the job was served so far"},
	maui.Target:      {"TARGETWEIGHT", "TARGETCAP", 1, "how near it is to its targets of service"},
	maui.Credentials: {"CREDWEIGHT", "CREDCAP", 1, "whose it is: PRIORITY of its credentials"},
	maui.Attribute:   {"ATTRWEIGHT", "ATTRCAP", 1, "nothing, as in Maui"},
	maui.FairShare:   {"FSWEIGHT", "FSCAP", 1, "how far its credentials are below their FSTARGET"},
	maui.Resource:    {"RESWEIGHT", "RESCAP", 1, "what it asks for"},
	maui.Usage:       {"USAGEWEIGHT", "USAGECAP", 1, "what it has used; nothing while it waits"},
}

// MauiSubs are the subcomponents, by maui.Sub.
var MauiSubs = [maui.Subs]MauiTerm{
	maui.QueueTime:       {"QUEUETIMEWEIGHT", "QUEUETIMECAP", 1, "minutes that it has waited"},
	maui.XFactor:         {"XFACTORWEIGHT", "XFACTORCAP", 0, "expansion factor: the time waited and its limit, by its limit"},
	maui.SPViolation:     {"SPVIOLATIONWEIGHT", "SPVIOLATIONCAP", 0, "1 if it is beyond a soft limit"},
	maui.Bypass:          {"BYPASSWEIGHT", "BYPASSCAP", 0, "how often a job behind it was started first"},
	maui.TargetQueueTime: {"TARGETQUEUETIMEWEIGHT", "TARGETQUEUETIMECAP", 0, "how near the time waited is to QTTARGET"},
	maui.TargetXFactor:   {"TARGETXFACTORWEIGHT", "TARGETXFACTORCAP", 0, "how near the expansion factor is to XFTARGET"},
	maui.CredUser:        {"USERWEIGHT", "USERCAP", 0, "PRIORITY of its user"},
	maui.CredGroup:       {"GROUPWEIGHT", "GROUPCAP", 0, "PRIORITY of its group"},
	maui.CredAccount:     {"ACCOUNTWEIGHT", "ACCOUNTCAP", 0, "PRIORITY of its account"},
	maui.CredQOS:         {"QOSWEIGHT", "QOSCAP", 0, "PRIORITY of its QOS"},
	maui.CredClass:       {"CLASSWEIGHT", "CLASSCAP", 0, "PRIORITY of its class"},
	maui.AttrAttr:        {"ATTRATTRWEIGHT", "ATTRATTRCAP", 0, "nothing, as in Maui"},
	maui.AttrState:       {"ATTRSTATEWEIGHT", "ATTRSTATECAP", 0, "nothing, as in Maui"},
	maui.FSUser:          {"FSUSERWEIGHT", "FSUSERCAP", 0, "percent points its user is below FSTARGET"},
	maui.FSGroup:         {"FSGROUPWEIGHT", "FSGROUPCAP", 0, "the same of its group"},
	maui.FSAccount:       {"FSACCOUNTWEIGHT", "FSACCOUNTCAP", 0, "the same of its account"},
	maui.FSQOS:           {"FSQOSWEIGHT", "FSQOSCAP", 0, "the same of its QOS"},
	maui.FSClass:         {"FSCLASSWEIGHT", "FSCLASSCAP", 0, "the same of its class"},
	maui.Node:            {"NODEWEIGHT", "NODECAP", 0, "machines that it asks for"},
	maui.Proc:            {"PROCWEIGHT", "PROCCAP", 0, "processors"},
	maui.Mem:             {"MEMWEIGHT", "MEMCAP", 0, "memory, MB"},
	maui.Swap:            {"SWAPWEIGHT", "SWAPCAP", 0, "swap, MB"},
	maui.Disk:            {"DISKWEIGHT", "DISKCAP", 0, "disk, MB"},
	maui.PS:              {"PSWEIGHT", "PSCAP", 0, "processors times its limit in seconds"},
	maui.PE:              {"PEWEIGHT", "PECAP", 0, "processor equivalents"},
	maui.WallTime:        {"WALLTIMEWEIGHT", "WALLTIMECAP", 0, "its limit, seconds"},
	maui.UProc:           {"UPROCWEIGHT", "", 0, "nothing, as in Maui"},
	maui.UJob:            {"UJOBWEIGHT", "", 0, "nothing, as in Maui"},
	maui.Consumed:        {"CONSUMEDWEIGHT", "CONSUMEDCAP", 0, "nothing while it waits"},
	maui.ExecutionTime:   {"USAGEEXECUTIONTIMEWEIGHT", "USAGEEXECUTIONTIMECAP", 0, "nothing while it waits"},
	maui.Remaining:       {"REMAININGWEIGHT", "REMAININGCAP", 0, "nothing while it waits"},
	maui.Percent:         {"PERCENTWEIGHT", "PERCENTCAP", 0, "nothing while it waits"},
}

// mostWeight keeps every product of a weight with a number of a job's exact enough, and
// within the range of numbers.
const mostWeight = 1e12

// unsetWeight is what Maui takes for no weight at all where a subcomponent has it.
const unsetWeight = -1

// mauiWeights are the weights and caps as keys.
func mauiWeights() []Key {
	var keys []Key
	add := func(t MauiTerm, of func(*Config) *maui.Term, unset bool) {
		keys = append(keys, Key{Name: t.Weight, Kind: Integer, Default: t.Default, Least: -mostWeight, Most: mostWeight,
			Help: "What a point counts of: " + t.Counts + ".",
			set: func(c *Config, v any) {
				if n := v.(int64); !unset || n != unsetWeight {
					of(c).Weight = n
				}
			}})
		if t.Cap != "" {
			keys = append(keys, Key{Name: t.Cap, Kind: Integer, Default: int64(0), Least: -mostWeight, Most: mostWeight,
				Help: "No more than this counts of: " + t.Counts + ", before it is weighed. 0 and below: no bound.",
				set:  func(c *Config, v any) { of(c).Cap = max(v.(int64), 0) }})
		}
	}
	for i, t := range MauiComponents {
		add(t, func(c *Config) *maui.Term { return &c.Maui.Components[i] }, false)
	}
	for i, t := range MauiSubs {
		add(t, func(c *Config) *maui.Term { return &c.Maui.Subs[i] }, true)
	}
	return keys
}

// isSubWeight tells whether a key is the weight of a subcomponent.
func isSubWeight(name string) bool {
	return slices.ContainsFunc(MauiSubs[:], func(t MauiTerm) bool { return t.Weight == name })
}
