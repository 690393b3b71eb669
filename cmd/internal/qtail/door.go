package qtail

import (
	"encoding/json"
	"fmt"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/door"
	"fairspool/lib/pool"
)

// state is what serve tells the caller's end of a job, each time that it has looked at the spool.
type state struct {
	Job         pool.JobID
	Owner, What string
	Path        string
	Stage       stage
	Ran         bool
	Held        string
}

// more is the answer: whether the caller's end wants to know how the job goes on.
type more struct{ More bool }

// serve tells the caller's end of the job until it has read enough.
func serve(c *cmdline.Call) error {
	f, err := find(c)
	for err == nil {
		var a more
		if err = c.Ask(state{f.job, f.owner, f.what, f.path, f.stage, f.ran, f.held}, &a); err != nil || !a.More {
			return err
		}
		err = f.look()
	}
	return err
}

// before reads and shows the file with the caller's rights, of which serve tells.
func before(c *cmdline.Call) (func() (door.Answer, error), error) {
	n, err := count(c)
	if err != nil {
		return nil, err
	}
	f := &file{call: c}
	t := &trail{file: f, lines: n, notify: -1}
	answer := func(question []byte) (any, error) {
		var s state
		if err := json.Unmarshal(question, &s); err != nil {
			return nil, fmt.Errorf("what serve says of the job: %w", err)
		}
		f.job, f.owner, f.what, f.path, f.stage, f.ran, f.held = s.Job, s.Owner, s.What, s.Path, s.Stage, s.Ran, s.Held
		if !c.Has("f") {
			return more{}, f.show(n)
		}
		over := f.stage == ended
		if err := t.show(); err != nil {
			return nil, err
		}
		if err := c.Flush(); err != nil {
			return nil, err
		}
		return more{!over && !t.pause()}, nil
	}
	return func() (door.Answer, error) { return answer, nil }, nil
}
