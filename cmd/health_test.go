package cmd

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fairspool/cmd/internal/health"
	"fairspool/internal/testenv"
)

// TestHealthOfFullDisk holds that negotiate -health reports a disk with less room than a fold
// needs, and finds nothing else.
func TestHealthOfFullDisk(t *testing.T) {
	t.Parallel()
	disk := newSmallDisk(t)
	spool := disk.folder(t)
	dir := t.TempDir()
	config := filepath.Join(dir, "fairspool.toml")
	write(t, config, "NETWORK_HOSTNAME = \"node1\"\n")
	write(t, filepath.Join(dir, "node1.ads"), "Name = \"slot1@node1\"\nMachine = \"node1\"\nRequirements = true\n")
	run := func(line string) (string, error) {
		words := strings.Fields(line)
		c := exec.Command(filepath.Join(testenv.Commands(t), words[0]), words[1:]...)
		c.Dir, c.Env = dir, append(os.Environ(), "FAIRSPOOL_CONFIG="+config, "FAIRSPOOL_DIR="+spool)
		out, err := c.Output()
		return string(out), err
	}
	if _, err := run("slots advertise node1.ads"); err != nil {
		t.Fatal(err)
	}
	out, err := run("negotiate -health")
	exit := new(exec.ExitError)
	if !errors.As(err, &exit) || exit.ExitCode() != 2 || strings.Count(out, "\n") != 1 ||
		!strings.HasPrefix(out, "CRITICAL - the disk of the spool has only 3 MB of 4 MB left: ") {
		t.Errorf("negotiate -health = %v, %q, want 2 and the disk alone", err, out)
	}
}

// TestHealthOnPage holds that health(7) describes each finding.
func TestHealthOnPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../man/health.7")
	testenv.OK(t, err)
	for _, code := range health.Codes {
		if !strings.Contains(string(page), "\n.It Li "+string(code)+"\n") {
			t.Errorf("health(7) lacks %s", code)
		}
	}
}
