package desk

import (
	"testing"
	"time"

	"fairspool/lib/accountant"
)

func TestEnded(t *testing.T) {
	t.Parallel()
	booted := time.Unix(1795217646, 0)
	now := accountant.Reading{Now: booted.Add(time.Hour), Clock: accountant.Clock{Boot: "b", Offset: booted.Sub(time.Unix(0, 0))}}
	for _, c := range []struct {
		name   string
		now    accountant.Reading
		signed time.Time
		want   time.Time
	}{
		{"before the boot", now, booted.Add(-time.Hour), booted.Add(-time.Hour)},
		{"since the boot", now, booted.Add(time.Minute), now.Now},
		{"by a clock that was ahead", now, booted.Add(time.Hour * 2), now.Now},
		{"not to be told", now, time.Time{}, now.Now},
		{"a time of the user's own", accountant.Reading{Now: now.Now}, booted.Add(-time.Hour), now.Now},
	} {
		if got := ended(c.now, c.signed); !got.Equal(c.want) {
			t.Errorf("%s: ended at %v, want %v", c.name, got, c.want)
		}
	}
}
