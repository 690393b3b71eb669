package queue

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"fairspool/lib/clean"
	"fairspool/lib/pool"
)

// Ends of a sheet's lines in which the jobs are to be named.
const (
	tasksHere    = "\x00tasks"    // as in the column ja-task-ID
	argumentHere = "\x00argument" // as arguments of another command
)

// naming is a place in a sheet where its jobs are named.
type naming struct {
	at   int
	here string
}

// filled returns a value for a line at the end of the text, and notes where it has to
// name the jobs.
func (d *sheet) filled(value string) string {
	head, what, _ := strings.Cut(value, "\x00")
	head = clean.Line(head)
	if here := "\x00" + what; here == tasksHere || here == argumentHere {
		const key = 28 // the places of the key before it
		d.named = append(d.named, naming{len(d.text) + key + len(head), here})
		return head
	}
	return clean.Line(value)
}

// pile is sheets of jobs of one cluster. Equal sheets are joined.
type pile struct {
	w       io.Writer
	cluster int
	sheets  []pooled
	at      map[string]int // by text
}

// pooled is a sheet, with the jobs that it is for.
type pooled struct {
	text   []byte
	named  []naming
	ranges []pool.Procs
}

// add puts a sheet on the pile.
func (p *pile) add(d *sheet) error {
	if d.cluster != p.cluster {
		if err := p.flush(); err != nil {
			return err
		}
		p.cluster, p.at = d.cluster, map[string]int{}
	}
	text := string(d.text)
	if i, ok := p.at[text]; ok {
		p.sheets[i].ranges = joined(p.sheets[i].ranges, d.ranges)
		return nil
	}
	p.at[text] = len(p.sheets)
	p.sheets = append(p.sheets, pooled{d.text, d.named, slices.Clone(d.ranges)})
	return nil
}

// joined adds ranges that come later, to the last one where they go on with it.
func joined(list, more []pool.Procs) []pool.Procs {
	for _, s := range more {
		if k := len(list) - 1; k >= 0 && list[k].Extend(s) {
			continue
		}
		list = append(list, s)
	}
	return list
}

// flush writes the sheets of the pile.
func (p *pile) flush() error {
	for _, s := range p.sheets {
		var b []byte
		from := 0
		for _, n := range s.named {
			b = append(b, s.text[from:n.at]...)
			from = n.at
			if n.here == tasksHere {
				b = appendTasks(b, s.ranges)
			} else {
				b = append(b, argument(p.cluster, s.ranges)...)
			}
		}
		if _, err := p.w.Write(append(b, s.text[from:]...)); err != nil {
			return err
		}
	}
	p.sheets = nil
	return nil
}

// argument names procs of a cluster for another command.
func argument(cluster int, ranges []pool.Procs) string {
	list := strings.Split(tasks(ranges), ",")
	for i, s := range list {
		list[i] = fmt.Sprintf("%d.%s", cluster, strings.TrimSuffix(s, ":1"))
	}
	return strings.Join(list, " ")
}
