package slots

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/cmd/internal/machine"
	"fairspool/cmd/internal/platform"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

func ad(t *testing.T, text string) *classad.Ad {
	t.Helper()
	a, err := classad.ParseAd(text)
	if err != nil {
		t.Fatal(err)
	}
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
