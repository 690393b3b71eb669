package spool

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/lifecycle"
	"fairspool/lib/plural"
	"fairspool/spool"
)

// check looks for damage and tells all of it; of sound files it tells what
// there is of each kind.
func check(c *cmdline.Call, args []string) error {
	if err := noMore("check", args); err != nil {
		return err
	}
	if _, err := c.One("json", "q"); err != nil {
		return err
	}
	dir, err := c.ExistingDir()
	if err != nil {
		return err
	}
	found := report{dir: dir}
	seen := c.Progress("checking")
	sound, err := spool.Check(dir, c.SpoolOptions(), func(f spool.Finding) {
		found.add(f)
		seen.Count(len(found.findings), "files")
	})
	seen.End()
	if err != nil {
		return err
	}
	if err := found.print(c, sound); err != nil {
		return err
	}
	if !sound {
		return cmdline.ErrReported
	}
	return beyond(c)
}

// beyond warns if the last event of the accounts is still to come.
func beyond(c *cmdline.Call) error {
	s, err := c.ExistingSpool()
	if err != nil {
		return err
	}
	return s.View(func(v *spool.View) error {
		if words := lifecycle.Beyond(v, c.Now); words != "" {
			c.Warn("%s", words)
		}
		return nil
	})
}

// report is the findings in a spool.
type report struct {
	dir      string
	findings []spool.Finding
}

func (r *report) add(f spool.Finding) { r.findings = append(r.findings, f) }

// print prints the findings: good news, then bad.
func (r *report) print(c *cmdline.Call, sound bool) error {
	damaged := r.damaged()
	var err error
	switch {
	case c.Has("json"):
		err = c.JSON(r.json(sound))
	case !c.Has("q"):
		err = c.Table(columns, r.summary(damaged))
		if err == nil && sound {
			_, err = fmt.Fprintf(c.Stdout, "%s is sound.\n", r.dir)
		}
	}
	if err == nil {
		err = c.Flush()
	}
	if err != nil || sound {
		return err
	}
	for _, f := range r.findings {
		if f.Damaged && !c.Has("json") {
			c.Warn("%s: damaged: %s%s", place(f), f.What, r.advice(f))
		}
	}
	c.Warn("%s: %s damaged", r.dir, plural.Count(len(damaged), "file"))
	return nil
}

// damaged returns the files that are, by name.
func (r *report) damaged() map[string]bool {
	files := map[string]bool{}
	for _, f := range r.findings {
		if f.Damaged {
			files[f.File] = true
		}
	}
	return files
}

// place returns where a finding is: file and line.
func place(f spool.Finding) string {
	if f.Line > 0 {
		return fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	return f.File
}

// setAside is the advice for a damaged month; its name follows.
const setAside = ": restore the file from a copy, or set it aside with spool archive -damaged "

// mending has the advice for kinds of files with damage that is easier to mend.
var mending = map[string]string{
	"lock": "", "negotiate.lock": "", "fold.lock": "", "cycle.json": "", // the finding says it
	"samples": ": the other samples count", "history": setAside, "log": setAside,
}

// advice says what to do about damage, behind a colon.
func (r *report) advice(f spool.Finding) string {
	text, ok := mending[r.kind(f)]
	if text == setAside {
		text += strings.TrimSuffix(filepath.Base(f.File), ".ads")
	}
	if ok {
		return text
	}
	return ": restore the spool from a copy, or save the rest with spool salvage NEWDIR"
}

// kind returns what kind of file a finding is about: the name of its folder, or
// its own without a number.
func (r *report) kind(f spool.Finding) string {
	if f.Older {
		return "older"
	}
	name := r.name(f)
	if folder, _, ok := strings.Cut(name, "/"); ok {
		return folder
	}
	word, number, ok := strings.Cut(name, ".")
	if _, err := strconv.Atoi(number); ok && err == nil {
		return word
	}
	return name
}

// name returns the name of a finding's file in the spool.
func (r *report) name(f spool.Finding) string {
	if name, err := filepath.Rel(r.dir, f.File); err == nil {
		return name
	}
	return f.File
}

var columns = []cmdline.Column{{Head: "Part"}, {Head: "Files", Right: true}, {Head: "What is there"}}

// summary returns a row for each kind of sound files, in the order in which they were
// found. Counts are added up; any other finding, such as that a month is archived, keeps
// a row of its own.
func (r *report) summary(damaged map[string]bool) [][]string {
	type line struct {
		kind, what string
		files      int
		counts     []int
	}
	var lines []*line
	for _, f := range r.findings {
		if damaged[f.File] {
			continue
		}
		kind := r.kind(f)
		what, counts := counts(f.What)
		i := slices.IndexFunc(lines, func(l *line) bool { return l.kind == kind && l.what == what })
		if i < 0 {
			i = len(lines)
			lines = append(lines, &line{kind, what, 0, make([]int, len(counts))})
		}
		lines[i].files++
		for n, x := range counts {
			lines[i].counts[n] += x
		}
	}
	rows := make([][]string, len(lines))
	for i, l := range lines {
		rows[i] = []string{l.kind, strconv.Itoa(l.files), added(l.what, l.counts)}
	}
	return rows
}

// list is a text that says counts and nothing else: "2 segments, 1 tables".
var list = regexp.MustCompile(`^[0-9]{1,15} [a-z]+(, [0-9]{1,15} [a-z]+)*$`)

// counts parts a list of counts into the words, in the singular and joined by commas,
// and the numbers. Any other text has no numbers.
func counts(what string) (words string, numbers []int) {
	if !list.MatchString(what) {
		return what, nil
	}
	var names []string
	for _, item := range strings.Split(what, ", ") {
		number, name, _ := strings.Cut(item, " ")
		n, err := strconv.Atoi(number)
		if err != nil {
			return what, nil
		}
		names, numbers = append(names, strings.TrimSuffix(name, "s")), append(numbers, n)
	}
	return strings.Join(names, ","), numbers
}

// added is the inverse of counts.
func added(words string, numbers []int) string {
	if len(numbers) == 0 {
		return words
	}
	var items []string
	for i, name := range strings.Split(words, ",") {
		if name == "byte" {
			items = append(items, size(int64(numbers[i])))
			continue
		}
		items = append(items, plural.Count(numbers[i], name))
	}
	return strings.Join(items, ", ")
}

// checked is the report as JSON shows it.
type checked struct {
	Directory string
	Sound     bool
	Files     []finding
}

type finding struct {
	File    string // in the directory
	Line    int    `json:",omitempty"`
	Damaged bool
	Older   bool `json:",omitempty"` // of a generation that still has readers
	What    string
}

func (r *report) json(sound bool) checked {
	files := make([]finding, len(r.findings))
	for i, f := range r.findings {
		files[i] = finding{r.name(f), f.Line, f.Damaged, f.Older, f.What}
	}
	return checked{r.dir, sound, files}
}
