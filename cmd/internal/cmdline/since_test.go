package cmdline

import (
	"strings"
	"testing"
	"time"
)

func TestParseSince(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct{ text, want string }{
		{"1d", "2026-11-20T12:00:00Z"},
		{"2h", "2026-11-21T10:00:00Z"},
		{"90m", "2026-11-21T10:30:00Z"},
		{"1.5h", "2026-11-21T10:30:00Z"},
		{"30s", "2026-11-21T11:59:30Z"},
		{"1w", "2026-11-14T12:00:00Z"},
		{"0s", "2026-11-21T12:00:00Z"},
		{"2026-11-20", "2026-11-20T00:00:00Z"},
		{"1795000000", "2026-11-18T11:06:40Z"},
		{"2026-11-21T08:00:00+01:00", "2026-11-21T07:00:00Z"},
	} {
		got, err := ParseSince(c.text, now)
		if err != nil || got.UTC().Format(time.RFC3339) != c.want {
			t.Errorf("ParseSince(%q) = %v, %v, want %s", c.text, got, err, c.want)
		}
	}
	for _, text := range []string{"", "d", "-1d", "1y", "NaNd", "Infd", "1e300s", "101w52", "40000d", "2026-11-31", "1969-12-31", "tomorrow", "-5"} {
		if got, err := ParseSince(text, now); err == nil {
			t.Errorf("ParseSince(%q) = %v, want an error", text, got)
		} else if !strings.Contains(err.Error(), ", or so long ago, like 90m, 2h or 1d") {
			t.Errorf("ParseSince(%q) = %v, want all forms", text, err)
		}
	}
}
