// Package radix answers: in what order do things stand by whole numbers?
//
// Ordered sorts by digits, not by comparisons: a million of them by a few keys takes some
// hundredths of a second. Ascending and Float make keys of signed and of floating-point numbers.
// The package is pure and has no state.
package radix

import (
	"math"
	"math/bits"
)

// Ascending returns an unsigned number with the order of n. Its complement has the
// opposite order.
func Ascending(n int64) uint64 { return uint64(n) ^ 1<<63 }

// Float returns an unsigned number with the order of x; -0 comes before 0, and NaN beyond
// the infinities. Its complement has the opposite order.
func Float(x float64) uint64 {
	b := math.Float64bits(x)
	if b>>63 == 1 {
		return ^b
	}
	return b | 1<<63
}

// Item is one of those that Ordered sorts: At says which one.
type Item struct {
	word uint64 // what of its keys it is sorted by
	At   int
}

// digit is how many bits a pass of sorted sorts by.
const digit = 11

// Ordered returns the numbers from 0 to n-1 in the order of their keys, the first key first;
// equal ones by number. Each key is called several times with each number, and has to return
// the same. Keys with close values have few digits, and keys that fit into one word together
// are sorted together.
func Ordered(n int, keys ...func(at int) uint64) []Item {
	items := make([]Item, n)
	for i := range items {
		items[i].At = i
	}
	used := 0 // bits of the words
	for k := len(keys) - 1; k >= 0; k-- {
		least, most := extent(n, keys[k])
		width := bits.Len64(most - least)
		if used+width > 64 {
			items = sorted(items, used)
			for i := range items {
				items[i].word = 0
			}
			used = 0
		}
		if width > 0 {
			for i := range items {
				items[i].word |= (keys[k](items[i].At) - least) << used
			}
			used += width
		}
	}
	return sorted(items, used)
}

// extent returns the least and the greatest key.
func extent(n int, key func(at int) uint64) (least, most uint64) {
	if n == 0 {
		return 0, 0
	}
	least = ^uint64(0)
	for i := range n {
		k := key(i)
		least, most = min(least, k), max(most, k)
	}
	return least, most
}

// sorted returns items by the lower bits of their words, digit by digit; equal ones keep their
// order. The items themselves are overwritten.
func sorted(items []Item, used int) []Item {
	inOrder := true
	for i := 1; i < len(items) && inOrder; i++ {
		inOrder = items[i-1].word <= items[i].word
	}
	if inOrder {
		return items
	}
	other := make([]Item, len(items))
	for shift := 0; shift < used; shift += digit {
		var next [1 << digit]int // where the next item with this digit goes
		for i := range items {
			next[items[i].word>>shift%(1<<digit)]++
		}
		sum := 0
		for d, n := range next {
			next[d], sum = sum, sum+n
		}
		for i := range items {
			d := items[i].word >> shift % (1 << digit)
			other[next[d]] = items[i]
			next[d]++
		}
		items, other = other, items
	}
	return items
}
