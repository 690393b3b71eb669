package cmd

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

	"fairspool/internal/testenv"
)

// The users of a machine that TestShared makes up.
const fair, alice, bob, admin = 1500, 1501, 1502, 1503

// machine is a machine with users of its own, and a spool that belongs to fair: a mount namespace for each command, over files of the test.
type machine struct {
	*testing.T
	etc, spools, bin string
	serveSays        io.Writer // standard error of serve
}

func newMachine(t *testing.T) machine {
	if os.Geteuid() != 0 {
		t.Skip("only root can be several users")
	}
	for _, tool := range []string{"unshare", "mount", "setpriv"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("without %s there is no other user: %v", tool, err)
		}
	}
	if out, err := exec.Command("unshare", "-m", "true").CombinedOutput(); err != nil {
		t.Skipf("no mount namespace to be had here: %v: %s", err, out)
	}
	built, dir := binaries(t), testenv.OnDisk(t)
	m := machine{t, filepath.Join(dir, "etc"), filepath.Join(dir, "spool"), filepath.Join(dir, "bin"), os.Stderr}
	for _, d := range []string{m.etc, filepath.Join(m.etc, "fairspool"), m.spools, filepath.Join(m.spools, "fairspool"), m.bin} {
		m.must(os.Mkdir(d, 0o755))
	}
	m.must(os.Chown(filepath.Join(m.spools, "fairspool"), fair, fair))
	passwd := "root:x:0:0::/:/bin/sh\n"
	for name, uid := range map[string]int{"fair": fair, "alice": alice, "bob": bob, "admin": admin} {
		passwd += fmt.Sprintf("%s:x:%d:%d::/:/bin/sh\n", name, uid, uid)
	}
	write(t, filepath.Join(m.etc, "passwd"), passwd)
	write(t, filepath.Join(m.etc, "fairspool", "fairspool.toml"), "UID_DOMAIN = \"pool\"\nADMINISTRATORS = [\"admin\"]\nDETECT_SLOTS = false\n")
	write(t, filepath.Join(m.etc, "job.sub"), "executable = /bin/true\nqueue 2\n")
	for _, name := range []string{"submit", "qstat", "qdel", "qhold", "qrls", "prio", "userprio", "spool", "slots", "negotiate", "starter", "serve", "glidein"} {
		text, err := os.ReadFile(filepath.Join(built, name))
		m.must(err)
		m.must(os.WriteFile(filepath.Join(m.bin, name), text, 0o755))
	}
	m.must(filepath.WalkDir(m.etc, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chmod(path, 0o755)
	}))
	return m
}

func (m machine) must(err error) {
	m.Helper()
	if err != nil {
		m.Fatal(err)
	}
}

// run runs a command with a real uid, and an environment.
func (m machine) run(uid int, environment []string, args ...string) answer {
	m.Helper()
	p := m.command(uid, environment, args...)
	var out, bad bytes.Buffer
	p.Stdout, p.Stderr = &out, &bad
	if err := p.Run(); p.ProcessState == nil {
		m.Fatal(err)
	}
	return answer{p.ProcessState.ExitCode(), out.String(), bad.String()}
}

// command returns the process that run runs.
func (m machine) command(uid int, environment []string, args ...string) *exec.Cmd {
	const script = `umount "$(command -v getent)" "$(command -v id)" 2>/dev/null; mount --bind "$1" /etc && mount --bind "$2" /var/spool && mount --bind "$3" /mnt && name=/mnt/$4 id=$5 && shift 5 &&
exec setpriv --reuid=$id --regid=$id --clear-groups -- "$name" "$@"`
	line := append([]string{"-m", "sh", "-c", script, "sh", m.etc, m.spools, m.bin, args[0], fmt.Sprint(uid)}, args[1:]...)
	p := exec.Command("unshare", line...)
	p.Dir, p.Env = "/", append([]string{"PATH=" + os.Getenv("PATH"), "FAIRSPOOL_CYCLE_ON_CHANGE=false"}, environment...)
	return p
}

func (m machine) expect(what string, a answer, status int, out, bad string) {
	m.Helper()
	if a.status != status || a.out != out || a.bad != bad {
		m.Errorf("%s = %d, %q, %q, want %d, %q, %q", what, a.status, a.out, a.bad, status, out, bad)
	}
}

// TestOthersPool holds that no command makes a second pool where the machine has one that
// the caller cannot use, and says how to get in.
func TestOthersPool(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	home, kept := "/var/spool/home", filepath.Join(m.spools, "home")
	m.must(os.Mkdir(kept, 0o777))
	m.must(os.Chmod(kept, 0o777))
	const own = "or choose a pool of your own with -spool DIR or FAIRSPOOL_DIR\n"
	state := []string{"HOME=" + home, "XDG_STATE_HOME=" + home}
	m.expect("bob: no pool yet", m.run(bob, state, "submit", "/etc/job.sub"), 1, "",
		"submit: /var/spool/fairspool, the place of this machine's pool, has no pool, and you may not make one there: ask for one, "+own)
	m.expect("fair: submit", m.run(fair, nil, "submit", "-terse", "/etc/job.sub"), 0, "1.0 - 1.1\n",
		"submit: warning: the pool has no slots, so no job starts: slots detect -partitionable makes this machine one\n")
	for _, args := range [][]string{
		{"submit", "/etc/job.sub"}, {"qstat"}, {"qdel", "1"}, {"qhold", "1"}, {"qrls", "1"}, {"prio", "+1", "1"}, {"userprio"}, {"spool", "stat"},
	} {
		m.expect("bob: "+args[0], m.run(bob, state, args...), 1, "",
			args[0]+": /var/spool/fairspool, this machine's pool, belongs to fair and has no door for other users: its administrator makes one with fairspool-setup, "+own)
	}
	if left, err := os.ReadDir(kept); len(left) > 0 || err != nil {
		t.Errorf("commands that were refused left %v, %v", left, err)
	}
	m.expect("bob: -spool", m.run(bob, state, "submit", "-terse", "-now", "2026-11-20T10:00:00Z", "-spool", filepath.Join(home, "pool"), "/etc/job.sub"), 0, "1.0 - 1.1\n", "")
	m.expect("bob: FAIRSPOOL_DIR", m.run(bob, append(state, "FAIRSPOOL_DIR="+filepath.Join(home, "pool")), "qstat", "-af", "ClusterId"), 0, "1\n1\n", "")
	m.must(os.Chown(filepath.Join(m.spools, "fairspool"), 0, 0))
	m.must(os.Chmod(filepath.Join(m.spools, "fairspool"), 0o700))
	m.expect("bob: submit to root's", m.run(bob, state, "submit", "/etc/job.sub"), 1, "",
		"submit: /var/spool/fairspool, this machine's pool, belongs to root and has no door for other users: its administrator makes one with fairspool-setup, "+own)

	// A pilot uses no pool of its machine's.
	testenv.WriteProgram(t, filepath.Join(kept, "ssh"), []byte("#!/bin/sh\nunset FAIRSPOOL_DIR FAIRSPOOL_CONFIG\nshift; exec sh -c \"$*\"\n"))
	write(t, filepath.Join(kept, "fairspool.toml"), fmt.Sprintf("DETECT_SLOTS = false\nCYCLE_ON_CHANGE = false\n[engine.farm]\nKIND = \"ssh\"\nHOSTS = [\"n1\"]\nSSH = [\"%[1]s/ssh\"]\nSTARTER = \"/mnt/starter\"\nSTATE = \"%[1]s/state\"\n", home))
	m.must(os.Chmod(filepath.Join(kept, "fairspool.toml"), 0o644))
	pilots := append(state, "FAIRSPOOL_DIR="+filepath.Join(home, "pilots"), "FAIRSPOOL_CONFIG="+filepath.Join(home, "fairspool.toml"))
	if a := m.run(bob, pilots, "submit", "-memory", "1", "output=/dev/null", "error=/dev/null", "--", "true"); a.status != 0 {
		t.Fatalf("bob: submit for a pilot = %+v", a)
	}
	m.expect("bob: glidein", m.run(bob, pilots, "glidein", "-q"), 0, "", "")
	t.Cleanup(func() { m.run(bob, pilots, "slots", "withdraw", "-gone", "n1") })
	testenv.Until(t, "the job of the pilot has ended", func() bool {
		m.run(bob, pilots, "negotiate", "-q")
		return m.run(bob, pilots, "qstat", "-af", "ProcId").out == ""
	})
}

// TestDoorDrives holds that a command through the door starts a cycle of the account's, that the
// account runs no job of another user's, not even before root's starter has ever run, and that root's
// runs it as its owner.
func TestDoorDrives(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	logs := filepath.Join(m.spools, "log")
	m.must(os.Mkdir(logs, 0o755))
	m.must(os.Chmod(logs, 0o777))
	write(t, filepath.Join(m.etc, "slot.ads"), "Name = \"slot1@node1\"\nMachine = \"node1\"\nMemory = 1024\nRequirements = true\n")
	write(t, filepath.Join(m.etc, "drive.sub"), "shell = id -u >/var/spool/log/some; mv /var/spool/log/some /var/spool/log/all\nqueue\n")
	for _, name := range []string{"slot.ads", "drive.sub"} {
		m.must(os.Chmod(filepath.Join(m.etc, name), 0o644))
	}
	write(t, filepath.Join(m.etc, "fairspool", "fairspool.toml"), "UID_DOMAIN = \"pool\"\nNETWORK_HOSTNAME = \"node1\"\nNEGOTIATOR_MIN_INTERVAL = 0\nDETECT_SLOTS = false\nMIN_UID = 1501\n")
	m.expect("fair: slots", m.run(fair, nil, "slots", "advertise", "/etc/slot.ads"), 0, "1 slot advertised.\n", "")
	m.open("FAIRSPOOL_CYCLE_ON_CHANGE=")
	m.expect("bob: submit", m.run(bob, []string{"HOME=/home/bob", "GODEBUG=madvdontneed=1"}, "submit", "/etc/drive.sub"), 0, "1 job submitted to cluster 1.\n", "")
	testenv.Until(t, "the cycle is over, and no change waits", func() bool {
		flags, err := os.ReadFile(filepath.Join(m.spools, "fairspool", "change.lock"))
		return err == nil && strings.HasPrefix(string(flags), "-- ") && strings.Contains(m.run(fair, nil, "spool", "log").out, " negotiate")
	})
	m.expect("fair: starter", m.run(fair, nil, "starter"), 1, "",
		"starter: spool /var/spool/fairspool: root's starter runs its jobs, as their owners: run this as root\n")
	m.expect("root: starter", m.run(0, nil, "starter", "-wait", "-q"), 0, "", "")
	ran, err := os.ReadFile(filepath.Join(logs, "all"))
	if got, want := string(ran), fmt.Sprintln(bob); err != nil || got != want {
		t.Errorf("the job ran with the uid %q, %v, want %q", got, err, want)
	}
	for _, line := range strings.Split(m.run(fair, nil, "spool", "log").out, "\n") {
		if f := strings.Fields(line); len(f) > 4 && f[4] == "negotiate" && f[3] != "fair" {
			t.Errorf("the log has a cycle that is not the account's: %s", line)
		}
	}
}

// TestOwner holds submit to the rights that submit(1) has for -owner: those of submit itself
// read the description and run its commands, and those of the owner write the log of root's
// submit.
func TestOwner(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	logs := filepath.Join(m.spools, "log")
	m.must(os.Mkdir(logs, 0o755))
	m.must(os.Chmod(logs, 0o777))
	const text = "executable = /bin/true\nlog = /var/spool/log/$(me).$(Cluster)\ninclude : \"sh -c 'echo me = `id -u`'\" |\nqueue\n"
	write(t, filepath.Join(m.etc, "all.sub"), text)
	write(t, filepath.Join(m.etc, "root.sub"), text)
	m.must(os.Chmod(filepath.Join(m.etc, "all.sub"), 0o644))
	m.must(os.Chmod(filepath.Join(m.etc, "root.sub"), 0o600))
	const first, second = "1 job submitted to cluster 1.\n", "1 job submitted to cluster 2.\n"

	m.open()
	const noSlots = "submit: warning: the pool has no slots, so no job starts: slots detect -partitionable makes this machine one\n"
	m.expect("fair: -owner alice", m.run(fair, nil, "submit", "-owner", "alice", "/etc/all.sub"), 0, first, noSlots)
	m.expect("bob: -owner bob", m.run(bob, nil, "submit", "-owner", "bob", "/etc/all.sub"), 0, second, "")
	m.expect("admin: -owner carol", m.run(admin, nil, "submit", "-owner", "carol", "/etc/all.sub"), 0, "1 job submitted to cluster 3.\n", "")
	m.expect("owners", m.run(fair, nil, "qstat", "-af", "Owner"), 0, "alice\nbob\ncarol\n", "")
	if a := m.run(bob, nil, "submit", "-owner", "alice", "-dry-run", "-", "/etc/all.sub"); a.status != 0 || !strings.Contains(a.out, "Owner = \"alice\"\n") {
		t.Errorf("bob: -owner alice -dry-run = %d, %q, %q, want ads of alice's", a.status, a.out, a.bad)
	}
	m.expect("fair: root.sub", m.run(fair, nil, "submit", "-owner", "alice", "/etc/root.sub"), 1, "", "submit: /etc/root.sub: permission denied\n")

	root := func(owner, file string) answer {
		return m.run(0, nil, "submit", "-spool", "/var/spool/root", "-owner", owner, "/etc/"+file)
	}
	m.expect("root: -owner alice", root("alice", "all.sub"), 0, first, noSlots)
	m.expect("root: -owner alice root.sub", root("alice", "root.sub"), 1, "", "submit: /etc/root.sub: permission denied\n")
	m.expect("root: -owner carol", root("carol", "root.sub"), 0, second, "submit: job log: rights of carol: this machine knows no such user; everything else is done\n")
	for name, uid := range map[string]int{"1501.1": alice} {
		about, err := os.Stat(filepath.Join(logs, name))
		m.must(err)
		if got := int(about.Sys().(*syscall.Stat_t).Uid); got != uid {
			t.Errorf("log %s belongs to %d, want %d", name, got, uid)
		}
	}
}
