package cmd

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"fairspool/internal/testenv"
)

// TestMachineThatCalls plays the part of docs/machines.md about a machine that calls, with a key that lets in to serve
// and to nothing else: links that end, sshd that starts again, the pilot's end and its return, and a token that is taken back.
func TestMachineThatCalls(t *testing.T) {
	t.Parallel()
	f := newFarm(t, false)
	n3 := f.machines["n3"]
	f.append(n3.path("etc/ssh/ssh_config"), "BatchMode yes\n"+f.letIn(f.head, "head", n3))
	n3.must(os.Chmod(n3.path("home/alice"), 0o700))
	if a := n3.run("alice", "umask 077; mkdir .ssh; ssh-keygen -q -t ed25519 -N '' -f .ssh/id_ed25519 && cat .ssh/id_ed25519.pub"); a.status != 0 {
		t.Fatalf("%+v", a)
	} else {
		f.append(f.head.path("etc/ssh/keys/alice"), `restrict,command="/usr/local/bin/serve -pilot" `+a.out)
	}
	f.sure("alice", `mkdir -p .config/fairspool && printf '[engine.gate]\nKIND = "ssh"\nLINK = "home"\nHOSTS = ["n3"]\n' >.config/fairspool/fairspool.toml && glidein -install`)
	token := func() {
		t.Helper()
		f.sure("alice", "glidein -token n3 2>advice | ssh n3 'umask 077; cat >.fairspool/token'")
	}
	text, advice := "", ""
	pilot := func() {
		t.Helper()
		if a := n3.run("alice", advice+" >>pilot.log 2>&1 </dev/null &"); a.status != 0 {
			t.Fatalf("%s: %+v", advice, a)
		}
	}
	stop := func() {
		t.Helper()
		n3.run("alice", "pkill -x -f '.fairspool/starter -pilot -home.*'")
		testenv.Until(t, "the pilot has ended", func() bool { return n3.run("alice", "pgrep -f '[s]tarter -pilot -home'").status != 0 })
	}
	slots := func(want int) func() bool {
		return func() bool { return strings.Count(f.sure("alice", "slots list -af Name"), "\n") == want }
	}
	states := func(want string) func() bool {
		return func() bool { return strings.TrimSpace(f.sure("alice", "qstat -af JobStatus")) == want }
	}
	heard := func() bool { return f.head.run("alice", "glidein -json | grep -q Linked").status == 0 }
	defer func() {
		if t.Failed() {
			t.Log(n3.run("alice", "cat pilot.log").out, f.head.run("alice", "slots list -pilots; qstat -s a; cat .local/state/fairspool/*.log").out)
		}
	}()

	token()
	text = f.sure("alice", "cat advice")
	for line := range strings.Lines(text) {
		if strings.Contains(line, ".fairspool/starter") {
			advice = strings.TrimSpace(line)
		}
	}
	if !strings.Contains(text, `restrict,command="/usr/local/bin/serve -pilot" ssh-ed25519`) || advice == "" {
		t.Fatalf("the advice is %q", text)
	}
	pilot()
	testenv.Until(t, "the machine has a slot", slots(1))
	if out := f.sure("alice", "submit -wait output=out -- hostname >/dev/null; cat out"); out != "n3\n" {
		t.Errorf("the job says %q", out)
	}
	if a := n3.run("alice", "ssh -T head touch made </dev/null; ssh -N -L 0:/x head </dev/null"); a.status == 0 || f.head.run("alice", "test -e made").status == 0 {
		t.Errorf("the key lets in to more than serve: %+v", a)
	}

	// The head's sshd and all of its connections end.
	f.sure("alice", "submit -- sh -c 'until test -e /home/alice/go; do sleep 0.1; done'")
	testenv.Until(t, "a job runs", states("2"))
	f.head.run("root", "pkill -x sshd")
	testenv.Until(t, "the link has ended", func() bool { return !heard() })
	f.sure("root", startSSHD)
	testenv.Until(t, "there is a link again", heard)

	// SIGTERM, with a job and without.
	stop()
	if !states("2")() {
		t.Error("the job has not outlived its pilot")
	}
	pilot()
	testenv.Until(t, "there is a link again", heard)
	n3.run("alice", "touch go")
	testenv.Until(t, "the job has ended", states(""))
	testenv.Until(t, "its supervisor has ended", func() bool { return n3.run("alice", "ls /var/tmp/fairspool-1501/claims.d").out == "" })
	stop()
	testenv.Until(t, "the machine has no slot", slots(0))
	if out := f.sure("alice", "slots list -pilots"); !strings.Contains(out, "Asked") {
		t.Errorf("the pilot that has ended and may come back: %s", out)
	}
	pilot()
	testenv.Until(t, "the machine has a slot again", slots(1))

	// The machine is given up: its token is good no more, and the pilot ends and says so.
	f.sure("root", "pkill -x sshd")
	testenv.Until(t, "the link has ended", func() bool { return !heard() })
	f.sure("alice", "slots withdraw -gone n3")
	f.sure("root", startSSHD)
	testenv.Until(t, "the pilot has ended", func() bool { return n3.run("alice", "pgrep -f '[s]tarter -pilot -home'").status != 0 })
	if last := n3.run("alice", "tail -n 1 pilot.log").out; !strings.HasPrefix(last, "starter: pilot 1 of n3 is Void (") {
		t.Errorf("the pilot's last word is %q", last)
	}
	if !slots(0)() {
		t.Error("a machine that was given up has a slot")
	}
	token()
	pilot()
	testenv.Until(t, "the machine has a slot with a new token", slots(1))
	n3.run("alice", fmt.Sprintf("sed -i 's/.$/%s/' .fairspool/token", "x"))
	stop()
	if a := n3.run("alice", advice+" </dev/null"); a.status != 1 || !strings.HasPrefix(a.bad, "starter: the pool knows no pilot with this token: ") || strings.Count(a.bad, "\n") != 1 {
		t.Errorf("a wrong token: %+v", a)
	}
}
