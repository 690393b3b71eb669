package workload

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fairspool/internal/testenv"
	"fairspool/lib/classad"
)

const head = "; UnixStartTime: 1000000000\n"

// swfLine returns a line of a job of user 3 of group 7.
func swfLine(number, submit, wait, run, cores int) string {
	return fmt.Sprintf("%d %d %d %d %d -1 -1 -1 60 -1 1 3 7 -1 -1 -1 -1 -1\n", number, submit, wait, run, cores)
}

func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(text))
	z.Close()
	return b.String()
}

func TestRead(t *testing.T) {
	job := func(name string, submit, run int64) Job {
		return Job{Name: name, Submit: submit, Run: run, Cores: 2, Limit: 60, Wait: 4, User: "u3", Group: "g7"}
	}
	slurm := "JobID|User|Account|Submit|Start|End|AllocCPUS|TimelimitRaw\n"
	for _, c := range []struct {
		name, text string
		start      int64
		want       []Job
		left       int
	}{
		{"swf", head + swfLine(1, 5, 4, 10, 2) + "\n" + swfLine(2, 7, 4, 0, 2), 1e9, []Job{job("1", 5, 10), job("2", 7, 0)}, 0},
		{"swf, without a start", swfLine(1, 5, 4, 10, 2), 5, []Job{job("1", 0, 10)}, 0},
		{"swf, compressed", zipped(head + swfLine(1, 5, 4, 10, 2)), 1e9, []Job{job("1", 5, 10)}, 0},
		{"swf, one that never ran", head + swfLine(1, 5, 4, -1, 2) + swfLine(2, 5, 4, 10, 2), 1e9, []Job{job("2", 5, 10)}, 1},
		{"swf, cores asked for and memory", "1 0 4 10 -1 -1 -1 4 -1 2048 1 3 7 -1 -1 -1 -1 -1\n", 0, []Job{{Name: "1", Run: 10, Cores: 4, Memory: 8, Wait: 4, User: "u3", Group: "g7"}}, 0},
		{"csv, by time", "job,submit,run,cores,user\nb,2001-09-09T01:46:45Z,3,1,bob\na,1000000000,3,1,bob\n", 1e9,
			[]Job{{Name: "a", Run: 3, Cores: 1, Wait: -1, User: "bob"}, {Name: "b", Submit: 5, Run: 3, Cores: 1, Wait: -1, User: "bob"}}, 0},
		{"csv, nothing known", "job,submit,run,cores,user,queue\n1,1000000000,3,,,q\n", 1e9, []Job{{Name: "1", Run: 3, Cores: 1, Wait: -1, User: "unknown"}}, 0},
		{"sacct", slurm + "7|ann|phys|2001-09-09T01:46:40|2001-09-09T01:46:44|2001-09-09T01:46:54|2|1\n7.0|||2001-09-09T01:46:40|2001-09-09T01:46:44|2001-09-09T01:46:54|2|\n" +
			"8|ann|phys|2001-09-09T01:46:40|Unknown|Unknown|2|1\n", 1e9, []Job{{Name: "7", Run: 10, Cores: 2, Limit: 60, Wait: 4, User: "ann", Group: "phys"}}, 1},
		{"condor_history -json", `[{"ClusterId": 4, "ProcId": 1, "QDate": 1000000000, "JobStartDate": 1000000004, "JobCurrentStartDate": 1000000010, "CompletionDate": 1000000020, "Owner": "ann", "RequestCpus": 2, "RequestMemory": 5},
			{"ClusterId": 5, "QDate": 1000000000, "CompletionDate": 0, "Owner": "ann"}]`, 1e9, []Job{{Name: "4.1", Run: 10, Cores: 2, Memory: 5, Wait: 4, Again: 6, User: "ann"}}, 1},
		{"ads one after the other", `{"ClusterId": 4, "QDate": 1000000000, "JobStartDate": 1000000004, "CompletionDate": 1000000014, "Owner": "ann", "RequestCpus": 2}` + "\n", 1e9,
			[]Job{{Name: "4.0", Run: 10, Cores: 2, Wait: 4, User: "ann"}}, 0},
		{"accounting, in milliseconds", "# Version: 8\nall.q:h:users:ann:sleep:12:sge:0:1000000000000:1000000004000:1000000014000:0:0:10:" + strings.Repeat("0:", 16) + "p:d:NONE:NONE:2:3:0\n", 1e9,
			[]Job{{Name: "12.3", Run: 10, Cores: 2, Wait: 4, User: "ann", Group: "users"}}, 0},
	} {
		w, err := Read(strings.NewReader(c.text), nil)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		left := 0
		for _, n := range w.Left {
			left += n.Jobs
		}
		if w.Start.Unix() != c.start || !reflect.DeepEqual(w.Jobs, c.want) || left != c.left {
			t.Errorf("%s: %d, %+v, %d left out, want %d, %+v, %d", c.name, w.Start.Unix(), w.Jobs, left, c.start, c.want, c.left)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	whole := zipped(head + strings.Repeat(swfLine(1, 5, 4, 10, 2), 1000))
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "there are no jobs"},
		{"comments", head, "there are no jobs"},
		{"none that ran", swfLine(1, 5, 4, -1, 2), "there are no jobs that ran"},
		{"binary", "\x7fELF\x00\x01", "line 1: no text"},
		{"a short line", head + "1 2 3\n", "line 2: want 18 numbers"},
		{"no number", swfLine(1, 5, 4, 10, 2) + strings.Replace(swfLine(2, 5, 4, 10, 2), "60", "sixty", 1), `line 2: field 9 is no number: "sixty"`},
		{"time that goes back", swfLine(1, 5, 4, 10, 2) + swfLine(2, 4, 4, 10, 2), "line 2: job 2 was submitted 1 seconds before"},
		{"no submission", swfLine(1, -1, 4, 10, 2), "line 1: job 1 was submitted 1 seconds before"},
		{"too many cores", swfLine(1, 5, 4, 10, 1<<30), "line 1: job 1: a number is too large"},
		{"too long a run", swfLine(1, 5, 4, 1<<40, 1), "line 1: job 1: a number is too large"},
		{"cut off", whole[:len(whole)-9], "it is cut off"},
		{"csv without users", "job,submit,run,cores\n1,2,3,4\n", `line 1: there is no column "user"`},
		{"csv with another number of fields", "job,submit,run,cores,user\n1,2\n", "line 2: wrong number of fields"},
		{"csv with a word for a number", "job,submit,run,cores,user\n1,2,soon,1,ann\n", `line 2: run: want a whole number, and it is "soon"`},
		{"csv without a time", "job,submit,run,cores,user\n1,yesterday,5,1,ann\n", "line 2: job 1 has no time of submission"},
		{"csv over centuries", "job,submit,run,cores,user\n1,1,5,1,ann\n2,99999999999,5,1,ann\n", "a time is wrong"},
		{"sacct without a start", "JobID|User|Submit\n1|ann|2001-09-09T01:46:40\n", "line 1: there is no column Start"},
		{"sacct with a bar", "JobID|User|Submit|Start\n1|a|b|c|d|e\n", "line 2: want 4 fields, and there are 6"},
		{"json that is cut", `[{"ClusterId": 4, `, "it is cut off"},
		{"json of something else", `[4]`, "job 1: no JSON of an ad"},
		{"accounting that is cut", strings.Repeat("a:", 25) + "\n", "line 1: want more than 34 fields"},
	} {
		w, err := Read(strings.NewReader(c.text), nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %+v, %v, want %q", c.name, w, err, c.want)
		}
	}
}

// TestRow holds that a workload that is written is the same when it is read.
func TestRow(t *testing.T) {
	w, err := Read(strings.NewReader(head+swfLine(1, 0, 4, 10, 2)+swfLine(2, 7, -1, 0, 1)), nil)
	testenv.OK(t, err)
	var b bytes.Buffer
	out := csv.NewWriter(&b)
	out.Write(Columns())
	for _, j := range w.Jobs {
		out.Write(w.Row(j))
	}
	out.Flush()
	again, err := Read(&b, nil)
	if err != nil || !again.Start.Equal(w.Start) || !reflect.DeepEqual(again.Jobs, w.Jobs) {
		t.Errorf("%+v, %v, want %+v", again, err, w)
	}
}

func TestOfHistory(t *testing.T) {
	ad, err := classad.ParseAd(`[ClusterId = 3; ProcId = 1; QDate = 1000000000; JobStartDate = 1000000004; JobCurrentStartDate = 1000000004; CompletionDate = 1000000014; Owner = "ann"; RequestCpus = 2; AcctGroup = "phys"]`)
	testenv.OK(t, err)
	w, err := OfHistory(func(each func(*classad.Ad) bool) error { each(ad); return nil })
	want := []Job{{Name: "3.1", Run: 10, Cores: 2, Wait: 4, User: "ann", Group: "phys"}}
	if err != nil || !w.Start.Equal(time.Unix(1e9, 0)) || !reflect.DeepEqual(w.Jobs, want) {
		t.Errorf("%+v, %v, want %+v", w, err, want)
	}
	w, err = OfHistory(func(each func(*classad.Ad) bool) error { // the last to leave comes first
		for _, proc := range []int64{10, 9} {
			other := ad.Clone()
			other.SetInt("ProcId", proc)
			each(other)
		}
		return nil
	})
	if err != nil || w.Jobs[0].Name != "3.9" || w.Jobs[1].Name != "3.10" {
		t.Errorf("of two procs: %+v, %v", w, err)
	}
	if _, err := OfHistory(func(func(*classad.Ad) bool) error { return nil }); err == nil || err.Error() != "there are no jobs" {
		t.Errorf("of nothing: %v", err)
	}
}

// FuzzRead holds that nothing panics, and that what is read can be run: in order, with cores and a user, in bounds.
func FuzzRead(f *testing.F) {
	f.Add([]byte(head + swfLine(1, 5, 4, 10, 2)))
	f.Add([]byte(zipped(swfLine(1, 5, 4, 10, 2))))
	f.Add([]byte("job,submit,run,cores,user\n1,2,3,4,ann\n"))
	f.Add([]byte("JobID|User|Submit|Start|ElapsedRaw\n1|ann|2001-09-09T01:46:40|2001-09-09T01:46:41|5\n"))
	f.Add([]byte(`[{"ClusterId": 4, "QDate": 1, "JobStartDate": 2, "CompletionDate": 3, "Owner": "ann"}]`))
	f.Add([]byte("#\n" + strings.Repeat("1:", 40)))
	f.Fuzz(func(t *testing.T, text []byte) {
		w, err := Read(bytes.NewReader(text), nil)
		if err != nil {
			return
		}
		before := int64(0)
		for _, j := range w.Jobs {
			if j.Submit < before || j.Submit > mostSeconds || j.Run < 0 || j.Run > mostSeconds || j.Cores < 1 || j.Cores > mostCores || j.User == "" || j.Memory < 0 || j.Limit < 0 || j.Wait < -1 {
				t.Errorf("%+v", j)
			}
			before = j.Submit
		}
	})
}

// Shaking moves the submissions of a second and user together, by a minute at most, and the same number moves them alike.
func TestShaken(t *testing.T) {
	w := &Workload{}
	for i := range 300 {
		w.Jobs = append(w.Jobs, Job{Name: fmt.Sprint(i), Submit: int64(i / 4 * 7), Run: 5, User: fmt.Sprint("u", i%2)})
	}
	before := slices.Clone(w.Jobs)
	for number := 1; number <= 20; number++ {
		s := w.Shaken(number)
		if !reflect.DeepEqual(s, w.Shaken(number)) || reflect.DeepEqual(s.Jobs, w.Shaken(number+1).Jobs) {
			t.Fatalf("%d: want the same each time, and another one for another number", number)
		}
		if !slices.IsSortedFunc(s.Jobs, func(a, b Job) int { return cmp.Compare(a.Submit, b.Submit) }) {
			t.Errorf("%d: the jobs are not in the order of their submission", number)
		}
		moved := map[string]int64{}
		for _, j := range s.Jobs {
			i, _ := strconv.Atoi(j.Name)
			by := j.Submit - before[i].Submit
			if by < -Shift || by > Shift || j.Submit < 0 || j.Run != 5 || j.User != before[i].User {
				t.Errorf("%d: job %+v was %+v", number, j, before[i])
			}
			key := fmt.Sprint(before[i].Submit, before[i].User)
			if other, ok := moved[key]; ok && other != by {
				t.Errorf("%d: jobs of %s are moved by %d s and %d s", number, key, by, other)
			}
			moved[key] = by
		}
	}
	if !reflect.DeepEqual(w.Jobs, before) {
		t.Error("the workload itself has changed")
	}
}

// TestDependent holds the rule to a case worked by hand. Job 3 comes 100 s after job 2 ended, which is longer than job 1; job 4 is of its batch;
// job 5 comes when 3 and 4 have ended at once, 6 after more than Session seconds, 7 in its batch, and bob waits for nobody.
func TestDependent(t *testing.T) {
	w, err := Read(strings.NewReader(`job,submit,run,cores,user,wait
1,0,100,1,ann,0
2,0,190,1,ann,10
b,250,10,1,bob,0
3,300,100,1,ann,20
4,310,100,1,ann,10
5,420,10,1,ann,0
6,1631,0,1,ann,0
7,1631,5,1,ann,0
8,2836,5,1,ann,0
9,2840,5,1,ann,0
`), nil)
	testenv.OK(t, err)
	d, following, err := w.Dependent()
	want := []Step{{-1, 0, -1}, {-1, 0, 0}, {-1, 0, -1}, {0, 100, 1}, {0, 110, 1}, {1, 0, -1}, {-1, 0, -1}, {-1, 0, 2}, {2, 1200, -1}, {2, 1204, -1}}
	if err != nil || !slices.Equal(d.Steps, want) || d.Groups != 3 || following != 5 {
		t.Errorf("steps %v of %d groups, %d follow, %v, want %v", d.Steps, d.Groups, following, err, want)
	}
	shaken := d.Shaken(3)
	if !slices.Equal(d.Steps, want) || len(shaken.Steps) != len(want) {
		t.Errorf("shaking changed the steps to %v", d.Steps)
	}
	byName := map[string]int64{}
	for i, j := range shaken.Jobs {
		byName[j.Name] = j.Submit
		k := slices.IndexFunc(d.Jobs, func(o Job) bool { return o.Name == j.Name })
		was, is := d.Steps[k], shaken.Steps[i]
		if is.After != was.After || is.Group != was.Group || is.Think != max(was.Think+j.Submit-d.Jobs[k].Submit, 0) && was.After >= 0 {
			t.Errorf("job %s, shaken by %d s, takes the step %v after %v", j.Name, j.Submit-d.Jobs[k].Submit, is, was)
		}
	}
	if byName["6"] != byName["7"] {
		t.Error("jobs of one second are torn apart")
	}
	// A job that was preempted ended when its last attempt did.
	w.Jobs[1].Again = 20
	if d, _, err = w.Dependent(); err != nil || d.Steps[3] != (Step{0, 80, 1}) || d.Steps[4] != (Step{0, 90, 1}) {
		t.Errorf("after a preemption the steps are %v, %v", d.Steps, err)
	}
	w.Jobs[3].Wait = -1
	if _, _, err := w.Dependent(); err == nil || !strings.Contains(err.Error(), "job 3 has no recorded wait") {
		t.Errorf("without a wait: %v", err)
	}
}
