package starter

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/cmd/internal/joblog"
	"fairspool/internal/testenv"
	"fairspool/lib/asuser"
	"fairspool/lib/pool"
	"fairspool/lib/userlog"
)

// accountName is a system account that about every machine has.
const accountName = "daemon"

// accountsPool is a pool whose spool belongs to a system account.
func accountsPool(t *testing.T) (p *testPool, account asuser.User) {
	t.Helper()
	p = rootsPool(t)
	account, known, err := asuser.LookUp(accountName)
	if !known || err != nil || account.UID == 0 || account.UID >= 1000 {
		t.Skipf("the machine has no system account %s: %v", accountName, err)
	}
	p.giveTo(account.UID)
	testenv.OK(t, os.Chmod(p.config, 0o644))
	return p, account
}

// giveTo makes the spool belong to a user, by whom alone it is used: mode 0700.
func (p *testPool) giveTo(uid int) {
	p.Helper()
	err := filepath.WalkDir(p.spool.Dir(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || strings.HasPrefix(path, filepath.Join(p.spool.Dir(), "execute")+"/") {
			return err
		}
		return errors.Join(os.Lchown(path, uid, uid), os.Chmod(path, map[bool]fs.FileMode{true: 0o700, false: 0o600}[d.IsDir()]))
	})
	if err != nil {
		p.Fatal(err)
	}
}

// belongs holds that all that is in the spool belongs to a user, but for what lies in scratch
// directories.
func (p *testPool) belongs(uid int) {
	p.Helper()
	execute, seen := filepath.Join(p.spool.Dir(), "execute"), 0
	err := filepath.WalkDir(p.spool.Dir(), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if filepath.Dir(path) == execute && d.IsDir() {
			return fs.SkipDir
		}
		if seen++; uidOf(p.T, path) != uid {
			p.Errorf("%s belongs to uid %d, want %d", path, uidOf(p.T, path), uid)
		}
		return nil
	})
	if err != nil || seen < 10 {
		p.Errorf("looked at %d files of the spool, %v, want 10 at least", seen, err)
	}
}

// noScratch waits until no scratch directory is left.
func (p *testPool) noScratch() {
	p.Helper()
	p.until("no scratch directory is left", func() bool {
		left, _ := os.ReadDir(filepath.Join(p.spool.Dir(), "execute"))
		return len(left) == 0
	})
}

// TestAccountsPool holds that root's starter runs jobs from the spool of an account as their owners, that
// it leaves nothing of root's there, and that neither job nor account can do anything to the supervisor.
func TestAccountsPool(t *testing.T) {
	t.Parallel()
	for name, pairs := range map[string][]string{
		"in place": nil,
		"transfer": {"ShouldTransferFiles", `"YES"`, "TransferExecutable", "false", "TransferOutput", `"made"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, account := accountsPool(t)
			closed := `mkdir "$TMPDIR/closed"; touch "$TMPDIR/closed/x"; chmod 0 "$TMPDIR/closed"; `
			id := p.match(closed+whoIs+`
kill -9 $PPID 2>/dev/null && echo killed; cat /proc/$PPID/environ >/dev/null 2>&1 && echo looked
sed -n 's/^\([UG]id:\)\t/\1 /p' /proc/$PPID/status`, pairs...)
			p.starter(0, 1, "-wait")
			if got := p.history(id, "ExitCode"); got != "ExitCode=0" {
				t.Errorf("the job's ad: %s, want ExitCode=0; starter.log: %s", got, p.read("spool/starter.log"))
			}
			want := fmt.Sprintf("%d %[1]d alice\nUid: 0\t%d\t0\t%[2]d\nGid: 0\t%d\t0\t%[3]d\n", cmdtest.OwnerID, account.UID, account.GID)
			if got := p.read("out"); got != want {
				t.Errorf("the job says %q, want %q", got, want)
			}
			for _, name := range []string{"out", "err", "made", "log"} {
				if got := uidOf(t, filepath.Join(p.dir, name)); got != cmdtest.OwnerID {
					t.Errorf("%s belongs to uid %d, want %d", name, got, cmdtest.OwnerID)
				}
			}
			p.noClaims()
			p.noScratch()
			p.belongs(account.UID)
			if got := p.read("spool/starter.log"); got != "" {
				t.Errorf("starter.log = %q, want nothing", got)
			}
		})
	}
}

// TestAccountsJobsEnd holds that jobs end that have to leave, and with a supervisor that is killed.
func TestAccountsJobsEnd(t *testing.T) {
	t.Parallel()
	p, account := accountsPool(t)
	p.match(`setsid env -i sh -c 'echo $$ >HERE/left.new; mv HERE/left.new HERE/left; exec tail -f /dev/null' & echo $$ >HERE/own.new; mv HERE/own.new HERE/own; ` + hang)
	p.starter(0, 1)
	own, left := p.pid("own"), p.pid("left")
	p.belongs(account.UID)
	p.kill(p.claims()[0].PID)
	p.until("the job ends with its supervisor", func() bool { return !alive(own) })
	p.starter(0, 0)
	if alive(left) {
		t.Errorf("process %d of the job is alive after the pass that ended its claim", left)
	}
	p.noClaims()
	p.noScratch()
	p.belongs(account.UID)
}

// TestAccountsJobIsHeld holds that a job with more rights than a user's is held.
func TestAccountsJobIsHeld(t *testing.T) {
	t.Parallel()
	for _, owner := range []string{"root", accountName, "bin"} {
		t.Run(owner, func(t *testing.T) {
			t.Parallel()
			p, _ := accountsPool(t)
			id := p.match(`: >HERE/ran`, "Owner", strconv.Quote(owner), "UserLog", `"`+filepath.Join(p.dir, "log")+`"`)
			p.starter(1, 0, "-wait")
			if got, want := p.queued(id, "JobStatus"), "JobStatus=5"; got != want {
				t.Errorf("the job's ad: %s, want %s", got, want)
			}
			p.reason(id, "HoldReason")
			for _, name := range []string{"ran", "log"} {
				if _, err := os.Lstat(filepath.Join(p.dir, name)); !errors.Is(err, fs.ErrNotExist) && owner != accountName {
					t.Errorf("%s: %v, want that nothing was done with the rights of %s", name, err, owner)
				}
			}
		})
	}
}

// TestWhomRootServes holds that root serves neither a user nor a configuration of others, and
// that the account's own starter runs nothing once root's has.
func TestWhomRootServes(t *testing.T) {
	t.Parallel()
	t.Run("user", func(t *testing.T) {
		t.Parallel()
		p, _ := accountsPool(t)
		p.giveTo(cmdtest.OwnerID)
		p.starter(1, 0)
		p.belongs(cmdtest.OwnerID)
	})
	t.Run("configuration", func(t *testing.T) {
		t.Parallel()
		p, _ := accountsPool(t)
		testenv.OK(t, os.Chmod(p.config, 0o666))
		p.starter(1, 0)
	})
	t.Run("account", func(t *testing.T) {
		t.Parallel()
		p, account := accountsPool(t)
		p.starter(0, 0)
		p.match(`: >HERE/ran`)
		c := p.command()
		c.Path, c.SysProcAttr = copyOf(t, p.dir, c.Path), &syscall.SysProcAttr{Credential: account.Credential()}
		out, err := c.CombinedOutput()
		if c.ProcessState.ExitCode() != 1 {
			t.Errorf("starter of the account: %v, want exit status 1", err)
		}
		p.printed("starter (account)", 1, string(out))
		if len(p.claims()) != 1 || p.read("ran") != "" {
			t.Errorf("the account's starter has run the job, or given up its claim")
		}
	})
}

// copyOf copies a program to where every user can execute it.
func copyOf(t *testing.T, dir, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	testenv.OK(t, err)
	path = filepath.Join(dir, "starter")
	testenv.WriteProgram(t, path, text)
	return path
}

// TestHostileAccount holds that links in the spool lead root nowhere.
func TestHostileAccount(t *testing.T) {
	t.Parallel()
	p, account := accountsPool(t)
	roots := filepath.Join(p.dir, "roots")
	testenv.OK(t, os.Mkdir(roots, 0o700))
	secret := filepath.Join(roots, "secret")
	testenv.OK(t, os.WriteFile(secret, []byte("kept\n"), 0o600))
	id := p.match(`exit 0`)
	for name, to := range map[string]string{
		"execute": roots, "starter.log": secret, "change.lock": secret, "negotiate.log": filepath.Join(roots, "made"),
		"claims.d/" + pool.Claim{Job: id, Attempt: 1}.LockName(): secret, "claims.d/owed-1-1-1": secret, "starter.root": filepath.Join(roots, "made"),
	} {
		path := filepath.Join(p.spool.Dir(), name)
		testenv.OK(t, errors.Join(os.Symlink(to, path), os.Lchown(path, account.UID, account.GID)))
	}
	c := p.command("-wait")
	c.CombinedOutput() // whatever comes of it
	text, err := os.ReadFile(secret)
	entries, _ := os.ReadDir(roots)
	if string(text) != "kept\n" || err != nil || len(entries) != 1 || uidOf(t, secret) != 0 || uidOf(t, roots) != 0 {
		t.Errorf("behind the links are %q, %v, %v, want what was there", text, entries, err)
	}
}

// TestOwedEvents holds that root's starter delivers what the account owes to the logs of jobs, in
// order and once, before it writes to them itself.
func TestOwedEvents(t *testing.T) {
	t.Parallel()
	p, account := accountsPool(t)
	p.starter(0, 0)
	id := p.match(`exit 0`)
	for i, body := range []userlog.Body{userlog.Held{Reason: "first"}, userlog.Released{Reason: "second"}, userlog.Held{Reason: "first"}, userlog.Released{Reason: "third"}} {
		event := userlog.Event{Job: id, At: matchedAt, Body: body}
		path := p.write(fmt.Sprintf("spool/claims.d/owed-%020d-1-1", i+1), joblog.OwedText(filepath.Join(p.dir, "log"), "alice", event))
		testenv.OK(t, os.Chown(path, account.UID, account.GID))
	}
	p.starter(0, 1, "-wait")
	p.starter(0, 0)
	var got []string
	for line := range strings.Lines(p.read("log")) {
		if number, _, is := strings.Cut(line, " (001.000.000) "); is {
			got = append(got, number)
		}
	}
	if want := "012 013 012 013 001 005"; strings.Join(got, " ") != want {
		t.Errorf("the events of the log are %v, want %s:\n%s", got, want, p.read("log"))
	}
	if got := uidOf(t, filepath.Join(p.dir, "log")); got != cmdtest.OwnerID {
		t.Errorf("the log belongs to uid %d, want %d", got, cmdtest.OwnerID)
	}
	p.noClaims()
}
