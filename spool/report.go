package spool

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
)

// Report returns what the last negotiation cycle left in cycle.json, nil when
// there was none yet.
func (s *Spool) Report() ([]byte, error) {
	b, err := contents(s.files, s.path("cycle.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && s.version.Format >= format && !sealed(b) {
		err = &DamageError{s.path("cycle.json"), 1, "it does not read as it was written"}
	}
	return b, err
}

// SetReport replaces cycle.json and returns what it holds then: the report, a
// JSON object, with a last member Checksum, the CRC-32C of all that stands
// before its value. A report that does not check is kept as
// cycle.json.damaged.
func (s *Spool) SetReport(b []byte) ([]byte, error) {
	b, err := seal(b)
	if err != nil {
		return nil, err
	}
	name := s.path("cycle.json")
	old, err := contents(s.files, name)
	if err == nil && !sealed(old) {
		err = s.files.Rename(name, name+".damaged")
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return b, replace(s.files, name, b)
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

// sealed tells whether a report is what seal made.
func sealed(b []byte) bool {
	at := bytes.LastIndex(b, []byte(sealBegin))
	if at < 0 {
		return false
	}
	at += len(sealBegin)
	return string(b[at:]) == fmt.Sprintf("%08x%s", checksum(b[:at]), sealEnd)
}
