package qstat

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/cmdtest"
	"fairspool/cmd/internal/waiting"
	"fairspool/lib/pool"
	"fairspool/lib/userlog"
)

// logOf writes a log with events of the jobs "12.0" and so on.
func logOf(t *testing.T, events ...any) string {
	t.Helper()
	cmdtest.Spool(t, nil)
	path := filepath.Join(t.TempDir(), "jobs.log")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	appendTo(t, path, events...)
	return path
}

// appendTo adds events: a job, then what happened to it.
func appendTo(t *testing.T, path string, events ...any) {
	t.Helper()
	for i := 0; i < len(events); i += 2 {
		var id pool.JobID
		if _, err := fmt.Sscanf(events[i].(string), "%d.%d", &id.Cluster, &id.Proc); err != nil {
			t.Fatal(err)
		}
		if err := userlog.Append(path, userlog.Event{Job: id, At: time.Unix(now, 0).UTC(), Body: events[i+1].(userlog.Body)}); err != nil {
			t.Fatal(err)
		}
	}
}

var (
	submitted = userlog.Submitted{Host: "h"}
	good      = userlog.Terminated{}
	three     = userlog.Terminated{ReturnValue: 3}
	killed    = userlog.Terminated{Signal: 9}
	removed   = userlog.Aborted{Reason: "by alice"}
)

func TestWait(t *testing.T) {
	for _, c := range []struct {
		name   string
		events []any
		args   string
		status int
		json   string
	}{
		{"one good", []any{"12.0", submitted, "12.0", good}, "", 0, ""},
		{"two good", []any{"12.0", submitted, "12.1", submitted, "12.1", good, "12.0", good}, "", 0, ""},
		{"its own status", []any{"12.0", submitted, "12.0", three}, "", 3, ""},
		{"a signal", []any{"12.0", submitted, "12.0", killed}, "", 137, ""},
		{"removed", []any{"12.0", submitted, "12.0", removed}, "", 1, ""},
		{"the first by id", []any{"12.1", submitted, "12.0", submitted, "2.0", submitted, "12.1", three, "12.0", killed, "2.0", good}, "", 137, ""},
		{"removed after its end", []any{"12.0", submitted, "12.0", killed, "12.0", removed}, "", 137, ""},
		{"nothing but removals", []any{"5.0", removed, "12.1", userlog.Aborted{}}, " -timeout 9", 1, ""},
		{"nothing but a good end", []any{"5.0", good}, " -timeout 9", 0, ""},
		{"an end of a job whose submission is in another log", []any{"5.0", removed, "12.0", submitted, "12.0", good}, "", 1, ""},
		{"which is asked for", []any{"5.0", removed, "12.0", submitted, "12.0", good}, " 5.0", 1, ""},
		{"which is not asked for", []any{"5.0", removed, "12.0", submitted, "12.0", good}, " 12", 0, ""},
		{"a start of a job whose submission is in another log", []any{"5.0", userlog.Executing{Host: "h"}, "12.0", submitted, "12.0", good}, " -timeout 0", 1, ""},
		{"a job of several", []any{"12.0", submitted, "12.1", submitted, "12.1", three}, " 12.1", 3, ""},
		{"a cluster of several", []any{"12.0", submitted, "13.0", submitted, "13.1", submitted, "13.0", good, "13.1", good}, " 13", 0, ""},
		{"a cluster whose submission is in another log", []any{"12.0", userlog.Executing{Host: "h"}, "12.1", userlog.Released{}, "12.2", userlog.Evicted{}, "12.0", good}, " 12 -timeout 0", 1, ""},
		{"runs again", []any{"12.0", submitted, "12.0", userlog.Evicted{Requeued: &userlog.Exit{ReturnValue: 1}}, "12.0", good}, "", 0, ""},
		{"held and released", []any{"12.0", submitted, "12.0", userlog.Held{Reason: "x"}, "12.0", userlog.Released{}, "12.0", good}, "", 0, ""},
		{"an end that cannot be read", []any{"12.0", submitted, "12.0", userlog.Unknown{Number: 5, Lines: []string{"over"}}}, "", 1, ""},
		{"a late cluster", []any{"12.-1", userlog.ClusterSubmitted{Host: "h"}, "12.0", submitted, "12.0", good, "12.-1", userlog.ClusterRemoved{}}, "", 0, ""},

		{"not ended", []any{"12.0", submitted}, " -timeout 0", 1, ""},
		{"several not ended", []any{"12.0", submitted, "12.1", submitted, "12.2", submitted, "12.0", good}, " -timeout 0.01", 1, ""},
		{"more to come", []any{"12.-1", userlog.ClusterSubmitted{Host: "h"}, "12.0", submitted, "12.0", good}, " -timeout 0", 1, ""},
		{"none", nil, " -timeout 0", 1, ""},
		{"another cluster", []any{"12.0", submitted, "12.0", good}, " 12 13 -timeout 0", 1, ""},
		{"held", []any{"12.0", submitted, "12.0", userlog.Held{Reason: "by bob"}}, " -timeout 0", 1, ""},

		{"json", []any{"12.0", submitted, "12.1", submitted, "12.0", good, "12.1", killed}, " -json", 137,
			`{ "SchemaVersion": 1, "Jobs": 2, "Ended": 2, "ExitStatus": 137, "Outcomes": [ { "ClusterId": 12, "ProcId": 0, "ReturnValue": 0 }, { "ClusterId": 12, "ProcId": 1, "Signal": 9 } ] }`},
		{"json in time", []any{"12.0", submitted}, " -json -timeout 0", 1, `{ "SchemaVersion": 1, "Jobs": 1, "Ended": 0, "TimedOut": true, "ExitStatus": 1, "Outcomes": [] }`},

		{"no job's name", nil, " alice", 2, ""},
		{"no time", nil, " -timeout soon", 2, ""},
		{"no display", nil, " -u alice", 2, ""},
	} {
		path := logOf(t, c.events...)
		status, out, bad := qstat(strings.Fields("-wait " + path + c.args)...)
		if json := strings.Join(strings.Fields(out), " "); status != c.status || c.json != "" && json != c.json {
			t.Errorf("%s: qstat = %d, %q, %q, want %d, %q", c.name, status, out, bad, c.status, c.json)
		}
		cmdtest.Printed(t, fmt.Sprintf("qstat -wait LOG%s (%s)", c.args, c.name), status, out, bad)
	}
	cmdtest.Refuses(t, Command(), 2, "-timeout", "3")
}

// The log may come later, and the ends of its jobs one by one.
func TestWaitForLogThatGrows(t *testing.T) {
	cmdtest.Spool(t, nil)
	path := filepath.Join(t.TempDir(), "jobs.log")
	told := make(chan string, 100)
	go func() {
		<-told // that the log is not there
		appendTo(t, path, "12.0", submitted, "12.1", submitted, "12.0", userlog.Held{Reason: "x"})
		<-told // that a job is held
		os.Rename(path, path+".old")
		appendTo(t, path, "12.0", good)
		appendTo(t, path, "12.1", three)
	}()
	status, bad := waitTelling(told, "-wait", path)
	if status != 3 {
		t.Errorf("qstat -wait = %d, want the 3 of 12.1", status)
	}
	cmdtest.Printed(t, "qstat -wait LOG", status, "", bad)
}

// While nothing happens to them, waiting for many held jobs costs next to nothing.
func TestWaitForHeldJobsCost(t *testing.T) {
	var events []userlog.Event
	for proc := range 1000 {
		id := pool.JobID{Cluster: 12, Proc: proc}
		events = append(events, userlog.Event{Job: id, Body: submitted}, userlog.Event{Job: id, Body: userlog.Held{Reason: "x"}})
	}
	path := logOf(t)
	if err := userlog.Append(path, events...); err != nil {
		t.Fatal(err)
	}
	all, _ := waiting.Jobs(nil)
	v := waiting.ForLog(path, all, 2026)
	defer v.Close()
	look := func() int {
		far, err := v.Look()
		if err != nil {
			t.Fatal(err)
		}
		if len(far.News) > 0 {
			cmdtest.Printed(t, "qstat -wait LOG", 0, "", strings.Join(far.News, "\n")+"\n")
		}
		return len(far.News)
	}
	if got := look(); got != 1 {
		t.Errorf("the first look has %d messages, want 1", got)
	}
	const most = 20
	if got := testing.AllocsPerRun(5, func() { look() }); got > most {
		t.Errorf("a look at nothing new takes %v allocations, want %v at most", got, most)
	}
	appendTo(t, path, "12.7", userlog.Released{}, "12.8", userlog.Held{Reason: "x"})
	if got := look(); got > 0 {
		t.Errorf("a look after a release has %d messages, want none", got)
	}
	appendTo(t, path, "12.7", userlog.Held{Reason: "y"})
	if got := look(); got != 1 {
		t.Errorf("a look after another hold has %d messages, want 1", got)
	}
}

// telling hands on each line that a command writes to standard error.
type telling struct {
	to   chan<- string
	text strings.Builder
}

func (l *telling) Write(b []byte) (int, error) {
	l.to <- string(b)
	return l.text.Write(b)
}

func waitTelling(told chan<- string, args ...string) (status int, bad string) {
	l := &telling{to: told}
	status = cmdline.Execute(Command(), args, strings.NewReader(""), io.Discard, l)
	return status, l.text.String()
}
