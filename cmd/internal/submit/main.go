// Package submit is the command that puts the jobs of a submit description into the queue, or a job that runs
// the command line behind --.
//
// The description is read and checked as a whole before the spool is touched:
// its includes and items are read and its commands run then, too. Its jobs
// enter the queue in one transaction: all of them or none. Submitting reads no
// job of the queue, however long that is, save with -unique, which reads the
// owner's clusters.
package submit

import (
	"fmt"
	"strconv"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/jobad"
	"fairspool/lib/plural"
)

func Command() cmdline.Command {
	return cmdline.Command{
		Name:        "submit",
		Served:      true,
		Here:        func(c *cmdline.Call) bool { return c.Has("dry-run") },
		Before:      before,
		Brief:       "put jobs into the queue",
		Synopsis:    []string{"[options] [NAME=VALUE ...] -- CMD [ARG ...]", "[options] [NAME=VALUE ...] SCRIPT [ARG ...]", "[options] [NAME=VALUE ...] [FILE|-] [-queue ARGS...]"},
		CommandLine: true,
		About: `Behind --, puts a job into the queue that runs a command in this folder and with this environment, its words as they are. What it prints goes to NAME.CLUSTER.PROC.out and .err here, as echo.12.0.out.

SCRIPT is a file with a #! line, or with lines of #SBATCH, #$ or #PBS at its head, which are heeded as far as they have a meaning here. Words behind it are its arguments; a copy of it is run, and its output is kept likewise.

Otherwise reads a submit description, from standard input for - or without FILE when that is no terminal, and puts its jobs into the queue, all of them or none. The jobs of a description are one cluster; its number is printed.

NAME=VALUE stands before the first line of the description. A FILE with = in its name is written with a slash before that: ./a=b.sub.

What is wrong with a description is shown with file, line and place, and nothing is submitted.`,
		Flags: flags,
		Ends:  isScript,
		Examples: []cmdline.Example{
			{Does: "run a command", Line: "submit -- echo hello"},
			{Does: "run a line of the shell, with 4 processors and for 2 hours at most", Line: "submit -cpus 4 -memory 8G -time 2h -name fit -- sh -c 'fit *.dat | sort >result'"},
			{Does: "run a command when all jobs of cluster 12 have succeeded", Line: "submit -after 12 -- ./collect results/"},
			{Does: "run a batch script with two arguments", Line: "submit -memory 4G job.sh input.dat -v"},
			{Does: "submit the jobs of a description", Line: "submit analysis.sub"},
			{Does: "submit one job for each file, with more memory", Line: `submit -a 'request_memory = 4G' one.sub -queue input matching '*.dat'`},
			{Does: "submit five jobs without a file", Line: `printf 'executable = /bin/sleep\narguments = 60\nqueue 5\n' | submit -`},
			{Does: "see what would be submitted", Line: "submit -dry-run - analysis.sub"},
			{Does: "submit from cron, unless the last ones are not yet done", Line: "submit -unique nightly nightly.sub"},
		},
		Run: run,
	}
}

// submission is one run of the command.
type submission struct {
	*cmdline.Call
	owner    string // whose jobs they are
	warnings int    // so many were printed
	kept     bool   // the jobs keep their output: see Options.KeepOutput
	held     []heldProcs
	// looked waits for what the caller's end finds of the jobs' files; nil unless in serve
	looked func() ([]doomed, error)
}

func run(c *cmdline.Call) error {
	s := &submission{Call: c}
	if err := s.checkFlags(); err != nil {
		return err
	}
	if c.ThroughDoor() {
		return s.submit(nil)
	}
	if done, err := asOwner(c, true); done || err != nil {
		return err
	}
	jobs, err := s.read()
	if err == nil {
		err = s.strict()
	}
	if err != nil {
		return err
	}
	if c.Has("dry-run") {
		return s.dryRun(jobs)
	}
	return s.submit(jobs)
}

// submit puts jobs into the queue, and does what is to be done then. In serve, jobs is nil: they are
// asked for.
func (s *submission) submit(jobs *jobad.Jobs) error {
	k, err := s.put(jobs)
	if err != nil {
		return s.tellOf(err)
	}
	s.logSubmitted(k)
	s.serve(k)
	s.Changed()
	if err := s.tell(k); err != nil || !s.Has("wait") {
		return err
	}
	return s.wait(k)
}

// checkFlags refuses flags that say nothing together, or nothing at all.
func (s *submission) checkFlags() error {
	for _, pair := range [][]string{{"terse", "verbose", "json"}, {"dry-run", "terse"}, {"dry-run", "verbose"}, {"dry-run", "wait"}} {
		if _, err := s.One(pair...); err != nil {
			return err
		}
	}
	if s.Has("maxjobs") {
		if n, err := strconv.Atoi(s.Value("maxjobs")); err != nil || n < 1 {
			return cmdline.Usagef("-maxjobs %s: want a whole number from 1 up", s.Value("maxjobs"))
		}
	}
	if s.Has("dry-run") && s.Value("dry-run") == "" {
		return cmdline.Usagef("-dry-run: the file's name is empty; - is standard output")
	}
	if s.Has("unique") {
		return checkKey(s.Value("unique"))
	}
	return nil
}

// warn prints a warning and counts it.
func (s *submission) warn(format string, args ...any) {
	s.warnings++
	s.Warn("warning: "+format, args...)
}

// strict is an error when there were warnings, with -strict.
func (s *submission) strict() error {
	if !s.Has("strict") || s.warnings == 0 {
		return nil
	}
	return fmt.Errorf("-strict: %s: nothing is submitted", plural.Count(s.warnings, "warning"))
}
