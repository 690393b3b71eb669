package extracttext

import (
	"bytes"
	"slices"
	"strings"

	"fairspool/lib/classad"
	"fairspool/spool/internal/attrtext"
)

// SetLine sets the attribute of a line "Name = expression" of an ad. A name that is no word is quoted.
func SetLine(b *classad.Builder, line []byte) error {
	if len(line) == 0 || line[0] != '"' {
		return b.Line(line)
	}
	name, text, err := attrtext.Split(line)
	if err != nil {
		return err
	}
	return b.Set(name, text)
}

// AdOf returns the ad that lines make, nil if one of them cannot be read.
func AdOf(b *classad.Builder, lines []byte) *classad.Ad {
	b.Begin()
	for line := range bytes.Lines(lines) {
		if SetLine(b, line[:len(line)-1]) != nil {
			return nil
		}
	}
	return b.Finish()
}

// Judge asks a function about slots by extracts: once about those that share lines, if it looks up nothing else. It is for one goroutine.
type Judge struct {
	Buffer []byte // for an extract

	kinds       Kinds[kind]
	accepts     func(*classad.Ad) bool
	unread      *classad.Unread
	shared, own *classad.Builder
	others      map[string]*classad.Unread // by the names of other lines: what stands for these and for what was not read
}

// kind is what slots share. It is decided if nothing of their own counts.
type kind struct {
	ad                *classad.Ad
	decided, accepted bool
}

// NewJudge returns a Judge for extracts whose ads lack what unread stands for.
func NewJudge(accepts func(*classad.Ad) bool, unread *classad.Unread, interner *classad.Interner) *Judge {
	j := &Judge{accepts: accepts, unread: unread, shared: classad.NewBuilder(interner), own: classad.NewBuilder(interner), others: map[string]*classad.Unread{}}
	j.kinds.Make = j.kind
	return j
}

// kind asks about lines that slots share which have lines of their own for other names.
func (j *Judge) kind(names string, lines []byte) (k kind, ok bool) {
	if k.ad = AdOf(j.shared, lines); k.ad == nil {
		return k, false
	}
	u, known := j.others[names]
	if !known {
		u = unreadBut(j.unread, names)
		j.others[names] = u
	}
	if u != nil {
		k.accepted = j.accepts(k.ad.Clone().Chain(u.Ad()))
		missed, all := u.Missed()
		if k.decided = len(missed) == 0 && !all; !k.decided {
			delete(j.others, names)
		}
	}
	k.ad.Chain(j.unread.Ad())
	return k, true
}

// Read returns the names of the slots that are accepted of an extract, without those to pass over, and how many slots
// there are. It reports whether the lines are right, and returns nothing else if they are not.
func (j *Judge) Read(lines Lines, pass func(name []byte) bool) (accepted []string, slots int, ok bool) {
	ok = j.kinds.Read(lines, func(name []byte, of kind, _ uint64, own []byte) bool {
		if pass(name) {
			return true
		}
		if !of.decided {
			ad := AdOf(j.own, own)
			if ad == nil {
				return false
			}
			of.accepted = j.accepts(ad.Chain(of.ad))
		}
		if slots++; of.accepted {
			accepted = append(accepted, string(name))
		}
		return true
	})
	if !ok {
		return nil, 0, false
	}
	return accepted, slots, true
}

// unreadBut returns what stands for the attributes that another stands for, and for others, a name a line; nil if one
// of these is always read.
func unreadBut(u *classad.Unread, others string) *classad.Unread {
	names, begin := u.Read()
	lines := strings.Split(strings.TrimSuffix(others, "\n"), "\n")
	among := func(name string) bool {
		return slices.ContainsFunc(lines, func(line string) bool { return strings.EqualFold(line, name) })
	}
	but := classad.NewUnread(slices.DeleteFunc(names, among), begin)
	left, _ := but.Read()
	if slices.ContainsFunc(left, among) || slices.ContainsFunc(lines, func(line string) bool {
		return strings.HasPrefix(line, `"`) || begin != "" && strings.HasPrefix(strings.ToLower(line), begin)
	}) {
		return nil
	}
	return but
}
