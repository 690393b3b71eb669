package caseless

import "testing"

func TestContains(t *testing.T) {
	names := []string{"RequestCpus", "Owner"}
	for name, want := range map[string]bool{"Owner": true, "requestcpus": true, "OWNERS": false, "": false} {
		if got := Contains(names, name); got != want {
			t.Errorf("Contains(%q, %q) = %v, want %v", names, name, got, want)
		}
	}
	if Contains(nil, "") {
		t.Error("no names have a name")
	}
}
