package accounts

import (
	"testing"
	"time"
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
	v := Table{View: View{At: time.Unix(1795217646, 0).UTC()}}
	for _, c := range []struct {
		ago  time.Duration
		want string
	}{{0, "<now>"}, {-time.Hour, "<now>"}, {time.Second, "  0+00:00"}, {24*time.Hour + 61*time.Minute, "  1+01:01"}, {1000 * 24 * time.Hour, "1000+00:00"}} {
		if got := string(v.ago(nil, v.At.Add(-c.ago))); got != c.want {
			t.Errorf("ago(%v) = %q, want %q", c.ago, got, c.want)
		}
	}
	if got, want := classicName("physics.with.a.long.name@example.org"), "physics.with.a.long.name@exam"; got != want {
		t.Errorf("classicName = %q, want %q", got, want)
	}
}
