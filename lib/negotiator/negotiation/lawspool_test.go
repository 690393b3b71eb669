package negotiation

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/concurrency"
	"fairspool/lib/pool"
)

// The random pools of the laws are mean: few things, so that they meet, and all
// that an ad or a configuration can say wrongly.

var lawUsers = []string{"alice@x", "bob@x", "carol@x", "dave@x", "bob@y", "nice-user.alice@x", "nice-user.erin@x", "frank@x", "grace@x"}

var lawSlots = []string{
	"", "", "", "Memory = 2048", "Cpus = 2", "Cpus = 2; Memory = 4096", "HasG = true", "HasG = true; Cpus = 4", "KFlops = 500", "Cpus = 2.5",
	`State = "Owner"`, `State = "Claimed"; RemoteUser = "bob@x"`, `State = "Claimed"; RemoteUser = "carol@x"; ConcurrencyLimits = "lic"`, `State = "Claimed"`,
	`State = "Preempting"; RemoteUser = "zoe@x"`,
	"SlotWeight = 0", "SlotWeight = Cpus * 1.5; Cpus = 2", "SlotWeight = NoSuch", "SlotWeight = error", "SlotWeight = 3", `SlotWeight = "two"`,
	"Requirements = TARGET.JobPrio > 2", "Requirements = undefined", "Requirements = error", "Requirements = TARGET.ProcId % 2 == 0", "Requirements = MY.Cpus",
	"Rank = TARGET.JobPrio", `Rank = "high"`, "Rank = TARGET.ProcId", "Rank = error", "Rank = real(\"NaN\")",
	"ClassAdLifetime = 60; LastHeardFrom = 1600000000", "ClassAdLifetime = 60; LastHeardFrom = 1700000000", "Offline = true", "SlotID = 2", "SlotID = 3; KFlops = 1002",
}

var lawPieces = []string{
	"Cpus = 4; Memory = 4096", "Cpus = 4; Memory = 4096", "Cpus = 8; Memory = 8192; Disk = 100000", "Cpus = 2.5; Memory = 3000", "Cpus = 4; Memory = undefined",
	"Cpus = 4; Memory = 4096; GPUs = 2; MachineResources = \"Cpus Memory Disk Swap GPUs\"", "Cpus = 6; Memory = 1000; GPUs = 1.5", "Cpus = undefined",
	"Cpus = 4; SlotWeight = 0", "Cpus = 4; SlotWeight = Memory / 1024", "Cpus = 3; SlotWeight = Cpus * 1.5", "Cpus = 4; HasG = true", "Cpus = 2; Rank = TARGET.JobPrio",
	"Cpus = 4; Disk = 1500", "Cpus = -1", "Cpus = 4; Requirements = TARGET.RequestCpus < Cpus", "Cpus = 4; Requirements = TARGET.ProcId % 2 == 0", "Cpus = 0.3",
	`Cpus = 4; State = "Owner"`, `Cpus = 4; State = "Claimed"; RemoteUser = "bob@x"`, "Cpus = 16; Memory = 16384; KFlops = 5",
}

var lawJobs = []string{
	"", "", "", "RequestMemory = 2000", "RequestCpus = 2", "Rank = TARGET.Cpus", "Rank = -TARGET.Memory", `Rank = "x"`, "Rank = undefined", "Rank = TARGET.SlotID; JobPrio = 5",
	"Rank = TARGET.HasG", "Rank = ProcId % 2 == 0 ? TARGET.Cpus : -TARGET.Cpus",
	"Requirements = TARGET.HasG", "Requirements = !TARGET.HasG", "Requirements = TARGET.HasG =!= true", "Requirements = TARGET.Cpus > ProcId % 3", "Requirements = false",
	"Requirements = undefined", "Requirements = error", "Requirements = TARGET.Cpus", "Requirements = TARGET.NoSuch == 1 || TARGET.Cpus == 1",
	"JobPrio = 5", "JobPrio = 3; PreJobPrio1 = 1", "PostJobPrio2 = -1", "QDate = 1500000000", "JobPrio = 3; Requirements = TARGET.Cpus >= 2",
	`ConcurrencyLimits = "lic"`, `ConcurrencyLimits = "lic:2,sw.a"`, `ConcurrencyLimits = "SW.b"`, `ConcurrencyLimits = ifThenElse(ProcId > 2, "lic", "")`, "ConcurrencyLimits = 3",
	"RequestCpus = 3.2", "RequestCpus = undefined", "RequestCpus = 0", "RequestMemory = 1.5; RequestCpus = 1", "Noise = 1", "Noise = ProcId",
}

var lawPieceJobs = []string{"RequestGPUs = 1", "RequestGPUs = 0.5", "RequestGPUs = 1; RequestCpus = 2", "RequestDisk = 1100", "RequestDisk = 50000", "RequestCpus = 4", "RequestCpus = 7",
	"RequestMemory = 1000", "RequestMemory = TARGET.Memory / 2", "RequestCpus = ProcId + 1", "RequestCpus = TARGET.Cpus", "RequestNoSuch = 1"}

// lawPool draws a pool. Where pieces are allowed some slots are partitionable.
func lawPool(t *rapid.T, outer testing.TB, pieces bool) negotiator.Pool {
	names := lawUsers[:rapid.IntRange(1, len(lawUsers)).Draw(t, "users")]
	p := idlePool(t, outer, pieces, names, lawSlots)
	drawClaims(&p, t, names)
	return p
}

// idlePool draws a pool without claims for users with these names.
func idlePool(t *rapid.T, outer testing.TB, pieces bool, names, slotKinds []string) negotiator.Pool {
	var p negotiator.Pool
	jobKinds := lawJobs
	if pieces {
		// A slot that is good only when little is left of it comes too late.
		jobKinds = slices.DeleteFunc(slices.Concat(lawJobs, lawPieceJobs), func(text string) bool { return strings.Contains(text, "TARGET.Cpus == 1") })
	}
	// Few kinds make many equals.
	slotKinds = rapid.SliceOfN(rapid.SampledFrom(slotKinds), 1, 5).Draw(t, "kinds of slots")
	jobKinds = rapid.SliceOfN(rapid.SampledFrom(jobKinds), 1, 6).Draw(t, "kinds of jobs")
	for i := range rapid.IntRange(0, 16).Draw(t, "slots") {
		name := fmt.Sprintf("slot%d@n", i+1)
		if pieces && rapid.Bool().Draw(t, "partitionable") {
			kind := rapid.SampledFrom(lawPieces).Draw(t, "kind")
			p.Slots = append(p.Slots, aSlot(outer, name, fmt.Sprintf("PartitionableSlot = true; SlotID = %d; %s", i+1, kind)))
			continue
		}
		p.Slots = append(p.Slots, aSlot(outer, name, rapid.SampledFrom(slotKinds).Draw(t, "slot")))
	}
	if pieces && rapid.IntRange(0, 9).Draw(t, "odd name") == 0 {
		p.Slots = append(p.Slots, aSlot(outer, "slot1_1@n", ""))
	}
	for i := range rapid.IntRange(0, 8).Draw(t, "runs") {
		count := rapid.SampledFrom([]int{1, 1, 2, 5, 12}).Draw(t, "count")
		p.Jobs = append(p.Jobs, aJob(outer, i+1, count, rapid.SampledFrom(names).Draw(t, "submitter"), rapid.SampledFrom(jobKinds).Draw(t, "job")))
	}
	same := rapid.Bool().Draw(t, "equal EUPs")
	for _, n := range names {
		if rapid.IntRange(0, 5).Draw(t, "unknown") == 0 {
			continue
		}
		r := record(n, 1)
		if !same {
			r.Priority = rapid.SampledFrom([]float64{0.5, 0.5, 1, 2, 3.7, 5, 10, 1000}).Draw(t, "rup")
		}
		if rapid.IntRange(0, 3).Draw(t, "ceiling") == 0 {
			r.Ceiling = accountant.LimitOf(rapid.Int64Range(0, 5).Draw(t, "of"))
		}
		if rapid.IntRange(0, 3).Draw(t, "floor") == 0 {
			r.Floor = rapid.SampledFrom([]int64{1, 2, 3, 100}).Draw(t, "of")
		}
		p.Submitters = append(p.Submitters, r)
	}
	return p
}

// drawClaims draws claims and slots that rest.
func drawClaims(p *negotiator.Pool, t *rapid.T, names []string) {
	eval := &classad.Context{Now: now}
	taken := map[pool.JobID]bool{}
	for i, s := range p.Slots {
		n := rapid.SampledFrom([]int{0, 0, 0, 1, 1, 2}).Draw(t, "claims")
		for k := range n {
			cl := pool.Claim{
				Job: pool.JobID{Cluster: rapid.IntRange(1, 9).Draw(t, "cluster"), Proc: rapid.IntRange(0, 5).Draw(t, "proc")}, Attempt: 1, Slot: s.Name,
				Submitter: rapid.SampledFrom(names).Draw(t, "holder"), Weight: accountant.One,
				State:     rapid.SampledFrom([]pool.ClaimState{pool.Matched, pool.RunningClaim, pool.RunningClaim, pool.Vacating}).Draw(t, "state"),
				MatchedAt: now.Add(-time.Duration(rapid.IntRange(0, 240).Draw(t, "age")) * time.Second),
				Limits:    rapid.SampledFrom([]string{"", "", "lic", "sw.a:2"}).Draw(t, "limits"),
			}
			if taken[cl.Job] {
				continue
			}
			if pool.Partitionable(eval, s.Ad) {
				left := pool.Left(eval, s.Ad, takesOf(p, s.Name))
				takes := rapid.SampledFrom([]pool.Resources{"Cpus=1 Memory=128", "Cpus=2", "Cpus=1 GPUs=1 Memory=1024", "Cpus=4 Memory=4096"}).Draw(t, "takes")
				if !pool.Fits(eval, left, takes) {
					continue
				}
				cl.Slot, cl.Piece = pool.DynamicName(s.Name, k+1), pool.Piece{Of: s.Name, Takes: takes}
			} else if k > 0 {
				continue
			}
			taken[cl.Job] = true
			p.Claims = append(p.Claims, cl)
		}
		if rapid.IntRange(0, 9).Draw(t, "rests") == 0 {
			p.Backoffs = append(p.Backoffs, pool.Backoff{Slot: s.Name, Failures: i % 3, Until: now.Add(time.Duration(i-5) * time.Minute)})
		}
	}
}

// takesOf returns what claims take of a slot.
func takesOf(p *negotiator.Pool, slot string) (takes []pool.Resources) {
	for _, cl := range p.Claims {
		if cl.Piece.Of == slot {
			takes = append(takes, cl.Piece.Takes)
		}
	}
	return takes
}

// lawConfig draws a configuration.
func lawConfig(t *rapid.T, outer testing.TB) negotiator.Config {
	cfg := defaults(outer)
	maybe := func(name string, one ...string) *classad.Expr {
		if text := rapid.SampledFrom(append([]string{"", "", "", ""}, one...)).Draw(t, name); text != "" {
			return expr(outer, text)
		}
		return nil
	}
	if rapid.Bool().Draw(t, "no ranks") {
		cfg.PreJobRank, cfg.PostJobRank = maybe("pre", "Memory", "undefined", "-Cpus", `real("NaN")`), maybe("post", "TARGET.ProcId % 2 * Cpus", "SlotID")
	}
	if rapid.IntRange(0, 4).Draw(t, "weight") == 0 {
		cfg.SlotWeight = maybe("SLOT_WEIGHT", "Memory / 1024.0", "Cpus / 2", "-1")
	}
	cfg.UseSlotWeights = rapid.IntRange(0, 4).Draw(t, "weights") > 0
	cfg.IgnoreUserPriorities = rapid.IntRange(0, 9).Draw(t, "ignore priorities") == 0
	cfg.JobConstraint = maybe("job constraint", "JobPrio < 5", "ProcId != 1", "undefined")
	cfg.SlotConstraint = maybe("slot constraint", "Memory > 1024", "Cpus > 1")
	cfg.PoolSizeConstraint = maybe("pool size", "Cpus == 1", "HasG", "false")
	cfg.DepthFirst = rapid.Bool().Draw(t, "depth first")
	if rapid.IntRange(0, 3).Draw(t, "skips") == 0 {
		cfg.SkipClusters = true
		cfg.Significant = rapid.SampledFrom([][]string{nil, {"RequestCpus"}, {"JobPrio", "requestmemory"}}).Draw(t, "significant")
	}
	cfg.AddSignificant = rapid.SampledFrom([][]string{nil, nil, {"Noise"}}).Draw(t, "add")
	cfg.RemoveSignificant = rapid.SampledFrom([][]string{nil, nil, nil, {"RequestMemory"}, {"Requirements", "Rank"}}).Draw(t, "remove")
	if rapid.Bool().Draw(t, "limits") {
		number := rapid.SampledFrom([]float64{0, 1, 2, 5})
		limits, err := concurrency.NewLimits(1e6, map[string]float64{"sw": number.Draw(t, "sw")}, map[string]float64{"LIC": number.Draw(t, "lic")})
		if err != nil {
			t.Fatal(err)
		}
		cfg.Limits = limits
	}
	if rapid.Bool().Draw(t, "reserves") {
		cfg.Reserve = negotiator.Reserve{Fraction: rapid.SampledFrom([]float64{0.1, 0.5, 1}).Draw(t, "fraction"), Time: time.Hour}
	}
	return cfg
}

// anyPie draws how the pool is divided.
func anyPie(t *rapid.T, cfg negotiator.Config) negotiator.Config {
	cfg.Pie = rapid.SampledFrom([]negotiator.Pie{negotiator.MaxMin, negotiator.Spins}).Draw(t, "pie")
	cfg.Preemption.Consider = rapid.Bool().Draw(t, "consider preemption")
	return cfg
}
