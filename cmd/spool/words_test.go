package main

import (
	"math"
	"testing"
	"time"
)

func TestSize(t *testing.T) {
	for _, c := range []struct {
		bytes int64
		want  string
	}{
		{0, "0 bytes"}, {1, "1 byte"}, {1023, "1023 bytes"}, {1024, "1.0 KB"}, {1536, "1.5 KB"},
		{1<<20 - 1, "1.0 MB"}, {8 << 20, "8.0 MB"}, {1 << 30, "1.0 GB"}, {math.MaxInt64, "8388608.0 TB"},
	} {
		if got := size(c.bytes); got != c.want {
			t.Errorf("size(%d) = %q, want %q", c.bytes, got, c.want)
		}
	}
}

func TestSpan(t *testing.T) {
	for _, c := range []struct {
		d    time.Duration
		want string
	}{
		{0, "0.0 ms"}, {1250 * time.Microsecond, "1.2 ms"}, {999 * time.Millisecond, "999.0 ms"}, {90 * time.Second, "90.0 s"},
	} {
		if got := span(c.d); got != c.want {
			t.Errorf("span(%v) = %q, want %q", c.d, got, c.want)
		}
	}
}
