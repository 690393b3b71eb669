package spool

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/lifecycle"
	"fairspool/spool"
)

// showLog tells of all transactions, or of some of them, while it reads.
func showLog(c *cmdline.Call, args []string) error {
	if err := noMore("log", args); err != nil {
		return err
	}
	chosen, err := choiceOf(c)
	if err != nil {
		return err
	}
	s, err := c.ExistingSpool()
	if err != nil {
		return err
	}
	out := writer{to: c.Stdout}
	if c.Has("json") {
		out.json = cmdline.NewStream(c.Data(), "Transactions")
	}
	if err := s.Log(chosen.last(out.write)); err != nil {
		return err
	}
	for _, l := range chosen.kept() {
		if err := out.write(l); err != nil {
			return err
		}
	}
	return out.end()
}

// choice says which transactions are wanted.
type choice struct {
	since time.Time // by the machine's clock
	who   string    // name or uid, empty for everybody
	most  int       // the last so many; 0 for all

	ring []spool.Logged
	next int // the oldest of the ring, once it is full
}

// maxLast is how many -n takes: they are kept in memory.
const maxLast = 1000000

func choiceOf(c *cmdline.Call) (*choice, error) {
	chosen := &choice{who: c.Value("who")}
	var err error
	if c.Has("since") {
		if chosen.since, err = cmdline.ParseSince(c.Value("since"), time.Now()); err != nil {
			return nil, cmdline.Usagef("-since: %v", err)
		}
	}
	if c.Has("who") && chosen.who == "" {
		return nil, cmdline.Usagef("-who: want the name or the uid of a user")
	}
	if c.Has("n") {
		n, err := strconv.Atoi(c.Value("n"))
		if err != nil || n < 1 || n > maxLast {
			return nil, cmdline.Usagef("-n %s: want a whole number from 1 to %d", c.Value("n"), maxLast)
		}
		chosen.most = n
	}
	return chosen, nil
}

func (o *choice) wants(l spool.Logged) bool {
	return !l.Machine.Before(o.since) && (o.who == "" || o.who == l.User || o.who == strconv.Itoa(l.UID))
}

// last hands each transaction that is wanted to write; where the last ones
// only are wanted, it keeps them instead.
func (o *choice) last(write func(spool.Logged) error) func(spool.Logged) error {
	return func(l spool.Logged) error {
		switch {
		case !o.wants(l):
			return nil
		case o.most == 0:
			return write(l)
		case len(o.ring) < o.most:
			o.ring = append(o.ring, l)
		default:
			o.ring[o.next] = l
			o.next = (o.next + 1) % o.most
		}
		return nil
	}
}

// kept returns what last has kept, the oldest first.
func (o *choice) kept() []spool.Logged {
	return append(o.ring[o.next:len(o.ring):len(o.ring)], o.ring[:o.next]...)
}

// writer writes transactions one at a time: a line each, or a list of JSON
// objects.
type writer struct {
	to   io.Writer
	json *cmdline.Stream // nil: lines
}

func (w *writer) write(l spool.Logged) error {
	if w.json != nil {
		return w.json.Add(loggedOf(l))
	}
	_, err := fmt.Fprintln(w.to, line(l))
	return err
}

func (w *writer) end() error {
	if w.json == nil {
		return nil
	}
	return w.json.End()
}

// shownTime is how times are shown: in the local time zone.
const shownTime = "2006-01-02 15:04:05"

// played is how far policy time may be from the machine's without being told:
// it is taken when a command begins, and a transaction may wait for others.
const played = 2 * time.Minute

// machines begins those arguments of an operation that are for programs, such as the data
// for undoing it: they may be megabytes.
const machines = "--"

// line words a transaction, with the arguments that are for people.
func line(l spool.Logged) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%7d  %s  %-8s  %-9s  %s", l.Seq, l.Machine.Local().Format(shownTime), word(l.User), word(l.Program), done(l))
	if d, ok := lifecycle.RenamingOf(l.Transaction); ok {
		b.WriteString(": submitters end in @" + d.To + " from here on")
	} else if l.What != "" {
		b.WriteString(": " + l.What)
	}
	if l.Policy.Sub(l.Machine).Abs() >= played {
		b.WriteString(" (as of " + l.Policy.Local().Format(shownTime) + ")")
	}
	return b.String()
}

// done words a transaction: the operation and its arguments. If a transaction has several
// operations, such as "finish, start", each has the argument in its place.
func done(l spool.Logged) string {
	args := l.Args
	if n := slices.Index(args, machines); n >= 0 {
		args = args[:n]
	}
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = word(a)
	}
	each := strings.Split(l.Op, ", ")
	if len(each) == 1 || len(each) != len(words) {
		return strings.Join(append([]string{l.Op}, words...), " ")
	}
	for i, op := range each {
		each[i] = op + " " + words[i]
	}
	return strings.Join(each, ", ")
}

// word returns a text as one word: in quotes unless it is plain.
func word(s string) string {
	plain := func(r rune) bool {
		return r > ' ' && r < 0x7f && r != '"' && r != '\\'
	}
	if s == "" || strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return strconv.Quote(s)
	}
	return s
}

// logged is a transaction as JSON shows it.
type logged struct {
	Number           uint64
	Time, PolicyTime time.Time // UTC
	UID              int       `json:"Uid"`
	User             string
	Program          string
	Operation        string
	Arguments        []string
	Changed          string
}

func loggedOf(l spool.Logged) logged {
	return logged{l.Seq, l.Machine.UTC(), l.Policy.UTC(), l.UID, l.User, l.Program, l.Op, append([]string{}, l.Args...), l.What}
}
