package operation

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairspool/lib/config"
	"fairspool/lib/jobad"
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
func anyRights(owner string) Rights {
	cfg := config.Default()
	return RightsOf(&cfg, owner, true, owner, func(string) ([]string, error) { return nil, nil })
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
