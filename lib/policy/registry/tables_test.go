package registry

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/lib/config"
	arithmetic "fairspool/lib/maui"
	"fairspool/lib/policy/maui"
	"fairspool/lib/policy/sge"
)

func TestTableDefaults(t *testing.T) {
	c := Default()
	if want := arithmetic.Default(); !reflect.DeepEqual(*maui.Settings(&c), want) {
		t.Errorf("default of [maui] = %+v, want %+v", *maui.Settings(&c), want)
	}
	if want := (accountant.WindowParams{Interval: 12 * time.Hour, Depth: 8, Decay: 1}); maui.Settings(&c).Windows != want {
		t.Errorf("default of [maui] = %+v, want %+v", maui.Settings(&c).Windows, want)
	}
	if want := (accountant.DecayParams{HalfTime: 168 * time.Hour, CPU: accountant.UsageParams{Weight: 1}}); c.Decay != want {
		t.Errorf("default of [sge] = %+v, want %+v", c.Decay, want)
	}
}

// TestWithDefaults holds that each key takes its own default as With takes it, and that the
// configuration is then the default one.
func TestWithDefaults(t *testing.T) {
	initial := Default()
	lines := map[string]config.Line{}
	for _, l := range initial.Lines() {
		lines[l.Key] = l
	}
	seen := map[string]bool{}
	check := func(table string, k config.Key) {
		if seen[k.Name] || k.Help == "" || table != "" && k.Set == nil {
			t.Errorf("key %s of [%s]: twice, without help, or without field", k.Name, table)
		}
		seen[k.Name] = true
		key := strings.TrimPrefix(table+"."+k.Name, ".")
		value := fmt.Sprint(k.Default) // [] for no names
		if list, ok := k.Default.([]string); ok && k.Kind == config.Words {
			value = strings.Join(list, " ")
		} else if ok && len(list) > 0 {
			value = `["` + strings.Join(list, `", "`) + `"]`
		}
		c, err := Default().With([]string{key + "=" + value})
		if err != nil {
			t.Errorf("With(%s=%s): %v", key, value, err)
			return
		}
		for _, l := range c.Lines() {
			if want := lines[l.Key]; l.Key == key && l.From != "config" || !reflect.DeepEqual(l.Value, want.Value) {
				t.Errorf("With(%s=%s) sets %s to %v from %s, want %v", key, value, l.Key, l.Value, l.From, want.Value)
			}
		}
		if !reflect.DeepEqual(c.Params, initial.Params) || !reflect.DeepEqual(c.Cycle, initial.Cycle) || c.RunTime != initial.RunTime ||
			!reflect.DeepEqual(maui.Settings(&c), maui.Settings(&initial)) || !reflect.DeepEqual(sge.Settings(&c), sge.Settings(&initial)) {
			t.Errorf("With(%s=%s) = %+v, want the default", key, value, c)
		}
	}
	for _, k := range Keys() {
		check("", k)
	}
	for _, p := range Policies {
		if table := p.Table(); table != nil {
			for _, k := range table.Keys {
				check(table.Name, k)
				if _, later := table.Later()[k.Name]; later {
					t.Errorf("key %s of [%s] is refused", k.Name, table.Name)
				}
			}
		}
	}
}

// TestWith holds that With changes one setting and leaves the others.
func TestWith(t *testing.T) {
	c, err := Parse("f", []byte("PRIORITY_HALFLIFE = 3600\n[maui]\nFSDEPTH = 5\n"))
	testenv.OK(t, err)
	for _, x := range []struct {
		setting string
		got     func(config.Config) any
		want    any
	}{
		{"maui.x_LIMIT=4", func(c config.Config) any { return c.LimitOfName["maui.x"] }, 4.0},
		{"maui.FSDEPTH=6", func(c config.Config) any { return c.Windows.Depth }, 6},
		{"sge.halftime=1", func(c config.Config) any { return fmt.Sprint(c.Decay.HalfTime, c.Windows.Depth) }, "1h0m0s 5"},
		{"sge.usage_weight_list=cpu=1,mem=2", func(c config.Config) any { return c.Decay.Memory.Weight }, 2.0},
		{"maui.FSINTERVAL=12:00:00", func(c config.Config) any { return maui.Settings(&c).Windows.Interval }, 12 * time.Hour},
		{"maui.FSINTERVAL=90", func(c config.Config) any { return maui.Settings(&c).Windows.Interval }, 90 * time.Second},
		{"maui.FSDEPT=5", nil, "config maui.FSDEPT: unknown key; did you mean FSDEPTH?"},
		{"maui.FSDEPTH=x", nil, `config maui.FSDEPTH: "x": want a whole number`},
		{"maui.FSPOLICY=x", nil, `config maui.FSPOLICY: "x": want "NONE", "DEDICATEDPS", "DEDICATEDPES", "UTILIZEDPS", "DEDICATEDPS%", "DEDICATEDPES%", "UTILIZEDPS%"`},
		{"maui.FSENFORCEMENT=x", nil, `config maui.FSENFORCEMENT: not part of this version`},
		{"maui={FSDEPTH=5}", nil, "config maui: a table: want one key of it, maui.KEY=VALUE"},
		{"FSDEPTH=5", nil, "config FSDEPTH: belongs into table [maui]"},
		{"JOB_PRIORITY_POLICY=fifo", nil, `config JOB_PRIORITY_POLICY: "fifo": want "condor", "maui", "sge"`},
	} {
		with, err := c.With([]string{"KILLING_TIMEOUT=5", x.setting})
		if x.got == nil {
			if err == nil || err.Error() != x.want {
				t.Errorf("With(%q) = %v, want %s", x.setting, err, x.want)
			}
			continue
		}
		if err != nil || x.got(with) != x.want {
			t.Errorf("With(%q) gives %v, %v, want %v", x.setting, x.got(with), err, x.want)
		}
	}
}

// TestAsksNothing holds that keys of tables that are not served are taken at the value that asks
// for nothing, and refused at any other.
func TestAsksNothing(t *testing.T) {
	for text, taken := range map[string]bool{
		"[sge]\nenforce_user = \"NONE\"\nenforce_project = false\nauto_user_fshare = 0":                          true,
		"[sge]\nenforce_user = \"auto\"":                                                                         false,
		"[maui]\nBACKFILLPOLICY = \"NONE\"\nMAXJOB = 0\nENABLEMULTIREQJOBS = false\nJOBMAXOVERRUN = \"0:00:00\"": true,
		"[maui]\nMAXJOB = 5": false,
	} {
		c, err := Parse("f", []byte(text))
		if (err == nil) != taken || len(c.Warnings) > 0 {
			t.Errorf("%s: %v, warnings %q, taken %v", text, err, c.Warnings, taken)
		}
	}
}

func TestTables(t *testing.T) {
	c, err := Parse("f", []byte(`PRIORITY_HALFLIFE = 3600
[maui]
FSINTERVAL = "06:00:00"
FSDEPTH = 24
FSDECAY = 0.5
[sge]
halftime = 0
usage_weight_list = "mem=2, io=0.5"
halflife_decay_list = "cpu=30:mem=-1:io=0"
`))
	testenv.OK(t, err)
	if want := (accountant.WindowParams{Interval: 6 * time.Hour, Depth: 24, Decay: 0.5}); maui.Settings(&c).Windows != want {
		t.Errorf("[maui] = %+v, want %+v", maui.Settings(&c).Windows, want)
	}
	want := accountant.DecayParams{
		CPU:    accountant.UsageParams{Own: true, HalfLife: 30 * time.Minute},
		Memory: accountant.UsageParams{Weight: 2, Own: true, HalfLife: -time.Minute},
		IO:     accountant.UsageParams{Weight: 0.5, Own: true},
	}
	if c.Decay != want {
		t.Errorf("[sge] = %+v, want %+v", c.Decay, want)
	}
	for key, at := range map[string]string{"maui.FSDEPTH": "f:4", "sge.halftime": "f:7", "FSDEPTH": ""} {
		if got := c.Where(key); got != at {
			t.Errorf("Where(%s) = %q, want %q", key, got, at)
		}
	}
}

func TestIntervals(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"3600": time.Hour, "0.5e3": 500 * time.Second, `"86400"`: 24 * time.Hour, `"168:00:00"`: 168 * time.Hour,
		`"1:00:00:01"`: 24*time.Hour + time.Second, `"0:90:0"`: 90 * time.Minute,
	} {
		c, err := Parse("f", []byte("maui = { FSINTERVAL = "+text+" }"))
		if err != nil || maui.Settings(&c).Windows.Interval != want {
			t.Errorf("FSINTERVAL = %s is %v, %v, want %v", text, maui.Settings(&c).Windows.Interval, err, want)
		}
	}
}

func TestRunTime(t *testing.T) {
	for text, want := range map[string]config.RunTime{
		"":                                        {Worst: 20},
		"reprioritize_interval = 90":              {Interval: 90 * time.Second, Worst: 20},
		"reprioritize_interval = \"0:0:1\"":       {Interval: time.Second, Worst: 20},
		"reprioritize_interval = \"0:0:0\"":       {Worst: 20},
		"execd_params = \"NONE\"":                 {Worst: 20},
		"execd_params = \"PTF_MIN_PRIORITY=10\"":  {Worst: 10},
		"execd_params = \"PTF_MAX_PRIORITY=-20\"": {Best: -20, Worst: 20},
		"execd_params = \" ptf_max_priority=5, PTF_MIN_PRIORITY=5 \"":     {Best: 5, Worst: 5},
		"execd_params = \"PTF_MAX_PRIORITY=-999,,PTF_MIN_PRIORITY=-999\"": {Worst: 20},
		"execd_params = \"PTF_MIN_PRIORITY=-5 PTF_MAX_PRIORITY=-10\"":     {Best: -10, Worst: -5},
	} {
		c, err := Parse("f", []byte("[sge]\n"+text+"\n"))
		if err != nil || c.RunTime != want {
			t.Errorf("[sge] %s: RunTime = %+v, %v, want %+v", text, c.RunTime, err, want)
		}
	}
}

var badTables = []struct{ text, want string }{
	{"[maui]\nFSINTERVAL = \"12:00\"", `f:2: maui.FSINTERVAL: "12:00": minutes or hours? want seconds, HH:MM:SS or DD:HH:MM:SS`},
	{"[maui]\nFSINTERVAL = \"1:2:3:4:5\"", `f:2: maui.FSINTERVAL: "1:2:3:4:5": want seconds, HH:MM:SS`},
	{"[maui]\nFSINTERVAL = \"INFINITY\"", `f:2: maui.FSINTERVAL: "INFINITY": want`},
	{"[maui]\nFSINTERVAL = \"-1:0:0\"", `f:2: maui.FSINTERVAL: "-1:0:0": want`},
	{"[maui]\nFSINTERVAL = \"::\"", `f:2: maui.FSINTERVAL: "::": want`},
	{"[maui]\nFSINTERVAL = \"0:0:0\"", `f:2: maui.FSINTERVAL: "0:0:0": 0: want 1 to 1000000000 seconds`},
	{"[maui]\nFSINTERVAL = 0", `f:2: maui.FSINTERVAL: 0: want 1 to 1000000000`},
	{"[maui]\nFSINTERVAL = nan", `f:2: maui.FSINTERVAL: NaN: want`},
	{"[maui]\nFSINTERVAL = true", `f:2: maui.FSINTERVAL: true: want a number of seconds or time in a string`},
	{"[maui]\nFSDEPTH = 25", `f:2: maui.FSDEPTH: 25: want 1 to 24`},
	{"[maui]\nFSDEPTH = 0", `f:2: maui.FSDEPTH: 0: want`},
	{"[maui]\nFSDEPTH = \"8\"", `f:2: maui.FSDEPTH: "8": want a whole number`},
	{"[maui]\nFSDECAY = 1.5", `f:2: maui.FSDECAY: 1.5: want 0 to 1`},
	{"[maui]\nFSDEPTH = 3\n\nFSENFORCEMENT = 1", `f:4: maui.FSENFORCEMENT: not part of this version`},
	{"[maui]\nBACKFILLPOLICY = \"FIRSTFIT\"", `f:2: maui.BACKFILLPOLICY: not part of this version`},
	{"[maui]\nSTATDIR = \"/var\"", `f:2: maui.STATDIR: not part of this version`},
	{"[maui]\nFSDEPT = 5", `f:2: maui.FSDEPT: unknown key; did you mean FSDEPTH?`},
	{"[maui]\nhalftime = 5", `f:2: maui.halftime: unknown key`},
	{"maui = 5", `f:1: maui: 5: want a table of keys`},
	{"[[maui]]\nFSDEPTH = 5", `f:1: maui: an array of tables: want a table of keys`},
	{"FSDEPTH = 5", `f:1: FSDEPTH: belongs into table [maui]`},
	{"\nhalftime = 5", `f:2: halftime: belongs into table [sge]`},
	{"[sge]\nhalftime = 1.5", `f:2: sge.halftime: 1.5: want a whole number`},
	{"[sge]\nhalftime = -1", `f:2: sge.halftime: -1: want 0 to`},
	{"[sge]\nauto_user_fshare = 1", `f:2: sge.auto_user_fshare: not part of this version`},
	{"[sge]\nhalf_time = 1", `f:2: sge.half_time: unknown key; did you mean halftime?`},
	{"[sge]\nusage_weight_list = \"cpu=1:mem=2\"", `f:2: sge.usage_weight_list: "cpu=1:mem=2": want NAME=NUMBER, with "," between two`},
	{"[sge]\nusage_weight_list = \"\"", `f:2: sge.usage_weight_list: "": want NAME=NUMBER`},
	{"[sge]\nusage_weight_list = \"cpu\"", `f:2: sge.usage_weight_list: "cpu": want NAME=NUMBER`},
	{"[sge]\nusage_weight_list = \"cpu=-1\"", `f:2: sge.usage_weight_list: cpu=-1: want 0 to`},
	{"[sge]\nusage_weight_list = \"=0\"", `f:2: sge.usage_weight_list: "=0": want NAME=NUMBER`},
	{"[sge]\nusage_weight_list = \"cpu=1,vmem=1\"", `f:2: sge.usage_weight_list: "vmem": want cpu, mem or io`},
	{"[sge]\nusage_weight_list = \"cpu=1,cpu=1\"", `f:2: sge.usage_weight_list: cpu stands there twice`},
	{"[sge]\nusage_weight_list = \"cpu=inf\"", `f:2: sge.usage_weight_list: "cpu=inf": want NAME=NUMBER`},
	{"[sge]\nhalflife_decay_list = \"cpu=1,io=1\"", `f:2: sge.halflife_decay_list: "cpu=1,io=1": want NAME=NUMBER, with ":" between two`},
	{"[sge]\nhalflife_decay_list = \"cpu=1.5\"", `f:2: sge.halflife_decay_list: cpu=1.5: want whole minutes, 0 or -1`},
	{"[sge]\nreprioritize_interval = -1", `f:2: sge.reprioritize_interval: -1: want 0 to`},
	{"[sge]\nreprioritize_interval = \"1:0\"", `f:2: sge.reprioritize_interval: "1:0": minutes or hours?`},
	{"[sge]\nreprioritize_interval = \"INFINITY\"", `f:2: sge.reprioritize_interval: "INFINITY": want`},
	{"\nreprioritize_interval = 5", `f:2: reprioritize_interval: belongs into table [sge]`},
	{"[sge]\nexecd_params = \"\"", `f:2: sge.execd_params: empty: want "none", PTF_MAX_PRIORITY=NUMBER or PTF_MIN_PRIORITY=NUMBER`},
	{"[sge]\nexecd_params = \" , \"", `f:2: sge.execd_params: empty: want "none"`},
	{"[sge]\nexecd_params = \"KEEP_ACTIVE=true\"", `f:2: sge.execd_params: "KEEP_ACTIVE=true": not part of this version; want PTF_MAX_PRIORITY=NUMBER`},
	{"[sge]\nexecd_params = \"PTF_MIN_PRIORITY=19 USE_QIDLE\"", `f:2: sge.execd_params: "USE_QIDLE": not part of this version; want`},
	{"[sge]\nexecd_params = \"none,PTF_MIN_PRIORITY=3\"", `f:2: sge.execd_params: "none": not part of this version; want`},
	{"[sge]\nexecd_params = \"PTF_MIN_PRIORITY=21\"", `f:2: sge.execd_params: PTF_MIN_PRIORITY: "21": want a whole number, -20 to 20`},
	{"[sge]\nexecd_params = \"PTF_MAX_PRIORITY=-21\"", `f:2: sge.execd_params: PTF_MAX_PRIORITY: "-21": want a whole number, -20 to 20`},
	{"[sge]\nexecd_params = \"PTF_MAX_PRIORITY\"", `f:2: sge.execd_params: PTF_MAX_PRIORITY: "": want a whole number`},
	{"[sge]\nexecd_params = \"PTF_MAX_PRIORITY=1.5\"", `f:2: sge.execd_params: PTF_MAX_PRIORITY: "1.5": want a whole number`},
	{"[sge]\nexecd_params = \"PTF_MAX_PRIORITY=1,ptf_max_priority=2\"", `f:2: sge.execd_params: PTF_MAX_PRIORITY stands there twice`},
	{"[sge]\nexecd_params = \"PTF_MAX_PRIORITY=10,PTF_MIN_PRIORITY=9\"", `f:2: sge.execd_params: PTF_MAX_PRIORITY=10 is above PTF_MIN_PRIORITY=9: the higher priority is the lower nice value`},
	{"[sge]\nhalflife_decay_list = \"cpu=-2\"", `f:2: sge.halflife_decay_list: cpu=-2: want whole minutes`},
}

func TestTablesRefuse(t *testing.T) {
	for _, c := range badTables {
		_, err := Parse("f", []byte(c.text))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("Parse(%q) = %v, want %q", c.text, err, c.want)
		}
	}
}

// Whatever stands in the tables, they give one line of error or parameters in
// their ranges.
func FuzzTables(f *testing.F) {
	f.Add("12:00:00", "cpu=1,mem=2", "cpu=30:mem=-1", "PTF_MIN_PRIORITY=19")
	f.Add("1:1:1:1", "io=1e5", "NONE", "none")
	f.Add("99999999999", "cpu=1e999", "cpu=9999999999999", "PTF_MAX_PRIORITY=-20 ptf_min_priority=0x1")
	f.Fuzz(func(t *testing.T, interval, weights, halfLives, params string) {
		literal := func(s string) string {
			return "'" + strings.Map(func(r rune) rune {
				if r == '\'' || r < ' ' || r == 0x7f || r == 0xfffd {
					return -1
				}
				return r
			}, s) + "'"
		}
		c, err := Parse("f", []byte("[maui]\nFSINTERVAL = "+literal(interval)+"\n[sge]\nusage_weight_list = "+literal(weights)+"\nhalflife_decay_list = "+literal(halfLives)+
			"\nexecd_params = "+literal(params)+"\n"))
		if err != nil {
			if s := err.Error(); !strings.HasPrefix(s, "f:") || strings.Contains(s, "\n") {
				t.Errorf("Parse = %q, want one line with the file's name", s)
			}
			return
		}
		for _, u := range []accountant.UsageParams{c.Decay.CPU, c.Decay.Memory, c.Decay.IO} {
			if !(u.Weight >= 0 && u.Weight <= config.MaxFactor) || u.HalfLife < -time.Minute || u.HalfLife > 0 && !u.Own {
				t.Errorf("%q, %q give %+v, out of range", weights, halfLives, c.Decay)
			}
		}
		if r := c.RunTime; r.Best < -20 || r.Best > r.Worst || r.Worst > 20 {
			t.Errorf("%q gives %+v, out of range", params, r)
		}
		if maui.Settings(&c).Windows.Interval < time.Second || maui.Settings(&c).Windows.Interval > config.MaxSeconds*time.Second {
			t.Errorf("%q gives %+v, out of range", interval, maui.Settings(&c).Windows)
		}
	})
}

// BenchmarkParse reads what a plain site has: every command does, at its start.
func BenchmarkParse(b *testing.B) {
	text := []byte("PRIORITY_HALFLIFE = 3600\nADMINISTRATORS = [\"alice\"]\nGROUP_NAMES = [\"a\", \"b\"]\nGROUP_QUOTA_a = 5\n")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse("f", text); err != nil {
			b.Fatal(err)
		}
	}
}
