package history

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	x, err := time.Parse("2006-01-02 15:04:05", text)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func tierNamed(t *testing.T, name string) Tier {
	t.Helper()
	i := slices.IndexFunc(Tiers(), func(x Tier) bool { return x.Name == name })
	if i < 0 {
		t.Fatalf("no tier %s", name)
	}
	return Tiers()[i]
}

func TestDue(t *testing.T) {
	for _, c := range []struct {
		tier, last, now string
		want            bool
	}{
		{"minute", "2026-11-21 08:00:59", "2026-11-21 08:01:00", true},
		{"minute", "2026-11-21 08:00:00", "2026-11-21 08:00:59", false},
		{"minute", "2026-11-21 08:00:00", "2026-11-21 07:00:00", false}, // back
		{"minutes10", "2026-11-21 08:09:59", "2026-11-21 08:10:00", true},
		{"hour", "2026-11-21 08:00:00", "2026-11-21 08:59:59", false},
		{"hours6", "2026-11-21 05:59:00", "2026-11-21 06:00:00", true},
		{"day", "2026-11-21 23:59:00", "2026-11-22 00:00:00", true},
		{"day", "2026-11-21 00:00:00", "2026-11-21 23:59:59", false},
		{"day", "", "2026-11-21 23:59:59", true},
	} {
		var last time.Time
		if c.last != "" {
			last = at(t, c.last)
		}
		if got := tierNamed(t, c.tier).Due(last, at(t, c.now)); got != c.want {
			t.Errorf("%s: Due(%s, %s) = %v, want %v", c.tier, c.last, c.now, got, c.want)
		}
	}
}

func TestFiles(t *testing.T) {
	now := at(t, "2026-11-21 23:59:59")
	for tier, want := range map[string]string{
		"minute": "minute-2026-11-21", "minutes10": "minutes10-2026-11-21",
		"hour": "hour-2026-11", "hours6": "hours6-2026-11", "day": "day-2026-11",
	} {
		x := tierNamed(t, tier)
		file := x.File(now.In(time.FixedZone("", 9*3600)))
		if file != want {
			t.Errorf("%s: File = %s, want %s", tier, file, want)
		}
		begin, end, ok := x.Period(file)
		if !ok || begin.After(now) || !end.Equal(now.Add(time.Second)) && !strings.HasSuffix(file, "-11") || !end.After(now) {
			t.Errorf("%s: Period(%s) = %v, %v, %v", tier, file, begin, end, ok)
		}
		for _, other := range []string{"names", "minute", "minute-2026-11-41", "minute-2026-11-21.gz", "hour-2026-11-21", "day-2026-1"} {
			if _, _, ok := x.Period(other); ok {
				t.Errorf("%s: Period(%s) takes it for one of its own", tier, other)
			}
		}
	}
}

func TestSurplus(t *testing.T) {
	for _, c := range []struct{ tier, files, now, want string }{
		{"minute", "21", "2026-11-21 08:00:00", ""},
		{"minute", "20 21", "2026-11-21 08:00:00", ""},
		{"minute", "18 20 21", "2026-11-21 08:00:00", "18"},
		{"minute", "20 21 30", "2026-11-30 08:00:00", "20"}, // far ahead
		{"minute", "20 21 30", "2026-11-21 08:00:00", ""},   // and back
		{"minute", "18 19 20 27 28 29 30", "2026-11-21 08:00:00", "18 29 30"},
		{"minute", "", "2026-11-21 08:00:00", ""},
	} {
		tier := tierNamed(t, c.tier)
		full := func(days string) (list []string) {
			for _, d := range strings.Fields(days) {
				list = append(list, tier.Name+"-2026-11-"+d)
			}
			return list
		}
		if got := tier.Surplus(full(c.files), at(t, c.now)); !slices.Equal(got, full(c.want)) {
			t.Errorf("%s: Surplus(%s) at %s = %v, want %s", c.tier, c.files, c.now, got, c.want)
		}
	}
	if got := tierNamed(t, "day").Surplus(make([]string, 1000), at(t, "2026-11-21 08:00:00")); got != nil {
		t.Errorf("day: Surplus = %d files, want none for ever", len(got))
	}
}

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		step time.Duration
		want string
	}{
		{0, "minute"}, {9 * time.Minute, "minute"}, {10 * time.Minute, "minutes10"}, {90 * time.Minute, "hour"},
		{23 * time.Hour, "hours6"}, {24 * time.Hour, "day"}, {1000 * time.Hour, "day"},
	} {
		if got := Choose(c.step)[0].Name; got != c.want {
			t.Errorf("Choose(%v) begins with %s, want %s", c.step, got, c.want)
		}
	}
}
