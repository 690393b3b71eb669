package spool

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/plural"
)

// replay takes the transactions of the journal, or when it is not certain which
// one is in force, of all there are.
func (v *salvage) replay() {
	v.state = newState(v.s, pinned{generation: v.g})
	current, err := v.current()
	if err == nil && current.Generation == v.g.number {
		v.replayOne(current, true)
		return
	}
	if err != nil {
		current = ack{Generation: v.g.number}
		if f, err := v.s.files.Open(v.s.path("lock"), readOnly, 0); err == nil {
			if a, state, err := v.s.readAck(f); err == nil && state == ackGood {
				current.Generation = a.Generation
			}
			f.Close()
		}
	}
	list := v.numbers("journal.")
	if !slices.Contains(list, current.Generation) {
		list = append(list, current.Generation) // to say that it is missing
	}
	for _, n := range list {
		if n == current.Generation {
			v.replayOne(current, true)
		} else {
			v.replayOne(ack{Generation: n}, false)
		}
	}
}

// replayOne takes the transactions of a journal that follow those already
// taken. It has to be there, if it is the one in force.
func (v *salvage) replayOne(current ack, inForce bool) {
	path := v.s.journal(current.Generation)
	b, err := contents(v.s.files, path)
	if err != nil {
		if inForce {
			v.failed(path, err, "all since the last fold is lost")
		}
		return
	}
	line, taken := 1, 0
	for len(b) > 0 {
		at, f := nextFrame(b)
		if f.Size == 0 {
			break
		}
		if !v.started {
			v.started, v.seq = true, f.Seq-1
		}
		if at > 0 || f.Seq != v.seq+1 {
			v.between(path, line, b, at, f.Seq)
		}
		line += bytes.Count(b[:at], newline)
		if f.Seq > v.seq {
			v.takeFrame(path, line, f)
			taken++
		}
		line += bytes.Count(b[at:at+f.Size], newline)
		b = b[at+f.Size:]
	}
	if inForce {
		v.tail(path, line, b, current)
	}
	v.telling(path, "%s taken", plural.Pick(taken, "1 transaction is", "%d transactions are"))
}

// between reports what does not check before a transaction that does, which
// stands at at.
func (v *salvage) between(path string, line int, b []byte, at int, seq uint64) {
	_, why := parseFrame(b, v.seq+1)
	switch {
	case seq > v.seq+1:
		v.lostOnes(path, line, v.seq+1, seq-1, why)
	case at > 0:
		v.losing(path, line, "%d bytes are no transaction and are left out", at)
	case seq > v.g.base.Seq && path == v.s.journal(v.g.number):
		v.losing(path, line, "transaction %d stands here once more", seq)
	}
}

// lostOnes reports transactions that do not check; why speaks of the first.
func (v *salvage) lostOnes(path string, line int, first, last uint64, why error) {
	if first < last {
		v.losing(path, line, "transactions %d to %d are lost: %v", first, last, why)
		return
	}
	text := strings.TrimPrefix(why.Error(), fmt.Sprintf("transaction %d: ", first))
	if text == fmt.Sprintf("no transaction %d here", first) {
		text = "it does not stand here"
	}
	v.losing(path, line, "transaction %d is lost: %s", first, text)
}

func (v *salvage) takeFrame(path string, line int, f frame) {
	v.seq, v.next = f.Seq, max(v.next, f.Next)
	l, err := f.logged()
	v.failed(path, err, fmt.Sprintf("the log lacks transaction %d", f.Seq))
	if err == nil {
		v.journal = append(v.journal, l)
	}
	err = v.state.take(f.Body, f.Seq, path, line+1)
	v.failed(path, err, fmt.Sprintf("the rest of transaction %d is lost", f.Seq))
}

// tail judges what stands behind the last transaction of the journal in force.
func (v *salvage) tail(path string, line int, b []byte, current ack) {
	known, sure, err := v.s.acknowledged(current)
	if err != nil {
		sure = false
	}
	last := v.seq
	v.seq, v.next = max(v.seq, known.Seq), max(v.next, known.Next)
	switch {
	case !v.started && known.End > 0:
		v.losing(path, line, "its transactions, up to number %d, are lost", known.Seq)
	case v.started && known.Seq > last:
		_, why := parseFrame(b, last+1)
		v.lostOnes(path, line, last+1, known.Seq, why)
	case len(b) > 0 && sure:
		v.telling(path, "%d bytes of a transaction that was never completed are left out", len(b))
	case len(b) > 0:
		v.losing(path, line, "%d bytes are no transaction and are left out; the lock file, which would say whether they ever counted, does not check either", len(b))
	}
}

// nextFrame finds the first whole transaction in b, and where it begins; its
// size is 0 when there is none.
func nextFrame(b []byte) (at int, f frame) {
	for at < len(b) {
		if rest, ok := bytes.CutPrefix(b[at:], []byte("T ")); ok {
			digits, _, _ := bytes.Cut(rest[:min(len(rest), 24)], []byte(" "))
			if seq, err := strconv.ParseUint(string(digits), 10, 64); err == nil {
				if f, err := parseFrame(b[at:], seq); err == nil {
					return at, f
				}
			}
		}
		i := bytes.IndexByte(b[at:], '\n')
		if i < 0 {
			break
		}
		at += i + 1
	}
	return len(b), frame{}
}
