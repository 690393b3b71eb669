package slots

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/cmd/internal/machine"
	"fairspool/cmd/internal/platform"
	"fairspool/internal/testenv"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

func ad(t *testing.T, text string) *classad.Ad {
	t.Helper()
	a, err := classad.ParseAd(text)
	testenv.OK(t, err)
	return a
}

func TestOverlaid(t *testing.T) {
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	claim := pool.Claim{
		Job: pool.JobID{Cluster: 3, Proc: 1}, Slot: "a", Submitter: "alice@example.org",
		MatchedAt: at(10), StartedAt: at(20), VacateSince: at(30),
	}
	for _, c := range []struct {
		state       pool.ClaimState
		want        string
		wantEntered int64
	}{
		{pool.Matched, "Matched Idle alice@example.org 3.1", 10},
		{pool.RunningClaim, "Claimed Busy alice@example.org 3.1", 20},
		{pool.Vacating, "Preempting Vacating alice@example.org 3.1", 30},
		{pool.Promised, "Unclaimed Idle  ", 5},
	} {
		claim.State = c.state
		slots := []pool.Slot{
			{Name: "a", Ad: ad(t, `[Name = "a"; State = "Unclaimed"; Activity = "Idle"; EnteredCurrentState = 5]`)},
			{Name: "b", Ad: ad(t, `[Name = "b"; State = "Unclaimed"]`)},
		}
		seen := overlaid(&classad.Context{}, slots, []pool.Claim{claim})
		one := seen[0].Ad
		got := text(one, "State") + " " + text(one, "Activity") + " " + text(one, "RemoteUser") + " " + text(one, "JobId")
		if entered, _ := one.EvalInt(&classad.Context{}, "EnteredCurrentState"); got != c.want || entered != c.wantEntered {
			t.Errorf("%v claim: slot = %q since %d, want %q since %d", c.state, got, entered, c.want, c.wantEntered)
		}
		if text(slots[0].Ad, "State") != "Unclaimed" || text(seen[1].Ad, "State") != "Unclaimed" {
			t.Errorf("%v claim: another ad was changed", c.state)
		}
	}
}

func TestChoose(t *testing.T) {
	slots := []pool.Slot{
		{Name: "slot1@a", Ad: ad(t, `[Machine = "a"]`)},
		{Name: "slot2@a", Ad: ad(t, `[Machine = "a"]`)},
		{Name: "b", Ad: ad(t, `[Machine = "b"]`)},
	}
	for _, c := range []struct{ names, want []string }{
		{nil, []string{"slot1@a", "slot2@a", "b"}},
		{[]string{"A"}, []string{"slot1@a", "slot2@a"}},
		{[]string{"b", "slot2@a"}, []string{"slot2@a", "b"}},
		{[]string{"b", "b", "a", "slot1@a"}, []string{"slot1@a", "slot2@a", "b"}},
	} {
		chosen, err := choose(slots, c.names)
		var got []string
		for _, s := range chosen {
			got = append(got, s.Name)
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("choose(%q) = %q, %v, want %q", c.names, got, err, c.want)
		}
	}
	if got, err := choose(slots, []string{"a", "c"}); err == nil {
		t.Errorf("choose of a missing name = %v, want an error", got)
	}
}

func TestNews(t *testing.T) {
	for _, c := range []struct {
		old, ad string
		want    bool
	}{
		{`[Name = "a"; Memory = 5; LastHeardFrom = 1]`, `[Memory = 5; Name = "a"]`, false},
		{`[Name = "a"; Memory = 5]`, `[Name = "a"; Memory = 6]`, true},
		{`[Name = "a"; Memory = 5]`, `[Name = "a"]`, true},
		{`[Name = "a"; Start = x  >  1]`, `[Name = "a"; Start = x > 1]`, false},
		{`[Name = "a"; ClassAdLifetime = 5]`, `[Name = "a"; ClassAdLifetime = 5]`, true},
	} {
		if got := news(ad(t, c.old), ad(t, c.ad)); got != c.want {
			t.Errorf("news(%s, %s) = %v, want %v", c.old, c.ad, got, c.want)
		}
	}
}

func TestOfferOf(t *testing.T) {
	for _, text := range []string{`[Name = "a"; Cpus = 0; SlotWeight = 0.5]`, `[Machine = "a"]`, `[Name = "a"; Cpus = -1 * 2; SlotWeight = Cpus - 5]`} {
		if _, err := offerOf(ad(t, text)); err != nil {
			t.Errorf("offerOf(%s) = %v, want nil", text, err)
		}
	}
	for _, text := range []string{
		`[Name = "a"; Cpus = -1]`, `[Name = "a"; Cpus = "x"]`, `[Name = "a"; SlotWeight = true]`, `[Name = "a"; SlotWeight = undefined]`,
		`[Name = "a"; slotweight = 1000001]`, `[Cpus = 1]`,
	} {
		_, err := offerOf(ad(t, text))
		if err == nil {
			t.Errorf("offerOf(%s): no error", text)
			continue
		}
		cmdtest.Printed(t, "slots advertise ("+text+")", 0, "", err.Error()+"\n")
	}
}

func TestSurplus(t *testing.T) {
	for _, left := range [][]int{{3}, {2, 3}, {2, 3, 4, 7, 9, 10}} {
		cmdtest.Printed(t, fmt.Sprint("slots (", left, " stay)"), 0, "", surplus(left, "a")+"\n")
	}
}

// TestDetectedSlots checks that slots share a machine and no more.
func TestDetectedSlots(t *testing.T) {
	m := machine.Machine{Name: "a", Cpus: 4, MemoryMB: 1001, DiskKB: 999, Arch: "X86_64", System: platform.System{Name: "Debian", Long: "Debian GNU/Linux 12 (bookworm)", Major: 12}}
	var memory, disk int64
	for n := 1; n <= 3; n++ {
		slot := m.Slot(n, 3)
		memory += int64(must(t, slot, pool.AttrMemory))
		disk += int64(must(t, slot, pool.AttrDisk))
		if must(t, slot, "SlotID") != float64(n) || must(t, slot, "TotalSlots") != 3 || must(t, slot, pool.AttrCpus) != 1 {
			t.Errorf("slot %d = %v", n, slot)
		}
		job := ad(t, `[Requirements = TARGET.OpSysAndVer == "Debian12" && TARGET.Memory >= 333]`)
		if !classad.Match(&classad.Context{}, job, slot) {
			t.Errorf("slot %d does not match %v", n, job)
		}
	}
	if memory > 1001 || memory < 990 || disk > 999 || disk < 990 {
		t.Errorf("3 slots have %d MB, %d KB, want nearly all of 1001 and 999", memory, disk)
	}
}

func must(t *testing.T, a *classad.Ad, name string) float64 {
	t.Helper()
	x, ok := a.EvalNumber(&classad.Context{}, name)
	if !ok {
		t.Fatalf("%s of %v: no number", name, a)
	}
	return x
}

// TestOverlaidPieces holds that a partitionable slot shows what is left of it, and
// behind it its dynamic slots, in the order of their names.
func TestOverlaidPieces(t *testing.T) {
	claim := func(proc int, slot string, state pool.ClaimState, takes pool.Resources) pool.Claim {
		return pool.Claim{
			Job: pool.JobID{Cluster: 1, Proc: proc}, Slot: slot, Submitter: "alice@example.org", State: state,
			Piece: pool.Piece{Of: "slot1@a", Takes: takes}, MatchedAt: time.Unix(10, 0),
		}
	}
	slots := []pool.Slot{
		{Name: "slot1@a", Ad: ad(t, `[Name = "slot1@a"; Machine = "a"; PartitionableSlot = true; Cpus = 8; Memory = 4096; Disk = 9; State = "Unclaimed"; Activity = "Idle"]`)},
		{Name: "slot1@b", Ad: ad(t, `[Name = "slot1@b"; Machine = "b"; PartitionableSlot = true; Cpus = 2; Memory = 1024; Disk = 9; State = "Unclaimed"; Activity = "Idle"]`)},
	}
	seen := overlaid(&classad.Context{}, slots, []pool.Claim{
		claim(0, "slot1_10@a", pool.RunningClaim, "Cpus=4 Memory=128"), claim(1, "slot1_2@a", pool.Matched, "Cpus=1 Disk=9 Memory=1024"),
		claim(2, "slot1_3@a", pool.Promised, "Cpus=1"),
	})
	var got []string
	for _, s := range seen {
		if text(s.Ad, "Name") != s.Name {
			t.Errorf("the ad of %s has the name %s", s.Name, text(s.Ad, "Name"))
		}
		got = append(got, strings.TrimSpace(strings.Join([]string{s.Name, text(s.Ad, "State"), number(s.Ad, "Cpus"), number(s.Ad, "Memory"), number(s.Ad, "Disk"), text(s.Ad, "JobId")}, " ")))
	}
	want := "slot1@a Unclaimed 3 2944 0\nslot1_2@a Matched 1 1024 9 1.1\nslot1_10@a Claimed 4 128 0 1.0\nslot1@b Unclaimed 2 1024 9"
	if strings.Join(got, "\n") != want {
		t.Errorf("slots =\n%s, want\n%s", strings.Join(got, "\n"), want)
	}
	if number(slots[0].Ad, "Cpus") != "8" {
		t.Errorf("the slot's own ad was changed: %v", slots[0].Ad)
	}
	for names, want := range map[string]int{"slot1_2@a": 1, "slot1@a": 1, "a": 3, "b": 1} {
		if got, err := choose(seen, []string{names}); len(got) != want || err != nil {
			t.Errorf("choose(%q) = %d slots, %v, want %d", names, len(got), err, want)
		}
	}
}

func TestAmountOf(t *testing.T) {
	for text, want := range map[string]pool.Amount{"GPUs=2": {Name: "GPUs", Of: 2}, "x_1=0.5": {Name: "x_1", Of: 0.5}} {
		if got, err := amountOf(text); got != want || err != nil {
			t.Errorf("amountOf(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "GPUs", "GPUs=", "GPUs=0", "GPUs=-1", "GPUs=x", "=1", "a b=1", "GPUs=NaN", "GPUs=Inf", "GPUs=1e30"} {
		if got, err := amountOf(text); err == nil {
			t.Errorf("amountOf(%q) = %v, want an error", text, got)
		}
	}
}

// TestDivide checks what of a job a partitionable slot takes.
func TestDivide(t *testing.T) {
	m := machine.Machine{Name: "a", Cpus: 4, MemoryMB: 1000, DiskKB: 2000, Arch: "X86_64"}
	slot := m.Slot(1, 1)
	testenv.OK(t, m.Divide(slot, []pool.Amount{{Name: "GPUs", Of: 2}, {Name: "Share", Of: 0.5}}))
	for name, want := range map[string]float64{
		"Cpus": 4, "TotalSlotCpus": 4, "Memory": 1000, "TotalSlotMemory": 1000, "Disk": 2000, "TotalSlotDisk": 2000,
		"GPUs": 2, "TotalSlotGPUs": 2, "Share": 0.5, "SlotID": 1, "TotalSlots": 1,
	} {
		if got := must(t, slot, name); got != want {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
	if got := text(slot, "MachineResources"); got != "Cpus Memory Disk GPUs Share" || text(slot, "SlotType") != "Partitionable" {
		t.Errorf("a %s slot of %q, want a Partitionable one of Cpus Memory Disk GPUs Share", text(slot, "SlotType"), got)
	}
	eval := &classad.Context{}
	if !pool.Partitionable(eval, slot) {
		t.Errorf("%v is not partitionable", slot)
	}
	for job, want := range map[string]bool{
		``: true, `RequestCpus = 4; RequestMemory = 1000; RequestDisk = 2000; RequestGPUs = 2`: true, `RequestShare = 0.5`: true,
		`RequestCpus = 5`: false, `RequestMemory = 1001`: false, `RequestDisk = 2001`: false, `RequestGPUs = 3`: false, `RequestShare = 1`: false,
	} {
		if got := classad.Match(eval, ad(t, "[ Requirements = true; "+job+" ]"), slot); got != want {
			t.Errorf("a job with %q matches: %v, want %v", job, got, want)
		}
	}
	full := pool.Left(eval, slot, []pool.Resources{"Cpus=4"})
	if classad.Match(eval, ad(t, "[ Requirements = true ]"), full) {
		t.Error("a job without requests matches a slot without a core")
	}
	for _, name := range []string{"Cpus", "memory", "Name", "SlotID"} {
		if err := m.Divide(m.Slot(1, 1), []pool.Amount{{Name: name, Of: 1}}); err == nil {
			t.Errorf("divide by %s: no error", name)
		}
	}
}

// TestOverlaidPromises holds that a slot that is being vacated says for whom, as does a
// piece of one and a slot that somebody holds by its own words.
func TestOverlaidPromises(t *testing.T) {
	claim := func(proc int, slot string, state pool.ClaimState, p pool.Piece) pool.Claim {
		return pool.Claim{
			Job: pool.JobID{Cluster: 1, Proc: proc}, Slot: slot, Piece: p, State: state, Submitter: []string{"alice@x", "bob@x"}[proc%2],
			MatchedAt: time.Unix(10, 0), StartedAt: time.Unix(20, 0), VacateSince: time.Unix(30, 0), Rank: float64(proc),
		}
	}
	part := pool.Piece{Of: "p", Takes: "Cpus=1"}
	slots := []pool.Slot{
		{Name: "a", Ad: ad(t, `[Name = "a"; State = "Unclaimed"]`)},
		{Name: "out", Ad: ad(t, `[Name = "out"; State = "Claimed"; Activity = "Busy"; RemoteUser = "carol@y"]`)},
		{Name: "p", Ad: ad(t, `[Name = "p"; PartitionableSlot = true; Cpus = 4; State = "Unclaimed"]`)},
	}
	seen := overlaid(&classad.Context{Now: time.Unix(100, 0)}, slots, []pool.Claim{
		claim(0, "a", pool.Vacating, pool.Piece{}), claim(1, "a", pool.Promised, pool.Piece{}),
		claim(3, "out", pool.Promised, pool.Piece{}),
		claim(4, "p_1", pool.Vacating, part), claim(5, "p_1", pool.Promised, part),
	})
	for i, want := range []string{
		"a: Preempting Vacating alice@x 1.0, for bob@x 1.1",
		"out: Claimed Busy carol@y , for bob@x 1.3",
		"p: Unclaimed   , for  ",
		"p_1: Preempting Vacating alice@x 1.4, for bob@x 1.5",
	} {
		a := seen[i].Ad
		get := func(name string) string { return text(a, name) }
		got := seen[i].Name + ": " + get("State") + " " + get("Activity") + " " + get("RemoteUser") + " " + get("JobId") +
			", for " + get("PreemptingUser") + " " + get("PreemptingJobId")
		if got != want {
			t.Errorf("slot %d = %q, want %q", i, got, want)
		}
	}
	if left := number(seen[2].Ad, pool.AttrCpus); len(seen) != 4 || left != "3" {
		t.Errorf("%d slots, and p has %s cores left, want 4 and 3", len(seen), left)
	}
	if ran := number(seen[0].Ad, pool.AttrTotalJobRunTime); ran != "80" {
		t.Errorf("TotalJobRunTime = %s, want 80", ran)
	}
}
