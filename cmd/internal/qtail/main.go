// Package qtail is the command that shows the last lines of what a job has written.
//
// The standard files of a job are in their places from its start on, also while its other
// files are in a scratch directory: qtail looks up in the queue, or in the history, where that
// is, and reads the file there (tail.go). It follows a job by looking at the file whenever
// the system says that something was written, and at the spool twice a second (follow.go).
package qtail

import (
	"fmt"
	"os"
	"strconv"

	"fairspool/cmd/internal/cmdline"
)

// lines is how many lines are shown unless the command line says it, as by tail(1).
const lines = 10

func Command() cmdline.Command {
	return cmdline.Command{
		Name:     "qtail",
		Served:   true,
		Brief:    "show the last lines of what a job has written",
		Synopsis: []string{"[-f] [-e] [-n N] CLUSTER | CLUSTER.PROC"},
		About: `Shows the last ten lines of a job's output, while it runs and when it has ended.

A cluster with one job stands for that job.`,
		Flags: []cmdline.Flag{
			{Name: "f", Help: "show what the job goes on to write, too, until it has ended"},
			{Name: "e", Help: "show its standard error instead of its output"},
			{Name: "n", Args: []string{"N"}, Help: "show the last N lines, instead of ten"},
		},
		Examples: []cmdline.Example{
			{Does: "what job 12 has written last", Line: "qtail 12"},
			{Does: "what it writes, until it has ended", Line: "qtail -f 12"},
			{Does: "all that a job of an array has written to standard error", Line: "qtail -e -n 1000000 12.3"},
		},
		Before: before,
		Run:    run,
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
	return named(f.path, err)
}

// named says in which file something went wrong.
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
