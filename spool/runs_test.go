package spool

import (
	"testing"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// What tells procs apart is found wherever an expression hides it.
func TestTellsApart(t *testing.T) {
	t.Parallel()
	ad, err := classad.ParseAd(`[ClusterId = 1; ProcId = 0; Same = ClusterId; Own = ProcId; Hidden = eval("Own"); Chance = random(); L = {1, procid}; Clock = time()]`)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		"Same > 3": false, "Nobody": false, "Clock > 3": false, "TARGET.ProcId": false, `eval("Same")`: false, "true": false,
		"Own": true, "PROCID": true, "MY.ProcId": true, ".ProcId": true, "Hidden": true, "Chance": true, "L[0]": true, "size(L)": true,
		`MY["ProcId"]`: true, `eval("ProcId")`: true, `eval(strcat("Proc", "Id"))`: true, "[a = Own].a": true, "true ? 1 : Own": true,
	} {
		e, err := classad.ParseExpr(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := (Run{Procs: pool.Procs{Cluster: 1, First: 2, Last: 3}, Ad: ad}).TellsApart(e); got != want {
			t.Errorf("TellsApart(%s) = %v, want %v", text, got, want)
		}
		if (Run{Procs: pool.Procs{Cluster: 1, First: 2, Last: 2}, Ad: ad}).TellsApart(e) {
			t.Errorf("TellsApart(%s) of one proc = true, want false", text)
		}
	}
}
