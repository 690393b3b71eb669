package workload

import (
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// columns are the columns of the CSV form. Others may follow them.
var columns = []string{"job", "submit", "run", "cores", "user", "group", "memory", "limit", "wait", "again"}

// wanted is how many of them there have to be.
const wanted = 5

// Columns returns the names of the columns of Row.
func Columns() []string { return slices.Clone(columns) }

// Row returns the job as a row of the CSV form. submit is in RFC 3339, times are in seconds, memory in MB; unknown
// values are empty.
func (w *Workload) Row(j Job) []string {
	number := func(n, unknown int64) string {
		if n == unknown {
			return ""
		}
		return strconv.FormatInt(n, 10)
	}
	submit := ""
	if j.Submit >= 0 {
		submit = w.Start.Add(time.Duration(j.Submit) * time.Second).UTC().Format(time.RFC3339)
	}
	return []string{
		j.Name, submit, strconv.FormatInt(j.Run, 10), strconv.Itoa(j.Cores),
		j.User, j.Group, number(j.Memory, 0), number(j.Limit, 0), number(j.Wait, -1), number(j.Again, 0),
	}
}

// csv reads the CSV form.
func (w *reading) csv() error {
	r := csv.NewReader(w.in)
	r.ReuseRecord = true
	head, err := r.Read()
	if err != nil {
		return w.parsed(err)
	}
	at := map[string]int{}
	for i, name := range head {
		at[name] = i
	}
	for _, name := range columns[:wanted] {
		if _, ok := at[name]; !ok {
			w.line = 1
			return w.wrong("there is no column %q; want %s", name, strings.Join(columns[:wanted], ","))
		}
	}
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return w.parsed(err)
		}
		w.line, _ = r.FieldPos(0)
		text := func(name string) string {
			if i, ok := at[name]; ok {
				return strings.Clone(row[i])
			}
			return ""
		}
		var bad error
		number := func(name string, unknown int64) int64 {
			s := text(name)
			if s == "" {
				return unknown
			}
			n, err := strconv.ParseInt(s, 10, 64)
			if err != nil || n < 0 {
				bad = w.wrong("%s: want a whole number, and it is %.40q", name, s)
			}
			return n
		}
		j := Job{
			Name: text("job"), Submit: instant(text("submit")), Run: number("run", -1), Cores: int(min(number("cores", -1), mostCores+1)),
			Memory: number("memory", 0), Limit: number("limit", 0), Wait: number("wait", -1), Again: number("again", 0), User: text("user"), Group: text("group"),
		}
		if bad != nil {
			return bad
		}
		if err := w.add(j); err != nil {
			return err
		}
	}
}

// parsed says where CSV is wrong.
func (w *reading) parsed(err error) error {
	var p *csv.ParseError
	if errors.As(err, &p) {
		w.line = p.Line
		return w.wrong("%v", p.Err)
	}
	return err
}

// instant reads a time, in Unix seconds or RFC 3339. A time without a zone is in UTC. -1 says that the text is no time.
func instant(text string) int64 {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04:05"} {
		if t, err := time.Parse(form, text); err == nil {
			return t.Unix()
		}
	}
	return -1
}
