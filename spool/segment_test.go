package spool

import (
	"bytes"
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
		g := &segment[int]{segmentFile: segmentFile[int]{blocks: len(test.sizes), crc: checksum(b)}, keys: clusterKeys, at: test.at}
		g.index = b[:bytes.LastIndexByte(b, '\n')+1]
		if err := g.parseIndex(); (err == nil) != test.ok {
			t.Errorf("parseIndex with blocks of %v before byte %d = %v, want it to be right: %v", test.sizes, test.at, err, test.ok)
		}
	}
}

// TestFindInIndex holds that a key is found in the lines of an index as among its entries.
func TestFindInIndex(t *testing.T) {
	t.Parallel()
	for n := range 9 {
		lines, parsed := &segment[int]{keys: clusterKeys, at: 1000}, &segment[int]{keys: clusterKeys, entries: []entry[int]{}}
		for i := range n {
			e := entry[int]{key: 7 + 3*i*i, at: int64(10 * i), size: 10, owner: unknown, user: unknown}
			lines.index, parsed.entries = e.append(lines.index, clusterKeys), append(parsed.entries, e)
		}
		for k := range 220 {
			got, err := lines.find(k)
			want, _ := parsed.find(k)
			if err != nil || (got == nil) != (want == nil) || got != nil && *got != *want {
				t.Errorf("find(%d) among %d lines = %v, %v, want %v", k, n, got, err, want)
			}
		}
	}

}
