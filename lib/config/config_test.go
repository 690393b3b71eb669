package config

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fairspool/internal/testenv"
	"fairspool/lib/negotiator"
)

// depths are the settings of the table [fifo].
type depths struct{ depth, interval int }

func depthsOf(c *Config) *depths { return c.Settings("fifo").(*depths) }

// schema is that of a policy fifo, which has a table.
var schema = NewSchema([]string{"condor", "fifo"}, &Table{
	Name: "fifo", Later: LaterNames("BACKFILL=none"), Aliases: map[string]string{"LENGTH": "DEPTH"},
	Begin: func() any { return &depths{} },
	Keys: []Key{
		{Name: "DEPTH", Kind: Integer, Default: int64(8), Least: 1, Most: 24, Set: func(c *Config, v any) { depthsOf(c).depth = int(v.(int64)) }},
		{Name: "INTERVAL", Kind: Time, Default: 60.0, Least: 1, Most: MaxSeconds, Set: func(c *Config, v any) { depthsOf(c).interval = int(v.(float64)) }},
		{Name: "POLICY", Kind: String, Default: "a", Choices: []string{"a", "b"}},
	},
})

func TestDefault(t *testing.T) {
	c := schema.Default()
	for _, k := range []struct {
		name      string
		got, want any
	}{
		{"PRIORITY_HALFLIFE", c.HalfLife, 24 * time.Hour},
		{"DEFAULT_PRIO_FACTOR", c.DefaultFactor, 1.0},
		{"NICE_USER_PRIO_FACTOR", c.NiceFactor, 1e7},
		{"NICE_USER_ACCOUNTING_GROUP_NAME", c.NiceGroup, "nice-user"},
		{"REMOTE_PRIO_FACTOR", c.RemoteFactor, 1e4},
		{"NEGOTIATOR_USE_SLOT_WEIGHTS", c.Cycle.UseSlotWeights, true},
		{"SLOT_WEIGHT", c.Text("SLOT_WEIGHT"), "Cpus"},
		{"REQUEST_CLAIM_TIMEOUT", c.Cycle.RequestClaimTimeout, 2 * time.Minute},
		{"PREEMPTION_REQUIREMENTS", c.Text("PREEMPTION_REQUIREMENTS"), "(time() - EnteredCurrentState) > 3600"},
		{"NEGOTIATOR_CONSIDER_PREEMPTION", c.Cycle.Preemption.Consider, true},
		{"NEGOTIATOR_CONSIDER_EARLY_PREEMPTION", c.Cycle.Preemption.Early, false},
		{"NEGOTIATOR_MATCHLIST_CACHING", c.Cycle.Preemption.Cached, true},
		{"PREEMPTION_REQUIREMENTS_STABLE", c.Cycle.Preemption.RequirementsStable, true},
		{"PREEMPTION_RANK_STABLE", c.Cycle.Preemption.RankStable, true},
		{"GROUP_SORT_EXPR", c.Text("GROUP_SORT_EXPR"), ""},
		{"NEGOTIATOR_ALLOW_QUOTA_OVERSUBSCRIPTION", c.Cycle.Quotas.Oversubscribe, true},
		{"NEGOTIATOR_STRICT_ENFORCE_QUOTA", c.Cycle.Quotas.Strict, true},
		{"GROUP_QUOTA_MAX_ALLOCATION_ROUNDS", c.Cycle.Quotas.Rounds, 3},
		{"GROUP_QUOTA_ROUND_ROBIN_RATE", c.Cycle.Quotas.RoundRobinRate, 1e100},
		{"NEGOTIATOR_USE_WEIGHTED_DEMAND", c.Cycle.Quotas.WeightedDemand, true},
		{"JOB_LEASE", c.JobLease, 40 * time.Minute},
		{"MACHINE_MAX_VACATE_TIME", c.MachineMaxVacateTime, 10 * time.Minute},
		{"KILLING_TIMEOUT", c.KillingTimeout, 30 * time.Second},
		{"PERIODIC_EXPR_INTERVAL", c.PeriodicInterval, time.Minute},
		{"STARTER_INITIAL_UPDATE_INTERVAL", c.InitialUpdateInterval, 8 * time.Second},
		{"STARTER_UPDATE_INTERVAL", c.UpdateInterval, 5 * time.Minute},
		{"CLAIM_WORKLIFE", c.ClaimWorklife, 20 * time.Minute},
		{"MAXJOBRETIREMENTTIME", c.Text("MAXJOBRETIREMENTTIME"), "0"},
		{"CGROUP_MEMORY_LIMIT_POLICY", c.MemoryLimitPolicy, "none"},
		{"STARTD_ENFORCE_DISK_LIMITS", c.EnforceDiskLimits, false},
		{"ASSIGN_CPU_AFFINITY", c.AssignCPUAffinity, false},
		{"NOBODY_SLOT_USER", c.NobodySlotUser, ""},
		{"MIN_UID", c.MinUID, 1000},
		{"BASE_CGROUP", c.BaseCgroup, "fairspool"},
		{"CHECKPOINT_COMMAND", strings.Join(c.CheckpointCommand, " "), "criu"},
		{"JOB_DEFAULT_REQUESTMEMORY", c.Text("JOB_DEFAULT_REQUESTMEMORY"), "128"},
		{"JOB_PRIORITY_POLICY", c.JobPriorityPolicy, "condor"},
		{"NEGOTIATOR_PIE", c.Cycle.Pie, negotiator.MaxMin},
		{"NEGOTIATOR_JOB_CONSTRAINT", c.Text("NEGOTIATOR_JOB_CONSTRAINT"), ""},
		{"NEGOTIATE_ALL_JOBS_IN_CLUSTER", c.Cycle.SkipClusters, false},
		{"CONCURRENCY_LIMIT_DEFAULT", c.Limit, 2308032.0},
		{"RESERVE_POOL_FRACTION", c.Cycle.Reserve.Fraction, 0.1},
		{"RESERVE_MAX_TIME", c.Cycle.Reserve.Time, 24 * time.Hour},
	} {
		if k.got != k.want {
			t.Errorf("default of %s = %v, want %v", k.name, k.got, k.want)
		}
	}
}

func isLater(keys func() LaterKeys, name string) bool {
	_, is := keys()[name]
	return is
}

// Every key's own default must pass the key's own checks.
func TestKeysHoldTheirDefaults(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range Keys {
		if seen[k.Name] || k.Help == "" || k.Set == nil && k.Kind != Expression && k.Kind != Amount || isLater(later, k.Name) {
			t.Errorf("key %s: twice in the table, without help, without field, or refused", k.Name)
		}
		seen[k.Name] = true
		var err error
		switch v := k.Default.(type) {
		case []string:
			var list []any
			for _, s := range v {
				list = append(list, s)
			}
			_, err = k.list(list)
		default:
			_, err = k.value(v)
		}
		if err != nil {
			t.Errorf("default of %s: %v", k.Name, err)
		}
	}
}

func TestParse(t *testing.T) {
	c, err := schema.Parse("f", []byte(`# pool
PRIORITY_HALFLIFE = 3600
DEFAULT_PRIO_FACTOR = 1000
ADMINISTRATORS = ["alice", "bob"]
SPOOL = "/srv/pool"

NEGOTIATOR_PRE_JOB_RANK = """
-Memory"""
ALLOW_NETWORK_SPOOL = true
KILLING_TIMEOUT = 0.5
JOB_DEFAULT_REQUESTCPUS = 2
JOB_DEFAULT_REQUESTMEMORY = "ifThenElse(MemoryUsage =!= undefined, MemoryUsage, 2048)"
JOB_DEFAULT_REQUESTDISK = "4096"
NEGOTIATOR_PIE = "htcondor"
NEGOTIATOR_IGNORE_USER_PRIORITIES = true
USE_GLOBAL_JOB_PRIOS = true
NEGOTIATOR_DEPTH_FIRST = true
NEGOTIATOR_JOB_CONSTRAINT = "JobPrio >= 0"
NEGOTIATOR_SLOT_CONSTRAINT = ""
NEGOTIATOR_SLOT_POOLSIZE_CONSTRAINT = "Cpus > 1"
NEGOTIATE_ALL_JOBS_IN_CLUSTER = false
SIGNIFICANT_ATTRIBUTES = ["Owner", "_x1"]
ADD_SIGNIFICANT_ATTRIBUTES = ["A"]
REMOVE_SIGNIFICANT_ATTRIBUTES = []
RESERVE_POOL_FRACTION = 0
RESERVE_MAX_TIME = 60
PREEMPTION_REQUIREMENTS = ""
PREEMPTION_RANK = "-TotalJobRunTime"
NEGOTIATOR_CONSIDER_PREEMPTION = false
NEGOTIATOR_CONSIDER_EARLY_PREEMPTION = true
NEGOTIATOR_MATCHLIST_CACHING = false
PREEMPTION_REQUIREMENTS_STABLE = false
PREEMPTION_RANK_STABLE = false
GROUP_SORT_EXPR = "GroupQuota"
NEGOTIATOR_ALLOW_QUOTA_OVERSUBSCRIPTION = false
NEGOTIATOR_STRICT_ENFORCE_QUOTA = false
GROUP_QUOTA_MAX_ALLOCATION_ROUNDS = 100
GROUP_QUOTA_ROUND_ROBIN_RATE = 1.5
NEGOTIATOR_USE_WEIGHTED_DEMAND = false
STARTER_INITIAL_UPDATE_INTERVAL = 0
STARTER_UPDATE_INTERVAL = 0.25
CLAIM_WORKLIFE = 0
MAXJOBRETIREMENTTIME = "3600 * (TARGET.JobUniverse == 5)"
CGROUP_MEMORY_LIMIT_POLICY = "hard"
STARTD_ENFORCE_DISK_LIMITS = true
ASSIGN_CPU_AFFINITY = true
NOBODY_SLOT_USER = "nobody"
BASE_CGROUP = "system.slice/pool"
CHECKPOINT_COMMAND = "/opt/criu --config /etc/criu.conf"
`))
	testenv.OK(t, err)
	want := schema.Default()
	want.HalfLife = time.Hour
	want.DefaultFactor = 1000
	want.Administrators = []string{"alice", "bob"}
	want.Spool = "/srv/pool"
	want.AllowNetworkSpool = true
	want.KillingTimeout = 500 * time.Millisecond
	n := &want.Cycle
	n.Pie, n.IgnoreUserPriorities, n.GlobalJobPrios, n.DepthFirst, n.SkipClusters = negotiator.Spins, true, true, true, true
	n.Significant, n.AddSignificant = []string{"Owner", "_x1"}, []string{"A"}
	n.Reserve = negotiator.Reserve{Time: time.Minute}
	n.Preemption = negotiator.Preemption{Early: true}
	n.Quotas = negotiator.Quotas{Rounds: 100, RoundRobinRate: 1.5}
	want.InitialUpdateInterval, want.UpdateInterval, want.ClaimWorklife = 0, 250*time.Millisecond, 0
	want.MemoryLimitPolicy = "hard"
	want.EnforceDiskLimits, want.AssignCPUAffinity, want.BaseCgroup = true, true, "system.slice/pool"
	want.NobodySlotUser = "nobody"
	want.CheckpointCommand = []string{"/opt/criu", "--config", "/etc/criu.conf"}
	for key, at := range map[string]string{"PRIORITY_HALFLIFE": "f:2", "NEGOTIATOR_PRE_JOB_RANK": "f:8", "ALLOW_NETWORK_SPOOL": "f:9", "SLOT_WEIGHT": ""} {
		if got := c.Where(key); got != at {
			t.Errorf("Where(%s) = %q, want %q", key, got, at)
		}
	}
	if got := c.Complain("NEGOTIATOR_PRE_JOB_RANK", errors.New("bad")).Error(); got != "f:8: NEGOTIATOR_PRE_JOB_RANK: bad" {
		t.Errorf("Complain = %q", got)
	}
	for key, text := range map[string]string{
		"NEGOTIATOR_PRE_JOB_RANK": "-Memory", "NEGOTIATOR_JOB_CONSTRAINT": "JobPrio >= 0", "NEGOTIATOR_SLOT_POOLSIZE_CONSTRAINT": "Cpus > 1",
		"PREEMPTION_REQUIREMENTS": "", "PREEMPTION_RANK": "-TotalJobRunTime", "GROUP_SORT_EXPR": "GroupQuota",
		"MAXJOBRETIREMENTTIME": "3600 * (TARGET.JobUniverse == 5)", "SLOT_WEIGHT": "Cpus",
		"JOB_DEFAULT_REQUESTCPUS": "2", "JOB_DEFAULT_REQUESTMEMORY": "ifThenElse(MemoryUsage =!= undefined, MemoryUsage, 2048)", "JOB_DEFAULT_REQUESTDISK": "4096",
	} {
		if got := c.Text(key); got != text {
			t.Errorf("%s = %q, want %q", key, got, text)
		}
	}
	c.where, c.values, c.named, c.said = want.where, want.values, nil, nil
	if !reflect.DeepEqual(c, want) {
		t.Errorf("Parse = %+v, want %+v", c, want)
	}
}

var bad = []struct{ text, want string }{
	{"PRIORITY_HALFLIFE = 0", `f:1: PRIORITY_HALFLIFE: 0: want 1e-05 to 1000000000`},
	{"\nPRIORITY_HALFLIFE = -5", `f:2: PRIORITY_HALFLIFE: -5: want`},
	{"PRIORITY_HALFLIFE = nan", `f:1: PRIORITY_HALFLIFE: NaN: want`},
	{"PRIORITY_HALFLIFE = inf", `f:1: PRIORITY_HALFLIFE: +Inf: want`},
	{"DEFAULT_PRIO_FACTOR = inf", `f:1: DEFAULT_PRIO_FACTOR: +Inf: want 1 to`},
	{"DEFAULT_PRIO_FACTOR = 1e300", `f:1: DEFAULT_PRIO_FACTOR: 1e+300: want 1 to 1e+100`},
	{"DEFAULT_PRIO_FACTOR = 0.5", `f:1: DEFAULT_PRIO_FACTOR: 0.5: want 1 to 1e+100`},
	{`PRIORITY_HALFLIFE = "86400"`, `f:1: PRIORITY_HALFLIFE: "86400": want a number of seconds`},
	{`SPOOL = "var/spool"`, `f:1: SPOOL: "var/spool": want an absolute path`},
	{`SPOOL = 5`, `f:1: SPOOL: 5: want a string`},
	{`ALLOW_NETWORK_SPOOL = 1`, `f:1: ALLOW_NETWORK_SPOOL: 1: want true or false`},
	{`NOTIFY_COMMAND = 5`, `f:1: NOTIFY_COMMAND: 5: want an array of strings, or a string of words`},
	{`ADMINISTRATORS = "alice"`, `f:1: ADMINISTRATORS: "alice": want an array of strings`},
	{`ADMINISTRATORS = ["alice", 5]`, `f:1: ADMINISTRATORS: 5: want`},
	{`ADMINISTRATORS = ["alice", "a b"]`, `f:1: ADMINISTRATORS: "a b": want a name`},
	{`ADMINISTRATORS = [""]`, `f:1: ADMINISTRATORS: an empty name`},
	{`UID_DOMAIN = "a@b"`, `f:1: UID_DOMAIN: "a@b": want a name`},
	{`NICE_USER_ACCOUNTING_GROUP_NAME = ""`, `f:1: NICE_USER_ACCOUNTING_GROUP_NAME: want a name`},
	{`SLOT_WEIGHT = ""`, `f:1: SLOT_WEIGHT: an empty expression`},
	{`JOB_DEFAULT_REQUESTCPUS = 1.5`, `f:1: JOB_DEFAULT_REQUESTCPUS: 1.5: want a whole number, or expression in a string`},
	{`JOB_DEFAULT_REQUESTMEMORY = " "`, `f:1: JOB_DEFAULT_REQUESTMEMORY: an empty expression`},
	{`JOB_DEFAULT_REQUESTMEMORY = "2147483648"`, `f:1: JOB_DEFAULT_REQUESTMEMORY: 2147483648: want 0 to 2147483647`},
	{`JOB_DEFAULT_REQUESTDISK = true`, `f:1: JOB_DEFAULT_REQUESTDISK: true: want a whole number, or expression in a string`},
	{`JOB_DEFAULT_REQUESTCPUS = 0`, `f:1: JOB_DEFAULT_REQUESTCPUS: 0: want 1 to 2147483647`},
	{`JOB_PRIORITY_POLICY = "lifo"`, `f:1: JOB_PRIORITY_POLICY: "lifo": want "condor", "fifo"`},
	{"\n\nALLOW_PSLOT_PREEMPTION = true", `f:3: ALLOW_PSLOT_PREEMPTION: not part of this version`},
	{`PREEMPTION_REQUIREMENTS = false`, `f:1: PREEMPTION_REQUIREMENTS: false: want an expression in a string, "false"`},
	{`NEGOTIATOR_PRE_JOB_RANK = ""`, `f:1: NEGOTIATOR_PRE_JOB_RANK: an empty expression`},
	{`GROUP_SORT_EXPR = 1`, `f:1: GROUP_SORT_EXPR: 1: want an expression in a string, "1"`},
	{`GROUP_QUOTA_MAX_ALLOCATION_ROUNDS = 0`, `f:1: GROUP_QUOTA_MAX_ALLOCATION_ROUNDS: 0: want 1 to 100`},
	{`GROUP_QUOTA_MAX_ALLOCATION_ROUNDS = 101`, `f:1: GROUP_QUOTA_MAX_ALLOCATION_ROUNDS: 101: want 1 to 100`},
	{`GROUP_QUOTA_MAX_ALLOCATION_ROUNDS = 1.5`, `f:1: GROUP_QUOTA_MAX_ALLOCATION_ROUNDS: 1.5: want a whole number`},
	{`GROUP_QUOTA_ROUND_ROBIN_RATE = 0.5`, `f:1: GROUP_QUOTA_ROUND_ROBIN_RATE: 0.5: want 1 to 1e+100`},
	{`GROUP_QUOTA_ROUND_ROBIN_RATE = inf`, `f:1: GROUP_QUOTA_ROUND_ROBIN_RATE: +Inf: want 1 to 1e+100`},
	{`NEGOTIATOR_USE_WEIGHTED_DEMAND = "yes"`, `f:1: NEGOTIATOR_USE_WEIGHTED_DEMAND: "yes": want true or false`},
	{`GROUP_QUOTA_MAX_ALLOCATION_ROUND = 3`, `f:1: GROUP_QUOTA_MAX_ALLOCATION_ROUND: GROUP_NAMES has no group MAX_ALLOCATION_ROUND; did you mean GROUP_QUOTA_MAX_ALLOCATION_ROUNDS?`},
	{`GROUP_QUOTA_round_robin_rate = 3`, `f:1: GROUP_QUOTA_round_robin_rate: GROUP_NAMES has no group round_robin_rate; did you mean GROUP_QUOTA_ROUND_ROBIN_RATE?`},
	{"GROUP_DYNAMIC_MACH_CONSTRAINT = 5", `f:1: GROUP_DYNAMIC_MACH_CONSTRAINT: 5: want an expression in a string, "5"`},
	{"[fifo]\nGROUP_DYNAMIC_MACH_CONSTRAINT = \"A\"", `f:2: GROUP_DYNAMIC_MACH_CONSTRAINT: stands in table [fifo]; move it above`},
	{"GROUP_DYNAMIC_MACH_CONSTRAINT = \"A\"\nNEGOTIATOR_SLOT_POOLSIZE_CONSTRAINT = \"A\"",
		`f:2: NEGOTIATOR_SLOT_POOLSIZE_CONSTRAINT: GROUP_DYNAMIC_MACH_CONSTRAINT is the same (f:1): one of the two is another name of it; leave one out`},
	{"GROUP_QUOTA_group_physics = 20", `f:1: GROUP_QUOTA_group_physics: GROUP_NAMES has no group group_physics`},
	{"GROUP_NAMES = [\"a\"]\nGROUP_QUOTA_a.b = 5", `f:2: GROUP_QUOTA_a: a name with a dot in it needs quotes: "GROUP_QUOTA_a.NAME" = ...`},
	{`"GROUP_QUOTA_group_physics.hep" = -5`, `f:1: GROUP_QUOTA_group_physics.hep: -5: want 0 to 1000000000000`},
	{`GROUP_QUOTA_DYNAMIC_a = 1.5`, `f:1: GROUP_QUOTA_DYNAMIC_a: 1.5: want 0 to 1`},
	{`GROUP_PRIO_FACTOR_a = 0.5`, `f:1: GROUP_PRIO_FACTOR_a: 0.5: want 1 to`},
	{`GROUP_AUTOREGROUP_a = "yes"`, `f:1: GROUP_AUTOREGROUP_a: "yes": want true or false`},
	{`GROUP_QUOTA_ = 1`, `f:1: GROUP_QUOTA_: unknown key`},
	{`GROUP_NAMES = "a, b"`, `f:1: GROUP_NAMES: "a, b": want an array of strings`},
	{`GROUP_NAMES = ["a b"]`, `f:1: GROUP_NAMES: "a b": blanks, control characters`},
	{`GROUP_NAMES = ["<none>"]`, `f:1: GROUP_NAMES: <none>: is there by itself`},
	{`GROUP_NAMES = ["a..b"]`, `f:1: GROUP_NAMES: "a..b": want a name`},
	{`GROUP_NAMES = ["a", "A"]`, `f:1: GROUP_NAMES: A: defined twice`},
	{`GROUP_NAMES = ["a.b"]`, `f:1: GROUP_NAMES: a.b: its parent a is not defined; add a, or leave out a.b`},
	{"SPOOL = '/a'\nGROUP_NAMES = ['a', 'a.b.c.d', 'A.B']", `f:2: GROUP_NAMES: a.b.c.d: its parent a.b.c is not defined; add a.b.c, or leave out a.b.c.d`},
	{`GROUP_NAMES = ["` + strings.Repeat("abcde", 52) + `"]`, `f:1: GROUP_NAMES: "` + strings.Repeat("abcde", 8) + `"...: 260 characters, at most 256`},
	{`NICE_USER_ACCOUNTING_GROUP_NAME = "` + strings.Repeat("abcde", 52) + `"`, `f:1: NICE_USER_ACCOUNTING_GROUP_NAME: "` + strings.Repeat("abcde", 8) + `"...: 260 characters, at most 256`},
	{`NEGOTIATOR_PIE = "apple"`, `f:1: NEGOTIATOR_PIE: "apple": want "max-min", "htcondor"`},
	{`SIGNIFICANT_ATTRIBUTES = "Owner"`, `f:1: SIGNIFICANT_ATTRIBUTES: "Owner": want an array of strings`},
	{`ADD_SIGNIFICANT_ATTRIBUTES = ["A", "MY.B"]`, `f:1: ADD_SIGNIFICANT_ATTRIBUTES: "MY.B": want the name of an attribute`},
	{`REMOVE_SIGNIFICANT_ATTRIBUTES = ["1A"]`, `f:1: REMOVE_SIGNIFICANT_ATTRIBUTES: "1A": want the name`},
	{`REMOVE_SIGNIFICANT_ATTRIBUTES = [""]`, `f:1: REMOVE_SIGNIFICANT_ATTRIBUTES: "": want the name`},
	{`RESERVE_POOL_FRACTION = 1.5`, `f:1: RESERVE_POOL_FRACTION: 1.5: want 0 to 1`},
	{`RESERVE_MAX_TIME = 0`, `f:1: RESERVE_MAX_TIME: 0: want 1 to 1000000000`},
	{`STARTER_UPDATE_INTERVAL = -1`, `f:1: STARTER_UPDATE_INTERVAL: -1: want 0 to 1000000000`},
	{`CLAIM_WORKLIFE = -2`, `f:1: CLAIM_WORKLIFE: -2: want -1 to 1000000000`},
	{`MAXJOBRETIREMENTTIME = 3600`, `f:1: MAXJOBRETIREMENTTIME: 3600: want an expression in a string, "3600"`},
	{`MAXJOBRETIREMENTTIME = ""`, `f:1: MAXJOBRETIREMENTTIME: an empty expression`},
	{`CGROUP_MEMORY_LIMIT_POLICY = "custom"`, `f:1: CGROUP_MEMORY_LIMIT_POLICY: "custom": want "none", "soft", "hard"`},
	{`NOBODY_SLOT_USER = "no body"`, `f:1: NOBODY_SLOT_USER: "no body": want a name`},
	{`BASE_CGROUP = "/fairspool"`, `f:1: BASE_CGROUP: "/fairspool": want a name, or names with / between them`},
	{`BASE_CGROUP = "a/../b"`, `f:1: BASE_CGROUP: "a/../b": want a name`},
	{`BASE_CGROUP = "."`, `f:1: BASE_CGROUP: ".": want a name`},
	{`BASE_CGROUP = "a//b"`, `f:1: BASE_CGROUP: "a//b": want a name`},
	{`BASE_CGROUP = "a\tb"`, `f:1: BASE_CGROUP: "a\tb": want a name`},
	{`CHECKPOINT_COMMAND = 1`, `f:1: CHECKPOINT_COMMAND: 1: want an array of strings, or a string of words`},
	{"\"a\\nb\" = 1", `f:1: "a\nb": unknown key`},
	{"\"GROUP_QUOTA_a\\nb\" = 1", `f:1: "GROUP_QUOTA_a\nb": GROUP_NAMES has no group "a\nb"`},
	{"\"GROUP_QUOTA_a\\nb\".c = 1", `f:1: "GROUP_QUOTA_a\nb": a name with a dot in it needs quotes: "GROUP_QUOTA_a\nb.NAME"`},
	{"\"GRUOP_QUOTA_a\\nb\" = 1", `f:1: "GRUOP_QUOTA_a\nb": unknown key`},
	{"GRUOP_QUOTA_physics = 20", `f:1: GRUOP_QUOTA_physics: unknown key; did you mean GROUP_QUOTA_physics?`},
	{"[fifo]\nDEPTH = 3\nGROUP_QUOTA_x = 3", `f:3: GROUP_QUOTA_x: stands in table [fifo]; move it above the first table`},
	{"PRIORITY_HALF_LIFE = 5", `f:1: PRIORITY_HALF_LIFE: unknown key; did you mean PRIORITY_HALFLIFE?`},
	{"zebra = 5", `f:1: zebra: unknown key`},
	{"SPOOL = \"/a\"\n[fifo]\nPRIORITY_HALFLIFE = 5", `f:3: PRIORITY_HALFLIFE: stands in table [fifo]; move it above the first table`},
	{"[SPOOL]\nx = 1", `f:1: SPOOL: a table: want a string`},
	{"PRIORITY_HALFLIFE = 5\nPRIORITY_HALFLIFE = 6", `f:2: `},
	{"A = 1\nB = \n", `f:2: `},
	{"A = \xff", `f:1: `},
	{"NEGOTIATOR_TIMEOUT = 5\nzebra = 3", `f:1: NEGOTIATOR_TIMEOUT: `},
}

func TestParseRefuses(t *testing.T) {
	for _, c := range bad {
		_, err := schema.Parse("f", []byte(c.text))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("Parse(%q) = %v, want %q", c.text, err, c.want)
		}
	}
}

// An older name of a key is as good as the one of today, by which the key is known
// from then on.
func TestOlderNames(t *testing.T) {
	c, err := schema.Parse("f", []byte("\nGROUP_DYNAMIC_MACH_CONSTRAINT = \"Cpus > 1\""))
	testenv.OK(t, err)
	const key = "NEGOTIATOR_SLOT_POOLSIZE_CONSTRAINT"
	if got := c.Where(key); c.Text(key) != "Cpus > 1" || got != "f:2" {
		t.Errorf("%s = %q by %q, want Cpus > 1 by f:2", key, c.Text(key), got)
	}
	for _, name := range []string{key, "GROUP_DYNAMIC_MACH_CONSTRAINT"} {
		with, err := c.With([]string{name + "=A"})
		if err != nil || with.Text(key) != "A" || with.Where(key) != "config" {
			t.Errorf("With(%s=A) = %q by %q, %v, want A by config", name, with.Text(key), with.Where(key), err)
		}
	}
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fairspool.toml")
	if _, err := schema.Load(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Load of no file = %v, want %v", err, os.ErrNotExist)
	}
	testenv.OK(t, os.WriteFile(path, []byte("KILLING_TIMEOUT = 7\n"), 0o600))
	c, err := schema.Load(path)
	if err != nil || c.KillingTimeout != 7*time.Second {
		t.Errorf("Load = %v, %v, want 7s", c.KillingTimeout, err)
	}
	if got, want := c.Where("KILLING_TIMEOUT"), path+":1"; got != want {
		t.Errorf("Where = %q, want %q", got, want)
	}
}

// Whatever the bytes, Parse gives one line of error with the file's name, or
// a configuration within the ranges of the table.
func FuzzParse(f *testing.F) {
	for _, c := range bad {
		f.Add([]byte(c.text))
	}
	for _, k := range Keys {
		f.Add([]byte(fmt.Sprintf("%s = %v\n", k.Name, k.Default)))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := schema.Parse("f", text)
		if err != nil {
			if s := err.Error(); !strings.HasPrefix(s, "f:") || strings.Contains(s, "\n") {
				t.Errorf("Parse(%q) = %q, want one line with the file's name", text, s)
			}
			return
		}
		if c.HalfLife <= 0 || !(c.DefaultFactor >= 1) || math.IsInf(c.NiceFactor, 0) || c.NiceGroup == "" ||
			c.Cycle.Quotas.Rounds < 1 || c.Cycle.Quotas.Rounds > 100 || !(c.Cycle.Quotas.RoundRobinRate >= 1) || math.IsInf(c.Cycle.Quotas.RoundRobinRate, 0) {
			t.Errorf("Parse(%q) = %+v, out of range", text, c)
		}
	})
}

// A claim's life below 0 has no end, nor has one of zero a beginning.
func TestClaimWorklife(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"-1": MaxSeconds * time.Second, "-0.001": MaxSeconds * time.Second, "0": 0, "1e9": MaxSeconds * time.Second, "1.5": 1500 * time.Millisecond,
	} {
		if cfg, err := schema.Parse("f", []byte("CLAIM_WORKLIFE = "+text)); err != nil || cfg.ClaimWorklife != want {
			t.Errorf("CLAIM_WORKLIFE = %s is %v, %v, want %v", text, cfg.ClaimWorklife, err, want)
		}
	}
}

// No command is none, and what somebody does to one configuration's does not reach another's.
func TestCheckpointCommand(t *testing.T) {
	for _, text := range []string{`""`, `[]`} {
		if cfg, err := schema.Parse("f", []byte("CHECKPOINT_COMMAND = "+text)); err != nil || len(cfg.CheckpointCommand) > 0 {
			t.Errorf("CHECKPOINT_COMMAND = %s is %q, %v, want none", text, cfg.CheckpointCommand, err)
		}
	}
	schema.Default().CheckpointCommand[0] = "rm"
	if got := schema.Default().CheckpointCommand[0]; got != "criu" {
		t.Errorf("default of CHECKPOINT_COMMAND after a change to another's = %q, want criu", got)
	}
}

// A command is a list of words, or one string of them.
func TestWords(t *testing.T) {
	for text, want := range map[string][]string{
		`["/bin/tell", "a b"]`: {"/bin/tell", "a b"}, `" /bin/tell  -q "`: {"/bin/tell", "-q"}, `" "`: nil, `""`: nil, `[]`: nil,
	} {
		cfg, err := schema.Parse("f", []byte("NOTIFY_COMMAND = "+text))
		if err != nil || !slices.Equal(cfg.NotifyCommand, want) {
			t.Errorf("NOTIFY_COMMAND = %s gives %q, %v, want %q", text, cfg.NotifyCommand, err, want)
		}
	}
}

// TestAsksNothing holds that keys that are not served are taken at the value that asks for
// nothing, and refused at any other.
func TestAsksNothing(t *testing.T) {
	for key, nothing := range later() {
		for _, x := range []struct {
			value string
			taken bool
		}{{strconv.Quote(nothing), true}, {`""`, true}, {`"x"`, false}, {"7", false}} {
			if _, err := schema.Parse("f", []byte(key+" = "+x.value)); (err == nil) != x.taken {
				t.Errorf("%s = %s: %v, taken %v", key, x.value, err, x.taken)
			}
		}
	}
	for _, x := range []struct {
		text  string
		taken bool
	}{
		{"NEGOTIATOR_CROSS_SLOT_PRIOS = false", true},
		{"NEGOTIATOR_CROSS_SLOT_PRIOS = true", false},
		{"NEGOTIATOR_DISCOUNT_SUSPENDED_RESOURCES = false", true},
		{"NEGOTIATOR_SUBMITTER_CONSTRAINT = \"TRUE\"", true},
		{"NEGOTIATOR_SUBMITTER_CONSTRAINT = \"Name == 5\"", false},
		{"RANK = 0.0", true},
		{"RANK = \"0\"", true},
		{"START = \"true\"\nPREEMPT = \"False\"", true},
		{"START = false", false},
		{"MAX_JOBS_SUBMITTED = 2147483647", true},
		{"MAX_JOBS_SUBMITTED = 100000", false},
		{"SUBMIT_ATTRS = []", true},
		{"SUBMIT_ATTRS = [\"A\"]", false},
		{"DEFAULT_UNIVERSE = \"Vanilla\"", true},
	} {
		c, err := schema.Parse("f", []byte(x.text))
		if (err == nil) != x.taken || len(c.Warnings) > 0 {
			t.Errorf("%s: %v, warnings %q, taken %v", x.text, err, c.Warnings, x.taken)
		}
	}
}
