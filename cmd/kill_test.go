package cmd

import (
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestKilledWriters kills submit, prio and negotiate processes at random
// moments, and holds after each that the spool reads, and at the end that it
// contains all that was acknowledged and nothing twice. FAIRSPOOL_KILLS says
// how many; make soak takes thousands.
func TestKilledWriters(t *testing.T) {
	kills := 150
	if n, err := strconv.Atoi(os.Getenv("FAIRSPOOL_KILLS")); err == nil {
		kills = n
	}
	bin, dir := binaries(t), t.TempDir()
	job, slots := filepath.Join(dir, "job.sub"), filepath.Join(dir, "pool.ads")
	write(t, job, "executable = /bin/true\nqueue 2\n")
	write(t, slots, "Name = \"slot1@node\"\nRequirements = true\n")
	start := func(args ...string) *exec.Cmd {
		c := exec.Command(filepath.Join(bin, args[0]), args[1:]...)
		c.Env = []string{"HOME=" + dir, "FAIRSPOOL_DIR=" + filepath.Join(dir, "spool"), "PATH=" + os.Getenv("PATH")}
		return c
	}
	read := func(args ...string) []string {
		t.Helper()
		out, err := start(args...).Output()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, stderr(err))
		}
		return strings.Fields(string(out))
	}
	read("slots", "advertise", slots)
	read("submit", job)
	random := rand.New(rand.NewPCG(1, 2))
	tried, done := map[string]int{}, map[string]int{}
	for i := range kills {
		args := [][]string{{"submit", job}, {"prio", "+1", "1.0"}, {"negotiate", "-q"}, {"prio", "+1", "1.0"}}[i%4]
		c := start(args...)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Duration(random.IntN(7000))*time.Microsecond, func() { c.Process.Kill() })
		tried[args[0]]++
		if err := c.Wait(); err == nil {
			done[args[0]]++
		} else if c.ProcessState.Exited() {
			t.Fatalf("%v: %v", args, err)
		}
		ids := read("qstat", "-af", "ClusterId")
		if n := len(ids)/2 - 1; n < done["submit"] || n > tried["submit"] || len(ids)%2 != 0 {
			t.Fatalf("after %d of %d submits: %d jobs besides the first two", done["submit"], tried["submit"], len(ids)-2)
		}
		prio, err := strconv.Atoi(read("qstat", "1.0", "-af", "JobPrio")[0])
		if err != nil || prio < done["prio"] || prio > tried["prio"] {
			t.Fatalf("after %d of %d prio +1: JobPrio %d, %v", done["prio"], tried["prio"], prio, err)
		}
	}
	if used := read("userprio", "-allusers", "-af", "ResourcesUsed"); len(used) != 1 || used[0] != "1" {
		t.Errorf("slots charged = %v, want the only one", used)
	}
	if done["submit"] == 0 || done["submit"] == tried["submit"] {
		t.Errorf("%d of %d submits were acknowledged: too many or too few were killed to say anything", done["submit"], tried["submit"])
	}
	t.Logf("acknowledged %v of %v", done, tried)
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func stderr(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return string(exit.Stderr)
	}
	return ""
}
