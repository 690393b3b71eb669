package config

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"fairspool/lib/negotiator"
)

const pool = `PRIORITY_HALFLIFE = 3600
GROUP_NAMES = ["physics", "physics.hep"]
GROUP_QUOTA_physics = 20
License_LIMIT = 3
[maui]
FSDEPTH = 5
`

func TestWith(t *testing.T) {
	c, err := Parse("f", []byte(pool))
	if err != nil {
		t.Fatal(err)
	}
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
		{"maui.x_LIMIT=4", func(c Config) any { return c.LimitOfName["maui.x"] }, 4.0},
		{"CONCURRENCY_LIMIT_DEFAULT_sw=4", func(c Config) any { return c.LimitOfSet["sw"] }, 4.0},
		{"sw.matlab_LIMIT=4", func(c Config) any { return c.LimitOfName["license"] }, 3.0},
		{"maui.FSDEPTH=6", func(c Config) any { return c.Maui.Windows.Depth }, 6},
		{"sge.halftime=1", func(c Config) any { return fmt.Sprint(c.Decay.HalfTime, c.Maui.Windows.Depth) }, "1h0m0s 5"},
		{"sge.usage_weight_list=cpu=1,mem=2", func(c Config) any { return c.Decay.Memory.Weight }, 2.0},
		{"maui.FSINTERVAL=12:00:00", func(c Config) any { return c.Maui.Windows.Interval }, 12 * time.Hour},
		{"maui.FSINTERVAL=90", func(c Config) any { return c.Maui.Windows.Interval }, 90 * time.Second},
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
	if again, err := Parse("f", []byte(pool)); err != nil || !reflect.DeepEqual(c, again) {
		t.Errorf("With changed what it was called on: %+v, want %+v", c, again)
	}
}

func TestWithRefuses(t *testing.T) {
	c, err := Parse("f", []byte(pool))
	if err != nil {
		t.Fatal(err)
	}
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
		{"maui.FSDEPT=5", "config maui.FSDEPT: unknown key; did you mean FSDEPTH?"},
		{"maui.FSDEPTH=x", `config maui.FSDEPTH: "x": want a whole number`},
		{"maui.FSPOLICY=x", `config maui.FSPOLICY: "x": want "NONE", "DEDICATEDPS"`},
		{"maui.FSENFORCEMENT=x", `config maui.FSENFORCEMENT: not part of this version`},
		{"maui={FSDEPTH=5}", "config maui: a table: want one key of it, maui.KEY=VALUE"},
		{"FSDEPTH=5", "config FSDEPTH: belongs into table [maui]"},
	} {
		_, err := c.With([]string{"KILLING_TIMEOUT=5", x.setting})
		if err == nil || !strings.HasPrefix(err.Error(), x.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("With(%q) = %v, want %q", x.setting, err, x.want)
		}
	}
}

func TestWithTellsWhere(t *testing.T) {
	c, err := Default().With([]string{"SLOT_WEIGHT=Cpus +"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := c.Complain("SLOT_WEIGHT", fmt.Errorf("bad")).Error(), "config SLOT_WEIGHT: bad"; got != want || c.Where("SLOT_WEIGHT") != "config" {
		t.Errorf("Complain = %q, Where = %q, want %q, config", got, c.Where("SLOT_WEIGHT"), want)
	}
}

// Each key takes its own default as With takes it, and the configuration is then
// the default one.
func TestWithDefaults(t *testing.T) {
	want := Default()
	for table, keys := range map[string][]Key{"": Keys, "maui.": MauiKeys, "sge.": SGEKeys} {
		for _, k := range keys {
			value := fmt.Sprint(k.Default) // [] for no names
			if list, ok := k.Default.([]string); ok && k.Kind == Words {
				value = strings.Join(list, " ")
			}
			c, err := Default().With([]string{table + k.Name + "=" + value})
			if got := c.values[table+k.Name]; !reflect.DeepEqual(got, k.Default) {
				t.Errorf("With(%s=%s) sets %v, want %v", table+k.Name, value, got, k.Default)
			}
			c.said, c.where, c.values = nil, nil, nil
			if err != nil || !reflect.DeepEqual(c, want) {
				t.Errorf("With(%s=%s) = %+v, %v, want the default", table+k.Name, value, c, err)
			}
		}
	}
}

// Whatever is asked for, With gives one line of error that says so, or a
// configuration.
func FuzzWith(f *testing.F) {
	for _, s := range []string{"GROUP_QUOTA_a=3", "maui.FSDEPTH=5", `"a.b_LIMIT"=1`, "SLOT_WEIGHT=x\ny", "maui={a=1}", "=", "a\n=1", "x=[1,"} {
		f.Add(s, "KILLING_TIMEOUT=5")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if _, err := Default().With([]string{a, b}); err != nil {
			if s := err.Error(); !strings.HasPrefix(s, "config ") || strings.Contains(s, "\n") {
				t.Errorf("With(%q, %q) = %q, want one line that begins with config", a, b, s)
			}
		}
	})
}
