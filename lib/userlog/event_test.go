package userlog

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fairspool/internal/testenv"
	"fairspool/lib/pool"
)

var at = time.Date(2026, 11, 20, 9, 5, 7, 999, time.UTC)

const bytes2 = "\t0  -  Run Bytes Sent By Job\n\t0  -  Run Bytes Received By Job\n"
const bytes4 = bytes2 + "\t0  -  Total Bytes Sent By Job\n\t0  -  Total Bytes Received By Job\n"

func TestAppendTo(t *testing.T) {
	for _, c := range []struct {
		name string
		body Body
		want string
	}{
		{"submitted", Submitted{Host: "alpha.example.org"}, "000 HEAD Job submitted from host: <alpha.example.org>\n...\n"},
		{"submitted with notes", Submitted{Host: "h", Notes: []string{"DAG Node: A"}}, "000 HEAD Job submitted from host: <h>\n    DAG Node: A\n...\n"},
		{"executing", Executing{Host: "h"}, "001 HEAD Job executing on host: <h>\n...\n"},
		{"executing in a slot", Executing{Host: "h", Slot: "slot1@h"}, "001 HEAD Job executing on host: <h>\n\tSlotName: slot1@h\n...\n"},
		{"evicted", Evicted{Run: Usage{26*time.Hour + 3*time.Minute + 4*time.Second, 1999 * time.Millisecond}, Reason: "preempted"},
			"004 HEAD Job was evicted.\n\t(0) CPU times\n" +
				"\t\tUsr 1 02:03:04, Sys 0 00:00:01  -  Run Remote Usage\n" +
				"\t\tUsr 0 00:00:00, Sys 0 00:00:00  -  Run Local Usage\n" + bytes2 + "\tReason: preempted\n...\n"},
		{"checkpointed", Checkpointed{Run: Usage{time.Second, 0}, Sent: 7},
			"003 HEAD Job was checkpointed.\n\tUsr 0 00:00:01, Sys 0 00:00:00  -  Run Remote Usage\n\t\tUsr 0 00:00:00, Sys 0 00:00:00  -  Run Local Usage\n" +
				"\t7  -  Run Bytes Sent By Job For Checkpoint\n...\n"},
		{"terminated", Terminated{ReturnValue: 3, Run: Usage{time.Second, 0}, Total: Usage{2 * time.Second, time.Minute}},
			"005 HEAD Job terminated.\n\t(1) Normal termination (return value 3)\n" +
				"\t\tUsr 0 00:00:01, Sys 0 00:00:00  -  Run Remote Usage\n" +
				"\t\tUsr 0 00:00:00, Sys 0 00:00:00  -  Run Local Usage\n" +
				"\t\tUsr 0 00:00:02, Sys 0 00:01:00  -  Total Remote Usage\n" +
				"\t\tUsr 0 00:00:00, Sys 0 00:00:00  -  Total Local Usage\n" + bytes4 + "...\n"},
		{"killed", Terminated{Signal: 9}, "005 HEAD Job terminated.\n\t(0) Abnormal termination (signal 9)\n\t(0) No core file\n" + noUsage() + bytes4 + "...\n"},
		{"killed with core", Terminated{Signal: 11, Core: "/x/core"}, "005 HEAD Job terminated.\n\t(0) Abnormal termination (signal 11)\n\t(1) Corefile in: /x/core\n" + noUsage() + bytes4 + "...\n"},
		{"aborted", Aborted{}, "009 HEAD Job was aborted.\n...\n"},
		{"aborted with reason", Aborted{"by alice"}, "009 HEAD Job was aborted.\n\tby alice\n...\n"},
		{"held", Held{}, "012 HEAD Job was held.\n\tReason unspecified\n\tCode 0 Subcode 0\n...\n"},
		{"held with reason", Held{"no such file", 6, 2}, "012 HEAD Job was held.\n\tno such file\n\tCode 6 Subcode 2\n...\n"},
		{"released", Released{"by alice"}, "013 HEAD Job was released.\n\tby alice\n...\n"},
		{"attribute set", AttributeChanged{Name: "JobPrio", To: "5"}, "033 HEAD Setting job attribute JobPrio to 5\n...\n"},
		{"attribute changed", AttributeChanged{"JobPrio", "0", "5"}, "033 HEAD Changing job attribute JobPrio from 0 to 5\n...\n"},
		{"no forged events", Aborted{"a\n...\n000 b\r"}, "009 HEAD Job was aborted.\n\ta ... 000 b \n...\n"},
	} {
		got := string(Event{Job: pool.JobID{Cluster: 12, Proc: 3}, At: at, Body: c.body}.AppendTo(nil))
		want := strings.Replace(c.want, "HEAD", "(012.003.000) 2026-11-20 09:05:07", 1)
		if got != want {
			t.Errorf("%s: AppendTo = %q, want %q", c.name, got, want)
		}
	}
}

func noUsage() string {
	var b strings.Builder
	for _, of := range []string{"Run Remote", "Run Local", "Total Remote", "Total Local"} {
		b.WriteString("\t\tUsr 0 00:00:00, Sys 0 00:00:00  -  " + of + " Usage\n")
	}
	return b.String()
}

func TestHeaderWidths(t *testing.T) {
	got := string(Event{Job: pool.JobID{Cluster: 8949703, Proc: 12345}, At: at, Body: Aborted{}}.AppendTo(nil))
	if want := "009 (8949703.12345.000) 2026-11-20 09:05:07 Job was aborted.\n...\n"; got != want {
		t.Errorf("AppendTo = %q, want %q", got, want)
	}
}

func TestAppend(t *testing.T) {
	path := filepath.Join(t.TempDir(), "job.log")
	testenv.OK(t, Append(path))
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Append of nothing: the file is there (%v), want none", err)
	}
	one := Event{Job: pool.JobID{Cluster: 1}, At: at, Body: Aborted{}}
	testenv.OK(t, Append(path, one))
	testenv.OK(t, Append(path, one, one))
	got, err := os.ReadFile(path)
	if want := strings.Repeat(string(one.AppendTo(nil)), 3); err != nil || string(got) != want {
		t.Errorf("the log = %q, %v, want %q", got, err, want)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm()&^0o644 != 0 {
		t.Errorf("mode of the log = %v, %v, want 0644 at most", st.Mode(), err)
	}
}

func TestAppendErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "missing", "job.log")
	err := Append(path, Event{At: at, Body: Aborted{}})
	if want := path + ": no such file or directory"; !errors.Is(err, fs.ErrNotExist) || err.Error() != want {
		t.Errorf("Append into a missing folder = %v, want %s", err, want)
	}
}

func TestAppendAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "job.log")
	event := Event{Job: pool.JobID{Cluster: 1}, At: at, Body: Terminated{}}
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() {
			if err := Append(path, event, event); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	got, err := os.ReadFile(path)
	if want := strings.Repeat(string(event.AppendTo(nil)), 40); err != nil || string(got) != want {
		t.Errorf("40 events of 20 writers: %d bytes, %v, want %d unmixed", len(got), err, len(want))
	}
}

// A submit of very many procs writes as many events.
func TestAppendToRoomAllocatesNothing(t *testing.T) {
	room := make([]byte, 0, 200)
	e := Event{Job: pool.JobID{Cluster: 12, Proc: 3}, At: time.Date(2026, 11, 20, 9, 5, 7, 0, time.UTC), Body: Submitted{Host: "node1"}}
	if n := testing.AllocsPerRun(100, func() { e.AppendTo(room) }); n != 0 {
		t.Errorf("AppendTo allocates %v times, want not at all", n)
	}
}
