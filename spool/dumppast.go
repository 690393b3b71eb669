package spool

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"slices"
)

func (d *dumping) history() error {
	for _, month := range slices.Sorted(maps.Keys(d.state.history)) {
		lines := lines{}
		end := func() error {
			if len(lines.all) == 0 {
				return nil
			}
			d.n.Left++
			d.begin("History")
			d.text("Month", month)
			err := d.attributes(lines.split())
			lines.clear()
			return err
		}
		err := d.spool.eachLine(historyFile(month), d.state.history[month], func(_ int, line []byte) error {
			switch {
			case len(line) == 0:
				return end()
			case !bytes.HasPrefix(line, []byte(footerHead)):
				lines.add(line)
			}
			return nil
		})
		if err == nil {
			err = end()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *dumping) log() error {
	months := map[string][]Logged{}
	for month := range d.state.log {
		months[month] = nil
	}
	for _, l := range d.journal {
		month := monthOf(l.Machine)
		months[month] = append(months[month], l)
	}
	for _, month := range slices.Sorted(maps.Keys(months)) {
		if known, ok := d.state.log[month]; ok {
			if err := d.logMonth(month, known); err != nil {
				return err
			}
		}
		for _, l := range months[month] {
			if err := d.transaction(l); err != nil {
				return err
			}
		}
	}
	return nil
}

// logMonth writes what a month's log holds.
func (d *dumping) logMonth(month string, known stretch) error {
	var l Logged
	name := logFile(month)
	return d.spool.eachLine(name, known, func(n int, line []byte) (err error) {
		if n%2 == 0 {
			if l.Transaction, err = parseHeader(string(line)); err != nil {
				err = &DamageError{d.spool.path(name), n + 1, err.Error()}
			}
			return err
		}
		l.What = string(bytes.TrimPrefix(line, []byte("= ")))
		return d.transaction(l)
	})
}

func (d *dumping) transaction(l Logged) error {
	d.begin("Transaction")
	d.number("Seq", int64(l.Seq))
	d.text("Machine", l.Machine.UTC().Format(timeLayout))
	d.text("Policy", l.Policy.UTC().Format(timeLayout))
	d.number("UID", int64(l.UID))
	d.text("User", l.User)
	d.text("Program", l.Program)
	d.text("Op", l.Op)
	d.texts("Args", l.Args)
	d.text("What", l.What)
	return d.end()
}

// eachLine hands over the lines that count of a file that is only appended to,
// from 0. A *DamageError says that the file is not as recorded: then the lines that were
// handed over may not be either.
func (s *Spool) eachLine(name string, known stretch, do func(n int, line []byte) error) error {
	if known.end == 0 {
		return nil
	}
	path := s.path(name)
	f, err := s.files.Open(path, readOnly, 0)
	if err != nil {
		return missing(path, err)
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return err
	}
	in := newLineReader(io.NewSectionReader(f, 0, min(size, known.end)))
	for n := 0; ; n++ {
		line, err := in.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = do(n, line)
		}
		if err != nil {
			return err
		}
	}
	switch {
	case size < known.end:
		return shorter(path, size, known)
	case in.sum != known.crc && s.version.Format >= format:
		return otherSum(path, in.sum, known)
	}
	return nil
}
