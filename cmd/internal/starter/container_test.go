package starter

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"fairspool/internal/testenv"
	"fairspool/lib/launch/container"
	"fairspool/lib/pool"
	"fairspool/lib/supervise"
)

// contained is a pool whose machine runs containers by one program.
type contained struct {
	*testPool
	program string
	image   string // the directory of the image
	pairs   []string
}

// isPodman reports whether the program is podman, which copies images.
func (p contained) isPodman() bool { return filepath.Base(p.program) == "podman" }

// containers runs a test for each program that runs containers here.
func containers(t *testing.T, test func(t *testing.T, p contained)) {
	t.Parallel()
	for _, name := range []string{"bwrap", "podman"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program := name
			if name == "podman" {
				program = podmanHere(t)
			}
			found := container.Settings{Runtimes: []string{program}}.Detect(context.Background())
			if len(found) == 0 {
				t.Skipf("SKIPPED, NOTHING IS TESTED: %s is not installed", name)
			}
			if found[0].Err != nil {
				t.Skipf("SKIPPED, NOTHING IS TESTED: %s runs no container here: %v", name, found[0].Err)
			}
			p := contained{testPool: newPool(t), program: program}
			p.image = image(t, p.dir)
			p.configure("")
			named := p.image
			if p.isPodman() {
				named = archive(t, p.image)
			}
			p.pairs = []string{"WantContainer", "true", "ContainerImage", strconv.Quote(named), "TransferExecutable", "false"}
			test(t, p)
		})
	}
}

// configure writes the configuration, with more.
func (p contained) configure(more string) {
	p.Helper()
	p.write("config.toml", fmt.Sprintf("NETWORK_HOSTNAME = \"node1\"\nCONTAINER_RUNTIMES = [%q]\nCONTAINER_ROOT = true\nCONTAINER_MOUNTS = [%q]\nCONTAINER_CACHE = %q\n%s",
		p.program, p.dir+":/pool:rw", p.dir+"/cache", more))
}

// contain matches a job that runs a script in the container.
func (p contained) contain(script string, pairs ...string) pool.JobID {
	p.Helper()
	return p.match(script, append(p.pairs, pairs...)...)
}

// over holds that nothing of the jobs is left: no process, no scratch directory, no container.
func (p contained) over() {
	p.Helper()
	p.nothingLeft()
	if left := p.relatives(); len(left) > 0 {
		p.Errorf("processes are left: %v", left)
	}
	if !p.isPodman() {
		return
	}
	if out, err := exec.Command(p.program, "ps", "--all", "--quiet").Output(); err != nil || len(out) > 0 {
		p.Errorf("podman ps: %v: %s, want no container; %s", err, out, p.read("spool/starter.log"))
	}
	if tmp, _ := filepath.Glob(filepath.Join(p.dir, "cache/*.tmp")); len(tmp) > 0 {
		p.Errorf("%q are left", tmp)
	}
}

// passes makes a pass, whatever comes of it.
func (p contained) passes(args ...string) { p.command(args...).Run() }

// uid returns the uid of the user whose jobs are in the pool.
func (p contained) uid() int {
	info, err := os.Stat(filepath.Join(p.dir, "out"))
	if err != nil {
		p.Fatal(err)
	}
	return int(info.Sys().(*syscall.Stat_t).Uid)
}

func TestContainer(t *testing.T) {
	containers(t, func(t *testing.T, p contained) {
		p.write("in", "input")
		const script = `echo $(id -u) $(pwd) $HOME $_CONDOR_SCRATCH_DIR $A; cat /etc/image in; echo new >result; echo x >$TMPDIR/x; exit 3`
		pairs := []string{"TransferInput", `"in"`, "TransferOutput", `"result"`, "Environment", `"A='a  b'"`}
		for n := range 2 {
			os.Remove(filepath.Join(p.dir, "result"))
			id := p.contain(script, pairs...)
			p.starter(0, 1, "-wait")
			if got, want := p.read("out"), fmt.Sprintf("%d /srv /srv /srv a b\nthis is the image\ninput", p.uid()); got != want {
				t.Errorf("the job says %q, want %q; error %q", got, want, p.read("err"))
			}
			if got, want := p.history(id, "JobStatus", "ExitCode"), "JobStatus=4 ExitCode=3"; got != want {
				t.Errorf("the job's ad: %s, want %s", got, want)
			}
			if got := p.read("result"); got != "new\n" {
				t.Errorf("output = %q, want it copied", got)
			}
			// Its image is fetched once.
			if got, want := strings.Count(p.read("log"), "\tContainerFetchTime = "), map[bool]int{true: 1}[p.isPodman()]; got != want {
				t.Errorf("after %d jobs the log says %d times how long an image was fetched, want %d: %s", n+1, got, want, p.read("log"))
			}
		}
		p.over()
	})
}

// A job that has to leave hears its signal inside, and may end in its own way.
func TestContainerVacates(t *testing.T) {
	containers(t, func(t *testing.T, p contained) {
		id := p.contain(`trap 'echo told >/pool/told; exit 0' TERM; echo >/pool/there; while :; do sleep 0.1; done`)
		claim := p.running(id)
		p.until("the job is there", func() bool { return p.read("there") != "" })
		testenv.OK(t, syscall.Kill(claim.PID, syscall.SIGTERM))
		p.noClaims()
		if got := p.read("told"); got != "told\n" {
			t.Errorf("the job was told %q, want its signal", got)
		}
		if got, want := p.queued(id, "JobStatus"), "JobStatus=1"; got != want {
			t.Errorf("the job's ad: %s, want %s", got, want)
		}
		p.over()
	})
}

// What hides or multiplies in a container ends with the job, or when it has to leave.
func TestContainerHostile(t *testing.T) {
	containers(t, func(t *testing.T, p contained) {
		const hide = `trap '' TERM HUP INT; for i in 1 2 3; do setsid env -i /bin/sh -c 'trap "" TERM; while :; do sleep 1; done' </dev/null >/dev/null 2>&1 3>&- & done; `
		const multiply = `(n=0; while [ $n -lt 100 ]; do sleep 1000 & n=$((n+1)); done; while :; do sleep 0.01; done) & `
		id := p.contain(hide + `exit 4`)
		p.starter(0, 1, "-wait")
		if got, want := p.history(id, "JobStatus", "ExitCode"), "JobStatus=4 ExitCode=4"; got != want {
			t.Errorf("the job's ad: %s, want %s; %s", got, want, p.read("err"))
		}
		p.over()
		id = p.contain(hide+multiply+`echo >/pool/there; while :; do sleep 1; done`, "JobMaxVacateTime", "1")
		claim := p.running(id)
		p.until("the job is there", func() bool { return p.read("there") != "" })
		testenv.OK(t, syscall.Kill(claim.PID, syscall.SIGTERM))
		p.noClaims()
		p.over()
	})
}

// Limits of memory and disk hold inside.
func TestContainerLimits(t *testing.T) {
	containers(t, func(t *testing.T, p contained) {
		p.configure("STARTD_ENFORCE_DISK_LIMITS = true\nCGROUP_MEMORY_LIMIT_POLICY = \"hard\"\n")
		for _, c := range []struct {
			name, script string
			pairs        []string
			subcode      int
		}{
			{"disk", `n=0; while [ $n -lt 9 ]; do dd if=/dev/zero of=$n bs=500k count=1; n=$((n+1)); done; while :; do sleep 1; done`, []string{"RequestDisk", "1000"}, 104},
			{"memory", `dd if=/dev/zero of=/dev/null bs=300M`, []string{"RequestMemory", "100"}, 102},
		} {
			id := p.contain(c.script, c.pairs...)
			p.passes("-wait")
			p.noClaims()
			if got, want := p.queued(id, "JobStatus", "HoldReasonCode", "HoldReasonSubCode"), fmt.Sprintf("JobStatus=5 HoldReasonCode=34 HoldReasonSubCode=%d", c.subcode); got != want {
				t.Errorf("%s: the job's ad: %s, want %s; %s", c.name, got, want, p.read("err"))
			}
		}
		p.over()
	})
}

// A job goes on from its checkpoint in a container of its own, in the same slot.
func TestContainerCheckpoint(t *testing.T) {
	containers(t, func(t *testing.T, p contained) {
		id := p.contain(`echo run; [ -e state ] && exit 0; echo >state; exit 85`, "CheckpointExitCode", "85")
		p.starter(0, 1, "-wait")
		if got, want := p.history(id, "JobStatus", "ExitCode"), "JobStatus=4 ExitCode=0"; got != want {
			t.Errorf("the job's ad: %s, want %s; %s", got, want, p.read("err"))
		}
		if got := p.read("out"); got != "run\nrun\n" {
			t.Errorf("output = %q, want that of both runs", got)
		}
		p.over()
	})
}

// Whoever is killed, nothing of the job is left after the next pass, and it runs again.
func TestContainerKilled(t *testing.T) {
	containers(t, func(t *testing.T, p contained) {
		for _, who := range []string{"supervisor", "bwrap", "podman", "conmon"} {
			os.Remove(filepath.Join(p.dir, "there"))
			id := p.contain(`echo >/pool/there; while :; do sleep 1; done`)
			claim := p.running(id)
			p.until("the job is there", func() bool { return p.read("there") != "" })
			pid := claim.PID
			if who != "supervisor" {
				if pid = p.member(who); pid == 0 {
					pid = claim.PID // it is of another program
				}
			}
			testenv.OK(t, syscall.Kill(pid, syscall.SIGKILL))
			p.until(who+" was killed, and the job's attempt has ended", func() bool {
				if pid == claim.PID {
					p.passes()
				}
				return len(p.claims()) == 0
			})
			if got, want := p.queued(id, "JobStatus"), "JobStatus=1"; got != want {
				t.Errorf("%s was killed: the job's ad: %s, want %s", who, got, want)
			}
			p.over()
			p.remove(id)
		}
	})
}

// A supervisor that is killed at any step leaves nothing after the next pass, and its job ends once.
func TestContainerKilledAtEachStep(t *testing.T) {
	containers(t, func(t *testing.T, p contained) {
		for _, at := range []supervise.Step{
			stepBegun, supervise.Placing, supervise.Placed, supervise.Executed, supervise.Logged, supervise.Ended,
			supervise.Alone, supervise.Stored, supervise.Tidied,
		} {
			os.Remove(filepath.Join(p.dir, "died"))
			id := p.contain(`exit 5`)
			p.dying(at, "", nil, "-wait").Run()
			p.died()
			p.repaired(id)
			p.over()
			p.rematch()
			p.passes("-wait")
			if got, want := p.history(id, "JobStatus", "ExitCode"), "JobStatus=4 ExitCode=5"; got != want {
				t.Errorf("killed at %q: the job's ad: %s, want %s", at, got, want)
			}
			p.over()
		}
	})
}

// member returns the first process of the pool's jobs with the name of a program, or 0.
func (p contained) member(name string) int {
	for _, pid := range p.descendants() {
		comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		if strings.TrimSpace(string(comm)) == name {
			return pid
		}
	}
	return 0
}

// descendants returns the processes of the pool's supervisors.
func (p contained) descendants() (all []int) {
	for _, c := range p.claims() {
		all = append(all, c.PID)
	}
	for i := 0; i < len(all); i++ {
		lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", all[i]))
		for _, list := range lists {
			text, _ := os.ReadFile(list)
			for _, field := range strings.Fields(string(text)) {
				child, _ := strconv.Atoi(field)
				all = append(all, child)
			}
		}
	}
	return all
}

// What is missing holds the job, in the words of whoever misses it.
func TestContainerMisses(t *testing.T) {
	containers(t, func(t *testing.T, p contained) {
		for _, c := range []struct {
			name, image, cmd, want string
			code                   int
		}{
			{"program", "", "/bin/nothing", "/bin/nothing", 6},
			{"image", "/no/image.tar", "/bin/sh", "/no/image.tar: no such file or directory", 35},
			{"image", "/no/image", "/bin/sh", "/no/image: no such file or directory", 35},
			{"image in the registry", "docker://" + registry(t, p.image) + "/none:1", "/bin/sh", "404", 35},
			{"registry", "docker://127.0.0.1:1/none:1", "/bin/sh", "connection refused", 35},
		} {
			pairs := []string{"Cmd", strconv.Quote(c.cmd)}
			if c.image != "" {
				pairs = append(pairs, "ContainerImage", strconv.Quote(c.image))
			}
			if c.image != "" && p.isPodman() == (c.image == "/no/image") {
				continue // it runs no such images
			}
			id := p.contain(`exit 0`, pairs...)
			p.passes("-wait")
			p.noClaims()
			if got, want := p.queued(id, "JobStatus", "HoldReasonCode"), fmt.Sprintf("JobStatus=5 HoldReasonCode=%d", c.code); got != want {
				t.Errorf("no %s: the job's ad: %s, want %s", c.name, got, want)
			}
			if got := p.queued(id, "HoldReason"); !strings.Contains(got, c.want) {
				t.Errorf("no %s: %s, want it to say %s", c.name, got, c.want)
			}
		}
		p.over()
	})
}

// An image of a registry says itself what is run, if the job does not.
func TestContainerRegistry(t *testing.T) {
	containers(t, func(t *testing.T, p contained) {
		if !p.isPodman() {
			t.Skip("it has no registries")
		}
		name := strconv.Quote(registry(t, p.image) + "/busy:1")
		for _, c := range []struct {
			pairs []string
			want  string
		}{
			{[]string{"Cmd", `""`, "Arguments", `"a b"`}, "entered a b image\n"},
			{[]string{"Cmd", `"/bin/echo"`, "Arguments", `"a b"`}, "entered /bin/echo a b image\n"},
			{[]string{"Cmd", `"/bin/sh"`, "DockerOverrideEntrypoint", "true", "Arguments", `"-c 'echo $OF'"`}, "image\n"},
			{[]string{"Cmd", `"/bin/sh"`, "DockerOverrideEntrypoint", "true", "DockerPullPolicy", `"always"`, "DockerNetworkType", `"none"`, "Arguments", `"-c 'ls /sys/class/net'"`}, "lo\n"},
		} {
			id := p.match("", append([]string{"WantDocker", "true", "DockerImage", name, "TransferExecutable", "false"}, c.pairs...)...)
			p.passes("-wait")
			if got := p.read("out"); got != c.want {
				t.Errorf("%v: the job says %q, want %q; %s; %s", c.pairs, got, c.want, p.read("err"), p.queued(id, "HoldReason"))
			}
		}
		if got := strings.Count(p.read("log"), "ContainerFetchTime"); got != 2 {
			t.Errorf("the log says %d times how long an image was fetched, want 2: %s", got, p.read("log"))
		}
		p.over()
	})
}

// Root's podman runs no image by which a job would come to the machine's devices.
func TestContainerDevices(t *testing.T) {
	containers(t, func(t *testing.T, p contained) {
		if !p.isPodman() || os.Geteuid() != 0 {
			t.Skip("the kernel lets nobody else make device files")
		}
		device := filepath.Join(p.image, "etc/device")
		for _, d := range []struct {
			minor         uint32 // of major number 1: of zero and of kmsg, from which the kernel's messages are read
			status, wants string
		}{{5, "JobStatus=4", ""}, {11, "HoldReasonCode=35", "/etc/device: it is a device file"}} {
			os.Remove(device)
			testenv.OK(t, unix.Mknod(device, unix.S_IFCHR|0o666, int(unix.Mkdev(1, d.minor))))
			id := p.contain(`exec dd if=/etc/device bs=4 count=1`, "ContainerImage", strconv.Quote("docker://"+registry(t, p.image)+"/busy:1"))
			p.passes("-wait")
			p.noClaims()
			show := p.queued
			if d.wants == "" {
				show = p.history
			}
			if got := show(id, "JobStatus", "HoldReasonCode", "HoldReason"); !strings.Contains(got, d.status) || !strings.Contains(got, d.wants) {
				t.Errorf("the job's ad: %s, want %s %s", got, d.status, d.wants)
			}
		}
		p.over()
	})
}
