package pool

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Attempt is one start of a job. The lock of a claim is named after it.
type Attempt struct {
	Job    JobID
	Number int
}

// String returns CLUSTER.PROC.ATTEMPT, the name of the claim's lock.
func (a Attempt) String() string { return a.Job.String() + "." + strconv.Itoa(a.Number) }

// ParseAttempt reads what String returns.
func ParseAttempt(name string) (Attempt, error) {
	wrong := fmt.Errorf("%q: want CLUSTER.PROC.ATTEMPT", name)
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return Attempt{}, wrong
	}
	id, err := ParseJobID(name[:dot])
	if err != nil {
		return Attempt{}, wrong
	}
	n, err := strconv.ParseUint(name[dot+1:], 10, 31)
	if err != nil || n < 1 {
		return Attempt{}, wrong
	}
	return Attempt{id, int(n)}, nil
}

// ErrGone says that a claim is no longer what its supervisor was started for:
// the job was removed, or the match was given up.
var ErrGone = errors.New("the claim is gone")

// Reason is why a job is held or has to leave its slot: Code and Subcode are its HoldReasonCode
// and HoldReasonSubCode, or VacateReasonCode and VacateReasonSubCode.
type Reason struct {
	Text          string
	Code, Subcode int
}

// SupervisorStopped is HTCondor's VacateReasonCode of a job with a supervisor that was told
// to end (StartdShutdown).
const SupervisorStopped = 1013

// Progress is what an attempt has used since it was executed.
type Progress struct {
	Wall, UserCPU, SysCPU time.Duration
	RSSKB                 int64 // resident set of all its processes, as it is now
	PeakKB                int64 // the largest that it was
	DiskKB                int64 // of its scratch directory
	IOBytes               int64 // read and written
}

// After returns the progress of an attempt after the earlier progress q. No value falls
// below q's, even if a process took its usage along when it ended.
func (p Progress) After(q Progress) Progress {
	return Progress{
		Wall: max(p.Wall, q.Wall), UserCPU: max(p.UserCPU, q.UserCPU), SysCPU: max(p.SysCPU, q.SysCPU),
		RSSKB: p.RSSKB, PeakKB: max(p.PeakKB, p.RSSKB, q.PeakKB), DiskKB: max(p.DiskKB, q.DiskKB), IOBytes: max(p.IOBytes, q.IOBytes),
	}
}

// Ending is how an attempt ended.
type Ending struct {
	// Lost is why the attempt does not count and the job is idle again: its supervisor died, or
	// made it give the slot back. Empty otherwise. The reason of the claim
	// (pool.Claim.VacateReason), if it has one, goes before this in the job's ad.
	Lost string
	// VacateCode is the VacateReasonCode of Lost, such as SupervisorStopped, and VacateSubcode
	// its VacateReasonSubCode; 0: it follows from the other fields. A job that has taken more than it
	// may is held with these codes.
	VacateCode, VacateSubcode int
	// Died: the supervisor died. Usage is the last reported, and wall time the time that the
	// attempt had its slot.
	Died bool
	// Checkpointed: the job that was Lost left a checkpoint, so that the attempt's usage counts.
	Checkpointed bool
	// Recorded is when the end is recorded; zero: as it happens.
	Recorded time.Time
	// NotStarted: the job was not executed, and the attempt does not count as a start.
	// StartFailed implies it.
	NotStarted bool
	// Executed is when the program was started; zero: as long ago as Wall says.
	Executed time.Time
	// StartFailed is why the job could not be executed, and is held. Empty otherwise.
	StartFailed string
	// OutputFailed is why the output of a job that ended by itself could not be
	// copied to its destination, and the job is held. Empty otherwise.
	OutputFailed string
	// HoldCode and HoldSubcode are the HoldReasonCode and HoldReasonSubCode of a
	// job that is held; a HoldCode of 0 means that it could not be started.
	HoldCode, HoldSubcode int
	// Signal is the signal that ended the job, 0 when it exited with Code.
	Code, Signal int
	// Core is the path of the core file that it left, empty for none.
	Core string
	// The usage of the whole attempt.
	Wall, UserCPU, SysCPU     time.Duration
	MaxRSSKB, DiskKB, IOBytes int64
	// Sent and Received are the bytes of its output and input that were copied.
	Sent, Received int64
	// Reported is the usage that Report and Checkpointed recorded last.
	Reported Progress
}

// NeverRan reports whether the job's program was never executed.
func (how Ending) NeverRan() bool { return how.NotStarted || how.StartFailed != "" }

// Total returns the total usage of the attempt.
func (how Ending) Total() Progress {
	p := Progress{
		Wall: how.Wall, UserCPU: how.UserCPU, SysCPU: how.SysCPU,
		PeakKB: how.MaxRSSKB, DiskKB: how.DiskKB, IOBytes: how.IOBytes,
	}
	return p.After(how.Reported)
}

// Unreported returns the part of Total that the job's totals do not have yet.
func (how Ending) Unreported() Progress {
	p, known := how.Total(), how.Reported
	p.Wall, p.UserCPU, p.SysCPU, p.IOBytes = p.Wall-known.Wall, p.UserCPU-known.UserCPU, p.SysCPU-known.SysCPU, p.IOBytes-known.IOBytes
	return p
}

// Counts reports whether the attempt's usage counts as committed: the job ended by
// itself, or left a checkpoint.
func (how Ending) Counts() bool {
	return how.Checkpointed || how.Lost == "" && how.StartFailed == ""
}
