package config

import (
	"maps"
	"strings"
	"testing"
)

func TestLimits(t *testing.T) {
	c, err := schema.Parse("f", []byte(`CONCURRENCY_LIMIT_DEFAULT = 5
CONCURRENCY_LIMIT_DEFAULT_SW = 2.5
CONCURRENCY_LIMIT_DEFAULT_x_LIMIT = 8
License_LIMIT = 3
"sw.MatLab_LIMIT" = 0
"fifo.x_LIMIT" = 1
`))
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]float64{"license": 3, "sw.matlab": 0, "fifo.x": 1}; c.Limit != 5 || !maps.Equal(c.LimitOfName, want) {
		t.Errorf("limits = %v, %v, want 5, %v", c.Limit, c.LimitOfName, want)
	}
	if want := map[string]float64{"sw": 2.5, "x_limit": 8}; !maps.Equal(c.LimitOfSet, want) {
		t.Errorf("limits of sets = %v, want %v", c.LimitOfSet, want)
	}
	if got := c.Where("sw.MatLab_LIMIT"); got != "f:5" {
		t.Errorf("Where = %q, want f:5", got)
	}
}

// What sites limit is not taken for a mistyped key.
func TestLimitsOfMostNames(t *testing.T) {
	for _, name := range strings.Fields("matlab LICENSE ansys comsol_multiphysics db db2 sql network nfs scratch disk io gpu gpus spool slot slots " +
		"job jobs user users group host hostname weight transfer upload memory cpus rank admin reserve pool tape dcache squid sw.matlab " +
		"SW.R _x request claim cluster policy domain quota all") {
		for _, n := range []string{name, strings.ToUpper(name)} {
			c, err := schema.Default().With([]string{n + limitSuffix + "=3"})
			if err != nil || c.LimitOfName[strings.ToLower(name)] != 3 {
				t.Errorf("With(%s=3) limits %v, %v, want 3 of %s", n+limitSuffix, c.LimitOfName, err, n)
			}
		}
	}
}

var badLimits = []struct{ text, want string }{
	{`LICENSE_LIMIT = -1`, `f:1: LICENSE_LIMIT: -1: want 0 to 1000000000000`},
	{`LICENSE_LIMIT = nan`, `f:1: LICENSE_LIMIT: NaN: want`},
	{`LICENSE_LIMIT = "3"`, `f:1: LICENSE_LIMIT: "3": want a number`},
	{`CONCURRENCY_LIMIT_DEFAULT = 2e12`, `f:1: CONCURRENCY_LIMIT_DEFAULT: 2000000000000: want 0 to`},
	{"LICENSE_LIMIT = 3\nlicense_LIMIT = 4", `f:2: license_LIMIT: LICENSE_LIMIT is the same (f:1): case does not count`},
	{"CONCURRENCY_LIMIT_DEFAULT_a = 3\nCONCURRENCY_LIMIT_DEFAULT_A = 4", `f:2: CONCURRENCY_LIMIT_DEFAULT_A: CONCURRENCY_LIMIT_DEFAULT_a is the same (f:1)`},
	{`CONCURRENCY_LIMIT = 3`, `f:1: CONCURRENCY_LIMIT: unknown key; did you mean CONCURRENCY_LIMIT_DEFAULT?`},
	{`CONCURENCY_DEFAULT_LIMIT = 3`, `f:1: CONCURENCY_DEFAULT_LIMIT: unknown key; did you mean CONCURRENCY_LIMIT_DEFAULT?`},
	{`DEFAULT_LIMIT = 3`, `f:1: DEFAULT_LIMIT: unknown key; did you mean CONCURRENCY_LIMIT_DEFAULT?`},
	{`CONCURENCY_LIMIT_DEFAULT_sw = 3`, `f:1: CONCURENCY_LIMIT_DEFAULT_sw: unknown key; did you mean CONCURRENCY_LIMIT_DEFAULT_sw?`},
	{`CONCURRENCY_LIMIT_DEFAULT_ = 3`, `f:1: CONCURRENCY_LIMIT_DEFAULT_: unknown key; did you mean CONCURRENCY_LIMIT_DEFAULT?`},
	{`"CONCURRENCY_LIMIT_DEFAULT_a.b" = 3`, `f:1: CONCURRENCY_LIMIT_DEFAULT_a.b: unknown key`},
	{`REQUEST_CLAIM_TIMELIMIT = 3`, `f:1: REQUEST_CLAIM_TIMELIMIT: unknown key; did you mean REQUEST_CLAIM_TIMEOUT?`},
	{`KILLING_TIME_LIMIT = 3`, `f:1: KILLING_TIME_LIMIT: unknown key; did you mean KILLING_TIMEOUT?`},
	{`license_limit = 3`, `f:1: license_limit: unknown key; did you mean license_LIMIT?`},
	{`MATLAB_LIMITS = 3`, `f:1: MATLAB_LIMITS: unknown key; did you mean MATLAB_LIMIT?`},
	{`_LIMIT = 3`, `f:1: _LIMIT: unknown key`},
	{`1a_LIMIT = 3`, `f:1: 1a_LIMIT: unknown key; want letters, digits and underscores before _LIMIT, with one dot at most`},
	{`"a.b.c_LIMIT" = 3`, `f:1: a.b.c_LIMIT: unknown key; want letters`},
	{`my-license_LIMIT = 3`, `f:1: my-license_LIMIT: unknown key; want letters`},
	{"\nsw.matlab_LIMIT = 3", `f:2: sw: a name with a dot in it needs quotes: "sw.matlab_LIMIT" = ...`},
	{"[groups]\na.members = []\n[fifo]\nLICENSE_LIMIT = 5", `f:4: LICENSE_LIMIT: stands in table [fifo]; move it above the first table`},
	{"zebra.a = 3", `f:1: zebra: unknown key`},
}

func TestLimitsRefuse(t *testing.T) {
	for _, c := range badLimits {
		_, err := schema.Parse("f", []byte(c.text))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("Parse(%q) = %v, want %q", c.text, err, c.want)
		}
	}
}
