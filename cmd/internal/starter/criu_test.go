package starter

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairspool/lib/launch"
)

// criuCommand returns criu(8), or what FAIRSPOOL_CRIU says is one, if it can do with this
// machine.
func criuCommand(t *testing.T) []string {
	t.Helper()
	command := []string{"criu"}
	if text := os.Getenv("FAIRSPOOL_CRIU"); text != "" {
		command = strings.Fields(text)
	}
	if err := launch.NewCriu(command).Usable(t.Context()); err != nil {
		t.Skipf("no transparent checkpoints on this machine: %v", err)
	}
	return command
}

// counting is a job that prints the numbers from 1 to 30, those above 10 when there is a file.
// It waits without another process or a pipe, for the sake of criu.
const counting = `n=0; while [ $n -lt 30 ]; do n=$((n+1)); echo $n; until [ $n != 10 ] || [ -e on ]; do :; done; done`

// mine are the attributes of a job of the standard universe that has our rights: criu can
// do more with those.
func mine() []string {
	return []string{"JobUniverse", "1", "Owner", fmt.Sprintf("%q", launch.CurrentAccount().Name)}
}

// A job of the standard universe that has to leave goes on where it was, whoever it is told
// by, and does not know.
func TestTransparentCheckpoint(t *testing.T) {
	t.Parallel()
	command := criuCommand(t)
	p := newPool(t)
	p.write("config.toml", fmt.Sprintf("NETWORK_HOSTNAME = \"node1\"\nCHECKPOINT_COMMAND = [\"%s\"]\n", strings.Join(command, `", "`)))
	id := p.match(counting, mine()...)
	p.running(id)
	p.until("the job counts", func() bool { return strings.Contains(p.read("out"), "\n10\n") })
	p.hold(id)
	p.noClaims()
	if got, want := p.queued(id, "JobStatus", "NumCkpts", "WastedTime"), "JobStatus=5 NumCkpts=1 WastedTime=undefined"; got != want {
		t.Errorf("the job's ad: %s, want %s", got, want)
	}
	p.logged("004 (001.000.000)", "(1) Job was checkpointed.", "012 (001.000.000)")
	images := filepath.Join(p.spool.Dir(), "execute", "1.0.images")
	if _, err := os.Stat(images); err != nil {
		t.Errorf("images of the job: %v", err)
	}
	p.write("on", "")
	p.release(id)
	p.rematch()
	p.starter(0, 1, "-wait")
	want := ""
	for n := range 30 {
		want += fmt.Sprintln(n + 1)
	}
	if got := p.read("out"); got != want {
		t.Errorf("the job has printed %q, want %q", got, want)
	}
	if got, want := p.history(id, "JobStatus", "ExitCode", "NumJobStarts"), "JobStatus=4 ExitCode=0 NumJobStarts=2"; got != want {
		t.Errorf("the job's ad: %s, want %s", got, want)
	}
	p.nothingLeft()
}

// Where the machine cannot do that, such a job is told to leave like any other.
func TestNoTransparentCheckpoint(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	p.write("config.toml", "NETWORK_HOSTNAME = \"node1\"\nCHECKPOINT_COMMAND = [\"/bin/false\"]\n")
	id := p.match(`trap "echo told >told; exit 3" TERM; echo $$ >main; `+heed, mine()...)
	p.running(id)
	p.pid("main")
	p.hold(id)
	p.noClaims()
	if p.read("told") != "told\n" {
		t.Error("the job was not told to leave")
	}
	if got, want := p.queued(id, "JobStatus", "NumCkpts", "CommittedTime"), "JobStatus=5 NumCkpts=undefined CommittedTime=undefined"; got != want {
		t.Errorf("the job's ad: %s, want %s", got, want)
	}
	if got := p.read("spool/starter.log"); !strings.Contains(got, "no transparent checkpoints on this machine: ") {
		t.Errorf("starter.log: %q, want why there are no checkpoints", got)
	}
	p.logged("004 (001.000.000)", "(0) CPU times")
}
