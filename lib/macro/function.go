package macro

import "fmt"

// Substring is $SUBSTR: the bytes of text from start on, the first being 0, and no more
// than length of them if bounded. A negative start counts from the end of the text; a
// negative length leaves that many bytes off its end. What lies outside the text is left
// out.
func Substring(text string, start, length int, bounded bool) string {
	if start < 0 {
		start = max(len(text)+start, 0)
	}
	text = text[min(start, len(text)):]
	if !bounded {
		return text
	}
	if length < 0 {
		length = max(len(text)+length, 0)
	}
	return text[:min(length, len(text))]
}

// Choice is $CHOICE: the item with the index, the first being 0. The error says how far
// the index may go.
func Choice(index int, items []string) (string, error) {
	switch {
	case len(items) == 0:
		return "", fmt.Errorf("index %d: the list is empty", index)
	case index < 0 || index >= len(items):
		return "", fmt.Errorf("index %d: want 0 to %d", index, len(items)-1)
	}
	return items[index], nil
}

// RandomInteger is $RANDOM_INTEGER: one of min, min+step, min+2*step and so on up to
// max, which counts. pick(n) chooses a number from 0 to n-1, each as likely as any other;
// n is at least 1. Errors: step below 1, min above max, or more numbers than fit in 63
// bits.
func RandomInteger(pick func(n int64) int64, min, max, step int64) (int64, error) {
	switch {
	case step < 1:
		return 0, fmt.Errorf("step %d: want 1 or more", step)
	case min > max:
		return 0, fmt.Errorf("%d to %d: want the smaller number first", min, max)
	}
	steps := (uint64(max) - uint64(min)) / uint64(step)
	n := int64(steps) + 1
	if n < 1 {
		return 0, fmt.Errorf("%d to %d: too many numbers to choose from", min, max)
	}
	return min + pick(n)*step, nil
}
