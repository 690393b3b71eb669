package joblog

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/hooks"
	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/lib/userlog"
	"fairspool/spool"
)

var at = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

// pendingPool is a spool with job 1.0, which runs, and jobs 2.0 and 2.1, which are idle.
type pendingPool struct {
	*testing.T
	*spool.Spool
	dir      string
	warnings []string
}

func newPendingPool(t *testing.T) *pendingPool {
	dir := t.TempDir()
	sp, err := spool.Open(filepath.Join(dir, "spool"), spool.Options{Program: "test", UIDDomain: "example.org", Now: at})
	testenv.OK(t, err)
	p := &pendingPool{T: t, Spool: sp, dir: dir}
	p.update(func(tx *spool.Tx) error {
		tx.Op("submit")
		running, idle := classad.New(), classad.New()
		running.SetInt(pool.AttrJobStatus, int64(pool.Running))
		idle.SetInt(pool.AttrJobStatus, int64(pool.Idle))
		tx.AddCluster(running, []spool.NewRun{{Count: 1}})
		tx.AddCluster(idle, []spool.NewRun{{Count: 2}})
		tx.PutClaim(p.claim(1))
		return nil
	})
	return p
}

// claim is that of an attempt of job 1.0.
func (p *pendingPool) claim(attempt int) pool.Claim {
	return pool.Claim{
		Job: pool.JobID{Cluster: 1}, Attempt: attempt, Slot: "slot1@node1", Machine: "node1", Submitter: "alice@example.org",
		State: pool.RunningClaim, Weight: accountant.One, MatchedAt: at, StartedAt: at, PID: 1,
	}
}

func (p *pendingPool) update(fn func(tx *spool.Tx) error) {
	p.Helper()
	if err := p.Update(fn); err != nil {
		p.Fatal(err)
	}
}

func (p *pendingPool) log(name string) Log { return Log{Path: filepath.Join(p.dir, name)} }

// finish has the pending events written, and returns how many files have some then.
func (p *pendingPool) finish() (left int) {
	Finish(p.Spool, "", func(format string, args ...any) { p.warnings = append(p.warnings, fmt.Sprintf(format, args...)) })
	return len(pendingFiles(p.Spool, nil))
}

// numbers returns the numbers of the events in a log.
func (p *pendingPool) numbers(log string) (list []int) {
	b, _ := os.ReadFile(filepath.Join(p.dir, log))
	r := userlog.NewReader(strings.NewReader(string(b)), userlog.Options{})
	for {
		e, err := r.Next()
		if err != nil {
			return list
		}
		list = append(list, userlog.Number(e.Body))
	}
}

func (p *pendingPool) event(body userlog.Body) userlog.Event {
	return userlog.Event{Job: pool.JobID{Cluster: 1}, At: at, Body: body}
}

// end keeps the end of an attempt of job 1.0 and, unless it fails, commits it. It returns the
// file of the claim.
func (p *pendingPool) end(attempt int, fails bool, events ...userlog.Event) string {
	p.Helper()
	claim := p.claim(attempt)
	f, err := os.OpenFile(p.ClaimLock(claim.LockName()), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		p.Fatal(err)
	}
	defer f.Close()
	if err := os.Chtimes(f.Name(), at, at); err != nil {
		p.Fatal(err)
	}
	err = p.Update(func(tx *spool.Tx) error {
		tx.Op("finish")
		tx.DropClaim(claim.Job)
		if err := Keep(f, p.log("log"), events...); err != nil {
			p.Error(err)
		}
		if fails {
			return os.ErrInvalid
		}
		return nil
	})
	if (err != nil) != fails {
		p.Fatal(err)
	}
	if info, err := f.Stat(); err != nil || !info.ModTime().Equal(at) {
		p.Errorf("the file was changed at %v, %v, want the sign of life to stay", info.ModTime(), err)
	}
	return f.Name()
}

// A process is killed before, in the middle of or after the writing of an attempt's end: each
// event is in the log once if the end was committed, and not at all if not.
func TestFinish(t *testing.T) {
	evicted, held := newPendingPool(t).event(userlog.Evicted{}), newPendingPool(t).event(userlog.Held{})
	for _, c := range []struct {
		name    string
		fails   bool
		written []userlog.Event // by the process itself
		want    []int
	}{
		{"not committed", true, nil, nil},
		{"committed", false, nil, []int{4, 12}},
		{"the first written", false, []userlog.Event{evicted}, []int{4, 12}},
		{"all written", false, []userlog.Event{evicted, held}, []int{4, 12}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPendingPool(t)
			claim := p.end(1, c.fails, evicted, held)
			testenv.OK(t, p.log("log").Append("", c.written...))
			for range 2 {
				if p.finish(); !slices.Equal(p.numbers("log"), c.want) || p.warnings != nil {
					t.Errorf("events %v, warnings %q, want %v", p.numbers("log"), p.warnings, c.want)
				}
			}
			if info, err := os.Stat(claim); err != nil || (info.Size() == 0) == c.fails {
				t.Errorf("the file of the claim: %v, %v, want it there, and empty if the log has the end", info, err)
			}
		})
	}
}

// A process that ends an attempt whose end another process did not commit makes that one's
// events void, also if it has none itself.
func TestKeep(t *testing.T) {
	p := newPendingPool(t)
	p.end(1, true, p.event(userlog.Evicted{}), p.event(userlog.Held{}))
	p.end(1, true, p.event(userlog.Terminated{}))
	p.end(1, false)
	if p.finish(); p.numbers("log") != nil {
		t.Errorf("events %v, want none", p.numbers("log"))
	}
}

// What another process has locked is left to that: it lives.
func TestFinishLocked(t *testing.T) {
	p := newPendingPool(t)
	claim := p.end(1, false, p.event(userlog.Evicted{}))
	other := exec.Command(os.Args[0])
	other.Env = append(os.Environ(), holds+"="+claim)
	in, err := other.StdinPipe()
	testenv.OK(t, err)
	out, err := other.StdoutPipe()
	testenv.OK(t, err)
	testenv.OK(t, other.Start())
	if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if p.finish(); p.numbers("log") != nil {
		t.Errorf("events %v, want none while another process has the lock", p.numbers("log"))
	}
	in.Close()
	other.Wait()
	if p.finish(); !slices.Equal(p.numbers("log"), []int{4}) {
		t.Errorf("events %v, want 4", p.numbers("log"))
	}
}

// holds names the file that this process locks until its input ends.
const holds = "JOBLOG_TEST_HOLDS"

func TestMain(m *testing.M) {
	path := os.Getenv(holds)
	if path == "" {
		os.Exit(testenv.Run(m))
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		_, err = spool.LockClaim(f)
	}
	if err != nil {
		os.Exit(1)
	}
	os.Stdout.WriteString("x")
	io.Copy(io.Discard, os.Stdin)
}

// removed are the events of jobs 2.0 and 2.1, which have a log each, as they leave the queue.
func (p *pendingPool) removed() (v Events) {
	for proc, name := range []string{"log0", "log1"} {
		ad := classad.New()
		ad.SetString(pool.AttrUserLog, p.log(name).Path)
		ad.SetString(pool.AttrNotifyCommand, "/bin/true")
		v.Add(nil, pool.JobID{Cluster: 2, Proc: proc}, ad, userlog.Aborted{Reason: "why"})
	}
	return v
}

// remove takes the jobs of cluster 2 out of the queue, or has them stay there as removed ones,
// and leaves the events to others. It fails after them, if it is to.
func (p *pendingPool) remove(stay, fails bool) {
	p.Helper()
	v := p.removed()
	err := p.Update(func(tx *spool.Tx) error {
		tx.Op("remove")
		if stay {
			tx.SetRange(pool.Procs{Cluster: 2, First: 0, Last: 1}, pool.AttrJobStatus, classad.Literal(classad.Int(int64(pool.Removed))))
		} else {
			tx.LeaveRange(pool.Procs{Cluster: 2, First: 0, Last: 1}, at)
		}
		if err := v.Keep(p.Spool, at); err != nil {
			p.Error(err)
		}
		if fails {
			return os.ErrInvalid
		}
		return nil
	})
	if (err != nil) != fails {
		p.Fatal(err)
	}
	v.Release()
}

// Jobs without an attempt leave the queue, and the command is killed.
func TestFinishRemoved(t *testing.T) {
	for name, stay := range map[string]bool{"gone": false, "staying": true} {
		t.Run(name, func(t *testing.T) {
			p := newPendingPool(t)
			p.remove(stay, true)
			if left := p.finish(); left != 0 || p.numbers("log0") != nil {
				t.Errorf("not committed: events %v, %d files, want none", p.numbers("log0"), left)
			}
			if due := hooks.Due(p.ClaimLock("")); len(due) > 0 {
				t.Errorf("not committed: commands are due in %v, want none", due)
			}
			p.remove(stay, true)
			p.remove(stay, false)
			if n := len(pendingFiles(p.Spool, nil)); n != 1 {
				t.Errorf("%d files, want one: the other was not committed", n)
			}
			for range 2 {
				left := p.finish()
				for _, log := range []string{"log0", "log1"} {
					if got := p.numbers(log); left != 0 || !slices.Equal(got, []int{9}) || p.warnings != nil {
						t.Errorf("%s: events %v, %d files, warnings %q, want 9", log, got, left, p.warnings)
					}
				}
				due := hooks.Due(p.ClaimLock(""))
				if len(due) != 1 {
					t.Fatalf("commands are due in %v, want one file", due)
				}
				if text, err := os.ReadFile(due[0]); err != nil || strings.Count(string(text), `"/bin/true"`) != 2 {
					t.Errorf("due is %s, %v, want a command for each job", text, err)
				}
			}
		})
	}
}

// Events are not kept if none is a job's last.
func TestKeepNoEnd(t *testing.T) {
	p := newPendingPool(t)
	ad := classad.New()
	ad.SetString(pool.AttrUserLog, p.log("log").Path)
	var v Events
	v.Add(nil, pool.JobID{Cluster: 2}, ad, userlog.Held{})
	if err := v.Keep(p.Spool, at); err != nil || len(pendingFiles(p.Spool, nil)) > 0 {
		t.Errorf("Keep = %v, %d files, want none", err, len(pendingFiles(p.Spool, nil)))
	}
}

// The end of the attempt before stands in the log when a command writes there that the job is
// removed, whoever was to write that.
func TestWriteBehindPending(t *testing.T) {
	p := newPendingPool(t)
	p.end(1, false, p.event(userlog.Evicted{}), p.event(userlog.Held{}))
	ad := classad.New()
	ad.SetString(pool.AttrUserLog, p.log("log").Path)
	var v Events
	v.Add(nil, pool.JobID{Cluster: 1}, ad, userlog.Aborted{})
	testenv.OK(t, v.Keep(p.Spool, at))
	v.Write(&cmdline.Call{Name: "toy", Stderr: &bytes.Buffer{}, Now: at})
	if got := p.numbers("log"); !slices.Equal(got, []int{4, 12, 9}) || len(pendingFiles(p.Spool, nil)) > 0 {
		t.Errorf("events %v, %d files, want 4 12 9", got, len(pendingFiles(p.Spool, nil)))
	}
}

// Events of a log that cannot be written are tried again for an hour, and then given up.
func TestFinishUnwritable(t *testing.T) {
	p := newPendingPool(t)
	log := filepath.Join(p.dir, "log")
	testenv.OK(t, os.Mkdir(log, 0o700))
	p.end(1, false, p.event(userlog.Evicted{}), p.event(userlog.Held{}))
	if left := p.finish(); left != 1 || p.warnings != nil {
		t.Errorf("%d files, warnings %q, want it tried again", left, p.warnings)
	}
	defer func(d time.Duration) { tryFor = d }(tryFor)
	tryFor = 0
	want := []string{"job log: " + log + ": is a directory; everything else is done"}
	if left := p.finish(); left != 0 || !slices.Equal(p.warnings, want) {
		t.Errorf("%d files, warnings %q, want %q", left, p.warnings, want)
	}
}

// An incomplete file is reported if it is of a committed end; an empty file is of a process
// that was killed before it wrote.
func TestFinishTorn(t *testing.T) {
	for size, warned := range map[int64]bool{0: false, 40: true} {
		p := newPendingPool(t)
		p.end(1, false, p.event(userlog.Evicted{}), p.event(userlog.Held{}))
		path := pendingFiles(p.Spool, nil)[0].path
		testenv.OK(t, os.Truncate(path, size))
		want := []string{path + ": it is incomplete: some events may be missing in the logs of jobs"}
		if !warned {
			want = nil
		}
		if left := p.finish(); left != 0 || p.numbers("log") != nil || !slices.Equal(p.warnings, want) {
			t.Errorf("%d bytes: %d files, warnings %q, want %q", size, left, p.warnings, want)
		}
	}
}

// What is kept reads back, whatever paths and texts there are.
func TestBatches(t *testing.T) {
	e := userlog.Event{At: at, Body: userlog.Aborted{Reason: "...\nlog \"x\" \"y\"\nend 00000000"}}
	want := []batch{
		{Log{Path: "/a b\n\"c\"\xff", Owner: "alice"}, userlog.Text(e, e)},
		{Log{Path: "/d"}, userlog.Text(e)},
	}
	if got, ok := batchesOf(textOf(want)); !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("batchesOf = %v, %v, want %v", got, ok, want)
	}
	text := textOf(want)
	for i := range text {
		bad := slices.Clone(text)
		if bad[i] ^= 4; i < len(text)-1 {
			if _, ok := batchesOf(bad); ok {
				t.Errorf("batchesOf with byte %d flipped is taken for good", i)
			}
		}
	}
}

// deliver has the owed events written, and returns how many files with some there are then.
func (p *pendingPool) deliver() (left int) {
	Deliver(p.Spool, "", func(format string, args ...any) { p.warnings = append(p.warnings, fmt.Sprintf(format, args...)) })
	return len(Owed(p.Spool))
}

// owe leaves a file with owed events, made at a time, for each of the logs. It returns its path.
func (p *pendingPool) owe(made time.Time, of ...batch) string {
	p.Helper()
	path := owedName(p.ClaimLock(""), made)
	if err := putOwed(path, of); err != nil {
		p.Fatal(err)
	}
	return path
}

func (p *pendingPool) batch(log string, events ...userlog.Event) batch {
	return batch{p.log(log), userlog.Text(events...)}
}

// is holds a log to the numbers of its events.
func (p *pendingPool) is(when, log string, want ...int) {
	p.Helper()
	if got := p.numbers(log); !reflect.DeepEqual(got, want) {
		p.Errorf("%s: %s has the events %v, want %v", when, log, got, want)
	}
}

// TestDeliver holds that events are delivered in the order in which they were owed, each once, and which
// of them stay.
func TestDeliver(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root's starter delivers")
	}
	now := time.Now()
	p := newPendingPool(t)
	held, released := p.event(userlog.Held{Reason: "a"}), p.event(userlog.Released{Reason: "b"})
	again := p.event(userlog.Held{Reason: "c"})
	if left := p.deliver(); left != 0 {
		t.Fatalf("%d files where nothing is owed", left)
	}
	p.owe(now, p.batch("two", released), p.batch("one", again))
	p.owe(now.Add(-time.Minute), p.batch("one", held, released))
	if left := p.deliver(); left != 0 {
		t.Errorf("%d files stay", left)
	}
	p.is("in order", "one", 12, 13, 12)
	p.is("in order", "two", 13)

	// A delivery that was begun may have written anything from nothing to all.
	begun := p.owe(now, p.batch("one", again, p.event(userlog.Released{Reason: "d"})), p.batch("three", held))
	testenv.OK(t, os.Rename(begun, begun+begunName))
	if left := p.deliver(); left != 0 {
		t.Errorf("%d files stay of a delivery that was begun", left)
	}
	p.is("begun before", "one", 12, 13, 12, 13)
	p.is("begun before", "three", 12)

	// A log that cannot be written keeps its own events alone, also those that are owed later.
	testenv.OK(t, os.Mkdir(filepath.Join(p.dir, "folder"), 0o700))
	p.owe(now.Add(-time.Second), p.batch("folder", held), p.batch("two", held))
	p.owe(now, p.batch("two", released), p.batch("folder", released))
	if left := p.deliver(); left != 2 || len(p.warnings) > 0 {
		t.Errorf("%d files stay, want 2; warnings %q", left, p.warnings)
	}
	p.is("beside a log that cannot be written", "two", 13, 12, 13)
	testenv.OK(t, os.Remove(filepath.Join(p.dir, "folder")))
	if left := p.deliver(); left != 0 {
		t.Errorf("%d files stay when the log can be written", left)
	}
	p.is("when it can be written", "folder", 12, 13)
	p.is("when another one can be written", "two", 13, 12, 13)
}

// TestDeliverGivesUp holds what is given up, and that this is told.
func TestDeliverGivesUp(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root's starter delivers")
	}
	p := newPendingPool(t)
	held := p.event(userlog.Held{Reason: "a"})
	testenv.OK(t, os.Mkdir(filepath.Join(p.dir, "folder"), 0o700))
	p.owe(time.Now().Add(-2*tryFor), p.batch("folder", held), p.batch("log", held))
	if left := p.deliver(); left != 0 || len(p.warnings) != 1 {
		t.Errorf("after a long time %d files stay; warnings %q, want one", left, p.warnings)
	}
	p.is("beside what is given up", "log", 12)
	torn := p.owe(time.Now(), p.batch("log", held))
	testenv.OK(t, os.Truncate(torn, 30))
	if left := p.deliver(); left != 0 || len(p.warnings) != 2 {
		t.Errorf("%d files stay that are torn; warnings %q, want two", left, p.warnings)
	}
	p.is("behind a torn file", "log", 12)
}

// TestOwe holds that the account's events come to the logs as they would have been written, whether a
// file has kept them or not.
func TestOwe(t *testing.T) {
	p := newPendingPool(t)
	for _, kept := range []bool{false, true} {
		var v Events
		v.AddTo(p.log("log"), pool.JobID{Cluster: 2}, userlog.Held{Reason: "a"})
		if kept {
			testenv.OK(t, v.Keep(p.Spool, at))
		}
		v.date(at)
		testenv.OK(t, v.owe(p.Dir()))
		files := Owed(p.Spool)
		if len(files) != 1 || time.Since(owedAt(files[0])) > time.Hour {
			t.Fatalf("kept %t: %v is owed, want one file of now", kept, files)
		}
		text, err := os.ReadFile(files[0])
		want := OwedText(p.log("log").Path, "", userlog.Event{Job: pool.JobID{Cluster: 2}, At: at, Body: userlog.Held{Reason: "a"}})
		if err != nil || string(text) != want {
			t.Errorf("kept %t: %q, %v, want %q", kept, text, err, want)
		}
		testenv.OK(t, os.Remove(files[0]))
	}
	var none Events
	if err := none.owe(p.Dir()); err != nil || len(Owed(p.Spool)) > 0 {
		t.Errorf("without events %v is owed, %v", Owed(p.Spool), err)
	}
	if err := putOwed(filepath.Join(p.dir, "none", "x"), nil); err == nil {
		t.Error("a file is left in no folder")
	}
	if !owedAt("owed-x").IsZero() {
		t.Error("a name without a time says when it was made")
	}
}
