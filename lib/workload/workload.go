// Package workload reads recorded jobs: their submissions, submitters, run times and cores.
//
// Read recognizes these forms by their beginnings:
//
//	SWF        the Standard Workload Format, version 2.2: eighteen numbers a line, comments behind a semicolon
//	CSV        the form that Write writes
//	sacct -P   Slurm's accounting, with a line of names of columns and bars between the fields
//	JSON       condor_history -json: job ads
//	accounting Grid Engine's file of that name, accounting(5): colons between the fields
//
// Each may be compressed by gzip. Jobs with an unknown run time, and those that never ran, are left out and counted.
package workload

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Job is one job of a workload.
type Job struct {
	Name   string // its number or name where it was recorded
	Submit int64  // seconds after Workload.Start
	Run    int64  // seconds
	Cores  int    // at least 1
	Memory int64  // MB for all of them together; 0: unknown
	Limit  int64  // seconds that its user asked for; 0: unknown
	Wait   int64  // seconds from its submission to its first start; -1: unknown
	Again  int64  // seconds from its first start to that of its last attempt, which alone Run is of; 0: there was one
	User   string // not empty
	Group  string // of the user; empty: unknown
}

// Start and End return when its last attempt began and when it ended, in seconds after Workload.Start, if its wait is known.
func (j *Job) Start() int64 { return j.Submit + j.Wait + j.Again }
func (j *Job) End() int64   { return j.Start() + j.Run }

// Workload are recorded jobs, in the order of their submission.
type Workload struct {
	Start time.Time // of the recording
	Jobs  []Job
	// Steps, by job, say where jobs are submitted when others end, and Groups numbers those from 0; see Dependent. Without
	// Steps all jobs are submitted when they were recorded to be.
	Steps  []Step
	Groups int
	// Left counts the omitted jobs by reason, and Unknown the included jobs by their unknown values and the values
	// assumed for these.
	Left, Unknown Counts
}

// Counts are counts by reason, in the order of first appearance.
type Counts []Count

// Count is how many jobs something holds for.
type Count struct {
	What string
	Jobs int
}

func (c *Counts) add(what string) {
	i := slices.IndexFunc(*c, func(o Count) bool { return o.What == what })
	if i < 0 {
		*c = append(*c, Count{what, 0})
		i = len(*c) - 1
	}
	(*c)[i].Jobs++
}

// Bounds of the input.
const (
	mostJobs    = 20_000_000
	mostCores   = 1 << 24
	mostMemory  = 1 << 40       // MB
	mostSeconds = math.MaxInt32 // 68 years
	longestLine = 1 << 20
)

// Error is the error of a line.
type Error struct {
	Line int
	What string
}

func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.What) }

// Progress receives the number of jobs read so far.
type Progress func(jobs int)

// Read reads a workload. The error is an *Error where a line is to blame.
func Read(r io.Reader, told Progress) (*Workload, error) {
	b := bufio.NewReaderSize(r, 1<<16)
	if head, _ := b.Peek(2); bytes.Equal(head, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, err
		}
		b = bufio.NewReaderSize(z, 1<<16)
	}
	head, err := b.Peek(4096)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, cut(err)
	}
	line, _, _ := bytes.Cut(head, []byte("\n"))
	w := &reading{in: b, told: told, first: math.MaxInt64, texts: map[string]string{}}
	read := w.swf
	switch {
	case bytes.IndexByte(head, 0) >= 0 || !utf8.Valid(trimRune(head)):
		return nil, &Error{1, "no text"}
	case len(bytes.TrimSpace(head)) == 0:
		return nil, &Error{1, "there are no jobs"}
	case head[0] == '[' || head[0] == '{':
		read = w.json
	case bytes.HasPrefix(head, []byte(columns[0]+",")):
		read = w.csv
	case bytes.IndexByte(line, '|') >= 0:
		read = w.sacct
	case bytes.Count(line, []byte(":")) > 20 || bytes.HasPrefix(head, []byte("#")):
		read = w.accounting
	}
	if err := read(); err != nil {
		return nil, cut(err)
	}
	return w.done()
}

// trimRune cuts off what may be the beginning of a rune.
func trimRune(b []byte) []byte {
	for i := 1; i <= min(utf8.UTFMax, len(b)); i++ {
		if utf8.RuneStart(b[len(b)-i]) {
			return b[:len(b)-i]
		}
	}
	return b
}

// cut words the error of compressed text that breaks off.
func cut(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("it is cut off: %w", err)
	}
	return err
}

// reading is a workload that is being read. Submit is in Unix seconds until done.
type reading struct {
	Workload
	in    *bufio.Reader
	line  int
	told  Progress
	first int64             // submission
	ids   bool              // names are CLUSTER.PROC, and jobs of one second are in any order
	texts map[string]string // users and groups so far
}

// next returns the next line without its end, or io.EOF behind the last one.
func (w *reading) next() (string, error) {
	var text []byte
	for {
		part, more, err := w.in.ReadLine()
		if err != nil {
			return "", err
		}
		if text = append(text, part...); len(text) > longestLine {
			return "", &Error{w.line + 1, "it is too long"}
		}
		if !more {
			w.line++
			return string(text), nil
		}
	}
}

// text returns a text, the same one for equal texts.
func (w *reading) text(s string) string {
	known, is := w.texts[s]
	if !is {
		known = strings.Clone(s)
		w.texts[known] = known
	}
	return known
}

// each calls do for each line.
func (w *reading) each(do func(line string) error) error {
	for {
		line, err := w.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = do(line)
		}
		if err != nil {
			return err
		}
	}
}

func (w *reading) wrong(format string, args ...any) error {
	return &Error{w.line, fmt.Sprintf(format, args...)}
}

// add takes a job, or leaves it out. Unknown numbers are below 0.
func (w *reading) add(j Job) error {
	switch {
	case j.Submit < 0:
		return w.wrong("job %s has no time of submission", j.Name)
	case j.Submit > math.MaxInt32*100 || j.Run > mostSeconds || j.Cores > mostCores:
		return w.wrong("job %s: a number is too large", j.Name)
	case j.Run < 0:
		w.Left.add("unknown run time, or it never ran")
		return nil
	case len(w.Jobs) == mostJobs:
		return w.wrong("there are more than %d jobs", mostJobs)
	}
	if j.Cores <= 0 {
		w.Unknown.add("cores: 1 is assumed")
		j.Cores = 1
	}
	if j.User == "" {
		w.Unknown.add(`user: "unknown" is assumed`)
		j.User = "unknown"
	}
	if j.Wait = max(j.Wait, -1); j.Wait < 0 {
		j.Again = 0
	}
	if j.Again = max(j.Again, 0); j.Again > mostSeconds || j.Wait > mostSeconds {
		return w.wrong("job %s: a number is too large", j.Name)
	}
	j.Memory, j.Limit = min(max(j.Memory, 0), mostMemory), min(max(j.Limit, 0), mostSeconds)
	w.first = min(w.first, j.Submit)
	j.Name, j.User, j.Group = strings.Clone(j.Name), w.text(j.User), w.text(j.Group) // lines need not stay
	w.Jobs = append(w.Jobs, j)
	if w.told != nil && len(w.Jobs)%10_000 == 0 {
		w.told(len(w.Jobs))
	}
	return nil
}

// done returns the workload.
func (w *reading) done() (*Workload, error) {
	if len(w.Jobs) == 0 {
		for _, c := range w.Left {
			return nil, fmt.Errorf("there are no jobs that ran: of %d, %s", c.Jobs, c.What)
		}
		return nil, errors.New("there are no jobs")
	}
	if w.Start.IsZero() {
		w.Start = time.Unix(w.first, 0).UTC()
	}
	from := w.Start.Unix()
	for i := range w.Jobs {
		w.Jobs[i].Submit -= from
	}
	slices.SortStableFunc(w.Jobs, func(a, b Job) int {
		order := cmp.Compare(a.Submit, b.Submit)
		if order == 0 && w.ids {
			order = compareIDs(a.Name, b.Name)
		}
		return order
	})
	if last := w.Jobs[len(w.Jobs)-1].Submit; last > mostSeconds {
		return nil, fmt.Errorf("the jobs are submitted over %d seconds: a time is wrong", last)
	}
	return &w.Workload, nil
}
