package cmd

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fairspool/internal/testenv"
)

// farm is a machine head with all programs, and the machines n1, n2 and n3, which have none. ssh leads from
// head to each of these as the same user; root's own is let in there if asRoot is true.
type farm struct {
	head     host
	machines map[string]host
}

// newFarm starts a farm with an sshd on each machine but head.
func newFarm(t *testing.T, asRoot bool) farm {
	t.Helper()
	_, err := exec.LookPath("/usr/sbin/sshd")
	for _, tool := range []string{"ssh", "ssh-keygen"} {
		if err == nil {
			_, err = exec.LookPath(tool)
		}
	}
	if err != nil {
		t.Skipf("without ssh there is no farm: %v", err)
	}
	f := farm{newHostOf(t, "head", binaries(t), false), map[string]host{}}
	config := "BatchMode yes\nGlobalKnownHostsFile /etc/ssh/ssh_known_hosts\n"
	f.head.must(os.MkdirAll(f.head.path("etc/ssh"), 0o755))
	for _, name := range []string{"n1", "n2", "n3"} {
		m := newHostOf(t, name, "", false)
		f.machines[name] = m
		config += f.letIn(m, name, f.head)
		m.must(os.MkdirAll(m.path("var/tmp"), 0o777))
		m.must(os.Chmod(m.path("var/tmp"), 0o777|os.ModeSticky))
	}
	f.append(f.head.path("etc/ssh/ssh_config"), config)
	for user, uid := range f.head.users() {
		f.giveKey(f.head.path("home/"+user), uid, user)
	}
	if asRoot {
		f.giveKey(f.head.path("root"), 0, "root")
	}
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		for name, m := range f.machines {
			text, _ := os.ReadFile(m.path("run/sshd.log"))
			t.Logf("sshd of %s: %s", name, text)
		}
	})
	return f
}

// letIn starts an sshd on a machine of that name, which another one knows then. It returns what ssh has to be told
// there.
func (f farm) letIn(m host, name string, from host) string {
	f.head.Helper()
	port := freePort(f.head.T)
	key := m.path("etc/ssh/host_key")
	for _, folder := range []string{"run/sshd", "etc/ssh/keys"} {
		m.must(os.MkdirAll(m.path(folder), 0o755))
	}
	f.keygen(key)
	write(f.head.T, m.path("etc/ssh/sshd_config"), fmt.Sprintf("ListenAddress 127.0.0.1\nPort %d\nHostKey /etc/ssh/host_key\nPidFile /run/sshd.pid\n"+
		"AuthorizedKeysFile /etc/ssh/keys/%%u\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nUsePAM no\nStrictModes no\nUseDNS no\n", port))
	f.append(m.path("etc/passwd"), "sshd:x:74:74::/run/sshd:/bin/false\n")
	public, err := os.ReadFile(key + ".pub")
	m.must(err)
	m.must(os.MkdirAll(from.path("etc/ssh"), 0o755))
	f.append(from.path("etc/ssh/ssh_known_hosts"), name+" "+string(public))
	if a := m.run("root", startSSHD); a.status != 0 {
		f.head.Fatalf("sshd of %s: %+v", name, a)
	}
	return fmt.Sprintf("Host %s\n  HostName 127.0.0.1\n  Port %d\n  HostKeyAlias %[1]s\n", name, port)
}

const startSSHD = "/usr/sbin/sshd -f /etc/ssh/sshd_config -E /run/sshd.log"

// giveKey makes a key of a user of head's with that home and uid, which lets in to an account on each machine.
func (f farm) giveKey(home string, uid int, account string) {
	f.head.Helper()
	key := filepath.Join(home, ".ssh", "id_ed25519")
	f.head.must(os.MkdirAll(filepath.Dir(key), 0o700))
	f.keygen(key)
	for _, path := range []string{filepath.Dir(key), key, key + ".pub"} {
		f.head.must(os.Chown(path, uid, uid))
	}
	public, err := os.ReadFile(key + ".pub")
	f.head.must(err)
	for _, m := range f.machines {
		f.append(m.path("etc/ssh/keys/"+account), string(public))
	}
}

func (f farm) keygen(path string) {
	f.head.Helper()
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", path).CombinedOutput(); err != nil {
		f.head.Fatalf("ssh-keygen: %v: %s", err, out)
	}
}

// append appends a text to a file that all may read.
func (f farm) append(path, text string) {
	f.head.Helper()
	before, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		f.head.Fatal(err)
	}
	write(f.head.T, path, string(before)+text)
	f.head.must(os.Chmod(path, 0o644))
}

// freePort returns a port of this machine's that nobody listens on.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.OK(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// TestInstallOnFarm holds that glidein -install puts the program on machines by ssh, and says which of them
// could not be reached.
func TestInstallOnFarm(t *testing.T) {
	t.Parallel()
	f := newFarm(t, false)
	const config = `mkdir -p .config/fairspool && printf '[engine.farm]\nKIND = "ssh"\nHOSTS = ["n1", "n2", "n3"]\n' >.config/fairspool/fairspool.toml`
	if a := f.head.run("alice", config); a.status != 0 {
		t.Fatalf("%+v", a)
	}
	install := func(wantStatus, wantLines int, wantBad string) {
		t.Helper()
		a := f.head.run("alice", "glidein -install")
		if a.status != wantStatus || strings.Count(a.out, "\n") != wantLines || !strings.Contains(a.bad, wantBad) {
			t.Fatalf("glidein -install: %+v, want %d, %d lines, and %q", a, wantStatus, wantLines, wantBad)
		}
	}
	install(0, 3, "")
	for name, m := range f.machines {
		if a := m.run("alice", "hostname; .fairspool/starter -version; stat -c '%U %a' .fairspool/starter; ls -A .fairspool"); a.out != name+"\nstarter fairspool 0.1.0\nalice 755\nstarter\n" {
			t.Errorf("%s: %+v", name, a)
		}
	}
	f.machines["n2"].run("root", "kill $(cat /run/sshd.pid)")
	testenv.Until(t, "nobody listens on n2", func() bool {
		return f.head.run("alice", "ssh n2 true").status != 0
	})
	install(1, 2, "glidein: n2: ssh: connect to host 127.0.0.1 port ")
}

// TestStepsOnFarm holds that jobs on another machine are steered as jobs here are.
func TestStepsOnFarm(t *testing.T) {
	t.Parallel()
	f := newFarm(t, false)
	f.sure("alice", `mkdir -p .config/fairspool && printf 'STARTER_INITIAL_UPDATE_INTERVAL = 1\nPERIODIC_EXPR_INTERVAL = 1\n[engine.farm]\nKIND = "ssh"\nHOSTS = ["n1"]\n' >.config/fairspool/fairspool.toml && glidein -install && glidein`)
	is := func(what, list, want string) {
		t.Helper()
		testenv.Until(t, what, func() bool { return strings.TrimSpace(f.sure("alice", list)) == want })
	}
	const queue = "qstat -af ClusterId JobStatus NumJobStarts"
	defer func() {
		if t.Failed() {
			t.Log(f.head.run("alice", queue+"; qstat -j '1 2 3 4 5'; slots list; cat .local/state/fairspool/*.log; cat log"))
		}
	}()
	f.sure("alice", `submit log=log output=out should_transfer_files=YES when_to_transfer_output=ON_EXIT_OR_EVICT -- sh -c 'echo early; exec sleep 1000'`)
	is("the job runs", queue, "1 2 1")
	if a := f.head.run("alice", "qtail 1"); a.status != 0 || a.out != "" || a.bad != "qtail: 1.0 runs on n1: its output comes here with its output files, at the latest when it ends\n" {
		t.Errorf("qtail of a job that runs elsewhere: %+v", a)
	}
	f.sure("alice", "qhold 1")
	is("it is held", queue, "1 5 1")
	is("its output is there", "qtail 1 2>/dev/null", "early")
	f.sure("alice", "qrls 1")
	is("it runs again", queue, "1 2 2")
	f.sure("alice", "prio -set PeriodicHold=true 1")
	is("its policy holds it", queue, "1 5 2")
	f.sure("alice", "qdel 1")
	is("it is removed", queue, "")
	f.sure("alice", "submit allowed_job_duration=1 -- sleep 1000")
	is("it is held for its limit", "qstat -af JobStatus HoldReasonCode", "5 46")
	f.sure("alice", "qdel 2")
	is("it is removed", queue, "")
	f.sure("alice", `submit deferral_time='QDate + 2' deferral_window=60 output=when -- date +%s`)
	is("it has run", queue, "")
	f.sure("alice", `cat >ck.sh <<'END'
n=$(cat n 2>/dev/null || echo 0)
n=$((n+1))
echo $n >n
test $n -ge 3 || exit 85
END
submit -wait transfer_input_files=ck.sh transfer_checkpoint_files=n transfer_output_files=n checkpoint_exit_code=85 output=ck -- sh ck.sh >/dev/null`)
	if out := f.sure("alice", "cat n"); out != "3\n" {
		t.Errorf("a job that leaves checkpoints leaves %q", out)
	}
	f.sure("alice", "printf 'executable = /bin/true\nmax_idle = 2\nqueue 8\n' | submit -wait - >/dev/null")
	if out := f.sure("alice", "qstat -history -af ClusterId ExitCode | grep -c '^5 0$'"); out != "8\n" {
		t.Errorf("%s of 8 jobs that are made a few at a time have ended", out)
	}
}

// TestMachines runs the session in docs/machines.md word for word on a farm, and compares every line; -update
// writes what the commands print into it.
func TestMachines(t *testing.T) {
	t.Parallel()
	f := newFarm(t, false)
	linked := func() bool {
		return f.head.run("alice", "test $(slots list -af Name | wc -l) -eq 3").status == 0
	}
	comparePage(t, "../docs/machines.md", func(session string) string {
		var b strings.Builder
		for line := range strings.Lines(session) {
			command, is := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "alice$ ")
			if !is {
				continue
			}
			a := f.head.run("alice", command)
			if a.status != 0 {
				t.Errorf("%s = %d", command, a.status)
			}
			if command == "glidein" && !testenv.Await(linked) {
				t.Fatalf("the farm has no slots: %+v", f.head.run("alice", "cat .local/state/fairspool/*.log; slots list"))
			}
			b.WriteString(line + a.out + a.bad)
		}
		return b.String()
	})
}
