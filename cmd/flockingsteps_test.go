package cmd

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/internal/testenv"
)

// dials has the test binary be a program that carries bytes between its standard files and the socket that it names.
const dials = "CMD_TEST_DIALS"

// dial is the life of such a process.
func dial() int {
	conn, err := net.Dial("unix", os.Getenv(dials))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	go func() {
		io.Copy(conn, os.Stdin)
		conn.(*net.UnixConn).CloseWrite()
	}()
	io.Copy(os.Stdout, conn)
	return 0
}

// fault is what happens once, when a pilot says something for the first time on a link.
type fault struct{ step, mode, action string }

// What a pilot says at each step of its life, as it stands in the messages of cmd/internal/pilot.
var saysAt = map[string]string{
	"hello": `"Account":`, "slots": `"Ads":`, "begin": `"Do":"begin"`, "inputs": `"Do":"inputs"`, "executing": `"Do":"executing"`,
	"beat": `"Bye":false`, "outputs": `"Do":"outputs"`, "finish": `"Do":"finish"`, "bye": `"Bye":true`,
}

// modes are the ways to cut the link: the message at saysAt is not heard, the answer is not, or the message is heard in
// part.
func modes(step string) []string {
	if step == "outputs" {
		return []string{"unheard", "half", "unanswered"}
	}
	return []string{"unheard", "unanswered"}
}

// allFaults are those of all steps. Those of a link are done by cutting it, by killing serve, which is one end, and the pilot, which is
// the other. Others are kills beside it: of the other pool's supervisor of the pilot, of the pilot's supervisors, of all cycles.
func allFaults() (list []fault) {
	for _, step := range slices.Sorted(maps.Keys(saysAt)) {
		for _, mode := range modes(step) {
			for _, action := range []string{"cut", "kill serve", "kill pilot"} {
				list = append(list, fault{step, mode, action})
			}
		}
		for _, action := range []string{"kill the other pool's supervisor", "kill supervisors", "kill cycles"} {
			list = append(list, fault{step, "beside", action})
		}
	}
	return list
}

// links are what calls home over a socket come to: each has a serve of its own, as from inetd or a systemd socket with Accept=yes.
type links struct {
	*testing.T
	flocking
	mu   sync.Mutex
	todo []fault
	all  sync.WaitGroup
}

// listen takes calls until the test is over.
func (l *links) listen(path string) {
	l.Helper()
	listener, err := net.Listen("unix", path)
	if err != nil {
		l.Fatal(err)
	}
	os.Chmod(path, 0o666)
	l.Cleanup(func() { listener.Close(); l.all.Wait() })
	l.all.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			l.all.Go(func() { l.serve(conn.(*net.UnixConn)) })
		}
	})
}

// take returns the fault that is to be done when a pilot says this, and takes it from what is left.
func (l *links) take(text []byte) (f fault, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.todo, func(f fault) bool { return bytes.Contains(text, []byte(saysAt[f.step])) })
	if i < 0 {
		return fault{}, false
	}
	f = l.todo[i]
	l.todo = slices.Delete(l.todo, i, i+1)
	return f, true
}

// left returns how many faults are left.
func (l *links) left() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.todo)
}

// serve carries what a pilot and its serve say, as long as no fault is due.
func (l *links) serve(conn *net.UnixConn) {
	defer conn.Close()
	caller := 0
	if raw, err := conn.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) {
			if peer, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
				caller = int(peer.Pid)
			}
		})
	}
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return
	}
	ours, theirs := os.NewFile(uintptr(ends[0]), "ours"), os.NewFile(uintptr(ends[1]), "theirs")
	there, err := net.FileConn(ours)
	ours.Close()
	if err != nil {
		theirs.Close()
		return
	}
	defer there.Close()
	c := l.a.command(context.Background(), "serve", "-pilot")
	c.Stdin, c.Stdout = theirs, theirs
	err = c.Start()
	theirs.Close()
	if err != nil {
		return
	}
	defer func() { // serve ends when its pipe is closed
		conn.Close()
		there.Close()
		c.Wait()
	}()
	var silent sync.Mutex // guards swallow: what serve says does not get through
	answered := make(chan struct{}, 1)
	swallow := false
	l.all.Go(func() {
		defer conn.Close()
		frames(there, func(_ []byte, frame []byte) bool {
			silent.Lock()
			defer silent.Unlock()
			if swallow {
				select {
				case answered <- struct{}{}:
				default:
				}
				return true
			}
			_, err := conn.Write(frame)
			return err == nil
		})
		silent.Lock()
		defer silent.Unlock()
		if swallow {
			close(answered)
		}
	})
	var half *fault
	frames(conn, func(text, frame []byte) bool {
		if half != nil {
			l.strike(*half, caller, c.Process)
			return false
		}
		f, due := l.take(text)
		if due && f.mode == "unheard" {
			l.strike(f, caller, c.Process)
			return false
		}
		if due && f.mode == "unanswered" {
			silent.Lock()
			swallow = true
			silent.Unlock()
		}
		if _, err := there.Write(frame); err != nil {
			return false
		}
		switch {
		case !due:
		case f.mode == "half":
			half = &f
		case f.mode == "unanswered":
			select {
			case <-answered:
			case <-time.After(5 * time.Second): // a last heartbeat has no answer
			}
			l.strike(f, caller, c.Process)
			return false
		default:
			l.strike(f, caller, c.Process)
		}
		return true
	})
}

// strike does a fault of a link between serve and the child of the pilot.
func (l *links) strike(f fault, caller int, serve *os.Process) {
	pilot := parent(caller)
	switch f.action {
	case "kill serve":
		serve.Kill()
	case "kill pilot":
		if pilot > 1 {
			syscall.Kill(pilot, syscall.SIGKILL)
		}
	case "kill the other pool's supervisor":
		if supervisor := parent(pilot); supervisor > 1 {
			syscall.Kill(supervisor, syscall.SIGKILL)
		}
	case "kill supervisors":
		for _, v := range l.a.processes() {
			if v.kind == "supervisor" && strings.Contains(v.args, " -pilot ") {
				syscall.Kill(v.pid, syscall.SIGKILL)
			}
		}
	case "kill cycles":
		for _, v := range l.a.processes() {
			if v.kind == "negotiate" {
				syscall.Kill(v.pid, syscall.SIGKILL)
			}
		}
	}
}

// parent returns the number of the process that started another one, or 0 if that one has ended.
func parent(pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, behind, _ := strings.Cut(string(text), ") ")
	if fields := strings.Fields(behind); err == nil && len(fields) > 1 {
		n, _ := strconv.Atoi(fields[1])
		return n
	}
	return 0
}

// frames calls do with each frame that it reads, and with the text in the frame. It returns when do returns false, or at the end. The first
// two frames are the lines of the greeting. The others are frames of yamux: 12 bytes, and in frames of kind 0 a text. The second byte
// is the kind, the last four are the length of the text.
func frames(from io.Reader, do func(text, frame []byte) bool) {
	r := bufio.NewReaderSize(from, 64<<10)
	for line := []byte("\n"); len(line) == 1; {
		var err error
		if line, err = r.ReadBytes('\n'); err != nil || !do(nil, line) {
			return
		}
	}
	for {
		frame := make([]byte, 12)
		if _, err := io.ReadFull(r, frame); err != nil {
			return
		}
		if frame[1] == 0 {
			frame = append(frame, make([]byte, binary.BigEndian.Uint32(frame[8:]))...)
			if _, err := io.ReadFull(r, frame[12:]); err != nil {
				return
			}
		}
		if !do(frame[12:], frame) {
			return
		}
	}
}

// TestFlockingSteps does a third of the faults of links over a socket: at each step, and of each kind.
func TestFlockingSteps(t *testing.T) {
	t.Parallel()
	var some []fault
	for i, f := range allFaults() {
		if (i+i/3)%3 == 0 {
			some = append(some, f)
		}
	}
	flockingSteps(t, some)
}

// TestSoakFlockingSteps does all.
func TestSoakFlockingSteps(t *testing.T) {
	testenv.SoakWhole(t)
	flockingSteps(t, allFaults())
}

// flockingSteps cuts links, and kills what is at their ends and beside them, while jobs of a pool run in another one. glidein is killed
// before and after each kind of answer of the other pool's. All jobs end once. A pool charges at least what its jobs used, and at most
// all of its slots for all of the time.
func flockingSteps(t *testing.T, todo []fault) {
	const jobs, slots = 40, 3
	l := &links{T: t, flocking: newFlocking(t, ""), todo: todo}
	faults := len(todo)
	l.there.cores(slots)
	self, err := os.Executable()
	testenv.OK(t, err)
	program, err := os.ReadFile(self)
	testenv.OK(t, err)
	socket := l.a.path("home.sock")
	testenv.WriteProgram(t, l.a.path("dial"), program)
	testenv.WriteProgram(t, l.a.path("home"), []byte(fmt.Sprintf("#!/bin/sh\n%s='%s' exec '%s'\n", dials, socket, l.a.path("dial"))))
	for _, verb := range []string{"ask", "look", "cancel"} {
		for _, when := range []string{"unheard", "unanswered"} {
			write(t, l.a.path("due."+verb+"."+when), "")
		}
	}
	testenv.WriteProgram(t, l.a.path("via"), []byte(fmt.Sprintf(`#!/bin/sh
export HOME='%[1]s' FAIRSPOOL_DIR='%[1]s/spool' FAIRSPOOL_CONFIG='%[1]s/fairspool.toml' FAIRSPOOL_CYCLE_ON_CHANGE=false
if rm '%[2]s'."$1".unheard 2>/dev/null; then kill -9 $PPID; exit 1; fi
out=$('%[3]s/serve' -flock a.org "$@") || exit
if rm '%[2]s'."$1".unanswered 2>/dev/null; then kill -9 $PPID; exit 1; fi
printf '%%s\n' "$out"
`, l.there.dir, l.a.path("due"), l.a.bin)))
	config, err := os.ReadFile(l.a.path("fairspool.toml"))
	testenv.OK(t, err)
	write(t, l.a.path("fairspool.toml"), strings.Replace(string(config), "IDLE = 10\n", "IDLE = 4\n", 1))
	l.a.ours()
	l.listen(socket)

	begun := time.Now()
	l.a.submit(jobs, "0.")
	l.a.cron()
	l.there.cron()
	l.a.ended(jobs)
	l.a.cron()
	more := 0
	submit := func(line string) {
		l.a.run("submit", "output=out.$(Cluster)", "transfer_output_files=made", "--", "sh", "-c", "echo >made; "+line)
		more++
	}
	if !testenv.Await(func() bool {
		if l.a.queued() == 0 && l.there.queued() == 0 { // all have said goodbye
			for range slots {
				submit("true")
			}
		}
		lasts(20 * time.Millisecond)
		return l.left() == 0
	}) {
		t.Errorf("of %d faults these are not done: %v", faults, l.todo)
	}
	testenv.Until(t, "the other jobs have ended", func() bool { return l.a.queued() == 0 })

	submit(fmt.Sprintf("until [ -e '%s' ]; do sleep 0.1; done", l.a.path("go")))
	pilot := func() string { // RemoteHost is undefined until the job runs
		_, id, _ := strings.Cut(l.a.run("qstat", "-s", "r", "-af", "RemoteHost"), "@b-")
		return strings.TrimSpace(id)
	}
	testenv.Until(t, "a job runs", func() bool { return pilot() != "" })
	first := pilot()
	for range 3 { // the second one may be the last that there is
		l.a.command(context.Background(), "glidein", "-cancel", first).Run()
	}
	testenv.Until(t, "the job runs elsewhere", func() bool { return pilot() != "" && pilot() != first })
	write(t, l.a.path("go"), "")
	l.a.ours()
	testenv.Until(t, "the last job has ended", func() bool { return l.a.queued() == 0 })
	if due, _ := filepath.Glob(l.a.path("due.*")); len(due) > 0 {
		t.Errorf("these are not done: %v", due)
	}
	l.a.stop()
	testenv.Until(t, "the other pool is empty", func() bool { return l.there.queued() == 0 })
	l.there.stop()
	elapsed := time.Since(begun).Seconds()
	if n := strings.Count(l.a.run("qstat", "-history", "-af", "JobStatus", "ExitCode"), "4 0\n"); n != jobs+more {
		t.Errorf("%d jobs have ended with success, want %d", n, jobs+more)
	}
	t.Logf("%d faults, %d and %d jobs in %.0f s", faults, jobs, more, elapsed)
	l.charged(l.a, "Flocked", slots*elapsed, "-flocked")
	l.charged(l.there, "Submitters", slots*elapsed, "-all")
	l.a.run("spool", "check")
	l.there.run("spool", "check")
	l.there.clean()
}

// charged holds that a pool has charged what the jobs of its history used, and no more than there was.
func (l *links) charged(f *farmHere, list string, most float64, flags ...string) {
	l.Helper()
	var r map[string]json.RawMessage
	var of []struct{ WeightedAccumulatedUsage float64 }
	out := f.run(append([]string{"userprio", "-json"}, flags...)...)
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		l.Fatal(err)
	}
	if err := json.Unmarshal(r[list], &of); err != nil || len(of) == 0 {
		l.Fatalf("userprio %v has no %s: %v: %s", flags, list, err, out)
	}
	charged, used := 0.0, 0.0
	for _, u := range of {
		charged += u.WeightedAccumulatedUsage
	}
	for _, word := range strings.Fields(f.run("qstat", "-history", "-af", "CumulativeSlotTime")) {
		n, _ := strconv.ParseFloat(word, 64)
		used += n
	}
	l.Logf("%s: %.1f s are charged, %.1f s used, of %.1f", filepath.Base(f.dir), charged, used, most)
	if charged < used-0.01 || charged > most {
		l.Errorf("%s: %v s are charged of %v, and jobs used %v", f.dir, charged, most, used)
	}
}
