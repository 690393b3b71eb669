package hooks

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"fairspool/internal/testenv"
	"fairspool/lib/classad"
	"fairspool/lib/jobevent"
	"fairspool/lib/pool"
)

func TestMain(m *testing.M) { os.Exit(testenv.Run(m)) }

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func order(kind jobevent.Kind, procs pool.Procs, words ...string) Order {
	ad := classad.New()
	ad.Set("Owner", classad.Literal(classad.String("alice")))
	ad.Set("Args", classad.Literal(classad.String("\xff ProcId = 3")))
	o := NewOrder(words, false, kind, procs, ad)
	o.At = noon
	return o
}

// TestText holds that a file of orders reads as it was written, with the added lines, and that an incomplete one
// is ignored.
func TestText(t *testing.T) {
	orders := []Order{order(jobevent.Held, pool.Procs{Cluster: 1, First: 3, Last: 12}, "/bin/true", "a b", ""), order(jobevent.Ended, pool.Procs{Cluster: 2}, "/x")}
	text, err := textOf(orders)
	testenv.OK(t, err)
	for _, more := range []string{"", fmt.Sprintf(noteForm, 1, 0, 17, 4), "torn"} {
		got, notes, err := ordersOf(append(slices.Clone(text), more...))
		if err != nil || !reflect.DeepEqual(got, orders) || string(notes) != more {
			t.Errorf("ordersOf = %+v, %q, %v, want %+v, %q", got, notes, err, orders, more)
		}
	}
	for i := range text {
		if got, _, err := ordersOf(text[:i]); !errors.Is(err, errTorn) {
			t.Fatalf("ordersOf of %d bytes of %d = %v, %v, want that it is torn", i, len(text), got, err)
		}
		bad := slices.Clone(text)
		bad[i] ^= 1
		if got, _, err := ordersOf(bad); err == nil {
			t.Fatalf("ordersOf with byte %d changed = %v, want an error", i, got)
		}
	}
	const want = "Args = \"\xff ProcId = 3\"\nClusterId = 1\nOwner = \"alice\"\nProcId = 12\n"
	if got := orders[0].adOf(12); string(got) != want {
		t.Errorf("the ad of proc 12 is\n%q\nwant\n%q", got, want)
	}
}

// TestKeep holds what becomes of the files that a transaction keeps.
func TestKeep(t *testing.T) {
	dir := t.TempDir()
	a := pool.Attempt{Job: pool.JobID{Cluster: 12, Proc: 3}, Number: 2}
	orders := []Order{order(jobevent.Ended, pool.Only(a.Job), "/bin/true")}
	files := func() (due []string, kept []Kept) {
		var names []string
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return Files(dir, names)
	}
	must := func(err error) {
		t.Helper()
		testenv.OK(t, err)
	}
	must(os.WriteFile(filepath.Join(dir, "12.3.2"), nil, 0o600))
	must(Keep(dir, a, orders))
	must(Keep(dir, a, orders))
	if due, kept := files(); len(due) != 0 || len(kept) != 1 || kept[0].Attempt != a {
		t.Errorf("kept: %v, %v, want %v", due, kept, a)
	}
	must(Keep(dir, a, nil))
	must(Keep(dir, a, nil))
	if due, kept := files(); len(due)+len(kept) != 0 || Commit(dir, a) {
		t.Errorf("kept without orders: %v, %v, want none", due, kept)
	}
	must(Keep(dir, a, orders))
	if !Commit(dir, a) || Commit(dir, a) {
		t.Error("Commit does not give orders to the runner once")
	}
	path, err := KeepRemoved(dir, a.Job, orders)
	must(err)
	if due, kept := files(); len(due) != 1 || len(kept) != 1 || kept[0] != (Kept{pool.Attempt{Job: a.Job}, path}) {
		t.Errorf("kept: %v, %v, want one of each", due, kept)
	}
	if !Release(path) || Release(path) {
		t.Error("Release does not give orders to the runner once")
	}
	must(Put(dir, orders))
	must(Put(dir, nil))
	due, _ := files()
	if len(due) != 3 || !slices.IsSorted(due) || time.Since(NamedAt(due[2], duePrefix)).Abs() > time.Hour {
		t.Errorf("due are %v, want 3", due)
	}
}

// runs runs what is due in a folder, and returns the warnings.
func runs(t *testing.T, dir string, timeout time.Duration) (warnings []string) {
	t.Helper()
	err := Run(Settings{Folder: dir, Timeout: timeout, Warn: func(format string, args ...any) { warnings = append(warnings, fmt.Sprintf(format, args...)) }})
	if err != nil {
		t.Error(err)
	}
	if due := Due(dir); len(due) > 0 {
		t.Errorf("left are %v", due)
	}
	return warnings
}

// TestRun holds that a command runs once for each job of an order, a job's one after the other,
// and holds the messages about commands that fail.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	said := filepath.Join(dir, "said")
	tell := []string{"/bin/sh", "-c", `echo $FAIRSPOOL_JOB $FAIRSPOOL_EVENT $(grep ^ProcId) >>` + said}
	procs := pool.Procs{Cluster: 1, First: 0, Last: 19}
	var orders []Order
	for _, k := range []jobevent.Kind{jobevent.Submitted, jobevent.Held, jobevent.Removed} {
		orders = append(orders, order(k, procs, tell...))
	}
	orders = append(orders, order(jobevent.Ended, pool.Procs{Cluster: 2}, "/no such"), order(jobevent.Held, pool.Procs{Cluster: 2}, "/bin/sh", "-c", "echo why; echo; exit 3"),
		order(jobevent.Removed, pool.Procs{Cluster: 2}, "/bin/sh", "-c", "sleep 1000 & exit 0"))
	testenv.OK(t, Put(dir, orders))
	late := filepath.Join(dir, fmt.Sprintf("%s%020d-1-1", duePrefix, time.Now().Add(-2*tryFor).UnixNano()))
	text, err := textOf([]Order{order(jobevent.Held, pool.Procs{Cluster: 3}, tell...)})
	if err == nil {
		err = os.WriteFile(late, text, 0o600)
	}
	if err == nil {
		err = os.WriteFile(late+"-torn", text[1:], 0o600)
	}
	testenv.OK(t, err)
	warnings := runs(t, dir, time.Minute)
	for _, want := range []string{
		"job 3.0, held: EVENT_COMMAND /bin/sh: not started within 1h0m0s of the event; it is given up",
		late + "-torn: it is not whole: commands for some events are not run",
		"job 2.0, ended: EVENT_COMMAND /no such: no such file or directory",
		"job 2.0, held: EVENT_COMMAND /bin/sh: exit status 3: why",
	} {
		if i := slices.Index(warnings, want); i < 0 {
			t.Errorf("the runner warns of %q, want %q", warnings, want)
		} else {
			warnings = slices.Delete(warnings, i, i+1)
		}
	}
	if len(warnings) > 0 {
		t.Errorf("it warns of %q, too", warnings)
	}
	lines, err := os.ReadFile(said)
	testenv.OK(t, err)
	if n := bytes.Count(lines, []byte("\n")); n != 60 {
		t.Errorf("%d commands ran, want 60", n)
	}
	for id := range procs.Jobs() {
		var of []string
		for line := range strings.Lines(string(lines)) {
			if strings.HasPrefix(line, id.String()+" ") {
				of = append(of, strings.TrimPrefix(line, id.String()+" "))
			}
		}
		ad := fmt.Sprintf(" ProcId = %d\n", id.Proc)
		if want := []string{"submitted" + ad, "held" + ad, "removed" + ad}; !slices.Equal(of, want) {
			t.Errorf("job %v was told %q, want %q", id, of, want)
		}
	}
}

// TestWarnings holds that a runner does not fill the log.
func TestWarnings(t *testing.T) {
	dir := t.TempDir()
	testenv.OK(t, Put(dir, []Order{order(jobevent.Held, pool.Procs{Cluster: 1, First: 0, Last: mostWarnings + 4}, "/no such")}))
	w := runs(t, dir, time.Minute)
	if len(w) != mostWarnings+1 || w[mostWarnings] != "5 more commands failed" {
		t.Errorf("%d warnings, the last %q", len(w), w[len(w)-1])
	}
}

// TestAfterRunner holds what the next runner does with commands that one has started which was killed: it starts none again, and kills
// those that take too long.
func TestAfterRunner(t *testing.T) {
	dir := t.TempDir()
	said := filepath.Join(dir, "said")
	testenv.OK(t, Put(dir, []Order{order(jobevent.Held, pool.Procs{Cluster: 1, First: 0, Last: 3}, "/bin/sh", "-c", "echo $FAIRSPOOL_JOB >>"+said)}))
	hangs := exec.Command("sleep", "1000")
	hangs.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	testenv.OK(t, hangs.Start())
	ended := make(chan error)
	go func() { ended <- hangs.Wait() }()
	notes := fmt.Sprintf(noteForm+noteForm+noteForm, 0, 0, hangs.Process.Pid, ticksOf(hangs.Process.Pid), 0, 1, os.Getpid(), 1, 0, 2, 0, 0)
	f, err := os.OpenFile(Due(dir)[0], os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = f.WriteString(notes)
	}
	testenv.OK(t, err)
	f.Close()
	if w := runs(t, dir, 50*time.Millisecond); len(w) != 1 || w[0] != "job 1.0, held: EVENT_COMMAND /bin/sh: takes longer than 0.05 s, killed (EVENT_COMMAND_TIMEOUT)" {
		t.Errorf("the runner warns of %q", w)
	}
	<-ended
	if text, err := os.ReadFile(said); err != nil || string(text) != "1.3\n" {
		t.Errorf("commands ran for %q, %v, want job 1.3 alone", text, err)
	}
}

// TestOneRunner holds that a runner leaves its work to another one.
func TestOneRunner(t *testing.T) {
	dir := t.TempDir()
	testenv.OK(t, Put(dir, []Order{order(jobevent.Held, pool.Procs{Cluster: 1}, "/bin/true")}))
	lock, err := lockRunner(dir)
	if err != nil || lock == nil {
		t.Fatal(lock, err)
	}
	if err := Run(Settings{Folder: dir, Timeout: time.Minute}); err != nil || len(Due(dir)) != 1 {
		t.Errorf("beside another runner: %v, due are %v", err, Due(dir))
	}
	lock.Close()
	if w := runs(t, dir, time.Minute); len(w) > 0 {
		t.Errorf("it warns of %q", w)
	}
}

// FuzzOrders holds that no text makes a runner fail.
func FuzzOrders(f *testing.F) {
	text, _ := textOf([]Order{order(jobevent.Held, pool.Procs{Cluster: 1}, "/bin/true")})
	f.Add(text)
	f.Add([]byte("end 00000000\n"))
	f.Add([]byte("{}\nend "))
	f.Fuzz(func(t *testing.T, text []byte) { ordersOf(text) })
}
