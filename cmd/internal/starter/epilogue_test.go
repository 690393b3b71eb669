package starter

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"fairspool/internal/testenv"
	"fairspool/lib/pool"
	"fairspool/lib/supervise"
)

// dallies names the step at which a starter waits, the file that it makes then, and the
// file that it waits for, separated by blanks.
const dallies = "STARTER_TEST_DALLIES"

// dallyAsTold has this process wait when it has reached a step, if the environment says so.
func dallyAsTold() {
	words, before := strings.Fields(os.Getenv(dallies)), reached
	if len(words) == 0 {
		return
	}
	reached = func(s supervise.Step) {
		if before(s); string(s) != words[0] {
			return
		}
		os.WriteFile(words[1], []byte("\n"), 0o600)
		testenv.Await(func() bool { return allThere(words[2:]) })
	}
}

// TestLateWord has the pass that ends a dead supervisor's attempt come late to the job's
// event log, when the next attempt could have ended long ago: the log has all in order. A pass
// that does not go on at all keeps the job from nothing.
func TestLateWord(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		stays  bool // until the job has ended
		events string
	}{{"late", false, "1 7 1 5"}, {"after all", true, "1 1 5 7"}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPool(t)
			id := p.match(p.recorded(`[ $a = 1 ] && { echo >>HERE/first; ` + linger + `; }; over`))
			claim := p.running(id)
			p.until("the job is there", func() bool { return p.read("first") != "" })
			syscall.Kill(claim.PID, syscall.SIGKILL)
			p.until("the supervisor is dead", func() bool { return !alive(claim.PID) })

			late := p.command("-q")
			late.Env = append(late.Env, fmt.Sprintf("%s=%s %s %s", dallies, stepFinished, filepath.Join(p.dir, "dallies"), filepath.Join(p.dir, "on")))
			testenv.OK(t, late.Start())
			p.until("the end is recorded, and not in the log", func() bool { return p.read("dallies") != "" })
			p.rematch()
			next := p.command("-q", "-wait")
			if c.stays {
				next.Env = append(next.Env, patient+"=0")
			}
			testenv.OK(t, next.Start())
			if c.stays {
				if err := next.Wait(); err != nil { // the job has ended, and its supervisor
					t.Error(err)
				}
			} else {
				p.until("the next attempt has begun", func() bool { return !slices.ContainsFunc(p.claims(), isMatched) })
				testenv.Opened(t, p.spool.ClaimLock("1.0.1"))() // its supervisor waits for the late word
			}
			p.write("on", "")
			if err := late.Wait(); err != nil {
				t.Error(err)
			}
			if !c.stays {
				if err := next.Wait(); err != nil {
					t.Error(err)
				}
			}
			p.settled()
			if got := spaced(p.events(id, "log")); got != c.events {
				t.Errorf("events %s, want %s", got, c.events)
			}
		})
	}
}

func isMatched(c pool.Claim) bool { return c.State == pool.Matched }
