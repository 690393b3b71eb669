package glidein

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"fairspool/internal/testenv"
)

// engined is a pool with an engine whose jobs are the lines of a file, and never run.
type engined struct {
	testing.TB
	dir string
}

func newEngined(t testing.TB, keys string) engined {
	t.Helper()
	a := engined{t, t.TempDir()}
	a.write("fairspool.toml", fmt.Sprintf(`NETWORK_HOSTNAME = "head"
UID_DOMAIN = "pool"
DETECT_SLOTS = false
CYCLE_ON_CHANGE = false
[engine.hpc]
KIND = "command"
HOME = "serve -pilot"
BIN = "/bin"
ASK = ["sh", "-c", 'echo "j.$1 $0 Q" >>"$2"; echo "j.$1"', "{name}", "{pilot}", "%[1]s/asked"]
ASK_PATTERN = '^(j\.\d+)'
LOOK = ["sh", "-c", 'cat "$0" 2>/dev/null || true', "%[1]s/asked"]
LOOK_PATTERN = '(?m)^(?P<ref>\S+) (?P<name>\S+) (?P<state>\S+)$'
WAITING = '^Q$'
RUNNING = '^R$'
CANCEL = ["true"]
%[2]s`, a.dir, keys))
	return a
}

func (a engined) write(name, text string) {
	a.Helper()
	if err := os.WriteFile(filepath.Join(a.dir, name), []byte(text), 0o600); err != nil {
		a.Fatal(err)
	}
}

func (a engined) run(args ...string) string {
	a.Helper()
	c := exec.CommandContext(a.Context(), filepath.Join(testenv.Commands(a), args[0]), args[1:]...)
	c.Dir = a.dir
	c.Env = []string{"HOME=" + a.dir, "PATH=" + os.Getenv("PATH"), "FAIRSPOOL_DIR=" + a.dir + "/spool", "FAIRSPOOL_CONFIG=" + a.dir + "/fairspool.toml"}
	var bad strings.Builder
	c.Stderr = &bad
	out, err := c.Output()
	if err != nil {
		a.Fatalf("%v: %v: %s%s", args, err, out, bad.String())
	}
	return string(out)
}

// glide makes a pass, and returns what it reports of the engine.
func (a engined) glide(args ...string) queued {
	a.Helper()
	var r struct{ Engines []queued }
	if out := a.run(append([]string{"glidein", "-json"}, args...)...); json.Unmarshal([]byte(out), &r) != nil || len(r.Engines) != 1 {
		a.Fatalf("glidein %v reports %q", args, out)
	}
	return r.Engines[0]
}

// told holds that a pool of a draw is asked for the pilots that a dry run says, now and when more jobs have come.
func told(t *testing.T, draw *rand.Rand) {
	t.Helper()
	n := func(least, most int) int { return least + draw.IntN(most-least+1) }
	keys := fmt.Sprintf("PILOT = { Cpus = %d, Memory = %d }\nMAX_PILOTS = %d\nMAX_WAITING = %d\n", n(1, 8), 128*n(1, 20), n(1, 12), n(1, 12))
	a := newEngined(t, keys)
	var slots strings.Builder
	for i := range n(0, 4) {
		fmt.Fprintf(&slots, "Name = \"slot%d@head\"\nMachine = \"head\"\nCpus = %d\nMemory = %d\nDisk = 1000000\nRequirements = true\n\n", i+1, n(1, 4), 512*n(1, 4))
	}
	if slots.Len() > 0 {
		a.write("slots.ads", slots.String())
		a.run("slots", "advertise", "slots.ads")
	}
	for range 2 {
		for range n(1, 4) {
			a.write("job.sub", fmt.Sprintf("executable = /bin/true\nrequest_cpus = %d\nrequest_memory = %d\naccounting_group_user = u%d\npriority = %d\nqueue %d\n",
				n(1, 5), 64*n(1, 20), n(1, 3), n(-2, 2), n(1, 9)))
			a.run("submit", "job.sub")
		}
		before, now := a.glide("-dry-run"), a.glide()
		if !reflect.DeepEqual(before, now) {
			t.Fatalf("%s%s\na dry run says %+v, then glidein did %+v", keys, a.run("qstat"), before, now)
		}
		if next := a.glide("-dry-run"); next.Waiting != now.Waiting+now.Asked {
			t.Fatalf("%sasked for %d, while %d waited: %d wait now", keys, now.Asked, now.Waiting, next.Waiting)
		}
	}
}

// TestDryRunTells holds that glidein -dry-run says what glidein does then, in pools that are drawn.
func TestDryRunTells(t *testing.T) {
	t.Parallel()
	draw := rand.New(rand.NewPCG(1, 1))
	for range 5 {
		told(t, draw)
	}
}

func TestSoakDryRunTells(t *testing.T) {
	length, seed := testenv.Soak(t)
	draw := rand.New(rand.NewPCG(seed, 1))
	n := 0
	for begun := time.Now(); time.Since(begun) < length; n++ {
		told(t, draw)
	}
	t.Logf("%d pools", n)
}

// BenchmarkPass is a pass of glidein, a whole process, over an engine that has 1,000 of the pool's pilots, and what the look at the engine
// takes of it.
func BenchmarkPass(b *testing.B) {
	const pilots = 1000
	a := newEngined(b, fmt.Sprintf("PILOT = { Cpus = 1, Memory = 128 }\nMAX_PILOTS = %d\nMAX_WAITING = %[1]d\n", pilots))
	a.write("job.sub", fmt.Sprintf("executable = /bin/true\nqueue %d\n", pilots))
	a.run("submit", "job.sub")
	if asked := a.glide().Asked; asked != pilots {
		b.Fatalf("%d pilots were asked for", asked)
	}
	a.run("submit", "job.sub") // which find no room
	for b.Loop() {
		if again := a.glide(); again.Asked != 0 || again.Waiting != pilots {
			b.Fatalf("%+v", again)
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/pass")
}
