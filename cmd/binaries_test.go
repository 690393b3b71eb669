package cmd

import (
	"os"
	"testing"

	"fairspool/internal/testenv"
)

// binaries returns a folder with all commands, built once.
func binaries(t testing.TB) string {
	t.Helper()
	return testenv.Commands(t)
}

func TestMain(m *testing.M) { os.Exit(testenv.Run(m)) }
