package spool

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"unsafe"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool/internal/attrtext"
	"fairspool/spool/internal/quotedtext"
)

// A record is one line of a transaction's body: one thing that changed. The first byte tells which:
//
//	C 12 Cmd = "/bin/sleep"        an attribute of cluster 12's common ad
//	N 12 0-999                     procs 0 to 999 are new in cluster 12
//	Y 12 4711 "alice"              alice is charged 4711 bytes more for cluster 12
//	A 12 3-5 JobPrio = 5           an attribute of procs 3 to 5
//	D 12 3-5 JobPrio               procs 3 to 5 lose it
//	L 12 3-5                       procs 3 to 5 leave the queue
//	K [ Job = "12.3"; ... ]        a claim, whole
//	U [ Name = "..."; ... ]        a submitter's record, whole
//	S "slot1@host"                 a slot with an empty ad
//	G "slot1@host" Cpus = 8        an attribute of a slot's ad
//	g "slot1@host" Cpus            the slot's ad loses it
//	s "slot1@host"                 the slot is withdrawn
//	B [ Slot = "..."; ... ]        a slot left alone
//	W [ Kind = "user"; ... ]       a tally, whole
//	M [ Name = "clock"; ... ]      a mark
//	F [ Cluster = 12; ... ]        a factory, whole
//	O [ Name = "alice"; ... ]      what an owner has in the queue, whole
//	X [ Cluster = 12; ... ]        how the jobs of a watched cluster end, whole
//	R [ Job = "12.0"; ... ]        a slot reserved for a wide job, whole
//	Q [ Jobs = "12.3-9"; ... ]     what a claim may go on with, whole
//	P [ Submitter = "..."; ... ]   what a submitter may have while others wait, whole
//	J [ Queues = "one"; ... ]      what holds of all Q, whole
//	I [ ID = 7; ... ]              a pilot, whole
//	Z [ Cluster = 12; ... ]        what the jobs of a cluster read, whole
//	V [ Name = "..."; ... ]        what a submitter used of other pools' slots, whole
//	k "12.3"                       the claim of this key is gone; so for each kind of row, by
//	                               the small letter: u, b, w, m, f, o, x, r, q, p, j, i, z, v
//	H 2026-11 4711 5407c828        history/2026-11.ads ends at byte 4711, and
//	                               its CRC-32C up to there
//	h history/2026-11.ads          the file is archived: nothing of it counts any more
//
// In a segment the numbers of the transactions that last changed something are not those of the lines' own transaction, and stand behind: N
// 12 0-999 42 and S "slot1@host" 42; a claim in its table has its number as Seq.
//
// Expressions are written in one line with the escapes of new-form ads and with reals that read back exactly.
type record struct {
	Kind       byte
	pool.Procs // of C and Y the cluster alone
	Slot       string
	Name       string
	Expr       *classad.Expr
	Row, Key   any   // of the kinds of the schema: the row, or the key of one that is gone
	End        int64 // H; of Y, bytes
	CRC        uint32
	Seq        uint64 // in a segment or table; 0 in the journal
}

// append writes the record as a line.
func (r record) append(b []byte) []byte {
	b = append(b, r.Kind, ' ')
	switch r.Kind {
	case 'C':
		b = strconv.AppendInt(b, int64(r.Cluster), 10)
		b = attrtext.Append(b, r.Name, r.Expr)
	case 'N', 'L':
		b = r.appendSeq(r.appendProcs(b))
	case 'A':
		b = attrtext.Append(r.appendProcs(b), r.Name, r.Expr)
	case 'D':
		b = attrtext.AppendName(append(r.appendProcs(b), ' '), r.Name)
	case 'Y':
		b = r.appendCharge(b)
	case 'G':
		b = attrtext.Append(strconv.AppendQuote(b, r.Slot), r.Name, r.Expr)
	case 'g':
		b = attrtext.AppendName(append(strconv.AppendQuote(b, r.Slot), ' '), r.Name)
	case 'S', 's':
		b = r.appendSeq(strconv.AppendQuote(b, r.Slot))
	case 'H':
		b = fmt.Appendf(b, "%s %d %08x", r.Name, r.End, r.CRC)
	case 'h':
		b = append(b, r.Name...)
	default:
		b = schema[kindOf(r.Kind)].append(b, r)
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

func (r record) appendSeq(b []byte) []byte {
	if r.Seq == 0 {
		return b
	}
	return strconv.AppendUint(append(b, ' '), r.Seq, 10)
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
	case 'N':
		if rest, err = r.procs(rest); err == nil {
			r.Seq, err = sequence(rest, 0)
		}
	case 'L':
		_, err = r.procs(rest)
	case 'A':
		if rest, err = r.procs(rest); err == nil {
			err = r.attribute(rest, expressions)
		}
	case 'D':
		if rest, err = r.procs(rest); err == nil {
			err = r.name(rest)
		}
	case 'G':
		if rest, err = r.slot(rest); err == nil {
			err = r.attribute(rest, expressions)
		}
	case 'g':
		if rest, err = r.slot(rest); err == nil {
			err = r.name(rest)
		}
	case 'S':
		if rest, err = r.slot(rest); err == nil {
			r.Seq, err = sequence(rest, 0)
		}
	case 's':
		_, err = r.slot(rest)
	case 'Y':
		err = r.parseCharge(rest)
	case 'H':
		months := map[string]stretch{}
		err = parseStretch(months, string(rest))
		for r.Name = range months {
			r.End, r.CRC = months[r.Name].end, months[r.Name].crc
		}
	case 'h':
		r.Name = string(rest)
	default:
		i := kindOf(r.Kind)
		if i < 0 {
			return r, fmt.Errorf("record of unknown kind %q", r.Kind)
		}
		row := record{Kind: r.Kind} // on the heap, where the records of jobs and slots need not be
		err = schema[i].parseRecord(&row, string(rest))
		return row, err
	}
	return r, err
}

// check reads the last line of the body, which begins at start, once more, and returns its expression, one for all equal ones: what could
// not be read again would damage the spool for good.
func (tx *Tx) check(start int) *classad.Expr {
	line, err, r := tx.body[start:len(tx.body)-1], error(nil), record{}
	if i := kindOf(line[0]); i >= 0 {
		err = schema[i].check(line[0], unsafe.String(&line[2], len(line)-2)) // which is not kept
	} else {
		r, err = parseRecord(line, tx.expressions)
	}
	if err != nil {
		tx.fail(fmt.Errorf("a record that does not read back: %w", err))
	}
	return r.Expr
}

// sequence reads the number of a transaction; without one it is instead.
func sequence(b []byte, instead uint64) (uint64, error) {
	if len(b) == 0 {
		return instead, nil
	}
	return strconv.ParseUint(string(b), 10, 64)
}

// slot reads a slot's quoted name and returns what follows the blank behind.
func (r *record) slot(b []byte) (rest []byte, err error) {
	name, rest, err := quotedtext.Word(b)
	if err == nil {
		r.Slot, err = strconv.Unquote(string(name))
	}
	return rest, err
}

// attribute reads "Name = expression".
func (r *record) attribute(b []byte, expressions *classad.Interner) error {
	name, text, err := attrtext.Split(b)
	if err == nil {
		r.Name = name
		r.Expr, err = expressions.ExprBytes(text)
	}
	return err
}

// name reads an attribute's name and nothing else.
func (r *record) name(b []byte) error {
	name, rest, err := attrtext.ParseName(b)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%q: not a name", b)
	}
	r.Name = name
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
	if r.Last > math.MaxInt32 || r.Cluster > math.MaxInt32 {
		return nil, fmt.Errorf("procs %d-%d of cluster %d: larger than %d", r.First, r.Last, r.Cluster, math.MaxInt32)
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
