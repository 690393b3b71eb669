package spool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Logged is one transaction of the audit trail. The log keeps it when its lines
// are folded away.
type Logged struct {
	Transaction
	What string // what it changed, in a few words
}

// append writes the two lines of the log.
func (l Logged) append(b []byte) []byte {
	return fmt.Appendf(l.Transaction.append(b), "= %s\n", l.What)
}

// writeLog adds the transactions that are folded to the log, by months of the
// machine's clock, and returns how much of it counts then.
func (f *fold) writeLog() (map[string]stretch, error) {
	months := f.state.log
	texts := map[string][]byte{}
	for _, l := range f.headers {
		month := monthOf(l.Machine)
		texts[month] = l.append(texts[month])
	}
	for _, month := range slices.Sorted(maps.Keys(texts)) {
		after, err := f.spool.addLog(month, months[month], texts[month])
		if err != nil {
			return nil, err
		}
		months[month] = after
	}
	return months, nil
}

// addLog appends to a month's log, durably. A log that does not check is left as it
// is.
func (s *Spool) addLog(name string, known stretch, text []byte) (stretch, error) {
	m, err := s.openMonth(logFile(name), name, known, sums, func() error { return nil })
	if err != nil {
		return known, err
	}
	defer m.file.Close()
	m.put(text)
	err = m.keep(s, "log")
	return stretch{m.end, m.crc}, err
}

// logFile returns the name of a month's log in the spool.
func logFile(month string) string { return "log/" + month }

// sums returns an error unless a file has the recorded checksum.
func sums(path string, f file, known stretch) error {
	sum, err := sumTo(f, known.end)
	if err == nil && sum != known.crc {
		err = otherSum(path, sum, known)
	}
	return err
}

// otherSum says that a file that is only appended to has another checksum than was recorded.
func otherSum(path string, sum uint32, known stretch) error {
	return &DamageError{path, 1, fmt.Sprintf("its checksum is %08x, recorded is %08x", sum, known.crc)}
}

// Log goes through all transactions there are traces of, the oldest first: those
// that were folded away, and those of the journal. Archived months are passed over.
func (s *Spool) Log(each func(Logged) error) error {
	var base pinned
	var journal []Logged
	if err := twice(func() (err error) {
		base, journal, err = s.journalLog()
		return err
	}); err != nil {
		return err
	}
	defer base.release()
	for _, name := range slices.Sorted(maps.Keys(base.log)) {
		text, err := s.logMonth(name, base.log[name])
		if err == nil {
			err = eachLogged(s.path(logFile(name)), text, each)
		}
		if err != nil {
			return err
		}
	}
	for _, l := range journal {
		if err := each(l); err != nil {
			return err
		}
	}
	return nil
}

// journalLog pins the generation in force and returns the transactions of its
// journal. Months that these have archived are removed from its log.
func (s *Spool) journalLog() (pinned, []Logged, error) {
	base, current, err := s.pinCurrent()
	if err != nil {
		return base, nil, err
	}
	var list []Logged
	p := base.start()
	if err := s.advance(&p, current, func(f frame, line int) error {
		l, err := f.logged()
		if err != nil {
			return &DamageError{s.journal(p.generation), line, err.Error()}
		}
		list = append(list, l)
		for _, line := range (chunk{text: f.Body}).lines() {
			if month, ok := bytes.CutPrefix(line, []byte("h log/")); ok {
				delete(base.log, string(month))
			}
		}
		return nil
	}); err != nil {
		base.release()
		return pinned{}, nil, err
	}
	return base, list, nil
}

// logMonth returns the text of a month of the log, none if others have archived the
// month by now.
func (s *Spool) logMonth(name string, known stretch) ([]byte, error) {
	text, err := s.logText(name, known)
	if isDamage(err) {
		if now, ok := s.recordedNow(); ok && now.log[name].end < known.end {
			return nil, nil
		}
	}
	return text, err
}

func (s *Spool) logText(name string, known stretch) ([]byte, error) {
	if known.end == 0 {
		return nil, nil
	}
	path := s.path(logFile(name))
	f, err := s.openRecorded(path, known)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, known.end)
	if _, err := f.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if sum := checksum(b); sum != known.crc {
		return nil, otherSum(path, sum, known)
	}
	return b, nil
}

// eachLogged goes through the transactions of a month's log.
func eachLogged(path string, text []byte, each func(Logged) error) error {
	for n := 1; len(text) > 0; n += 2 {
		line, rest, _ := bytes.Cut(text, newline)
		what, rest, _ := bytes.Cut(rest, newline)
		h, err := parseHeader(string(line))
		if err != nil {
			return &DamageError{path, n, err.Error()}
		}
		if err := each(Logged{h, strings.TrimPrefix(string(what), "= ")}); err != nil {
			return err
		}
		text = rest
	}
	return nil
}
