package maui

import "math/bits"

// ascending returns a number whose order without sign is that of n.
func ascending(n int64) uint64 { return uint64(n) ^ 1<<63 }

// item is one of those that ordered sorts: which one, and what of its keys it is sorted by.
type item struct {
	word uint64
	at   int
}

// digit is how many bits a pass of sorted sorts by.
const digit = 11

// ordered returns the numbers from 0 to n-1 in the order of their keys, of which the first
// counts most; equal ones by number. Near keys have few digits, and those of several keys that
// fit into one word are sorted together.
func ordered(n int, keys ...func(at int) uint64) []item {
	items := make([]item, n)
	for i := range items {
		items[i].at = i
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
				items[i].word |= (keys[k](items[i].at) - least) << used
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

// sorted returns items by the lower bits of their words, digit by digit; equal ones in the order
// in which they are. The items themselves are used up.
func sorted(items []item, used int) []item {
	inOrder := true
	for i := 1; i < len(items) && inOrder; i++ {
		inOrder = items[i-1].word <= items[i].word
	}
	if inOrder {
		return items
	}
	other := make([]item, len(items))
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
