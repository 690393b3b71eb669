package userlog

import (
	"fmt"
	"strings"
)

// Aborted is event 009: the job was removed from the queue.
type Aborted struct {
	Reason string // may be empty
}

// Held is event 012: the job was put on hold.
type Held struct {
	Reason        string // may be empty
	Code, Subcode int    // HoldReasonCode, HoldReasonSubCode
}

// Released is event 013: the job was released from hold.
type Released struct {
	Reason string // may be empty
}

// FactoryPaused is event 037: no more jobs of a cluster appear for some time.
type FactoryPaused struct {
	Reason              string // may be empty
	PauseCode, HoldCode int    // 0 for none
}

// FactoryResumed is event 038: jobs of the cluster appear again.
type FactoryResumed struct {
	Reason string // may be empty
}

func (Aborted) number() int        { return 9 }
func (Held) number() int           { return 12 }
func (Released) number() int       { return 13 }
func (FactoryPaused) number() int  { return 37 }
func (FactoryResumed) number() int { return 38 }

func (a Aborted) appendTo(b []byte) []byte {
	return appendReason(append(b, "Job was aborted.\n"...), a.Reason)
}

// readAborted takes the old words too: "Job was aborted by the user."
func readAborted(head string, l *lines) Body {
	if !strings.HasPrefix(head, "Job was aborted") {
		return nil
	}
	return Aborted{l.reason()}
}

// unspecified stands for a reason that is empty.
const unspecified = "Reason unspecified"

func (h Held) appendTo(b []byte) []byte {
	reason := h.Reason
	if reason == "" {
		reason = unspecified
	}
	b = appendReason(append(b, "Job was held.\n"...), reason)
	return appendCodes(b, h.Code, h.Subcode)
}

func readHeld(head string, l *lines) Body {
	if head != "Job was held." {
		return nil
	}
	var h Held
	const codes = "Code %d Subcode %d"
	if len(l.rest) == 1 && l.scan(codes, &h.Code, &h.Subcode) {
		return h
	}
	if h.Reason = l.reason(); h.Reason == unspecified {
		h.Reason = ""
	}
	l.scan(codes, &h.Code, &h.Subcode)
	return h
}

func (r Released) appendTo(b []byte) []byte {
	return appendReason(append(b, "Job was released.\n"...), r.Reason)
}

func readReleased(head string, l *lines) Body {
	if head != "Job was released." {
		return nil
	}
	return Released{l.reason()}
}

func (p FactoryPaused) appendTo(b []byte) []byte {
	b = append(b, "Job Materialization Paused\n"...)
	if p.Reason != "" || p.PauseCode != 0 {
		b = appendText(b, "\t", p.Reason, "")
	}
	b = appendCode(b, "\tPauseCode ", p.PauseCode)
	return appendCode(b, "\tHoldCode ", p.HoldCode)
}

func appendCode(b []byte, before string, code int) []byte {
	if code == 0 {
		return b
	}
	return fmt.Appendf(b, "%s%d\n", before, code)
}

func readFactoryPaused(head string, l *lines) Body {
	if !strings.Contains(strings.ToLower(head), "pause") {
		return nil
	}
	var p FactoryPaused
	if line, _ := l.next(); !strings.HasPrefix(line, "HoldCode ") {
		p.Reason = l.reason()
	}
	l.scan("PauseCode %d", &p.PauseCode)
	l.scan("HoldCode %d", &p.HoldCode)
	return p
}

func (r FactoryResumed) appendTo(b []byte) []byte {
	return appendReason(append(b, "Job Materialization Resumed\n"...), r.Reason)
}

func readFactoryResumed(head string, l *lines) Body {
	if !strings.Contains(strings.ToLower(head), "resume") {
		return nil
	}
	return FactoryResumed{l.reason()}
}
