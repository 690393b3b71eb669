package lifecycle

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// TestEnginePilots holds what becomes of the pilots of a batch engine when it is asked, looks, and has them no more.
func TestEnginePilots(t *testing.T) {
	b := newBench(t)
	b.update(func(tx *spool.Tx) error {
		for range 4 {
			AskEngine(tx, "hpc", "alice", pool.HashToken("x"), noon)
		}
		return nil
	})
	is := func(want string) {
		t.Helper()
		var got []string
		b.view(func(v *spool.View) {
			for _, p := range spool.Pilots.All(v) {
				got = append(got, strings.TrimSpace(fmt.Sprintf("%s %v %s %s", p.Machine, p.State, p.Ref, p.Says)))
			}
		})
		if text := strings.Join(got, ", "); text != want {
			t.Errorf("the pilots are %s, want %s", text, want)
		}
	}
	is("hpc-1 Asked, hpc-2 Asked, hpc-3 Asked, hpc-4 Asked")
	b.update(func(tx *spool.Tx) error {
		Sight(tx, 1, "17", "RUNNING")
		Sight(tx, 2, "18", "PENDING (Resources)")
		Sight(tx, 9, "19", "RUNNING")
		_, err := Greet(tx, 1, "a", -1, time.Minute, noon)
		return err
	})
	is("hpc-1 Live 17 RUNNING, hpc-2 Asked 18 PENDING (Resources), hpc-3 Asked, hpc-4 Asked")
	b.view(func(v *spool.View) {
		asked := AskedPilotsOf(v)
		want := "1 pilot of engine hpc is asked for, since " + noon.Local().Format(time.DateTime) + ": PENDING (Resources)"
		if len(asked) != 1 || asked[0].String() != want || !asked[0].Admits("alice") || asked[0].Admits("bob") {
			t.Errorf("asked for are %v, want %s", asked, want)
		}
	})
	b.update(func(tx *spool.Tx) error {
		for _, id := range []int{1, 2, 3, 9} {
			Lose(tx, id, "it is over", noon.Add(time.Hour), params)
		}
		Sight(tx, 2, "18", "RUNNING")
		return nil
	})
	is("hpc-1 Gone 17 RUNNING, hpc-2 Void 18 PENDING (Resources), hpc-3 Void, hpc-4 Asked")
	b.view(func(v *spool.View) {
		if missed := MissedPilotsOf(v); len(missed) > 0 {
			t.Errorf("while the last is waited for, %v are missed", missed)
		}
	})
	b.update(func(tx *spool.Tx) error {
		_, err := Greet(tx, 2, "b", -1, time.Minute, noon)
		if err == nil {
			t.Error("a pilot that is Void is greeted")
		}
		Lose(tx, 4, "it is over", noon.Add(2*time.Hour), params)
		ForgetPilots(tx, "lab", noon.Add(3*time.Hour))
		return nil
	})
	is("hpc-1 Gone 17 RUNNING, hpc-2 Void 18 PENDING (Resources), hpc-3 Void, hpc-4 Void")
	b.view(func(v *spool.View) {
		want := "engine hpc gave no pilot, " + noon.Add(2*time.Hour).Local().Format(time.DateTime) + ": it is over"
		if missed := MissedPilotsOf(v); len(missed) != 1 || missed[0].String() != want {
			t.Errorf("missed are %v, want %s", missed, want)
		}
	})
	b.update(func(tx *spool.Tx) error {
		ForgetPilots(tx, "hpc", noon.Add(3*time.Hour))
		AskEngine(tx, "hpc", "", pool.HashToken("x"), noon)
		return nil
	})
	is("hpc-4 Void, hpc-5 Asked")
}

// TestStays holds what keeps a job from the slots of another pool.
func TestStays(t *testing.T) {
	e := config.Engine{Kind: config.KindPool, Cpus: 2, MemoryMB: 1000}
	for _, c := range []struct{ ad, domain, says string }{
		{"[RequestCpus = 2; RequestMemory = 1000]", "", ""},
		{"[Flock = true]", "", ""},
		{"[Flock = false]", "", "Flock is false"},
		{`[ShouldTransferFiles = "NO"]`, "", "its files do not travel (should_transfer_files = no)"},
		{`[ShouldTransferFiles = "NO"]`, "here", ""},
		{`[ShouldTransferFiles = "IF_NEEDED"]`, "", ""},
		{"[RequestCpus = 3]", "", "PILOT has 2 cores, of 3 requested"},
		{"[RequestMemory = 1001]", "", "PILOT has 1000 MB of memory, of 1001 requested"},
	} {
		ad, err := classad.ParseAd(c.ad)
		if err != nil {
			t.Fatal(err)
		}
		e.FileSystemDomain = c.domain
		if got := Stays(ad, e); got != c.says {
			t.Errorf("%s stays, as %q, want %q", c.ad, got, c.says)
		}
	}
}
