package config

import (
	"slices"
	"strings"

	"fairspool/lib/nearest"
)

// mauiAliases are names that Maui's manual and real files have for parameters which Maui
// 3.3.1 knows by another name only.
var mauiAliases = map[string]string{
	"SERVWEIGHT": "SERVICEWEIGHT", "SERVCAP": "SERVICEWCAP", "SERVICECAP": "SERVICEWCAP",
	"TARGWEIGHT": "TARGETWEIGHT", "TARGCAP": "TARGETCAP", "RESOURCEWEIGHT": "RESWEIGHT", "MEMORYWEIGHT": "MEMWEIGHT",
	"USAGEPERCENTWEIGHT": "PERCENTWEIGHT", "USAGECONSUMEDWEIGHT": "CONSUMEDWEIGHT", "USAGEREMAININGWEIGHT": "REMAININGWEIGHT",
}

// mauiOlder are parameters of older versions, with what says the same today.
var mauiOlder = map[string]string{
	"UFSWEIGHT": "FSUSERWEIGHT", "GFSWEIGHT": "FSGROUPWEIGHT", "AFSWEIGHT": "FSACCOUNTWEIGHT",
	"QUEUETIMETARGETWEIGHT": "TARGETQUEUETIMEWEIGHT", "XFACTORTARGETWEIGHT": "TARGETXFACTORWEIGHT",
	"SERVICETARGETWEIGHT": "TARGETWEIGHT", "DIRECTSPECWEIGHT": "CREDWEIGHT",
	"QOSPRIORITY": "QOSCFG[NAME] PRIORITY=", "QOSQTWEIGHT": "QOSCFG[NAME] QTWEIGHT=", "QOSXFWEIGHT": "QOSCFG[NAME] XFWEIGHT=",
	"QOSTARGETQT": "QOSCFG[NAME] QTTARGET=", "QOSTARGETXF": "QOSCFG[NAME] XFTARGET=",
}

// laterMaui tells of parameters of Maui's priorities, fair share and limits that this
// version does not serve.
func laterMaui(name string) bool {
	return words("FSENFORCEMENT FSCONFIGFILE FSQOSTARGET ENABLEMULTIREQJOBS JOBPRIOF BACKFILLPOLICY BACKFILLDEPTH RESERVATIONPOLICY "+
		"RESERVATIONDEPTH MAXJOB MAXPROC MAXPS MAXPE MAXNODE MAXWC MAXMEM MAXIJOB MAXIPROC MAXIPS MAXIPE MAXINODE MAXIWC MAXIMEM", name)
}

// skippedMaui tells of parameters of a maui.cfg that have nothing to do with priorities:
// how Maui runs, whom it talks to, what it does besides.
func skippedMaui(name string) bool {
	for _, end := range []string{"WEIGHT", "CAP"} {
		if strings.HasSuffix(name, end) {
			return false // none of them ends so
		}
	}
	for _, begin := range skippedBeginnings {
		if strings.HasPrefix(name, begin) {
			_, slip := nearest.Name(name, []string{"NODEWEIGHT"})
			return !slip
		}
	}
	return words("SYSCFG JOBNODEMATCHPOLICY RESOURCELIMITPOLICY RESDEPTH", name)
}

var skippedBeginnings = strings.Fields("SERVER RM AM ADMIN LOG BACKFILL RESERVATION NODE SRCFG DEFER ENABLEMULTI")

// mauiKey returns the key of [maui] with the name.
func mauiKey(name string) (Key, bool) {
	i := slices.IndexFunc(MauiKeys, func(k Key) bool { return k.Name == name })
	if i < 0 {
		return Key{}, false
	}
	return MauiKeys[i], true
}

// mauiNames are all names that a line of a maui.cfg may begin with.
var mauiNames = append(namesOf(MauiKeys[1:]), credentialKinds...)
