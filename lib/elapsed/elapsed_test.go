package elapsed

import (
	"math"
	"testing"
)

func TestDays(t *testing.T) {
	for seconds, want := range map[int64]string{
		0: "0+00:00:00", 303: "0+00:05:03", 93784: "1+02:03:04", 12345678901: "142889+19:15:01", math.MaxInt64: "106751991167300+15:30:07",
	} {
		if got := Days(seconds); got != want {
			t.Errorf("Days(%d) = %s, want %s", seconds, got, want)
		}
	}
	if got, want := string(AppendDays([]byte("cpu="), 93784, ':')), "cpu=1:02:03:04"; got != want {
		t.Errorf("AppendDays = %s, want %s", got, want)
	}
}

func TestShort(t *testing.T) {
	for _, c := range []struct {
		seconds int64
		want    [3]string // in at least 1, 2 and 3 fields
	}{
		{0, [3]string{"0", "0:00", "0:00:00"}},
		{59, [3]string{"59", "0:59", "0:00:59"}},
		{60, [3]string{"1:00", "1:00", "0:01:00"}},
		{303, [3]string{"5:03", "5:03", "0:05:03"}},
		{3600, [3]string{"1:00:00", "1:00:00", "1:00:00"}},
		{86399, [3]string{"23:59:59", "23:59:59", "23:59:59"}},
		{86400, [3]string{"1+00:00:00", "1+00:00:00", "1+00:00:00"}},
	} {
		for i, want := range c.want {
			if got := Short(c.seconds, i+1); got != want {
				t.Errorf("Short(%d, %d) = %s, want %s", c.seconds, i+1, got, want)
			}
		}
	}
}

func TestSeconds(t *testing.T) {
	for text, want := range map[string]struct {
		sum    float64
		fields int
		ok     bool
	}{
		"90": {90, 1, true}, "1:30": {5400, 2, true}, "0:90:5": {5405, 3, true}, "1:02:03:04": {93784, 4, true},
		"1:2:3:4:5": {}, "": {}, "::": {}, "-1:0:0": {}, "1.5": {},
	} {
		if sum, fields, ok := Seconds(text); sum != want.sum || fields != want.fields || ok != want.ok {
			t.Errorf("Seconds(%q) = %v, %d, %v, want %v", text, sum, fields, ok, want)
		}
	}
}
