package pool

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/lib/classad"
)

func ad(t interface{ Fatalf(string, ...any) }, text string) *classad.Ad {
	a, err := classad.ParseAd(text)
	if err != nil {
		t.Fatalf("ParseAd(%q): %v", text, err)
	}
	return a
}

func TestDynamicName(t *testing.T) {
	for _, c := range []struct {
		of   string
		n    int
		want string
	}{
		{"slot1@node", 2, "slot1_2@node"}, {"slot1", 10, "slot1_10"}, {"a@b@c", 1, "a_1@b@c"}, {"@node", 1, "_1@node"},
	} {
		if got := DynamicName(c.of, c.n); got != c.want {
			t.Errorf("DynamicName(%q, %d) = %q, want %q", c.of, c.n, got, c.want)
		}
	}
}

func TestPartitionable(t *testing.T) {
	for text, want := range map[string]bool{
		`[ PartitionableSlot = true ]`: true, `[ PartitionableSlot = Cpus > 1; Cpus = 2 ]`: true,
		`[ PartitionableSlot = false ]`: false, `[ PartitionableSlot = "true" ]`: false, `[ ]`: false,
	} {
		if got := Partitionable(&classad.Context{}, ad(t, text)); got != want {
			t.Errorf("Partitionable(%s) = %v, want %v", text, got, want)
		}
	}
}

func TestLeft(t *testing.T) {
	const slot = `[ Cpus = 8; Memory = 512 * Cpus; Disk = 1000.5; GPUs = 2; Name = "slot1@m"; Busy = true ]`
	for _, c := range []struct {
		pieces []Resources
		want   string
	}{
		{nil, slot},
		{[]Resources{"", "Cpus=x"}, slot},
		{[]Resources{"Cpus=2 Memory=512"}, `[ Cpus = 6; Memory = 3584; Disk = 1000.5; GPUs = 2; Name = "slot1@m"; Busy = true ]`},
		{[]Resources{"Cpus=2 Memory=512", "cpus=3"}, `[ Cpus = 3; Memory = 3584; Disk = 1000.5; GPUs = 2; Name = "slot1@m"; Busy = true ]`},
		{[]Resources{"Cpus=9", "Disk=1000"}, `[ Cpus = 0; Memory = 512 * Cpus; Disk = 0.5; GPUs = 2; Name = "slot1@m"; Busy = true ]`},
		{[]Resources{"Disk=0.5"}, `[ Cpus = 8; Memory = 512 * Cpus; Disk = 1000.0; GPUs = 2; Name = "slot1@m"; Busy = true ]`},
		{[]Resources{"GPUs=0.5"}, `[ Cpus = 8; Memory = 512 * Cpus; Disk = 1000.5; GPUs = 1.5; Name = "slot1@m"; Busy = true ]`},
		{[]Resources{"GPUs=0.9", "GPUs=0.1"}, `[ Cpus = 8; Memory = 512 * Cpus; Disk = 1000.5; GPUs = 1; Name = "slot1@m"; Busy = true ]`},
		{[]Resources{"Busy=1 Licences=2 Name=3"}, slot},
	} {
		a := ad(t, slot)
		got := Left(&classad.Context{}, a, c.pieces).Format(classad.StyleSpool)
		if want := ad(t, c.want).Format(classad.StyleSpool); got != want {
			t.Errorf("Left(%s, %q) = %s, want %s", slot, c.pieces, got, want)
		}
		if again := a.Format(classad.StyleSpool); again != ad(t, slot).Format(classad.StyleSpool) {
			t.Errorf("Left(%s, %q) changed the ad: %s", slot, c.pieces, again)
		}
		if len(c.pieces) == 1 {
			Take(&classad.Context{}, a, c.pieces[0])
			if took := a.Format(classad.StyleSpool); took != got {
				t.Errorf("Take(%s, %q) leaves %s, want %s", slot, c.pieces, took, got)
			}
		}
	}
}

// TestLeftLaw holds that it does not matter in which order pieces are taken, nor
// whether at once or one by one, and that what fits leaves room for what is left.
func TestLeftLaw(t *testing.T) {
	c := &classad.Context{}
	rapid.Check(t, func(t *rapid.T) {
		slot := ad(t, `[ Cpus = 16; Memory = 8192; GPUs = 4.0 ]`)
		pieces := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Resources {
			return ResourcesOf([]Amount{
				{"Cpus", float64(rapid.IntRange(0, 8).Draw(t, "cpus"))}, {"Memory", 128 * float64(rapid.IntRange(0, 32).Draw(t, "memory"))},
				{"GPUs", float64(rapid.IntRange(0, 20).Draw(t, "gpus")) / 10},
			})
		}), 0, 5).Draw(t, "pieces")
		want := slot
		for _, p := range pieces {
			before := want
			want = Left(c, want, []Resources{p})
			amounts, _ := p.Amounts()
			for _, a := range amounts {
				had, _ := before.EvalNumber(c, a.Name)
				has, _ := want.EvalNumber(c, a.Name)
				if Fits(c, before, p) && tidy(had-a.Of) != has || !Fits(c, before, p) && has > had {
					t.Fatalf("%v of %s leaves %v of %v", a.Of, a.Name, has, had)
				}
			}
		}
		got := Left(c, slot, rapid.Permutation(pieces).Draw(t, "order"))
		if got.Format(classad.StyleSpool) != want.Format(classad.StyleSpool) {
			t.Fatalf("Left of %q = %v, one by one %v", pieces, got, want)
		}
	})
}

func TestFits(t *testing.T) {
	slot := ad(t, `[ Cpus = 4; Memory = 512; GPUs = 0; Model = "x"; Odd = real("NaN") ]`)
	for takes, want := range map[Resources]bool{
		"": true, "Cpus=4 Memory=512": true, "cpus=4.5": false, "Cpus=5": false, "GPUs=1": false, "Model=1": false, "Licences=1": false,
		"Cpus": false, "Odd=1": false,
	} {
		if got := Fits(&classad.Context{}, slot, takes); got != want {
			t.Errorf("Fits(%v, %q) = %v, want %v", slot, takes, got, want)
		}
	}
}

func TestDynamicAd(t *testing.T) {
	const slot = `[ Name = "slot1@m"; PartitionableSlot = true; SlotType = "Partitionable"; SlotID = 1; Cpus = 8; Memory = 4096.0; Disk = 1000;
		GPUs = 2; FPGAs = 3; Mips = 7; TotalSlotCpus = 8; TotalCpus = 8; MachineResources = "Cpus Memory Disk GPUs Name2"; Machine = "m" ]`
	const want = `[ Name = "slot1_2@m"; PartitionableSlot = false; DynamicSlot = true; SlotType = "Dynamic"; SlotID = 1; ParentSlotId = 1; Cpus = 2; Memory = 512.0; Disk = 0;
		GPUs = 0; FPGAs = 1; Mips = 7; TotalSlotCpus = 2; TotalCpus = 8; MachineResources = "Cpus Memory Disk GPUs Name2"; Machine = "m" ]`
	a := ad(t, slot)
	got := DynamicAd(a, DynamicName("slot1@m", 2), "Cpus=2 FPGAs=1 Memory=512").Format(classad.StyleSpool)
	if w := ad(t, want).Format(classad.StyleSpool); got != w {
		t.Errorf("DynamicAd(%s) =\n%s, want\n%s", slot, got, w)
	}
	if a.Format(classad.StyleSpool) != ad(t, slot).Format(classad.StyleSpool) {
		t.Errorf("DynamicAd changed the partitionable slot's ad: %v", a)
	}
}

func TestDivisible(t *testing.T) {
	for text, want := range map[string][]string{
		`[ ]`:                   nil,
		`[ Cpus = 1; GPUs = 2]`: {"Cpus"},
		`[ cpus = 1; Memory = 2; MachineResources = "Cpus gpus GPUs Disk 1x"; GPUs = 2 ]`: {"Cpus", "Memory", "gpus"},
	} {
		if got := Divisible(ad(t, text)); !slices.Equal(got, want) {
			t.Errorf("Divisible(%s) = %q, want %q", text, got, want)
		}
	}
}

func TestOverlay(t *testing.T) {
	const slot = `[ Name = "a"; Cpus = 2; State = "Unclaimed"; Activity = "Idle"; EnteredCurrentState = 5 ]`
	claim := Claim{
		Job: JobID{3, 1}, Slot: "a", Submitter: "alice@x", Rank: 2.5,
		MatchedAt: time.Unix(10, 0), StartedAt: time.Unix(20, 0), VacateSince: time.Unix(30, 0),
	}
	const of = `RemoteUser = "alice@x"; RemoteOwner = "alice@x"; JobId = "3.1"; CurrentRank = 2.5`
	for _, c := range []struct {
		state ClaimState
		want  string
	}{
		{Matched, `[ Name = "a"; Cpus = 2; State = "Matched"; Activity = "Idle"; EnteredCurrentState = 10; ` + of + ` ]`},
		{RunningClaim, `[ Name = "a"; Cpus = 2; State = "Claimed"; Activity = "Busy"; EnteredCurrentState = 20; ` + of + `; JobStart = 20; TotalJobRunTime = 80 ]`},
		{Vacating, `[ Name = "a"; Cpus = 2; State = "Preempting"; Activity = "Vacating"; EnteredCurrentState = 30; ` + of + `; JobStart = 20; TotalJobRunTime = 80 ]`},
		{Promised, `[ Name = "a"; Cpus = 2; State = "Unclaimed"; Activity = "Idle"; EnteredCurrentState = 5;
			PreemptingUser = "alice@x"; PreemptingOwner = "alice@x"; PreemptingJobId = "3.1"; PreemptingRank = 2.5 ]`},
	} {
		k, a := claim, ad(t, slot)
		if k.State = c.state; c.state == Matched || c.state == Promised {
			k.StartedAt = time.Time{}
		}
		got := Overlay(a, k, time.Unix(100, 0)).Format(classad.StyleSpool)
		if want := ad(t, c.want).Format(classad.StyleSpool); got != want {
			t.Errorf("Overlay(%s, %v) = %s, want %s", slot, c.state, got, want)
		}
		if again := a.Format(classad.StyleSpool); again != ad(t, slot).Format(classad.StyleSpool) {
			t.Errorf("Overlay(%s, %v) changed the ad: %s", slot, c.state, again)
		}
	}
	claim.State = RunningClaim
	if ran, _ := Overlay(ad(t, slot), claim, time.Unix(15, 0)).EvalInt(&classad.Context{}, AttrTotalJobRunTime); ran != 0 {
		t.Errorf("TotalJobRunTime before the start = %d, want 0", ran)
	}
}
