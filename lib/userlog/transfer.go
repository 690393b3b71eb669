package userlog

import (
	"fmt"
	"slices"
)

// FileTransfer is event 040: a step of moving the job's files.
type FileTransfer struct {
	Step   TransferStep
	Queued int    // so many seconds it waited for its turn; below 0 if that is not told
	Host   string // to which; may be empty
}

// TransferStep is what was reached.
type TransferStep int

// The steps, in the order in which a job takes them.
const (
	InputQueued TransferStep = iota
	InputStarted
	InputFinished
	OutputQueued
	OutputStarted
	OutputFinished
)

var steps = [...]string{
	"Entered queue to transfer input files",
	"Started transferring input files",
	"Finished transferring input files",
	"Entered queue to transfer output files",
	"Started transferring output files",
	"Finished transferring output files",
}

// String returns the words for it in an event.
func (s TransferStep) String() string { return steps[min(max(s, 0), OutputFinished)] }

func (FileTransfer) number() int { return 40 }

func (f FileTransfer) appendTo(b []byte) []byte {
	b = appendText(b, "", f.Step.String(), "")
	if f.Queued >= 0 {
		b = fmt.Appendf(b, "\tSeconds spent in queue: %d\n", f.Queued)
	}
	if f.Host != "" {
		b = appendText(b, "\tTransferring to host: ", f.Host, "")
	}
	return b
}

func readFileTransfer(head string, l *lines) Body {
	step := slices.Index(steps[:], head)
	if step < 0 {
		return nil
	}
	f := FileTransfer{Step: TransferStep(step), Queued: -1}
	l.scan("Seconds spent in queue: %d", &f.Queued)
	f.Host, _ = l.take("Transferring to host: ", "")
	return f
}
