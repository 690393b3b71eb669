package slots

import (
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/machine"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

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
	if err := m.Divide(slot, []pool.Amount{{Name: "GPUs", Of: 2}, {Name: "Share", Of: 0.5}}); err != nil {
		t.Fatal(err)
	}
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
