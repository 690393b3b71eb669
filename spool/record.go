package spool

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// A record is one line of a transaction's body: one thing that changed. The
// first byte tells which:
//
//	C 12 Cmd = "/bin/sleep"        an attribute of cluster 12's common ad
//	N 12 0-999                     procs 0 to 999 are new in cluster 12
//	A 12 3-5 JobPrio = 5           an attribute of procs 3 to 5
//	D 12 3-5 JobPrio               procs 3 to 5 lose it
//	L 12 3-5                       procs 3 to 5 leave the queue
//	K [ Job = "12.3"; ... ]        a claim, whole
//	k 12.3                         it is gone
//	U [ Name = "..."; ... ]        a submitter's record, whole
//	u "alice@example.org"          it is gone
//	S "slot1@host" [ ... ]         a slot's ad, whole
//	s "slot1@host"                 it is withdrawn
//	B [ Slot = "..."; ... ]        a slot left alone
//	b "slot1@host"                 no longer
//	H 2026-11 4711                 history/2026-11.ads ends at byte 4711
//
// Expressions are written in one line with the escapes of new-form ads and
// with reals that read back exactly.
type record struct {
	Kind        byte
	Cluster     int
	First, Last int // procs
	Name        string
	Expr        *classad.Expr
	Ad          *classad.Ad
	Claim       pool.Claim
	Submitter   accountant.Record
	Backoff     pool.Backoff
	End         int64
}

// append writes the record as a line.
func (r record) append(b []byte) []byte {
	b = append(b, r.Kind, ' ')
	switch r.Kind {
	case 'C':
		b = strconv.AppendInt(b, int64(r.Cluster), 10)
		b = appendAttribute(b, r.Name, r.Expr)
	case 'N', 'L':
		b = r.appendProcs(b)
	case 'A':
		b = appendAttribute(r.appendProcs(b), r.Name, r.Expr)
	case 'D':
		b = append(append(r.appendProcs(b), ' '), r.Name...)
	case 'K':
		b = append(b, claimAd(r.Claim).Format(classad.Spool)...)
	case 'k':
		b = append(b, r.Claim.Job.String()...)
	case 'U':
		b = append(b, submitterAd(r.Submitter).Format(classad.Spool)...)
	case 'B':
		b = append(b, backoffAd(r.Backoff).Format(classad.Spool)...)
	case 'S':
		b = append(append(strconv.AppendQuote(b, r.Name), ' '), r.Ad.Format(classad.Spool)...)
	case 'u', 's', 'b':
		b = strconv.AppendQuote(b, r.Name)
	case 'H':
		b = fmt.Appendf(b, "%s %d", r.Name, r.End)
	}
	return append(b, '\n')
}

func (r record) appendProcs(b []byte) []byte {
	b = strconv.AppendInt(b, int64(r.Cluster), 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(r.First), 10)
	b = append(b, '-')
	return strconv.AppendInt(b, int64(r.Last), 10)
}

func appendAttribute(b []byte, name string, e *classad.Expr) []byte {
	b = append(append(append(b, ' '), name...), " = "...)
	return e.AppendTo(b, classad.Spool)
}

// parseRecord reads a line without its newline.
func parseRecord(line []byte, expressions *classad.Interner) (r record, err error) {
	if len(line) < 3 || line[1] != ' ' {
		return r, fmt.Errorf("%q: not a record", line)
	}
	r.Kind = line[0]
	rest := line[2:]
	switch r.Kind {
	case 'C':
		if r.Cluster, rest, err = number(rest, ' '); err == nil {
			err = r.attribute(rest, expressions)
		}
	case 'N', 'L':
		_, err = r.procs(rest)
	case 'A':
		if rest, err = r.procs(rest); err == nil {
			err = r.attribute(rest, expressions)
		}
	case 'D':
		rest, err = r.procs(rest)
		r.Name = string(rest)
	case 'k':
		r.Claim.Job, err = pool.ParseJobID(string(rest))
	case 'u', 's', 'b':
		r.Name, err = strconv.Unquote(string(rest))
	case 'H':
		name, end, _ := strings.Cut(string(rest), " ")
		r.Name = name
		r.End, err = strconv.ParseInt(end, 10, 64)
	default:
		err = r.row(string(rest))
	}
	return r, err
}

// row reads the kinds that are whole ads.
func (r *record) row(text string) (err error) {
	if r.Kind == 'S' {
		name, err := strconv.QuotedPrefix(text)
		if err != nil {
			return err
		}
		if r.Name, err = strconv.Unquote(name); err != nil {
			return err
		}
		text = text[len(name):]
	}
	if r.Ad, err = classad.ParseAd(text); err != nil {
		return err
	}
	switch r.Kind {
	case 'K':
		r.Claim, err = claimOf(r.Ad)
	case 'U':
		r.Submitter, err = submitterOf(r.Ad)
	case 'B':
		r.Backoff, err = backoffOf(r.Ad)
	case 'S':
	default:
		err = fmt.Errorf("record of unknown kind %q", r.Kind)
	}
	return err
}

// attribute reads "Name = expression".
func (r *record) attribute(b []byte, expressions *classad.Interner) (err error) {
	name, text, ok := bytes.Cut(b, []byte(" = "))
	if !ok {
		return fmt.Errorf("%q: not an attribute", b)
	}
	r.Name = string(name)
	r.Expr, err = expressions.Expr(string(text))
	return err
}

// procs reads "cluster first-last" and returns what follows the blank behind.
func (r *record) procs(b []byte) (rest []byte, err error) {
	if r.Cluster, b, err = number(b, ' '); err != nil {
		return nil, err
	}
	if r.First, b, err = number(b, '-'); err != nil {
		return nil, err
	}
	if r.Last, b, err = number(b, ' '); err != nil {
		return nil, err
	}
	if r.Last < r.First {
		return nil, fmt.Errorf("procs %d-%d: the wrong way round", r.First, r.Last)
	}
	return b, nil
}

// number reads a whole number up to the separator or the end.
func number(b []byte, separator byte) (n int, rest []byte, err error) {
	digits, rest, _ := bytes.Cut(b, []byte{separator})
	n, err = strconv.Atoi(string(digits))
	if err == nil && n < 0 {
		err = fmt.Errorf("%d: below zero", n)
	}
	return n, rest, err
}
