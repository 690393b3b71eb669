package userprio

import (
	"fmt"
	"io"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/cmdtest"
	"fairspool/lib/accountant"
	"fairspool/lib/report/accounts"
)

// BenchmarkDisplay is everything behind the reading of the spool, for 10,000
// submitters.
func BenchmarkDisplay(b *testing.B) {
	now := time.Unix(cmdtest.Now, 0).UTC()
	p := accountant.Params{HalfLife: 24 * time.Hour, DefaultFactor: 1}
	records := make([]accountant.Record, 10_000)
	for i := range records {
		back := time.Duration(i) * time.Second
		records[i] = accountant.Record{Name: fmt.Sprintf("user%05d@example.org", i), Priority: float64(i*7919%10_007) / 3, At: now.Add(-back),
			HalfLife: p.HalfLife, Begin: now.Add(-2 * back), Last: now.Add(-back)}
	}
	for _, args := range [][]string{{"-allusers"}, {"-allusers", "-all"}, {"-allusers", "-json"}, {"-allusers", "-long"}, {"-allusers", "-classic"}} {
		b.Run(args[len(args)-1], func(b *testing.B) {
			c := cmdline.Command{Name: "userprio", Flags: flags(), Run: func(c *cmdline.Call) error {
				o, err := optionsOf(c)
				if err != nil {
					return err
				}
				s, err := o.listed(c.Now)
				if err != nil {
					return err
				}
				for b.Loop() {
					if err := display(c, o, s, accounts.ViewOf(records, now, p, nil)); err != nil {
						return err
					}
				}
				return nil
			}}
			b.Setenv("FAIRSPOOL_CONFIG", "/dev/null")
			if status := cmdline.Execute(c, args, nil, io.Discard, io.Discard); status != 0 {
				b.Errorf("userprio %v = %d", args, status)
			}
		})
	}
}
