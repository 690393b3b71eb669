package testenv

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// CommandsBuilt names a folder with the commands as the code now stands, which make test
// builds for the tests of all packages.
const CommandsBuilt = "FAIRSPOOL_COMMANDS"

var built struct {
	once sync.Once
	dir  string
	own  bool // whether dir is to be removed
	err  error
}

// Commands returns a folder with all commands of fairspool, built no more than once.
func Commands(t testing.TB) string {
	t.Helper()
	built.once.Do(func() {
		if built.dir = os.Getenv(CommandsBuilt); built.dir == "" {
			built.dir, built.err = build()
			built.own = true
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.dir
}

// build builds all commands into a new folder.
func build() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "fairspool-commands"); err != nil {
		return "", err
	}
	c := exec.Command("go", "build", "-o", dir+string(filepath.Separator), "fairspool/cmd/...")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("go build: %w\n%s", err, out)
	}
	return dir, nil
}

// removeCommands removes what Commands has built.
func removeCommands() {
	if built.own {
		os.RemoveAll(built.dir)
	}
}
