package desk

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/lifecycle"
	"fairspool/lib/pool"
	"fairspool/lib/supervise"
	"fairspool/spool"
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "desk")
	if err == nil {
		defer os.RemoveAll(dir)
		if err = cmdtest.UsersIn(dir); err == nil {
			cmdtest.LookIn(dir)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(testenv.Run(m))
}

// The policy time that the tests' jobs were matched at.
var matchedAt = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

var params = accountant.Params{HalfLife: 24 * time.Hour, DefaultFactor: 1, NiceFactor: 1e7, RemoteFactor: 1e4}

const submitter = "alice@example.org"

// testPool is a spool with jobs of alice's, in a folder with their files.
type testPool struct {
	*testing.T
	dir   string
	spool *spool.Spool
}

func newPool(t *testing.T) *testPool {
	t.Helper()
	p := &testPool{T: t, dir: t.TempDir()}
	cmdtest.Share(t, p.dir)
	var err error
	p.spool, err = spool.Open(filepath.Join(p.dir, "spool"), spool.Options{
		Program: "test", UIDDomain: "example.org", LockWait: testenv.Longest, Now: matchedAt,
	})
	testenv.OK(t, err)
	return p
}

// desks returns desks at which it is an hour after the match.
func (p *testPool) desks() *Desks {
	p.Helper()
	n, err := New(Settings{
		Spool: p.spool, Config: &config.Config{Params: params}, GoneLooks: 2,
		Now:     func() accountant.Reading { return accountant.Reading{Now: matchedAt.Add(time.Hour)} },
		Reached: func(supervise.Step) {},
	})
	if err != nil {
		p.Fatal(err)
	}
	return n
}

// desk returns the desk of a job's first attempt, with the lock of its claim.
func (p *testPool) desk(id pool.JobID) *Desk {
	p.Helper()
	d, err := p.desks().Lock(pool.Attempt{Job: id, Number: 1})
	if err != nil {
		p.Fatal(err)
	}
	return d
}

func (p *testPool) update(fn func(tx *spool.Tx) error) {
	p.Helper()
	if err := p.spool.Update(fn); err != nil {
		p.Fatal(err)
	}
}

// match puts a job into the queue and matches it to a slot of node1. The further attributes are name,
// expression, ...
func (p *testPool) match(pairs ...string) (id pool.JobID) {
	p.Helper()
	ad := adOf(p.T, append([]string{"Owner", `"alice"`, "Iwd", fmt.Sprintf("%q", p.dir), "Cmd", `"/bin/true"`, "UserLog", `"log"`, "JobStatus", "1"}, pairs...)...)
	p.update(func(tx *spool.Tx) error {
		tx.Op("submit and match")
		id.Cluster = tx.AddCluster(ad, []spool.NewRun{{Count: 1}})
		tx.PutClaim(pool.Claim{
			Job: id, Attempt: 1, Slot: fmt.Sprintf("slot%d@node1", id.Cluster), Machine: "node1",
			Submitter: submitter, State: pool.Matched, Weight: accountant.One, MatchedAt: matchedAt,
		})
		r, _ := tx.Submitter(submitter)
		tx.PutSubmitter(r.Start(matchedAt, accountant.One, params))
		return nil
	})
	return id
}

func (p *testPool) begin(id pool.JobID) {
	p.Helper()
	p.update(func(tx *spool.Tx) error { return lifecycle.Begin(tx, id, 1, matchedAt, 1<<30, "", params) })
}

func (p *testPool) hold(id pool.JobID) {
	p.Helper()
	p.update(func(tx *spool.Tx) error {
		tx.Op("hold", id.String())
		_, err := lifecycle.Hold(tx, pool.Only(id), pool.Reason{Text: "held by alice", Code: jobpolicy.ByUser}, matchedAt.Add(time.Minute), params)
		return err
	})
}

func (p *testPool) remove(id pool.JobID) {
	p.Helper()
	p.update(func(tx *spool.Tx) error {
		tx.Op("remove", id.String())
		_, err := lifecycle.Remove(tx, id, "removed by alice", matchedAt.Add(time.Minute), params)
		return err
	})
}

// queued returns attributes of a job in the queue as text, "gone" when it is
// not there.
func (p *testPool) queued(id pool.JobID, names ...string) string {
	p.Helper()
	return cmdtest.Queued(p, p.spool, id, names...)
}

// logged holds that the event log has all of these, and none of those behind a minus.
func (p *testPool) logged(texts ...string) {
	p.Helper()
	log, _ := os.ReadFile(filepath.Join(p.dir, "log"))
	for _, text := range texts {
		text, unwanted := strings.CutPrefix(text, "-")
		if strings.Contains(string(log), text) == unwanted {
			p.Errorf("the event log has %q: %v, want %v:\n%s", text, unwanted, !unwanted, log)
		}
	}
}

// adOf returns an ad with attributes that are given by name and expression.
func adOf(t *testing.T, pairs ...string) *classad.Ad {
	t.Helper()
	ad := classad.New()
	for i := 0; i < len(pairs); i += 2 {
		e, err := classad.ParseExpr(pairs[i+1])
		testenv.OK(t, err)
		ad.Set(pairs[i], e)
	}
	return ad
}
