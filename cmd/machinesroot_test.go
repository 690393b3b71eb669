package cmd

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"fairspool/internal/testenv"
)

// newRootsFarm starts a farm with a pool for all users of head, whose starter root has started; its first pass starts the
// links to the machines. nobody is who jobs of users run as whom a machine does not know.
func newRootsFarm(t *testing.T) farm {
	t.Helper()
	f := newFarm(t, true)
	const known = "nobody:x:65534:65534::/:/bin/false\n"
	f.append(f.machines["n1"].path("etc/passwd"), known)
	f.sure("root", `fairspool-setup && printf 'NOBODY_SLOT_USER = "nobody"\n[engine.farm]\nKIND = "ssh"\nHOSTS = ["n1", "n2"]\n' >/etc/fairspool/fairspool.toml && glidein -install`)
	f.append(f.head.path("etc/passwd"), "dora:x:1777:1777::/home/dora:/bin/sh\nplayer:x:903:903::/:/bin/sh\n")
	f.sure("root", "mkdir -m 755 /home/dora && chown 1777:1777 /home/dora && starter -watch -door -q </dev/null >/run/starter.log 2>&1 &")
	testenv.Until(t, "the machines have slots", func() bool {
		return f.head.run("root", "test $(slots list -af Name | wc -l) -eq 2").status == 0
	})
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(f.head.run("root", "cat /run/starter.log /var/spool/fairspool/*.log; qstat -s a; qstat -j '*' | grep -i reason"))
		}
	})
	return f
}

// in returns the farm for a part of its test.
func (f farm) in(t *testing.T) farm {
	f.head.T = t
	return f
}

// sure runs a line on head that has to succeed, and returns what it prints.
func (f farm) sure(user, line string) string {
	f.head.Helper()
	a := f.head.run(user, line)
	if a.status != 0 {
		f.head.Fatalf("%s: %s: %+v", user, line, a)
	}
	return a.out
}

// as begins a line of root's that runs as a user of head that the machines do not have.
func as(uid int) string {
	id := strconv.Itoa(uid)
	return "setpriv --reuid=" + id + " --regid=" + id + " --clear-groups "
}

const onN1 = ` requirements='Machine == "n1"' `

// TestRootsFarm holds that jobs run on other machines as their owners, with files that are read and written with the owners'
// rights alone, and that no process of root's can be touched there by a job.
func TestRootsFarm(t *testing.T) {
	t.Parallel()
	f := newRootsFarm(t)
	n1 := f.machines["n1"]
	f.sure("bob", "umask 077; echo bobs >secret; chmod 755 .; mkdir open; chmod 700 open")
	f.sure("root", "umask 077; echo roots >/etc/secret")

	t.Run("owner", func(t *testing.T) {
		f := f.in(t)
		out := f.sure("alice", `echo in >own; ln -s own link; submit -wait`+onN1+`output=out error=err log=log transfer_input_files=link transfer_output_files=made -- sh -c 'id -u; cat link; echo made >made; kill -0 $PPID; cat /proc/$PPID/environ; ls /var/lib/fairspool-pilot; echo x >/var/lib/fairspool-pilot/x; ls -l /proc/self/fd | grep -c fairspool-pilot/lock; exit 0' >/dev/null && cat out && stat -c '%U %n' out err log made && cat made`)
		const want = "1501\nin\n0\nalice out\nalice err\nalice log\nalice made\nmade\n"
		if out != want {
			t.Errorf("alice's job: %q, want %q; it complains of %s", out, want, f.head.run("alice", "cat err").out)
		}
		if n := strings.Count(f.head.run("alice", "cat err").out, "ermi"); n != 4 { // EPERM, EACCES
			t.Errorf("%d of 4 things were not permitted: %s", n, f.head.run("alice", "cat err").out)
		}
	})
	t.Run("others", func(t *testing.T) {
		f := f.in(t)
		f.sure("alice", `ln -s /home/bob/secret bobs; ln -s /etc/secret roots; ln -s /home/bob/open open
for file in /home/bob/secret bobs roots; do submit -force`+onN1+`output=seen transfer_input_files=$file -- cat $(basename $file); submit -force`+onN1+`output=seen input=$file -- cat; done
for file in /home/bob/open/new open/new roots bobs; do submit -force`+onN1+`output=$file -- echo hello; done
submit`+onN1+`output=seen transfer_output_files=made transfer_output_remaps='"made=open/new"' -- sh -c 'echo hello >made'
qrls -a`)
		testenv.Until(t, "all of alice's jobs are held again", func() bool {
			return f.sure("alice", "qstat -af JobStatus NumJobMatches | grep -c '^5 [1-9]' || :") == "11\n"
		})
		if a := f.head.run("root", "cat /home/alice/seen; ls /home/bob/open; cat /home/bob/secret /etc/secret"); a.out != "bobs\nroots\n" {
			t.Errorf("files of others: %+v, want that they were neither read nor written", a)
		}
		kept := f.sure("alice", "qstat -af HoldReason | grep -o '/[^ ]*kept'")
		if out := f.sure("alice", "cat "+strings.TrimSpace(kept)+"/made; qdel -a >/dev/null"); out != "hello\n" {
			t.Errorf("the output that could not be stored is %q in %s", out, kept)
		}
	})
	t.Run("refused", func(t *testing.T) {
		f := f.in(t)
		for _, line := range []string{
			"cd /tmp && submit" + onN1 + "output=/dev/null -- touch /tmp/ran",                                 // root's
			"cd /tmp && " + as(903) + "submit" + onN1 + "output=/dev/null -- touch /tmp/ran",                  // a system account's
			`cd /home/dora && ` + as(1777) + `submit output=o requirements='Machine=="n2"' -- touch /tmp/ran`, // n2 knows no nobody
		} {
			f.sure("root", line)
			testenv.Until(t, "it is held", func() bool { return f.sure("root", "qstat -af JobStatus") == "5\n" })
			f.sure("root", "qdel -a")
		}
		if a := n1.run("root", "ls /tmp/ran"); a.status == 0 {
			t.Error("a job of root's or of a system account's has run")
		}
	})
	t.Run("unknown", func(t *testing.T) {
		f := f.in(t)
		f.sure("root", "cd /home/dora && "+as(1777)+"submit -wait"+onN1+"output=out -- id -u")
		if out := f.sure("root", "cat /home/dora/out; stat -c %U /home/dora/out"); out != "65534\ndora\n" {
			t.Errorf("a job of one whom n1 does not know: %q, want it run as nobody, and its output dora's", out)
		}
	})
	t.Run("socket", func(t *testing.T) {
		for _, user := range []string{"nobody", "alice", "bob"} {
			a := n1.run("root", "setpriv --reuid="+user+" --clear-groups python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"/var/lib/fairspool-pilot/socket\")'")
			if a.status == 0 || !strings.Contains(a.bad, "PermissionError") {
				t.Errorf("%s: %+v, want that only root talks to the pilot", user, a)
			}
		}
	})
	t.Run("processes", func(t *testing.T) {
		f := f.in(t)
		f.sure("alice", "submit"+onN1+"-- sleep 1000")
		testenv.Until(t, "the job runs", func() bool { return f.sure("alice", "qstat -af JobStatus") == "2\n" })
		if out := f.sure("root", "for p in $(pgrep -x ssh); do tr '\\0' '\\n' </proc/$p/environ; readlink /proc/$p/fd/*; done | grep -v '^\\(PATH\\|HOME\\|USER\\|LOGNAME\\)=\\|^pipe:\\|^socket:\\|/dev/null' || :"); out != "" {
			t.Errorf("ssh has %s", out)
		}
		out := n1.run("root", "find /root/.fairspool /var/lib/fairspool-pilot -maxdepth 1 -perm /022 ! -type s; p=$(pgrep -u alice sleep); ls -l /proc/$p/fd | grep -v 'null\\|_condor_std\\|1.pipe\\|^total'; tr '\\0' '\\n' </proc/$p/environ | grep 'SSH\\|MAIL\\|/root'").out
		if out != "" {
			t.Errorf("on n1: %s", out)
		}
	})
}

// TestUsersPilotInRootsPool holds that a machine that root reaches as alice runs alice's jobs alone.
func TestUsersPilotInRootsPool(t *testing.T) {
	t.Parallel()
	f := newFarm(t, true)
	public, err := os.ReadFile(f.head.path("root/.ssh/id_ed25519.pub"))
	f.head.must(err)
	f.append(f.machines["n1"].path("etc/ssh/keys/alice"), string(public))
	text, err := os.ReadFile(f.head.path("etc/ssh/ssh_config"))
	f.head.must(err)
	write(t, f.head.path("etc/ssh/ssh_config"), "Match originalhost n1 localuser root\n  User alice\nMatch all\n"+string(text))
	f.sure("root", `fairspool-setup && printf '[engine.farm]\nKIND = "ssh"\nHOSTS = ["n1"]\n' >/etc/fairspool/fairspool.toml && glidein -install && { starter -watch -door -q </dev/null >/run/starter.log 2>&1 & }`)
	testenv.Until(t, "the machine has a slot", func() bool { return f.head.run("root", "slots list -af Name").out != "" })
	f.sure("bob", "submit -- id -u")
	f.sure("alice", "submit -wait output=out -- sh -c 'id -u; hostname' >/dev/null")
	if out := f.sure("alice", "cat out"); out != "1501\nn1\n" {
		t.Errorf("alice's job says %q", out)
	}
	if out := f.sure("root", "qstat -af Owner JobStatus"); out != "bob 1\n" {
		t.Errorf("the queue has %q, want that bob's job waits", out)
	}
}
