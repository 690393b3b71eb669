package sge

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/jobprio"
	"fairspool/lib/policy"
	"fairspool/lib/pool"
	"fairspool/lib/sge"
)

// TestDelivers: the first cycle in each multiple of the interval delivers, also where the clock
// was set back.
func TestDelivers(t *testing.T) {
	at := func(s int64) time.Time { return time.Unix(1900000020+s, 0) } // a multiple of 60
	for _, c := range []struct {
		every     time.Duration
		last, now time.Time
		want      bool
	}{
		{0, time.Time{}, at(0), false}, {time.Minute, time.Time{}, at(7), true},
		{time.Minute, at(0), at(59), false}, {time.Minute, at(0), at(60), true}, {time.Minute, at(59), at(60), true},
		{time.Minute, at(59), at(-1), true}, {time.Minute, at(59), at(1), false}, {time.Minute, at(0), at(600), true},
		{time.Second / 2, at(0), at(1), true}, {time.Hour, at(0), at(60), false},
	} {
		if got := delivers(c.every, c.last, c.now); got != c.want {
			t.Errorf("every %v, last at %v: at %v it delivers: %v", c.every, c.last, c.now, got)
		}
	}
}

var noon = time.Unix(1900000000, 0)

// slotsOf returns slots with these ads, called s1 and on.
func slotsOf(t *testing.T, texts ...string) (slots []pool.Slot) {
	t.Helper()
	for i, text := range texts {
		ad, err := classad.ParseAd("[" + text + "]")
		testenv.OK(t, err)
		slots = append(slots, pool.Slot{Name: fmt.Sprintf("s%d", i+1), Ad: ad})
	}
	return slots
}

func TestFreeSlots(t *testing.T) {
	on := func(slot string) pool.Claim { return pool.Claim{Slot: slot, State: pool.RunningClaim} }
	piece := func(n, takes string, state pool.ClaimState) pool.Claim {
		return pool.Claim{Slot: "s1_" + n, Piece: pool.Piece{Of: "s1", Takes: pool.Resources(takes)}, State: state}
	}
	const divisible = "PartitionableSlot = true; Cpus = 8; Memory = 1024"
	for _, c := range []struct {
		name   string
		slots  []string
		claims []pool.Claim
		want   int64
	}{
		{"none", nil, nil, 0},
		{"static ones", []string{"Cpus = 4", "Cpus = 1", ""}, []pool.Claim{on("s2"), on("elsewhere")}, 2},
		{"a partitionable one", []string{divisible}, nil, 8},
		{"of which something is taken", []string{divisible, "Cpus = 1"}, []pool.Claim{piece("1", "Cpus=2 Memory=512", pool.RunningClaim), piece("2", "Cpus=1", pool.Matched)}, 6},
		{"of which something is to change hands", []string{divisible}, []pool.Claim{piece("1", "Cpus=2", pool.Vacating), piece("1", "Cpus=2", pool.Promised)}, 6},
		{"with parts of processors", []string{"PartitionableSlot = true; Cpus = 3.5"}, nil, 3},
		{"of which nothing is left", []string{divisible}, []pool.Claim{piece("1", "Cpus=8", pool.Vacating)}, 0},
		{"wholly claimed", []string{divisible}, []pool.Claim{on("s1")}, 0},
		{"not ours to give", []string{`State = "Claimed"; RemoteUser = "bob@elsewhere"`, `State = "Drained"`, `State = "Owner"`, `State = "Unclaimed"`, `PartitionableSlot = true; Cpus = 4; State = "Drained"`}, nil, 1},
		{"without a number", []string{"PartitionableSlot = true", `PartitionableSlot = true; Cpus = "x"`, `PartitionableSlot = true; Cpus = real("INF")`, `PartitionableSlot = true; Cpus = -5`}, nil, 0},
	} {
		slots := pool.SummariesOf(slotsOf(t, c.slots...))
		if got := freeSlots(slots, c.claims); got != c.want {
			t.Errorf("%s: %d slots are free, want %d", c.name, got, c.want)
		}
		slices.Reverse(slots)
		if got := freeSlots(slots, c.claims); got != c.want {
			t.Errorf("%s, the other way round: %d slots are free, want %d", c.name, got, c.want)
		}
	}
}

// TestSGESources holds that tallies are read only where a share tree gives tickets, and that
// the queue tells of tickets only where something follows them.
func TestSGESources(t *testing.T) {
	tree := &sge.Node{Name: "Root", Shares: 1, Children: []*sge.Node{{Name: "alice", Shares: 1}}}
	for _, c := range []struct {
		name    string
		set     func(*config.Config)
		tallies bool
		keeps   bool
	}{
		{"nothing", func(*config.Config) {}, false, false},
		{"a tree that gives none", func(c *config.Config) { Settings(c).Tree = tree }, false, false},
		{"tickets without a tree", func(c *config.Config) { Settings(c).TicketsShare, c.RunTime.Interval = 100, time.Minute }, false, true},
		{"both", func(c *config.Config) { Settings(c).TicketsShare, Settings(c).Tree = 100, tree }, true, false},
	} {
		tallies := false
		from := policy.Sources{
			Now:    noon,
			Slots:  func(do func([]pool.Slot)) { do(slotsOf(t, "Cpus = 7", "Cpus = 2")) },
			Claims: func() []pool.Claim { return []pool.Claim{{Slot: "s2", State: pool.Matched}} },
			Tallies: func() []accountant.Tally {
				tallies = true
				return []accountant.Tally{{Key: accountant.Key{Kind: accountant.KindOwn, Name: "alice"}, At: noon, Decayed: accountant.Recent{CPU: 60}}}
			},
		}
		cfg := schema.Default()
		c.set(&cfg)
		q := Policy{}.Queue(&cfg, from)
		if beside := (Policy{}).Beside(&cfg); tallies != c.tallies || beside != (policy.Beside{Running: true}) {
			t.Errorf("%s: tallies asked %v, beside %v", c.name, tallies, beside)
			continue
		}
		if o := q.Order(waitingOf(t, `Owner = "alice"; JobStatus = 2`)); (o.Tickets != nil) != c.keeps {
			t.Errorf("%s: tickets are %v, told %v", c.name, o.Tickets, c.keeps)
		}
		w := World(&cfg, from)
		if w.Now != noon || w.FreeSlots != 1 || (w.Used.Own["alice"] == 60) != c.tallies {
			t.Errorf("%s: the world is %+v", c.name, w)
		}
	}
}

// waitingOf returns one job that has a claim.
func waitingOf(t *testing.T, text string) jobprio.Waiting {
	t.Helper()
	ad, err := classad.ParseAd("[" + text + "]")
	testenv.OK(t, err)
	return jobprio.Waiting{Running: []jobprio.Running{{Run: jobprio.Run{Procs: pool.Only(pool.JobID{Cluster: 1}), Submitter: "alice@example.org", Ad: ad}}}}
}
