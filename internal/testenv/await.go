package testenv

import (
	"testing"
	"time"
)

// Longest bounds every wait of a test for a condition: no machine is so slow, and a test that
// waits so long has found a fault.
const Longest = 3 * time.Minute

// Until waits until a condition is met that other processes or goroutines bring about, and
// fails the test when that takes longer than Longest. what says in the failure what was
// waited for.
func Until(t testing.TB, what string, met func() bool) {
	t.Helper()
	if !Await(met) {
		t.Fatalf("after %v it is still not so that %s", Longest, what)
	}
}

// Await waits until a condition is met, and reports whether that took no longer than Longest.
func Await(met func() bool) bool {
	const least, most = 200 * time.Microsecond, 20 * time.Millisecond
	begun := time.Now()
	for pause := least; !met(); pause = min(pause*5/4, most) {
		if time.Since(begun) > Longest {
			return false
		}
		time.Sleep(pause)
	}
	return true
}
