package cmd

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fairspool/internal/testenv"
)

// printers are the commands that print what the spool has stored.
var printers = []string{
	"qstat", "qstat -f", "qstat -long", "qstat -j 3", "qstat -history -long", "slots list -long",
	"userprio -all", "userprio -long", "userprio -history", "spool log -json", "spool stat", "spool dump",
}

// TestFlippedSpool flips a byte of every file of a spool, one file at a time. Each command
// that prints what is stored prints what it printed before, or it fails or tells of the
// damage; and spool check fails.
func TestFlippedSpool(t *testing.T) {
	t.Parallel()
	run := func(dir, now, line string) (out, bad string, err error) {
		words := strings.Fields(line)
		c := exec.Command(filepath.Join(testenv.Commands(t), words[0]), words[1:]...)
		var o, b bytes.Buffer
		c.Dir, c.Stdout, c.Stderr = dir, &o, &b
		c.Env = append(os.Environ(), "FAIRSPOOL_CONFIG=/dev/null", "TZ=UTC", "FAIRSPOOL_DIR="+filepath.Join(dir, "spool"), "FAIRSPOOL_NOW="+now)
		err = c.Run()
		return o.String(), b.String(), err
	}
	base := t.TempDir()
	for name, text := range map[string]string{
		"job.sub": "executable = /bin/true\ntransfer_executable = false\nqueue 2\n",
		"one.ads": "Name = \"slot1@elsewhere\"\nMachine = \"elsewhere\"\nCpus = 1\nMemory = 1024\nDisk = 100000\nRequirements = true\n",
	} {
		testenv.OK(t, os.WriteFile(filepath.Join(base, name), []byte(text), 0o600))
	}
	const now = "2026-11-20T10:02:00Z"
	for _, step := range []struct{ now, line string }{
		{"2026-11-20T10:00:00Z", "submit job.sub"}, {"2026-11-20T10:00:00Z", "submit job.sub"},
		{"2026-11-20T10:00:00Z", "slots advertise one.ads"}, {"2026-11-20T10:00:00Z", "qdel 1"}, {"2026-11-20T10:00:00Z", "negotiate -q"},
		{"2026-11-20T10:00:00Z", "userprio -setfactor bob@pool 3 -create"}, {"2026-11-20T10:00:00Z", "spool compact -q"},
		{now, "submit job.sub"}, {now, "qdel 2.1"}, {now, "negotiate -q"},
	} {
		if _, bad, err := run(base, step.now, step.line); err != nil {
			t.Fatalf("%s: %v: %s", step.line, err, bad)
		}
	}
	want := map[string]string{}
	for _, line := range printers {
		out, bad, err := run(base, now, line)
		if err != nil || bad != "" {
			t.Fatalf("%s: %v, %s", line, err, bad)
		}
		want[line] = out
	}
	if _, bad, err := run(base, now, "spool check -q"); err != nil {
		t.Fatalf("the undamaged spool: %s", bad)
	}
	testenv.OK(t, filepath.WalkDir(filepath.Join(base, "spool"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == "reserve" { // which only takes room
			return err
		}
		good, err := os.ReadFile(path)
		if err != nil || len(good) == 0 {
			return err
		}
		name, err := filepath.Rel(base, path)
		if err != nil {
			return err
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			testenv.OK(t, os.CopyFS(dir, os.DirFS(base)))
			at := len(good) / 2
			bad := bytes.Clone(good)
			bad[at] ^= 1
			testenv.OK(t, os.WriteFile(filepath.Join(dir, name), bad, 0o600))
			if _, _, err := run(dir, now, "spool check -q"); err == nil {
				t.Errorf("byte %d of %s: check says nothing", at, name)
			}
			for _, line := range printers {
				out, told, err := run(dir, now, line)
				out = strings.ReplaceAll(out, dir, base)
				if err == nil && !strings.Contains(out+told, "damaged") && out != want[line] {
					t.Errorf("byte %d of %s: %s prints\n%swant\n%s", at, name, line, out, want[line])
				}
			}
		})
		return nil
	}))
}
