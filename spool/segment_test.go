package spool

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"fairspool/internal/testenv"
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

// TestBlocksAreReadAhead holds that a reader returns the blocks that it is asked for, in whatever order, and has no more memory than for the
// largest and what it reads ahead.
func TestBlocksAreReadAhead(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, t.TempDir())
	w := segmentWriter[int]{files: s.files, dir: s.path("jobs"), generation: 9, keys: clusterKeys}
	block := func(i, size int) []byte { return append(bytes.Repeat([]byte{byte('a' + i)}, size-1), '\n') }
	sizes := []int{1, readAhead - 1, 1, readAhead, 3, readAhead + 1, 5, 2 * readAhead, 10, readAhead / 2, readAhead / 2, readAhead / 2, 2}
	for i, size := range sizes {
		testenv.OK(t, w.add(entry[int]{key: i + 1, owner: unknown, user: unknown}, block(i, size)))
	}
	testenv.OK(t, w.flush())
	g, err := readIndex(s.files, w.dir, w.done[0], clusterKeys)
	testenv.OK(t, err)
	last := len(sizes) - 1
	for name, place := range map[string]func(i int) int{
		"in order": func(i int) int { return i }, "every other": func(i int) int { return min(2*i, last) },
		"backwards": func(i int) int { return last - i }, "twice": func(i int) int { return i / 2 }, "in and out": func(i int) int { return i * 5 % len(sizes) },
	} {
		for _, wanted := range []int64{0, g.bytes} {
			var buffer []byte
			r, err := g.reader(s.files, wanted, &buffer)
			testenv.OK(t, err)
			for i := range sizes {
				at := place(i)
				got, err := r.block(&g.entries[at])
				if want := block(at, sizes[at]); err != nil || !bytes.Equal(got, want) {
					t.Fatalf("%s, %d bytes wanted: block %d has %d bytes, %v, want %d", name, wanted, at, len(got), err, len(want))
				}
			}
			if most := 2*readAhead + readAhead/4; cap(buffer) > most {
				t.Errorf("%s, %d bytes wanted: a buffer of %d bytes, want at most %d", name, wanted, cap(buffer), most)
			}
			testenv.OK(t, r.Close())
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
