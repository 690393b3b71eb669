// Package logtext writes and reads the lines of a spool's log: the T line of a transaction, which begins the transaction in the journal
// too, what it changed, and how it found the slots that it changed (package takers).
package logtext

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/plural"
	"fairspool/spool/internal/quotedtext"
)

// Layout is how the journal writes times: UTC, milliseconds.
const Layout = "2006-01-02T15:04:05.000Z"

// Transaction is the T line of a transaction: user, operation and times.
type Transaction struct {
	Seq     uint64
	Machine time.Time // when, by the machine's clock
	Policy  time.Time // when, in policy time
	UID     int
	User    string
	Program string
	Op      string
	Args    []string
}

// Append writes the T line.
func (h Transaction) Append(b []byte) []byte {
	b = fmt.Appendf(b, "T %d %s %s %d %q %q %q", h.Seq, h.Machine.UTC().Format(Layout), h.Policy.UTC().Format(Layout), h.UID, h.User, h.Program, h.Op)
	for _, a := range h.Args {
		b = append(b, ' ')
		b = strconv.AppendQuote(b, a)
	}
	return append(b, '\n')
}

// Logged is one transaction of the audit trail. The log keeps it when its lines
// are folded away.
type Logged struct {
	Transaction
	What    string   // what it changed, in a few words
	Earlier []string // how it found slots: see package takers
}

// Append writes the lines of the log.
func (l Logged) Append(b []byte) []byte {
	b = fmt.Appendf(l.Transaction.Append(b), "= %s\n", l.What)
	for _, line := range l.Earlier {
		b = append(append(append(b, EarlierHead...), line...), '\n')
	}
	return b
}

// EarlierHead begins the lines of Earlier.
const EarlierHead = "< "

// Reader reads the lines of a month's log, and hands over each transaction.
type Reader struct {
	Each  func(Logged) error
	next  Logged
	lines int // of next
	bad   error
}

// Line reads the next line.
func (r *Reader) Line(line []byte) (err error) {
	what, second := bytes.CutPrefix(line, []byte("= "))
	was, further := bytes.CutPrefix(line, []byte(EarlierHead))
	switch {
	case r.lines == 1 && second:
		r.next.What = string(what)
	case r.lines > 1 && further:
		r.next.Earlier = append(r.next.Earlier, string(was))
	case r.lines == 1:
		r.bad = fmt.Errorf("%.80q: not what a transaction changed", line)
		return r.bad
	default:
		if err := r.End(); err != nil {
			return err
		}
		if r.next.Transaction, r.bad = ParseHeader(string(line)); r.bad != nil {
			return r.bad
		}
	}
	r.lines++
	return nil
}

// End hands over the last transaction.
func (r *Reader) End() (err error) {
	if r.lines > 0 {
		err = r.Each(r.next)
	}
	r.next, r.lines = Logged{}, 0
	return err
}

// Wrong reports whether an error says that a line does not belong in a log.
func (r *Reader) Wrong(err error) bool { return err != nil && err == r.bad }

// ParseHeader reads a T line whose checksum is known to be right.
func ParseHeader(line string) (Transaction, error) {
	fields := strings.SplitN(line, " ", 6)
	if len(fields) != 6 {
		return Transaction{}, fmt.Errorf("a T line with too few fields")
	}
	seq, err1 := strconv.ParseUint(fields[1], 10, 64)
	machine, err2 := time.Parse(Layout, fields[2])
	policy, err3 := time.Parse(Layout, fields[3])
	uid, err4 := strconv.Atoi(fields[4])
	texts, err5 := quotedtext.All(fields[5])
	for _, err := range []error{err1, err2, err3, err4, err5} {
		if err != nil {
			return Transaction{}, fmt.Errorf("a T line that does not parse: %w", err)
		}
	}
	if len(texts) < 3 {
		return Transaction{}, fmt.Errorf("a T line with too few fields")
	}
	return Transaction{seq, machine, policy, uid, texts[0], texts[1], texts[2], texts[3:]}, nil
}

// procs reads "cluster first-last", and returns how many these are.
func procs(line []byte) (cluster, n int) {
	id, rest, _ := strings.Cut(string(line[:min(len(line), 50)]), " ")
	span, _, _ := strings.Cut(rest, " ")
	from, to, _ := strings.Cut(span, "-")
	cluster, err1 := strconv.Atoi(id)
	first, err2 := strconv.Atoi(from)
	last, err3 := strconv.Atoi(to)
	if errors.Join(err1, err2, err3) != nil || last < first {
		return 0, 0
	}
	return cluster, last - first + 1
}

// Words says in a few words what a transaction with that body changed.
func Words(body []byte) string {
	lines, jobs := map[byte]int{}, map[byte]int{}
	first, last := 0, 0 // new clusters
	for line := range bytes.Lines(body) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		if len(line) < 3 {
			continue
		}
		lines[line[0]]++
		if !strings.ContainsRune("NLAD", rune(line[0])) {
			continue
		}
		cluster, n := procs(line[2:])
		jobs[line[0]] += n
		if line[0] == 'N' {
			if last = cluster; first == 0 {
				first = last
			}
		}
	}
	var words []string
	if jobs['N'] > 0 {
		words = append(words, clusters(first, last)+" of "+plural.Count(jobs['N'], "job"))
	}
	if jobs['N'] == 0 && jobs['L'] == 0 && lines['A']+lines['D'] > 0 {
		words = append(words, plural.Count(lines['A']+lines['D'], "change")+" of jobs")
	}
	if lines['S'] == 0 && lines['G']+lines['g'] > 0 {
		words = append(words, plural.Count(lines['G']+lines['g'], "change")+" of slots")
	}
	for _, w := range []struct {
		n    int
		what string
		how  string
	}{
		{jobs['L'], "job", " left the queue"}, {lines['K'], "claim", ""}, {lines['k'], "claim", " ended"},
		{lines['U'], "submitter", " charged or changed"}, {lines['u'], "submitter", " deleted"},
		{lines['S'], "slot", " advertised"}, {lines['s'], "slot", " withdrawn"}, {lines['B'], "slot", " left alone"},
		{lines['W'], "tally", ""}, {lines['w'], "tally", " deleted"}, {lines['M'], "mark", ""},
		{lines['F'], "factory", ""}, {lines['f'], "factory", " ended"}, {lines['h'], "file", " archived"},
	} {
		if w.n > 0 {
			words = append(words, plural.Count(w.n, w.what)+w.how)
		}
	}
	return strings.Join(words, ", ")
}

func clusters(first, last int) string {
	if first == last {
		return fmt.Sprintf("cluster %d", first)
	}
	return fmt.Sprintf("clusters %d to %d", first, last)
}
