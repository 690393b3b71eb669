// Package powercut runs fairspool's programs on real file systems whose power is cut.
package powercut

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	size        = 48 << 20 // of a device, bytes
	cutsOfSpool = 6        // then a new spool is made
)

// TestPowerCuts lets real programs submit, change, match, run and remove jobs in a spool on
// ext4 and ext2, and cuts the power at random moments: what was not flushed to the
// device is gone. Each time the spool has to be sound and to hold all that was
// acknowledged. FAIRSPOOL_SOAK says how long that goes on, FAIRSPOOL_SEED what it goes by,
// FAIRSPOOL_COMMANDS where the programs are.
func TestPowerCuts(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv("FAIRSPOOL_SOAK"))
	if err != nil {
		t.Skipf("SKIPPED: make soak runs it: FAIRSPOOL_SOAK: %v", err)
	}
	seed, err := strconv.ParseUint(os.Getenv("FAIRSPOOL_SEED"), 10, 64)
	if err != nil {
		t.Fatalf("FAIRSPOOL_SEED: %v", err)
	}
	for _, tool := range []string{"losetup", "mount", "umount", "mkfs.ext4", "mkfs.ext2", "e2fsck"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIPPED: %v", err)
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root may mount file systems")
	}
	for _, kind := range []string{"ext4", "ext2"} {
		for _, some := range []bool{false, true} {
			name := kind + ", nothing unflushed is left"
			if some {
				name = kind + ", some of it is left"
			}
			t.Run(name, func(t *testing.T) { spools(t, kind, some, length/4, seed) })
		}
	}
}

// spools has a number of spools, one after the other, on a kind of file system.
func spools(t *testing.T, kind string, some bool, length time.Duration, seed uint64) {
	programs := os.Getenv("FAIRSPOOL_COMMANDS")
	if programs == "" {
		programs = "../../bin"
	}
	programs, err := filepath.Abs(programs)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(programs, "submit")); err != nil {
		t.Fatalf("the programs have to be built before: %v", err)
	}
	w := &world{T: t, kind: kind, some: some, programs: programs, dir: t.TempDir(), random: rand.New(rand.NewPCG(seed, 0))}
	cuts := 0
	for begun := time.Now(); cuts == 0 || time.Since(begun) < length; cuts++ {
		n := cuts
		if n%cutsOfSpool == 0 {
			w.format()
		}
		w.powered(func(a *attached) {
			w.work(n, func() { w.content = a.cut(w.some, w.random) })
		})
		w.powered(func(*attached) { w.check(n) })
	}
	t.Logf("%d power cuts: %d commands were acknowledged before, after %d flushes", cuts, w.acknowledged, w.flushes)
}

// world is a file system with a spool, and what is known of it.
type world struct {
	*testing.T
	kind     string
	some     bool // of what was not flushed some sectors may be left
	programs string
	dir      string
	random   *rand.Rand

	content []byte // of the device, when the power is off
	mounts  int

	mu       sync.Mutex
	off      bool // the power is
	told     facts
	tags     int
	priority int

	acknowledged, flushes int
}

// facts are what commands have acknowledged.
type facts struct {
	clusters map[int]int  // by tag
	prios    map[int]int  // the cluster, by priority, which is given once
	removed  map[int]bool // clusters
}

func (w *world) spool() string { return filepath.Join(w.dir, "mnt", "spool") }

// sector returns the size of the device's sectors. A half of a block of ext2 would be the loss of
// names that were flushed long before: it has neither a journal nor checksums.
func (w *world) sector() int {
	if w.kind == "ext2" {
		return 4096
	}
	return 512
}

// token marks in their environment the processes of this test.
func (w *world) token() string { return "POWERCUT=" + w.dir }

// format makes a new file system.
func (w *world) format() {
	w.Helper()
	image := filepath.Join(w.dir, "image")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		w.Fatal(err)
	}
	if err := os.Truncate(image, size); err != nil {
		w.Fatal(err)
	}
	run(w.T, "mkfs."+w.kind, "-q", "-F", "-b", "4096", image)
	content, err := os.ReadFile(image)
	if err != nil {
		w.Fatal(err)
	}
	w.content, w.told = content, facts{map[int]int{}, map[int]int{}, map[int]bool{}}
}

// powered does something while the power is on. What the device had flushed is there.
func (w *world) powered(do func(*attached)) {
	w.Helper()
	w.mounts++
	folder, mnt := filepath.Join(w.dir, fmt.Sprint("fuse", w.mounts)), filepath.Join(w.dir, "mnt")
	for _, name := range []string{folder, mnt} {
		if err := os.MkdirAll(name, 0o700); err != nil {
			w.Fatal(err)
		}
	}
	a := attach(w.T, newDevice(w.content, w.sector()), folder)
	defer func() {
		until(w.T, mnt+" is unmounted", func() bool {
			w.killAll()
			return !mounted(mnt) || exec.Command("umount", mnt).Run() == nil
		})
		a.detach(w.T)
	}()
	if w.kind == "ext2" {
		out, err := exec.Command("e2fsck", "-fy", a.loop).CombinedOutput()
		if status, ok := err.(*exec.ExitError); err != nil && (!ok || status.ExitCode() > 2) {
			w.Fatalf("e2fsck: %v: %s", err, out)
		}
	}
	run(w.T, "mount", "-t", w.kind, a.loop, mnt)
	w.off = false
	do(a)
	w.flushes += a.flushes
	if w.Failed() {
		w.FailNow()
	}
}

// mounted reports whether something is mounted on a directory.
func mounted(dir string) bool {
	var here, above syscall.Stat_t
	return syscall.Stat(dir, &here) == nil && syscall.Stat(filepath.Dir(dir), &above) == nil && here.Dev != above.Dev
}

// work starts commands and, at a random moment, cuts the power.
func (w *world) work(n int, cut func()) {
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	loop := func(do func()) {
		all.Go(func() {
			for ctx.Err() == nil {
				do()
			}
		})
	}
	before, answered := w.submissions(), w.answers()
	seed := w.random.Uint64()
	for i := range 2 {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		loop(func() { w.submit(ctx, r) })
	}
	loop(func() {
		w.command(ctx, slotAds, "slots", "advertise", "-")
		w.command(ctx, "", "negotiate")
		w.command(ctx, "", "starter")
	})
	if n%2 == 0 {
		loop(func() { w.command(ctx, "", "spool", "compact") })
	}
	more := 1 + w.random.IntN(60)
	if n%cutsOfSpool == 0 {
		more = 1 // soon after the spool was made
	}
	until(w.T, "commands are acknowledged", func() bool { return w.submissions() > before && w.answers() >= answered+more })
	w.mu.Lock()
	w.off = true // what ends from now on may have flushed nothing
	cut()
	w.mu.Unlock()
	stop()
	w.killAll()
	all.Wait()
}

// submissions returns how many were acknowledged.
func (w *world) submissions() (n int) {
	w.note(func() { n = len(w.told.clusters) })
	return n
}

// answers returns how many commands were acknowledged.
func (w *world) answers() (n int) {
	w.note(func() { n = w.acknowledged })
	return n
}

const slotAds = `Name = "slot1@here"
Machine = "here"
Requirements = true
Cpus = 4
Memory = 4096
Disk = 1000000
`

// command runs a command and tells what it wrote, and whether it succeeded before
// the power was cut.
func (w *world) command(ctx context.Context, input, name string, args ...string) (out string, ok bool) {
	c := exec.CommandContext(ctx, filepath.Join(w.programs, name), args...)
	c.Env = append(os.Environ(), "FAIRSPOOL_CYCLE_ON_CHANGE=false", "FAIRSPOOL_DIR="+w.spool(), w.token())
	c.Dir = w.programs // nothing between fork and exec waits for the device
	c.Stdin = strings.NewReader(input)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	c.WaitDelay = time.Second
	err := c.Run()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.off {
		return stdout.String(), false
	}
	if err != nil && !busy.MatchString(stderr.String()) {
		w.Errorf("%s %q: %v: %s", name, args, err, stderr.String())
	}
	if err == nil {
		w.acknowledged++
	}
	return stdout.String(), err == nil
}

// busy is what commands say that fail because of others, or where no spool is yet.
var busy = regexp.MustCompile(`the spool is locked|is being folded|another cycle is running|there is no spool here|VERSION is missing|not in the queue|no such`)

// note takes note of what a command has acknowledged.
func (w *world) note(do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	do()
}

var submitted = regexp.MustCompile(`submitted to cluster ([0-9]+)`)

// submit submits a cluster and changes its priority, or removes it, or lets it run.
func (w *world) submit(ctx context.Context, r *rand.Rand) {
	var tag, priority int
	w.note(func() { w.tags++; w.priority++; tag, priority = w.tags, w.priority })
	text := fmt.Sprintf("executable = /bin/true\n+PowerCut = %d\nqueue %d\n", tag, 1+r.IntN(3))
	out, ok := w.command(ctx, text, "submit", "-")
	m := submitted.FindStringSubmatch(out)
	if !ok || m == nil {
		return
	}
	cluster, _ := strconv.Atoi(m[1])
	w.note(func() { w.told.clusters[tag] = cluster })
	switch r.IntN(3) {
	case 0:
		if _, ok := w.command(ctx, "", "prio", "-p", fmt.Sprint(priority), m[1]); ok {
			w.note(func() { w.told.prios[priority] = cluster })
		}
	case 1:
		if _, ok := w.command(ctx, "", "qdel", m[1]); ok {
			w.note(func() { w.told.removed[cluster] = true })
		}
	}
}

// check holds the spool to what was acknowledged.
func (w *world) check(n int) {
	ctx := context.Background()
	look := func(args ...string) (string, string, error) {
		c := exec.CommandContext(ctx, filepath.Join(w.programs, "spool"), args...)
		c.Env = append(os.Environ(), "FAIRSPOOL_CYCLE_ON_CHANGE=false", "FAIRSPOOL_DIR="+w.spool(), w.token())
		var stdout, stderr bytes.Buffer
		c.Stdout, c.Stderr = &stdout, &stderr
		err := c.Run()
		return stdout.String(), stderr.String(), err
	}
	if out, bad, err := look("check"); err != nil {
		w.Errorf("cut %d: spool check: %v: %s%s", n, err, bad, out)
		return
	}
	dump, bad, err := look("dump")
	if err != nil {
		w.Errorf("cut %d: spool dump: %v: %s", n, err, bad)
		return
	}
	got := read(dump)
	for _, tag := range slices.Sorted(maps.Keys(w.told.clusters)) {
		if c := w.told.clusters[tag]; got.clusters[tag] != c {
			w.Errorf("cut %d: the submission %d was acknowledged as cluster %d, and the spool has %d", n, tag, c, got.clusters[tag])
		}
	}
	for priority, cluster := range w.told.prios {
		if got.prios[priority] != cluster {
			w.Errorf("cut %d: the priority %d of cluster %d was acknowledged, and the spool has none", n, priority, cluster)
		}
	}
	for cluster := range w.told.removed {
		if !got.removed[cluster] {
			w.Errorf("cut %d: the removal of cluster %d was acknowledged, and the spool has none", n, cluster)
		}
	}
	// What was not acknowledged, and is there, stays there from now on.
	maps.Copy(w.told.clusters, got.clusters)
	maps.Copy(w.told.prios, got.prios)
	maps.Copy(w.told.removed, got.removed)
}

var (
	attribute = regexp.MustCompile(`(?m)^([A-Za-z]+) = (.*)$`)
	setArgs   = regexp.MustCompile(`^\{ "-p", "([0-9]+)", "([0-9]+)" \}$|^\{ "([0-9]+)", "([0-9]+)" \}$`)
)

// read reads a dump: the clusters of the queue and the history, and the transactions.
func read(dump string) facts {
	f := facts{map[int]int{}, map[int]int{}, map[int]bool{}}
	cluster := 0
	for ad := range strings.SplitSeq(dump, "\n\n") {
		a := map[string]string{}
		for _, m := range attribute.FindAllStringSubmatch(ad, -1) {
			a[m[1]] = m[2]
		}
		if a["MyType"] == `"Cluster"` {
			cluster, _ = strconv.Atoi(a["Cluster"])
		}
		if tag, err := strconv.Atoi(a["PowerCut"]); err == nil {
			of := cluster
			if id, err := strconv.Atoi(a["ClusterId"]); err == nil { // in the history
				of = id
			}
			f.clusters[tag] = of
		}
		if m := setArgs.FindStringSubmatch(a["Args"]); a["Op"] == `"set priority"` && m != nil {
			priority, _ := strconv.Atoi(m[1] + m[3])
			f.prios[priority], _ = strconv.Atoi(m[2] + m[4])
		}
		if a["Op"] == `"remove"` {
			if c, err := strconv.Atoi(strings.Trim(a["Args"], `{ "}`)); err == nil {
				f.removed[c] = true
			}
		}
	}
	return f
}

// killAll kills the processes of this test that are left: supervisors and their jobs.
func (w *world) killAll() {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		text, _ := os.ReadFile(filepath.Join(dir, "environ"))
		if !slices.Contains(strings.Split(string(text), "\x00"), w.token()) && !w.copied(dir) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// copied reports whether a process is a bubblewrap that has a copy of the test's mounts, which keeps them: starter tries
// it with an empty environment, and it may wait for the device for ever.
func (w *world) copied(process string) bool {
	name, _ := os.ReadFile(filepath.Join(process, "comm"))
	mounts, _ := os.ReadFile(filepath.Join(process, "mountinfo"))
	return string(name) == "bwrap\n" && strings.Contains(string(mounts), w.dir)
}

// run runs a command that has to succeed.
func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v: %s", name, args, err, out)
	}
}

// until waits for a condition.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within three minutes: %s", what)
		}
	}
}
