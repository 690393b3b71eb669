package cmd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

var (
	built    string // the folder with the commands
	building sync.Once
	failed   error
)

// binaries returns a folder with all commands, built once.
func binaries(t testing.TB) string {
	t.Helper()
	building.Do(func() {
		if built, failed = os.MkdirTemp("", "fairspool-cmd"); failed != nil {
			return
		}
		if out, err := exec.Command("go", "build", "-o", built+string(filepath.Separator), "./...").CombinedOutput(); err != nil {
			failed = fmt.Errorf("go build: %w\n%s", err, out)
		}
	})
	if failed != nil {
		t.Fatal(failed)
	}
	return built
}

func TestMain(m *testing.M) {
	status := m.Run()
	if built != "" {
		os.RemoveAll(built)
	}
	os.Exit(status)
}
