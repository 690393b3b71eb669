package starter

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/internal/testenv"
	"fairspool/lib/pool"
)

// smallDisk is set in the environment of a test that has a namespace of its own, to the
// directory where it is to have a small file system.
const smallDisk = "STARTER_TEST_SMALL_DISK"

// onSmallDisk runs a test once more, in a process whose mounts nobody else sees, and which
// go with it. There it returns true, and temporary directories are on a tmpfs of 4 MB.
func onSmallDisk(t *testing.T) bool { t.Helper(); return onDiskOf(t, "4m") }

// onDiskOf is onSmallDisk with a tmpfs of another size.
func onDiskOf(t *testing.T, size string) bool {
	t.Helper()
	if dir := os.Getenv(smallDisk); dir != "" {
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			t.Skipf("mounts are not private: %v", err)
		}
		if err := unix.Mount("none", dir, "tmpfs", 0, "size="+size+",mode=1777"); err != nil {
			t.Skipf("no small file system could be mounted: %v", err)
		}
		if err := os.Setenv("TMPDIR", dir); err != nil { // this process has no other test
			t.Fatal(err)
		}
		return true
	}
	dir := t.TempDir()
	cmdtest.Share(t, dir)
	c := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v", "-test.timeout", "10m")
	c.Env = append(os.Environ(), smallDisk+"="+dir, testenv.CommandsBuilt+"="+testenv.Commands(t))
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if uid, gid := os.Geteuid(), os.Getegid(); uid != 0 {
		c.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}},
			AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN},
		}
	}
	out, err := c.CombinedOutput()
	var ended *exec.ExitError
	switch {
	case err != nil && !errors.As(err, &ended):
		t.Skipf("no namespace to mount a small file system in: %v", err)
	case err != nil:
		t.Errorf("with a small file system: %v\n%s", err, out)
	case strings.Contains(string(out), "--- SKIP: "+t.Name()+" "):
		t.Skipf("%s", out)
	}
	return false
}

// full fills the file system of the pool until release is called.
func (p *testPool) full() (release func()) {
	p.Helper()
	path := filepath.Join(p.dir, "fill")
	f, err := os.Create(path)
	if err != nil {
		p.Fatal(err)
	}
	defer f.Close()
	for page := make([]byte, os.Getpagesize()); err == nil; {
		_, err = f.Write(page)
	}
	if !errors.Is(err, unix.ENOSPC) {
		p.Fatal(err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			p.Error(err)
		}
	}
}

// says waits until the supervisors' log, for which there is a page, has a text.
func (p *testPool) says(text string) {
	p.Helper()
	p.until("starter.log has "+text, func() bool { return strings.Contains(p.read("spool/starter.log"), text) })
}

const waits = `echo $$ >HERE/main; ` + awaitGo + `; `

// waiting starts a job that waits for go, and returns its process when it is there.
func (p *testPool) waiting(script string, pairs ...string) (pool.JobID, pool.Claim) {
	p.Helper()
	p.write("spool/starter.log", "of old\n")
	id := p.match(p.recorded(script), pairs...)
	c := p.running(id)
	p.pid("main")
	return id, c
}

// scratchElsewhere puts scratch directories on another disk than the small one.
func (p *testPool) scratchElsewhere() {
	p.Helper()
	dir, err := os.MkdirTemp(filepath.Dir(os.Getenv(smallDisk)), "execute")
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		p.Fatal(err)
	}
	p.write("config.toml", fmt.Sprintf("NETWORK_HOSTNAME = \"node1\"\nEXECUTE = %q\n", dir))
}

// TestReserveForTheEnd has a job end while the disk of the spool is full: its end is recorded all the
// same, and so is the removal of another job.
func TestReserveForTheEnd(t *testing.T) {
	t.Parallel()
	if !onSmallDisk(t) {
		return
	}
	p := newPool(t)
	p.scratchElsewhere()
	id, _ := p.waiting(waits + `exit 4`)
	release := p.full()
	defer release()
	p.open()
	p.settled()
	if got, want := p.history(id, "JobStatus", "ExitCode", "NumJobStarts"), "JobStatus=4 ExitCode=4 NumJobStarts=1"; got != want {
		t.Errorf("the job: %s, want %s", got, want)
	}
}

// TestNoRoomForTheEnd has a job end while the disk of the spool is full, and its reserve is gone: its
// supervisor goes on trying, and records the end when there is room again.
func TestNoRoomForTheEnd(t *testing.T) {
	t.Parallel()
	if !onSmallDisk(t) {
		return
	}
	p := newPool(t)
	p.scratchElsewhere()
	id, c := p.waiting(waits + `exit 4`)
	testenv.OK(t, os.Truncate(filepath.Join(p.spool.Dir(), "reserve"), 0))
	release := p.full()
	p.open()
	p.says("its end (exit code 4) is not recorded yet")
	if got, want := p.queued(id, "JobStatus"), "JobStatus=2"; got != want || !alive(c.PID) {
		t.Errorf("while there is no room the job: %s, its supervisor alive %v, want %s and alive", got, alive(c.PID), want)
	}
	release()
	p.settled()
	if got, want := p.history(id, "JobStatus", "ExitCode", "NumJobStarts"), "JobStatus=4 ExitCode=4 NumJobStarts=1"; got != want {
		t.Errorf("the job: %s, want %s", got, want)
	}
	if got, want := spaced(p.events(id, "log")), "1 5"; got != want {
		t.Errorf("events %s, want %s", got, want)
	}
}

// TestNoRoomForAReport has the disk of the spool full while a job's usage is reported: what
// could not be is in a later report.
func TestNoRoomForAReport(t *testing.T) {
	t.Parallel()
	if !onSmallDisk(t) {
		return
	}
	p := newPool(t)
	p.write("config.toml", "NETWORK_HOSTNAME = \"node1\"\nSTARTER_INITIAL_UPDATE_INTERVAL = 0.02\nSTARTER_UPDATE_INTERVAL = 0.02\n")
	id, c := p.waiting(waits + `over`)
	release := p.full()
	p.says("no space left on device")
	before := p.queued(id, "RemoteWallClockTime")
	release()
	p.until("usage is reported again", func() bool { return p.queued(id, "RemoteWallClockTime") != before })
	if !alive(c.PID) {
		t.Error("the supervisor is gone, want it to stay with its job")
	}
	p.open()
	p.settled()
	if got, want := p.history(id, "JobStatus", "NumJobStarts"), "JobStatus=4 NumJobStarts=1"; got != want {
		t.Errorf("the job: %s, want %s", got, want)
	}
	var wall, last, committed float64
	text := p.history(id, "RemoteWallClockTime", "LastRemoteWallClockTime", "CommittedTime")
	if _, err := fmt.Sscanf(text, "RemoteWallClockTime=%g LastRemoteWallClockTime=%g CommittedTime=%g", &wall, &last, &committed); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	const rounding = 0.001
	if max(wall, last, committed)-min(wall, last, committed) > rounding {
		t.Errorf("the job: %s, want the same three times: all of its one attempt", text)
	}
}

// TestNoRoomForACheckpoint has a job write a checkpoint for which there is no room: it is
// held, what it has written is kept, and when it is released it goes on from that.
func TestNoRoomForACheckpoint(t *testing.T) {
	t.Parallel()
	if !onSmallDisk(t) {
		return
	}
	p := newPool(t)
	const size = 300_000
	id, _ := p.waiting(`[ -e one ] && { wc -c <one >HERE/resumed; over; }; head -c 300000 /dev/zero >one; `+waits+`exit 85`,
		"ShouldTransferFiles", `"YES"`, "TransferOutput", `""`, "CheckpointExitCode", "85", "Environment", `"CHECKPOINTS=1"`)
	release := p.full()
	p.open()
	p.until("what the job wrote is kept", func() bool { return len(p.read("spool/execute/1.0.kept/one")) == size })
	release()
	p.until("the job is held", func() bool { return p.queued(id, "JobStatus") == "JobStatus=5" })
	if got, want := p.queued(id, "HoldReasonCode", "HoldReasonSubCode"), fmt.Sprintf("HoldReasonCode=36 HoldReasonSubCode=%d", unix.ENOSPC); got != want {
		t.Errorf("the job: %s, want %s", got, want)
	}
	p.release(id)
	p.rematch()
	p.starter(0, 1, "-wait")
	p.settled()
	if got, want := p.history(id, "JobStatus", "ExitCode", "NumJobStarts")+" "+p.read("resumed"), fmt.Sprintf("JobStatus=4 ExitCode=0 NumJobStarts=2 %d\n", size); got != want {
		t.Errorf("the job, and how much it went on from: %s, want %s", got, want)
	}
}
