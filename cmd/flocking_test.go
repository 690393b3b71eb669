package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"fairspool/internal/testenv"
	"fairspool/lib/engine"
)

// flocking are two pools of one account: jobs of a overflow to there, whose domain is b.org.
type flocking struct{ a, there *farmHere }

// newFlocking makes the pools. more is what the other one says besides.
func newFlocking(t *testing.T, more string) flocking {
	t.Helper()
	a, account := newOwnPool(t)
	b := &farmHere{T: t, bin: a.bin, dir: a.path("b"), as: a.as}
	testenv.OK(t, os.Mkdir(b.dir, 0o755))
	via := func(f *farmHere, name, args string) {
		testenv.WriteProgram(t, a.path(name), []byte(fmt.Sprintf("#!/bin/sh\nexport HOME='%s' FAIRSPOOL_DIR='%s' FAIRSPOOL_CONFIG='%s' FAIRSPOOL_CYCLE_ON_CHANGE=false\nexec '%s/serve' %s \"$@\"\n",
			f.dir, f.path("spool"), f.path("fairspool.toml"), f.bin, args)))
	}
	via(a, "home", "-pilot")
	via(b, "via", "-flock a.org")
	write(t, a.path("fairspool.toml"), fmt.Sprintf("NETWORK_HOSTNAME = \"head\"\nUID_DOMAIN = \"a.org\"\nJOB_LEASE = 10\nDETECT_SLOTS = false\n[engine.b]\nKIND = \"fairspool\"\nVIA = [\"%s\"]\nHOME = \"%s\"\n"+
		"PILOT = { Cpus = 1, Memory = 200 }\nPILOT_TIME = 1200\nIDLE = 10\nASK_TIMEOUT = 20\n", a.path("via"), a.path("home")))
	write(t, b.path("fairspool.toml"), fmt.Sprintf("NETWORK_HOSTNAME = \"bhost\"\nUID_DOMAIN = \"b.org\"\nDETECT_SLOTS = false\nMACHINE_MAX_VACATE_TIME = 20\nFLOCK_FROM = [\"a.org\"]\nNOBODY_SLOT_USER = \"%s\"\n%s\n", account, more))
	a.ours()
	t.Cleanup(func() {
		if t.Failed() {
			for _, f := range []*farmHere{a, b} {
				for _, line := range []string{"qstat -s a", "qstat -j", "slots list", "slots list -pilots"} {
					out, err := f.command(context.Background(), strings.Fields(line)...).CombinedOutput()
					t.Logf("%s: %s (%v):\n%s", filepath.Base(f.dir), line, err, out)
				}
			}
			for _, v := range a.processes() {
				t.Logf("%d %s: %s", v.pid, v.kind, v.args)
			}
		}
		b.stopped()
		a.end()
	})
	return flocking{a, b}
}

// newOwnPool returns a pool without a configuration, of an account that is not root.
func newOwnPool(t *testing.T) (a *farmHere, account string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	testenv.OK(t, err)
	a = &farmHere{T: t, bin: testenv.Commands(t), dir: dir}
	u, err := user.Current()
	testenv.OK(t, err)
	account = u.Username
	if os.Geteuid() == 0 { // the pilots of a pool of root's run as another account, which may not call home
		a.as, account = &syscall.Credential{Uid: nobody, Gid: nobody}, "nobody"
		a.bin = a.path("bin")
		testenv.OK(t, os.CopyFS(a.bin, os.DirFS(testenv.Commands(t))))
	}
	return a, account
}

// nobody is the uid of the account of that name.
const nobody = 65534

// ours makes all files those of the account.
func (f *farmHere) ours() {
	f.Helper()
	if f.as == nil {
		return
	}
	if out, err := exec.Command("chown", "-R", fmt.Sprintf("%d:%[1]d", f.as.Uid), f.dir).CombinedOutput(); err != nil {
		f.Fatalf("%v: %s", err, out)
	}
	for path := f.dir; path != os.TempDir() && path != "/"; path = filepath.Dir(path) {
		os.Chmod(path, 0o755)
	}
}

// stopped ends what cron does, if it does something.
func (f *farmHere) stopped() {
	if f.stop != nil {
		f.stop()
	}
}

// cores makes this machine one slot of so many cores.
func (f *farmHere) cores(n int) {
	f.Helper()
	ad := f.run("slots", "detect", "-partitionable", "-dry-run")
	ad = regexp.MustCompile(`(?m)^((?:TotalSlot)?Cpus) = .*$`).ReplaceAllString(ad, fmt.Sprintf("$1 = %d", n))
	ad = regexp.MustCompile(`(?m)^((?:TotalSlot)?Memory) = .*$`).ReplaceAllString(ad, "$1 = 4000")
	write(f.T, f.path("slots.ads"), ad)
	f.ours()
	f.run("slots", "advertise", f.path("slots.ads"))
}

// asked returns how many pilots glidein would ask for.
func (f *farmHere) asked() int {
	f.Helper()
	var r struct{ Engines []engineReport }
	if out := f.run("glidein", "-dry-run", "-json"); json.Unmarshal([]byte(out), &r) != nil || len(r.Engines) != 1 {
		f.Fatalf("glidein reports %q", out)
	}
	return r.Engines[0].Asked
}

// owners returns the owners of the jobs that run, sorted.
func (f *farmHere) owners() string {
	f.Helper()
	list := strings.Fields(f.run("qstat", "-s", "r", "-af", "Owner"))
	slices.Sort(list)
	return strings.Join(list, " ")
}

// TestFlocking has jobs overflow to another pool: after AFTER, and those alone that the own slots do not take. There each user counts
// as one of another domain, and gives way to the pool's own; jobs come home then, and end once.
func TestFlocking(t *testing.T) {
	t.Parallel()
	f := newFlocking(t, "PREEMPTION_REQUIREMENTS = \"RemoteUserPrio > SubmitterUserPrio * 1.2\"")
	f.a.cores(1)
	f.there.cores(2)
	job := fmt.Sprintf("until [ -e %s ]; do sleep 0.1; done; hostname", f.a.path("go"))
	for _, owner := range []string{"alice", "alice", "carol", "dora"} {
		more := "+Flock = " + fmt.Sprint(owner != "dora")
		f.a.run("submit", "-owner", owner, "-a", more, "output=out.$(Cluster)", "--", "sh", "-c", job)
	}

	config, err := os.ReadFile(f.a.path("fairspool.toml"))
	testenv.OK(t, err)
	write(t, f.a.path("fairspool.toml"), string(config)+"AFTER = 100000\n")
	f.a.ours()
	if n := f.a.asked(); n != 0 {
		t.Errorf("glidein would ask for %d pilots before AFTER, want none", n)
	}
	write(t, f.a.path("fairspool.toml"), string(config))
	f.a.ours()
	if n := f.a.asked(); n > 3 || n < 2 { // who gets the slot here is the cycle's choice
		t.Errorf("glidein would ask for %d pilots for 4 jobs, of which one has a slot here and one must not leave, want 2 or 3", n)
	}
	f.a.cron()
	f.there.cron()
	testenv.Until(t, "all slots run jobs", func() bool { return len(strings.Fields(f.a.owners())) == 3 })
	if out := f.there.owners(); strings.Contains(out, "dora") || len(strings.Fields(out)) != 2 {
		t.Errorf("the other pool runs jobs of %q, want two of alice@a.org and carol@a.org", out)
	}
	if strings.Contains(f.a.run("qstat", "-s", "p", "-af", "Owner"), "dora") { // else a.org's own slot has dora's job
		if out := f.a.run("qstat", "-j", "4"); !strings.Contains(out, "it has no slot of pool b: Flock is false") {
			t.Errorf("of dora's job qstat -j says %s", out)
		}
	}
	if out := f.there.run("qstat", "-u", "*@a.org", "-af", "User", "Owner"); strings.Count(out, "@a.org") < 4 {
		t.Errorf("jobs of users of a.org are %q", out)
	}
	if out := f.there.run("userprio", "-all", "-af", "PriorityFactor"); strings.Trim(out, "10.\n ") != "" || !strings.Contains(out, "10000") {
		t.Errorf("there users of a.org have the factors %q, want REMOTE_PRIO_FACTOR", out)
	}

	for range 2 {
		f.there.run("submit", "-owner", "bob", "--", "sleep", "1000")
	}
	testenv.Until(t, "bob has what is his", func() bool { return strings.Contains(f.there.owners(), "bob") })
	testenv.Until(t, "a job has come home", func() bool {
		return strings.Contains(f.a.run("qstat", "-af", "VacateReason"), "leaves: pool b.org sent SIGTERM")
	})
	f.there.run("qdel", "bob")
	write(t, f.a.path("go"), "")
	f.a.ours()
	testenv.Until(t, "all jobs have ended", func() bool { return f.a.queued() == 0 })
	if out := f.a.run("qstat", "-history", "-af", "JobStatus", "ExitCode"); out != "4 0\n4 0\n4 0\n4 0\n" {
		t.Errorf("the jobs ended as %q", out)
	}
	testenv.Until(t, "the other pool is empty", func() bool { return f.there.queued() == 0 })
	f.a.stop()
	f.there.stop()
	if out := f.a.run("userprio", "-flocked"); !strings.Contains(out, "alice@a.org") && !strings.Contains(out, "carol@a.org") {
		t.Errorf("userprio -flocked prints %q", out)
	}
	f.a.run("spool", "check")
	f.there.run("spool", "check")
	f.there.clean()
}

// TestFlockingShares holds three rules of the other pool: its priorities tell users of this pool apart, its own users have their shares
// to within a slot, and its requirements refuse pilots.
func TestFlockingShares(t *testing.T) {
	t.Parallel()
	f := newFlocking(t, `PREEMPTION_REQUIREMENTS = "RemoteUserPrio > SubmitterUserPrio * 1.2"
SUBMIT_REQUIREMENT_NAMES = ["Known"]
SUBMIT_REQUIREMENT_Known = "Owner != \"dora@a.org\""
SUBMIT_REQUIREMENT_Known_REASON = "\"dora is not known here\""`)
	config, err := os.ReadFile(f.a.path("fairspool.toml"))
	testenv.OK(t, err)
	write(t, f.a.path("fairspool.toml"), string(config)+"MAX_WAITING = 30\n")
	f.a.ours()
	f.there.cores(6)
	f.there.run("userprio", "-create", "-setprio", "alice@a.org", "8")
	f.there.run("userprio", "-create", "-setprio", "carol@a.org", "2")
	job := fmt.Sprintf("until [ -e %s ]; do sleep 0.1; done", f.a.path("go"))
	for _, owner := range []string{"alice", "carol", "dora"} {
		f.a.run("submit", "-owner", owner, "-a", "queue 6", "--", "sh", "-c", job)
	}
	f.a.cron()
	testenv.Until(t, "the other pool has all pilots", func() bool { return f.there.queued() >= 12 })
	f.there.cron()
	has := func(counts map[string]int) bool {
		for _, owner := range strings.Fields(f.there.owners()) {
			counts[owner]++
		}
		return counts["alice@a.org"]+counts["carol@a.org"] == 6
	}
	testenv.Until(t, "all slots run pilots", func() bool { return has(map[string]int{}) })
	counts := map[string]int{}
	if has(counts); counts["alice@a.org"] < 1 || counts["alice@a.org"] > 2 { // her share is 1.2 slots
		t.Errorf("slots of the other pool are %v, want one or two of alice's, and carol's else", counts)
	}

	f.there.stop()
	for _, owner := range []string{"bob", "eve"} {
		f.there.run("submit", "-owner", owner, "-a", "queue 6", "--", "sleep", "1000")
	}
	f.there.cron()
	locals := func() bool {
		counts = map[string]int{}
		has(counts)
		return counts["bob"]+counts["eve"] >= 5 && counts["bob"] >= 2 && counts["eve"] >= 2
	}
	testenv.Until(t, "bob and eve have what is theirs", locals)

	wish, err := json.Marshal(engine.Wish{Name: "fs-x-1", Pilot: 1, Token: "00", Home: "false", User: "dora@a.org", Cpus: 1, Memory: 100, Idle: 10, Time: 100})
	testenv.OK(t, err)
	ask := f.there.command(context.Background(), "serve", "-flock", "a.org", "ask")
	ask.Stdin = bytes.NewReader(wish)
	if out, err := ask.CombinedOutput(); err == nil || !strings.Contains(string(out), "dora is not known here") {
		t.Errorf("a pilot for dora was asked for: %v: %s", err, out)
	}
	if out := f.there.run("qstat", "-u", "dora@a.org", "-af", "Owner"); strings.Contains(out, "dora") {
		t.Errorf("the other pool has pilots of dora's: %q", out)
	}
}

// faultsOfFlocking does faults to processes of both pools while jobs of one run in the other, as long as goesOn says so.
func faultsOfFlocking(t *testing.T, jobs int, draw *rand.Rand, goesOn func(done int) bool) {
	f := newFlocking(t, "")
	f.there.cores(3)
	f.a.submit(jobs, "0.")
	f.a.cron()
	f.there.cron()
	kinds := []string{"supervisor", "pilot", "serve", "negotiate", "glidein"}
	n := map[string]int{}
	for done := 0; goesOn(done) && f.a.queued() > 0; {
		kind, fault := kinds[done%len(kinds)], faults[draw.IntN(len(faults))]
		if f.a.strike(kind, fault, draw) {
			n[kind+" "+fault]++
		}
		done++
		lasts(time.Duration(draw.IntN(200)) * time.Millisecond)
	}
	begun := f.a.ended(jobs)
	testenv.Until(t, "the other pool is empty", func() bool { return f.there.queued() == 0 })
	f.there.stop()
	f.there.run("spool", "check")
	f.there.clean()
	t.Logf("%v; %d jobs were begun %d times", n, jobs, begun)
}

// TestFaultsOfFlocking kills and stops serve, pilots, supervisors, negotiate and glidein of two pools: each job ends once.
func TestFaultsOfFlocking(t *testing.T) {
	t.Parallel()
	faultsOfFlocking(t, 40, rand.New(rand.NewPCG(1, 1)), func(done int) bool { return done < 30 })
}

// TestSoakFaultsOfFlocking does so for long.
func TestSoakFaultsOfFlocking(t *testing.T) {
	length, seed := testenv.Soak(t)
	draw := rand.New(rand.NewPCG(seed, 1))
	for begun := time.Now(); time.Since(begun) < length && !t.Failed(); {
		t.Run("batch", func(t *testing.T) {
			faultsOfFlocking(t, 60, draw, func(int) bool { return time.Since(begun) < length })
		})
	}
}

// TestFlockingGuide runs the session of docs/flocking.md on two machines with an sshd each, whose pools are root's.
func TestFlockingGuide(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/usr/sbin/sshd"); err != nil {
		t.Skipf("SKIPPED, NOTHING IS TESTED: %v", err)
	}
	hosts := map[string]host{}
	for _, name := range []string{"a", "b"} {
		hosts[name] = newHostOf(t, name, binaries(t), false)
	}
	const guest, aorg = 1601, 1602
	for _, way := range []struct {
		from, to string
		home     string
		uid      int
		account  string
		command  string
	}{
		{"a", "b", "root", 0, "aorg", "serve -flock"}, {"b", "a", "home/guest", guest, "root", "serve -pilot"},
	} {
		from, to := hosts[way.from], hosts[way.to]
		f := farm{from, map[string]host{way.to: to}}
		for name, uid := range map[string]int{"guest": guest, "aorg": aorg} {
			if way.to == "b" {
				f.append(to.path("etc/passwd"), fmt.Sprintf("%s:x:%d:%[2]d::/home/%[1]s:/bin/sh\n", name, uid))
				to.must(os.Mkdir(to.path("home/"+name), 0o700))
				to.must(os.Chown(to.path("home/"+name), uid, uid))
			}
		}
		f.append(from.path("etc/ssh/ssh_config"), "BatchMode yes\nGlobalKnownHostsFile /etc/ssh/ssh_known_hosts\n"+f.letIn(to, way.to, from))
		f.giveKey(from.path(way.home), way.uid, way.account)
		keys := to.path("etc/ssh/keys/" + way.account)
		public, err := os.ReadFile(keys)
		to.must(err)
		write(t, keys, fmt.Sprintf(`restrict,command="/usr/local/bin/%s" %s`, way.command, public))
		to.must(os.Chmod(keys, 0o644))
		to.must(os.MkdirAll(to.path("var/tmp"), 0o777))
		to.must(os.Chmod(to.path("var/tmp"), 0o777|os.ModeSticky))
	}
	run := func(at, user, line string) string {
		a := hosts[at].run(user, line)
		if a.status != 0 {
			t.Fatalf("%s@%s: %s = %+v", user, at, line, a)
		}
		return a.out + a.bad
	}
	t.Cleanup(func() {
		if t.Failed() {
			for name := range hosts {
				t.Logf("%s: %+v", name, hosts[name].run("root", "cat /run/starter.log /run/sshd.log /var/spool/fairspool/*.log; slots list; slots list -pilots; qstat -s a; qstat -j"))
			}
		}
	})
	for name, detect := range map[string]string{"a": "DETECT_SLOTS = false", "b": ""} {
		run(name, "root", fmt.Sprintf("mkdir -p /etc/fairspool && printf 'UID_DOMAIN = \"%s.org\"\\n%s\\n' >/etc/fairspool/fairspool.toml && chmod 644 /etc/fairspool/fairspool.toml && fairspool-setup", name, detect))
	}
	run("b", "root", "slots detect -partitionable")
	comparePage(t, "../docs/flocking.md", func(session string) string {
		var b strings.Builder
		started := false
		for line := range strings.Lines(session) {
			prompt, command, is := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			user, at, _ := strings.Cut(strings.TrimRight(prompt, "#$"), "@")
			if !is || hosts[at].dir == "" || strings.TrimRight(prompt, "#$") == prompt {
				continue
			}
			if !strings.HasPrefix(command, "printf") && !started {
				started = true
				for name := range hosts {
					run(name, "root", "starter -watch -door -q </dev/null >/run/starter.log 2>&1 &")
					testenv.Until(t, "users are let in", func() bool { return hosts[name].run("alice", "qstat").status == 0 })
				}
			}
			if command == "cat out made" {
				testenv.Until(t, "the job has ended", func() bool { return hosts["a"].run("alice", "qstat -af ClusterId").out == "" })
			}
			b.WriteString(line + run(at, user, "umask 022; "+command))
		}
		return b.String()
	})
}
