package maui

import "math/bits"

// ascending returns a number whose order without sign is that of n.
func ascending(n int64) uint64 { return uint64(n) ^ 1<<63 }

// digit is how many bits a pass of sortBy sorts by.
const digit = 11

// sortBy returns items in the order of their keys, equal ones in the order in which they
// are. It sorts by the digits of the keys, of which near ones have few; items themselves are
// used up.
func sortBy[T any](items []T, key func(*T) uint64) []T {
	least, most := ^uint64(0), uint64(0)
	for i := range items {
		k := key(&items[i])
		least, most = min(least, k), max(most, k)
	}
	if least >= most {
		return items
	}
	other := make([]T, len(items))
	for shift := 0; shift < bits.Len64(most-least); shift += digit {
		var next [1 << digit]int // where the next item with this digit goes
		for i := range items {
			next[(key(&items[i])-least)>>shift%(1<<digit)]++
		}
		sum := 0
		for d, n := range next {
			next[d], sum = sum, sum+n
		}
		for i := range items {
			d := (key(&items[i]) - least) >> shift % (1 << digit)
			other[next[d]] = items[i]
			next[d]++
		}
		items, other = other, items
	}
	return items
}
