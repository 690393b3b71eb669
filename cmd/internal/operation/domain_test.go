package operation

import "testing"

// TestRenamingText checks which names in a text are those of the domain.
func TestRenamingText(t *testing.T) {
	d := Renaming{"vm", "example.org"}
	for text, want := range map[string]string{
		`[ Name = "alice@vm"; Factor = 2 ]`: `[ Name = "alice@example.org"; Factor = 2 ]`,
		`a.b@vm uses 1, not c@vm.`:          `a.b@example.org uses 1, not c@example.org.`,
		`a@vm`:                              `a@example.org`,
		`a@vm.org b@vmx c@vm-1 slot1@vm2`:   `a@vm.org b@vmx c@vm-1 slot1@vm2`,
	} {
		if got := d.Text(text); got != want {
			t.Errorf("Text(%s) = %s, want %s", text, got, want)
		}
	}
	for name, want := range map[string]string{"g.a@vm": "g.a@example.org", "<none>": "<none>", "a@x.vm": "a@x.vm"} {
		if got := d.Name(name); got != want {
			t.Errorf("Name(%s) = %s, want %s", name, got, want)
		}
	}
}
