package family

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// shared is the last look at how much memory the processes have when what they share
// counts once.
type shared struct {
	kb   int64
	at   time.Time
	cost time.Duration
}

const (
	// near is the part of a limit, in percent, from which on shared memory is told apart.
	near = 90
	// sparing keeps that look below two hundredths of the time.
	sparing = 50
)

// memory adds how much memory these processes have.
func (f *Family) memory(u *Usage, list []process) {
	for _, p := range list {
		u.RSSKB += p.rssKB
	}
	limit := f.options.MemoryMB
	if len(list) < 2 || limit <= 0 || u.RSSKB/1024*100 < limit*near {
		return
	}
	if now := time.Now(); f.shared.at.IsZero() || now.Sub(f.shared.at) >= sparing*f.shared.cost {
		kb := int64(0)
		for _, p := range list {
			kb += p.proportionalKB()
		}
		end := time.Now()
		f.shared = shared{kb, end, end.Sub(now)}
	}
	u.RSSKB, u.Exact = f.shared.kb, true
}

// proportionalKB returns a process's memory, of what it shares with others only its part;
// its resident set if we may not know (proc(5), /proc/PID/smaps_rollup).
func (p process) proportionalKB() int64 {
	var space [2048]byte
	b, err := readInto("/proc/"+strconv.Itoa(p.pid)+"/smaps_rollup", space[:])
	if err != nil {
		return p.rssKB
	}
	for line := range bytes.Lines(b) {
		fields := bytes.Fields(line)
		if len(fields) >= 2 && string(fields[0]) == "Pss:" {
			if kb, err := strconv.ParseInt(string(fields[1]), 10, 64); err == nil {
				return kb
			}
		}
	}
	return p.rssKB
}

// peakKB returns the most memory that the cgroup ever had, page cache and all; 0 where
// the kernel does not say.
func (c *cell) peakKB() int64 {
	b, _ := os.ReadFile(filepath.Join(c.dir, "memory.peak"))
	n, _ := strconv.ParseInt(string(bytes.TrimSpace(b)), 10, 64)
	return n / 1024
}
