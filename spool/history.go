package spool

import (
	"os"
	"path/filepath"

	"fairspool/lib/classad"
)

// appendHistory appends a job's ad: a line for each attribute, sorted, and a
// blank line. Expressions are written as in the journal, so that a value with
// a line break in it stays one line.
func appendHistory(b []byte, ad *classad.Ad) []byte {
	for _, name := range ad.Names() {
		e, _ := ad.Lookup(name)
		b = append(appendName(b, name), " = "...)
		b = append(e.AppendTo(b, classad.Spool), '\n')
	}
	return append(b, '\n')
}

// writeHistory appends to a month's file behind the end that the journal has
// on record and syncs it. Bytes behind that end are a dead writer's and are
// cut off first. It returns the new end.
func (s *Spool) writeHistory(month string, recorded int64, ads []byte) (end int64, err error) {
	dir := filepath.Join(s.dir, "history")
	f, err := s.files.Open(filepath.Join(dir, month+".ads"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	size, err := f.Size()
	if err != nil {
		return 0, err
	}
	if size > recorded {
		if err := f.Truncate(recorded); err != nil {
			return 0, err
		}
	}
	start := min(size, recorded) // shorter: somebody took old ads away, which is theirs to do
	if err := write(f, ads, start); err != nil {
		return 0, err
	}
	if start == 0 { // perhaps a new name in the directory
		if err := s.files.SyncDir(dir); err != nil {
			return 0, err
		}
	}
	return start + int64(len(ads)), nil
}

// cutHistory puts a month's file back to the end that the journal has on
// record. When that does not succeed the ads behind it count for nothing all
// the same, and the month's next writer cuts them off.
func (s *Spool) cutHistory(month string, end int64) {
	f, err := s.files.Open(filepath.Join(s.dir, "history", month+".ads"), os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if size, err := f.Size(); err == nil && size > end {
		f.Truncate(end)
	}
}
