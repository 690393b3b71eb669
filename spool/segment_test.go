package spool

import (
	"fmt"
	"math"
	"testing"
)

// TestIndexOfLargeBlocks holds that a reader takes every block that a fold
// writes, however large, and none that goes beyond the segment.
func TestIndexOfLargeBlocks(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		sizes []int64
		at    int64 // of the index
		ok    bool
	}{
		{[]int64{10, 20}, 30, true},
		{[]int64{3 << 30, 20}, 3<<30 + 20, true},
		{[]int64{10, 20}, 29, false},
		{[]int64{10, math.MaxInt64}, 30, false},
		{[]int64{10, 20}, 31, false},
	} {
		var b []byte
		at := int64(0)
		for i, size := range test.sizes {
			b = entry[int]{key: i + 1, at: at, size: size, owner: unknown, user: unknown}.append(b, clusterKeys)
			at += size
		}
		b = fmt.Appendf(b, "X %d %d ", test.at, len(test.sizes))
		g := &segment[int]{segmentFile: segmentFile[int]{blocks: len(test.sizes), crc: checksum(b)}}
		if err := g.parseIndex(fmt.Appendf(b, "%08x\n", g.crc), test.at, clusterKeys); (err == nil) != test.ok {
			t.Errorf("parseIndex with blocks of %v before byte %d = %v, want it to be right: %v", test.sizes, test.at, err, test.ok)
		}
	}
}
