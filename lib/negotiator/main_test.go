package negotiator

import (
	"os"
	"runtime/debug"
	"testing"

	"fairspool/internal/testenv"
)

// TestMain collects garbage less often than by default: a fifth of the tests' time went there.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(testenv.Run(m))
}
