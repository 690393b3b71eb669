package replay

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/lifecycle"
	"fairspool/lib/pool"
	"fairspool/lib/workload"
	"fairspool/spool"
)

// policies are those under which each store has to give the same events.
var policies = map[string][]string{
	"shares":     nil,
	"preempting": {`PREEMPTION_REQUIREMENTS="RemoteUserPrio > SubmitterUserPrio * 1.05"`, "PRIORITY_HALFLIFE=600", "MAXJOBRETIREMENTTIME=100"},
	"spins":      {`NEGOTIATOR_PIE="htcondor"`},
	"maui":       {`JOB_PRIORITY_POLICY="maui"`},
	"sge":        {`JOB_PRIORITY_POLICY="sge"`},
}

// world is a random pool, with jobs, and with what else happens to it.
type world struct {
	config   *config.Config
	slots    []*classad.Ad
	accounts []accountant.Record
	workload *workload.Workload
	events   []Event
}

// draw draws a world under a policy: slots of one and of several cores, with and without groups, successions and think times, with
// jobs that are held and released, and accounts that are edited.
func drawWorld(t testing.TB, policy string, seed uint64) world {
	draw := rand.New(rand.NewPCG(seed, 7))
	settings := append([]string{fmt.Sprintf("CLAIM_WORKLIFE=%d", 1200*draw.IntN(2))}, policies[policy]...)
	if draw.IntN(2) == 0 {
		settings = append(settings, `GROUP_NAMES=["physics","chemistry"]`, "GROUP_QUOTA_DYNAMIC_physics=0.5", "GROUP_QUOTA_chemistry=1", fmt.Sprintf("GROUP_ACCEPT_SURPLUS=%v", draw.IntN(2) == 0))
	}
	w := world{config: configured(t, settings...)}
	for _, cores := range []int{1, 2 + draw.IntN(3)} {
		ads, err := Slots(1+draw.IntN(2), cores)
		if err != nil {
			t.Fatal(err)
		}
		for i, ad := range ads {
			ad.SetString(pool.AttrName, fmt.Sprintf("slot1@c%dn%d", cores, i))
			ad.SetString(pool.AttrMachine, fmt.Sprintf("c%dn%d", cores, i))
		}
		w.slots = append(w.slots, ads...)
	}
	text := "job,submit,run,cores,user,group,wait\n1,1000000000,10,1,u0,physics,5\n"
	for i := range 10 + draw.IntN(40) {
		u := draw.IntN(4)
		text += fmt.Sprintf("%d,%d,%d,%d,u%d,%s,%d\n", i+2, 1_000_000_000+60*draw.IntN(30)+7*draw.IntN(9), draw.IntN(900), 1+draw.IntN(3), u, []string{"physics", "chemistry", ""}[u%3], draw.IntN(300))
	}
	var err error
	if w.workload, err = workload.Read(strings.NewReader(text), nil); err != nil {
		t.Fatal(err)
	}
	if draw.IntN(2) == 0 {
		if w.workload, _, err = w.workload.Dependent(); err != nil {
			t.Fatal(err)
		}
	}
	start := w.workload.Start
	w.accounts = []accountant.Record{{Name: "u1@pool", Priority: 1 + 100*draw.Float64(), Factor: 1 + 10*draw.Float64(), At: start, HalfLife: w.config.Params.HalfLife}}
	for at := int64(0); len(w.events) < 6; at += int64(1 + draw.IntN(600)) {
		some, held := 1+draw.IntN(3), draw.IntN(2) == 0
		name := []string{"u0@pool", "u1@pool", "u2@pool"}[draw.IntN(3)]
		limit := accountant.LimitOf(int64(draw.IntN(4) - 1))
		w.events = append(w.events, Event{At: at, Do: func(tx *spool.Tx) error {
			tx.Op("test")
			now := start.Add(time.Duration(at) * time.Second)
			r, _ := tx.Submitter(name)
			r = r.Settle(now, w.config.Params)
			r.Ceiling, r.CeilingLease = limit, accountant.Lease{Until: now.Add(time.Hour), Before: -1}
			tx.PutSubmitter(r)
			return steer(tx, some, held, now, w.config.Params)
		}})
	}
	return w
}

// steer holds some of the jobs that wait, or releases all that are held.
func steer(tx *spool.Tx, some int, hold bool, now time.Time, p accountant.Params) error {
	for _, c := range tx.Clusters() {
		for _, run := range c.Runs {
			for id := range run.Procs.Jobs() {
				ad, _ := tx.Job(id)
				status, _ := ad.EvalInt(&classad.Context{}, pool.AttrJobStatus)
				_, claimed := tx.Claim(id)
				var err error
				switch {
				case pool.Status(status) == pool.Held && !hold:
					_, err = lifecycle.Release(tx, pool.Only(id), "a test", now)
				case pool.Status(status) == pool.Idle && !claimed && hold && id.Cluster%some == 0:
					_, err = lifecycle.Hold(tx, pool.Only(id), pool.Reason{Text: "a test", Code: 1}, now, p)
				}
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// run runs the world on a store, and returns what became of its jobs and accounts.
func (w world) run(t testing.TB, s *spool.Spool) (*Result, string) {
	t.Helper()
	if err := Put(s, w.slots, w.accounts); err != nil {
		t.Fatal(err)
	}
	r, err := Run(w.workload, Settings{Config: w.config, Spool: s, Interval: time.Minute, Events: w.events})
	if err != nil {
		t.Fatal(err)
	}
	var accounts strings.Builder
	if err := s.View(func(v *spool.View) error {
		for _, rec := range v.Submitters() {
			fmt.Fprintln(&accounts, spool.SubmitterRow(rec))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return r, accounts.String()
}

// same holds that a world becomes the same in a spool in memory and in one on disk.
func (w world) same(t testing.TB) {
	t.Helper()
	s, err := spool.Open(t.TempDir()+"/spool", spool.Options{Program: "test", UIDDomain: "pool", Now: w.workload.Start})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	onDisk, accountsOnDisk := w.run(t, s)
	inMemory, accounts := w.run(t, spool.InMemory("pool"))
	if !reflect.DeepEqual(inMemory, onDisk) || accounts != accountsOnDisk {
		t.Errorf("in memory %s\n%s\non disk %s\n%s", starts(inMemory), accounts, starts(onDisk), accountsOnDisk)
	}
}

// TestSameOnDisk holds that a spool in memory and one on disk give the same events.
func TestSameOnDisk(t *testing.T) {
	for policy := range policies {
		for _, seed := range []uint64{0, 1, 2, 1029, 5006} { // a job for which a slot is kept preempts another; jobs that preempt each other for ever
			t.Run(fmt.Sprint(policy, seed), func(t *testing.T) {
				t.Parallel()
				drawWorld(t, policy, seed).same(t)
			})
		}
	}
}

// TestSoakSameOnDisk is the same with many worlds.
func TestSoakSameOnDisk(t *testing.T) {
	length, seed := testenv.Soak(t)
	for begun := time.Now(); time.Since(begun) < length && !t.Failed(); seed++ {
		for policy := range policies {
			t.Run(fmt.Sprint(policy, seed), func(t *testing.T) { drawWorld(t, policy, seed).same(t) })
		}
	}
}
