package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/internal/testenv"
	"fairspool/lib/classad"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/launch"
	"fairspool/lib/pool"
)

// fakeDesk is a desk with one word, and without a queue. What it is not made for panics.
type fakeDesk struct {
	Desk
	word   Word
	terms  Terms
	loss   Loss
	told   []string
	judged func()                      // is called when the job is judged
	copied func(context.Context) error // copies the output, if not nil
}

func (d *fakeDesk) Heed() Word                       { return d.word }
func (d *fakeDesk) Terms(pool.Reason) (Terms, error) { return d.terms, nil }
func (d *fakeDesk) Lost() Loss                       { return d.loss }
func (d *fakeDesk) Tell(err error)                   { d.told = append(d.told, err.Error()) }
func (d *fakeDesk) Judge(jobpolicy.Verdict, Spent) (*Rules, error) {
	d.word.Changed = false
	d.judged()
	return &Rules{}, nil
}
func (d *fakeDesk) Outputs(ctx context.Context, job launch.Job, placed launch.Placed, of Files) error {
	switch {
	case of == Rest:
		return job.Transfer.Keep()
	case d.copied != nil:
		return d.copied(ctx)
	}
	return job.Transfer.Store(ctx, placed)
}

// newSupervisor returns a supervisor that looks at its desk all the time, and has not begun.
func newSupervisor(d *fakeDesk) *supervisor {
	return &supervisor{desk: d, tenure: &tenure{Settings: Settings{
		LookEvery: time.Millisecond, Vacate: time.Minute, UnderWay: func() {}, Reached: func(Step) {},
		Now: func() time.Time { return time.Unix(0, 0) },
	}}}
}

// adOf returns an ad of name, expression, ...
func adOf(t *testing.T, pairs ...string) *classad.Ad {
	t.Helper()
	ad := classad.New()
	for i := 0; i < len(pairs); i += 2 {
		e, err := classad.ParseExpr(pairs[i+1])
		testenv.OK(t, err)
		ad.Set(pairs[i], e)
	}
	return ad
}

// Nothing is looked at that need not be, and expressions only if somebody wants that.
func TestAlarm(t *testing.T) {
	ago := func(d time.Duration) time.Time { return time.Now().Add(-d) }
	limits := func(pairs ...string) []jobpolicy.Limit {
		return jobpolicy.Limits(&classad.Context{}, adOf(t, pairs...))
	}
	for _, c := range []struct {
		name string
		p    jobPolicy
		set  bool // there is an alarm
		code int  // of the limit that is over
	}{
		{"nothing is asked", jobPolicy{began: ago(time.Hour)}, false, 0},
		{"an expression", jobPolicy{began: ago(time.Hour), next: time.Now().Add(time.Hour)}, true, 0},
		{"a limit ahead", jobPolicy{began: ago(time.Minute), limits: limits("AllowedJobDuration", "3600")}, true, 0},
		{"a limit that is over", jobPolicy{began: ago(time.Hour), limits: limits("AllowedJobDuration", "60")}, true, 46},
		{"not executed yet", jobPolicy{began: ago(time.Hour), limits: limits("AllowedExecuteDuration", "60")}, false, 0},
		{"executed for too long", jobPolicy{began: ago(time.Hour), executed: ago(time.Hour), limits: limits("AllowedExecuteDuration", "60")}, true, 47},
		{"executed not for too long", jobPolicy{began: ago(time.Hour), executed: ago(time.Second), limits: limits("AllowedExecuteDuration", "60")}, true, 0},
		{"both", jobPolicy{began: ago(time.Hour), executed: ago(time.Second), limits: limits("AllowedExecuteDuration", "60", "AllowedJobDuration", "100")}, true, 46},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.p.alarm(0) != nil; got != c.set {
				t.Errorf("an alarm is set: %v, want %v", got, c.set)
			}
			if got := c.p.over(); got.Code != c.code {
				t.Errorf("over = %+v, want code %d", got, c.code)
			}
		})
	}
	p := jobPolicy{every: time.Minute, began: ago(time.Hour), executed: ago(time.Hour), next: time.Now(), limits: limits("AllowedExecuteDuration", "60")}
	p.ended()
	if p.alarm(0) != nil || p.over().Action != jobpolicy.Stay {
		t.Errorf("when the program has ended, over = %v, want nothing that concerns it", p.over())
	}
	p = jobPolicy{began: ago(time.Hour), limits: limits("AllowedJobDuration", "60")}
	p.ended()
	if p.alarm(0) == nil || p.over().Code != jobpolicy.JobDuration {
		t.Errorf("when the program has ended, over = %v, want the limit of the job's duration", p.over())
	}
	for expr, want := range map[string]bool{"false": false, "RemoteWallClockTime > 5": true} {
		for _, every := range []time.Duration{0, time.Minute} {
			p := jobPolicy{every: every}
			p.begin(adOf(t, "PeriodicHold", expr), nil)
			if got := p.alarm(0) != nil; got != (want && every > 0) {
				t.Errorf("PeriodicHold = %s, looked at every %v: an alarm is set: %v, want %v", expr, every, got, want && every > 0)
			}
		}
	}
}

// Output that is still being copied when the job's time is over is kept, and the job
// held.
func TestLimitDuringCopyBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder, kept := filepath.Join(dir, "execute"), filepath.Join(dir, "execute/1.0.kept")
	testenv.OK(t, launch.MakeFolder(folder))
	ad := adOf(t, "ClusterId", "1", "ProcId", "0", "Owner", `"alice"`, "Iwd", classad.String(dir).String(), "Cmd", `"/bin/sh"`, "TransferOutput", `"big"`)
	job, err := launch.FromAd(ad, launch.Place{Slot: "slot1@node1", Scratch: filepath.Join(folder, "1.0.1"), Kept: kept}, launch.CurrentAccount())
	testenv.OK(t, err)
	placed, err := job.Transfer.Place(context.Background())
	if err == nil {
		big := filepath.Join(job.Dir, "big") // more than is copied at a time
		if err = os.WriteFile(big, nil, 0o644); err == nil {
			err = os.Truncate(big, 256<<20)
		}
	}
	testenv.OK(t, err)
	s := newSupervisor(&fakeDesk{})
	s.Run = job
	s.policy.began = time.Now().Add(-time.Hour)
	s.policy.limits = jobpolicy.Limits(&classad.Context{}, adOf(t, "AllowedJobDuration", "60"))
	how := pool.Ending{}
	s.copyBack(placed, &how)
	want := "The job exceeded allowed job duration of 1:00; what it left is in " + kept + " until the job leaves the queue"
	if how.OutputFailed != want || how.HoldCode != jobpolicy.JobDuration {
		t.Errorf("copyBack: %q, code %d, want %q, code %d", how.OutputFailed, how.HoldCode, want, jobpolicy.JobDuration)
	}
	if info, err := os.Stat(filepath.Join(kept, "big")); err != nil || info.Size() != 256<<20 {
		t.Errorf("what was kept: %v, want the whole output", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "big")); err == nil {
		t.Error("the output is in its place, want it kept only")
	}
}

// What goes on to its end is ended by a limit of the job's policy, and not by expressions
// that are to be looked at meanwhile.
func TestToEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		limit string // AllowedJobDuration
		ends  bool
	}{
		{"no limit", "undefined", false},
		{"a limit that is not over", "3600", false},
		{"a limit that is over", "60", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSupervisor(&fakeDesk{})
			s.policy.began = time.Now().Add(-10 * time.Minute)
			s.policy.next = time.Now().Add(-time.Second) // expressions have been due for a while
			s.policy.limits = jobpolicy.Limits(&classad.Context{}, adOf(t, "AllowedJobDuration", c.limit))
			at := s.looks()
			defer at.end()
			over, gone, err := s.toEnd(at, func(ctx context.Context) error {
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-time.After(10 * s.LookEvery):
					return nil
				}
			})
			if gone || (err != nil) != c.ends || (over.Action == jobpolicy.Hold) != c.ends {
				t.Errorf("toEnd = %v, %v, %v, want it ended: %v", over, gone, err, c.ends)
			}
		})
	}
}

// What the tenure knows of a signal to the supervisor it knows also when the job of that
// moment, which had ended by itself, did not have to be told.
func TestIsToEnd(t *testing.T) {
	t.Parallel()
	stop := make(chan os.Signal, 1)
	s := newSupervisor(&fakeDesk{})
	s.Stop = stop
	if s.isToEnd() {
		t.Error("isToEnd() = true, want false of one that nobody has told to")
	}
	stop <- unix.SIGTERM
	if !s.isToEnd() {
		t.Error("isToEnd() = false, want true of one that was sent SIGTERM")
	}
	s.stopped(<-stop)
	if !s.isToEnd() {
		t.Error("isToEnd() = false, want true of one that has told its job")
	}
}

// A policy that changes while files are copied counts: before the start at once, and otherwise when the
// program runs again.
func TestChangedDuringCopy(t *testing.T) {
	t.Parallel()
	result := make(chan error, 1)
	d := &fakeDesk{word: Word{Changed: true}, judged: func() { result <- nil }}
	s := newSupervisor(d)
	if order, err := s.attend(result, func() {}); order != nil || err != nil || s.changed {
		t.Errorf("attend = %v, %v, changed %v, want it judged", order, err, s.changed)
	}
	d.word.Changed = true
	if s.removed(); !s.changed {
		t.Error("a change that is seen while output is copied is forgotten")
	}
}

// A job that is removed while its inputs are copied does not start; nor does one whose attempt is lost, which
// is told.
func TestLeavesDuringCopy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		desk fakeDesk
		told []string
	}{
		{"removed", fakeDesk{word: Word{Leaves: true}, terms: Terms{Ad: classad.New(), Leaving: launch.Removed}}, nil},
		{"lost", fakeDesk{word: Word{Leaves: true, Gone: true, Why: pool.Reason{Text: "its claim is gone"}}}, []string{"its claim is gone: ending the job"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, result := newSupervisor(&c.desk), make(chan error, 1)
			order, err := s.attend(result, func() { result <- context.Canceled })
			if order == nil || !errors.Is(err, context.Canceled) {
				t.Errorf("attend = %v, %v, want the order to leave", order, err)
			}
			if got := slices.Compact(c.desk.told); !slices.Equal(got, c.told) {
				t.Errorf("told %q, want %q", got, c.told)
			}
		})
	}
}

// A job that has ended has not done so for good if its claim was taken away before its output was copied, as where its machine was not
// heard of: the claim may be there again when its end is recorded. One that was removed has.
func TestGoneDuringCopyBack(t *testing.T) {
	t.Parallel()
	gone := Word{Leaves: true, Gone: true, Why: pool.Reason{Text: "not heard of"}}
	ended := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for _, c := range []struct {
		name   string
		desk   fakeDesk
		copied func(context.Context) error
		lost   string
	}{
		{"while it is copied", fakeDesk{word: gone}, ended, "not heard of: the claim is gone"},
		{"and copied nevertheless", fakeDesk{word: gone}, func(ctx context.Context) error { <-ctx.Done(); return nil }, ""},
		{"as the desk says", fakeDesk{}, func(context.Context) error { return pool.ErrGone }, "the claim is gone"},
		{"removed", fakeDesk{word: Word{Leaves: true}, terms: Terms{Leaving: launch.Removed}}, ended, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.desk.copied = c.copied
			s := newSupervisor(&c.desk)
			var how pool.Ending
			if s.copyBack(launch.Placed{}, &how); how.Lost != c.lost || how.OutputFailed != "" || how.HoldCode != 0 {
				t.Errorf("the end is %+v, want it lost for %q", how, c.lost)
			}
		})
	}
	if how := failedToStart(fmt.Errorf("inputs: %w", pool.ErrGone)); how.Lost == "" || how.StartFailed != "" {
		t.Errorf("without a claim while inputs are copied the end is %+v", how)
	}
}

func TestNoUpdates(t *testing.T) {
	t.Parallel()
	u := newUpdates(time.Nanosecond, 0)
	if u.next() != nil {
		t.Error("next with STARTER_UPDATE_INTERVAL 0 fires some time, want never")
	}
	u.end()
}
