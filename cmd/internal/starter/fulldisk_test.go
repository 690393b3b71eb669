package starter

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/internal/testenv"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// hog fills the disk when the test says so, and takes all that comes free on it until it is killed.
const hog = `cd $_CONDOR_SCRATCH_DIR; until read x <HERE/fill; do :; done; while :; do cat /dev/zero >>much 2>/dev/null; done`

// fullPool is a pool with a hog that runs, and another job.
type fullPool struct {
	*testPool
	hog, other pool.JobID
	fill       *os.File
	stat       unix.Statfs_t
}

func newFullPool(t *testing.T, config string) *fullPool {
	t.Helper()
	p := &fullPool{testPool: newPool(t)}
	p.write("config.toml", "NETWORK_HOSTNAME = \"node1\"\nUID_DOMAIN = \"example.org\"\n"+config)
	path := filepath.Join(p.dir, "fill")
	testenv.OK(t, unix.Mkfifo(path, 0o666))
	var err error
	if err = os.Chmod(path, 0o666); err == nil {
		p.fill, err = os.OpenFile(path, os.O_RDWR, 0)
	}
	testenv.OK(t, err)
	t.Cleanup(func() { p.fill.Close() })
	p.write("spool/starter.log", "of old\n") // its page has room for more
	p.slot(3)
	p.hog = p.submit(p.job(p.recorded(hog), "Requirements", "true", "JobMaxVacateTime", "1000"))
	p.pass()
	p.until("the hog runs", func() bool { return len(p.starts(p.hog)) == 1 })
	return p
}

// pass makes a cycle and a pass, whatever comes of them.
func (p *fullPool) pass() {
	p.Helper()
	for _, c := range []*exec.Cmd{p.negotiator(), p.command("-q")} {
		if out, err := c.CombinedOutput(); err != nil {
			p.Logf("%s: %v: %s", filepath.Base(c.Path), err, out)
		}
	}
}

// fills has the hog fill the disk.
func (p *fullPool) fills() {
	p.Helper()
	if _, err := p.fill.WriteString("\n"); err != nil {
		p.Fatal(err)
	}
	p.until("the disk is full", func() bool { return p.free() == 0 })
}

// free returns how many blocks are free.
func (p *fullPool) free() uint64 {
	p.Helper()
	if err := unix.Statfs(p.dir, &p.stat); err != nil {
		p.Fatal(err)
	}
	return p.stat.Bavail
}

// run runs one of the commands.
func (p *fullPool) run(input, name string, args ...string) (out string, status int) {
	p.Helper()
	c := exec.Command(filepath.Join(testenv.Commands(p), name), append([]string{"-spool", p.spool.Dir(), "-config", p.config}, args...)...)
	c.Env = append(os.Environ(), "FAIRSPOOL_NOW="+matchedAt.Add(time.Minute).Format(time.RFC3339))
	c.Stdin = strings.NewReader(input)
	b, _ := c.CombinedOutput()
	return string(b), c.ProcessState.ExitCode()
}

// does holds that one of the commands succeeds.
func (p *fullPool) does(name string, args ...string) {
	p.Helper()
	if out, status := p.run("", name, args...); status != 0 {
		p.Errorf("%s %s on a full disk: exit status %d, %q, want it done", name, strings.Join(args, " "), status, out)
	}
}

// put puts a job into the queue, which waits for go, and matches and starts it as the number of steps
// says.
func (p *fullPool) put(steps int, script string, pairs ...string) {
	p.Helper()
	p.other = p.submit(p.job(p.recorded(script), append([]string{"Requirements", "true"}, pairs...)...))
	if steps > 0 {
		p.cycle()
	}
	if steps > 1 {
		p.starter(0, 0, "-q")
		p.until("the other job runs", func() bool { return len(p.starts(p.other)) == 1 })
	}
}

const waitsForGo = awaitGo + `; over`

// TestFullDiskAtEachMoment has a job fill the disk of the spool, and keep it full, at each moment of the
// life of another one. What may grow is refused in a line; what ends or removes a job, and the fold, is
// done; the hog can be removed, and at the latest two passes later the pool runs jobs as if nothing had
// been.
func TestFullDiskAtEachMoment(t *testing.T) {
	t.Parallel()
	if !onDiskOf(t, "48m") {
		return
	}
	const done, removed = "JobStatus=4", "JobStatus=3"
	for _, c := range []struct {
		name   string
		before func(p *fullPool)
		full   func(p *fullPool)
		want   string // what becomes of the other job; empty: there is none
	}{
		{"submitted", nil, func(p *fullPool) {
			text := "executable = /bin/true\nenvironment = X=" + strings.Repeat("x", 100_000) + "\nqueue\n"
			out, status := p.run(text, "submit", "-")
			if status != 1 || strings.Count(out, "\n") != 1 || !strings.Contains(out, "no space left on device: nothing was changed: make room") {
				p.Errorf("submit on a full disk: exit status %d, %q, want 1 and a line that says so", status, out)
			}
		}, ""},
		{"matched", func(p *fullPool) { p.put(0, `over`) }, func(p *fullPool) { p.negotiator().Run() }, done},
		{"begun", func(p *fullPool) { p.put(1, `over`) }, func(p *fullPool) { p.command("-q").Run() }, done},
		{"reported", func(p *fullPool) { p.put(2, waitsForGo) }, func(p *fullPool) {
			p.says("no space left on device")
			p.open()
		}, done},
		{"ended", func(p *fullPool) { p.put(2, waitsForGo) }, func(p *fullPool) {
			p.open()
			p.until("its end is recorded", func() bool { return len(p.left()[p.other.Cluster]) == 1 })
		}, done},
		{"ended with output", func(p *fullPool) {
			p.put(2, `head -c 20000 /dev/zero >result; `+waitsForGo, "ShouldTransferFiles", `"YES"`, "TransferOutput", `"result"`)
		}, func(p *fullPool) {
			p.open()
			p.until("it has ended", func() bool { return len(p.claims()) == 1 }) // held, where its output had no room
		}, done},
		{"removed", func(p *fullPool) { p.put(2, waitsForGo) }, func(p *fullPool) {
			p.does("qdel", p.other.String())
			p.until("it is gone", func() bool { return len(p.left()[p.other.Cluster]) == 1 })
		}, removed},
		{"removed idle", func(p *fullPool) { p.put(0, waitsForGo) }, func(p *fullPool) { p.does("qdel", p.other.String()) }, removed},
		{"held", func(p *fullPool) { p.put(2, waitsForGo) }, func(p *fullPool) {
			p.does("qhold", p.other.String())
			p.until("it has left its slot", func() bool { return len(p.claims()) == 1 })
			p.does("qdel", p.other.String())
		}, removed},
		{"folded", func(p *fullPool) { p.put(2, waitsForGo) }, func(p *fullPool) {
			p.does("spool", "compact")
			p.open()
		}, done},
		{"supervisor killed", func(p *fullPool) { p.put(2, `[ $a = 1 ] && { `+hang+`; }; over`) }, func(p *fullPool) {
			for _, claim := range p.claims() {
				if claim.Job == p.other {
					syscall.Kill(claim.PID, syscall.SIGKILL)
					p.until("its supervisor is dead", func() bool { return !alive(claim.PID) })
				}
			}
			p.command("-q").Run()
		}, done},
	} {
		for _, way := range []string{"removed", "killed"} {
			t.Run(c.name+", the hog is "+way, func(t *testing.T) {
				p := newFullPool(t, "MAX_SCRATCH_SIZE = -1\nSTARTER_INITIAL_UPDATE_INTERVAL = 0.02\nSTARTER_UPDATE_INTERVAL = 0.02\n")
				if c.before != nil {
					c.before(p)
				}
				p.fills()
				c.full(p)
				p.gets(way)
				p.works()
				if c.want != "" {
					if got := p.history(p.other, "JobStatus"); got != c.want || len(p.left()[p.other.Cluster]) != 1 {
						t.Errorf("the other job, %d times: %s, want %s once", len(p.left()[p.other.Cluster]), got, c.want)
					}
				}
				p.settled()
			})
		}
	}
}

// gets rid of the hog: it is removed, be its supervisor killed just before.
func (p *fullPool) gets(way string) {
	p.Helper()
	pid := 0
	for _, claim := range p.claims() {
		if claim.Job == p.hog {
			pid = claim.PID
		}
	}
	if way == "killed" {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	p.does("qdel", p.hog.String())
	p.until("the hog's supervisor is gone", func() bool { return !alive(pid) })
}

// works holds that the pool runs a new job in two passes, that the hog has left, and that the reserve is
// whole.
func (p *fullPool) works() {
	p.Helper()
	var id pool.JobID
	for n := range 2 {
		p.pass()
		if n == 0 {
			if p.other != (pool.JobID{}) && p.queued(p.other, "JobStatus") == "JobStatus=5" { // there was no room for its output
				p.release(p.other)
			}
			id = p.submit(p.job(p.recorded(`over`), "Requirements", "true"))
		}
	}
	p.until("all other jobs have ended", func() bool { return len(p.claims()) == 0 })
	if got, want := p.history(id, "JobStatus", "ExitCode", "NumJobStarts"), "JobStatus=4 ExitCode=0 NumJobStarts=1"; got != want {
		p.Errorf("a job after the second pass: %s, want %s", got, want)
	}
	if len(p.left()[p.hog.Cluster]) != 1 {
		p.Error("the hog has not left the queue")
	}
	if info, err := os.Stat(filepath.Join(p.spool.Dir(), "reserve")); err != nil || info.Size() != spool.ReserveSize {
		p.Errorf("the reserve: %v, %v, want %d bytes", info, err, spool.ReserveSize)
	}
}

// TestHogIsHeld has a job fill the disk: it is held for that without anybody's help, also where the
// reserve is gone and there is no room for recording that before it has ended. What it wrote is gone, and
// the pool goes on.
func TestHogIsHeld(t *testing.T) {
	t.Parallel()
	if !onDiskOf(t, "48m") {
		return
	}
	for _, reserve := range []int64{spool.ReserveSize, 0} {
		t.Run(fmt.Sprintf("reserve of %d", reserve), func(t *testing.T) {
			p := newFullPool(t, "MAX_SCRATCH_SIZE = 1\n")
			testenv.OK(t, os.Truncate(filepath.Join(p.spool.Dir(), "reserve"), reserve))
			if _, err := p.fill.WriteString("\n"); err != nil {
				t.Fatal(err)
			}
			for n := 0; len(p.claims()) > 0 && n < 1000; n++ { // until the journal's page is full, too
				err := p.spool.Update(func(tx *spool.Tx) error {
					tx.Op("mark")
					tx.PutMark("test", fmt.Sprint(n))
					return nil
				})
				if err != nil && !spool.IsFull(err) {
					t.Fatal(err)
				}
			}
			p.until("the hog is held", func() bool { return p.queued(p.hog, "JobStatus") == "JobStatus=5" })
			p.until("it has left its slot", func() bool { return len(p.claims()) == 0 })
			if got, want := p.queued(p.hog, "HoldReasonCode", "HoldReasonSubCode", "NumJobStarts"), "HoldReasonCode=34 HoldReasonSubCode=104 NumJobStarts=1"; got != want {
				t.Errorf("the hog: %s, want %s", got, want)
			}
			p.does("qdel", p.hog.String())
			p.works()
			p.settled()
		})
	}
}
