package family

import (
	"syscall"
	"time"
)

// end ends the processes that find finds, until it finds none. It returns how many were
// sent SIGKILL, and how many are there still after so long.
func end(find func() []process, patience time.Duration) (killed, left int) {
	begun := time.Now()
	stop(find, begun.Add(patience/2))
	sent := map[identity]bool{}
	const longest = 20 * time.Millisecond
	for none, wait := 0, time.Millisecond/2; ; wait = min(2*wait, longest) {
		all := find()
		if none++; len(all) > 0 {
			none = 0
		}
		if none == 2 {
			return len(sent), 0
		}
		for _, p := range all {
			if p.signal(syscall.SIGKILL) == nil {
				sent[p.identity()] = true
			}
		}
		if none == 0 {
			if time.Since(begun) >= patience {
				return len(sent), len(all)
			}
			time.Sleep(wait)
		}
	}
}

// stop stops processes until find finds none that was not stopped, but not after so
// late: then none of them starts another.
func stop(find func() []process, late time.Time) {
	sent := map[identity]bool{}
	for {
		fresh := 0
		for _, p := range find() {
			if id := p.identity(); !sent[id] {
				sent[id] = true
				if p.signal(syscall.SIGSTOP) == nil {
					fresh++
				}
			}
		}
		if fresh == 0 || time.Now().After(late) {
			return
		}
	}
}
