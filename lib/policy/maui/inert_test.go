package maui

import (
	"strings"
	"testing"
)

// What has no effect for want of another setting is told, if the policy is Maui's.
func TestInertMaui(t *testing.T) {
	for _, x := range []struct{ text, want string }{
		{"", ""},
		{"QUEUETIMEWEIGHT = 5", ""},
		{"USERWEIGHT = 1", "f:3: maui.USERWEIGHT: has no effect: no USERCFG[NAME] has a PRIORITY"},
		{"USERCFG.john.PRIORITY = 1", "maui.USERWEIGHT: is 0, so that PRIORITY of USERCFG has no effect"},
		{"USERWEIGHT = 1\nUSERCFG.john.PRIORITY = 1", ""},
		{"CREDWEIGHT = 0\nUSERWEIGHT = 1\nUSERCFG.john.PRIORITY = 1", "f:4: maui.USERWEIGHT: has no effect while CREDWEIGHT is 0"},
		{"SERVICEWEIGHT = 0", ""},
		{"USERCFG.john.QTTARGET = 1", "maui.TARGETQUEUETIMEWEIGHT: is 0, so that QTTARGET has no effect"},
		{"TARGETXFACTORWEIGHT = 1", "f:3: maui.TARGETXFACTORWEIGHT: has no effect: nobody has XFTARGET"},
		{"TARGETXFACTORWEIGHT = 1\nQOSCFG.q.XFTARGET = 2\nUSERCFG.john.QDEF = \"q\"", ""},
		{"FSPOLICY = \"DEDICATEDPS\"\nUSERCFG.john.FSTARGET = 1", "maui.FSUSERWEIGHT: is 0, so that FSTARGET of USERCFG has no effect"},
		{"FSPOLICY = \"DEDICATEDPS\"\nUSERCFG.john.FSTARGET = \"1%\"", ""},
		{"FSUSERWEIGHT = 1\nUSERCFG.john.FSTARGET = 1", "maui.FSPOLICY: is NONE, so that fair share has no effect; set DEDICATEDPS, DEDICATEDPES or UTILIZEDPS"},
		{"FSPOLICY = \"DEDICATEDPS\"\nFSUSERWEIGHT = 1\nUSERCFG.john.FSTARGET = \"1^\"", "f:4: maui.FSUSERWEIGHT: has no effect: no USERCFG[NAME] has an FSTARGET that counts in priorities"},
		{"PERCENTWEIGHT = 1", "f:3: maui.PERCENTWEIGHT: has no effect on the order of waiting jobs, as in Maui"},
		{"UJOBWEIGHT = 1", "f:3: maui.UJOBWEIGHT: has no effect on the order of waiting jobs, as in Maui"},
		{"SPVIOLATIONWEIGHT = 1", ""},
		{"CLASSWEIGHT = 1\nCLASSCFG.DEFAULT.PRIORITY = 5", "f:4: maui.CLASSCFG[DEFAULT]: PRIORITY: counts for a class of that name only, as in Maui"},
		{"CLASSCFG.DEFAULT.\"DEFAULT.WCLIMIT\" = 60", ""},
		{"QOSWEIGHT = 1\nQOSCFG.hi.PRIORITY = 5", "f:4: maui.QOSCFG[hi]: has no effect: no QDEF or QLIST has it, so that no job may"},
		{"QOSWEIGHT = 1\nQOSCFG.hi.PRIORITY = 5\nCLASSCFG.c.QLIST = \"lo,hi&\"", ""},
		{"QOSWEIGHT = 1\nQOSCFG.hi.PRIORITY = 5\nQOSCFG.lo.QDEF = \"hi\"\nUSERCFG.u.QDEF = \"lo\"", "f:4: maui.QOSCFG[hi]: has no effect: no QDEF or QLIST has it, so that no job may"},
		{"QOSWEIGHT = 1\nQOSCFG.DEFAULT.PRIORITY = 5", ""},
		{"COMPATIBILITY = \"3.3.1\"\nQOSCFG.DEFAULT.FSWEIGHT = 5", "f:4: maui.QOSCFG[DEFAULT]: FSWEIGHT: has no effect in Maui 3.3.1"},
		{"XFACTORCAP = 5", "f:3: maui.XFACTORCAP: has no effect while XFACTORWEIGHT is 0"},
		{"XFACTORCAP = 5\nQOSCFG.DEFAULT.XFWEIGHT = 5", ""},
		{"QUEUETIMECAP = 5", ""},
		{"RESWEIGHT = 10", "f:3: maui.RESWEIGHT: has no effect: no weight of its subcomponents is set"},
		{"RESWEIGHT = 10\nMEMWEIGHT = 1", ""},
		{"SERVICEWEIGHT = 2\nQUEUETIMEWEIGHT = 0\nQOSCFG.DEFAULT.QTWEIGHT = 1", ""},
		{"FSWEIGHT = 100\nFSPOLICY = \"DEDICATEDPS\"\nUSERCFG.DEFAULT.FSTARGET = 10", "maui.FSUSERWEIGHT: is 0, so that FSTARGET of USERCFG has no effect"},
		{"SPVIOLATIONWEIGHT = 1\nCOMPATIBILITY = \"3.3.1\"", "f:3: maui.SPVIOLATIONWEIGHT: has no effect in Maui 3.3.1, which never counts violations"},
	} {
		for _, policy := range []string{"condor", "maui"} {
			c, err := schema.Parse("f", []byte("JOB_PRIORITY_POLICY = \""+policy+"\"\n[maui]\n"+x.text))
			want := x.want
			if policy == "condor" {
				want = ""
			}
			if got := strings.Join(c.Warnings, "|"); err != nil || got != want {
				t.Errorf("%s under %s: %s, %v, want %s", x.text, policy, got, err, want)
			}
		}
	}
}
