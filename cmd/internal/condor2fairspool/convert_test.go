package condor2fairspool

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairspool/internal/testenv"
	"fairspool/lib/condorconfig"
	"fairspool/lib/config"
	"fairspool/lib/lifecycle"
	"fairspool/lib/policy/registry"
)

func noInclude(path string) (string, error) { return "", fs.ErrNotExist }

// result converts one text, without the lines that are there for any.
func result(t *testing.T, text string) (lines []string, done converted) {
	t.Helper()
	done, err := convertConfig([]condorconfig.Source{{Name: "f", Text: text}}, noInclude)
	if err != nil {
		t.Fatalf("convertConfig(%q) = %v, want no error", text, err)
	}
	for _, line := range strings.Split(done.text, "\n")[3:] {
		if line != "" && line != "#" && !strings.HasSuffix(line, "HTCondor's default") && !strings.HasPrefix(line, "# HTCondor's way") &&
			!strings.HasPrefix(line, "# What has no meaning") && !strings.HasPrefix(line, "# Only for") {
			lines = append(lines, line)
		}
	}
	return lines, done
}

func TestConvertLines(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"PRIORITY_HALFLIFE = 24 * 60 * 60", "PRIORITY_HALFLIFE = 86400 # f:1"},
		{"M = 60\npriority_halflife = $(M) * 1.5", "PRIORITY_HALFLIFE = 90 # f:2"},
		{"PRIORITY_HALFLIFE = 0", "# PRIORITY_HALFLIFE = 0: want 1e-05 to 1000000000 (f:1)"},
		{"GROUP_NAMES = a\nGROUP_QUOTA_DYNAMIC_a = 1.5", "GROUP_NAMES = [\"a\"] # f:1\n# GROUP_QUOTA_DYNAMIC_a = 1.5: want 0 to 1 (f:2)"},
		{"REMOTE_PRIO_FACTOR = 1e30", "REMOTE_PRIO_FACTOR = 1e+30 # f:1"},
		{"JOB_DEFAULT_REQUESTMEMORY = 1.5 * 1024", "JOB_DEFAULT_REQUESTMEMORY = 1536 # f:1"},
		{"JOB_DEFAULT_REQUESTMEMORY = 0.5", `JOB_DEFAULT_REQUESTMEMORY = "0.5" # f:1`}, {"JOB_DEFAULT_REQUESTDISK = 2 GB", `JOB_DEFAULT_REQUESTDISK = "2 GB" # f:1`},
		{"JOB_DEFAULT_REQUESTCPUS = 1.5", "# JOB_DEFAULT_REQUESTCPUS = 1.5: want a whole number from 0 to 1000000 (f:1)"},
		{"JOB_DEFAULT_REQUESTMEMORY = lots", `# JOB_DEFAULT_REQUESTMEMORY = lots: "lots": want a size, such as 512 MB or 1.5 GB, or an expression (f:1)`},
		{"JOB_DEFAULT_REQUESTMEMORY = ifThenElse(MemoryUsage", "# JOB_DEFAULT_REQUESTMEMORY = ifThenElse(MemoryUsage: expected an operator, a comma or ), found the end of the text (f:1)"},
		{"JOB_DEFAULT_REQUESTMEMORY = -5", "# JOB_DEFAULT_REQUESTMEMORY = -5: must not be negative (f:1)"},
		{"NEGOTIATOR_USE_SLOT_WEIGHTS = no", "NEGOTIATOR_USE_SLOT_WEIGHTS = false # f:1"},
		{"NEGOTIATOR_USE_SLOT_WEIGHTS =", "# NEGOTIATOR_USE_SLOT_WEIGHTS is empty: as if it were not set (f:1)"},
		{"ADD_SIGNIFICANT_ATTRIBUTES = A, B C", `ADD_SIGNIFICANT_ATTRIBUTES = ["A", "B", "C"] # f:1`},
		{"ADD_SIGNIFICANT_ATTRIBUTES = A-B", `# ADD_SIGNIFICANT_ATTRIBUTES = A-B: "A-B": want the name of an attribute (f:1)`},
		{"SLOT_WEIGHT = Cpus +", "# SLOT_WEIGHT = Cpus +: not an expression: "},
		{"PRIORITY_HALFLIFE = $RANDOM_INTEGER(1,5)", "# PRIORITY_HALFLIFE = $RANDOM_INTEGER(1,5): depends on $RANDOM_INTEGER(1,5), which only HTCondor knows; write the value (f:1)"},
		{"GROUP_DYNAMIC_MACH_CONSTRAINT = Cpus > 1", `NEGOTIATOR_SLOT_POOLSIZE_CONSTRAINT = "Cpus > 1" # f:1 GROUP_DYNAMIC_MACH_CONSTRAINT`},
		{"MachineMaxVacateTime = 5\nMACHINE_MAX_VACATE_TIME = 6", "MACHINE_MAX_VACATE_TIME = 5 # f:1 MachineMaxVacateTime\n# MACHINE_MAX_VACATE_TIME = 6: MachineMaxVacateTime goes before it (f:2)"},
		{"NEGOTIATE_ALL_JOBS_IN_CLUSTER = True", "NEGOTIATE_ALL_JOBS_IN_CLUSTER = true # f:1"},
		{"NEGOTIATE_ALL_JOBS_IN_CLUSTER = False", "# NEGOTIATE_ALL_JOBS_IN_CLUSTER = False: HTCondor skips equal jobs, as fairspool always does; false would skip whole clusters here (f:1)"},
		{"SPOOL = /var/spool/condor", "# SPOOL = /var/spool/condor: HTCondor's own; fairspool needs a directory of its own, see SPOOL in fairspool.toml(5) (f:1)"},
		{"ALLOW_PSLOT_PREEMPTION = True", "# ALLOW_PSLOT_PREEMPTION = True: not part of this version (f:1)"},
		{"GROUP_NAMES = a\nGROUP_PRIO_FACTOR_A = 0.5", "GROUP_NAMES = [\"a\"] # f:1\n# GROUP_PRIO_FACTOR_A = 0.5: want 1 to 1e+100 (f:2)"},
		{"X_LIMIT = lots", "# X_LIMIT = lots: no concurrency limit: not a constant number (f:1)"},
		{"a.b.c_LIMIT = 3", "# a.b.c_LIMIT = 3: no macro that fairspool knows (f:1)"},
		{"DAEMON_LIST = MASTER, SECOND\nSECOND.X_LIMIT = 3", "# DAEMON_LIST = MASTER, SECOND: there are no daemons (f:1)\n# SECOND.X_LIMIT = 3: counts for the daemon SECOND only (f:2)"},
		{"CLAIM_WORKLIFE = 20 * 60", "CLAIM_WORKLIFE = 1200 # f:1"}, {"CLAIM_WORKLIFE = -1", "CLAIM_WORKLIFE = -1 # f:1"},
		{"CLAIM_WORKLIFE = 60 * TotalCpus", "# CLAIM_WORKLIFE = 60 * TotalCpus: not a constant number (f:1)"},
		{"CLAIM_WORKLIFE =", "# Set to nothing, which is not HTCondor's default but no end of a claim.\nCLAIM_WORKLIFE = -1 # f:1"},
		{"MaxJobRetirementTime = $(HOUR) * (TARGET.JobUniverse =?= 5)",
			"# Not defined in the files, so that HTCondor's own was put in: $(HOUR), $(MINUTE)\nMAXJOBRETIREMENTTIME = \"(60 * 60) * (TARGET.JobUniverse =?= 5)\" # f:1"},
		{"MAXJOBRETIREMENTTIME = 0", `MAXJOBRETIREMENTTIME = "0" # f:1`},
		{"MAXJOBRETIREMENTTIME =", "# MAXJOBRETIREMENTTIME is empty: as if it were not set (f:1)"},
		{"MAXJOBRETIREMENTTIME = 3600 *", "# MAXJOBRETIREMENTTIME = 3600 *: not an expression: "},
		{"ASSIGN_CPU_AFFINITY = True", "ASSIGN_CPU_AFFINITY = true # f:1"}, {"STARTD_ENFORCE_DISK_LIMITS = t", "STARTD_ENFORCE_DISK_LIMITS = true # f:1"},
		{"STARTER_UPDATE_INTERVAL = 60\nSTARTER_INITIAL_UPDATE_INTERVAL = 2", "STARTER_INITIAL_UPDATE_INTERVAL = 2 # f:2\nSTARTER_UPDATE_INTERVAL = 60 # f:1"},
		{"CGROUP_MEMORY_LIMIT_POLICY = hard", `CGROUP_MEMORY_LIMIT_POLICY = "hard" # f:1`},
		{"CGROUP_MEMORY_LIMIT_POLICY = custom", `# CGROUP_MEMORY_LIMIT_POLICY = custom: "custom": want "none", "soft", "hard" (f:1)`},
		{"BASE_CGROUP = /system.slice/condor.service", `BASE_CGROUP = "system.slice/condor.service" # f:1`}, {"BASE_CGROUP = htcondor", `BASE_CGROUP = "htcondor" # f:1`},
		{"BASE_CGROUP =", "# Set to nothing, which is not HTCondor's default but no control groups.\nBASE_CGROUP = \"\" # f:1"},
		{"BASE_CGROUP = a/../b", `# BASE_CGROUP = a/../b: "a/../b": want a name, or names with / between them (f:1)`},
		{"CHECKPOINT_COMMAND = dmtcp", "# CHECKPOINT_COMMAND = dmtcp: no macro that fairspool knows (f:1)"},
		{"PERIODIC_CHECKPOINT = True", "# PERIODIC_CHECKPOINT = True: there are no periodic checkpoints and no checkpoint server: see checkpoints(7) (f:1)"},
		{"CGROUP_POLLING_INTERVAL = 5", "# CGROUP_POLLING_INTERVAL = 5: starter finds a job's processes itself; CGROUP_MEMORY_LIMIT_POLICY and BASE_CGROUP are the keys for that (f:1)"},
		{"X = 1\nY = $(X)\nNEGOTIATOR_INTERVAL = $(Y)",
			"NEGOTIATOR_INTERVAL = 1 # f:3"},
		{"SLOT_WEIGHT = $(W)\nW @=e\nCpus +\n\tMemory\n@e", `SLOT_WEIGHT = "Cpus +  Memory" # f:1`},
		{"SLOT_WEIGHT = a\x00\x01b", "# SLOT_WEIGHT = a b: not an expression: "},
	} {
		lines, _ := result(t, c.text)
		if got := strings.Join(lines, "\n"); got != c.want && (!strings.HasSuffix(c.want, ": ") || !strings.HasPrefix(got, c.want)) {
			t.Errorf("convertConfig(%q) = %s\nwant %s", c.text, got, c.want)
		}
	}
}

// TestConvertDefaults holds when HTCondor's defaults are written down.
func TestConvertDefaults(t *testing.T) {
	for _, c := range []struct {
		text, key string
		want      bool
	}{
		{"", "DEFAULT_PRIO_FACTOR = 1000", true},
		{"DEFAULT_PRIO_FACTOR = 1", "DEFAULT_PRIO_FACTOR = 1000", false},
		{"", "NICE_USER_PRIO_FACTOR = 10000000000", true},
		{"", `PREEMPTION_REQUIREMENTS = "False"`, true},
		{"PREEMPTION_REQUIREMENTS =", `PREEMPTION_REQUIREMENTS = "True"`, true},
		{"ACCOUNTANT_LOCAL_DOMAIN = $(X)", "REMOTE_PRIO_FACTOR = 10000000", false},
		{"DEFAULT_PRIO_FACTOR = $(X)", "DEFAULT_PRIO_FACTOR = 1000", true},
		{"PREEMPTION_REQUIREMENTS = (", `PREEMPTION_REQUIREMENTS = "False"`, true},
		{"DEFAULT_PRIO_FACTOR = many", "DEFAULT_PRIO_FACTOR = 1000", true},
		{"NEGOTIATOR_PRE_JOB_RANK =", `NEGOTIATOR_PRE_JOB_RANK = "0"`, true},
		{"PREEMPTION_RANK = \nNEGOTIATOR_POST_JOB_RANK =", `PREEMPTION_RANK = "0"`, true},
		{"PREEMPTION_REQUIREMENTS = True", `PREEMPTION_REQUIREMENTS = "False"`, false},
		{"", "REMOTE_PRIO_FACTOR", false},
		{"ACCOUNTANT_LOCAL_DOMAIN = here", "REMOTE_PRIO_FACTOR = 10000000", true},
		{"", "NEGOTIATE_ALL_JOBS_IN_CLUSTER", false},
		{"SIGNIFICANT_ATTRIBUTES = Owner", "NEGOTIATE_ALL_JOBS_IN_CLUSTER = false", true},
		{"", `NEGOTIATOR_PIE = "htcondor"`, true},
		{"", "KILLING_TIMEOUT", false},
	} {
		_, done := result(t, c.text)
		if got := strings.Contains(done.text, "\n"+c.key); got != c.want {
			t.Errorf("convertConfig(%q) has %s = %v, want %v", c.text, c.key, got, c.want)
		}
	}
}

func TestGroupTree(t *testing.T) {
	for _, c := range []struct{ list, want, left string }{
		{"a b a.b", "a b a.b", ""},
		{"a.b.c a.b a", "a.b.c a.b a", ""},
		{"a.b.c a", "a", "a.b.c is left out: its parent a.b is not listed; HTCondor ignores such a group with a warning"},
		{"a.b a.b.c x", "x", "a.b is left out: its parent a is not listed; HTCondor ignores such a group with a warning; " +
			"a.b.c is left out: its parent a.b is not listed; HTCondor ignores such a group with a warning"},
		{"A.b a", "A.b a", ""},
		{"a A a", "a", "A is left out: a is the same, as case does not count; HTCondor ignores it, too; a is there twice: HTCondor ignores the second"},
		{strings.Repeat("x", 41), strings.Repeat("x", 41), ""},
		{strings.Repeat("x", 257), "", `left out: "` + strings.Repeat("x", 40) + `"...: 257 characters, at most 256`},
		{"a.", "", `left out: "a.": want a name, with dots between the names of group and subgroup`},
		{"<none>", "", "left out: <none>: is there by itself"},
		{"", "", ""},
	} {
		names, left := groupTree(strings.Fields(c.list))
		if got, why := strings.Join(names, " "), strings.Join(left, "; "); got != c.want || why != c.left {
			t.Errorf("groupTree(%s) = %s, %s, want %s, %s", c.list, got, why, c.want, c.left)
		}
	}
}

// TestTomlString holds that TOML gives a text back.
func TestTomlString(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		c, err := registry.Parse("f", []byte("APPEND_RANK = "+tomlString(text)))
		if err != nil || c.Text("APPEND_RANK") != text {
			t.Errorf("tomlString(%q) = %s, which is %q, %v", text, tomlString(text), c.Text("APPEND_RANK"), err)
		}
	})
}

// TestFamilies holds that every pattern can be matched, and none hides a key.
func TestFamilies(t *testing.T) {
	for _, f := range families {
		for _, pattern := range strings.Fields(f.patterns) {
			if _, err := filepath.Match(pattern, ""); err != nil || pattern != strings.ToUpper(pattern) {
				t.Errorf("%s: %v, want a pattern in capitals", pattern, err)
			}
		}
	}
	for _, k := range config.LimitKeys {
		if why := family("MATLAB" + k.Name); why != "" {
			t.Errorf("family(MATLAB%s) = %s, want none", k.Name, why)
		}
	}
}

// TestGoldenConvert converts settings from configurations of other people and of HTCondor 25.14,
// with neighbors by the same rules. The values are HTCondor's, but the greatest that are kept;
// the words of comments and warnings are fairspool's.
func TestGoldenConvert(t *testing.T) {
	text, err := os.ReadFile("testdata/golden/convert.json")
	testenv.OK(t, err)
	var cases []struct {
		Config         string
		TOML, Warnings []string
	}
	if err := json.Unmarshal(text, &cases); err != nil || len(cases) == 0 {
		t.Fatalf("convert.json has %d cases, want some: %v", len(cases), err)
	}
	for _, c := range cases {
		lines, done := result(t, c.Config)
		if !slices.Equal(lines, c.TOML) || !slices.Equal(done.warnings, c.Warnings) {
			t.Errorf("convertConfig(%q) = %q, warns %q\nwant %q, %q", c.Config, lines, done.warnings, c.TOML, c.Warnings)
		}
	}
}

// TestRealConfigs converts configurations of real pools.
func TestRealConfigs(t *testing.T) {
	shared := os.Getenv("FAIRSPOOL_SHARED")
	if shared == "" {
		t.Skip("FAIRSPOOL_SHARED is not set: real configurations are not read")
	}
	files, err := filepath.Glob(filepath.Join(shared, "real", "config", "*.conf"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no configurations in %s: %v", shared, err)
	}
	all := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		testenv.OK(t, err)
		source := condorconfig.Source{Name: filepath.Base(file), Text: string(text)}
		done, err := convertConfig([]condorconfig.Source{source}, noInclude)
		if err != nil {
			t.Errorf("convertConfig(%s) = %v, want no error", source.Name, err)
			continue
		}
		all += checkConverted(t, source, done)
	}
	t.Logf("%d macros of %d files are keys here", all, len(files))
	if all == 0 {
		t.Error("no macro is a key here, want some")
	}
}

// checkConverted holds that nothing of a file is passed over in silence, and returns
// how many lines are set.
func checkConverted(t *testing.T, source condorconfig.Source, done converted) (lines int) {
	t.Helper()
	cfg, err := registry.Parse(source.Name, []byte(done.text))
	if err != nil {
		t.Errorf("%s: %v", source.Name, err)
	}
	if _, err := lifecycle.CycleConfig(&cfg); err != nil {
		t.Errorf("%s: the expressions: %v", source.Name, err)
	}
	again, err := convertConfig([]condorconfig.Source{source}, noInclude)
	if err != nil || again.text != done.text || !slices.Equal(again.warnings, done.warnings) {
		t.Errorf("%s: converted twice, the results differ", source.Name)
	}
	in, err := condorconfig.Read([]condorconfig.Source{source}, condorconfig.Options{Subsystem: "NEGOTIATOR", Default: condorDefault})
	testenv.OK(t, err)
	for _, m := range in.Macros() {
		at := m.Place.String()
		set := strings.Contains(done.text, "# "+at+"\n") || strings.Contains(done.text, "# "+at+" ")
		told := strings.Contains(done.text, "("+at+")")
		if set {
			lines++
		}
		if !set && !told && !isHelper(in, m) {
			t.Errorf("%s: nothing is said of %s", source.Name, m.Name)
		}
	}
	return lines
}

// isHelper reports whether another macro refers to m.
func isHelper(in *condorconfig.Config, m condorconfig.Macro) bool {
	return slices.ContainsFunc(in.Macros(), func(o condorconfig.Macro) bool {
		return strings.Contains(strings.ToLower(o.Text), "$("+strings.ToLower(m.Name)+")")
	})
}

// FuzzConvert holds that whatever can be read becomes a file that config.Parse takes.
func FuzzConvert(f *testing.F) {
	f.Add("GROUP_NAMES = a, a.b, A\nGROUP_QUOTA_a.b = 5\nGROUP_QUOTA_DYNAMIC_a = 0.5\nX_LIMIT = 3\nSLOT_WEIGHT = \"a\\b\" + 'x'\nPRIORITY_HALFLIFE = $(HOUR)")
	f.Add("NEGOTIATOR.X_LIMIT = 1\nx_limit = 2\nCONCURRENCY_LIMIT_DEFAULT_a=1\nGROUP_NAMES = <none>, b.\nUID_DOMAIN = a b\nuse ROLE : x\x00")
	f.Add("GROUP_SORT_EXPR = 1\nPREEMPTION_REQUIREMENTS @=e\nTrue\n&& False\n@e\nif true\nMachineMaxVacateTime = -1\nendif\nwarning : x\n\x01y")
	f.Add("x_LIMIT_LIMIT = 1\nCONCURENCY_LIMIT = 5\nGROUP_QUOTA_MAX_ALLOCATION_ROUND = 5\n\"a\"_LIMIT = 1\nA_LIMIT = 1e400")
	f.Fuzz(func(t *testing.T, text string) {
		done, err := convertConfig([]condorconfig.Source{{Name: "f", Text: text}}, noInclude)
		if err != nil {
			if strings.Contains(err.Error(), "internal error") || strings.Contains(err.Error(), "\n") {
				t.Errorf("convertConfig(%q) = %v", text, err)
			}
			return
		}
		for _, w := range done.warnings {
			if strings.ContainsAny(w, "\n\r") {
				t.Errorf("convertConfig(%q) warns %q, want one line", text, w)
			}
		}
	})
}

func TestConvertErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"A = $(B)\nB = $(A)", "f:1: A: macros that refer to each other in a circle: A -> B -> A; take one of the references out"},
		{"include : x", "f:1: include : x: file does not exist"},
		{"error : stop", "f:1: the configuration says: error: stop"},
	} {
		if _, err := convertConfig([]condorconfig.Source{{Name: "f", Text: c.text}}, noInclude); fmt.Sprint(err) != c.want {
			t.Errorf("convertConfig(%q) = %v, want %s", c.text, err, c.want)
		}
	}
}
