package spool

import (
	"cmp"
	"fmt"
	"strconv"
)

// keys is how one kind of block is named: how its key stands in a line.
type keys[K cmp.Ordered] struct {
	append func(b []byte, k K) []byte
	parse  func(b []byte) (k K, rest []byte, err error) // rest: what follows the blank behind it
	file   func(first, last K, n int) string            // names the n-th segment of a fold, without its generation
}

// clusterKeys are the numbers of clusters.
var clusterKeys = keys[int]{
	append: func(b []byte, k int) []byte { return strconv.AppendInt(b, int64(k), 10) },
	parse: func(b []byte) (int, []byte, error) {
		k, rest, err := number(b, ' ')
		return k, rest, err
	},
	file: func(first, last, _ int) string { return fmt.Sprintf("%d-%d", first, last) },
}

// slotKeys are the names of slots, quoted. Files are counted, since a name may
// have any characters.
var slotKeys = keys[string]{
	append: strconv.AppendQuote,
	parse: func(b []byte) (string, []byte, error) {
		var r record
		rest, err := r.slot(b)
		return r.Slot, rest, err
	},
	file: func(_, _ string, n int) string { return strconv.Itoa(n) },
}
