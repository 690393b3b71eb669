package maui

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"fairspool/internal/testenv"
	"fairspool/lib/config"
	"fairspool/lib/maui"
)

var update = flag.Bool("update", false, "write testdata/*.golden anew")

// Files of real sites load. What was made of them is in testdata/maui: the settings that
// differ from the defaults, the warnings, what has no effect, and what of all this is
// different with COMPATIBILITY.
func TestRealMauiFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/*.cfg")
	if err != nil || len(files) < 5 {
		t.Fatalf("testdata/maui: %d files, %v, want 5", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		testenv.OK(t, err)
		ours, theirs := made(text, false), made(text, true)
		for _, line := range theirs {
			if !slices.Contains(ours, line) {
				ours = append(ours, "3.3.1: "+line)
			}
		}
		got := strings.Join(ours, "\n") + "\n"
		golden := strings.TrimSuffix(file, ".cfg") + ".golden"
		if *update {
			testenv.OK(t, os.WriteFile(golden, []byte(got), 0o644))
		}
		if want, err := os.ReadFile(golden); err != nil || got != string(want) {
			t.Errorf("%s gives\n%swant (%v)\n%s", file, got, err, want)
		}
	}
}

// made returns what is made of a maui.cfg, in lines.
func made(text []byte, compatible bool) []string {
	m, warnings := Parse("maui.cfg", text, compatible)
	lines := append(differing(m), warnings...)
	for _, i := range inertOf(&m) {
		lines = append(lines, i.key+": "+i.why)
	}
	return lines
}

// differing returns what a configuration says that the default does not.
func differing(m maui.Config) []string {
	var lines []string
	usual := maui.Default()
	for i, c := range m.Components {
		if c != usual.Components[i] {
			lines = append(lines, fmt.Sprint(maui.Component(i), c))
		}
	}
	for i, s := range m.Subs {
		if s != usual.Subs[i] {
			lines = append(lines, fmt.Sprint(maui.Sub(i), s))
		}
	}
	for kind := range maui.Kinds {
		for _, name := range slices.Sorted(maps.Keys(m.Credentials[kind])) {
			lines = append(lines, fmt.Sprintf("%v[%s]%s", kind, name, saidOf(m.Credentials[kind][name])))
		}
	}
	m.Credentials, m.Components, m.Subs, m.Compatible = usual.Credentials, usual.Components, usual.Subs, false
	return append(lines, fields(m, usual)...)
}

// saidOf returns what is set of a credential.
func saidOf(c maui.Credential) string {
	text := ""
	add := func(name string, b maui.Bound) {
		if b.Set {
			text += fmt.Sprintf(" %s=%v,%v", name, b.Soft, b.Hard)
		}
	}
	for l := range maui.Limits {
		add("MAX"+l.String(), c.Limits[l])
		add("MAXI"+l.String(), c.IdleLimit[l])
	}
	c.Limits, c.IdleLimit = maui.Credential{}.Limits, maui.Credential{}.IdleLimit
	for _, f := range fields(c, maui.Credential{}) {
		text += " " + f
	}
	return text
}

// fields returns the fields of a struct in which it differs from another.
func fields(got, usual any) []string {
	var list []string
	v, w := reflect.ValueOf(got), reflect.ValueOf(usual)
	for i := range v.NumField() {
		if x := v.Field(i).Interface(); !reflect.DeepEqual(x, w.Field(i).Interface()) {
			list = append(list, fmt.Sprintf("%s=%v", v.Type().Field(i).Name, x))
		}
	}
	return list
}

// golden is a case that was observed on Maui 3.3.1.
type golden struct {
	Text     string `json:"maui_cfg"`
	Jobs     []struct{ User, Class string }
	Expected []struct {
		Components map[string]struct {
			Sub map[string]struct{ Weight, Factor float64 }
		}
	}
}

// Files in which everything stands that is odd about the syntax come out as Maui 3.3.1 was
// seen to read them: the weights, the users' and the classes' priorities.
func TestMauiFilesAsObserved(t *testing.T) {
	dir := os.Getenv("FAIRSPOOL_GOLDEN")
	if dir == "" {
		t.Skip("FAIRSPOOL_GOLDEN is not set: no observed cases")
	}
	for _, name := range []string{"config-forms", "value-syntax"} {
		text, err := os.ReadFile(filepath.Join(dir, "maui", name+".json"))
		testenv.OK(t, err)
		var g golden
		if err := json.Unmarshal(text, &g); err != nil || len(g.Expected) == 0 {
			t.Fatalf("%s: %d jobs, %v", name, len(g.Expected), err)
		}
		m, _ := Parse(name, []byte(g.Text), true)
		for i, job := range g.Expected {
			for sub := range maui.Subs {
				want, ok := job.Components[sub.Component().String()].Sub[sub.String()]
				if got := m.Subs[sub].Weight; ok && float64(got) != want.Weight {
					t.Errorf("%s: job %d: weight of %v = %d, want %v", name, i, sub, got, want.Weight)
				}
				kind := map[maui.Sub]maui.Kind{maui.CredUser: maui.User, maui.CredClass: maui.Class}
				if k, isOne := kind[sub]; ok && isOne {
					of := map[maui.Kind]string{maui.User: g.Jobs[i].User, maui.Class: g.Jobs[i].Class}[k]
					if got := m.Credentials[k][of].Priority; float64(got) != want.Factor {
						t.Errorf("%s: priority of %v %s = %d, want %v", name, k, of, got, want.Factor)
					}
				}
			}
		}
	}
}

// What Maui leaves out without a word, and what it reads in a way of its own, is told.
func TestMauiWarnings(t *testing.T) {
	for _, x := range []struct{ text, ours, theirs string }{
		{"QUEUETIMEWEIGHT 10,000", `QUEUETIMEWEIGHT: "10,000": read as 10; ",000" does not count`, "="},
		{"QUEUETIMEWEIGHT -1", "QUEUETIMEWEIGHT: -1 means unset, and has no effect; other numbers below 0 count", "="},
		{"SERVICEWEIGHT -1", "", ""},
		{`RESWEIGHT "4"`, `RESWEIGHT: "4": quotes are not removed; read as 0`, "="},
		{"RESWEIGHT much", `RESWEIGHT: "much": want a whole number`, "="},
		{"RESWEIGHT 20%", `RESWEIGHT: "20%": a percentage of the priority is not part of this version`, "="},
		{"RESWEIGHT 9999999999999", `RESWEIGHT: 9999999999999: read as 1000000000000, the greatest there is`, "="},
		{"XFACTORCAP 0.5", `XFACTORCAP: "0.5": read as 0; ".5" does not count; 0 and below are no cap`, "="},
		{"QUEUETIMEWEIGHT 99999999999999999999", `QUEUETIMEWEIGHT: "99999999999999999999": read as 1000000000000, the greatest there is`, "="},
		{"QUEUETIMEWEIGHT -99999999999999999999", `QUEUETIMEWEIGHT: "-99999999999999999999": want -1000000000000 to 1000000000000; not read`, "="},
		{"USERCFG[u] QLIST=& QDEF=q", `USERCFG[u]: QLIST: "&": want names`, "="},
		{"USERCFG[u] " + strings.Repeat("x", 400), "USERCFG[u]: " + strings.Repeat("x", 300) + "...", "="},
		{"FSDEPTH 28", "FSDEPTH: 28: read as 24, the greatest there is", "="},
		{"FSDEPTH 0", "FSDEPTH: 0: want 1 to 24; not read", "="},
		{"FSINTERVAL 12:00", `FSINTERVAL: "12:00": read as hours and minutes, as Maui 3.3.1 does; its manual says minutes and seconds; write HH:MM:SS`, "="},
		{"FSDECAY 0.5x", `FSDECAY: "0.5x": read as 0.5; "x" does not count`, "="},
		{"FSPOLICY PSDEDICATED", `FSPOLICY: "PSDEDICATED": not read: want NONE, DEDICATEDPS, DEDICATEDPES, UTILIZEDPS, DEDICATEDPS%, DEDICATEDPES%, UTILIZEDPS%`, "="},
		{"FSPOLICY dedicatedps", `FSPOLICY: "dedicatedps": read as DEDICATEDPS`, `FSPOLICY: "dedicatedps": not read: want NONE, DEDICATEDPS, DEDICATEDPES, UTILIZEDPS, DEDICATEDPS%, DEDICATEDPES%, UTILIZEDPS%`},
		{"FSPOLICY TRUE", `FSPOLICY: "TRUE": read as DEDICATEDPS`, "="},
		{"REJECTNEGPRIOJOBS maybe", `REJECTNEGPRIOJOBS: "maybe": read as FALSE; want TRUE or FALSE`, "="},
		{"SERVCAP 5", "SERVCAP: read as SERVICEWCAP, which is what Maui 3.3.1 calls it", "SERVCAP: Maui 3.3.1 does not know it; its name there is SERVICEWCAP"},
		{"userweight 1", "userweight: read as USERWEIGHT; Maui 3.3.1 knows upper case only", "userweight: not read; Maui 3.3.1 knows upper case only"},
		{"usercfg[u] PRIORITY=1", "usercfg: read as USERCFG; Maui 3.3.1 knows upper case only", "usercfg: not read; Maui 3.3.1 knows upper case only"},
		{"USERCFG[u] priority=1", "USERCFG[u]: priority: Maui 3.3.1 knows upper case only", "USERCFG[u]: priority: not read; Maui 3.3.1 knows upper case only"},
		{"USERCFG[u] PRIORITY = 44 FSTARGET=3", "USERCFG[u]: PRIORITY = 44: not read: want ATTRIBUTE=VALUE without blanks", "="},
		{"USERCFG[u]PRIORITY=1", `USERCFG[u]: not read: want a blank behind "]"`, "="},
		{"USERCFG[u PRIORITY=1", `USERCFG: want "]" behind the index`, "="},
		{"USERCFG PRIORITY=1", "USERCFG: want a name in brackets: USERCFG[NAME]", "="},
		{"USERCFG[u]", "USERCFG[u]: no value", "="},
		{"USERCFG[u] PLIST=", "USERCFG[u]: PLIST=: no value", "="},
		{"USERCFG[u] FLAGS=PREEMPTEE", "USERCFG[u]: FLAGS: not part of this version", "="},
		{"USERCFG[u] MAXJOBPERUSER=0 FSCAP=0.0 PLIST=[ALL]", "", ""},
		{"USERCFG[u] MAXNODES=40,40", "USERCFG[u]: MAXNODES: unknown attribute; did you mean MAXNODE?", "="},
		{"USERCFG[u] QTWEIGHT=4", "USERCFG[u]: QTWEIGHT: counts for QOSCFG only", "="},
		{"USERCFG[u] QTTARGET=4:00:00", "", "USERCFG[u]: QTTARGET: counts for QOSCFG only"},
		{"QOSCFG[q] QTTARGET=4:00:00", "", `QOSCFG[q]: QTTARGET: "4:00:00": read as 4; ":00:00" does not count`},
		{"QOSCFG[q] QTTARGET=4:00", `QOSCFG[q]: QTTARGET: "4:00": read as hours and minutes, as Maui 3.3.1 does; its manual says minutes and seconds; write HH:MM:SS`,
			`QOSCFG[q]: QTTARGET: "4:00": read as 4; ":00" does not count`},
		{"QOSCFG[q] QTTARGET=2147483647", `QOSCFG[q]: QTTARGET: "2147483647": read as INFINITY`, ""},
		{"QOSCFG[q] QTTARGET=9999999999", `QOSCFG[q]: QTTARGET: "9999999999": read as INFINITY`, `QOSCFG[q]: QTTARGET: "9999999999": too large; read as 2147483647`},
		{"GROUPCFG[g] PRIORITY=100,", "", ""},
		{"GROUPCFG[g] PRIORITY=abc", `GROUPCFG[g]: PRIORITY: "abc": want a whole number; read as 0`, "="},
		{"GROUPCFG[g] FSTARGET=10?", `GROUPCFG[g]: FSTARGET: "10?": "?" does not count; want +, -, ^ or % behind the number, or nothing`, "="},
		{"GROUPCFG[g] MAXJOB=9,5", `GROUPCFG[g]: MAXJOB: "9,5": the hard limit, which stands second, is below the soft one`, "="},
		{"GROUPCFG[g] MAXJOB=-1", `GROUPCFG[g]: MAXJOB: "-1": below 0: no limit`, "="},
		{"QUEUETIMEWIEGHT 5", "QUEUETIMEWIEGHT: unknown parameter; did you mean QUEUETIMEWEIGHT?", "="},
		{"NODEWIEGHT 5", "NODEWIEGHT: unknown parameter; did you mean NODEWEIGHT?", "="},
		{"DIRECTSPECWEIGHT 5", "DIRECTSPECWEIGHT: an older parameter; write CREDWEIGHT", "="},
		{"QOSPRIORITY[1] 5", "QOSPRIORITY: an older parameter; write QOSCFG[NAME] PRIORITY=", "="},
		{"FSCONFIGFILE fs.cfg", "FSCONFIGFILE: not part of this version", "="},
		{"USERWEIGHT[1] 5", "USERWEIGHT[1]: settings of single partitions are not part of this version", "="},
		{"USERWEIGHT[0] 5", "", ""},
		{"BACKFILLPOLICY NONE\nRESERVATIONPOLICY NEVER\nMAXJOB 0\nENABLEMULTIREQJOBS OFF\nDEFERTIME 0:00:00\nSYSTEMMAXPROCPERJOB -1\nNODESETPOLICY\nAMCFG[bank] TYPE=NONE\nSYSCFG[base] PLIST=", "", ""},
		{"BACKFILLPOLICY FIRSTFIT", "BACKFILLPOLICY: not part of this version", "="},
		{"SRCFG[maint] TASKCOUNT=1", "SRCFG[maint]: not part of this version", "="},
		{"NODECFG[n] SPEED=1", "NODECFG[n]: not part of this version", "="},
		{"DEFERTIME 1:00:00", "DEFERTIME: not part of this version", "="},
		{"LOGFILEROLEDEPTH 5", "LOGFILEROLEDEPTH: unknown parameter; did you mean LOGFILEROLLDEPTH?", "="},
		{"srcfg[maint] TASKCOUNT=1", "srcfg[maint]: not part of this version", "srcfg: not read; Maui 3.3.1 knows upper case only"},
		{"  USERWEIGHT 5", "", "begins with a blank: Maui 3.3.1 does not read it"},
		{"= 5", "want a parameter's name", "="},
		{"#INCLUDE other.cfg", "#INCLUDE other.cfg: not followed; copy its lines to here", "="},
		{"COMPATIBILITY 3.2", `COMPATIBILITY: "3.2": want 3.3.1, or no such line`, "="},
		{"maui_cfg other", "maui_cfg: unknown parameter", "="},
	} {
		if x.theirs == "=" {
			x.theirs = x.ours
		}
		for compatible, want := range map[bool]string{false: x.ours, true: x.theirs} {
			if want != "" {
				want = "maui.cfg:1: " + want
			}
			_, warnings := Parse("maui.cfg", []byte(x.text), compatible)
			if got := strings.Join(warnings, "|"); got != want {
				t.Errorf("%q, compatible %v: %s, want %s", x.text, compatible, got, want)
			}
		}
	}
}

// Of parameters that say how Maui itself runs one warning tells, whatever the number of them.
func TestMauiSkipped(t *testing.T) {
	for text, want := range map[string]string{
		"STATDIR /var/stats": "maui.cfg: STATDIR: skipped: how Maui itself runs has no meaning here",
		"SERVERHOST a\nADMIN1 root\nRMCFG[base] TYPE=PBS\nSIMRESOURCETRACEFILE traces/r\nNOTIFYSCRIPT x\nRMCFG[base] PORT=1": "maui.cfg: SERVERHOST, ADMIN1, RMCFG, SIMRESOURCETRACEFILE, NOTIFYSCRIPT: skipped: how Maui itself runs has no meaning here",
		"USERWEIGHT 5": "",
	} {
		if _, warnings := Parse("maui.cfg", []byte(text), false); strings.Join(warnings, "|") != want {
			t.Errorf("%q: %q, want %q", text, warnings, want)
		}
	}
}

// What values come to.
func TestMauiSettings(t *testing.T) {
	for text, want := range map[string]string{
		"QUEUETIMEWEIGHT 0x10":                      "QUEUETIME {16 0}",
		"QUEUETIMEWEIGHT 5\nQUEUETIMEWEIGHT -1":     "QUEUETIME {5 0}",
		"QUEUETIMEWEIGHT=3":                         "QUEUETIME {3 0}",
		"QUEUETIMEWEIGHT = 3":                       "QUEUETIME {3 0}",
		"QUEUETIMEWEIGHT \\\n 3":                    "QUEUETIME {3 0}",
		"QUEUETIMEWEIGHT 2 # QUEUETIMEWEIGHT 3":     "QUEUETIME {2 0}",
		"QUEUETIMEWEIGHT 2 # \\\nXFACTORWEIGHT 7":   "QUEUETIME {2 0}|XFACTOR {7 0}",
		"QUEUETIMECAP -3":                           "",
		"XFACTORCAP 2.7":                            "XFACTOR {0 2}",
		"SERVCAP 10\nRESWEIGHT -2":                  "SERV {1 10}|RES {-2 0}",
		"XFMINWCLIMIT INFINITY":                     "XFMinWCLimit=277777h46m40s",
		"XFMINWCLIMIT 0":                            "XFMinWCLimit=0s",
		"JOBPRIOACCRUALPOLICY FULLPOLICY":           "Accrual=2",
		"USESYSTEMQUEUETIME no":                     "UseSystemQueueTime=false",
		"ENABLENEGJOBPRIORITY ON":                   "EnableNegative=true",
		"REJECTNEGPRIOJOBS 1":                       "RejectNegative=true",
		"FSPOLICY UTILIZEDPS%":                      "FSPolicy=3|FSRatio=true",
		"FSINTERVAL 1:0:0:0\nFSDEPTH 9\nFSDECAY .5": "Windows={24h0m0s 9 0.5}",
		"USERCFG[ a ] PRIORITY=1 QLIST=x:y,z&\nUSERCFG[a] PRIORITY=010 QDEF=x":             "USER[a] Priority=8 QDef=x QList=[x y z] QListMode=38",
		"QOSCFG[q] QTWEIGHT=1 XFWEIGHT=-1 FSWEIGHT=3 XFTARGET=1.5":                         "QOS[q] QTWeight=1 XFWeight=-1 FSWeight=3 XFTarget=1.5",
		"ACCOUNTCFG[a] FSTARGET=1.5e1%":                                                    "ACCOUNT[a] FSTarget=15 FSMode=37",
		"ACCOUNTCFG[a] FSTARGET=10+\nACCOUNTCFG[a] FSTARGET=20":                            "ACCOUNT[a] FSTarget=20",
		"CLASSCFG[c] MAXJOB=5 MAXIJOB=2,3 MAXPS=24:00:00,48:00:00 DEFAULT.WCLIMIT=1:00:00": "CLASS[c] MAXJOB=5,5 MAXIJOB=2,3 MAXPS=86400,172800 WCLimit=1h0m0s",
		"CLASSCFG[c] QTTARGET=4:00:00":                                                     "CLASS[c] QTTarget=4h0m0s",
		"COMPATIBILITY 3.3.1\nQOSCFG[c] QTTARGET=4:00:00":                                  "QOS[c] QTTarget=4s",
		"COMPATIBILITY 3.3.1\nQOSCFG[c] QTTARGET=1000000100":                               "QOS[c] QTTarget=277777h48m20s",
		"COMPATIBILITY 3.3.1\nQOSCFG[c] QTTARGET=-5":                                       "QOS[c]",
		"COMPATIBILITY 3.3.1\nSERVCAP 5\n USERWEIGHT 3":                                    "",
		"COMPATIBILITY 3.3.1\nuserweight 5\nUSERWEIGHT\t3":                                 "USER {3 0}",
	} {
		m, warnings := Parse("maui.cfg", []byte(text), false)
		if got := strings.Join(differing(m), "|"); got != want {
			t.Errorf("%q gives %s, want %s (%q)", text, got, want, warnings)
		}
		if strings.HasPrefix(text, "COMPATIBILITY") != m.Compatible {
			t.Errorf("%q: Compatible = %v", text, m.Compatible)
		}
	}
}

// A file of nothing but unknown names has hints at the first: each takes a while.
func TestMauiHints(t *testing.T) {
	var text strings.Builder
	for i := range 800 {
		fmt.Fprintf(&text, "QUEUETIMEWIEGHT%d 3\n", i%400)
	}
	_, warnings := Parse("maui.cfg", []byte(text.String()), false)
	hints := 0
	for _, w := range warnings {
		if strings.Contains(w, "did you mean QUEUETIMEWEIGHT?") {
			hints++
		}
	}
	attributes := map[string]bool{}
	_, of := Parse("maui.cfg", []byte(strings.Repeat("USERCFG[a] MAXNODES=3\n", 3)), false)
	for _, w := range of {
		_, text, _ := strings.Cut(w, " ")
		attributes[text] = true
	}
	if len(of) != 3 || !attributes["USERCFG[a]: MAXNODES: unknown attribute; did you mean MAXNODE?"] || len(attributes) != 1 {
		t.Errorf("a misspelt attribute in three lines: %q", of)
	}
	if len(warnings) != 800 || hints != 2*config.MostHints {
		t.Errorf("%d warnings, %d with a hint, want 800, %d", len(warnings), hints, 2*config.MostHints)
	}
}

// Whatever the text, every line of the warnings names the file, and all that comes out is
// in range.
func FuzzParseMaui(f *testing.F) {
	for _, text := range []string{"USERCFG[a] PRIORITY=0x7fffffffffffffffffff FSTARGET=1e999+ MAXJOB=,", "FSINTERVAL 99999999:99:99\nFSDEPTH 1e3", "A[\n]\\\n=", "QUEUETIMECAP -9223372036854775808",
		"QOSCFG[q] QTTARGET=INFINITY QLIST=^ XFTARGET=.", "\xff\x00 USERWEIGHT 3\r\n", "#INCLUDE x\nCOMPATIBILITY 3.3.1"} {
		f.Add(text, true)
		f.Add(text, false)
	}
	f.Fuzz(func(t *testing.T, text string, compatible bool) {
		m, warnings := Parse("maui.cfg", []byte(text), compatible)
		for _, w := range warnings {
			if !strings.HasPrefix(w, "maui.cfg:") || strings.ContainsAny(w, "\n\r\t\x00") {
				t.Errorf("warning %q: want one line with the file's name", w)
			}
		}
		inRange := func(what string, t maui.Term) error {
			if t.Weight < -mostWeight || t.Weight > mostWeight || t.Cap < 0 || t.Cap > mostWeight {
				return fmt.Errorf("%s = %+v, out of range", what, t)
			}
			return nil
		}
		for i, s := range m.Subs {
			if err := inRange(maui.Sub(i).String(), s); err != nil {
				t.Error(err)
			}
		}
		for i, c := range m.Components {
			if err := inRange(maui.Component(i).String(), c); err != nil {
				t.Error(err)
			}
		}
		if w := m.Windows; w.Interval < time.Second || w.Interval > config.MaxSeconds*time.Second || w.Depth < 1 || w.Depth > 24 || !(w.Decay >= 0 && w.Decay <= 1) {
			t.Errorf("windows %+v, out of range", w)
		}
		for _, all := range m.Credentials {
			for name, c := range all {
				if c.QTTarget < 0 || c.QTTarget > config.MaxSeconds*time.Second || c.WCLimit < 0 || c.Priority > mostWeight || c.Priority < -mostWeight || !(c.FSTarget*0 == 0) || !(c.XFTarget*0 == 0) || name == "" {
					t.Errorf("credential %q: %+v, out of range", name, c)
				}
			}
		}
	})
}

// A file that is no maui.cfg does not fill the terminal.
func TestMauiFileOfNonsense(t *testing.T) {
	_, warnings := Parse("f", []byte(strings.Repeat("QUEUETIMEWEIGT 3\n[x]\n", 4000)), false)
	if want := "f: 7000 more warnings"; len(warnings) != 1001 || warnings[1000] != want {
		t.Errorf("8000 bad lines: %d warnings, the last one %q, want 1001 and %q", len(warnings), warnings[len(warnings)-1], want)
	}
}
