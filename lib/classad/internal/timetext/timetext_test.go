package timetext

import (
	"testing"
	"time"
)

// TestSpansReadBack holds that what AppendSpan writes is what ParseSpan reads.
func TestSpansReadBack(t *testing.T) {
	for text, seconds := range map[string]float64{
		"00": 0, "07": 7, "01:07": 67, "01:00:00": 3600, "2+00:00:01": 172801, "-01:07": -67, "01:1.5": 61.5,
	} {
		if got := string(AppendSpan(nil, seconds)); got != text {
			t.Errorf("AppendSpan(%v) = %q, want %q", seconds, got, text)
		}
		if got, ok := ParseSpan(text); !ok || got != seconds {
			t.Errorf("ParseSpan(%q) = %v, %v, want %v", text, got, ok, seconds)
		}
	}
}

// TestMomentsReadBack holds that what AppendMoment writes is what ParseMoment reads.
func TestMomentsReadBack(t *testing.T) {
	const text = "2026-11-24T05:30:00+05:30"
	moment := time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC).Unix()
	if got := string(AppendMoment(nil, moment, 19800)); got != text {
		t.Errorf("AppendMoment = %q, want %q", got, text)
	}
	wall, offset, zoned, ok := ParseMoment(text)
	if wall-int64(offset) != moment || offset != 19800 || !zoned || !ok {
		t.Errorf("ParseMoment(%q) = %d, %d, %v, %v, want %d", text, wall, offset, zoned, ok, moment)
	}
}

// TestFormat holds that the conversions are those of C.
func TestFormat(t *testing.T) {
	day := time.Date(2026, 1, 4, 13, 5, 6, 0, time.UTC)
	const format, want = "%F %T %I %l %k|%e %j %u %w %U %W %V %G %C %y %% %Q %", "2026-01-04 13:05:06 01  1 13| 4 004 7 0 01 00 01 2026 20 26 % %Q %"
	if got := Format(format, day); got != want {
		t.Errorf("Format(%q) = %q, want %q", format, got, want)
	}
}
