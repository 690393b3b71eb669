package spool

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
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
	months := maps.Clone(f.state.base.log)
	texts := map[string][]byte{}
	for _, l := range f.headers {
		month := monthOf(l.Machine)
		texts[month] = l.append(texts[month])
	}
	for _, month := range slices.Sorted(maps.Keys(texts)) {
		after, err := f.spool.addLog(month, months[month], texts[month])
		if err != nil {
			return nil, fmt.Errorf("log: %w", err)
		}
		months[month] = after
	}
	return months, nil
}

// addLog appends to a month's log, durably.
func (s *Spool) addLog(name string, known stretch, text []byte) (stretch, error) {
	file, err := s.files.Open(s.path("log/"+name), readWrite|create, 0o600)
	if err != nil {
		return known, err
	}
	defer file.Close()
	m := &month{name: name, file: file, recorded: known.end, buffer: text}
	if err := m.open(known.crc, func() error { return nil }); err != nil {
		return known, err
	}
	err = m.keep(s, "log")
	return stretch{m.end, m.crc}, err
}

// Log goes through all transactions there are traces of, the oldest first: those
// that were folded away, and those of the journal. Months of the log that were
// moved away are passed over.
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
		if err := s.logMonth(name, base.log[name], each); err != nil {
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
// journal.
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
		return nil
	}); err != nil {
		base.release()
		return pinned{}, nil, err
	}
	return base, list, nil
}

// logMonth goes through a month of the log.
func (s *Spool) logMonth(name string, known stretch, each func(Logged) error) error {
	path := s.path("log/" + name)
	b, err := contents(s.files, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if int64(len(b)) >= known.end {
		if b = b[:known.end]; checksum(b) != known.crc {
			return &DamageError{path, 1, fmt.Sprintf("its checksum is %08x, recorded is %08x", checksum(b), known.crc)}
		}
	}
	for n := 1; len(b) > 0; n += 2 {
		line, rest, _ := bytes.Cut(b, newline)
		what, rest, _ := bytes.Cut(rest, newline)
		h, err := parseHeader(string(line))
		if err != nil {
			return &DamageError{path, n, err.Error()}
		}
		if err := each(Logged{h, strings.TrimPrefix(string(what), "= ")}); err != nil {
			return err
		}
		b = rest
	}
	return nil
}
