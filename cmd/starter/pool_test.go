package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// The test binary is starter itself when this is set in the environment. Its
// supervisors inherit that.
const isStarter = "STARTER_TEST_IS_STARTER"

func TestMain(m *testing.M) {
	if os.Getenv(isStarter) != "" {
		goneLooks = 2
		dieAsTold()
		stopAsTold()
		countAsTold()
		dallyAsTold()
		main()
		return
	}
	status := m.Run()
	removeBuilt()
	os.Exit(status)
}

// The policy time that the tests' jobs were matched at.
var matchedAt = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

var params = accountant.Params{HalfLife: 24 * time.Hour, DefaultFactor: 1, NiceFactor: 1e7, RemoteFactor: 1e4}

const submitter = "alice@example.org"

// testPool is a spool with jobs of alice's, in a folder with their files.
type testPool struct {
	*testing.T
	dir, config string
	path        string // PATH, by which alice is known
	spool       *spool.Spool
}

// newPool makes an empty pool, in which this machine is called node1.
func newPool(t *testing.T) *testPool {
	t.Helper()
	dir := t.TempDir()
	p := &testPool{T: t, dir: dir, config: filepath.Join(dir, "config.toml"), path: cmdtest.Users(t)}
	cmdtest.Share(t, dir)
	p.write("config.toml", "NETWORK_HOSTNAME = \"node1\"\n")
	sp, err := spool.Open(filepath.Join(dir, "spool"), spool.Options{
		Program: "test", UIDDomain: "example.org", LockWait: 20 * time.Second, Now: matchedAt,
	})
	if err != nil {
		t.Fatal(err)
	}
	p.spool = sp
	t.Cleanup(p.end)
	return p
}

// end ends what a failed test has left running.
func (p *testPool) end() {
	for _, c := range p.claims() {
		if c.PID > 0 {
			syscall.Kill(c.PID, syscall.SIGKILL)
		}
	}
}

func (p *testPool) write(name, text string) string {
	p.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		p.Fatal(err)
	}
	cmdtest.Share(p, path)
	return path
}

func (p *testPool) read(name string) string {
	b, _ := os.ReadFile(filepath.Join(p.dir, name))
	return string(b)
}

func (p *testPool) update(fn func(tx *spool.Tx) error) {
	p.Helper()
	if err := p.spool.Update(fn); err != nil {
		p.Fatal(err)
	}
}

// match puts a job that runs a shell script into the queue and matches it to
// a slot of node1. The further attributes are name, expression, ...
func (p *testPool) match(script string, pairs ...string) pool.JobID {
	p.Helper()
	ad := p.job(script, pairs...)
	var id pool.JobID
	p.update(func(tx *spool.Tx) error {
		tx.Op("submit and match")
		id.Cluster = tx.AddCluster(ad, []spool.NewRun{{Count: 1}})
		tx.PutClaim(pool.Claim{
			Job: id, Attempt: 1, Slot: fmt.Sprintf("slot%d@node1", id.Cluster), Machine: "node1",
			Submitter: submitter, State: pool.Matched, Weight: accountant.One, MatchedAt: matchedAt,
		})
		r, _ := tx.Submitter(submitter)
		tx.PutSubmitter(r.Start(matchedAt, accountant.One, params))
		return nil
	})
	return id
}

// job returns the ad of a job that runs a shell script.
func (p *testPool) job(script string, pairs ...string) *classad.Ad {
	p.Helper()
	ad := classad.New()
	for name, value := range map[string]string{
		"Owner": "alice", "Iwd": p.dir, "Cmd": "/bin/sh", "Out": "out", "Err": "err", "UserLog": "log",
		"Arguments": "-c '" + strings.ReplaceAll(script, "'", "''") + "'",
	} {
		ad.SetString(name, value)
	}
	ad.SetInt("JobStatus", int64(pool.Idle))
	for i := 0; i < len(pairs); i += 2 {
		e, err := classad.ParseExpr(pairs[i+1])
		if err != nil {
			p.Fatal(err)
		}
		ad.Set(pairs[i], e)
	}
	return ad
}

// command returns a starter that works on the pool.
func (p *testPool) command(args ...string) *exec.Cmd {
	c := exec.Command(os.Args[0], append([]string{"-spool", p.spool.Dir(), "-config", p.config}, args...)...)
	c.Env = append(os.Environ(), isStarter+"=1", "PATH="+p.path, "FAIRSPOOL_NOW="+matchedAt.Add(time.Minute).Format(time.RFC3339))
	return c
}

// starter runs a pass and checks its exit status, its output and its messages.
func (p *testPool) starter(status int, stdout, stderr string, args ...string) {
	p.Helper()
	c := p.command(args...)
	var out, bad bytes.Buffer
	c.Stdout, c.Stderr = &out, &bad
	c.Run()
	if got := c.ProcessState.ExitCode(); got != status {
		p.Errorf("starter %s: exit status %d, want %d", strings.Join(args, " "), got, status)
	}
	if out.String() != stdout {
		p.Errorf("starter %s prints %q, want %q", strings.Join(args, " "), out.String(), stdout)
	}
	if bad.String() != stderr {
		p.Errorf("starter %s complains %q, want %q", strings.Join(args, " "), bad.String(), stderr)
	}
}

func (p *testPool) claims() (claims []pool.Claim) {
	p.Helper()
	err := p.spool.View(func(v *spool.View) error { claims = v.Claims(); return nil })
	if err != nil {
		p.Error(err)
	}
	return claims
}

// queued returns attributes of a job in the queue as text, "gone" when it is
// not there.
func (p *testPool) queued(id pool.JobID, names ...string) string {
	p.Helper()
	text := "gone"
	err := p.spool.View(func(v *spool.View) error {
		if ad, ok := v.Job(id); ok {
			text = attributes(ad, names)
		}
		return nil
	})
	if err != nil {
		p.Error(err)
	}
	return text
}

// history returns attributes of a job that has left the queue as text, "not
// there" when none has.
func (p *testPool) history(id pool.JobID, names ...string) string {
	p.Helper()
	r := classad.NewReader(strings.NewReader(p.read("spool/history/2026-11.ads")), "history")
	for {
		ad, err := r.Next()
		if err == io.EOF {
			return "not there"
		}
		if err != nil {
			p.Fatal(err)
		}
		if n, _ := ad.EvalInt(&classad.Context{}, "ClusterId"); int(n) == id.Cluster {
			return attributes(ad, names)
		}
	}
}

func attributes(ad *classad.Ad, names []string) string {
	var texts []string
	for _, name := range names {
		texts = append(texts, name+"="+ad.Eval(&classad.Context{}, name, nil).String())
	}
	return strings.Join(texts, " ")
}

// until waits for something that other processes bring about.
func (p *testPool) until(what string, done func() bool) {
	p.Helper()
	for end := time.Now().Add(20 * time.Second); !done(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			p.Fatalf("waited in vain: %s; starter.log: %s", what, p.read("spool/starter.log"))
		}
	}
}

// pid waits until a job has written a process id to a file of its own.
func (p *testPool) pid(name string) int {
	p.Helper()
	p.until(name+" is written", func() bool { return strings.HasSuffix(p.read(name), "\n") })
	var pid int
	if _, err := fmt.Sscan(p.read(name), &pid); err != nil {
		p.Fatal(err)
	}
	return pid
}

// alive tells whether a process still runs: it waits to be reaped when it has
// ended, and its first thread may do so while others still hold its locks.
func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	i := bytes.LastIndexByte(b, ')')
	threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	return err == nil && (len(threads) > 1 || !bytes.HasPrefix(b[i+1:], []byte(" Z")))
}

// noClaims waits until all attempts have ended and nothing is left of them.
func (p *testPool) noClaims() {
	p.Helper()
	p.until("no claim is left", func() bool { return len(p.claims()) == 0 })
	p.until("no lock file is left", func() bool {
		names, _ := filepath.Glob(p.spool.ClaimLock("*"))
		return len(names) == 0
	})
	err := p.spool.View(func(v *spool.View) error {
		if r, _ := v.Submitter(submitter); r.ResourcesUsed != 0 {
			p.Errorf("ResourcesUsed = %d, want 0", r.ResourcesUsed)
		}
		return nil
	})
	if err != nil {
		p.Error(err)
	}
}

// drain runs passes until all jobs have ended.
func (p *testPool) drain() {
	p.Helper()
	p.until("all jobs have ended", func() bool {
		p.rematch()
		p.command("-q", "-wait").Run()
		return len(p.queue()) == 0
	})
}
