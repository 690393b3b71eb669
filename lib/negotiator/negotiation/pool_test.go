package negotiation

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
)

// now is when all cycles of these tests take place.
var now = time.Unix(1_700_000_000, 0).UTC()

// HTCondor's default expressions.
const (
	preemptionRank = `(RemoteUserPrio * 1000000) - ifThenElse(isUndefined(TotalJobRunTime), 0, TotalJobRunTime)`
	preJobRank     = `(10000000 * My.Rank) + (1000000 * (RemoteOwner =?= UNDEFINED)) - (100000 * Cpus) - Memory`
	postJobRank    = `(RemoteOwner =?= UNDEFINED) * (ifThenElse(isUndefined(KFlops), 1000, KFlops) - SlotID - 1.0e10*(Offline=?=True))`
)

func params() accountant.Params {
	return accountant.Params{HalfLife: 24 * time.Hour, DefaultFactor: 1, NiceFactor: 1e7, NiceGroup: "nice-user", RemoteFactor: 1e4}
}

func defaults(t testing.TB) negotiator.Config {
	return negotiator.Config{
		Params:     params(),
		PreJobRank: expr(t, preJobRank), PostJobRank: expr(t, postJobRank), SlotWeight: expr(t, "Cpus"),
		UseSlotWeights: true, RequestClaimTimeout: 2 * time.Minute,
	}
}

func expr(t testing.TB, text string) *classad.Expr {
	t.Helper()
	e, err := classad.ParseExpr(text)
	testenv.OK(t, err)
	return e
}

// ad reads "Name = expr; ..." over the usual attributes.
func ad(t testing.TB, usual, text string) *classad.Ad {
	t.Helper()
	base, err := classad.ParseAd("[" + usual + "]")
	testenv.OK(t, err)
	own, err := classad.ParseAd("[" + text + "]")
	testenv.OK(t, err)
	return own.Chain(base)
}

func aSlot(t testing.TB, name, text string) pool.Slot {
	t.Helper()
	return pool.Slot{Name: name, Ad: ad(t, `MyType = "Machine"; State = "Unclaimed"; Activity = "Idle"; Cpus = 1; Memory = 1024; Rank = 0.0;
		Requirements = TARGET.RequestCpus <= MY.Cpus && TARGET.RequestMemory <= MY.Memory;
		Name = "`+name+`"; SlotID = 1`, text)}
}

// equal returns n slots called slot1 to slotn.
func equal(t testing.TB, n int, text string) []pool.Slot {
	t.Helper()
	var slots []pool.Slot
	for i := range n {
		slots = append(slots, aSlot(t, fmt.Sprintf("slot%d", i+1), text))
	}
	return slots
}

func aJob(t testing.TB, cluster, count int, submitter, text string) jobprio.Run {
	t.Helper()
	return jobprio.Run{
		Procs:     pool.Procs{Cluster: cluster, First: 0, Last: count - 1},
		Submitter: submitter,
		Ad: ad(t, fmt.Sprintf(`MyType = "Job"; ClusterId = %d; ProcId = 0; JobStatus = 1; QDate = 1600000000; JobPrio = 0; RequestCpus = 1;
		RequestMemory = 128; Rank = 0.0; Requirements = TARGET.Cpus >= RequestCpus && TARGET.Memory >= RequestMemory`, cluster), text),
	}
}

func record(name string, rup float64) accountant.Record {
	return accountant.Record{Name: name, Priority: rup, At: now, HalfLife: 24 * time.Hour}
}

// matched counts the matches of each submitter.
func matched(p *negotiator.Plan) map[string]int {
	n := map[string]int{}
	for _, m := range p.Matches {
		n[m.Submitter]++
	}
	return n
}

// pairs lists matches as job>slot.
func pairs(p *negotiator.Plan) string {
	var all []string
	for _, m := range p.Matches {
		all = append(all, m.Job.String()+">"+m.Slot)
	}
	return strings.Join(all, " ")
}

func share(p *negotiator.Plan, name string) negotiator.Share {
	i := slices.IndexFunc(p.Submitters, func(s negotiator.Share) bool { return s.Name == name })
	if i < 0 {
		return negotiator.Share{}
	}
	return p.Submitters[i]
}

func reasons(p *negotiator.Plan) []string {
	var all []string
	for _, r := range p.Rejections {
		all = append(all, fmt.Sprintf("%s %d %s: %s", r.Job, r.Count, r.Submitter, r.Reason))
	}
	return all
}

// procAd returns the ad of another proc of the same run.
func procAd(ad *classad.Ad, proc int) *classad.Ad {
	ad = ad.Clone()
	ad.SetInt(pool.AttrProcID, int64(proc))
	return ad
}

// rounding is by how much a submitter may use more than its limit, in the last digit.
const rounding = 1e-9
