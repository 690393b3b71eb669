package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/pool"
)

// What goes on to its end is ended by a limit of the job's policy, and not by expressions
// that are to be looked at meanwhile.
func TestToEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		limit string // AllowedJobDuration
		ends  bool
	}{
		{"no limit", "undefined", false},
		{"a limit that is not over", "3600", false},
		{"a limit that is over", "60", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPool(t)
			id := p.match(`exit 0`)
			n, a := &tenure{spool: p.spool}, pool.Attempt{Job: id, Number: 1}
			s := &supervisor{Attempt: a, tenure: n, log: n.logOf(a)}
			var err error
			if s.lock, err = lockClaim(p.spool.ClaimLock("1.0.1")); err != nil {
				t.Fatal(err)
			}
			defer s.lock.remove()
			s.policy.began = time.Now().Add(-10 * time.Minute)
			s.policy.next = time.Now().Add(-time.Second) // expressions have been due for a while
			s.policy.limits = jobpolicy.Limits(&classad.Context{}, adOf(t, "AllowedJobDuration", c.limit))
			at := s.watchSpool()
			defer at.end()
			over, gone, err := s.toEnd(at, func(ctx context.Context) error {
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-time.After(lookEvery):
					return nil
				}
			})
			if gone || (err != nil) != c.ends || (over.Action == jobpolicy.Hold) != c.ends {
				t.Errorf("toEnd = %v, %v, %v, want it ended: %v", over, gone, err, c.ends)
			}
		})
	}
}

// Images are made of a job that is a whole tree, be it with members that wait to be reaped.
func TestWithin(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name            string
		tree, processes []int
		want            bool
	}{
		{"all", []int{7, 8, 9}, []int{9, 7, 8}, true},
		{"one waits to be reaped", []int{7, 8, 9}, []int{7, 9}, true},
		{"one has left the tree", []int{7, 8}, []int{7, 8, 9}, false},
		{"one has left, and another waits to be reaped", []int{7, 8}, []int{7, 9}, false},
	} {
		if got := within(c.tree, c.processes); got != c.want {
			t.Errorf("%s: within(%v, %v) = %v, want %v", c.name, c.tree, c.processes, got, c.want)
		}
	}
}

// slowRestore has a job of the standard universe matched, of which there are images, from which
// nothing is ever made.
func slowRestore(t *testing.T, conf string) (p *testPool, id pool.JobID, images string) {
	t.Helper()
	p = newPool(t)
	criu := p.write("criu", p.here("[ $1 = restore ] || exit 0\necho $$ >HERE/restoring\nexec "+linger+"\n"))
	p.write("config.toml", "NETWORK_HOSTNAME = \"node1\"\nCHECKPOINT_COMMAND = [\"/bin/sh\", \""+criu+"\"]\n"+conf)
	id = p.match(forever, mine()...)
	images = filepath.Join(p.spool.Dir(), "execute", id.String()+imagesName)
	err := os.MkdirAll(images, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(images, "fairspool.pid"), []byte("4194304\n"), 0o600) // nobody has this number
	}
	if err != nil {
		t.Fatal(err)
	}
	return p, id, images
}

// A job that has to leave while its processes are made again does so at once, and its images
// are there for the next time.
func TestHeldWhileRestored(t *testing.T) {
	t.Parallel()
	p, id, images := slowRestore(t, "")
	pass := p.command("-q")
	if err := pass.Start(); err != nil {
		t.Fatal(err)
	}
	pid := p.pid("restoring")
	p.hold(id)
	p.noClaims()
	if err := pass.Wait(); err != nil {
		t.Errorf("starter: %v", err)
	}
	if got, want := p.queued(id, "JobStatus", "NumJobStarts"), "JobStatus=5 NumJobStarts=0"; got != want {
		t.Errorf("the job: %s, want %s", got, want)
	}
	if _, err := os.Stat(images); err != nil || alive(pid) {
		t.Errorf("images: %v, want them there; criu is alive: %v, want false", err, alive(pid))
	}
}

// A job whose processes cannot be made again in time begins anew, and there is nothing from
// which they could be made later.
func TestRestoreTakesTooLong(t *testing.T) {
	t.Parallel()
	p, id, images := slowRestore(t, "MACHINE_MAX_VACATE_TIME = 0.1\n")
	p.running(id)
	p.pid("main")
	if _, err := os.Stat(images); err == nil {
		t.Error("there are images of the job, want none of one that has begun anew")
	}
	if got := p.read("spool/starter.log"); !strings.Contains(got, "it begins anew: ") {
		t.Errorf("starter.log = %q, want why the job begins anew", got)
	}
	p.remove(id)
	p.noClaims()
}
