package config

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"fairspool/internal/testenv"
)

func TestEngines(t *testing.T) {
	c, err := schema.Parse("f", []byte(`SPOOL = "/srv/pool"
[engine.lab]
KIND = "ssh"
HOSTS = ["N3"]
LINK = "home"
SSH = "ssh -F /etc/fairspool/ssh_config"
STARTER = "/opt/fair spool/starter"
STATE = ".state"
FILESYSTEM_DOMAIN = "example.org"
[engine.farm]
HOSTS = ["n1", "n2.example.org"]
KIND = "ssh"
`))
	testenv.OK(t, err)
	plain := Engine{
		SSH: []string{"ssh"}, Starter: ".fairspool/starter", Link: LinkAttach, Kind: KindSSH, Time: 4 * time.Hour, MaxPilots: 100, MaxWaiting: 10,
		Idle: 5 * time.Minute, AskTimeout: 5 * time.Minute, RunAs: RunAsOwner, Bin: "/usr/bin",
	}
	farm, lab := plain, plain
	farm.Name, farm.Hosts = "farm", []string{"n1", "n2.example.org"}
	lab.Name, lab.Hosts, lab.Link, lab.SSH = "lab", []string{"N3"}, LinkHome, []string{"ssh", "-F", "/etc/fairspool/ssh_config"}
	lab.Starter, lab.State, lab.FileSystemDomain = "/opt/fair spool/starter", ".state", "example.org"
	want := []Engine{farm, lab}
	if !reflect.DeepEqual(c.Engines, want) {
		t.Errorf("Engines = %+v, want %+v", c.Engines, want)
	}
	with, err := c.With([]string{"engine.lab.HOSTS=['n9']", "engine.new.KIND=ssh", "engine.new.HOSTS=['n4']", "engine.farm.LINK=home"})
	testenv.OK(t, err)
	var got []string
	for _, e := range with.Engines {
		got = append(got, fmt.Sprint(e.Name, e.Hosts, e.Link))
	}
	if got, want := strings.Join(got, " "), "farm[n1 n2.example.org]home lab[n9]home new[n4]attach"; got != want {
		t.Errorf("with other settings: %s, want %s", got, want)
	}
	if !reflect.DeepEqual(c.Engines, want) {
		t.Errorf("With changed what it began with: %+v", c.Engines)
	}
	lines := map[string]string{}
	for _, l := range c.Lines() {
		lines[l.Key] = l.Text() + " " + l.From
	}
	for key, want := range map[string]string{"engine.lab.SSH": `["ssh", "-F", "/etc/fairspool/ssh_config"] f:6`, "engine.farm.HOSTS": `["n1", "n2.example.org"] f:11`} {
		if lines[key] != want {
			t.Errorf("the line of %s: %s, want %s", key, lines[key], want)
		}
	}
}

func TestEnginesRefused(t *testing.T) {
	const farm = "[engine.farm]\nKIND = 'ssh'\nHOSTS = ['n1']\n"
	const host = ": want a machine's name of letters, digits, dots, - and _; users and ports belong into ssh_config"
	for _, x := range []struct{ text, want string }{
		{"[engine.farm]\nHOSTS = ['n1']", `f:2: engine.farm: without KIND, as in KIND = "ssh"`},
		{"[engine.farm]\nKIND = 'pbs'", `f:2: engine.farm.KIND: "pbs": want "ssh", "slurm", "sge", "command", "fairspool"`},
		{"[engine.farm]\nKIND = 'ssh'", `f:2: engine.farm: without HOSTS, as in HOSTS = ["n1", "n2"]`},
		{"[engine.farm]\nKIND = 'ssh'\nHOSTS = []", `f:2: engine.farm: without HOSTS, as in HOSTS = ["n1", "n2"]`},
		{"[engine.farm]\nKIND = 'ssh'\nHOSTS = ['n1', 'N1']", "f:3: engine.farm.HOSTS: N1: named twice"},
		{farm + "[engine.lab]\nKIND = 'ssh'\nHOSTS = ['n1']", "f:6: engine.lab.HOSTS: n1: engine farm has it, too (f:3)"},
		{farm + "HOST = ['n2']", "f:4: engine.farm.HOST: unknown key; did you mean HOSTS?; an engine's table has KIND, HOSTS, LINK, SSH, STARTER, STATE, FILESYSTEM_DOMAIN, VIA, HOME, PILOT, PILOT_TIME, MAX_PILOTS, MAX_WAITING, IDLE, AFTER, ASK_TIMEOUT, RUN_AS, BIN, ENV, ASK, ASK_PATTERN, LOOK, LOOK_PATTERN, WAITING, RUNNING, OVER, CANCEL"},
		{farm + "LINK = 'pull'", `f:4: engine.farm.LINK: "pull": want "attach", "home"`},
		{farm + "SSH = ''", "f:4: engine.farm.SSH: an empty command"},
		{farm + "SSH = ['']", "f:4: engine.farm.SSH: an empty command"},
		{farm + `SSH = ["a\nb"]`, `f:4: engine.farm.SSH: "a\nb": want a command without control characters`},
		{farm + "STARTER = ''", `f:4: engine.farm.STARTER: "": want a path`},
		{farm + "STARTER = '-x'", `f:4: engine.farm.STARTER: "-x": want a path`},
		{farm + "STATE = '~/state'", `f:4: engine.farm.STATE: "~/state": want a path without ~; one that does not begin with a slash begins in the account's home`},
		{farm + "FILESYSTEM_DOMAIN = 'a b'", `f:4: engine.farm.FILESYSTEM_DOMAIN: "a b": want a name without blanks`},
		{farm + "SPOOL = '/x'", "f:4: engine.farm.SPOOL: stands in table [engine.farm]; move it above the first table"},
		{"[engine.farm]\nKIND = 'ssh'\nHOSTS = ['-oProxyCommand=x']", `f:3: engine.farm.HOSTS: "-oProxyCommand=x"` + host},
		{"[engine.farm]\nKIND = 'ssh'\nHOSTS = ['pool@n1']", `f:3: engine.farm.HOSTS: "pool@n1"` + host},
		{"[engine.farm]\nKIND = 'ssh'\nHOSTS = ['']", `f:3: engine.farm.HOSTS: ""` + host},
		{"[engine.'a.b']\nKIND = 'ssh'", "f:2: engine.a.b.KIND: want an engine's name of letters, digits, - and _"},
		{"[engine.'']\nKIND = 'ssh'", "f:2: engine..KIND: want an engine's name of letters, digits, - and _"},
		{"[engine]\nKIND = 'ssh'", `f:2: engine.KIND: "ssh": want a table, as in [engine.KIND] with KIND = "ssh"`},
		{"[engine.b]\nKIND = 'fairspool'\nHOME = 'ssh a serve -pilot'\nPILOT = { Cpus = 1, Memory = 100 }", `f:2: engine.b: without VIA, as in VIA = "ssh pool@b.org serve -flock"`},
		{"[engine.b]\nKIND = 'fairspool'\nVIA = 'ssh b'\nHOME = 'ssh a'\nPILOT = { Cpus = 1, Memory = 100 }\nASK = 'x'", `f:6: engine.b.ASK: means nothing for KIND = "fairspool"`},
		{farm + "VIA = 'ssh b'", `f:4: engine.farm.VIA: means nothing for KIND = "ssh"`},
		{"FLOCK_TO = ['farm']\n" + farm, `f:1: FLOCK_TO: farm: no engine of KIND = "fairspool" has this name`},
		{"FLOCK_FROM = ['a.org=']", `f:1: FLOCK_FROM: "a.org=": want DOMAIN or DOMAIN=ACCOUNT`},
		{"FLOCK_FROM = ['a org']", `f:1: FLOCK_FROM: "a org": want DOMAIN or DOMAIN=ACCOUNT`},
		{"engine = 5", "f:1: engine: 5: want a table of keys"},
	} {
		if _, err := schema.Parse("f", []byte(x.text)); err == nil || err.Error() != x.want {
			t.Errorf("%s:\n got %v\nwant %s", x.text, err, x.want)
		}
	}
}

// TestAsked holds in which order engines are asked for pilots.
func TestAsked(t *testing.T) {
	const pilots = "\nHOME = 'x'\nPILOT = { Cpus = 1, Memory = 100 }\n"
	text := "FLOCK_TO = ['d', 'b']\n[engine.farm]\nKIND = 'ssh'\nHOSTS = ['n1']\n[engine.hpc]\nKIND = 'slurm'" + pilots
	for _, name := range []string{"a", "b", "c", "d"} {
		text += "[engine." + name + "]\nKIND = 'fairspool'\nVIA = 'x'" + pilots
	}
	c, err := schema.Parse("f", []byte(text))
	testenv.OK(t, err)
	var names []string
	for _, e := range c.Asked() {
		names = append(names, e.Name)
	}
	if got := strings.Join(names, " "); got != "hpc d b a c" {
		t.Errorf("engines are asked in the order %s", got)
	}
}
