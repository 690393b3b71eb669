package cmd

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/internal/testenv"
)

// newUser is an ordinary user with nothing but the programs: no configuration, no spool. A test
// of root's becomes one.
type newUser struct {
	*testing.T
	home string
}

// newNewUser installs the programs below a home, as `make install PREFIX=$HOME/.local` does.
func newNewUser(t *testing.T) newUser {
	u := newUser{t, filepath.Join(t.TempDir(), "home")}
	bin := filepath.Join(u.home, ".local", "bin")
	testenv.OK(t, os.MkdirAll(bin, 0o755))
	testenv.OK(t, os.CopyFS(bin, os.DirFS(testenv.Commands(t))))
	cmdtest.Share(t, u.home)
	if os.Geteuid() == 0 {
		for _, dir := range []string{u.home, filepath.Dir(bin)} {
			testenv.OK(t, os.Chown(dir, cmdtest.OwnerID, cmdtest.OwnerID))
		}
	}
	t.Cleanup(func() { killAll(u.home) })
	return u
}

// command is a line that /bin/sh runs in the user's home, with nothing in the environment but
// the home and what is given.
func (u newUser) command(line string, env ...string) *exec.Cmd {
	c := exec.Command("/bin/sh", "-c", line)
	c.Dir, c.Env = u.home, append(env, "HOME="+u.home)
	if os.Geteuid() == 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: cmdtest.OwnerID, Gid: cmdtest.OwnerID}}
	}
	return c
}

// run runs a line with the programs in PATH, and returns what it prints.
func (u newUser) run(line string) string {
	u.Helper()
	out, err := u.command(line, "PATH="+filepath.Join(u.home, ".local", "bin")+":/usr/bin:/bin").CombinedOutput()
	if err != nil {
		u.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}
