package negotiate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWhatIfInOneQueue holds that EUPs, which decide nothing in one queue, are shown only
// where they are what the change changes.
func TestWhatIfInOneQueue(t *testing.T) {
	file := filepath.Join(t.TempDir(), "fairspool.toml")
	if err := os.WriteFile(file, []byte(hierarchical), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, head := range map[string]string{
		"slots add 2 like slot1@node":       "\nSubmitter  Idle  Matched\n",
		"userprio -setfactor alice@pool 70": "\nSubmitter   EUP (decides nothing)  Idle  Matched\n",
	} {
		begun(t)
		status, out, _ := negotiate("-what-if", what, "-config", file)
		if status != 0 || !strings.Contains(out, head) {
			t.Errorf("-what-if %q = %d,\n%swant a line%s", what, status, out, head)
		}
	}
}
