package negotiation

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"fairspool/lib/accountant"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
)

// aNode is a partitionable slot of 8 cores, 16 GB and 4 GPUs.
func aNode(t testing.TB, name, text string) pool.Slot {
	t.Helper()
	return aSlot(t, name, `PartitionableSlot = true; SlotType = "Partitionable"; Cpus = 8; Memory = 16384; Disk = 1000000; GPUs = 4;
		Requirements = TARGET.RequestCpus <= MY.Cpus && TARGET.RequestMemory <= MY.Memory && (TARGET.RequestGPUs ?: 0) <= MY.GPUs; `+text)
}

// taken lists matches as job>slot with what they take.
func taken(p *negotiator.Plan) string {
	var all []string
	for _, m := range p.Matches {
		all = append(all, fmt.Sprintf("%v>%s(%s)*%v", m.Job, m.Slot, strings.ReplaceAll(string(m.Piece.Takes), " ", ","), m.Weight))
	}
	return strings.Join(all, " ")
}

func TestSlotsAreDivided(t *testing.T) {
	cfg := defaults(t)
	deep := cfg
	deep.DepthFirst, deep.PreJobRank = true, expr(t, "Cpus")
	wide := cfg
	wide.PreJobRank = expr(t, "Cpus")
	flat := cfg
	flat.UseSlotWeights = false
	for _, c := range []struct {
		name  string
		cfg   negotiator.Config
		slots []pool.Slot
		jobs  []jobprio.Run
		want  string
	}{
		{"one job", cfg, []pool.Slot{aNode(t, "slot1@a", "")}, []jobprio.Run{aJob(t, 1, 1, "alice@x", "")}, "1.0>slot1_1@a(Cpus=1,Memory=128)*1"},
		{"rounded up", cfg, []pool.Slot{aNode(t, "slot1@a", "")}, []jobprio.Run{aJob(t, 1, 1, "alice@x", "RequestCpus = 1.5; RequestMemory = 1000; RequestDisk = 5")},
			"1.0>slot1_1@a(Cpus=2,Disk=1024,Memory=1024)*2"},
		{"no more than there is", cfg, []pool.Slot{aNode(t, "slot1@a", "Memory = 1000")}, []jobprio.Run{aJob(t, 1, 1, "alice@x", "RequestMemory = 999")},
			"1.0>slot1_1@a(Cpus=1,Memory=1000)*1"},
		{"custom resources", cfg, []pool.Slot{aNode(t, "slot1@a", "")}, []jobprio.Run{aJob(t, 1, 3, "alice@x", "RequestGPUs = 2")},
			"1.0>slot1_1@a(Cpus=1,GPUs=2,Memory=128)*1 1.1>slot1_2@a(Cpus=1,GPUs=2,Memory=128)*1"},
		{"what a slot has none of", cfg, []pool.Slot{aNode(t, "slot1@a", "Requirements = true"), aSlot(t, "slot1@b", "PartitionableSlot = true; Requirements = true")},
			[]jobprio.Run{aJob(t, 1, 9, "alice@x", "RequestGPUs = 4; RequestMemory = 1; Requirements = true")}, "1.0>slot1_1@a(Cpus=1,GPUs=4,Memory=128)*1"},
		{"memory is used up before cores", cfg, []pool.Slot{aNode(t, "slot1@a", "")}, []jobprio.Run{aJob(t, 1, 9, "alice@x", "RequestMemory = 8192")},
			"1.0>slot1_1@a(Cpus=1,Memory=8192)*1 1.1>slot1_2@a(Cpus=1,Memory=8192)*1"},
		{"several shapes", cfg, []pool.Slot{aNode(t, "slot1@a", "")}, []jobprio.Run{aJob(t, 1, 1, "alice@x", "RequestCpus = 6"), aJob(t, 2, 1, "alice@x", "RequestCpus = 4"), aJob(t, 3, 9, "alice@x", "")},
			"1.0>slot1_1@a(Cpus=6,Memory=128)*6 3.0>slot1_2@a(Cpus=1,Memory=128)*1 3.1>slot1_3@a(Cpus=1,Memory=128)*1"},
		{"the fullest first, by rank", cfg, []pool.Slot{aNode(t, "slot1@a", "Cpus = 3"), aNode(t, "slot1@b", "Cpus = 2")}, []jobprio.Run{aJob(t, 1, 4, "alice@x", "")},
			"1.0>slot1_1@b(Cpus=1,Memory=128)*1 1.1>slot1_2@b(Cpus=1,Memory=128)*1 1.2>slot1_1@a(Cpus=1,Memory=128)*1 1.3>slot1_2@a(Cpus=1,Memory=128)*1"},
		{"the emptiest first, by rank", wide, []pool.Slot{aNode(t, "slot1@a", "Cpus = 3"), aNode(t, "slot1@b", "Cpus = 2")}, []jobprio.Run{aJob(t, 1, 3, "alice@x", "")},
			"1.0>slot1_1@a(Cpus=1,Memory=128)*1 1.1>slot1_2@a(Cpus=1,Memory=128)*1 1.2>slot1_1@b(Cpus=1,Memory=128)*1"},
		{"NEGOTIATOR_DEPTH_FIRST", deep, []pool.Slot{aNode(t, "slot1@a", "Cpus = 3"), aNode(t, "slot1@b", "Cpus = 3")}, []jobprio.Run{aJob(t, 1, 4, "alice@x", "")},
			"1.0>slot1_1@a(Cpus=1,Memory=128)*1 1.1>slot1_2@a(Cpus=1,Memory=128)*1 1.2>slot1_3@a(Cpus=1,Memory=128)*1 1.3>slot1_1@b(Cpus=1,Memory=128)*1"},
		{"weight of the slot's own", cfg, []pool.Slot{aNode(t, "slot1@a", "SlotWeight = Cpus * 2 + Memory / 1024")}, []jobprio.Run{aJob(t, 1, 1, "alice@x", "RequestMemory = 2048")},
			"1.0>slot1_1@a(Cpus=1,Memory=2048)*4"},
		{"without weights", flat, []pool.Slot{aNode(t, "slot1@a", "")}, []jobprio.Run{aJob(t, 1, 1, "alice@x", "RequestCpus = 8")}, "1.0>slot1_1@a(Cpus=8,Memory=128)*1"},
		{"the slot looks at what is left", cfg, []pool.Slot{aNode(t, "slot1@a", "Start = Cpus > 6; Requirements = Start")}, []jobprio.Run{aJob(t, 1, 9, "alice@x", "Requirements = true")},
			"1.0>slot1_1@a(Cpus=1,Memory=128)*1 1.1>slot1_2@a(Cpus=1,Memory=128)*1"},
		{"beside a static slot", cfg, []pool.Slot{aNode(t, "slot1@a", "Cpus = 1"), aSlot(t, "slot2@a", "")}, []jobprio.Run{aJob(t, 1, 3, "alice@x", "")},
			"1.0>slot2@a()*1 1.1>slot1_1@a(Cpus=1,Memory=128)*1"},
	} {
		if got := taken(Cycle(negotiator.Pool{Slots: c.slots, Jobs: c.jobs}, c.cfg, now)); got != c.want {
			t.Errorf("%s: Cycle takes\n%s, want\n%s", c.name, got, c.want)
		}
	}
}

// claimsOf makes claims of a plan's matches, which run from now on.
func claimsOf(p *negotiator.Plan) (claims []pool.Claim) {
	for _, m := range p.Matches {
		claims = append(claims, pool.Claim{
			Job: m.Job, Attempt: 1, Slot: m.Slot, Piece: m.Piece, Limits: m.Limits, Submitter: m.Submitter, State: pool.RunningClaim,
			Weight: m.Weight, MatchedAt: now,
		})
	}
	return claims
}

// What is left is right in the next cycle, and names are not given twice.
func TestRemainders(t *testing.T) {
	cfg := defaults(t)
	p := negotiator.Pool{Slots: []pool.Slot{aNode(t, "slot1@a", ""), aSlot(t, "slot1_2@a", "Requirements = false")}, Jobs: []jobprio.Run{aJob(t, 1, 2, "alice@x", "RequestCpus = 3")}}
	first := Cycle(p, cfg, now)
	if got, want := taken(first), "1.0>slot1_1@a(Cpus=3,Memory=128)*3 1.1>slot1_3@a(Cpus=3,Memory=128)*3"; got != want {
		t.Errorf("Cycle takes %s, want %s", got, want)
	}
	p.Claims, p.Jobs = claimsOf(first), []jobprio.Run{aJob(t, 2, 1, "bob@x", "RequestCpus = 3"), aJob(t, 3, 5, "bob@x", "")}
	if got, want := taken(Cycle(p, cfg, now)), "3.0>slot1_4@a(Cpus=1,Memory=128)*1 3.1>slot1_5@a(Cpus=1,Memory=128)*1"; got != want {
		t.Errorf("the next cycle takes %s, want %s", got, want)
	}
	p.Claims = p.Claims[1:]
	if got, want := taken(Cycle(p, cfg, now)), "2.0>slot1_1@a(Cpus=3,Memory=128)*3 3.0>slot1_4@a(Cpus=1,Memory=128)*1 3.1>slot1_5@a(Cpus=1,Memory=128)*1"; got != want {
		t.Errorf("after the first has gone, Cycle takes %s, want %s", got, want)
	}
	// A match that no starter took up lets the whole machine rest.
	p.Claims[0].State, p.Claims[0].MatchedAt = pool.Matched, now.Add(-cfg.RequestClaimTimeout-1)
	plan := Cycle(p, cfg, now)
	if len(plan.Matches) > 0 || len(plan.Backoffs) != 1 || plan.Backoffs[0].Slot != "slot1@a" {
		t.Errorf("after a match that no starter took up, Cycle takes %s and lets %v rest, want slot1@a to rest", taken(plan), plan.Backoffs)
	}
}

// Partitionable slots are shared as fairly as static ones, also where something
// else than cores is used up first, or pieces leave crumbs.
func TestSharesOfPartitionableSlots(t *testing.T) {
	var slots []pool.Slot
	for i := range 12 {
		slots = append(slots, aNode(t, fmt.Sprintf("slot1@n%d", i), ""))
	}
	for _, c := range []struct {
		name, alice, bob string
		want             map[string]float64 // weight
	}{
		{"one core each", "", "", map[string]float64{"alice@x": 64, "bob@x": 32}},
		{"memory first", "RequestMemory = 4096", "RequestMemory = 4096", map[string]float64{"alice@x": 32, "bob@x": 16}},
		{"with crumbs", "RequestCpus = 3", "RequestCpus = 3", map[string]float64{"alice@x": 48, "bob@x": 24}},
		{"GPUs", "RequestGPUs = 1", "RequestGPUs = 2; RequestCpus = 2", map[string]float64{"alice@x": 32, "bob@x": 16}},
	} {
		p := negotiator.Pool{Slots: slots, Submitters: []accountant.Record{record("alice@x", 5), record("bob@x", 10)},
			Jobs: []jobprio.Run{aJob(t, 1, 500, "alice@x", c.alice), aJob(t, 2, 500, "bob@x", c.bob)}}
		got := map[string]float64{}
		for _, m := range Cycle(p, defaults(t), now).Matches {
			got[m.Submitter] += m.Weight.Float()
		}
		for name, want := range c.want {
			if d := got[name] - want; d < -2 || d > 2 {
				t.Errorf("%s: %s gets %v, want %v; all: %v", c.name, name, got[name], want, got)
			}
		}
	}
}

// The first cycle of a pool of partitionable slots that are partly held from
// outside takes their ads at their word.
func TestAdvertisedRemainder(t *testing.T) {
	p := negotiator.Pool{Slots: []pool.Slot{aNode(t, "slot1@a", "Cpus = 2; TotalSlotCpus = 8"),
		aSlot(t, "slot1_1@a", `DynamicSlot = true; State = "Claimed"; RemoteUser = "bob@x"; Cpus = 6; SlotWeight = 6`)},
		Jobs: []jobprio.Run{aJob(t, 1, 9, "alice@x", "")}}
	plan := Cycle(p, defaults(t), now)
	if got, want := taken(plan), "1.0>slot1_2@a(Cpus=1,Memory=128)*1 1.1>slot1_3@a(Cpus=1,Memory=128)*1"; got != want {
		t.Errorf("Cycle takes %s, want %s", got, want)
	}
	if i := slices.IndexFunc(plan.Submitters, func(s negotiator.Share) bool { return s.Name == "bob@x" }); i < 0 || plan.Submitters[i].Usage != 6 {
		t.Errorf("Cycle says of bob@x %+v, want that he uses 6", plan.Submitters)
	}
}

// Nothing can be taken of what is no amount, and no job takes nothing of what it
// requests: a slot is never divided for ever.
func TestPiecesOfOddAmounts(t *testing.T) {
	for _, c := range []struct{ slot, job, want string }{
		{`Cpus = real("NaN")`, "", ""},
		{`Cpus = 1; Memory = real("NaN")`, "", ""},
		{`Cpus = 1; GPUs = real("NaN")`, "RequestGPUs = 1", ""},
		{"Cpus = -1", "", ""},
		{"Cpus = 1; GPUs = true", "RequestGPUs = 1; RequestMemory = 0", "slot1_1@a(Cpus=1)"},
		{"Cpus = 2", "RequestCpus = 1e-12; RequestMemory = 1e-12", "slot1_1@a(Cpus=1,Memory=128) slot1_2@a(Cpus=1,Memory=128)"},
		{"Cpus = 0.5", "RequestCpus = 1e-12; RequestMemory = 0", "slot1_1@a(Cpus=0.5)"},
	} {
		p := negotiator.Pool{Slots: []pool.Slot{aSlot(t, "slot1@a", "PartitionableSlot = true; Requirements = true; "+c.slot)},
			Jobs: []jobprio.Run{aJob(t, 1, 5, "alice@x", "Requirements = true; "+c.job)}}
		var got []string
		for _, m := range Cycle(p, defaults(t), now).Matches {
			got = append(got, m.Slot+"("+strings.ReplaceAll(string(m.Piece.Takes), " ", ",")+")")
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("slot %s, jobs %s: Cycle takes %s, want %s", c.slot, c.job, got, c.want)
		}
	}
	// What is no number cannot run out.
	p := negotiator.Pool{Slots: []pool.Slot{aSlot(t, "slot1@a", "PartitionableSlot = true; Requirements = true; Cpus = true; Memory = 256")},
		Jobs: []jobprio.Run{aJob(t, 1, 5, "alice@x", "Requirements = true")}}
	if got := taken(Cycle(p, defaults(t), now)); strings.Contains(got, "Cpus") || strings.Count(got, "Memory=128") != 2 {
		t.Errorf("Cycle takes %s, want nothing of Cpus = true, and 128 of Memory twice", got)
	}
}

// A job for which nothing was left is asked again when a remainder suits it.
func TestRemainderBringsJobsBack(t *testing.T) {
	floor := record("alice@x", 1)
	floor.Floor = 4
	p := negotiator.Pool{Slots: []pool.Slot{aNode(t, "slot1@a", "Cpus = 4")}, Submitters: []accountant.Record{floor},
		Jobs: []jobprio.Run{aJob(t, 1, 1, "alice@x", "Requirements = TARGET.Cpus == 2"), aJob(t, 2, 9, "alice@x", "")}}
	const want = "2.0>slot1_1@a 2.1>slot1_2@a 1.0>slot1_3@a 2.2>slot1_4@a"
	if got := pairs(Cycle(p, defaults(t), now)); got != want {
		t.Errorf("Cycle matches %s, want %s", got, want)
	}
}

// Jobs of many shapes cost no memory for each remainder that is too small for them.
func TestManyShapesOfPieces(t *testing.T) {
	var p negotiator.Pool
	for i := range 50 {
		p.Slots = append(p.Slots, aNode(t, fmt.Sprintf("slot1@n%d", i), "Cpus = 64; Memory = 100000"))
	}
	for i := range 1000 {
		p.Jobs = append(p.Jobs, aJob(t, i+1, 1, fmt.Sprintf("user%d@x", i%10), fmt.Sprintf("RequestMemory = %d", 128*(1+i))))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	Cycle(p, defaults(t), now)
	runtime.ReadMemStats(&after)
	if got, most := (after.TotalAlloc-before.TotalAlloc)>>20, uint64(70); got > most {
		t.Errorf("Cycle allocates %d MB, want %d at most", got, most)
	}
}
