package userprio

import (
	"fmt"
	"io"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/cmdtest"
	"fairspool/lib/accountant"
)

// Cells that do not fit are written shorter, as in HTCondor.
func TestCells(t *testing.T) {
	for _, c := range []struct {
		x             float64
		places, width int
		want          string
	}{
		{1000, 2, 9, "1000.00"},
		{999999.99, 2, 9, "999999.99"},
		{1e6, 2, 9, "1e+06"},
		{5e9, 2, 12, "5e+09"},
		{123456789.12, 2, 12, "123456789.12"},
		{1234567890.12, 2, 12, "1.23457e+09"},
		{3.4e38, 2, 9, "3.4e+38"},
		{1e7, 0, 6, "1e+07"},
		{2.5, 0, 6, "2"},
	} {
		if got := string(decimals(nil, c.x, c.places, c.width)); got != c.want {
			t.Errorf("decimals(%v, %d, %d) = %q, want %q", c.x, c.places, c.width, got, c.want)
		}
	}
	v := table{view: view{at: time.Unix(cmdtest.Now, 0).UTC()}}
	for _, c := range []struct {
		ago  time.Duration
		want string
	}{{0, "<now>"}, {-time.Hour, "<now>"}, {time.Second, "  0+00:00"}, {24*time.Hour + 61*time.Minute, "  1+01:01"}, {1000 * 24 * time.Hour, "1000+00:00"}} {
		if got := string(v.ago(nil, v.at.Add(-c.ago))); got != c.want {
			t.Errorf("ago(%v) = %q, want %q", c.ago, got, c.want)
		}
	}
}

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
				s, err := selection(c)
				if err != nil {
					return err
				}
				for b.Loop() {
					if err := display(c, s, viewOf(records, now, p, nil)); err != nil {
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
