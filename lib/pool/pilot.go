package pool

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/classad"
)

// Pilot is a process that runs jobs on another machine for the pool, or will do so.
type Pilot struct {
	ID      int // 1 for the first of the spool
	Engine  string
	Machine string
	State   PilotState
	// Owner is the account whose jobs the pilot runs, or, if another pool runs the pilot, the User of these jobs, with
	// the domain; empty: it runs all jobs.
	Owner string
	// Ref is a batch engine's name of the job that is the pilot, and Says the last state of the job, in the engine's
	// words; empty: unknown.
	Ref, Says string
	// Token is HashToken of the token that the pilot shows; empty: the
	// pool opened the pipe to the pilot itself.
	Token string
	// Instance is the random name that the pilot has given itself on its machine; empty before
	// it was Live.
	Instance string
	// AskedAt, LiveAt and OverAt are the policy times when the pilot was asked for, was Live first, and
	// was Gone or Void; zero before.
	AskedAt, LiveAt, OverAt time.Time
	// Why is why the pilot is Leaving, Gone or Void.
	Why string
}

// Name returns the pilot's name in reasons: "hpc-12" is the pilot of engine hpc with ID
// 12.
func (p Pilot) Name() string { return p.Engine + "-" + strconv.Itoa(p.ID) }

// Queued reports whether the pilot is a job of a batch engine: its machine is called as it is, as several may be on one host.
func (p Pilot) Queued() bool { return p.Machine == p.Name() }

// PilotLeaves returns why a job has to leave its slot when the pilot of that name leaves for the reason why.
func PilotLeaves(name, why string) Reason {
	return Reason{Text: "its pilot " + name + " leaves: " + why, Code: SupervisorStopped}
}

// PilotState is where a pilot stands between being asked for and its end.
type PilotState int

// The states of a pilot. Only the machine of a Live one takes new matches. The jobs of a Leaving one have to
// leave. One that is Gone said so itself; a Void one is refused whatever it says.
const (
	Asked PilotState = iota + 1
	Live
	Leaving
	Gone
	Void
)

var pilotStates = [...]string{Asked: "Asked", Live: "Live", Leaving: "Leaving", Gone: "Gone", Void: "Void"}

// String returns the state's name as it is written in rows and reports.
func (s PilotState) String() string {
	if s < Asked || s > Void {
		return "PilotState(" + strconv.Itoa(int(s)) + ")"
	}
	return pilotStates[s]
}

// ParsePilotState is the inverse of String.
func ParsePilotState(name string) (PilotState, error) {
	for s := Asked; s <= Void; s++ {
		if pilotStates[s] == name {
			return s, nil
		}
	}
	return 0, fmt.Errorf("%q: not a state of a pilot", name)
}

// Over reports whether a pilot in this state has ended.
func (s PilotState) Over() bool { return s == Gone || s == Void }

// HashToken returns what Pilot.Token keeps of a token, which is a text without blanks around it.
func HashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// OwnedBy returns the Start of a slot that takes the jobs of one owner alone, as a pilot's Owner has it.
func OwnedBy(owner string) string {
	name := AttrOwner
	if strings.Contains(owner, "@") {
		name = AttrUser
	}
	return "TARGET." + name + " == " + classad.String(owner).String()
}

// Flocks is the Start of a slot of another pool: it refuses jobs with Flock = false.
const Flocks = "TARGET." + AttrFlock + " =!= false"
