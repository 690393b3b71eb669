package userlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/internal/testenv"
	"fairspool/lib/pool"
)

func TestMain(m *testing.M) {
	if path := os.Getenv("USERLOG_TEST_APPEND"); path != "" {
		os.Exit(appendAsProcess(path))
	}
	os.Exit(testenv.Run(m))
}

// appendAsProcess is a process that appends events of its own cluster.
func appendAsProcess(path string) int {
	number := func(name string) int {
		n, _ := strconv.Atoi(os.Getenv(name))
		return n
	}
	if limit := number("USERLOG_TEST_LIMIT"); limit > 0 { // stands for a full disk
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: uint64(limit), Max: uint64(limit)}); err != nil {
			return 3
		}
	}
	for proc := range number("USERLOG_TEST_EVENTS") {
		e := Event{Job: pool.JobID{Cluster: number("USERLOG_TEST_CLUSTER"), Proc: proc}, At: at, Body: Terminated{}}
		if err := Append(path, e, e); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return 0
}

func appender(path string, cluster, events, limit int) *exec.Cmd {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "USERLOG_TEST_APPEND="+path, "USERLOG_TEST_CLUSTER="+strconv.Itoa(cluster),
		"USERLOG_TEST_EVENTS="+strconv.Itoa(events), "USERLOG_TEST_LIMIT="+strconv.Itoa(limit))
	return c
}

func readFile(t *testing.T, path string) (events []Event, bad []string, end error) {
	t.Helper()
	f, err := os.Open(path)
	testenv.OK(t, err)
	defer f.Close()
	return all(NewReader(f, Options{}))
}

func TestAppendOfSeveralProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "job.log")
	const writers, events = 4, 50
	var wait sync.WaitGroup
	for w := range writers {
		wait.Go(func() {
			if out, err := appender(path, w+1, events, 0).CombinedOutput(); err != nil {
				t.Errorf("writer %d: %v: %s", w, err, out)
			}
		})
	}
	wait.Wait()
	got, bad, _ := readFile(t, path)
	if len(got) != 2*writers*events || len(bad) > 0 {
		t.Fatalf("log has %d events, %q, want %d", len(got), bad, 2*writers*events)
	}
	for i := 0; i < len(got); i += 2 {
		if got[i].Job != got[i+1].Job {
			t.Fatalf("events %d and %d are of %v and %v, want those of one write together", i, i+1, got[i].Job, got[i+1].Job)
		}
	}
}

func TestAppendToFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "job.log")
	one := Event{Job: pool.JobID{Cluster: 7}, At: at, Body: Released{}}
	testenv.OK(t, Append(path, one))
	before, err := os.ReadFile(path)
	testenv.OK(t, err)
	out, err := appender(path, 1, 1, len(before)+100).CombinedOutput() // ends amid the first event
	if err == nil || !strings.Contains(string(out), path+": ") {
		t.Fatalf("Append to a full disk: %v, %q, want an error with the file's name", err, out)
	}
	after, err := os.ReadFile(path)
	if err != nil || string(after) != string(before) {
		t.Errorf("the log afterwards = %q, %v, want %q as before", after, err, before)
	}
	testenv.OK(t, Append(path, one))
	if events, bad, end := readFile(t, path); len(events) != 2 || len(bad) > 0 {
		t.Errorf("read = %d events, %q, %v, want two", len(events), bad, end)
	}
}

func TestAppendBehindTornEvent(t *testing.T) {
	one := Event{Job: pool.JobID{Cluster: 7}, At: at, Body: Released{}}
	whole := string(one.AppendTo(nil))
	for _, c := range []struct {
		tail, between string
	}{
		{"", ""},
		{"...\n", ""},
		{whole, ""},
		{strings.ReplaceAll(whole, "\n", "\r\n"), ""},
		{strings.TrimSuffix(whole, "\n"), "\n"},
		{strings.TrimSuffix(whole, "...\n"), "...\n"},
		{whole[:len(whole)-6], "\n...\n"},
		{whole[:10], "\n...\n"},
		{"x", "\n...\n"},
		{"...", "\n"},
		{whole + "\n", "...\n"},
	} {
		path := filepath.Join(t.TempDir(), "job.log")
		testenv.OK(t, os.WriteFile(path, []byte(c.tail), 0o600))
		testenv.OK(t, Append(path, one))
		got, err := os.ReadFile(path)
		if want := c.tail + c.between + whole; err != nil || string(got) != want {
			t.Errorf("behind %q: %q, %v, want %q", c.tail, got, err, want)
		}
		events, _, end := readFile(t, path)
		if n := len(events); n == 0 || string(events[n-1].AppendTo(nil)) != whole {
			t.Errorf("behind %q: read %d events, %v, want the new one as the last", c.tail, n, end)
		}
	}
}

// Events that another process may have written are written where they are missing, and only
// there.
func TestAppendMissing(t *testing.T) {
	event := func(cluster int, body Body) string {
		return string(Event{Job: pool.JobID{Cluster: cluster}, At: at, Body: body}.AppendTo(nil))
	}
	begun, evicted, held, ended, other := event(7, Executing{Host: "node1"}), event(7, Evicted{}), event(7, Held{}), event(7, Terminated{}), event(8, Terminated{})
	later := string(Event{Job: pool.JobID{Cluster: 7}, At: at.Add(time.Second), Body: Executing{Host: "node1"}}.AppendTo(nil))
	for _, c := range []struct {
		name, log, text, want string
	}{
		{"none", "", ended, ended},
		{"all", begun + ended, ended, begun + ended},
		{"all, with others behind", begun + ended + other + event(7, Released{}), ended, begun + ended + other + event(7, Released{})},
		{"those of another job", begun + other, ended, begun + other + ended},
		{"the first", begun + evicted, evicted + held, begun + evicted + held},
		{"torn", begun + ended[:20], ended, begun + ended[:20] + "\n...\n" + ended},
		{"those of two jobs", begun, ended + other, begun + ended + other},
		{"alike, of an earlier attempt", begun + evicted + begun, evicted, begun + evicted + begun + evicted},
		{"an attempt's beginning, told in other words, and its end", begun + ended, begun[:len(begun)-len("...\n")] + "\tCpus = 1\n...\n" + ended, begun + ended},
		{"a later attempt", begun + evicted, later + evicted, begun + evicted + later + evicted},
		{"before another job's attempt", evicted + event(8, Executing{Host: "node1"}), evicted, evicted + event(8, Executing{Host: "node1"})},
	} {
		path := filepath.Join(t.TempDir(), "job.log")
		testenv.OK(t, os.WriteFile(path, []byte(c.log), 0o600))
		for range 2 {
			left := Patience
			testenv.OK(t, AppendMissing(&left, path, []byte(c.text)))
			if got, err := os.ReadFile(path); err != nil || string(got) != c.want {
				t.Errorf("%s: log = %q, %v, want %q", c.name, got, err, c.want)
			}
		}
	}
}

// A pipe that nobody reads, and one that is full, keep nobody waiting for long.
func TestAppendToPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	testenv.OK(t, unix.Mkfifo(path, 0o600))
	e := Event{At: at, Body: Terminated{}}
	if err := Append(path, e); !errors.Is(err, syscall.ENXIO) {
		t.Errorf("Append to a pipe that nobody reads = %v, want no such device", err)
	}
	reader, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	testenv.OK(t, err)
	defer reader.Close()
	if err := Append(path, e); err != nil {
		t.Errorf("Append to a pipe = %v, want none", err)
	}
	many := make([]Event, 1000) // more than a pipe holds
	for i := range many {
		many[i] = e
	}
	left := 10 * time.Millisecond
	if err := AppendWithin(&left, path, many...); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Append to a full pipe = %v, want a timeout", err)
	}
}

// Somebody who keeps the lock cannot keep events from being written.
func TestAppendBesideForeignLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "job.log")
	f, err := os.Create(path)
	testenv.OK(t, err)
	defer f.Close()
	testenv.OK(t, unix.Flock(int(f.Fd()), unix.LOCK_EX))
	left := 10 * time.Millisecond
	testenv.OK(t, AppendWithin(&left, path, Event{At: at, Body: Aborted{}}))
	if left > 0 {
		t.Errorf("Append left %v of its time, want it to wait for the lock first", left)
	}
	if events, bad, _ := readFile(t, path); len(events) != 1 || len(bad) > 0 {
		t.Errorf("log has %d events, %q, want one", len(events), bad)
	}
}

func TestAppendWithoutReading(t *testing.T) {
	path := filepath.Join(t.TempDir(), "job.log")
	testenv.OK(t, os.WriteFile(path, nil, 0o200))
	for range 2 {
		if err := Append(path, Event{At: at, Body: Aborted{}}); err != nil {
			t.Errorf("Append to a log that cannot be read = %v, want none", err)
		}
	}
	if err := Append(t.TempDir(), Event{At: at, Body: Aborted{}}); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("Append to a folder = %v, want an error", err)
	}
	link := filepath.Join(t.TempDir(), "link")
	testenv.OK(t, os.Symlink(filepath.Join(t.TempDir(), "no", "where"), link))
	if err := Append(link, Event{At: at, Body: Aborted{}}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Append to a link into nowhere = %v, want not found", err)
	}
}
