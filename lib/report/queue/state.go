package queue

import (
	"strings"

	"fairspool/lib/jobpolicy"
	"fairspool/lib/pool"
)

// standing is the input of a job's state.
type standing struct {
	status pool.Status
	claim  pool.ClaimState // 0: it has none
	code   int64           // HoldReasonCode
	starts int64           // NumJobStarts
	waits  bool            // for the end of other jobs
}

// state returns Grid Engine's letters for a job's state, in its order: d E S T h R q r s
// t w, or z alone.
//
// A job that has a slot and ran in another one before has an R. A job that waits again
// has none, unlike in Grid Engine: qw stands for all jobs that wait for a slot.
func (s standing) state() string {
	switch s.status {
	case pool.Removed:
		if s.claim != 0 {
			return "d" + s.placed()
		}
		return "z"
	case pool.Completed:
		return "z"
	case pool.Held:
		switch {
		case s.claim != 0:
			return "h" + s.placed()
		case broken(s.code):
			return "Eqw"
		}
		return "hqw"
	case pool.Suspended:
		return again(s.starts > 1) + "s"
	case pool.Running:
		return again(s.starts > 1) + "r"
	}
	switch {
	case s.claim == pool.RunningClaim || s.claim == pool.Vacating:
		return again(s.starts > 1) + "r"
	case s.claim != 0:
		return again(s.starts > 0) + "t"
	case s.waits:
		return "hqw"
	}
	return "qw"
}

// placed returns the letter of a job with a slot that is to leave it.
func (s standing) placed() string {
	if s.claim == pool.Matched || s.claim == pool.Promised {
		return "t"
	}
	return "r"
}

func again(yes bool) string {
	if yes {
		return "R"
	}
	return ""
}

// dependencyFailed is the HoldReasonCode of a job that waits for others in vain.
const dependencyFailed = jobpolicy.DependencyFailed

// broken reports whether a HoldReasonCode means that running the job or handling its
// files failed, which Grid Engine calls an error. Holds by people, policies and limits
// are just held. The numbers are those of HTCondor's CONDOR_HOLD_CODE.
func broken(code int64) bool {
	switch {
	case code == 2, code == 4: // a grid's error, credentials
	case code >= 6 && code <= 14: // it could not be started, or a file not be opened or moved
	case code >= 17 && code <= 19: // versions, files once more, the hook before the job
	case code >= 21 && code <= 25: // the machine held it, its log, account, schedule
	case code >= 28 && code <= 33: // the owner of its files, their size
	case code >= 35 && code <= 45: // image, checkpoint, a cloud's errors, scripts around it
	case code == 48: // the hook before its supervisor
	default:
		return false
	}
	return true
}

// The reasons for which jobs wait although no job is in front of them.
type holds struct{ user, operator, system, job, time bool }

// States are the states of the shown jobs.
type States struct {
	pending, running, suspended, ended bool
	holds
}

// EveryState are all of them.
var EveryState = States{pending: true, running: true, suspended: true, ended: true}

// ParseStates reads consecutive letters of states, as -s has them. Two letters that begin with h are one hold; any
// other letter behind an h stands for itself.
func ParseStates(text string) (w States, ok bool) {
	ok = text != ""
	for text != "" {
		n := 1
		switch text[0] {
		case 'p':
			w.pending = true
		case 'r':
			w.running = true
		case 's':
			w.suspended = true
		case 'z':
			w.ended = true
		case 'a':
			w.pending, w.running, w.suspended = true, true, true
		case 'h':
			n += w.hold(text[1:])
		default:
			return w, false
		}
		text = text[n:]
	}
	return w, ok
}

// hold reads which holds are wanted from what follows an h, and returns how many letters
// that takes.
func (w *States) hold(text string) int {
	if text != "" {
		switch text[0] {
		case 'u':
			w.user = true
			return 1
		case 'o':
			w.operator = true
			return 1
		case 's':
			w.system = true
			return 1
		case 'j':
			w.job = true
			return 1
		case 'a':
			w.time = true
			return 1
		case 'd': // of procs on other procs, which there is not
			return 1
		}
	}
	w.holds = holds{true, true, true, true, true}
	return 0
}

// has reports whether a job in a state, held in these ways, is wanted.
func (w States) has(state string, h holds) bool {
	switch {
	case state == "z":
		return w.ended
	case w.user && h.user || w.operator && h.operator || w.system && h.system || w.job && h.job || w.time && h.time:
		return true
	case strings.HasSuffix(state, "s"):
		return w.suspended
	case strings.HasSuffix(state, "w"):
		return w.pending
	}
	return w.running
}
