package starter

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// unlocks does all that a program can do to file 3 to have it forgotten, and then goes on beside the
// job with no mark of it in its environment and its limits.
const unlocks = `exec 2>&1; flock -u 3; echo x >&3 && echo written; echo y >/proc/self/fd/3 && echo written; truncate -s 9 /proc/self/fd/3 && echo truncated
ulimit -x unlimited; setsid env -i sh -c 'echo $$ >HERE/left.new; mv HERE/left.new HERE/left; exec tail -f /dev/null' &
until [ -s HERE/left ]; do :; done; `

// TestJobCannotFreeItsClaim holds that a job cannot make itself seem ended: changes to the file that
// it inherits have no effect, and its remaining processes are found when its supervisor was killed,
// whatever they have shed. Processes that have closed that file are found by their marks.
func TestJobCannotFreeItsClaim(t *testing.T) {
	t.Parallel()
	for name, shed := range map[string]string{
		"keeps the file":   unlocks,
		"closes the file":  strings.Replace(strings.Replace(unlocks, "env -i ", "", 1), "ulimit -x unlimited; setsid", "exec 3<&-; setsid", 1),
		"keeps its limits": strings.Replace(unlocks, "ulimit -x unlimited; setsid", "exec 3<&-; setsid", 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPool(t)
			p.write("config.toml", "NETWORK_HOSTNAME = \"node1\"\nBASE_CGROUP = \"\"\n")
			p.match(shed + hang)
			p.starter(0, 1)
			left := p.pid("left")
			p.kill(p.claims()[0].PID)
			if !alive(left) {
				t.Fatal("what the job has left beside it ended with the supervisor, and shows nothing")
			}
			lock := p.spool.ClaimLock(p.claims()[0].LockName())
			fd, err := unix.Open(lock+".pipe", unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
			there := err == nil // a process of the job can read from it
			if there {
				unix.Close(fd)
			} else if err == unix.ENXIO {
				err = nil
			}
			if want := name == "keeps the file"; there != want || err != nil {
				t.Errorf("by the pipe the job is alive: %v, %v, want %v", there, err, want)
			}
			p.starter(0, 0)
			if alive(left) {
				t.Errorf("process %d of the job is alive after the pass that ended its claim", left)
			}
			got := p.read("out")
			if strings.Contains(got, "truncated") {
				t.Errorf("the job says %q, want that it could not truncate", got)
			}
			// By /proc it opens the pipe anew if that is of its own account, as where no root starts it: which frees nothing.
			if os.Geteuid() == 0 && strings.Contains(got, "written") {
				t.Errorf("the job says %q, want that it could not write", got)
			}
			p.noClaims()
		})
	}
}

// kill kills a process, and waits until it has gone.
func (p *testPool) kill(pid int) {
	p.Helper()
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		p.Fatal(err)
	}
	p.until("the process has gone", func() bool { return !alive(pid) })
}
