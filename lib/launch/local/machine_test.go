package local

import (
	"testing"
)

// Images are made of a job that is a whole tree, be it with members that wait to be reaped.
func TestWithin(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name            string
		tree, processes []int
		want            bool
	}{
		{"all", []int{7, 8, 9}, []int{9, 7, 8}, true},
		{"one waits to be reaped", []int{7, 8, 9}, []int{7, 9}, true},
		{"one has left the tree", []int{7, 8}, []int{7, 8, 9}, false},
		{"one has left, and another waits to be reaped", []int{7, 8}, []int{7, 9}, false},
	} {
		if got := within(c.tree, c.processes); got != c.want {
			t.Errorf("%s: within(%v, %v) = %v, want %v", c.name, c.tree, c.processes, got, c.want)
		}
	}
}
