package queue

import (
	"fmt"
	"testing"

	"fairspool/lib/classad"
)

// What a foreign ad says must not keep others from being shown.
func TestLifeOfOdd(t *testing.T) {
	for _, c := range []struct{ ad, want string }{
		{`[]`, "0.0 0s 0s "},
		{`[ClusterId = 1; ProcId = "x"; QDate = -5; RemoteWallClockTime = real("NaN"); JobStatus = 3]`, "1.0 0s 0s removed"},
		{`[RemoteWallClockTime = 1.0e300; ExitCode = 1; QDate = 9; JobStartDate = 5]`, "0.0 2562047h47m16.854775807s 0s exit 1"},
		{`[RemoteWallClockTime = -1; ExitBySignal = true; ExitSignal = 11; QDate = 9; EnteredCurrentStatus = 19]`, "0.0 0s 10s signal 11"},
	} {
		ad, err := classad.ParseAd(c.ad)
		if err != nil {
			t.Fatal(err)
		}
		l := lifeOf(&classad.Context{}, ad)
		if got := fmt.Sprintf("%v %v %v %s", l.id, l.ran, l.waited, l.how); got != c.want {
			t.Errorf("lifeOf(%s) = %s, want %s", c.ad, got, c.want)
		}
	}
}
