package spool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// adReader reads the ads of a dump.
type adReader struct {
	in     *lineReader
	ad     lines
	line   int    // where the ad begins
	ads    int    // this one too
	before uint32 // the checksum of all before the ad
}

var errNotWhole = errors.New("the dump ends in the middle of an ad: it is not whole")

// notWhole is what an end means where something is missing.
func notWhole(err error) error {
	if errors.Is(err, io.EOF) {
		return errNotWhole
	}
	return err
}

// next reads an ad; io.EOF at the end.
func (r *adReader) next() error {
	r.ad.clear()
	r.line, r.before = r.in.n+1, r.in.sum
	for {
		line, err := r.in.next()
		switch {
		case err != nil && len(r.ad.ends) == 0:
			return err
		case err != nil:
			return notWhole(err)
		case r.in.torn:
			return errNotWhole
		case len(line) == 0 && len(r.ad.ends) == 0:
			return errors.New("an ad is missing here")
		case len(line) == 0:
			r.ads++
			return nil
		case len(r.ad.all)+len(line) > dumpedAd:
			return fmt.Errorf("an ad of more than %d bytes", dumpedAd)
		}
		r.ad.add(line)
	}
}

// words are the lines of an ad of ours, which are read one after the other.
type words struct {
	lines [][]byte
	err   error // the first
}

// value returns the text behind a name, which the next line must begin with.
func (w *words) value(name string) []byte {
	if w.err != nil {
		return nil
	}
	if len(w.lines) > 0 {
		line := w.lines[0]
		if rest, ok := bytes.CutPrefix(line, []byte(name)); ok {
			if rest, ok = bytes.CutPrefix(rest, []byte(" = ")); ok {
				w.lines = w.lines[1:]
				return rest
			}
		}
		w.err = fmt.Errorf("%s is expected, and here is %.80q", name, line)
		return nil
	}
	w.err = fmt.Errorf("%s is missing", name)
	return nil
}

// next reports whether the next line is that of a name.
func (w *words) next(name string) bool {
	return w.err == nil && len(w.lines) > 0 && bytes.HasPrefix(w.lines[0], []byte(name+" = "))
}

func (w *words) fail(name string, err error) {
	if w.err == nil && err != nil {
		w.err = fmt.Errorf("%s: %w", name, err)
	}
}

func (w *words) text(name string) string {
	b := w.value(name)
	if w.err != nil {
		return ""
	}
	s, rest, err := parseText(b)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%.80q: more than a text", b)
	}
	w.fail(name, err)
	return s
}

func (w *words) texts(name string) []string {
	b := w.value(name)
	if w.err != nil {
		return nil
	}
	list, err := parseTexts(b)
	w.fail(name, err)
	return list
}

// number reads an integer that lies between two.
func (w *words) number(name string, least, most int64) int64 {
	b := w.value(name)
	if w.err != nil {
		return least
	}
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err == nil && (n < least || n > most) {
		err = fmt.Errorf("%d: not between %d and %d", n, least, most)
	}
	w.fail(name, err)
	if err != nil {
		return least
	}
	return n
}

// rest returns the lines that were not read.
func (w *words) rest() [][]byte { return w.lines }

// end reports the first error, or what is too much.
func (w *words) end() error {
	if w.err == nil && len(w.lines) > 0 {
		w.err = fmt.Errorf("%.80q: not expected here", w.lines[0])
	}
	return w.err
}
