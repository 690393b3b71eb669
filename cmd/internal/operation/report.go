package operation

import (
	"bytes"
	"encoding/json"

	"fairspool/spool"
)

// ReadReport decodes the last cycle's report, a negotiator.Report or some of its members, and
// reports whether there is one.
func ReadReport(s *spool.Spool, to any) (found bool, err error) {
	b, err := s.Report()
	if err != nil || b == nil {
		return false, err
	}
	return true, json.Unmarshal(b, to)
}

// ReportHead is how a cycle's report begins.
type ReportHead struct {
	Cycle    int
	Time     int64
	Warnings []string
}

// HeadOf decodes the beginning of a report, which may have megabytes. It fails for what is not
// JSON.
func HeadOf(report []byte) (h ReportHead, err error) {
	if !json.Valid(report) {
		return h, json.Unmarshal(report, &h)
	}
	d := json.NewDecoder(bytes.NewReader(report))
	if begin, _ := d.Token(); begin != json.Delim('{') {
		return h, json.Unmarshal(report, &h)
	}
	for d.More() && err == nil {
		var to any = new(json.RawMessage)
		switch key, _ := d.Token(); key {
		case "Cycle":
			to = &h.Cycle
		case "Time":
			to = &h.Time
		case "Warnings":
			to = &h.Warnings
		case "Slots":
		default:
			return h, nil
		}
		err = d.Decode(to)
	}
	return h, err
}
