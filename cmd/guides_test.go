package cmd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"fairspool/internal/testenv"
)

// engineHead starts a machine head with all programs on which a batch engine runs, with head as its only node. A key of alice's there has
// ssh start serve -pilot on head, and is good for nothing else.
func engineHead(t *testing.T, kind string) host {
	t.Helper()
	up := engineScript(t, kind)
	if _, err := os.Stat("/usr/sbin/sshd"); err != nil {
		t.Skipf("SKIPPED, NOTHING IS TESTED: %v", err)
	}
	h := newHostOf(t, "head", binaries(t), false)
	f := farm{h, map[string]host{"head": h}}
	f.append(h.path("etc/ssh/ssh_config"), "BatchMode yes\nGlobalKnownHostsFile /etc/ssh/ssh_known_hosts\n"+f.letIn(h, "head", h))
	f.giveKey(h.path("home/alice"), alice, "alice")
	keys := h.path("etc/ssh/keys/alice")
	public, err := os.ReadFile(keys)
	h.must(err)
	write(t, keys, `restrict,command="/usr/local/bin/serve -pilot" `+string(public))
	h.must(os.Chmod(keys, 0o644))
	for _, folder := range []string{"var/tmp", "var/log"} {
		h.must(os.MkdirAll(h.path(folder), 0o777))
		h.must(os.Chmod(h.path(folder), 0o777|os.ModeSticky))
	}
	f.append(h.path("etc/hosts"), "127.0.0.1 localhost head\n")
	f.append(h.path("etc/nsswitch.conf"), "hosts: files\n")

	copied := map[string]string{"/etc/alternatives": "etc/"} // programs are found by links there
	if kind == "sge" {
		copied["/var/lib/gridengine"] = "var/lib/"
	}
	for from, to := range copied {
		if out, err := exec.Command("cp", "-a", from, h.path(to)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	text, err := os.ReadFile(up)
	h.must(err)
	write(t, h.path("root/up.sh"), string(text))
	site, err := os.MkdirTemp("/tmp", "fs") // sockets have short paths
	h.must(err)
	h.must(os.Chmod(site, 0o755))
	t.Cleanup(func() {
		procs, _ := filepath.Glob("/proc/[0-9]*")
		for _, proc := range procs {
			line, _ := os.ReadFile(proc + "/cmdline")
			if pid, err := strconv.Atoi(filepath.Base(proc)); err == nil && pid != os.Getpid() && strings.Contains(string(line), site) {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		os.RemoveAll(site)
	})
	port := freePorts(t, 4)
	line := fmt.Sprintf("mkdir -p /etc/slurm && ln -s %[1]s/slurm.conf /etc/slurm/ && bash /root/up.sh %[1]s 2 %[2]d", site, port)
	if kind == "sge" {
		f.append(h.path("etc/passwd"), "sgeadmin:x:105:107::/var/lib/gridengine:/bin/false\n")
		f.append(h.path("etc/group"), "sgeadmin:x:107:\n")
		line = fmt.Sprintf("PATH=/usr/sbin:/usr/bin bash /root/up.sh %[1]s %[2]d && mkdir /etc/default && cp %[1]s/env /etc/default/gridengine", site, port)
	}
	if a := h.run("root", "{ "+line+"; } >/root/up.log 2>&1"); a.status != 0 {
		said, _ := exec.Command("sh", "-c", "tail -n 20 "+h.path("root/up.log")+" "+site+"/log/*").CombinedOutput()
		t.Fatalf("%s: %+v: %s", line, a, said)
	}
	return h
}

// TestEngineGuides runs the sessions of the guides to batch engines word for word, against real engines, and compares every line;
// -update writes what the commands print into them.
func TestEngineGuides(t *testing.T) {
	t.Parallel()
	for kind, page := range map[string]string{"slurm": "../docs/slurm.md", "sge": "../docs/gridengine.md"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			h := engineHead(t, kind)
			comparePage(t, page, func(session string) string {
				var b strings.Builder
				for line := range strings.Lines(session) {
					command, is := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "alice$ ")
					if !is {
						continue
					}
					if strings.HasSuffix(command, `grep '"State"'`) {
						testenv.Await(func() bool { return h.run("alice", "glidein -q; "+command+" | grep Gone").status == 0 })
					}
					a := h.run("alice", "umask 022; "+command)
					for command == "glidein" && strings.Contains(a.out, "another glidein") { // that of the last change
						a = h.run("alice", command)
					}
					if a.status != 0 {
						t.Fatalf("%s = %+v: %+v", command, a, h.run("alice", "qstat -j; slots list -pilots; cat .local/state/fairspool/*.log"))
					}
					b.WriteString(line + a.out + a.bad)
				}
				return b.String()
			})
		})
	}
}

// TestEngineOwners has jobs of two users of a pool of root's run in pilots of real engines: each in jobs of the engine that are the user's
// own, where no other user's jobs start, as docs/slurm.md says it.
func TestEngineOwners(t *testing.T) {
	t.Parallel()
	for kind, list := range map[string]string{
		"slurm": `squeue -h -t all -o '%j %u'`, "sge": `/usr/bin/qstat -u '*' -xml | sed -n 's,.*<JB_\(name\|owner\)>\(.*\)<.*,\2,p' | paste -d' ' - -`,
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			h := engineHead(t, kind)
			f := farm{h, map[string]host{"head": h}}
			h.must(os.Remove(h.path("etc/ssh/keys/alice")))
			keys := ""
			for _, user := range []string{"alice", "bob"} {
				if user == "bob" {
					f.giveKey(h.path("home/bob"), bob, "bob")
					h.must(os.Remove(h.path("etc/ssh/keys/bob")))
				}
				public, err := os.ReadFile(h.path("home/" + user + "/.ssh/id_ed25519.pub"))
				h.must(err)
				keys += `restrict,command="/usr/local/bin/serve -pilot" ` + string(public)
			}
			f.append(h.path("etc/ssh/keys/root"), keys)
			f.sure("root", fmt.Sprintf(`fairspool-setup >/dev/null && printf '%%s\n' 'DETECT_SLOTS = false' '[engine.hpc]' 'KIND = "%s"' 'PILOT = { Cpus = 1, Memory = 500 }' \
'PILOT_TIME = 3000' 'STARTER = "/usr/local/bin/starter"' 'HOME = "ssh -T root@head serve -pilot"' >/etc/fairspool/fairspool.toml && { starter -watch -door -q </dev/null >/run/starter.log 2>&1 & }`, kind))
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("%+v", h.run("root", "cat /run/starter.log /var/spool/fairspool/*.log; slots list -pilots; qstat -j; "+list+"; cat /home/*/fs-*; cat /home/*/.local/state/fairspool/*/*.log"))
				}
			})
			testenv.Until(t, "alice is let in", func() bool { return h.run("alice", "qstat").status == 0 })
			for _, user := range []string{"alice", "bob"} {
				f.sure(user, "submit output=out -- sh -c 'id -un; hostname; until [ -e /run/seen ]; do sleep 0.1; done'")
			}
			testenv.Until(t, "both run", func() bool { return h.run("root", "qstat -s r -af Owner | sort").out == "alice\nbob\n" })
			jobs := strings.Fields(f.sure("root", list+"; touch /run/seen"))
			owners := map[string]string{} // by machine
			for line := range strings.Lines(f.sure("root", "slots list -pilots -json | tr -d '\",' | awk '/Owner:|Machine:/ {print $2}' | paste -d' ' - -")) {
				machine, owner, _ := strings.Cut(strings.TrimSpace(line), " ")
				owners[machine] = owner
			}
			of := map[string]bool{}
			for i := 0; i+1 < len(jobs); i += 2 {
				machine := "hpc-" + jobs[i][strings.LastIndex(jobs[i], "-")+1:]
				if of[jobs[i+1]] = true; owners[machine] != jobs[i+1] {
					t.Errorf("%s, a pilot for %q, is a job of %s", jobs[i], owners[machine], jobs[i+1])
				}
			}
			if !of["alice"] || !of["bob"] || len(of) != 2 {
				t.Errorf("the engine has jobs of %v, want alice and bob: %v", of, jobs)
			}
			for _, user := range []string{"alice", "bob"} {
				testenv.Until(t, "the job of "+user+" has ended", func() bool { return h.run(user, "cat out").out == user+"\nhead\n" })
			}
		})
	}
}
