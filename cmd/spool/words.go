package main

import (
	"fmt"

	"fairspool/lib/plural"
)

// size returns a number of bytes as people say it, in powers of 1024.
func size(bytes int64) string {
	if bytes < 1024 {
		return plural.Count(int(bytes), "byte")
	}
	f, unit := float64(bytes)/1024, 0
	for ; f >= 1023.95 && unit < len(units)-1; unit++ {
		f /= 1024
	}
	return fmt.Sprintf("%.1f %s", f, units[unit])
}

var units = []string{"KB", "MB", "GB", "TB"}
