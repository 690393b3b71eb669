package config

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"fairspool/internal/testenv"
	"fairspool/lib/negotiator"
)

const somePool = `PRIORITY_HALFLIFE = 3600
GROUP_NAMES = ["physics", "physics.hep"]
GROUP_QUOTA_physics = 20
License_LIMIT = 3
[fifo]
DEPTH = 5
`

func TestWith(t *testing.T) {
	c, err := schema.Parse("f", []byte(somePool))
	testenv.OK(t, err)
	for _, x := range []struct {
		settings string // between bars
		got      func(Config) any
		want     any
	}{
		{"", func(c Config) any { return c.HalfLife }, time.Hour},
		{"PRIORITY_HALFLIFE=60", func(c Config) any { return c.HalfLife }, time.Minute},
		{"PRIORITY_HALFLIFE=60|PRIORITY_HALFLIFE = 120", func(c Config) any { return c.HalfLife }, 2 * time.Minute},
		{"PRIORITY_HALFLIFE=60|KILLING_TIMEOUT=1", func(c Config) any { return fmt.Sprint(c.HalfLife, c.KillingTimeout) }, "1m0s 1s"},
		{"DEFAULT_PRIO_FACTOR=1e3", func(c Config) any { return c.DefaultFactor }, 1000.0},
		{"GROUP_QUOTA_physics=30", func(c Config) any { return c.Groups.List[1].Quota }, 30.0},
		{"GROUP_QUOTA_PHYSICS=30", func(c Config) any { return c.Groups.List[1].Quota }, 30.0},
		{"GROUP_QUOTA_physics.hep=7", func(c Config) any { return c.Groups.List[2].Quota }, 7.0},
		{`"GROUP_QUOTA_physics.hep" = 7`, func(c Config) any { return c.Groups.List[2].Quota }, 7.0},
		{`GROUP_NAMES=["physics", "chem"]|GROUP_AUTOREGROUP_chem=true`, func(c Config) any { return c.Groups.List[1].Autoregroup }, true},
		{"LICENSE_LIMIT=0.5", func(c Config) any { return c.LimitOfName["license"] }, 0.5},
		{"license_LIMIT=1|LICENSE_LIMIT=2", func(c Config) any { return c.LimitOfName["license"] }, 2.0},
		{"sw.matlab_LIMIT=4", func(c Config) any { return c.LimitOfName["sw.matlab"] }, 4.0},
		{"fifo.x_LIMIT=4", func(c Config) any { return c.LimitOfName["fifo.x"] }, 4.0},
		{"CONCURRENCY_LIMIT_DEFAULT_sw=4", func(c Config) any { return c.LimitOfSet["sw"] }, 4.0},
		{"sw.matlab_LIMIT=4", func(c Config) any { return c.LimitOfName["license"] }, 3.0},
		{"fifo.DEPTH=6", func(c Config) any { return *depthsOf(&c) }, depths{6, 60}},
		{"fifo.LENGTH=6", func(c Config) any { return *depthsOf(&c) }, depths{6, 60}},
		{"fifo.INTERVAL=12:00:00", func(c Config) any { return *depthsOf(&c) }, depths{5, 43200}},
		{"fifo.INTERVAL=90", func(c Config) any { return *depthsOf(&c) }, depths{5, 90}},
		{"SLOT_WEIGHT=Memory / 1024", func(c Config) any { return c.Text("SLOT_WEIGHT") }, "Memory / 1024"},
		{"SLOT_WEIGHT='Memory'", func(c Config) any { return c.Text("SLOT_WEIGHT") }, "Memory"},
		{"SLOT_WEIGHT=1", func(c Config) any { return c.Text("SLOT_WEIGHT") }, "1"},
		{"NEGOTIATOR_JOB_CONSTRAINT=true", func(c Config) any { return c.Text("NEGOTIATOR_JOB_CONSTRAINT") }, "true"},
		{"NEGOTIATOR_JOB_CONSTRAINT=Owner == \"bob\"", func(c Config) any { return c.Text("NEGOTIATOR_JOB_CONSTRAINT") }, `Owner == "bob"`},
		{"NEGOTIATOR_JOB_CONSTRAINT=", func(c Config) any { return c.Text("NEGOTIATOR_JOB_CONSTRAINT") }, ""},
		{"PREEMPTION_REQUIREMENTS=False", func(c Config) any { return c.Text("PREEMPTION_REQUIREMENTS") }, "False"},
		{"PREEMPTION_REQUIREMENTS=", func(c Config) any { return c.Text("PREEMPTION_REQUIREMENTS") }, ""},
		{"PREEMPTION_RANK=1", func(c Config) any { return c.Text("PREEMPTION_RANK") }, "1"},
		{"GROUP_QUOTA_ROUND_ROBIN_RATE=5", func(c Config) any { return c.Cycle.Quotas.RoundRobinRate }, 5.0},
		{"NEGOTIATOR_PIE=htcondor", func(c Config) any { return c.Cycle.Pie }, negotiator.Spins},
		{`SIGNIFICANT_ATTRIBUTES=["A"]`, func(c Config) any { return fmt.Sprint(c.Cycle.Significant) }, "[A]"},
	} {
		var settings []string
		if x.settings != "" {
			settings = strings.Split(x.settings, "|")
		}
		with, err := c.With(settings)
		if err != nil {
			t.Errorf("With(%q): %v", settings, err)
			continue
		}
		if got := x.got(with); got != x.want {
			t.Errorf("With(%q) gives %v, want %v", settings, got, x.want)
		}
	}
	if again, err := schema.Parse("f", []byte(somePool)); err != nil || !reflect.DeepEqual(c, again) {
		t.Errorf("With changed what it was called on: %+v, want %+v", c, again)
	}
}

func TestWithRefuses(t *testing.T) {
	c, err := schema.Parse("f", []byte(somePool))
	testenv.OK(t, err)
	for _, x := range []struct{ setting, want string }{
		{"PRIORITY_HALFLIFE", "config PRIORITY_HALFLIFE: want KEY=VALUE"},
		{"=5", "config =5: want KEY=VALUE"},
		{"", "config : want KEY=VALUE"},
		{"A\nB=5", `config "A\nB": unknown key`},
		{"PRIORITY_HALFLIVE=5", "config PRIORITY_HALFLIVE: unknown key; did you mean PRIORITY_HALFLIFE?"},
		{"PRIORITY_HALFLIFE=often", `config PRIORITY_HALFLIFE: "often": want a number of seconds`},
		{"PRIORITY_HALFLIFE=5\nSPOOL='/'", `config PRIORITY_HALFLIFE: "5\nSPOOL='/'": want a number of seconds`},
		{"PRIORITY_HALFLIFE=", `config PRIORITY_HALFLIFE: "": want a number of seconds`},
		{"GROUP_QOUTA_physics=5", "config GROUP_QOUTA_physics: unknown key; did you mean GROUP_QUOTA_physics?"},
		{"GROUP_QUOTA_chem=5", "config GROUP_QUOTA_chem: GROUP_NAMES has no group chem"},
		{"GROUP_QUOTA_physics=-5", "config GROUP_QUOTA_physics: -5: want 0 to"},
		{`GROUP_NAMES=["chem"]`, "config GROUP_NAMES: lacks the group of GROUP_QUOTA_physics (f:3)"},
		{`GROUP_NAMES=["a.b"]`, "config GROUP_NAMES: lacks the group of GROUP_QUOTA_physics (f:3)"},
		{`GROUP_NAMES=["physics", "a.b"]`, "config GROUP_NAMES: a.b: its parent a is not defined; add a, or leave out a.b"},
		{"a.b.c_LIMIT=5", "config a.b.c_LIMIT: unknown key; want letters"},
		{"License_LIMIT=-1", "config License_LIMIT: -1: want 0 to"},
		{"NEGOTIATOR_PIE=apple", `config NEGOTIATOR_PIE: "apple": want "max-min", "htcondor"`},
		{"ALLOW_PSLOT_PREEMPTION=true", "config ALLOW_PSLOT_PREEMPTION: not part of this version"},
		{"fifo.DEPHT=5", "config fifo.DEPHT: unknown key; did you mean DEPTH?"},
		{"fifo.DEPTH=x", `config fifo.DEPTH: "x": want a whole number`},
		{"fifo.POLICY=x", `config fifo.POLICY: "x": want "a", "b"`},
		{"fifo.BACKFILL=x", `config fifo.BACKFILL: not part of this version`},
		{"fifo={DEPTH=5}", "config fifo: a table: want one key of it, fifo.KEY=VALUE"},
		{"DEPTH=5", "config DEPTH: belongs into table [fifo]"},
	} {
		_, err := c.With([]string{"KILLING_TIMEOUT=5", x.setting})
		if err == nil || !strings.HasPrefix(err.Error(), x.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("With(%q) = %v, want %q", x.setting, err, x.want)
		}
	}
}

func TestWithTellsWhere(t *testing.T) {
	c, err := schema.Default().With([]string{"SLOT_WEIGHT=Cpus +"})
	testenv.OK(t, err)
	if got, want := c.Complain("SLOT_WEIGHT", fmt.Errorf("bad")).Error(), "config SLOT_WEIGHT: bad"; got != want || c.Where("SLOT_WEIGHT") != "config" {
		t.Errorf("Complain = %q, Where = %q, want %q, config", got, c.Where("SLOT_WEIGHT"), want)
	}
}

// Whatever is asked for, With gives one line of error that says so, or a
// configuration.
func FuzzWith(f *testing.F) {
	for _, s := range []string{"GROUP_QUOTA_a=3", "fifo.DEPTH=5", `"a.b_LIMIT"=1`, "SLOT_WEIGHT=x\ny", "fifo={a=1}", "=", "a\n=1", "x=[1,"} {
		f.Add(s, "KILLING_TIMEOUT=5")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if _, err := schema.Default().With([]string{a, b}); err != nil {
			if s := err.Error(); !strings.HasPrefix(s, "config ") || strings.Contains(s, "\n") {
				t.Errorf("With(%q, %q) = %q, want one line that begins with config", a, b, s)
			}
		}
	})
}
