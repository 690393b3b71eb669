package classad

import (
	"os"
	"runtime/debug"
	"testing"

	"fairspool/internal/testenv"
)

// TestMain has garbage collected less often: a third of the tests' processor time went there.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(testenv.Run(m))
}
