package operation

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairspool/lib/classad"
	"fairspool/lib/jobad"
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
		}, "cannot be made in this cycle: ", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			cluster, digest := b.late("max_materialize = 2\nqueue x in (a b c d)")
			b.update(func(tx *spool.Tx) error {
				tx.Op("remove")
				_, err := Remove(tx, pool.JobID{Cluster: cluster}, "why", noon, params)
				return err
			})
			if err := c.spoil(digest); err != nil {
				t.Fatal(err)
			}
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
			if err := os.Rename(digest+".away", digest); err != nil {
				t.Fatal(err)
			}
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
		if err != nil {
			t.Fatal(err)
		}
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
		if err != nil {
			t.Fatal(err)
		}
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

// TestLateWithinLimits holds that jobs that are still to come wait until their owner has room.
func TestLateWithinLimits(t *testing.T) {
	b := newBench(t)
	r := anyRights("dave")
	r.Config.MaxJobsPerOwner = 5
	var clusters []int
	for _, text := range []string{"max_materialize = 2\nqueue 10", "max_materialize = 2\nqueue 10", "queue"} {
		cluster, err := b.try(r, text)
		if err != nil {
			t.Fatal(err)
		}
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
		if err != nil {
			t.Fatal(err)
		}
		jobs, err := newBench(t).description(c.owner, c.text).First(1)
		if err != nil {
			t.Fatal(err)
		}
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
