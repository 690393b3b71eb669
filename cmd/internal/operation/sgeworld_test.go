package operation

import (
	"slices"
	"testing"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/pool"
	"fairspool/lib/sge"
)

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
		slots := slotsOf(t, c.slots...)
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
		{"a tree that gives none", func(c *config.Config) { c.SGE.Tree = tree }, false, false},
		{"tickets without a tree", func(c *config.Config) { c.SGE.TicketsShare, c.RunTime.Interval = 100, time.Minute }, false, true},
		{"both", func(c *config.Config) { c.SGE.TicketsShare, c.SGE.Tree = 100, tree }, true, false},
	} {
		tallies := false
		from := Sources{
			Now:    noon,
			Slots:  func() []pool.Slot { return slotsOf(t, "Cpus = 7", "Cpus = 2") },
			Claims: func() []pool.Claim { return []pool.Claim{{Slot: "s2", State: pool.Matched}} },
			Tallies: func() []accountant.Tally {
				tallies = true
				return []accountant.Tally{{Key: accountant.Key{Kind: accountant.KindOwn, Name: "alice"}, At: noon, Decayed: accountant.Recent{CPU: 60}}}
			},
		}
		cfg := config.Default()
		c.set(&cfg)
		if q := Queue(&cfg, from); q != nil || BesideOf(&cfg) != (Beside{}) {
			t.Errorf("%s: under condor the queue is %v, beside %v", c.name, q, BesideOf(&cfg))
		}
		cfg.JobPriorityPolicy = "sge"
		q, isSGE := Queue(&cfg, from).(*sge.Queue)
		if !isSGE || tallies != c.tallies || BesideOf(&cfg) != (Beside{Running: true}) {
			t.Errorf("%s: the queue is %v, tallies asked %v, beside %v", c.name, q, tallies, BesideOf(&cfg))
			continue
		}
		if o := q.Order(waitingOf(t, `Owner = "alice"; JobStatus = 2`)); (o.Tickets != nil) != c.keeps {
			t.Errorf("%s: tickets are %v, told %v", c.name, o.Tickets, c.keeps)
		}
		w := SGEWorld(&cfg, from)
		if w.Now != noon || w.FreeSlots != 1 || (w.Used.Own["alice"] == 60) != c.tallies {
			t.Errorf("%s: the world is %+v", c.name, w)
		}
	}
}

// TestDefaultProject: a job without a project counts for its user's default one.
func TestDefaultProject(t *testing.T) {
	p := configured(t, "[sge.users]\nalice.default_project = 'pa'\nbob.fshare = 3\n").Params
	for text, want := range map[string]string{`Owner = "alice"`: "pa", `Owner = "alice"; Project = "pb"`: "pb", `Owner = "bob"`: "", ``: ""} {
		ad, err := classad.ParseAd("[" + text + "]")
		if err != nil {
			t.Fatal(err)
		}
		if got := credentials(ad, p).Project; got != want {
			t.Errorf("[%s] counts for the project %q, want %q", text, got, want)
		}
	}
}
