package waiting

import (
	"bytes"
	"errors"
	"reflect"
	"syscall"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/pool"
)

func job(proc int) pool.JobID { return pool.JobID{Cluster: 12, Proc: proc} }

func TestOutcome(t *testing.T) {
	for _, c := range []struct {
		o    Outcome
		want int
		says string
	}{
		{Outcome{}, 0, "12.0 returned 0"},
		{Outcome{ReturnValue: 3}, 3, "12.0 returned 3"},
		{Outcome{ReturnValue: 256}, 1, "12.0 returned 256"},
		{Outcome{ReturnValue: -1}, 255, "12.0 returned -1"},
		{Outcome{Signal: 9}, 137, "12.0 was killed by signal 9"},
		{Outcome{Signal: -1}, 128, "12.0 was killed by a signal"},
		{Outcome{Removed: true}, 1, "12.0 was removed"},
		{Outcome{Removed: true, Reason: "by alice"}, 1, "12.0 was removed: by alice"},
		{Outcome{Lost: true}, 1, "12.0 has ended, with an unknown result"},
	} {
		c.o.Job = job(0)
		if got := c.o.Status(); got != c.want || c.o.String() != c.says {
			t.Errorf("%+v: Status = %d, %q, want %d, %q", c.o, got, c.o, c.want, c.says)
		}
	}
	list := []Outcome{{Job: job(0)}, {Job: job(1), Signal: 15}, {Job: job(2), ReturnValue: 3}}
	if got := Status(list); got != 143 {
		t.Errorf("Status of several = %d, want 143 of the first that is not 0", got)
	}
	if got := Status(list[:1]); got != 0 {
		t.Errorf("Status of a good one = %d, want 0", got)
	}
}

func TestHolds(t *testing.T) {
	var h Holds
	for _, c := range []struct {
		held map[pool.JobID]string
		want []string
	}{
		{nil, nil},
		{map[pool.JobID]string{job(1): "no disk"}, []string{"12.1 is held (no disk); still waiting"}},
		{map[pool.JobID]string{job(1): "no disk", job(2): ""}, []string{"12.2 is held; still waiting"}},
		{map[pool.JobID]string{job(2): "", job(3): "by alice", job(4): "by alice", job(5): "by alice", job(6): "a", job(7): "a"},
			[]string{"12.3 and 2 more are held (by alice); still waiting", "12.6 and 12.7 are held (a); still waiting"}},
		{map[pool.JobID]string{job(1): "no disk"}, []string{"12.1 is held (no disk); still waiting"}}, // held anew
	} {
		if got := h.News(c.held); !reflect.DeepEqual(got, c.want) {
			t.Errorf("News(%v) = %q, want %q", c.held, got, c.want)
		}
	}
}

func TestUntil(t *testing.T) {
	soon := time.Millisecond
	never := time.Hour
	trouble := errors.New("trouble")
	for _, c := range []struct {
		name  string
		pace  Pace
		looks []Far // the last again and again
		fails error
		want  error
		told  string
	}{
		{"done at once", Pace{Every: never}, []Far{{Done: true}}, nil, nil, ""},
		{"done later", Pace{Every: soon}, []Far{{All: 2}, {Ended: 1, All: 2, News: []string{"one", "two"}}, {Done: true}}, nil, nil, "toy: one\ntoy: two\n"},
		{"timed out", Pace{Every: never, Timeout: &soon}, []Far{{All: 2}}, nil, ErrTimedOut, ""},
		{"done at the last look", Pace{Every: never, Timeout: &soon}, []Far{{All: 2}, {Done: true}}, nil, nil, ""},
		{"trouble", Pace{Every: never}, []Far{{News: []string{"one"}}}, trouble, trouble, "toy: one\n"},
	} {
		var bad bytes.Buffer
		n := 0
		err := Until(&cmdline.Call{Name: "toy", Stderr: &bad}, c.pace, func() (Far, error) {
			far := c.looks[min(n, len(c.looks)-1)]
			n++
			return far, c.fails
		})
		if err != c.want || bad.String() != c.told {
			t.Errorf("%s: Until = %v, %q, want %v, %q", c.name, err, bad.String(), c.want, c.told)
		}
	}
}

func TestInterrupt(t *testing.T) {
	err := Until(&cmdline.Call{Name: "toy", Stderr: &bytes.Buffer{}}, Pace{Every: time.Millisecond}, func() (Far, error) {
		return Far{}, syscall.Kill(syscall.Getpid(), syscall.SIGINT)
	})
	if err != ErrInterrupted {
		t.Errorf("Until = %v, want it interrupted", err)
	}
}
