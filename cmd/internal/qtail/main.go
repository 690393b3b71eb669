// Package qtail is the command that shows the last lines of a job's output.
//
// The standard files of a job are in their places from its start on, even while its other
// files are in a scratch directory: qtail finds the place in the queue, or in the history, and
// reads the file there. It follows a job by looking at the file whenever the system reports a
// write, and at the spool twice a second (follow.go).
package qtail

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/complete"
	"fairspool/cmd/internal/door"
	"fairspool/lib/pool"
)

// lines is how many lines are shown unless the command line says it, as by tail(1).
const lines = 10

func Command() cmdline.Command {
	return cmdline.Command{
		Name:     "qtail",
		Served:   true,
		Brief:    "show the last lines of what a job has written",
		Synopsis: []string{"[-f] [-e] [-n N] CLUSTER | CLUSTER.PROC"},
		About:    `Shows the last ten lines of a job's output, while the job runs and after it has ended. A cluster with one job stands for that job.`,
		Flags: []cmdline.Flag{
			{Name: "f", Help: "also show new output, until the job has ended"},
			{Name: "e", Help: "show standard error instead of standard output"},
			{Name: "n", Args: []string{"N"}, Help: "show the last N lines instead of ten"},
		},
		Examples: []cmdline.Example{
			{Does: "the last output of job 12", Line: "qtail 12"},
			{Does: "its output as it appears, until it has ended", Line: "qtail -f 12"},
			{Does: "all that a job of an array has written to standard error", Line: "qtail -e -n 1000000 13.3"},
		},
		Before: before,
		Takes:  []string{"JOB"}, Names: complete.Names,
		Run: run,
	}
}

func run(c *cmdline.Call) error {
	n, err := count(c)
	if err != nil {
		return err
	}
	if c.ThroughDoor() {
		return serve(c)
	}
	f, err := find(c)
	if err != nil {
		return err
	}
	if c.Has("f") {
		return f.follow(n)
	}
	return f.show(n)
}

// count returns how many lines -n asks for.
func count(c *cmdline.Call) (int, error) {
	if !c.Has("n") {
		return lines, nil
	}
	n, err := strconv.ParseUint(c.Value("n"), 10, 31)
	if err != nil {
		return 0, cmdline.Usagef("-n: %q: want a whole number of lines", c.Value("n"))
	}
	return int(n), nil
}

// show writes the last n lines of the file.
func (f *file) show(n int) error {
	in, err := f.open()
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = last(cmdline.Raw(f.call.Stdout), in, n)
	f.tellAway("")
	return named(f.path, err)
}

// tellAway says why nothing of the present run is to be seen, and until when.
func (f *file) tellAway(also string) {
	if f.away != "" {
		f.call.Warn("%v runs on %s: its %s comes here with its output files, at the latest when it ends%s", f.job, f.away, f.what, also)
	}
}

// named adds the file to an error.
func named(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", path, cmdline.Cause(err))
}

// size returns how long a file is.
func size(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// block is how much of a file is read at a time, in bytes.
const block = 64 << 10

// last writes the last n lines of a file, and returns where it ended then. What stands behind
// the last line's end counts as a line.
func last(to io.Writer, f *os.File, n int) (end int64, err error) {
	if end, err = size(f); err != nil {
		return 0, err
	}
	from, err := lineFromEnd(f, end, n)
	if err != nil {
		return 0, err
	}
	return copyFrom(to, f, from)
}

// lineFromEnd returns where the last n lines of the first end bytes of a file begin. It reads
// backwards, and no more than it has to.
func lineFromEnd(f io.ReaderAt, end int64, n int) (int64, error) {
	if n == 0 {
		return end, nil
	}
	b := make([]byte, block)
	for at := end; at > 0; {
		from := max(at-block, 0)
		part := b[:at-from]
		if _, err := f.ReadAt(part, from); err != nil && err != io.EOF {
			return 0, err
		}
		if at == end && part[len(part)-1] == '\n' {
			part = part[:len(part)-1] // it ends the last line, and begins none
		}
		for i := bytes.LastIndexByte(part, '\n'); i >= 0; i = bytes.LastIndexByte(part[:i], '\n') {
			if n--; n == 0 {
				return from + int64(i) + 1, nil
			}
		}
		at = from
	}
	return 0, nil
}

// copyFrom writes the file's content from an offset on, and returns the offset of its
// end.
func copyFrom(to io.Writer, f *os.File, from int64) (end int64, err error) {
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return from, err
	}
	n, err := io.Copy(to, f)
	return from + n, err
}

// state is what serve tells the caller's end of a job, each time that it has looked at the spool.
type state struct {
	Job         pool.JobID
	Owner, What string
	Path        string
	Stage       stage
	Ran         bool
	Held, Away  string
}

// more is the answer: whether the caller's end wants to know how the job goes on.
type more struct{ More bool }

// serve tells the caller's end of the job until it has read enough.
func serve(c *cmdline.Call) error {
	f, err := find(c)
	for err == nil {
		var a more
		var answer func(any) error
		answer, err = c.Ask(state{f.job, f.owner, f.what, f.path, f.stage, f.ran, f.held, f.away})
		if err == nil {
			err = answer(&a)
		}
		if err != nil || !a.More {
			return err
		}
		err = f.look()
	}
	return err
}

// before reads and shows the file with the caller's rights. serve names the file.
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
		f.job, f.owner, f.what, f.path, f.stage, f.ran, f.held, f.away = s.Job, s.Owner, s.What, s.Path, s.Stage, s.Ran, s.Held, s.Away
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
