package cmd

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// host is a machine with accounts, programs, homes, spools and processes of its own: a mount and a process
// namespace over files of the test, which ends with all of its processes when the test does.
type host struct {
	*testing.T
	dir  string // the folders etc, home, mnt, root, run and var are the machine's, bin its /usr/local/bin
	init int    // process that has the namespaces
}

// newHost starts a machine node1 with the users alice, bob and carol, whose homes have mode 0700. It has all
// programs of fairspool in /usr/local/bin. If systemd is true it looks as if systemd ran it: its
// systemctl notes what it is called for in /run/systemctl.
func newHost(t *testing.T, systemd bool) host { return newHostOf(t, "node1", binaries(t), systemd) }

// newHostOf does as newHost does with a name and the programs of a folder; empty: it has none.
func newHostOf(t *testing.T, name, programs string, systemd bool) host {
	if os.Geteuid() != 0 {
		t.Skip("only root can be several users")
	}
	for _, tool := range []string{"unshare", "nsenter", "setpriv", "useradd", "userdel"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("without %s there is no other machine: %v", tool, err)
		}
	}
	if out, err := exec.Command("unshare", "-m", "-p", "-f", "--mount-proc", "true").CombinedOutput(); err != nil {
		t.Skipf("no namespaces to be had here: %v: %s", err, out)
	}
	h := host{T: t, dir: t.TempDir()}
	for _, d := range []string{"etc", "home", "mnt", "root", "run", "var/spool", "var/lib", "bin"} {
		h.must(os.MkdirAll(h.path(d), 0o755))
	}
	if programs != "" {
		h.must(os.CopyFS(h.path("bin"), os.DirFS(programs)))
	}
	passwd, group := "root:x:0:0::/root:/bin/sh\n", "root:x:0:\n"
	for name, uid := range h.users() {
		passwd += fmt.Sprintf("%s:x:%d:%[2]d::/home/%[1]s:/bin/sh\n", name, uid)
		group += fmt.Sprintf("%s:x:%d:\n", name, uid)
		home := h.path("home/" + name)
		h.must(os.Mkdir(home, 0o700))
		h.must(os.Chown(home, uid, uid))
	}
	write(t, h.path("etc/passwd"), passwd)
	write(t, h.path("etc/group"), group)
	// The users that TestMain may have made up by getent(1) and id(1) are not this machine's.
	script := `umount "$(readlink -f /usr/bin/getent)" "$(readlink -f /usr/bin/id)" 2>/dev/null
for d in etc home mnt root run; do mount --bind "$0/$d" /$d || exit; done
mount --bind "$0/var" /var && mount --bind "$0/bin" /usr/local/bin && hostname "$1"
`
	if systemd {
		h.must(os.MkdirAll(h.path("run/systemd/system"), 0o755))
		write(t, h.path("systemctl"), "#!/bin/sh\n[ \"$1\" = is-enabled ] || [ \"$1\" = is-active ] || { echo \"$@\" >>/run/systemctl; exit 0; }\nlast() { grep -E \"^($1) .*$3\" /run/systemctl | tail -n 1 | grep -q -E \"^$2 \"; }\ncase $1 in is-enabled) last 'enable|disable' enable $3 ;; *) last 'restart|disable' restart $3 ;; esac\n")
		script += `mount --bind "$0/systemctl" /usr/bin/systemctl` + "\n"
	}
	h.must(filepath.WalkDir(h.dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !strings.HasPrefix(path, h.path("home/")) {
			err = os.Chmod(path, 0o755)
		}
		return err
	}))
	c := exec.Command("unshare", "-m", "-u", "-p", "-f", "--mount-proc", "--kill-child", "sh", "-c", script+"echo ready; while :; do sleep 1000; done", h.dir, name)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	h.must(err)
	h.must(c.Start())
	h.init = c.Process.Pid
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	ready := make([]byte, len("ready\n"))
	if _, err := io.ReadFull(out, ready); err != nil {
		t.Fatalf("the machine does not start: %v", err)
	}
	return h
}

func (h host) users() map[string]int {
	return map[string]int{"alice": alice, "bob": bob, "carol": admin}
}

func (h host) path(name string) string { return filepath.Join(h.dir, name) }

func (h host) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

// run runs a line of the shell as a user of the machine in the user's home, as a login would. What it
// leaves in the background goes on.
func (h host) run(user, line string) answer {
	h.Helper()
	uid, home := h.users()[user], "/home/"+user
	if user == "root" {
		home = "/"
	}
	var out, bad outfile
	h.must(out.open(h.T))
	h.must(bad.open(h.T))
	ns := fmt.Sprintf("/proc/%d/ns/", h.init)
	p := exec.Command("nsenter", "--mount="+ns+"mnt", "--uts="+ns+"uts", "--pid="+ns+"pid_for_children",
		"setpriv", fmt.Sprintf("--reuid=%d", uid), fmt.Sprintf("--regid=%d", uid), "--clear-groups", "sh", "-c", "cd && "+line)
	p.Env = []string{"PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + home, "USER=" + user, "LOGNAME=" + user, "TZ=UTC"}
	p.Stdout, p.Stderr = out.File, bad.File
	if err := p.Run(); p.ProcessState == nil {
		h.Fatal(err)
	}
	return answer{p.ProcessState.ExitCode(), out.text(), bad.text()}
}

// outfile is a file for what a command prints: one that goes on in the background may keep it open.
type outfile struct{ *os.File }

func (f *outfile) open(t *testing.T) (err error) {
	f.File, err = os.CreateTemp(t.TempDir(), "out")
	return err
}

func (f *outfile) text() string {
	defer f.Close()
	b, _ := os.ReadFile(f.Name())
	return string(b)
}

// tree returns what is in the machine's folders: paths with mode, owner and text.
func (h host) tree(folders ...string) string {
	h.Helper()
	var b bytes.Buffer
	for _, folder := range folders {
		a := h.run("root", "find "+folder+" -printf '%p %m %u %g %l\\n' | sort; find "+folder+" -type f -exec cat {} +")
		b.WriteString(a.out + a.bad)
	}
	return b.String()
}
