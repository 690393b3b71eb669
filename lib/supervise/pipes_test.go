package supervise

import (
	"context"
	"encoding/gob"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/launch"
	"fairspool/lib/pool"
)

// message is what goes over the pipes: a call of a desk's method, or its answer.
type message struct {
	Call     string
	Attempt  pool.Attempt
	Ad       string // of the job, in the long form; empty: there is none
	Word     Word
	Leaving  launch.Leaving
	Progress pool.Progress
	Ending   pool.Ending
	Files    map[string][]byte
	Kept     map[string][]byte // for the job's next attempt
}

// pipeDesk is the desk of an attempt whose queue is at the other end of two pipes. What it knows of the
// submitter's files is in the folder here.
type pipeDesk struct {
	*pipes
	pool.Attempt
	here string
}

// pipes are the two, for one call at a time.
type pipes struct {
	mu  sync.Mutex
	out *gob.Encoder
	in  *gob.Decoder
}

func (p *pipes) call(m message) (answer message, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err = p.out.Encode(m); err == nil {
		err = p.in.Decode(&answer)
	}
	return answer, err
}

func (d *pipeDesk) task(m message) (t Task, err error) {
	t = Task{Attempt: m.Attempt, On: &processes{folder: filepath.Join(d.here, "execute")}}
	if t.Ad, err = classad.NewReader(strings.NewReader(m.Ad), "pipe").Next(); err != nil {
		return t, err
	}
	t.Ad.SetString("Iwd", d.here)
	place := launch.Place{Slot: "slot1@node1", Scratch: filepath.Join(d.here, "execute", m.Attempt.String()), Kept: d.kept()}
	t.Run, t.Wrong = launch.FromAd(t.Ad, place, launch.CurrentAccount())
	return t, nil
}

func (d *pipeDesk) Begin() (Task, error) {
	m, err := d.call(message{Call: "Begin", Attempt: d.Attempt})
	if err != nil {
		return Task{}, err
	}
	return d.task(m)
}

func (d *pipeDesk) Inputs(ctx context.Context, job launch.Job) (launch.Placed, error) {
	m, err := d.call(message{Call: "Inputs", Attempt: d.Attempt})
	if err == nil {
		err = unpack(m.Files, d.here)
	}
	if err == nil {
		err = unpack(m.Kept, d.kept())
	}
	if err != nil {
		return launch.Placed{}, err
	}
	return job.Place(ctx)
}

func (d *pipeDesk) Outputs(ctx context.Context, job launch.Job, placed launch.Placed, of Files) (err error) {
	m := message{Call: "Outputs", Attempt: d.Attempt}
	if of == Output {
		err = job.Transfer.Store(ctx, placed)
		m.Files = pack(d.here)
	} else {
		err = job.Transfer.Keep()
		m.Kept = pack(d.kept())
	}
	if err == nil {
		_, err = d.call(m)
	}
	return errors.Join(err, os.RemoveAll(d.kept()))
}

// kept is where the files of a job are for its next attempt only while they go through the pipes.
func (d *pipeDesk) kept() string { return filepath.Join(d.here, "kept") }

func (d *pipeDesk) Finish(how pool.Ending, _ time.Time, last func() bool) (Desk, Task, error) {
	m, err := d.call(message{Call: "Finish", Attempt: d.Attempt, Ending: how})
	if err != nil || m.Ad == "" || last() {
		return nil, Task{}, err
	}
	next := &pipeDesk{d.pipes, m.Attempt, d.here}
	t, err := next.task(m)
	return next, t, err
}

func (d *pipeDesk) Terms(pool.Reason) (Terms, error) {
	m, err := d.call(message{Call: "Terms", Attempt: d.Attempt})
	if err != nil || m.Ad == "" {
		return Terms{}, err
	}
	ad, err := classad.NewReader(strings.NewReader(m.Ad), "pipe").Next()
	return Terms{Ad: ad, Leaving: m.Leaving}, err
}

func (d *pipeDesk) Heed() Word {
	m, err := d.call(message{Call: "Heed", Attempt: d.Attempt})
	if err != nil {
		return Word{Leaves: true, Gone: true, Why: pool.Reason{Text: err.Error()}}
	}
	return m.Word
}

func (d *pipeDesk) say(call string, p pool.Progress) error {
	_, err := d.call(message{Call: call, Attempt: d.Attempt, Progress: p})
	return err
}

func (d *pipeDesk) Await()                                         { d.say("Await", pool.Progress{}) }
func (d *pipeDesk) Executing(time.Duration)                        { d.say("Executing", pool.Progress{}) }
func (d *pipeDesk) Report(p pool.Progress) error                   { return d.say("Report", p) }
func (d *pipeDesk) Checkpointed(p pool.Progress, _ int64) error    { return d.say("Checkpointed", p) }
func (d *pipeDesk) Lost() Loss                                     { return None }
func (d *pipeDesk) Close()                                         { d.say("Close", pool.Progress{}) }
func (d *pipeDesk) Tell(err error)                                 { d.say("Tell: "+err.Error(), pool.Progress{}) }
func (d *pipeDesk) Judge(jobpolicy.Verdict, Spent) (*Rules, error) { return nil, nil }

// pack returns the files of a folder, and unpack puts them into another.
func pack(dir string) map[string][]byte {
	files := map[string][]byte{}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if b, err := os.ReadFile(filepath.Join(dir, e.Name())); err == nil {
			files[e.Name()] = b
		}
	}
	return files
}

func unpack(files map[string][]byte, dir string) error {
	if len(files) > 0 {
		os.Mkdir(dir, 0o700) // it may be there
	}
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// processes is a machine without anything but processes.
type processes struct {
	folder string
	*launch.Process
}

func (m *processes) Start(job launch.Job) (_ launch.Running, err error) {
	m.Process, err = launch.Start(job, nil, nil)
	return m, err
}

func (m *processes) Fetch(context.Context, launch.Job) (time.Duration, error)        { return 0, nil }
func (m *processes) Attach(launch.Job) func(context.Context) (launch.Running, error) { return nil }
func (m *processes) MakeRoom() error                                                 { return launch.MakeFolder(m.folder) }
func (m *processes) Tidy() error                                                     { return launch.RemoveTree(m.folder) }
func (m *processes) Close() error                                                    { return nil }
func (m *processes) Catches(syscall.Signal) bool                                     { return false }
func (m *processes) Usage() pool.Progress                                            { return pool.Progress{} }
func (m *processes) Exceeded(*launch.Ended) jobpolicy.Verdict                        { return jobpolicy.Verdict{} }
func (m *processes) Dump(time.Duration) (whole, done bool)                           { return false, false }
func (m *processes) Core(launch.Job) (string, error)                                 { return "", nil }
func (m *processes) End(bool) error                                                  { return nil }

// far is the end of the pipes where the queue and the submitter's files are.
type far struct {
	files  string         // the folder of the submitter's files
	jobs   []*classad.Ad  // those that are still to be begun
	now    *classad.Ad    // the one that is under way
	leaves map[int]string // why the jobs of these clusters have to leave when they have made the file ready
	kept   map[string][]byte
	calls  []string // without Heed and Terms, which come by the clock
	ends   []pool.Ending
}

// serve answers until the pipe ends.
func (f *far) serve(in *gob.Decoder, out *gob.Encoder) {
	for {
		var m message
		if in.Decode(&m) != nil || out.Encode(f.answer(m)) != nil {
			return
		}
	}
}

func (f *far) answer(m message) (a message) {
	cluster := m.Attempt.Job.Cluster
	if m.Call != "Heed" && m.Call != "Terms" {
		f.calls = append(f.calls, m.Call)
	}
	switch m.Call {
	case "Begin":
		return f.next()
	case "Inputs":
		a.Files, a.Kept = pack(f.files), f.kept
	case "Outputs":
		unpack(m.Files, f.files)
		f.kept = m.Kept
	case "Heed":
		if _, err := os.Stat(filepath.Join(f.files, "ready")); err == nil && f.leaves[cluster] != "" {
			why := f.leaves[cluster]
			a.Word = Word{Leaves: true, Why: pool.Reason{Text: why}}
		}
	case "Terms":
		if f.now != nil {
			a.Ad = f.now.String()
		}
	case "Finish":
		f.ends = append(f.ends, m.Ending)
		delete(f.leaves, cluster)
		return f.next()
	}
	return a
}

// next begins the next job, if there is one.
func (f *far) next() (a message) {
	if f.now = nil; len(f.jobs) > 0 {
		f.now, f.jobs = f.jobs[0], f.jobs[1:]
		cluster, _ := f.now.EvalInt(&classad.Context{}, pool.AttrClusterID)
		a.Attempt, a.Ad = pool.Attempt{Job: pool.JobID{Cluster: int(cluster)}, Number: 1}, f.now.String()
	}
	return a
}

// TestOverPipes has attempts run whole whose queue and files are at the other end of a pair of pipes.
func TestOverPipes(t *testing.T) {
	t.Parallel()
	there, here := t.TempDir(), t.TempDir()
	job := func(cluster, script string) *classad.Ad {
		return adOf(t, "ClusterId", cluster, "ProcId", "0", "Owner", `"alice"`, "Iwd", classad.String(there).String(), "Cmd", `"/bin/sh"`,
			"WhenToTransferOutput", `"ON_EXIT_OR_EVICT"`, "Arguments", classad.String("-c '"+script+"'").String(), "Out", `"out.`+cluster+`"`, "TransferInput", `"data"`, "TransferOutput", `"result.`+cluster+`"`)
	}
	const goesOn = "[ -e state ] && exec mv state result.3; cp data state; echo >"
	leaving := func() *classad.Ad { return job("3", goesOn+there+"/ready; exec tail -f /dev/null") }
	f := &far{files: there, leaves: map[int]string{3: "held by alice"}, jobs: []*classad.Ad{
		job("1", "tr a-z A-Z <data >result.1; echo done; exit 3"),
		job("2", "cp data result.2"),
		leaving(), leaving(),
	}}
	if err := unpack(map[string][]byte{"data": []byte("hello\n")}, there); err != nil {
		t.Fatal(err)
	}
	asksIn, asksOut := io.Pipe()
	answersIn, answersOut := io.Pipe()
	served := make(chan struct{})
	go func() { f.serve(gob.NewDecoder(asksIn), gob.NewEncoder(answersOut)); close(served) }()
	desk := &pipeDesk{&pipes{out: gob.NewEncoder(asksOut), in: gob.NewDecoder(answersIn)}, pool.Attempt{Job: pool.JobID{Cluster: 1}, Number: 1}, here}
	started := false
	err := Serve(desk, Settings{
		Vacate: time.Minute, LookEvery: 5 * time.Millisecond, MeasureEvery: time.Second, Now: time.Now,
		UnderWay: func() { started = true }, Left: func() {}, Reached: func(Step) {},
		Chore: func(Task, func(error)) Chore { return idle{} },
	})
	asksOut.Close()
	<-served
	if err != nil || !started {
		t.Errorf("Serve = %v, under way %v, want nil, true", err, started)
	}
	for name, want := range map[string]string{"result.1": "HELLO\n", "out.1": "done\n", "result.2": "hello\n", "result.3": "hello\n"} {
		if got, _ := os.ReadFile(filepath.Join(there, name)); string(got) != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if len(f.ends) != 4 || f.ends[3].Lost != "" || f.ends[0].Code != 3 || f.ends[0].Lost != "" || f.ends[1].Code != 0 || f.ends[2].Lost != "held by alice" {
		t.Errorf("ends %+v, want code 3, code 0, lost, and code 0", f.ends)
	}
	whole := []string{"Await", "Inputs", "Executing", "Outputs", "Finish", "Close"}
	want := slices.Concat([]string{"Begin"}, whole, whole, whole, whole)
	if !slices.Equal(f.calls, want) {
		t.Errorf("calls %s, want %s", strings.Join(f.calls, " "), strings.Join(want, " "))
	}
}

// idle is a chore that never comes.
type idle struct{}

func (idle) Next() <-chan time.Time { return nil }
func (idle) Apply()                 {}
