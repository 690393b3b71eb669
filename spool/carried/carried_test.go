package carried

import (
	"testing"

	"fairspool/lib/pool"
)

// TestCarried holds that states are kept by machine and attempt until they are forgotten.
func TestCarried(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one, two := pool.Attempt{Job: pool.JobID{Cluster: 1}, Number: 1}, pool.Attempt{Job: pool.JobID{Cluster: 1, Proc: 1}, Number: 2}
	is := func(machine string, a pool.Attempt, want State, there bool) {
		t.Helper()
		if got, ok := Of(dir, machine, a); got != want || ok != there {
			t.Errorf("Of(%s, %v) = %v, %v, want %v, %v", machine, a, got, ok, want, there)
		}
	}
	is("n1", one, State{}, false)
	for _, n := range []struct {
		machine string
		of      pool.Attempt
		State
	}{{"n1", one, State{false, 1 << 40}}, {"N1", two, State{true, 7}}, {"../n2", one, State{true, 0}}} {
		if err := Note(dir, n.machine, n.of, n.State); err != nil {
			t.Fatal(err)
		}
	}
	is("N1", one, State{false, 1 << 40}, true)
	is("n1", two, State{true, 7}, true)
	is("../n2", one, State{true, 0}, true)
	Forget(dir, "n1", one)
	is("n1", one, State{}, false)
	is("n1", two, State{true, 7}, true)
	if err := Clear(dir, "n1"); err != nil {
		t.Fatal(err)
	}
	is("n1", two, State{}, false)
	is("../n2", one, State{true, 0}, true)
}
