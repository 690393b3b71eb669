package maui_test

import (
	"strings"
	"testing"
	"time"

	"fairspool/lib/maui"
	policy "fairspool/lib/policy/maui"
)

func TestEquation(t *testing.T) {
	const hour = 3600
	used := maui.Used{Total: 200, Of: [maui.Kinds]map[string]float64{maui.User: {"john": 63.5836}}}
	for _, c := range []struct {
		name, cfg string
		job       maui.Job
		want      string
	}{
		{"the seed's john", "USERWEIGHT 1\nUSERCFG[john] PRIORITY=300\n", maui.Job{User: "john", Since: -600}, `
310 = SERVICEWEIGHT 1 * 10 + CREDWEIGHT 1 * 300
SERVICE 10 = QUEUETIMEWEIGHT 1 * 10 (minutes of queue time, 0+00:10:00)
CRED 300 = USERWEIGHT 1 * 300 (PRIORITY of user john)`},
		{"caps", "SERVICEWEIGHT 10\nQUEUETIMEWEIGHT 2\nXFACTORWEIGHT 4\nXFACTORCAP 12\nSERVICEWCAP 100\n", maui.Job{Since: -2 * hour, WCLimit: 600}, `
1000 = SERVICEWEIGHT 10 * MIN(SERVICEWCAP 100, 288)
SERVICE 288 = QUEUETIMEWEIGHT 2 * 120 (minutes of queue time, 0+02:00:00)
            + XFACTORWEIGHT 4 * MIN(XFACTORCAP 12, 13) (queue time 0+02:00:00 and limit 0+00:10:00, by 0+00:10:00)`},
		{"a short limit", "QUEUETIMEWEIGHT 0\nXFACTORWEIGHT 100\n", maui.Job{Since: -hour, WCLimit: 60}, `
3050 = SERVICEWEIGHT 1 * 3050
SERVICE 3050 = XFACTORWEIGHT 100 * 30.50 (queue time 0+01:00:00 and limit 0+00:01:00, by 0+00:02:00 of XFMINWCLIMIT)`},
		{"a fraction", "", maui.Job{Since: -1019}, `
16 = SERVICEWEIGHT 1 * 16.98, without the fraction
SERVICE 16.98 = QUEUETIMEWEIGHT 1 * 16.98 (minutes of queue time, 0+00:16:59)`},
		{"bounds below", "USERWEIGHT 1\nUSERCFG[DEFAULT] PRIORITY=-500\n", maui.Job{User: "low", Since: -600}, `
1 = MAX(1, SERVICEWEIGHT 1 * 10 + CREDWEIGHT 1 * -500), as negative priorities are not enabled
SERVICE 10 = QUEUETIMEWEIGHT 1 * 10 (minutes of queue time, 0+00:10:00)
CRED -500 = USERWEIGHT 1 * -500 (PRIORITY of user DEFAULT)`},
		{"bounds above", "QUEUETIMEWEIGHT 2000000\n", maui.Job{Since: -10 * hour}, `
1000000000 = MIN(1000000000, SERVICEWEIGHT 1 * 1200000000)
SERVICE 1200000000 = QUEUETIMEWEIGHT 2000000 * 600 (minutes of queue time, 0+10:00:00)`},
		{"system priority", "", maui.Job{Since: -630, System: 5}, `
1000000005 = 1000000000 + system priority 5, in the place of its own
10.50 = SERVICEWEIGHT 1 * 10.50
SERVICE 10.50 = QUEUETIMEWEIGHT 1 * 10.50 (minutes of queue time, 0+00:10:30)`},
		{"relative system priority", "", maui.Job{Since: -600, System: 2e9 + 7}, `
17 = 10 + system priority 7
10 = SERVICEWEIGHT 1 * 10
SERVICE 10 = QUEUETIMEWEIGHT 1 * 10 (minutes of queue time, 0+00:10:00)`},
		{"a fraction below a relative system priority", "", maui.Job{Since: -630, System: 2e9 - 7}, `
3 = 10.50 + system priority -7, without the fraction
10.50 = SERVICEWEIGHT 1 * 10.50
SERVICE 10.50 = QUEUETIMEWEIGHT 1 * 10.50 (minutes of queue time, 0+00:10:30)`},
		{"a QOS by default, and what it adds", "QUEUETIMEWEIGHT 2\nQOSWEIGHT 1\nCLASSWEIGHT 1\nQOSCFG[q] PRIORITY=100 QTWEIGHT=50\nUSERCFG[u] QDEF=q\n",
			maui.Job{User: "u", Since: -600}, `
620 = SERVICEWEIGHT 1 * 520 + CREDWEIGHT 1 * 100
QOS q: QDEF of user u
SERVICE 520 = QUEUETIMEWEIGHT (2 + 50 of QOS q) * 10 (minutes of queue time, 0+00:10:00)
CRED 100 = QOSWEIGHT 1 * 100 (PRIORITY of QOS q)
         + CLASSWEIGHT 1 * 0 (no PRIORITY of no class)`},
		{"a QOS that is refused, and a clock that stands", "QOSWEIGHT 1\n", maui.Job{User: "u", QOS: "gold", Since: -600, Stopped: true}, `
1 = MAX(1, SERVICEWEIGHT 1 * 0 + CREDWEIGHT 1 * 0), as negative priorities are not enabled
QOS DEFAULT: it asks for gold, to which it has no access
SERVICE 0 = QUEUETIMEWEIGHT 1 * 0 (minutes of queue time; it is not eligible, and its clock stands)
CRED 0 = QOSWEIGHT 1 * 0 (no PRIORITY of QOS DEFAULT)`},
		{"targets", "QUEUETIMEWEIGHT 0\nTARGETQUEUETIMEWEIGHT 1\nTARGETXFACTORWEIGHT 1\nUSERCFG[DEFAULT] QTTARGET=4:00:00 QLIST=q\nQOSCFG[q] XFTARGET=4\n",
			maui.Job{User: "u", QOS: "q", Since: 10 - 4*hour, WCLimit: 2 * hour}, `
1 = TARGETWEIGHT 1 * 1.01, without the fraction
QOS q: it asks for that
TARGET 1.01 = TARGETQUEUETIMEWEIGHT 1 * 0.01 (QTTARGET in seconds of user DEFAULT: (14400 - 14390)^-2)
            + TARGETXFACTORWEIGHT 1 * 0.997 (XFTARGET of QOS q: (4 - 2.999)^-2)`},
		{"a target that is reached", "QUEUETIMEWEIGHT 0\nTARGETQUEUETIMEWEIGHT 1\nUSERCFG[u] QTTARGET=600\n", maui.Job{User: "u", Since: -601}, `
99999999 = TARGETWEIGHT 1 * 99999999.99999999, without the fraction
TARGET 99999999.99999999 = TARGETQUEUETIMEWEIGHT 1 * 99999999.99999999 (QTTARGET in seconds of user u: 0.0001^-2, as 600 - 601 is below that)`},
		{"fair share", "FSPOLICY DEDICATEDPS\nQUEUETIMEWEIGHT 0\nENABLENEGJOBPRIORITY TRUE\nFSUSERWEIGHT 1000\nFSGROUPWEIGHT 1\nFSCLASSWEIGHT 1\nUSERCFG[john] FSTARGET=50\nGROUPCFG[DEFAULT] FSTARGET=20-\n",
			maui.Job{User: "john", Group: "g"}, `
18208 = FSWEIGHT 1 * 18208.20, without the fraction
FS 18208.20 = FSUSERWEIGHT 1000 * 18.21 (FSTARGET 50 of user john, 31.79 % used: 50 - 31.79)
            + FSGROUPWEIGHT 1 * 0 (FSTARGET 20- of group g, that of DEFAULT, 0 % used: MIN(0, 20 - 0), as it is a ceiling)
            + FSCLASSWEIGHT 1 * 0 (no class)`},
		{"requests", "QUEUETIMEWEIGHT 0\nPROCWEIGHT 10\nMEMWEIGHT 1\nPSWEIGHT 1\nPEWEIGHT 100\nWALLTIMEWEIGHT 1\n", maui.Job{Tasks: 2, ProcsPerTask: 1, MemPerTask: 3000, WCLimit: hour}, `
17405 = RESWEIGHT 1 * 17405.94, without the fraction
RES 17405.94 = PROCWEIGHT 10 * 2 (processors, 2 tasks of 1)
             + MEMWEIGHT 1 * 6000 (MB of memory, 2 tasks of 3000)
             + PSWEIGHT 1 * 7200 (processor-seconds, 2 processors and limit 0+01:00:00)
             + PEWEIGHT 100 * 5.86 (processor equivalents)
             + WALLTIMEWEIGHT 1 * 3600 (seconds, limit 0+01:00:00)`},
		{"one processor", "QUEUETIMEWEIGHT 0\nPSWEIGHT 1\n", maui.Job{Tasks: 1, ProcsPerTask: 1, WCLimit: 60}, `
60 = RESWEIGHT 1 * 60
RES 60 = PSWEIGHT 1 * 60 (processor-seconds, 1 processor and limit 0+00:01:00)`},
		{"nothing weighs", "QUEUETIMEWEIGHT 0\nENABLENEGJOBPRIORITY TRUE\n", maui.Job{Since: -600}, `
0 = 0`},
	} {
		cfg, _ := policy.Parse("maui.cfg", []byte(c.cfg), false)
		r := maui.NewReckoner(&cfg, maui.World{Now: time.Unix(0, 0), Used: used, Totals: maui.Totals{Procs: 32, Mem: 32768}})
		p := r.Of(&c.job)
		if got := "\n" + strings.Join(r.Equation(&c.job, &p), "\n"); got != c.want {
			t.Errorf("%s: got%s\nwant%s", c.name, got, c.want)
		}
	}
}
