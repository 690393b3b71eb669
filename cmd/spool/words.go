package main

import (
	"fmt"
	"strings"
)

// counted returns a number with what is counted: "1 job", "2 jobs". things is
// the plural, which the singular is without its s, or with y for its ies.
func counted(n int, things string) string {
	if n == 1 {
		if y, ok := strings.CutSuffix(things, "ies"); ok {
			return "1 " + y + "y"
		}
		things = strings.TrimSuffix(things, "s")
	}
	return fmt.Sprintf("%d %s", n, things)
}

// size returns a number of bytes as people say it, in powers of 1024.
func size(bytes int64) string {
	if bytes < 1024 {
		return counted(int(bytes), "bytes")
	}
	f, unit := float64(bytes)/1024, 0
	for ; f >= 1023.95 && unit < len(units)-1; unit++ {
		f /= 1024
	}
	return fmt.Sprintf("%.1f %s", f, units[unit])
}

var units = []string{"KB", "MB", "GB", "TB"}
