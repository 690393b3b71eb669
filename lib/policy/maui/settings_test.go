package maui

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairspool/internal/testenv"
	"fairspool/lib/config"
	"golang.org/x/sys/unix"
)

// schema is that of this policy and of the default one.
var schema = config.NewSchema([]string{"condor", policyName}, Policy{}.Table())

func TestMauiTable(t *testing.T) {
	for text, want := range map[string]string{
		"QUEUETIMEWEIGHT = 10\nXFACTORCAP = 5\nSERVICEWEIGHT = -1": "SERV {-1 0}|QUEUETIME {10 0}|XFACTOR {0 5}",
		"SERVCAP = 7\nTARGWEIGHT = 2":                              "SERV {1 7}|TARG {2 0}",
		"FSPOLICY = \"DEDICATEDPES%\"\nXFMINWCLIMIT = \"0:10:00\"": "XFMinWCLimit=10m0s|FSPolicy=2|FSRatio=true",
		"JOBPRIOACCRUALPOLICY = \"ALWAYS\"\nUSESYSTEMQUEUETIME = false\nENABLENEGJOBPRIORITY = true\nREJECTNEGPRIOJOBS = true": "Accrual=0|UseSystemQueueTime=false|EnableNegative=true|RejectNegative=true",
		"\"USERCFG[john]\" = \"PRIORITY=300 QLIST=a,b\"":                                                                       "USER[john] Priority=300 QList=[a b]",
		"\"USERCFG[john]\" = \"PRIORITY=300\"\n[maui.USERCFG.john]\nPRIORITY = 4\nQDEF = \"a\"":                                "USER[john] Priority=4 QDef=a",
		"[maui.USERCFG.john]\nPRIORITY = -300\nQLIST = [\"a\", \"b\"]\nMAXJOB = [5, 10]\nMAXPROC = \"3,4\"\nMAXIJOB = 2":       "USER[john] MAXJOB=5,10 MAXIJOB=2,2 MAXPROC=3,4 Priority=-300 QList=[a b]",
		"[maui.QOSCFG]\nhigh = { XFTARGET = 1.5, QTTARGET = \"4:00:00\" }\n\"lo.w\" = \"FSTARGET=10+\"":                        "QOS[high] QTTarget=4h0m0s XFTarget=1.5|QOS[lo.w] FSTarget=10 FSMode=43",
		"CLASSCFG.a.FSTARGET = 12.5\nCLASSCFG.a.\"DEFAULT.WCLIMIT\" = 60\nUSERWEIGHT = 3":                                      "USER {3 0}|CLASS[a] FSTarget=12.5 WCLimit=1m0s",
		"GROUPCFG.g.QTTARGET = 14400": "GROUP[g] QTTarget=4h0m0s",
	} {
		c, err := schema.Parse("f", []byte("[maui]\n"+text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if got := strings.Join(differing(*Settings(&c)), "|"); got != want || len(c.Warnings) > 0 {
			t.Errorf("%q gives %s, want %s (%q)", text, got, want, c.Warnings)
		}
	}
}

func TestMauiTableRefuses(t *testing.T) {
	for _, x := range []struct{ text, want string }{
		{"QUEUETIMEWEIHGT = 5", "f:2: maui.QUEUETIMEWEIHGT: unknown key; did you mean QUEUETIMEWEIGHT?"},
		{"queuetimeweight = 5", "f:2: maui.queuetimeweight: unknown key; did you mean QUEUETIMEWEIGHT?"},
		{"QUEUETIMEWEIGHT = 0.5", "f:2: maui.QUEUETIMEWEIGHT: 0.5: want a whole number"},
		{"QUEUETIMEWEIGHT = \"5\"", "f:2: maui.QUEUETIMEWEIGHT: \"5\": want a whole number"},
		{"QUEUETIMECAP = 1000000000001", "f:2: maui.QUEUETIMECAP: 1000000000001: want -1000000000000 to 1000000000000"},
		{"SERVCAP = 5\nSERVICEWCAP = 6", "f:3: maui.SERVICEWCAP: SERVCAP is the same (f:2): one of the two is another name of it"},
		{"COMPATIBILITY = \"3.2\"", "f:2: maui.COMPATIBILITY: \"3.2\": want \"\", \"3.3.1\""},
		{"XFMINWCLIMIT = \"10:00\"", "f:2: maui.XFMINWCLIMIT: \"10:00\": minutes or hours?"},
		{"USERCFG = 5", "f:2: maui.USERCFG: 5: want a table of names, or a key \"USERCFG[NAME]\""},
		{"\"USRCFG[john]\" = \"PRIORITY=3\"", "f:2: maui.USRCFG[john]: unknown key; did you mean USERCFG[john]?"},
		{"\"USERCFG[]\" = \"PRIORITY=3\"", "f:2: maui.USERCFG[]: unknown key; want a key such as \"USERCFG[NAME]\""},
		{"\"USERCFG[john]\" = 3", "f:2: maui.USERCFG[john]: 3: want ATTRIBUTE=VALUE in a string, or a table"},
		{"\"USERCFG[john]\" = \"\"", "f:2: maui.USERCFG[john]: \"\": want ATTRIBUTE=VALUE in a string"},
		{"\"USERCFG[john]\" = \"PRIORITY = 3\"", "f:2: maui.USERCFG[john]: \"PRIORITY = 3\": want ATTRIBUTE=VALUE, with blanks between two and nowhere else"},
		{"\"USERCFG[john]\" = \"PRIORTY=3\"", "f:2: maui.USERCFG[john]: PRIORTY: unknown attribute; did you mean PRIORITY?"},
		{"[maui.USERCFG.john]\nFSTARGET = 3\nPRIORITY = 1.5", "f:4: maui.USERCFG[john]: PRIORITY: \"1.5\": want a whole number"},
		{"[maui.USERCFG.john]\npriority = 1", "f:3: maui.USERCFG[john]: priority: unknown attribute; did you mean PRIORITY?"},
		{"[maui.USERCFG.john]\nPRIORITY = true", "f:3: maui.USERCFG[john]: PRIORITY: true: want a number, a string or an array of such"},
		{"[maui.USERCFG.john]\nQTTARGET = \"4:00\"", "f:3: maui.USERCFG[john]: QTTARGET: \"4:00\": want seconds, HH:MM:SS or DD:HH:MM:SS"},
		{"[maui.USERCFG.john]\nMAXJOB = [10, 5]", "f:3: maui.USERCFG[john]: MAXJOB: \"10,5\": want a number, or SOFT,HARD"},
		{"[maui.USERCFG.john]\nMAXJOB = [1, 2, 3]", "f:3: maui.USERCFG[john]: MAXJOB: \"1,2,3\": want a number, or SOFT,HARD"},
		{"[maui.USERCFG.john]\nQLIST = [\"a\", [\"b\"]]", "f:3: maui.USERCFG[john]: QLIST: an array: want a number"},
		{"[maui.USERCFG.john]\nQLIST = []", "f:3: maui.USERCFG[john]: QLIST: \"\": want names"},
		{"[maui.USERCFG.john]\nFSTARGET = nan", "f:3: maui.USERCFG[john]: FSTARGET: \"NaN\": want a number"},
		{"[maui.USERCFG.john]\nFLAGS = \"PREEMPTEE\"", "f:3: maui.USERCFG[john]: FLAGS: not part of this version"},
		{"[maui.USERCFG.john]\nQTWEIGHT = 1", "f:3: maui.USERCFG[john]: QTWEIGHT: counts for QOSCFG only"},
		{"maui_cfg = \"/nowhere/maui.cfg\"", "f:2: maui.maui_cfg: /nowhere/maui.cfg: no such file"},
		{"maui_cfg = \"a\\nb\"", "f:2: maui.maui_cfg: \"a\\nb\": control characters in a path"},
	} {
		_, err := schema.Parse("f", []byte("[maui]\n"+x.text))
		if err == nil || !strings.HasPrefix(err.Error(), x.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("Parse(%q) = %v, want %q", x.text, err, x.want)
		}
	}
}

// The table counts for more than the maui.cfg that it names, wherever it does.
func TestMauiFile(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		testenv.OK(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	write("maui.cfg", "QUEUETIMEWEIGHT 5\nUSERCFG[john] PRIORITY=1 FSTARGET=10\nQUEUETIMEWIEGHT 3\nSERVCAP 6\nQOSCFG[q] QTTARGET=4:00:00\n")
	path := write("fairspool.toml", "[maui]\nQUEUETIMEWEIGHT = 7\nXFACTORWEIGHT = -1\nmaui_cfg = \"maui.cfg\"\n\"USERCFG[john]\" = \"PRIORITY=2\"\n")
	c, err := schema.Load(path)
	testenv.OK(t, err)
	file := filepath.Join(dir, "maui.cfg")
	if got, want := strings.Join(differing(*Settings(&c)), "|"), "SERV {1 6}|QUEUETIME {7 0}|USER[john] Priority=2 FSTarget=10|QOS[q] QTTarget=4h0m0s"; got != want {
		t.Errorf("with a maui.cfg: %s, want %s", got, want)
	}
	if got, want := strings.Join(c.Warnings, "|"), file+":3: QUEUETIMEWIEGHT: unknown parameter; did you mean QUEUETIMEWEIGHT?|"+
		file+":4: SERVCAP: read as SERVICEWCAP, which is what Maui 3.3.1 calls it|"+
		path+":3: maui.XFACTORWEIGHT: -1 means unset, and has no effect; other numbers below 0 count"; got != want {
		t.Errorf("warnings: %s, want %s", got, want)
	}
	for key, at := range map[string]string{"maui.QUEUETIMEWEIGHT": path + ":2", "maui.SERVICEWCAP": file + ":4", "maui.QOSCFG[q]": file + ":5", "maui.USERCFG[john]": path + ":5", "maui.FSDEPTH": ""} {
		if got := c.Where(key); got != at {
			t.Errorf("Where(%s) = %q, want %q", key, got, at)
		}
	}
	for _, x := range []struct{ set, want string }{
		{"maui.QUEUETIMEWEIGHT=2", "SERV {1 6}|QUEUETIME {2 0}|USER[john] Priority=2 FSTarget=10|QOS[q] QTTarget=4h0m0s"},
		{"maui.SERVCAP=2", "SERV {1 2}|QUEUETIME {7 0}|USER[john] Priority=2 FSTarget=10|QOS[q] QTTarget=4h0m0s"},
		{"maui.USERCFG[john]=PRIORITY=3", "SERV {1 6}|QUEUETIME {7 0}|USER[john] Priority=3 FSTarget=10|QOS[q] QTTarget=4h0m0s"},
		{"maui.\"USERCFG[j.d]\"=PRIORITY=3 QDEF=q", "SERV {1 6}|QUEUETIME {7 0}|USER[j.d] Priority=3 QDef=q|USER[john] Priority=2 FSTarget=10|QOS[q] QTTarget=4h0m0s"},
		{"maui.COMPATIBILITY=3.3.1", "QUEUETIME {7 0}|USER[john] Priority=2 FSTarget=10|QOS[q] QTTarget=4s"},
		{"maui.maui_cfg=", "QUEUETIME {7 0}|USER[john] Priority=2"},
	} {
		with, err := c.With([]string{x.set})
		if err != nil {
			t.Errorf("With(%s): %v", x.set, err)
		} else if got := strings.Join(differing(*Settings(&with)), "|"); got != x.want || Settings(&with).Compatible != strings.Contains(x.set, "3.3.1") {
			t.Errorf("With(%s): %s, compatible %v, want %s", x.set, got, Settings(&with).Compatible, x.want)
		}
	}
}

// COMPATIBILITY in the file counts, unless the table says something else.
func TestMauiFileCompatible(t *testing.T) {
	dir := t.TempDir()
	testenv.OK(t, os.WriteFile(filepath.Join(dir, "maui.cfg"), []byte("COMPATIBILITY 3.3.1\n USERWEIGHT 3\n"), 0o600))
	for text, want := range map[string]string{"": "", "COMPATIBILITY = \"\"\n": "USER {3 0}", "COMPATIBILITY = \"3.3.1\"\n": ""} {
		c, err := schema.Parse(filepath.Join(dir, "fairspool.toml"), []byte("[maui]\nmaui_cfg = \"maui.cfg\"\n"+text))
		if got := strings.Join(differing(*Settings(&c)), "|"); err != nil || got != want || Settings(&c).Compatible != (want == "") {
			t.Errorf("%q: %s, compatible %v, %v, want %s", text, got, Settings(&c).Compatible, err, want)
		}
	}
	c, err := schema.Parse("f", []byte("[maui]\nCOMPATIBILITY = \"3.3.1\"\nUSERCFG.u.QTTARGET = 5"))
	if got, want := strings.Join(c.Warnings, "|"), "f:3: maui.USERCFG[u]: QTTARGET: counts for QOSCFG only in Maui 3.3.1"; err != nil || got != want || Settings(&c).Credentials[0]["u"].QTTarget != 0 {
		t.Errorf("QTTARGET of a user in 3.3.1: %q, %v, want %q", got, err, want)
	}
}

// What is no maui.cfg stops nothing but the configuration that names it, in one line, which
// nobody takes for the configuration's own absence. A FIFO is not waited for.
func TestMauiFileIsNone(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(os.Mkdir(at("folder"), 0o700), unix.Mkfifo(at("fifo"), 0o600), os.Symlink("loop", at("loop")),
		os.WriteFile(at("large"), nil, 0o600), os.Truncate(at("large"), config.MostForeign+1)); err != nil {
		t.Fatal(err)
	}
	for name, why := range map[string]string{
		"gone": "no such file or directory", "folder": "want a file", "fifo": "want a file",
		"loop": "too many levels of symbolic links", "large": "16777217 bytes: want at most 16777216",
	} {
		_, err := schema.Parse(at("f"), []byte("[maui]\nmaui_cfg = \""+name+"\""))
		if want := at("f") + ":2: maui.maui_cfg: " + at(name) + ": " + why; err == nil || err.Error() != want || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("maui_cfg = %q: %v, want %s", name, err, want)
		}
	}
}
