package flocks

import "testing"

func TestExclusive(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line  string
		pid   int
		inode uint64
		ok    bool
	}{
		{"4: FLOCK  ADVISORY  WRITE 14152 00:1b:24398950 0 EOF", 14152, 24398950, true},
		{"1: FLOCK  ADVISORY  READ 13777 00:1b:24398440 0 EOF", 0, 0, false},
		{"5: POSIX  ADVISORY  WRITE 14152 00:1b:24398950 0 EOF", 0, 0, false},
		{"4: -> FLOCK  ADVISORY  WRITE 14152 00:1b:24398950 0 EOF", 0, 0, false}, // it waits
		{"4: FLOCK  ADVISORY  WRITE x 00:1b:24398950 0 EOF", 0, 24398950, false},
		{"4: FLOCK", 0, 0, false},
		{"", 0, 0, false},
	} {
		pid, inode, ok := exclusive(c.line)
		if ok != c.ok || ok && (pid != c.pid || inode != c.inode) {
			t.Errorf("exclusive(%q) = %d, %d, %v, want %d, %d, %v", c.line, pid, inode, ok, c.pid, c.inode, c.ok)
		}
	}
}
