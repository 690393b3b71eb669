package starter

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/spool"
)

// rootsPool is a pool of root's.
func rootsPool(t *testing.T) *testPool {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can run jobs as somebody else")
	}
	return newPool(t)
}

// whoIs is a script that tells what rights it has, and writes to all that is its own.
const whoIs = `echo $(id -u) $(id -g) $USER; touch made "$TMPDIR/x" || echo no`

// A job of root's starter has its owner's rights, and so has what it leaves.
func TestRunsAsItsOwner(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		owner    string
		uid      int
		transfer []string
	}{
		{"alice", cmdtest.OwnerID, nil},
		{"alice", cmdtest.OwnerID, []string{"ShouldTransferFiles", `"YES"`, "TransferExecutable", "false"}},
		{"root", 0, nil},
	} {
		t.Run(fmt.Sprintf("%s%d", c.owner, len(c.transfer)), func(t *testing.T) {
			t.Parallel()
			p := rootsPool(t)
			id := p.match(whoIs, append(c.transfer, "Owner", `"`+c.owner+`"`)...)
			p.starter(0, 1, "-wait")
			if got := p.history(id, "ExitCode"); got != "ExitCode=0" {
				t.Errorf("the job's ad: %s, want ExitCode=0", got)
			}
			if got, want := p.read("out"), fmt.Sprintf("%d %[1]d %s\n", c.uid, c.owner); got != want {
				t.Errorf("the job is %q, want %q", got, want)
			}
			for _, name := range []string{"out", "err", "made", "log"} {
				if got := uidOf(t, filepath.Join(p.dir, name)); got != c.uid {
					t.Errorf("%s belongs to %d, want %d", name, got, c.uid)
				}
			}
			p.nothingLeft()
		})
	}
}

func uidOf(t *testing.T, path string) int {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Error(err)
		return -1
	}
	return int(info.Sys().(*syscall.Stat_t).Uid)
}

// A job of a user that the machine does not know runs as the account for unknown users,
// and never as root.
func TestRunsAsNobody(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		nobody string
		runs   bool
	}{
		{"", false}, {"nobody", true}, {"root", false}, {"stranger", false},
	} {
		t.Run(c.nobody, func(t *testing.T) {
			t.Parallel()
			p := rootsPool(t)
			p.write("config.toml", "NETWORK_HOSTNAME = \"node1\"\nNOBODY_SLOT_USER = \""+c.nobody+"\"\n")
			id := p.match(whoIs, "Owner", `"stranger"`)
			if c.runs {
				p.starter(0, 1, "-wait")
				if got := p.read("out"); !strings.HasSuffix(got, " nobody\n") || strings.HasPrefix(got, "0 ") {
					t.Errorf("the job is %q, want nobody", got)
				}
				return
			}
			p.starter(1, 0, "-wait")
			const want = "JobStatus=5 HoldReasonCode=6 NumJobStarts=0"
			if got := p.queued(id, "JobStatus", "HoldReasonCode", "NumJobStarts"); got != want {
				t.Errorf("the job's ad: %s, want %s", got, want)
			}
			p.reason(id, "HoldReason")
			if p.read("out") != "" {
				t.Errorf("the job ran: %s", p.read("out"))
			}
			p.noClaims()
		})
	}
}

// When nobody can tell who the owner is just now the job has to try again.
func TestOwnerCannotBeLookedUp(t *testing.T) {
	p := rootsPool(t)
	id := p.match(whoIs, "UserLog", "undefined", "Owner", `"unreachable"`)
	p.starter(1, 0, "-wait")
	if got, want := p.queued(id, "JobStatus", "NumJobStarts"), "JobStatus=1 NumJobStarts=0"; got != want {
		t.Errorf("the job's ad: %s, want %s", got, want)
	}
	p.noClaims()
}

// Users get through a spool of root's to their own scratch directories, and see or open
// nothing else in it.
func TestSpoolIsClosed(t *testing.T) {
	t.Parallel()
	p := rootsPool(t)
	execute := filepath.Join(p.spool.Dir(), "execute")
	if err := os.Mkdir(execute, 0o700); err != nil { // as it was in older releases
		t.Fatal(err)
	}
	p.match(`: >there; ` + awaitGo)
	p.match(`exit 1`, "Cmd", `"/no/such"`)
	p.starter(1, 1)
	p.until("the job runs", func() bool { _, err := os.Stat(filepath.Join(p.dir, "there")); return err == nil })
	seen := 0
	err := filepath.WalkDir(p.spool.Dir(), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		mode, want := info.Mode().Perm(), fs.FileMode(0)
		if path == p.spool.Dir() || path == execute {
			want = 0o011
		}
		if seen++; mode&0o077 != want {
			t.Errorf("%s has mode %v, want %v of it for others", path, mode, want)
		}
		if filepath.Dir(path) == execute {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil || seen < 15 {
		t.Errorf("looked at %d files of the spool, %v, want 15 at least", seen, err)
	}
	p.open()
	p.noClaims()
	sound, err := spool.Check(p.spool.Dir(), spool.Options{}, func(spool.Finding) {})
	if !sound || err != nil {
		t.Errorf("Check = %v, %v, want the spool sound", sound, err)
	}
}
