package reserve

import "testing"

// TestSizeOf holds that the reserve takes no more than a part of a small file system, but takes
// back all that was given up.
func TestSizeOf(t *testing.T) {
	t.Parallel()
	const kb, most = 1 << 10, 8 << 20
	for _, c := range []struct{ held, gaveUp, room, want int64 }{
		{0, 0, 1 << 40, most},
		{0, 0, 4 * most, most},
		{0, 0, 4*most - 1, most - 64*kb},
		{0, 0, 4 << 20, 1 << 20},
		{1 << 20, 0, 3 << 20, 1 << 20}, // it has its part
		{0, 0, 255 * kb, 0},
		{7 << 20, 0, 1 << 20, 7 << 20}, // and does not give it back
		{7 << 20, 256 * kb, 1 << 20, 7<<20 + 256*kb},
		{most, most, 0, most},
	} {
		if got := sizeOf(c.held, c.gaveUp, c.room, most); got != c.want {
			t.Errorf("sizeOf(%d, %d, %d) = %d, want %d", c.held, c.gaveUp, c.room, got, c.want)
		}
	}
}
