package lifecycle

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"fairspool/internal/testenv"
	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/jobad"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/concurrency"
	"fairspool/lib/policy"
	"fairspool/lib/policy/registry"
	"fairspool/lib/pool"
	"fairspool/lib/submitfile"
	"fairspool/spool"
)

// late puts a cluster into the queue of which only some procs are there, and
// returns its number and the file of its digest.
func (b bench) late(commands string) (cluster int, digest string) {
	b.t.Helper()
	d, _, err := submitfile.Parse("executable = /x\n"+commands, "a.sub", submitfile.Options{})
	if err != nil {
		b.t.Fatal(err)
	}
	jobs, _, err := jobad.New(d, jobad.Options{Owner: "alice", Domain: "example.org", Dir: "/"})
	if err != nil {
		b.t.Fatal(err)
	}
	b.update(func(tx *spool.Tx) error {
		tx.Op("submit")
		cluster, _, err = Submit(tx, jobs, anyRights("alice"))
		return err
	})
	return cluster, filepath.Join(b.dir, "factories", fmt.Sprint(cluster))
}

// anyRights are those that an administrator has for the jobs of an owner, where nothing is
// configured.
func anyRights(owner string) policy.Rights {
	cfg := registry.Default()
	return policy.RightsOf(registry.Of(&cfg), &cfg, owner, true, owner, func(string) ([]string, error) { return nil, nil })
}

// materialize makes what there is room for, and returns how many procs that are
// and what was warned of.
func (b bench) materialize() (procs int, warned string) {
	b.t.Helper()
	b.update(func(tx *spool.Tx) error {
		tx.Op("materialize")
		for _, m := range Materialize(tx, anyRights("alice").Config, "example.org", noon, func(format string, args ...any) { warned += fmt.Sprintf(format, args...) }) {
			procs += m.Jobs()
		}
		return nil
	})
	return procs, warned
}

// TestMaterializeFails holds that a factory is paused, once and for all, when its
// digest makes no more procs, and not when the machine just could not read it.
func TestMaterializeFails(t *testing.T) {
	for _, c := range []struct {
		name   string
		spoil  func(digest string) error
		warns  string
		paused bool
	}{
		{"damaged", func(digest string) error { return os.Truncate(digest, 10) }, "and no more will be: ", true},
		{"missing", os.Remove, "and no more will be: ", true},
		{"cannot be opened", func(digest string) error {
			if err := os.Rename(digest, digest+".away"); err != nil {
				return err
			}
			return os.Symlink(digest, digest)
		}, "cannot be created in this cycle: ", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			cluster, digest := b.late("max_materialize = 2\nqueue x in (a b c d)")
			b.update(func(tx *spool.Tx) error {
				tx.Op("remove")
				_, err := Remove(tx, pool.JobID{Cluster: cluster}, "why", noon, params)
				return err
			})
			testenv.OK(t, c.spoil(digest))
			if procs, warned := b.materialize(); procs != 0 || !strings.Contains(warned, c.warns) {
				t.Errorf("it makes %d procs and warns %q, want none and %q", procs, warned, c.warns)
			}
			b.view(func(v *spool.View) {
				if f, ok := v.Factory(cluster); !ok || (f.Paused != "") != c.paused || f.Next != 2 {
					t.Errorf("the factory is %+v, %v, want it paused: %v", f, ok, c.paused)
				}
			})
			if c.paused {
				if procs, warned := b.materialize(); procs != 0 || warned != "" {
					t.Errorf("when it is paused it makes %d procs and warns %q", procs, warned)
				}
				return
			}
			testenv.OK(t, os.Rename(digest+".away", digest))
			if procs, warned := b.materialize(); procs != 1 || warned != "" {
				t.Errorf("when that is over it makes %d procs and warns %q, want 1", procs, warned)
			}
		})
	}
}

// description returns the jobs that a text asks for, of an owner.
func (b bench) description(owner, text string) *jobad.Jobs {
	b.t.Helper()
	d, _, err := submitfile.Parse("executable = /x\n"+text, "a.sub", submitfile.Options{})
	if err != nil {
		b.t.Fatal(err)
	}
	jobs, _, err := jobad.New(d, jobad.Options{Owner: owner, Domain: "example.org", Dir: "/"})
	if err != nil {
		b.t.Fatal(err)
	}
	return jobs
}

// try puts the jobs of a text into the queue, or returns why not.
func (b bench) try(r policy.Rights, text string) (cluster int, why error) {
	b.t.Helper()
	jobs := b.description(r.Owner, text)
	if err := b.s.Update(func(tx *spool.Tx) (err error) {
		tx.Op("submit")
		cluster, _, err = Submit(tx, jobs, r)
		why = err
		return err
	}); err != nil && why == nil {
		b.t.Fatal(err)
	}
	return cluster, why
}

// TestLateNames holds that jobs that appear later are charged as those before them, also where
// another program made the digest, which says what it likes; an administrator's may vary.
func TestLateNames(t *testing.T) {
	for _, c := range []struct {
		line   string
		admin  bool
		paused string // the attribute of which it is told
	}{
		{`+AccountingGroup = "$(x)"`, false, "AccountingGroup"}, {`+AccountingGroup = "$(x)"`, true, ""},
		{`+Note = "$(x)"`, false, ""}, {"class = $(x)", false, ""}, // which counts under Maui's policy only
	} {
		b := newBench(t)
		r := anyRights("alice")
		r.Admin = c.admin
		cluster, err := b.try(r, c.line+"\nmax_materialize = 1\nqueue x in (alice, alice, bob)")
		testenv.OK(t, err)
		for i := range 2 {
			b.update(func(tx *spool.Tx) error {
				tx.Op("remove")
				_, err := Remove(tx, pool.JobID{Cluster: cluster, Proc: i}, "why", noon, params)
				return err
			})
			procs, warned := b.materialize()
			if refused := i == 1 && c.paused != ""; refused != (procs == 0) || refused && !strings.Contains(warned, c.paused+`: "bob", where the jobs submitted with them have "alice"`) {
				t.Errorf("%s, administrator %v: makes %d jobs and warns %q", c.line, c.admin, procs, warned)
			}
		}
	}
}

// TestLimits holds that each limit refuses what is beyond it, and nothing else, with the figures;
// that they hold for administrators; and that there is room again when jobs have left.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		settings []string
		texts    []string // one after the other; the last is refused
		want     string
	}{
		{[]string{"MAX_JOBS_PER_SUBMISSION=5"}, []string{"queue 5", "queue 5", "queue 6"},
			"MAX_JOBS_PER_SUBMISSION: a submission puts at most 5 jobs into the queue, and this one has 6: submit it in parts, or with max_materialize"},
		{[]string{"MAX_JOBS_PER_SUBMISSION=5"}, []string{"max_materialize = 5\nqueue 100", "max_materialize = 6\nqueue 100"},
			"MAX_JOBS_PER_SUBMISSION: a submission puts at most 5 jobs into the queue, and this one has 6: submit it in parts, or with max_materialize"},
		{[]string{"MAX_JOBS_PER_OWNER=10"}, []string{"queue 4", "queue 6", "queue"},
			"MAX_JOBS_PER_OWNER: dave may have at most 10 jobs in the queue, has 10 and wants 1 more: wait until some have left, or remove some with qdel"},
		{[]string{"MAX_CLUSTERS_PER_OWNER=1"}, []string{"queue 4", "queue 4"},
			"MAX_CLUSTERS_PER_OWNER: dave may have at most 1 cluster in the queue, has 1 and wants 1 more: wait until some have left, or remove some with qdel"},
		{[]string{"MAX_SPOOL_BYTES_PER_OWNER=30000"}, []string{"queue", "args = " + strings.Repeat("x", 20000) + "\nqueue", "args = " + strings.Repeat("x", 10000) + "\nqueue"},
			"MAX_SPOOL_BYTES_PER_OWNER: dave may have at most 30000 bytes in the queue, has "},
		{[]string{"MAX_SPOOL_BYTES_PER_OWNER=30000"}, []string{"queue", "max_idle = 1\nqueue x from (\n" + strings.Repeat(strings.Repeat("y", 999)+"\n", 40) + ")"},
			"MAX_SPOOL_BYTES_PER_OWNER: dave may have at most 30000 bytes in the queue, has "},
	} {
		b := newBench(t)
		cfg, err := registry.Default().With(c.settings)
		testenv.OK(t, err)
		r := anyRights("dave")
		r.Config = &cfg
		for i, text := range c.texts {
			_, err := b.try(r, text)
			if last := i == len(c.texts)-1; last != (err != nil) || last && !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%s: submission %d: %v, want the last one refused: %s", c.settings, i+1, err, c.want)
			}
		}
		other := anyRights("bob")
		other.Config = &cfg
		if _, err := b.try(other, "queue"); err != nil {
			t.Errorf("%s: bob is refused, too: %v", c.settings, err)
		}
		b.update(func(tx *spool.Tx) error {
			tx.Op("remove")
			for id, ad := range tx.Jobs() {
				if owner, _ := ad.EvalString(&classad.Context{}, pool.AttrOwner); owner != "dave" {
					continue
				}
				if _, err := Remove(tx, id, "why", noon, params); err != nil {
					return err
				}
			}
			for _, f := range tx.Factories() {
				tx.DropFactory(f.Cluster)
			}
			return nil
		})
		if _, err := b.try(r, c.texts[0]); err != nil {
			t.Errorf("%s: when all have left: %v", c.settings, err)
		}
	}
}

// TestEditWithinLimits holds that what users' changes add counts for the jobs' owner until they have
// left, and is refused where it is too much, with nothing counted.
func TestEditWithinLimits(t *testing.T) {
	b := newBench(t)
	r := anyRights("dave")
	r.Config.MaxSpoolBytesPerOwner = 30000
	cluster, err := b.try(r, "queue 10")
	testenv.OK(t, err)
	edit := func(bytes int64) (has int64, err error) {
		b.update(func(tx *spool.Tx) error {
			tx.Op("set priority")
			err = ChargeEdit(tx, r.Config, cluster, bytes)
			has = tx.Owner("dave").Bytes
			return nil
		})
		return has, err
	}
	whole, _ := edit(0)
	if has, err := edit(10000); err != nil || has != whole+10000 {
		t.Errorf("10000 bytes: %v, and dave has %d, want %d", err, has, whole+10000)
	}
	if has, err := edit(20001); err == nil || has != whole+10000 || !strings.HasPrefix(err.Error(), "MAX_SPOOL_BYTES_PER_OWNER: dave may have at most 30000 bytes") {
		t.Errorf("20001 bytes more: %v, and dave has %d", err, has)
	}
	b.update(func(tx *spool.Tx) error {
		tx.Op("remove")
		for id := range tx.Jobs() {
			if _, err := Remove(tx, id, "why", noon, params); err != nil {
				return err
			}
		}
		return nil
	})
	b.update(func(tx *spool.Tx) error {
		tx.Op("look")
		if o := tx.Owner("dave"); o.Bytes != 0 || o.Jobs != 0 {
			t.Errorf("when all have left, dave has %v", o)
		}
		return nil
	})
}

// TestLateWithinLimits holds that jobs that are still to come wait until their owner has room.
func TestLateWithinLimits(t *testing.T) {
	b := newBench(t)
	r := anyRights("dave")
	r.Config.MaxJobsPerOwner = 5
	var clusters []int
	for _, text := range []string{"max_materialize = 2\nqueue 10", "max_materialize = 2\nqueue 10", "queue"} {
		cluster, err := b.try(r, text)
		testenv.OK(t, err)
		clusters = append(clusters, cluster)
	}
	made := func() (n int) {
		b.update(func(tx *spool.Tx) error {
			tx.Op("materialize")
			for _, m := range Materialize(tx, r.Config, "example.org", noon, func(format string, args ...any) { t.Errorf(format, args...) }) {
				n += m.Jobs()
			}
			return nil
		})
		return n
	}
	leave := func(cluster int) {
		b.update(func(tx *spool.Tx) error {
			tx.Op("remove")
			_, err := Remove(tx, pool.JobID{Cluster: cluster}, "why", noon, params)
			return err
		})
	}
	leave(clusters[0])
	leave(clusters[1])
	if _, err := b.try(r, "queue"); err != nil {
		t.Fatal(err)
	}
	if n := made(); n != 1 {
		t.Errorf("with 4 jobs of 5, %d more are made, want 1", n)
	}
	leave(clusters[2])
	r.Config.MaxSpoolBytesPerOwner = 1
	if n := made(); n != 0 {
		t.Errorf("beyond the bytes, %d more are made, want none", n)
	}
	r.Config.MaxSpoolBytesPerOwner = 1 << 30
	if n := made(); n != 1 {
		t.Errorf("when there is room again, %d more are made, want 1", n)
	}
}

// TestRequire holds what is said of jobs that do not meet a requirement.
func TestRequire(t *testing.T) {
	const memory = "SUBMIT_REQUIREMENT_NAMES = ['Memory', 'Owner']\nSUBMIT_REQUIREMENT_Owner = 'Owner != \"bob\"'\n"
	for _, c := range []struct{ config, owner, text, want, warned string }{
		{"", "bob", "queue", "", ""},
		{memory + "SUBMIT_REQUIREMENT_Memory = 'RequestMemory > 512'", "alice", "request_memory = 1024\nqueue", "", ""},
		{memory + "SUBMIT_REQUIREMENT_Memory = 'MY.RequestMemory > 512 && TARGET.RequestMemory > 512'", "alice", "request_memory = 1024\nqueue", "", ""},
		{memory + "SUBMIT_REQUIREMENT_Memory = 'RequestMemory > 512'", "bob", "request_memory = 1024\nqueue", `SUBMIT_REQUIREMENT_Owner: not met: Owner != "bob"`, ""},
		{memory + "SUBMIT_REQUIREMENT_Memory = 'RequestMemory > 512'", "bob", "request_memory = 100\nqueue", `SUBMIT_REQUIREMENT_Memory: not met: RequestMemory > 512`, ""},
		{memory + "SUBMIT_REQUIREMENT_Memory = 'RequestMemory > 512'\nSUBMIT_REQUIREMENT_Memory_REASON = 'strcat(\"only \", RequestMemory, \" MB\")'", "alice", "request_memory = $(x)\nqueue x in (600, 100)", `SUBMIT_REQUIREMENT_Memory: only 100 MB`, ""},
		{memory + "SUBMIT_REQUIREMENT_Memory = 'RequestMemory > 512'\nSUBMIT_REQUIREMENT_Memory_REASON = '5'", "alice", "request_memory = 100\nqueue", `SUBMIT_REQUIREMENT_Memory: not met: RequestMemory > 512`, ""},
		{memory + "SUBMIT_REQUIREMENT_Memory = 'RequestMemory > 512'\nSUBMIT_REQUIREMENT_Memory_IS_WARNING = true", "alice", "request_memory = $(x)\nqueue x in (100, 200)", "", `SUBMIT_REQUIREMENT_Memory: not met: RequestMemory > 512|`},
		{memory + "SUBMIT_REQUIREMENT_Memory = 'RequestMemory > 512'\nSUBMIT_REQUIREMENT_Memory_IS_WARNING = true", "bob", "request_memory = 100\nqueue", `SUBMIT_REQUIREMENT_Owner: not met: Owner != "bob"`, `SUBMIT_REQUIREMENT_Memory: not met: RequestMemory > 512|`},
		{memory + "SUBMIT_REQUIREMENT_Memory = 'NoSuch'", "alice", "queue", "SUBMIT_REQUIREMENT_Memory: not met: NoSuch is undefined", ""},
		{memory + "SUBMIT_REQUIREMENT_Memory = '1'", "alice", "queue", "", ""},
		{memory + "SUBMIT_REQUIREMENT_Memory = '0'", "alice", "queue", "SUBMIT_REQUIREMENT_Memory: not met: 0", ""},
		{memory + "SUBMIT_REQUIREMENT_Memory = '1 +'", "alice", "queue", "f:3: SUBMIT_REQUIREMENT_Memory: ", ""},
		{memory + "SUBMIT_REQUIREMENT_Memory = 'ProcId < 3'", "alice", "args = $(x)\nqueue x in (a, b, c, d)", "SUBMIT_REQUIREMENT_Memory: not met: ProcId < 3", ""},
	} {
		cfg, err := registry.Parse("f", []byte(c.config))
		testenv.OK(t, err)
		jobs, err := newBench(t).description(c.owner, c.text).First(1)
		testenv.OK(t, err)
		got, warned := "", ""
		if err := Require(&cfg, jobs, &classad.Context{Now: noon}, func(format string, args ...any) { warned += fmt.Sprintf(format, args...) + "|" }); err != nil {
			got = err.Error()
		}
		if strings.HasPrefix(c.want, "f:") && strings.HasPrefix(got, c.want) {
			got = c.want
		}
		if got != c.want || warned != c.warned {
			t.Errorf("%s of %s with %s: %s, warned %s; want %s, %s", c.text, c.owner, c.config, got, warned, c.want, c.warned)
		}
	}
}

func configured(t *testing.T, text string) *config.Config {
	t.Helper()
	c, err := registry.Parse("f", []byte(text))
	testenv.OK(t, err)
	return &c
}

func TestCycleConfig(t *testing.T) {
	n, err := CycleConfig(configured(t, ""))
	testenv.OK(t, err)
	if n.Pie != negotiator.MaxMin || n.SkipClusters || n.JobConstraint != nil || n.SlotConstraint != nil || n.PoolSizeConstraint != nil ||
		n.DepthFirst || n.IgnoreUserPriorities || n.GlobalJobPrios || n.VacateTimeout != 630*time.Second || n.Reserve != (negotiator.Reserve{Fraction: 0.1, Time: 24 * time.Hour}) {
		t.Errorf("settings of no file = %+v, want the defaults", n)
	}
	n, err = CycleConfig(configured(t, `NEGOTIATOR_PIE = "htcondor"
NEGOTIATOR_IGNORE_USER_PRIORITIES = true
USE_GLOBAL_JOB_PRIOS = true
NEGOTIATOR_DEPTH_FIRST = true
NEGOTIATOR_JOB_CONSTRAINT = "A"
NEGOTIATOR_SLOT_CONSTRAINT = "B"
NEGOTIATOR_SLOT_POOLSIZE_CONSTRAINT = "C"
NEGOTIATE_ALL_JOBS_IN_CLUSTER = false
SIGNIFICANT_ATTRIBUTES = ["D"]
ADD_SIGNIFICANT_ATTRIBUTES = ["E"]
REMOVE_SIGNIFICANT_ATTRIBUTES = ["F"]
RESERVE_POOL_FRACTION = 0.5
RESERVE_MAX_TIME = 60
`))
	testenv.OK(t, err)
	if n.Pie != negotiator.Spins || !n.IgnoreUserPriorities || !n.GlobalJobPrios || !n.DepthFirst || !n.SkipClusters ||
		n.Reserve != (negotiator.Reserve{Fraction: 0.5, Time: time.Minute}) {
		t.Errorf("settings = %+v, want all that was set", n)
	}
	got := fmt.Sprint(n.JobConstraint, n.SlotConstraint, n.PoolSizeConstraint, n.Significant, n.AddSignificant, n.RemoveSignificant)
	if want := "A B C [D] [E] [F]"; got != want {
		t.Errorf("constraints and attributes = %s, want %s", got, want)
	}
}

func TestCycleConfigOfPreemption(t *testing.T) {
	for _, c := range []struct {
		text, requirements, rank string
		want                     negotiator.Preemption // without the expressions
		vacate                   time.Duration
	}{
		{"", "time() - EnteredCurrentState > 3600", "RemoteUserPrio * 1000000 - ifThenElse(isUndefined(TotalJobRunTime), 0, TotalJobRunTime)",
			negotiator.Preemption{Consider: true, Cached: true, RequirementsStable: true, RankStable: true}, 630 * time.Second},
		{"PREEMPTION_REQUIREMENTS = ''\nPREEMPTION_RANK = ''\nMACHINE_MAX_VACATE_TIME = 1.5\nKILLING_TIMEOUT = 0", "", "",
			negotiator.Preemption{Consider: true, Cached: true, RequirementsStable: true, RankStable: true}, 1500 * time.Millisecond},
		{"NEGOTIATOR_CONSIDER_PREEMPTION = false\nPREEMPTION_REQUIREMENTS = 'A'\nPREEMPTION_RANK_STABLE = false\nMACHINE_MAX_VACATE_TIME = 1e9\nKILLING_TIMEOUT = 1e9",
			"A", "*", negotiator.Preemption{Cached: true, RequirementsStable: true}, 2e9 * time.Second},
		{"NEGOTIATOR_CONSIDER_EARLY_PREEMPTION = true\nPREEMPTION_RANK = 'B'\nNEGOTIATOR_MATCHLIST_CACHING = false\nPREEMPTION_REQUIREMENTS_STABLE = false",
			"*", "B", negotiator.Preemption{Consider: true, Early: true, RankStable: true}, 630 * time.Second},
	} {
		n, err := CycleConfig(configured(t, c.text))
		if err != nil {
			t.Errorf("settings of %q: %v", c.text, err)
			continue
		}
		for _, e := range []struct {
			what, want string
			got        *classad.Expr
		}{{"PREEMPTION_REQUIREMENTS", c.requirements, n.Preemption.Requirements}, {"PREEMPTION_RANK", c.rank, n.Preemption.Rank}} {
			if !says(t, e.got, e.want) {
				t.Errorf("settings of %q have a %s of %v, want %s", c.text, e.what, e.got, e.want)
			}
		}
		n.Preemption.Requirements, n.Preemption.Rank = nil, nil
		if n.Preemption != c.want || n.VacateTimeout != c.vacate {
			t.Errorf("settings of %q = %+v, %v, want %+v, %v", c.text, n.Preemption, n.VacateTimeout, c.want, c.vacate)
		}
	}
}

func TestCycleConfigOfQuotas(t *testing.T) {
	for _, c := range []struct {
		text, sort string
		want       negotiator.Quotas // without the expression
	}{
		{"", "", negotiator.Quotas{Oversubscribe: true, Strict: true, Rounds: 3, RoundRobinRate: 1e100, WeightedDemand: true}},
		{"NEGOTIATOR_ALLOW_QUOTA_OVERSUBSCRIPTION = false\nGROUP_SORT_EXPR = '-GroupQuota'\nGROUP_QUOTA_MAX_ALLOCATION_ROUNDS = 7",
			"-GroupQuota", negotiator.Quotas{Strict: true, Rounds: 7, RoundRobinRate: 1e100, WeightedDemand: true}},
		{"NEGOTIATOR_STRICT_ENFORCE_QUOTA = false\nGROUP_QUOTA_ROUND_ROBIN_RATE = 2.5\nNEGOTIATOR_USE_WEIGHTED_DEMAND = false",
			"", negotiator.Quotas{Oversubscribe: true, Rounds: 3, RoundRobinRate: 2.5}},
	} {
		n, err := CycleConfig(configured(t, c.text))
		if err != nil {
			t.Errorf("settings of %q: %v", c.text, err)
			continue
		}
		if !says(t, n.Quotas.SortExpr, c.sort) {
			t.Errorf("settings of %q have a GROUP_SORT_EXPR of %v, want %s", c.text, n.Quotas.SortExpr, c.sort)
		}
		n.Quotas.SortExpr = nil
		if n.Quotas != c.want {
			t.Errorf("settings of %q = %+v, want %+v", c.text, n.Quotas, c.want)
		}
	}
}

// says reports whether an expression is what the text is; * takes any, nothing none.
func says(t *testing.T, e *classad.Expr, text string) bool {
	t.Helper()
	if text == "*" || text == "" {
		return (e != nil) == (text == "*")
	}
	want, err := classad.ParseExpr(text)
	testenv.OK(t, err)
	plain := strings.NewReplacer("(", "", ")", "")
	return e != nil && plain.Replace(e.String()) == plain.Replace(want.String())
}

// What is free goes before what has to be preempted, however much larger it is, unless
// the ranks that the slots themselves have are worlds apart; the smallest free one first.
func TestDefaultRankPrefersFreeSlots(t *testing.T) {
	n, err := CycleConfig(configured(t, ""))
	testenv.OK(t, err)
	rank := func(text string) float64 {
		ad, err := classad.ParseAd(text)
		testenv.OK(t, err)
		v, ok := n.PreJobRank.Eval(&classad.Context{}, ad, nil).Number()
		if !ok {
			t.Fatalf("the rank of %s is no number", text)
		}
		return v
	}
	slots := []string{ // best first
		`[Cpus = 1; Memory = 1024; Rank = 0.0]`,
		`[Cpus = 1; Memory = 2048; Rank = 0.0]`,
		`[Cpus = 2; Memory = 1024; Rank = 0.0]`,
		`[Cpus = 1000; Memory = 4000000; Rank = 0.0]`,
		`[Cpus = 1; Memory = 1024; Rank = 1000.0; RemoteOwner = "bob@x"]`,
		`[Cpus = 1; Memory = 1024; Rank = 0.0; RemoteOwner = "bob@x"]`,
		`[Cpus = 2; Memory = 1024; Rank = 0.0; RemoteOwner = "bob@x"]`,
	}
	for i, better := range slots {
		for _, worse := range slots[i+1:] {
			if a, b := rank(better), rank(worse); a <= b {
				t.Errorf("NEGOTIATOR_PRE_JOB_RANK is %v for %s, %v for %s, want more", a, better, b, worse)
			}
		}
	}
}

func TestCycleConfigRefuse(t *testing.T) {
	for _, name := range []string{"NEGOTIATOR_PRE_JOB_RANK", "PREEMPTION_REQUIREMENTS", "PREEMPTION_RANK", "GROUP_SORT_EXPR", "NEGOTIATOR_JOB_CONSTRAINT", "NEGOTIATOR_SLOT_CONSTRAINT", "NEGOTIATOR_SLOT_POOLSIZE_CONSTRAINT"} {
		c := configured(t, "\n"+name+` = "Cpus +"`)
		if _, err := CycleConfig(c); err == nil || !strings.HasPrefix(err.Error(), "f:2: "+name+": ") {
			t.Errorf("settings with a bad %s = %v, want f:2: %s: ...", name, err, name)
		}
		with, err := c.With([]string{name + "=Cpus -"})
		testenv.OK(t, err)
		if _, err := CycleConfig(&with); err == nil || !strings.HasPrefix(err.Error(), "config "+name+": ") {
			t.Errorf("settings with a bad %s asked for = %v, want config %s: ...", name, err, name)
		}
	}
}

// A name that the configuration takes for that of a limit is one to the negotiator,
// and no other is.
func TestLimitNames(t *testing.T) {
	for _, name := range []string{"a", "A_1", "_", "sw.matlab", "SW.R_2", "1", "a.1", "a.b.c", ".a", "a.", "a-b", "ü", "a.ü", "\u212a", "a b", "a:b"} {
		with, err := registry.Default().With([]string{`"` + name + `_LIMIT"=3`})
		limits, bad := concurrency.NewLimits(9, nil, map[string]float64{name: 3})
		if (err == nil) != (bad == nil) {
			t.Errorf("a limit of %q: the configuration says %v, the negotiator %v", name, err, bad)
		}
		if err != nil {
			continue
		}
		with, err = with.With([]string{"CONCURRENCY_LIMIT_DEFAULT=9"})
		testenv.OK(t, err)
		if n, err := CycleConfig(&with); err != nil || !reflect.DeepEqual(n.Limits, limits) {
			t.Errorf("limits with one of %q = %+v, %v, want %+v", name, n.Limits, err, limits)
		}
	}
}
