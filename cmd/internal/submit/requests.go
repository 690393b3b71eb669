package submit

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/jobad"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/submitfile"
)

// requests are the flags that stand for a submit command, whatever the description says. value
// returns the command's value for the flag's, or what is wrong with that.
var requests = [...]struct {
	flag, command string
	value         func(text string) (string, error)
}{
	{"cpus", "request_cpus", func(text string) (string, error) { return text, whole(text, 1) }},
	{"memory", "request_memory", memory},
	{"gpus", "request_gpus", func(text string) (string, error) { return text, whole(text, 0) }},
	{"time", "wall_time", wallTime},
	{"after", "after_ok", clusters},
	{"output", "output", plain},
	{"error", "error", plain},
	{"batch-name", "batch_name", plain},
}

// requested returns the lines that stand before each queue line for the flags.
func (s *submission) requested() ([]string, error) {
	var lines []string
	for _, r := range requests {
		if !s.Has(r.flag) {
			continue
		}
		text := strings.TrimSpace(s.Value(r.flag))
		if text == "" {
			return nil, cmdline.Usagef("-%s: wants a word, and this one is empty", r.flag)
		}
		value, err := r.value(text)
		if err != nil {
			return nil, cmdline.Usagef("-%s %s: %v", r.flag, submitfile.Shorten(text), err)
		}
		if err := oneLine(text); err != nil {
			return nil, err
		}
		if r.flag == "batch-name" { // +JobBatchName would go before batch_name
			lines = append(lines, "MY.JobBatchName = "+quoted(value))
			continue
		}
		lines = append(lines, r.command+" = "+value)
	}
	return lines, nil
}

// tellReplaced tells which lines of a description do not count since a flag does. It is an error
// when it is the flag that does not.
func (s *submission) tellReplaced(d *submitfile.Description) error {
	var all []jobad.Command
	for _, r := range requests {
		if !s.Has(r.flag) {
			continue
		}
		if all == nil {
			all = jobad.Commands()
		}
		c := all[slices.IndexFunc(all, func(c jobad.Command) bool { return c.Name == r.command })]
		if err := s.tellReplacedBy(r.flag, c, d); err != nil {
			return err
		}
	}
	return nil
}

// tellReplacedBy does so for a flag that stands for a command.
func (s *submission) tellReplacedBy(flag string, c jobad.Command, d *submitfile.Description) error {
	value := s.Value(flag)
	names := append(slices.Clone(c.Also), c.Name)
	attribute := "my." + strings.ToLower(c.Attr)
	for _, key := range d.Variables() {
		if slices.Contains(names, key) || key == attribute {
			return fmt.Errorf("%s: %s is a variable of the queue line, which goes before -%s %s: leave one of them out", d.File(), key, flag, submitfile.Shorten(value))
		}
	}
	late := d.AfterLast()
	for i, a := range d.Assignments() {
		key := strings.ToLower(a.Name)
		at := submitfile.Place{File: a.Place().File, Line: a.Place().Line}
		switch {
		case late[i], at.Line == 0: // nobody wrote it
		case key == attribute && flag != "batch-name":
			return &submitfile.Error{Place: at, Msg: fmt.Sprintf("+%s: goes before -%s %s: leave one of them out", c.Attr, flag, submitfile.Shorten(value))}
		case !a.Appended && a.Text != value && (slices.Contains(names, key) || key == attribute):
			s.warn("%v", submitfile.Warning{Place: at, Msg: fmt.Sprintf("%s = %s: -%s %s counts instead", a.Name, submitfile.Shorten(a.Text), flag, submitfile.Shorten(value))})
			return nil
		}
	}
	return nil
}

// whole is an error for what is no whole number from least up.
func whole(text string, least int) error {
	if n, err := strconv.Atoi(text); err != nil || n < least || n > maxNumber {
		return fmt.Errorf("want a whole number from %d to %d", least, maxNumber)
	}
	return nil
}

// maxNumber is how much of anything a job may ask for, as request_cpus has it.
const maxNumber = 1_000_000

func memory(text string) (string, error) {
	if !jobad.IsSize(text) {
		return "", errors.New("want a size, as 4G, 500M or 1.5 GB; a number alone is MB")
	}
	return text, nil
}

func clusters(text string) (string, error) {
	if _, err := jobpolicy.ParseClusters(text); err != nil {
		return "", fmt.Errorf("want numbers of clusters, as 12 or 12,13, %d at most", jobpolicy.MaxClusters)
	}
	return text, nil
}

func plain(text string) (string, error) { return text, nil }

// longest is a hundred years, in seconds.
const longest = 100 * 365 * 86400

// wallTime reads a time as 2h, 90m, 1h30m, 2d, 1:30:00 or in seconds, and returns the seconds.
func wallTime(text string) (string, error) {
	n, ok := jobad.Span(text)
	if !ok {
		n, _ = strconv.ParseInt(text, 10, 64)
	}
	if n < 1 || n > longest {
		return "", errors.New("want a time, as 2h, 90m, 1h30m, 2d, 1:30:00 or a number of seconds")
	}
	return strconv.FormatInt(n, 10), nil
}
