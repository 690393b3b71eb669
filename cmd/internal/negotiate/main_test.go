package negotiate

import (
	"os"
	"path/filepath"
	"testing"

	"fairspool/cmd/internal/cmdline"
	"fairspool/internal/testenv"
)

// TestMain runs the tests. As negotiate the test binary is that command.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "negotiate" {
		dieAsTold()
		cmdline.Main(Command())
		return
	}
	os.Exit(testenv.Run(m))
}
