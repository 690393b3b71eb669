package starter

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairspool/internal/testenv"
	"fairspool/lib/pool"
)

// slowRestore has a job of the standard universe matched. The job has images, but restoring
// them never ends.
func slowRestore(t *testing.T, conf string) (p *testPool, id pool.JobID, images string) {
	t.Helper()
	p = newPool(t)
	criu := p.write("criu", p.here("[ $1 = restore ] || exit 0\necho $$ >HERE/restoring\nexec "+linger+"\n"))
	p.write("config.toml", "NETWORK_HOSTNAME = \"node1\"\nCHECKPOINT_COMMAND = [\"/bin/sh\", \""+criu+"\"]\n"+conf)
	id = p.match(forever, mine()...)
	images = filepath.Join(p.spool.Dir(), "execute", id.String()+".images")
	err := os.MkdirAll(images, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(images, "fairspool.pid"), []byte("4194304\n"), 0o600) // nobody has this number
	}
	testenv.OK(t, err)
	return p, id, images
}

// A job that has to leave while its processes are made again does so at once, and its images
// are there for the next time.
func TestHeldWhileRestored(t *testing.T) {
	t.Parallel()
	p, id, images := slowRestore(t, "")
	pass := p.command("-q")
	testenv.OK(t, pass.Start())
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
