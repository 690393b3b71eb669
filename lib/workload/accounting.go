package workload

import (
	"slices"
	"strconv"
	"strings"
)

// sacct reads what Slurm's `sacct -P` or -p prints, of the columns JobID, User, Submit, Start, End or ElapsedRaw, and AllocCPUS
// or NCPUS; Account or Group, ReqMem in MB or GB and TimelimitRaw are taken where they are there. Steps are not jobs. Times without a
// zone are taken as UTC.
func (w *reading) sacct() error {
	var head []string
	behind := "" // each line, with -p
	return w.each(func(line string) error {
		if head == nil && strings.HasSuffix(line, "|") {
			behind = "|"
		}
		fields := strings.Split(strings.TrimSuffix(line, behind), "|")
		if head == nil {
			head = fields
			for _, name := range []string{"JobID", "User", "Submit", "Start"} {
				if !slices.Contains(head, name) {
					return w.wrong("there is no column %s; want those of sacct -P -X -o JobID,User,Account,Submit,Start,End,AllocCPUS,TimelimitRaw", name)
				}
			}
			return nil
		}
		if strings.TrimSpace(line) == "" {
			return nil
		}
		if len(fields) != len(head) {
			return w.wrong("want %d fields, and there are %d", len(head), len(fields))
		}
		text := func(names ...string) string {
			for _, name := range names {
				if i := slices.Index(head, name); i >= 0 && fields[i] != "" {
					return fields[i]
				}
			}
			return ""
		}
		number := func(names ...string) int64 {
			n, err := strconv.ParseInt(text(names...), 10, 64)
			if err != nil {
				return -1
			}
			return n
		}
		name := text("JobID")
		if strings.Contains(name, ".") { // a step
			return nil
		}
		start, run := instant(text("Start")), number("ElapsedRaw")
		if end := instant(text("End")); run < 0 && end >= start && start >= 0 {
			run = end - start
		}
		if start < 0 {
			run = -1
		}
		j := Job{Name: name, Submit: instant(text("Submit")), Run: run, Wait: -1, Cores: int(min(number("AllocCPUS", "NCPUS"), mostCores+1)),
			Limit: 60 * max(number("TimelimitRaw"), 0), User: text("User"), Group: text("Account", "Group")}
		if start >= j.Submit && j.Submit >= 0 {
			j.Wait = start - j.Submit
		}
		return w.add(j)
	})
}

// Fields of a line of Grid Engine's file, from 0. Source: accounting(5).
const (
	sgeGroup      = 2
	sgeOwner      = 3
	sgeNumber     = 5
	sgeSubmission = 8
	sgeStart      = 9
	sgeEnd        = 10
	sgeSlots      = 34
	sgeTask       = 35
)

// accounting reads Grid Engine's file. Its times are in seconds, in newer versions in milliseconds.
func (w *reading) accounting() error {
	return w.each(func(line string) error {
		if line == "" || line[0] == '#' {
			return nil
		}
		f := strings.Split(line, ":")
		if len(f) <= sgeSlots {
			return w.wrong("want more than %d fields, as in accounting(5), and there are %d", sgeSlots, len(f))
		}
		number := func(i int) int64 {
			n, err := strconv.ParseInt(f[i], 10, 64)
			if err != nil {
				return -1
			}
			return n
		}
		moment := func(i int) int64 {
			const milliseconds = 100_000_000_000 // no seconds since 1970 before the year 5138
			n := number(i)
			if n > milliseconds {
				n /= 1000
			}
			return n
		}
		name := f[sgeNumber]
		if len(f) > sgeTask && f[sgeTask] != "0" && f[sgeTask] != "" {
			name += "." + f[sgeTask]
		}
		start, end := moment(sgeStart), moment(sgeEnd)
		j := Job{Name: name, Submit: moment(sgeSubmission), Run: -1, Wait: -1, Cores: int(min(number(sgeSlots), mostCores+1)), User: f[sgeOwner], Group: f[sgeGroup]}
		if start > 0 && end >= start {
			j.Run = end - start
		}
		if start >= j.Submit {
			j.Wait = start - j.Submit
		}
		return w.add(j)
	})
}
