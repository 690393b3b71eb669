package cmd

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fairspool/cmd/internal/door"
)

// open opens the door of the spool of fair, as starter -watch -door does, until the test has
// ended.
func (m machine) open(environment ...string) {
	m.Helper()
	m.expect("fair: spool", m.run(fair, nil, "qstat"), 0, "", "")
	dir := filepath.Join(m.spools, "fairspool")
	m.must(os.Chmod(dir, 0o711))
	l, err := door.Listen(dir)
	m.must(err)
	socket, err := l.File()
	m.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		door.Keep(ctx, socket, func(socket, taken *os.File) (*exec.Cmd, error) {
			p := m.command(fair, environment, "serve")
			p.Stdin, p.ExtraFiles, p.Stderr = socket, []*os.File{taken}, m.serveSays
			return p, p.Start()
		}, func(err error) { m.Errorf("serve: %v", err) })
	}()
	m.Cleanup(func() {
		cancel()
		l.Close()
		socket.Close()
		<-over
	})
}

// TestDoor is several users of one pool: each may steer their own jobs, administrators all.
func TestDoor(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.open()
	m.expect("alice: submit", m.run(alice, nil, "submit", "/etc/job.sub"), 0, "2 jobs submitted to cluster 1.\n", "")
	m.expect("bob: submit", m.run(bob, nil, "submit", "/etc/job.sub"), 0, "2 jobs submitted to cluster 2.\n", "")
	m.expect("owners", m.run(bob, nil, "qstat", "-af", "ClusterId", "Owner"), 0, "1 alice\n1 alice\n2 bob\n2 bob\n", "")

	dump := func() string { return m.run(fair, nil, "spool", "dump").out }
	before := dump()
	const isBob = "you are bob, not an administrator\n"
	m.expect("bob: qdel 1", m.run(bob, nil, "qdel", "1"), 1, "", "qdel: 1: belongs to alice: "+isBob)
	m.expect("bob: qhold 1.0 alice", m.run(bob, nil, "qhold", "1.0", "alice"), 1, "",
		"qhold: 1.0: belongs to alice: "+isBob+"qhold: alice: jobs of others: "+isBob)
	m.expect("bob: prio", m.run(bob, nil, "prio", "+5", "1.1"), 1, "", "prio: couldn't set new priority for 1.1: belongs to alice: "+isBob)
	m.expect("bob: submit -owner", m.run(bob, nil, "submit", "-owner", "alice", "/etc/job.sub"), 1, "", "submit: -owner alice: only administrators may submit for others\n")
	m.expect("bob: userprio", m.run(bob, nil, "userprio", "-setfactor", "bob@pool", "1"), 1, "", "userprio: you are bob: only administrators may change accounts\n")
	m.expect("bob: slots", m.run(bob, nil, "slots", "withdraw", "-all"), 1, "", "slots: you are bob: only administrators may change the pool's slots\n")
	m.expect("bob: negotiate", m.run(bob, nil, "negotiate"), 1, "", "negotiate: you are bob: only administrators may run a cycle; -dry-run shows what it would do\n")
	m.expect("bob: spool", m.run(bob, nil, "spool", "dump"), 1, "", "spool: not available through the door of another account's pool: run it as the account, sudo -u fair spool ...\n")
	m.expect("bob: -now", m.run(bob, nil, "qstat", "-now", "5"), 2, "", "qstat: -now: not available in the pool of another account\n")
	m.expect("bob: FAIRSPOOL_CONFIG", m.run(bob, []string{"FAIRSPOOL_CONFIG=/dev/null"}, "qdel", "-a"), 2, "", "qdel: -config: not available in the pool of another account\n")
	// A name in the environment is the caller's own word.
	lies := []string{"SUDO_UID=1503", "SUDO_USER=admin", "USER=admin", "FAIRSPOOL_DOOR=x"}
	m.expect("bob: qdel with lies", m.run(bob, lies, "qdel", "1"), 1, "", "qdel: 1: belongs to alice: "+isBob)
	if after := dump(); after != before || before == "" {
		t.Errorf("what was refused has changed the spool from\n%s\nto\n%s", before, after)
	}

	m.expect("bob: prio -a", m.run(bob, nil, "prio", "+5", "-a"), 0, "", "")
	m.expect("priorities", m.run(fair, nil, "qstat", "-af", "ClusterId", "JobPrio"), 0, "1 0\n1 0\n2 5\n2 5\n", "")
	m.expect("admin: qhold", m.run(admin, nil, "qhold", "1", "2.1"), 0, "Jobs 1.0-1 held\nJob 2.1 held\n", "")
	m.expect("admin: userprio", m.run(admin, nil, "userprio", "-setfactor", "bob@pool", "2"), 0, "The priority factor of bob@pool was set to 2.000000\n", "")
	m.expect("alice: qrls", m.run(alice, nil, "qrls", "-a"), 0, "Jobs 1.0-1 released\n", "")
	m.expect("root: qrls", m.run(0, nil, "qrls", "2"), 0, "Job 2.1 released\n", "")
	log := m.run(fair, nil, "spool", "log").out
	for _, who := range []string{"alice", "bob", "admin", "root"} {
		if !strings.Contains(log, " "+who+" ") {
			t.Errorf("the log names nobody %s:\n%s", who, log)
		}
	}
}

// TestDoorFiles holds that files of the command line are read and written with the caller's rights.
func TestDoorFiles(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.open()
	home, kept := "/var/spool/home", filepath.Join(m.spools, "home")
	m.must(os.Mkdir(kept, 0o700))
	m.must(os.Chown(kept, alice, alice))
	write(t, filepath.Join(kept, "two.sub"), "x = none\nexecutable = /bin/true\ninitialdir = /var/spool/home\ninclude : \"sh -c 'echo me = `id -u`'\" |\n+Me = $(me)\narguments = $(x) $(Cluster)\nqueue x in (a b)\nPriority = 3\nqueue\n")
	write(t, filepath.Join(kept, "slot.ads"), "Name = \"slot1@node1\"\nRequirements = true\nMachine = \"node1\"\n")
	for _, name := range []string{"two.sub", "slot.ads"} {
		m.must(os.Chown(filepath.Join(kept, name), alice, alice))
		m.must(os.Chmod(filepath.Join(kept, name), 0o600))
	}
	m.expect("alice: submit", m.run(alice, nil, "submit", home+"/two.sub"), 0, "3 jobs submitted to cluster 1.\n", "")
	m.expect("the jobs", m.run(alice, nil, "qstat", "-af", "Owner", "Me", "JobPrio", "Args", "Iwd"), 0,
		"alice 1501 0 a 1 /var/spool/home\nalice 1501 0 b 1 /var/spool/home\nalice 1501 3 none 1 /var/spool/home\n", "")
	m.expect("bob: submit", m.run(bob, nil, "submit", home+"/two.sub"), 1, "", "submit: "+home+"/two.sub: permission denied\n")
	write(t, filepath.Join(kept, "job.sh"), "#!/bin/sh\n#SBATCH -D /var/spool/home\ntrue\n")
	m.must(os.Chown(filepath.Join(kept, "job.sh"), alice, alice))
	m.must(os.Chmod(filepath.Join(kept, "job.sh"), 0o700))
	m.expect("alice: submit a script", m.run(alice, nil, "submit", "-terse", home+"/job.sh", "-batch", "-n"), 0, "2.0 - 2.0\n", "")
	m.expect("the script's words", m.run(alice, nil, "qstat", "2", "-af", "Arguments"), 0, "$$(CondorScratchDir)/.job.script -batch -n\n", "")
	if tried := m.run(alice, nil, "negotiate", "-what-if", "submit "+home+"/job.sh -n"); tried.status != 0 || tried.bad != "" {
		t.Errorf("alice: try the script: %+v", tried)
	}
	m.expect("admin: advertise", m.run(admin, nil, "slots", "advertise", home+"/slot.ads"), 1, "", "slots: "+home+"/slot.ads: permission denied\n")
	m.expect("root: advertise", m.run(0, nil, "slots", "advertise", home+"/slot.ads"), 0, "1 slot advertised.\n", "")
	m.expect("alice: -export", m.run(alice, nil, "userprio", "-export", home+"/state"), 0, "The accounting state was written to "+home+"/state.\n", "")
	info, err := os.Stat(filepath.Join(kept, "state"))
	m.must(err)
	if got := info.Sys().(*syscall.Stat_t).Uid; got != alice || info.Size() == 0 {
		t.Errorf("the owner of the exported state is %d, want %d", got, alice)
	}
	m.expect("root: -owner alice", m.run(0, nil, "submit", "-owner", "alice", home+"/two.sub"), 0, "3 jobs submitted to cluster 3.\n", "")
	m.expect("root: -owner bob", m.run(0, nil, "submit", "-owner", "bob", home+"/two.sub"), 1, "", "submit: "+home+"/two.sub: permission denied\n")
}
