package chart

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/internal/testenv"
	"fairspool/lib/history"
)

func labels(ticks []tick) string {
	var all []string
	for _, t := range ticks {
		all = append(all, strings.ReplaceAll(t.label, "\n", "/"))
	}
	return strings.Join(all, " | ")
}

func TestTimeTicks(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	testenv.OK(t, err)
	for _, x := range []struct {
		name     string
		from, to string
		zone     *time.Location
		want     string
	}{
		{"seconds", "2026-11-14 12:00:00", "2026-11-14 12:00:10", time.UTC,
			"12:00:00/14 Nov | 12:00:02 | 12:00:04 | 12:00:06 | 12:00:08 | 12:00:10"},
		{"five minutes", "2026-11-14 12:00:30", "2026-11-14 12:05:30", time.UTC,
			"12:01/14 Nov | 12:02 | 12:03 | 12:04 | 12:05"},
		{"over midnight", "2026-11-14 21:10:00", "2026-11-15 03:00:00", time.UTC,
			"22:00/14 Nov | 23:00 | 00:00/15 Nov | 01:00 | 02:00 | 03:00"},
		// At two the clock is set to three.
		{"spring", "2026-03-29 00:00:00", "2026-03-29 06:00:00", berlin,
			"00:00/29 Mar | 01:00 | 03:00 | 04:00 | 05:00 | 06:00"},
		{"summer time's end", "2026-10-24 00:00:00", "2026-10-27 00:00:00", berlin,
			"00:00/24 Oct | 12:00 | 00:00/25 Oct | 12:00 | 00:00/26 Oct | 12:00 | 00:00/27 Oct"},
		{"a week", "2026-11-14 12:00:00", "2026-11-21 12:00:00", berlin,
			"15 Nov/2026 | 16 Nov | 17 Nov | 18 Nov | 19 Nov | 20 Nov | 21 Nov"},
		{"Mondays", "2026-11-01 00:00:00", "2026-12-20 00:00:00", time.UTC,
			"2 Nov/2026 | 9 Nov | 16 Nov | 23 Nov | 30 Nov | 7 Dec | 14 Dec"},
		{"half a year", "2026-09-14 12:00:00", "2027-03-14 12:00:00", time.UTC,
			"Oct/2026 | Nov | Dec | Jan/2027 | Feb | Mar"},
		{"five years", "2026-11-14 12:00:00", "2031-11-14 12:00:00", time.UTC, "2027 | 2028 | 2029 | 2030 | 2031"},
	} {
		s := span{read(t, x.from, x.zone), read(t, x.to, x.zone)}
		if got := labels(timeTicks(s, whole.labels, x.zone)); got != x.want {
			t.Errorf("%s: timeTicks = %s, want %s", x.name, got, x.want)
		}
	}
}

func read(t *testing.T, text string, zone *time.Location) float64 {
	t.Helper()
	at, err := time.ParseInLocation(time.DateTime, text, zone)
	testenv.OK(t, err)
	return seconds(at)
}

// TestTimeTicksLaws holds for every range: there are ticks, ascending, within
// the range, and not too many.
func TestTimeTicksLaws(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	testenv.OK(t, err)
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.Float64Range(0, 4e9).Draw(t, "from")
		s := span{from, from + math.Pow(10, rapid.Float64Range(0.8, 10).Draw(t, "digits"))}
		zone := rapid.SampledFrom([]*time.Location{time.UTC, berlin}).Draw(t, "zone")
		ticks := timeTicks(s, whole.labels, zone)
		if len(ticks) < 2 || len(ticks) > whole.labels+2 {
			t.Fatalf("timeTicks(%v) = %s, want 2 to %d of them", s, labels(ticks), whole.labels+2)
		}
		for i, x := range ticks {
			if x.at < s.from || x.at > s.to || i > 0 && x.at <= ticks[i-1].at {
				t.Fatalf("timeTicks(%v) = %v, want them ascending and within", s, ticks)
			}
		}
	})
}

func TestScales(t *testing.T) {
	for _, x := range []struct {
		name   string
		scale  scale
		labels string
	}{
		{"amounts", fromZero(3, 95, 6), "0 | 20 | 40 | 60 | 80"},
		{"nothing", fromZero(0, 0, 3), "0 | 0.5 | 1"},
		{"millions", fromZero(0, 3e6, 3), "0 | 1e6 | 2e6 | 3e6"},
		{"one priority", decades(math.Log10(0.5), math.Log10(0.5), 6), "0.3 | 0.4 | 0.5 | 0.7"},
		{"one decade", decades(0, 1, 6), "1 | 2 | 5 | 10"},
		{"three decades", decades(0, 3, 6), "1 | 10 | 100 | 1000"},
		{"nice users", decades(math.Log10(0.5), math.Log10(5e11), 6), "1 | 1000 | 1e6 | 1e9 | 1e12"},
	} {
		if got := labels(x.scale.ticks); got != x.labels {
			t.Errorf("%s: ticks %s, want %s", x.name, got, x.labels)
		}
	}
}

// TestScaleLaws holds that all values are within a scale, and its ticks.
func TestScaleLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.Float64Range(-300, 300).Draw(t, "lo")
		hi := lo + rapid.Float64Range(0, 300).Draw(t, "up")
		n := rapid.IntRange(2, 8).Draw(t, "n")
		holds := func(name string, s scale, lo, hi float64) {
			if s.lo > lo || s.hi < hi || s.lo >= s.hi {
				t.Fatalf("%s(%g, %g) = %g to %g, want all within", name, lo, hi, s.lo, s.hi)
			}
			if len(s.ticks) < 2 || len(s.ticks) > 3*n+3 {
				t.Fatalf("%s(%g, %g, %d): %d ticks: %s", name, lo, hi, n, len(s.ticks), labels(s.ticks))
			}
		}
		holds("decades", decades(lo, hi, n), lo, hi)
		holds("fromZero", fromZero(0, hi-lo, n), 0, hi-lo)
	})
}

// TestThin holds that few points stay as they are, and that thinning many keeps the mean
// over time and the extremes.
func TestThin(t *testing.T) {
	if got := thin(line{points: waves("a@x", 480, time.Minute, 4, 1).Points}, inUse(), span{0, 1}); len(got.XYs) != 480 || got.low != nil {
		t.Errorf("thin: %d of 480 points, with a band: %v; want all and none", len(got.XYs), got.low != nil)
	}
	l := line{points: waves("a@x", 5000, time.Minute, 4, 1).Points}
	l.points[1234].InUse = 77
	l.points[2345].InUse = -7
	s := together([]line{l})
	got := thin(l, inUse(), s)
	if len(got.XYs) != slicesOfTime {
		t.Errorf("thin: %d points, want %d", len(got.XYs), slicesOfTime)
	}
	sum := 0.0
	for i, p := range got.XYs {
		since := s.from
		if i > 0 {
			since = got.XYs[i-1].X
		}
		sum += p.Y * (p.X - since)
	}
	if want := history.Used(l.points); math.Abs(sum/want-1) > 1e-9 {
		t.Errorf("thin: %g weight seconds under the line, want %g", sum, want)
	}
	if lo, hi := slices.Min(got.low), slices.Max(got.high); lo != -7 || hi != 77 {
		t.Errorf("thin: the band is from %g to %g, want -7 to 77", lo, hi)
	}
}

func TestPickByUsage(t *testing.T) {
	s := everybody(4)
	s[1].Points = slices.Repeat(s[1].Points[:1], 3) // no time passes
	lines, rest := pick(append(s, history.Series{Name: "empty@x"}), 3)
	var names []string
	for _, l := range lines {
		names = append(names, l.name)
	}
	if got := strings.Join(names, " "); got != "user03@example.org user02@example.org user00@example.org" || rest.String() != "and 1 more with less usage" {
		t.Errorf("pick = %s %v, want users 3, 2, 0 and 1 more with less usage", got, rest)
	}
	same := slices.Repeat(everybody(1), 5)
	if _, rest := pick(same, 3); rest.String() != "and 2 more" {
		t.Errorf("pick of five who used the same = %v, want: and 2 more", rest)
	}
}
