package spool

import (
	"errors"

	"fairspool/spool/internal/cyclejson"
)

// ErrOutdated means that cycle.json is missing, or is not the one that the last cycle
// left, such as an older copy.
var ErrOutdated = cyclejson.ErrOutdated

// Report returns what the last negotiation cycle left in cycle.json, nil when
// there was none yet. It fails with a *DamageError for a report that does not check, and
// with ErrOutdated.
func (s *Spool) Report() ([]byte, error) {
	b, err := cyclejson.Read(s.files, s.dir)
	if errors.Is(err, cyclejson.ErrDamaged) {
		err = &DamageError{s.path(cyclejson.Name), 1, err.Error()}
	}
	return b, err
}

// SetReport replaces cycle.json and returns what it holds then: the report, a
// JSON object, with a last member Checksum, the CRC-32C of all that stands
// before its value. A report that does not check is kept as
// cycle.json.damaged. SetReport is for a negotiation cycle, inside Negotiating: the second
// line of negotiate.lock keeps the checksum, by which Report knows the last report. While
// the file is replaced, it keeps the checksums of both.
func (s *Spool) SetReport(b []byte) ([]byte, error) { return cyclejson.Replace(s.files, s.dir, b) }

// Unsealed returns a report that Report returned as it was before SetReport.
func Unsealed(b []byte) string { return cyclejson.Unsealed(b) }
