package lifecycle

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/concurrency"
	"fairspool/lib/negotiator/negotiation"
	"fairspool/lib/policy"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// site is a spool with partitionable slots on which alice and bob run jobs, and
// what each of them should be charged.
type site struct {
	*rapid.T
	s      *spool.Spool
	now    time.Time
	weight *classad.Expr
	limits concurrency.Limits
	used   map[string]accountant.Usage
	// What carol is charged for the slot outside, and since when that has been so.
	held      accountant.Weight
	heldSince time.Time
}

const licences = 2

func newSite(t *rapid.T, dir string) *site {
	s, err := spool.Open(dir, spool.Options{Program: "test", UIDDomain: "example.org"})
	if err != nil {
		t.Fatal(err)
	}
	x := &site{T: t, s: s, now: noon, used: map[string]accountant.Usage{}, heldSince: noon}
	if x.weight, err = classad.ParseExpr("Cpus + Memory / 1536.0"); err != nil {
		t.Fatal(err)
	}
	if x.limits, err = concurrency.NewLimits(0, nil, map[string]float64{"lic": licences}); err != nil {
		t.Fatal(err)
	}
	x.update("start", func(tx *spool.Tx) {
		for cluster := range 4 {
			ad := classad.New()
			ad.SetString("Owner", []string{"alice", "bob"}[cluster%2])
			ad.SetInt("JobStatus", 1)
			ad.SetBool("Requirements", true)
			ad.SetInt("RequestCpus", int64(1+2*(cluster/2)))
			ad.SetInt("RequestMemory", int64(100+cluster))
			if cluster > 0 {
				ad.SetString("ConcurrencyLimits", "Lic")
			}
			tx.AddCluster(ad, []spool.NewRun{{Count: 5}})
		}
		for i := range 4 {
			x.advertise(tx, i, 4)
		}
		x.advertiseOutside(tx, true)
	})
	return x
}

// advertise offers a slot with so many cores; a negative number makes it static.
func (x *site) advertise(tx *spool.Tx, i, cores int) {
	ad, err := classad.ParseAd(fmt.Sprintf(`[ Name = "slot1@n%d"; Machine = "n%d"; PartitionableSlot = %v; Cpus = %d; Memory = 1024; Requirements = true ]`, i, i, cores > 0, max(cores, -cores)))
	if err != nil {
		x.Fatal(err)
	}
	tx.PutSlot(fmt.Sprintf("slot1@n%d", i), ad)
}

func (x *site) update(op string, fn func(*spool.Tx)) {
	if err := x.s.Update(func(tx *spool.Tx) error { tx.Op(op); fn(tx); return nil }); err != nil {
		x.Fatalf("%s: %v", op, err)
	}
}

// claim draws one of the claims in a state, false if there is none.
func (x *site) claim(states ...pool.ClaimState) (c pool.Claim, ok bool) {
	var list []pool.Claim
	if err := x.s.View(func(v *spool.View) error { list = v.Claims(); return nil }); err != nil {
		x.Fatal(err)
	}
	return x.one(slices.DeleteFunc(slices.Clone(list), func(c pool.Claim) bool { return !slices.Contains(states, c.State) }))
}

func (x *site) one(list []pool.Claim) (c pool.Claim, ok bool) {
	if len(list) == 0 {
		return c, false
	}
	return rapid.SampledFrom(list).Draw(x.T, "claim"), true
}

// charge notes that a claim is charged until now.
func (x *site) charge(c pool.Claim) {
	x.used[c.Submitter] = x.used[c.Submitter].Add(c.Weight, x.now.Sub(c.ChargedFrom()))
}

// negotiate runs a cycle; now and then a match that it gives up is taken up before its
// plan is applied.
func (x *site) negotiate() {
	var plan *negotiator.Plan
	var seen Snapshot
	if err := x.s.View(func(v *spool.View) error {
		seen = TakeSnapshot(v, x.s.Domain(), nil, policy.Beside{})
		plan = negotiation.Cycle(seen.Pool, negotiator.Config{
			Params: params, UseSlotWeights: true, SlotWeight: x.weight, RequestClaimTimeout: time.Minute, Limits: x.limits,
			Reserve: negotiator.Reserve{Fraction: 0.1, Time: time.Hour},
		}, x.now)
		return nil
	}); err != nil {
		x.Fatal(err)
	}
	if rapid.Bool().Draw(x.T, "begin between") {
		x.begin(x.one(slices.DeleteFunc(slices.Clone(plan.GiveUp), func(c pool.Claim) bool { return c.State != pool.Matched })))
	}
	if rapid.IntRange(0, 3).Draw(x.T, "free between") == 0 {
		x.update("advertise", func(tx *spool.Tx) { x.advertiseOutside(tx, false) })
	}
	x.update("cycle", func(tx *spool.Tx) { Match(tx, plan, seen, x.now, params) })
	x.settleOutside(plan)
}

func (x *site) begin(c pool.Claim, ok bool) {
	if ok {
		x.update("begin", func(tx *spool.Tx) {
			if err := Begin(tx, c.Job, c.Attempt, x.now, 1, "", params); err != nil {
				x.Fatal(err)
			}
		})
	}
}

func (x *site) finish() {
	c, ok := x.claim(pool.RunningClaim, pool.Vacating)
	if !ok {
		return
	}
	how := pool.Ending{Lost: rapid.SampledFrom([]string{"", "its supervisor died"}).Draw(x.T, "lost")}
	x.update("finish", func(tx *spool.Tx) {
		if err := Finish(tx, c.Job, c.Attempt, x.now, how, params); err != nil {
			x.Fatal(err)
		}
	})
	if c.State == pool.RunningClaim {
		x.charge(c)
	}
}

func (x *site) remove() {
	c, ok := x.claim(pool.Matched, pool.RunningClaim, pool.Vacating, pool.Promised)
	if !ok {
		return
	}
	x.update("remove", func(tx *spool.Tx) {
		if _, err := Remove(tx, c.Job, "", x.now, params); err != nil {
			x.Fatal(err)
		}
	})
	if c.State == pool.RunningClaim {
		x.charge(c)
	}
}

// look holds that every account says what the claims do, that a job knows how often
// it was matched, and that no slot and no limit is overdrawn by those that were made
// at its present size.
func (x *site) look(size []int) {
	if err := x.s.View(func(v *spool.View) error {
		inUse, slots := map[string]accountant.Weight{}, map[string]int{}
		cores, limited := map[string]float64{}, 0
		used := map[string]accountant.Usage{"alice@example.org": x.used["alice@example.org"], "bob@example.org": x.used["bob@example.org"]}
		used[carol], inUse[carol] = x.used[carol].Add(x.held, x.now.Sub(x.heldSince)), x.held
		if x.held > 0 {
			slots[carol] = 1
		}
		claims := v.Claims()
		if wrong := pool.Contradictions(claims); wrong != nil {
			x.Errorf("Contradictions(%+v) = %+v, want none", claims, wrong)
		}
		for _, c := range claims {
			if c.State != pool.Promised {
				cores[c.SlotAd()] += c.Piece.Takes.Of("Cpus")
				if c.Limits != "" {
					limited++
				}
			}
			if c.State != pool.Vacating {
				inUse[c.Submitter] += c.Weight
				slots[c.Submitter]++
				used[c.Submitter] = used[c.Submitter].Add(c.Weight, x.now.Sub(c.ChargedFrom()))
			}
			ad, _ := v.Job(c.Job)
			if n, _ := ad.EvalInt(&classad.Context{}, pool.AttrNumJobMatches); int(n) != c.Attempt {
				x.Errorf("NumJobMatches of %v = %d, want %d as its claim's Attempt", c.Job, n, c.Attempt)
			}
			if at, _ := ad.EvalInt(&classad.Context{}, pool.AttrLastMatchTime); at != c.ChargedFrom().Unix() {
				x.Errorf("LastMatchTime of %v = %d, want %d as its claim's", c.Job, at, c.ChargedFrom().Unix())
			}
		}
		for i, most := range size {
			if name := fmt.Sprintf("slot1@n%d", i); cores[name] > float64(most) {
				x.Errorf("pieces of %s have %v cores, want %d at most", name, cores[name], most)
			}
		}
		if limited > licences {
			x.Errorf("%d claims count for a limit of %d", limited, licences)
		}
		for name, want := range used {
			r, _ := v.Submitter(name)
			if r = r.AsOf(x.now, params); r.InUse != inUse[name] || r.ResourcesUsed != slots[name] || r.Weighted != want {
				x.Errorf("%s: %v in %d slots, has used %+v, want %v in %d, %+v", name, r.InUse, r.ResourcesUsed, r.Weighted, inUse[name], slots[name], want)
			}
		}
		return nil
	}); err != nil {
		x.Fatal(err)
	}
}

// TestPiecesLaw holds that whatever becomes of claims on pieces of slots, which grow,
// shrink and turn static under them, the accounts say exactly what was used, by weight.
func TestPiecesLaw(t *testing.T) {
	dir := t.TempDir()
	run := 0
	rapid.Check(t, func(t *rapid.T) {
		run++
		here := filepath.Join(dir, fmt.Sprint(run))
		x := newSite(t, here)
		defer os.RemoveAll(here)
		defer x.s.Close()
		size := []int{4, 4, 4, 4} // the largest that the slot has been
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) { x.T = t; x.look(size) },
			"wait": func(t *rapid.T) {
				x.now = x.now.Add(time.Duration(rapid.OneOf(rapid.IntRange(1, 50_000), rapid.Just(70_000)).Draw(t, "ms")) * time.Millisecond)
			},
			"negotiate": func(t *rapid.T) { x.T = t; x.negotiate() },
			"begin":     func(t *rapid.T) { x.T = t; x.begin(x.claim(pool.Matched)) },
			"preempt":   func(t *rapid.T) { x.T = t; x.preempt() },
			"finish":    func(t *rapid.T) { x.T = t; x.finish() },
			"remove":    func(t *rapid.T) { x.T = t; x.remove() },
			"outside": func(t *rapid.T) {
				x.T = t
				held := rapid.Bool().Draw(t, "held")
				x.update("advertise", func(tx *spool.Tx) { x.advertiseOutside(tx, held) })
			},
			"arrive": func(t *rapid.T) { x.T = t; x.update("arrive", func(tx *spool.Tx) { Arrive(tx, x.now) }) },
			"advertise": func(t *rapid.T) {
				i, cores := rapid.IntRange(0, 3).Draw(t, "slot"), rapid.SampledFrom([]int{-4, 1, 2, 3, 5}).Draw(t, "cores")
				x.update("advertise", func(tx *spool.Tx) { x.advertise(tx, i, cores) })
				size[i] = max(size[i], cores)
			},
		})
	})
}
