package starter

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fairspool/cmd/internal/desk"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/lib/userlog"
	"fairspool/spool"
)

// recording begins the script of a job that records its attempts: the file start.JOB.ATTEMPT,
// which nobody may have made before, a line in OVERLAP when a process of another attempt of
// the job is alive, and end.JOB.ATTEMPT by what the function over does. An attempt with
// CHECKPOINTS in its environment may begin its program again.
const recording = `a=${_CONDOR_SCRATCH_DIR##*.} j=$FAIRSPOOL_JOB r=HERE/attempts
exec 9>>$r/guard.$j
[ -n "$CHECKPOINTS" ] && { [ -e ran.$a ] && again=1; >ran.$a; }
flock -n -E 99 9; [ $? = 99 ] && echo "$j $a" >>$r/OVERLAP
read up rest </proc/uptime
set -C
if [ -z "$again" ]; then echo "start $j $a $$ $up" >$r/start.$j.$a || echo "$j $a" >>$r/TWICE; fi
set +C
over() { read up rest </proc/uptime; echo "end $j $a $$ $up" >>$r/end.$j.$a; exit 0; }
`

// recorded returns a script that records its attempts.
func (p *testPool) recorded(script string) string {
	p.Helper()
	dir := filepath.Join(p.dir, "attempts")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		p.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil { // whatever the umask is: jobs write there
		p.Fatal(err)
	}
	return strings.ReplaceAll(recording+script, "HERE", p.dir)
}

// starts returns which attempts of a job have begun its program, ascending.
func (p *testPool) starts(id pool.JobID) (attempts []int) { return p.attemptsWith("start", id) }

func (p *testPool) attemptsWith(what string, id pool.JobID) (attempts []int) {
	names, _ := filepath.Glob(filepath.Join(p.dir, "attempts", fmt.Sprintf("%s.%v.*", what, id)))
	for _, name := range names {
		if n, err := strconv.Atoi(filepath.Ext(name)[1:]); err == nil {
			attempts = append(attempts, n)
		}
	}
	slices.Sort(attempts)
	return attempts
}

// left returns the ads of all jobs that have left the queue, by their clusters.
func (p *testPool) left() map[int][]*classad.Ad {
	p.Helper()
	ads := map[int][]*classad.Ad{}
	files, _ := filepath.Glob(filepath.Join(p.spool.Dir(), "history", "*.ads"))
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			p.Fatal(err)
		}
		r := classad.NewReader(strings.NewReader(string(b)), file)
		for {
			ad, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				p.Fatal(err)
			}
			n, _ := ad.EvalInt(&classad.Context{}, pool.AttrClusterID)
			ads[int(n)] = append(ads[int(n)], ad)
		}
	}
	return ads
}

// events returns the numbers of the events in a job's log, in their order, without those
// that tell how a job goes on.
func (p *testPool) events(id pool.JobID, log string) (numbers []int) {
	p.Helper()
	r := userlog.NewReader(strings.NewReader(p.read(log)), userlog.Options{})
	for {
		e, err := r.Next()
		if err == io.EOF {
			return numbers
		}
		if err != nil {
			p.Errorf("%s: %v", log, err)
			continue
		}
		const imageSize = 6
		if n := userlog.Number(e.Body); e.Job == id && n != imageSize {
			numbers = append(numbers, n)
		}
	}
}

// spaced writes numbers as text.
func spaced(numbers []int) string { return strings.Trim(fmt.Sprint(numbers), "[]") }

// settled holds what is true when all has come to rest, whoever was killed: attempts did not
// overlap, nothing is left of any, and the spool is sound.
func (p *testPool) settled() {
	p.Helper()
	for _, name := range []string{"OVERLAP", "TWICE"} {
		if got := p.read("attempts/" + name); got != "" {
			p.Errorf("attempts of jobs: %s %q", name, got)
		}
	}
	p.nothingLeft()
	p.until("no process of a job is left", func() bool { return len(p.relatives()) == 0 })
	p.until("no process of the pool is left", func() bool { return len(p.processes()) == 0 })
	sound, err := spool.Check(p.spool.Dir(), spool.Options{}, func(f spool.Finding) {
		if f.Damaged {
			p.Errorf("spool check: %s:%d: %s", f.File, f.Line, f.What)
		}
	})
	if err != nil || !sound {
		p.Errorf("spool check = %v, %v, want a sound spool", sound, err)
	}
}

// relatives returns the processes that have the mark of a job of the spool.
func (p *testPool) relatives() (pids []int) {
	return processesWith("environ", []byte(p.mark()))
}

// mark begins what each process of a job of the spool has in its environment.
func (p *testPool) mark() string { return "_FAIRSPOOL_FAMILY=" + desk.Prefix(p.spool) }

// processesWith returns the processes that are alive with a file in /proc that has a text.
func processesWith(file string, text []byte) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/" + file)
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil || !strings.Contains(string(b), string(text)) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil && alive(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// TestRecording holds that the laws could be broken: two processes of one attempt at the same
// time are an overlap, and an attempt that begins twice is noticed.
func TestRecording(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	script := p.recorded(`over`)
	run := func(attempt string) {
		t.Helper()
		if out, err := p.script(script, "_CONDOR_SCRATCH_DIR=x/1.0."+attempt, "FAIRSPOOL_JOB=1.0").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	run("1")
	run("1")
	if got, want := p.read("attempts/TWICE"), "1.0 1\n"; got != want {
		t.Errorf("TWICE = %q, want %q", got, want)
	}
	other := p.script(p.recorded(`echo >HERE/there; `+awaitGo+`; over`), "_CONDOR_SCRATCH_DIR=x/1.0.2", "FAIRSPOOL_JOB=1.0")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	p.until("the second is there", func() bool { return p.read("there") != "" })
	run("3")
	p.open()
	other.Wait()
	if got, want := p.read("attempts/OVERLAP"), "1.0 3\n"; got != want {
		t.Errorf("OVERLAP = %q, want %q", got, want)
	}
	if got, want := spaced(p.starts(pool.JobID{Cluster: 1})), "1 2 3"; got != want {
		t.Errorf("starts = %s, want %s", got, want)
	}
}
