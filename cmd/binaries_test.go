package cmd

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/internal/testenv"
)

// binaries returns a folder with all commands, built once.
func binaries(t testing.TB) string {
	t.Helper()
	return testenv.Commands(t)
}

// TestMain lets more tests run at once than the machine has processors: most of them wait
// for processes.
func TestMain(m *testing.M) {
	if os.Getenv(isPipe) != "" {
		os.Exit(pipe())
	}
	if os.Getenv(dials) != "" {
		os.Exit(dial())
	}
	const parallel = "test.parallel"
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == parallel })
	if !given {
		flag.Set(parallel, strconv.Itoa(4*runtime.GOMAXPROCS(0)))
	}
	done, err := cmdtest.UsersOfMachine()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	status := testenv.Run(m)
	done()
	os.Exit(status)
}
