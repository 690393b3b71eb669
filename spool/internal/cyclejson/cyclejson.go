// Package cyclejson keeps cycle.json, the report of the last negotiation cycle: a JSON object whose last member is the
// CRC-32C of all that stands before its value. The second line of negotiate.lock has the checksum of the last report, and of both
// while one replaces the other, so that a copy of an older report is told from it.
package cyclejson

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"fairspool/spool/internal/files"
	"fairspool/spool/internal/lockline"
)

// Name is the file's.
const Name = "cycle.json"

var (
	// ErrOutdated means that cycle.json is missing, or is not the one that the last cycle
	// left, such as an older copy.
	ErrOutdated = errors.New("not what the last negotiation cycle left")
	// ErrDamaged means that cycle.json does not have the checksum that it says.
	ErrDamaged = errors.New("it does not read as it was written")
)

// reads is how often a report is read that a cycle may be at just now.
const reads = 3

// Read returns the content of cycle.json in a folder, nil where no cycle has left any. It fails with ErrDamaged or ErrOutdated.
func Read(l files.Layer, dir string) (b []byte, err error) {
	for range reads {
		kept := noted(l, dir)
		b, err = files.Contents(l, filepath.Join(dir, Name))
		if errors.Is(err, fs.ErrNotExist) {
			b, err = nil, nil
		} else if err == nil && !Sealed(b) {
			err = ErrDamaged
		}
		if err != nil || kept == nil || slices.Contains(kept, sumOf(b)) {
			return b, err
		}
	}
	if b == nil {
		return nil, fmt.Errorf("%s: missing: %w", filepath.Join(dir, Name), ErrOutdated)
	}
	return nil, fmt.Errorf("%s: %w", filepath.Join(dir, Name), ErrOutdated)
}

// Replace replaces cycle.json with a report, a JSON object, and its checksum. A report that does not check is kept as
// cycle.json.damaged.
func Replace(l files.Layer, dir string, report io.WriterTo) error {
	name := filepath.Join(dir, Name)
	old, err := files.Contents(l, name)
	if err == nil && !Sealed(old) {
		old, err = nil, l.Rename(name, name+".damaged")
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	before, after := sumOf(old), ""
	err = files.ReplaceBy(l, name, func(w io.Writer) (err error) {
		after, err = seal(w, report)
		return err
	}, func() error { return note(l, dir, before, after) })
	if err == nil {
		note(l, dir, after, after) // if that fails, the old report counts, too
	}
	return err
}

// Lock is the file with the checksums of the report.
const Lock = "negotiate.lock"

const (
	reportedWord = "reported"
	noReport     = "none"
)

// note writes to negotiate.lock the checksums of the two reports that cycle.json may
// be. It does nothing while no cycle has made the lock.
func note(l files.Layer, dir, before, after string) error {
	f, err := l.Open(filepath.Join(dir, Lock), files.ReadWrite, 0)
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

// noted returns the checksums that cycle.json may have; nil if that is not known.
func noted(l files.Layer, dir string) []string {
	f, err := l.Open(filepath.Join(dir, Lock), files.ReadOnly, 0)
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

// Seal adds the checksum to a JSON object that has members.
func Seal(b []byte) ([]byte, error) {
	var to bytes.Buffer
	_, err := seal(&to, bytes.NewReader(b))
	return to.Bytes(), err
}

// seal writes a report with its checksum, and returns the checksum of the whole.
func seal(w io.Writer, report io.WriterTo) (sum string, err error) {
	s := sealing{to: bufio.NewWriterSize(w, sealBuffer)}
	if _, err := report.WriteTo(&s); err != nil {
		return "", err
	}
	members, ok := bytes.CutSuffix(bytes.TrimSpace(s.held), []byte("}"))
	members = bytes.TrimSpace(members)
	if !ok || len(members) < 2 {
		return "", errors.New("cycle.json: the report is no JSON object with members")
	}
	s.put(append(bytes.Clone(members), sealBegin...))
	s.put(fmt.Appendf(nil, "%08x%s", s.sum, sealEnd))
	return fmt.Sprintf("%08x", s.sum), s.to.Flush()
}

const (
	sealBuffer = 1 << 16
	// sealHeld is how much of a report is held back, as its end may be in there.
	sealHeld = 64
)

// sealing writes all but the end of a report, and adds up the checksum.
type sealing struct {
	to   *bufio.Writer
	sum  uint32
	held []byte
}

func (s *sealing) Write(b []byte) (int, error) {
	s.held = append(s.held, b...)
	n := max(len(s.held)-sealHeld, 0)
	err := s.put(s.held[:n])
	s.held = s.held[:copy(s.held, s.held[n:])]
	return len(b), err
}

func (s *sealing) put(b []byte) error {
	s.sum = crc32.Update(s.sum, castagnoli, b)
	_, err := s.to.Write(b)
	return err
}

// Unsealed returns a report that Read returned as it was before Replace.
func Unsealed(b []byte) string {
	if at := bytes.LastIndex(b, []byte(sealBegin)); at >= 0 {
		b = append(bytes.Clone(b[:at]), "\n}\n"...)
	}
	return string(b)
}

// Sealed reports whether a report is what Seal made.
func Sealed(b []byte) bool {
	at := bytes.LastIndex(b, []byte(sealBegin))
	if at < 0 {
		return false
	}
	at += len(sealBegin)
	return string(b[at:]) == fmt.Sprintf("%08x%s", checksum(b[:at]), sealEnd)
}

// sumOf returns the checksum of a report as negotiate.lock has it.
func sumOf(b []byte) string {
	if b == nil {
		return noReport
	}
	return fmt.Sprintf("%08x", checksum(b))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }
