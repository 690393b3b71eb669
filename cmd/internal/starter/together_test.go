package starter

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/internal/testenv"
	"fairspool/lib/pool"
	"fairspool/lib/supervise"
)

// lagging has the supervisors of a starter wait so long for their own signal when their jobs have died
// of one.
func lagging(lag time.Duration) string { return fmt.Sprintf("%s=%v", lags, lag) }

// begin runs a pass that starts jobs, with more in its environment, and waits until each has written
// its process id to main.CLUSTER. It returns the claims, and these ids.
func (p *testPool) begin(jobs int, env ...string) (claims []pool.Claim, mains []int) {
	p.Helper()
	c := p.command("-q")
	c.Env = append(c.Env, env...)
	if out, err := c.CombinedOutput(); err != nil || len(out) > 0 {
		p.Fatalf("starter: %v: %s", err, out)
	}
	if claims = p.claims(); len(claims) != jobs {
		p.Fatalf("%d claims, want %d", len(claims), jobs)
	}
	for _, claim := range claims {
		mains = append(mains, p.pid(fmt.Sprintf("main.%d", claim.Job.Cluster)))
	}
	return claims, mains
}

// stays is a job that says who it is, and waits.
const stays = `echo $$ >main.${FAIRSPOOL_JOB%.*}; ` + hang

// stopTogether starts jobs, and sends SIGTERM to each and its supervisor, in either order and up to 50
// ms apart. No job is completed: all are idle, with the reason.
func (p *testPool) stopTogether(random *rand.Rand, jobs int) {
	p.Helper()
	claims, mains := p.begin(jobs, lagging(testenv.Longest))
	var all sync.WaitGroup
	for i, claim := range claims {
		pair := []int{claim.PID, mains[i]}
		if random.IntN(2) == 0 {
			pair[0], pair[1] = pair[1], pair[0]
		}
		between := time.Duration(random.IntN(50_001)) * time.Microsecond
		all.Go(func() {
			syscall.Kill(pair[0], unix.SIGTERM)
			<-time.After(between) // no verdict depends on how long that takes
			syscall.Kill(pair[1], unix.SIGTERM)
		})
	}
	all.Wait()
	p.noClaims()
	const want = `JobStatus=1 VacateReasonCode=1013 VacateReason="its supervisor was sent SIGTERM" ExitSignal=undefined`
	for _, claim := range claims {
		if got := p.queued(claim.Job, "JobStatus", "VacateReasonCode", "VacateReason", "ExitSignal"); got != want {
			p.Errorf("job %v: %s, want %s", claim.Job, got, want)
		}
	}
}

func TestStoppedTogether(t *testing.T) {
	t.Parallel()
	const jobs = 24
	p := newPool(t)
	for range jobs {
		p.match(stays)
	}
	p.stopTogether(rand.New(rand.NewPCG(1, 1)), jobs)
	p.logged("004 (024.000.000)", "Code 1013 Subcode 0", "-005 (")
}

// leastTogether is how many jobs TestSoakStoppedTogether ends, however short it is.
const leastTogether = 1000

func TestSoakStoppedTogether(t *testing.T) {
	length, seed := testenv.Soak(t)
	t.Parallel()
	const atOnce = 25
	p := newPool(t)
	random := rand.New(rand.NewPCG(seed, 3))
	for range atOnce {
		p.match(stays)
	}
	ended := 0
	for end := time.Now().Add(length); ended < leastTogether || time.Now().Before(end); ended += atOnce {
		p.stopTogether(random, atOnce)
		if t.Failed() {
			break
		}
		for n := range atOnce {
			os.Remove(filepath.Join(p.dir, fmt.Sprintf("main.%d", n+1)))
		}
		p.rematch()
	}
	t.Logf("%d jobs were ended with their supervisors", ended)
}

// TestStoppedAfterItsJob has a supervisor told to end when its job is dead of the same signal.
func TestStoppedAfterItsJob(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGKILL} {
		t.Run(supervise.SignalName(sig), func(t *testing.T) {
			t.Parallel()
			p := newPool(t)
			id := p.match(stays)
			claims, mains := p.begin(1, lagging(testenv.Longest))
			syscall.Kill(mains[0], sig)
			p.until("the job is dead", func() bool { return !alive(mains[0]) })
			syscall.Kill(claims[0].PID, sig)
			want := "JobStatus=1 VacateReasonCode=1013"
			if sig == unix.SIGKILL {
				p.until("the supervisor is dead", func() bool { return !alive(claims[0].PID) })
				p.command("-q").Run()
				want = "JobStatus=1 VacateReasonCode=1002"
			}
			p.noClaims()
			if got := p.queued(id, "JobStatus", "VacateReasonCode"); got != want {
				t.Errorf("the job: %s, want %s", got, want)
			}
		})
	}
}

// TestDiesByItself holds that a job whose supervisor is not told to end has ended by itself, and that
// only one that dies of a signal to end is waited for.
func TestDiesByItself(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, script string
		lag          time.Duration
		want         string
	}{
		{"told by somebody", `kill -TERM $$`, time.Millisecond, "ExitSignal=15"},
		{"killed by somebody", `kill -KILL $$`, time.Millisecond, "ExitSignal=9"},
		{"by its own fault", `kill -SEGV $$`, testenv.Longest, "ExitSignal=11"},
		{"by a signal for programs", `kill -USR1 $$`, testenv.Longest, "ExitSignal=10"},
		{"with a status", `exit 143`, testenv.Longest, "ExitCode=143"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPool(t)
			id := p.match(c.script)
			as := p.command("-q", "-wait")
			as.Env = append(as.Env, lagging(c.lag))
			if out, err := as.CombinedOutput(); err != nil || len(out) > 0 {
				t.Fatalf("starter: %v: %s", err, out)
			}
			name, _, _ := strings.Cut(c.want, "=")
			if got, want := p.history(id, "JobStatus", name), "JobStatus=4 "+c.want; got != want {
				t.Errorf("the job: %s, want %s", got, want)
			}
		})
	}
}

// A supervisor that is not told to end asks whether the machine shuts down.
func TestMachineStops(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	folder := filepath.Join(p.dir, "users")
	testenv.OK(t, os.CopyFS(folder, os.DirFS(os.Getenv(users))))
	p.write("users/systemctl", "#!/bin/sh\necho stopping\nexit 1\n")
	id := p.match(stays)
	_, mains := p.begin(1, users+"="+folder)
	syscall.Kill(mains[0], unix.SIGTERM)
	p.noClaims()
	const want = `JobStatus=1 VacateReasonCode=1013 VacateReason="the machine shuts down"`
	if got := p.queued(id, "JobStatus", "VacateReasonCode", "VacateReason"); got != want {
		t.Errorf("the job: %s, want %s", got, want)
	}
}
