package qstat

import (
	"bytes"
	"fmt"
	"testing"

	"fairspool/cmd/internal/adprint"
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/cmdtest"
	"fairspool/cmd/internal/selection"
	"fairspool/lib/classad"
	"fairspool/lib/report/queue"
	"fairspool/spool"
)

// What is printed in parts reads as if it had been printed in one go.
func TestPrintedInParts(t *testing.T) {
	fill(t)
	cmdtest.Update(t, func(tx *spool.Tx) {
		runs := make([]spool.NewRun, 700)
		for i := range runs {
			ad := classad.New()
			ad.SetString("Args", fmt.Sprint(i))
			runs[i] = spool.NewRun{Count: 1 + i%3, Ad: ad}
		}
		tx.AddCluster(job(t, "erin", ""), runs)
	})
	c := Command()
	c.Run = func(call *cmdline.Call) error {
		s, err := call.Spool()
		if err != nil {
			return err
		}
		return s.View(func(v *spool.View) error {
			procs, _ := selection.All().In(v)
			for _, form := range []string{"long", "json"} {
				var got, want bytes.Buffer
				whole, parts := *call, *call
				whole.Stdout, parts.Stdout = &want, &got
				if err := adprint.Print(&whole, form, ads(runsOf(procs))); err != nil {
					return err
				}
				d := look{display: display{&parts, options{form: form}}, Queue: &queue.Queue{View: v}}
				if err := d.printAds(runsOf(procs)); err != nil {
					return err
				}
				if !bytes.Equal(got.Bytes(), want.Bytes()) {
					t.Errorf("%s in parts has %d bytes, want the %d of one go", form, got.Len(), want.Len())
				}
			}
			return nil
		})
	}
	if status, _, bad := cmdtest.Run(c); status != 0 {
		t.Fatalf("qstat = %d, %s", status, bad)
	}
}
