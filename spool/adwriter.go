package spool

import (
	"fmt"
	"hash/crc32"
	"io"
	"strconv"

	"fairspool/lib/classad"
)

// adWriter writes the ads of a dump.
type adWriter struct {
	to   io.Writer
	b    []byte // not written yet
	from int    // where in b the ad begins
	sum  uint32 // of what was written, up to the ad
	ads  int
	odd  int // attributes of the ad
}

// dumpBuffer is how much of a dump is written or read at a time.
const dumpBuffer = 1 << 20

// begin begins an ad of ours.
func (w *adWriter) begin(kind string) { w.text("MyType", kind) }

func (w *adWriter) text(name, s string) {
	w.b = append(appendText(append(append(w.b, name...), " = "...), s), '\n')
}

func (w *adWriter) texts(name string, list []string) {
	w.b = append(appendTexts(append(append(w.b, name...), " = "...), list), '\n')
}

func (w *adWriter) number(name string, n int64) {
	w.b = append(strconv.AppendInt(append(append(w.b, name...), " = "...), n, 10), '\n')
}

// attribute writes a line "Name = expression" of the journal.
func (w *adWriter) attribute(line []byte) {
	b, ok := appendDumped(w.b, line)
	if !ok {
		w.odd++
		b = appendText(fmt.Appendf(b, "Odd%d = ", w.odd), string(line))
	}
	w.b = append(b, '\n')
}

// end ends an ad.
func (w *adWriter) end() error {
	w.b = append(w.b, '\n')
	if n := len(w.b) - w.from; n > dumpedAd {
		return fmt.Errorf("an ad of %d bytes: a dump holds ads of up to %d", n, dumpedAd)
	}
	w.sum = crc32.Update(w.sum, castagnoli, w.b[w.from:])
	w.from, w.odd = len(w.b), 0
	w.ads++
	if len(w.b) < dumpBuffer {
		return nil
	}
	return w.flush()
}

func (w *adWriter) flush() error {
	_, err := w.to.Write(w.b)
	w.b, w.from = w.b[:0], 0
	if err != nil {
		return &unwritten{err}
	}
	return nil
}

// unwritten is an error of what a dump is written to, which says nothing about
// the spool.
type unwritten struct{ error }

func (u *unwritten) Unwrap() error { return u.error }

// attributes ends a heading and writes the ad that it is the heading of.
func (w *adWriter) attributes(lines [][]byte) error {
	w.number("Attributes", int64(len(lines)))
	if err := w.end(); err != nil || len(lines) == 0 {
		return err
	}
	for _, line := range lines {
		w.attribute(line)
	}
	return w.end()
}

// row writes a row of a small table, whose attributes are all ours.
func (w *adWriter) row(kind string, ad *classad.Ad) error {
	w.begin(kind)
	for _, name := range ad.OwnNames() {
		e, _ := ad.Lookup(name)
		w.attribute(appendAttribute(nil, name, e)[1:])
	}
	return w.end()
}
