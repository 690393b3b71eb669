package bench

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// fixture is a spool with a pool of slots and a queue of idle jobs.
type fixture struct {
	name            string
	slots           int
	machines        machines
	clusters, procs int
	jobs            clusters
	differ          bool // procs have Arguments and output files of their own
	named           bool // those procs have names of their own too
	full            bool // every slot runs a job besides
}

// dir returns the folded spool, made once, by another process: what this one
// has in memory would count as its children's.
func (f *fixture) dir(b *testing.B) string {
	b.Helper()
	return filled(b, f.name)
}

// fill makes the spool in a directory.
func (f *fixture) fill(dir string) error {
	sp, err := spool.Open(dir, spool.Options{Program: "bench", UIDDomain: "example.org", LockWait: time.Minute})
	if err != nil {
		return err
	}
	defer sp.Close()
	const batch = 5000
	for i := 0; i < f.slots; i += batch {
		if err := sp.Update(func(tx *spool.Tx) error { return f.advertise(tx, i, min(i+batch, f.slots)) }); err != nil {
			return err
		}
	}
	// Who owns new jobs is looked for in the journal, which is short in a pool that folds.
	if _, err := sp.Fold(1, nil); err != nil {
		return err
	}
	for i := 0; i < f.clusters; i += batch {
		if err := sp.Update(func(tx *spool.Tx) error { return f.submit(tx, i, min(i+batch, f.clusters)) }); err != nil {
			return err
		}
	}
	if err := sp.Update(func(tx *spool.Tx) error { f.account(tx); return nil }); err != nil {
		return err
	}
	for i := 0; f.full && i < f.slots; i += batch {
		if err := sp.Update(func(tx *spool.Tx) error { return f.occupy(tx, i, min(i+batch, f.slots)) }); err != nil {
			return err
		}
	}
	_, err = sp.Fold(1, nil)
	return err
}

// advertise adds slots from up to but not including to.
func (f *fixture) advertise(tx *spool.Tx, from, to int) error {
	tx.Op("advertise")
	var text bytes.Buffer
	for i := from; i < to; i++ {
		text.Write(f.machines.slot(i))
		text.WriteByte('\n')
	}
	r := classad.NewReader(&text, f.name)
	for range to - from {
		ad, err := r.Next()
		if err != nil {
			return err
		}
		name, _ := ad.EvalString(&classad.Context{}, "Name")
		tx.PutSlot(name, ad)
	}
	return nil
}

// submit adds clusters from up to but not including to.
func (f *fixture) submit(tx *spool.Tx, from, to int) error {
	tx.Op("submit")
	for n := from; n < to; n++ {
		ad, err := f.jobs.ad(n)
		if err != nil {
			return err
		}
		runs := []spool.NewRun{{Count: f.procs}}
		if f.differ {
			runs = make([]spool.NewRun, f.procs)
			for p := range runs {
				own := classad.New()
				own.SetString("Arguments", fmt.Sprintf("--seed %d --events 10000", p))
				own.SetString("Out", fmt.Sprintf("out.%d", p))
				own.SetString("Err", fmt.Sprintf("err.%d", p))
				if f.named {
					own.SetString("JobBatchName", fmt.Sprintf("run%d", p))
				}
				runs[p] = spool.NewRun{Count: 1, Ad: own}
			}
		}
		tx.AddCluster(ad, runs)
	}
	return nil
}

// occupy adds clusters of running jobs, one for each slot from from up to but not
// including to. A twentieth of the submitters have half of the slots, and jobs have run for
// up to a day.
func (f *fixture) occupy(tx *spool.Tx, from, to int) error {
	tx.Op("occupy")
	slots, _ := tx.Slots()
	const procs = 100
	p := accountant.Params{HalfLife: 24 * time.Hour, DefaultFactor: 1000, NiceFactor: 1e7, RemoteFactor: 1e7}
	status := classad.Literal(classad.Int(int64(pool.Running)))
	for i := from; i < to; i += procs {
		who := i / procs * 7 % f.jobs.submitters
		if i/procs%2 == 0 {
			who = who / 20 * 20
		}
		ad, err := f.jobs.ad(who)
		if err != nil {
			return err
		}
		cluster := tx.AddCluster(ad, []spool.NewRun{{Count: procs}})
		tx.SetRange(pool.Procs{Cluster: cluster, First: 0, Last: procs - 1}, pool.AttrJobStatus, status)
		for n := range procs {
			began := time.Unix(int64(1799999000-(i+n)*7907%86400), 0)
			job := pool.JobID{Cluster: cluster, Proc: n}
			tx.SetRange(pool.Procs{Cluster: cluster, First: n, Last: n}, pool.AttrEnteredStatus, classad.Literal(classad.Int(began.Unix())))
			c := pool.Claim{Job: job, Attempt: 1, Slot: slots[i+n].Name, Submitter: f.jobs.owner(who) + "@example.org",
				State: pool.RunningClaim, MatchedAt: began, StartedAt: began, PID: 1, Weight: accountant.One}
			if cpus, ok := slots[i+n].Ad.EvalInt(&classad.Context{}, pool.AttrCpus); ok {
				c.Weight = accountant.Weight(cpus) * accountant.One
			}
			tx.PutClaim(c)
			accountant.Charge{Submitter: c.Submitter, Weight: c.Weight}.Begin(tx, began, p)
		}
	}
	return nil
}

// account gives every submitter a past.
func (f *fixture) account(tx *spool.Tx) {
	tx.Op("account")
	for i := range f.jobs.submitters {
		tx.PutSubmitter(accountant.Record{
			Name: f.jobs.owner(i) + "@example.org", Priority: 0.5 + float64(i%37), HalfLife: 24 * time.Hour, At: time.Unix(1799999000, 0),
		})
	}
}

// copied returns a copy of a folded spool, for a command that changes it. The
// segments, which nobody ever writes to, are linked.
func copied(b *testing.B, dir string) string {
	b.Helper()
	to, err := os.MkdirTemp(shared, "copy")
	testenv.OK(b, err)
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.Join(to, strings.TrimPrefix(path, dir))
		switch parent := filepath.Base(filepath.Dir(path)); {
		case e.IsDir():
			return os.MkdirAll(name, 0o700)
		case parent == "jobs" || parent == "slots":
			return os.Link(path, name)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(name, text, 0o600)
	})
	testenv.OK(b, err)
	return to
}

// filled returns the spool of a name, made once.
func filled(b *testing.B, name string) string {
	b.Helper()
	spools.Lock()
	defer spools.Unlock()
	if dir, ok := spools.dirs[name]; ok {
		return dir
	}
	dir := filepath.Join(shared, "spool-"+name)
	c := exec.Command(os.Args[0], "-test.run", "^$", "-test.bench", "^BenchmarkFill$", "-test.benchtime", "1x")
	c.Env = append(os.Environ(), "FAIRSPOOL_FILL="+name+":"+dir)
	if out, err := c.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	if spools.dirs == nil {
		spools.dirs = map[string]string{}
	}
	spools.dirs[name] = dir
	return dir
}

// BenchmarkFill fills the spool that FAIRSPOOL_FILL names, for filled; by itself
// it does nothing.
func BenchmarkFill(b *testing.B) {
	name, dir, ok := strings.Cut(os.Getenv("FAIRSPOOL_FILL"), ":")
	if !ok {
		b.Skip("not asked to fill a spool")
	}
	for _, s := range shapes {
		if s.name == name {
			s.fill(b, dir)
		}
	}
	for _, f := range slices.Concat(fixtures, listings, growths) {
		if f.name == name {
			testenv.OK(b, f.fill(dir))
		}
	}
	testenv.OK(b, spool.Find(dir))
}
