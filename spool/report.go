package spool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"fairspool/spool/internal/files"
	"fairspool/spool/internal/lockline"
)

// ErrOutdated means that cycle.json is missing, or is not the one that the last cycle
// left, such as an older copy.
var ErrOutdated = errors.New("not what the last negotiation cycle left")

// Report returns what the last negotiation cycle left in cycle.json, nil when
// there was none yet. It fails with a *DamageError for a report that does not check, and
// with ErrOutdated.
func (s *Spool) Report() (b []byte, err error) {
	for range ackReads { // a cycle may be at it just now
		kept := s.reported()
		if b, err = s.readReport(); err != nil || kept == nil || slices.Contains(kept, sumOf(b)) {
			return b, err
		}
	}
	if b == nil {
		return nil, fmt.Errorf("%s: missing: %w", s.path("cycle.json"), ErrOutdated)
	}
	return nil, fmt.Errorf("%s: %w", s.path("cycle.json"), ErrOutdated)
}

// readReport returns the content of cycle.json, nil without the file.
func (s *Spool) readReport() ([]byte, error) {
	b, err := files.Contents(s.files, s.path("cycle.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && !sealed(b) {
		err = &DamageError{s.path("cycle.json"), 1, "it does not read as it was written"}
	}
	return b, err
}

// SetReport replaces cycle.json and returns what it holds then: the report, a
// JSON object, with a last member Checksum, the CRC-32C of all that stands
// before its value. A report that does not check is kept as
// cycle.json.damaged. SetReport is for a negotiation cycle, inside Negotiating: the second
// line of negotiate.lock keeps the checksum, by which Report knows the last report. While
// the file is replaced, it keeps the checksums of both.
func (s *Spool) SetReport(b []byte) ([]byte, error) {
	b, err := seal(b)
	if err != nil {
		return nil, err
	}
	name := s.path("cycle.json")
	old, err := files.Contents(s.files, name)
	if err == nil && !sealed(old) {
		old, err = nil, s.files.Rename(name, name+".damaged")
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := s.noteReport(sumOf(old), sumOf(b)); err != nil {
		return nil, err
	}
	if err := files.Replace(s.files, name, b); err != nil {
		return nil, err
	}
	s.noteReport(sumOf(b), sumOf(b)) // if that fails, the old report counts, too
	return b, nil
}

const (
	reportedWord = "reported"
	noReport     = "none"
)

// noteReport writes to negotiate.lock the checksums of the two reports that cycle.json may
// be. It does nothing while no cycle has made the lock.
func (s *Spool) noteReport(before, after string) error {
	f, err := s.files.Open(s.path("negotiate.lock"), files.ReadWrite, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte(lockline.Of(reportedWord+" "+before+" "+after)), lockline.Size); err != nil || before == after {
		return err
	}
	return f.Sync() // before what it speaks of is there
}

// reported returns the checksums that cycle.json may have; nil if that is not known.
func (s *Spool) reported() []string {
	f, err := s.files.Open(s.path("negotiate.lock"), files.ReadOnly, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	b := make([]byte, lockline.Size)
	if n, err := f.ReadAt(b, lockline.Size); err != nil && !errors.Is(err, io.EOF) || n < lockline.Size {
		return nil
	}
	text, ok := lockline.Text(string(b))
	if words := strings.Fields(text); ok && len(words) == 3 && words[0] == reportedWord {
		return words[1:]
	}
	return nil
}

const (
	sealBegin = ",\n  \"Checksum\": \""
	sealEnd   = "\"\n}\n"
)

// seal adds the checksum to a JSON object that has members.
func seal(b []byte) ([]byte, error) {
	members, ok := bytes.CutSuffix(bytes.TrimSpace(b), []byte("}"))
	members = bytes.TrimSpace(members)
	if !ok || len(members) < 2 {
		return nil, errors.New("cycle.json: the report is no JSON object with members")
	}
	b = append(bytes.Clone(members), sealBegin...)
	return append(fmt.Appendf(b, "%08x", checksum(b)), sealEnd...), nil
}

// Unsealed returns a report that Report returned as it was before SetReport.
func Unsealed(b []byte) string {
	if at := bytes.LastIndex(b, []byte(sealBegin)); at >= 0 {
		b = append(bytes.Clone(b[:at]), "\n}\n"...)
	}
	return string(b)
}

// sealed reports whether a report is what seal made.
func sealed(b []byte) bool {
	at := bytes.LastIndex(b, []byte(sealBegin))
	if at < 0 {
		return false
	}
	at += len(sealBegin)
	return string(b[at:]) == fmt.Sprintf("%08x%s", checksum(b[:at]), sealEnd)
}

// sumOf returns the checksum of a whole report, noReport for nil.
func sumOf(b []byte) string {
	if b == nil {
		return noReport
	}
	return fmt.Sprintf("%08x", checksum(b))
}
