package pilot

import (
	"time"

	"fairspool/cmd/internal/desk"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/launch"
	"fairspool/lib/pool"
	"fairspool/lib/supervise"
)

// Hello is the first message of a pilot.
type Hello struct {
	// ID and Token identify a pilot that calls the spool's host; zero if the host has opened the pipe.
	ID    int
	Token string
	// Instance is the random name of the pilot's state folder.
	Instance string
	// Account is the account of the pilot's process. Root: it has root's rights, and runs jobs as their
	// owners.
	Account string
	Root    bool
}

// Welcome is the answer to Hello.
type Welcome struct {
	Refused string // why the pilot is not taken; empty: it is
	Over    bool   // it is refused for ever
	Pool    string // the id of the spool
	Machine string // its name in the pool
	// FileSystemDomain is the domain of the machine's slots; empty: the machine's name.
	FileSystemDomain string
	// Owner is the only user that the machine runs jobs of; empty: it runs those of all users.
	Owner string
	// Leaves is why the pilot was to leave by an earlier link; empty: it was not.
	Leaves string
	Settings
}

// Settings are the host's settings for attempts on all machines.
type Settings struct {
	Pilot                    string    // what reasons call the pilot
	Now                      time.Time // the pool's time
	Lease                    time.Duration
	Beat                     time.Duration // how often the pilot is to be heard of
	Vacate, Periodic         time.Duration
	FirstUpdate, UpdateEvery time.Duration
	Worklife                 time.Duration // CLAIM_WORKLIFE
	MinUID                   int
	NobodySlotUser           string
}

// Slots is the pilot's answer to a Welcome: its slots' ads, in the long form.
type Slots struct{ Ads []string }

// After that the control stream carries packets. Tag 0 is a Beat, and News in return. Any other tag is of a Request,
// and of its Answer. Requests with files have streams of their own.

// Beat is a heartbeat.
type Beat struct {
	Number int
	Bye    bool // the pilot ends, and has no claims
	// Leave is why the pilot takes no more jobs, and those that are there have to leave; empty: it goes on.
	Leave string
}

// News is what the spool's end sends on the control stream.
type News struct {
	Beat  int          // the heartbeat that this answers; 0: none
	First bool         // it has all claims; other News has the changed ones
	Now   []Claim      // claims that are new or changed
	Gone  []pool.JobID // jobs that have no claim any more
}

// Claim is a claim on a slot of the machine.
type Claim struct {
	Attempt pool.Attempt
	State   pool.ClaimState
	Mine    bool        // the pilot's instance has begun it
	Why     pool.Reason // why it is Vacating
	Fast    bool        // it has to leave at once
	Edits   int         // how often the job's policy was changed since the link began
}

// Request is a request of a supervisor, or of the pilot itself, to the spool's end.
type Request struct {
	Do       Verb
	Attempt  pool.Attempt
	PID      int               // Begin, Finish: the supervisor's, on its machine
	Scratch  string            // Begin, Finish: the folder of the scratch directories there
	Why      pool.Reason       // Terms
	Found    jobpolicy.Verdict // Judge
	Used     *supervise.Spent  // Judge
	Reported *pool.Progress    // Judge
	Telling  *desk.Telling     // Report
	Files    launch.Files      // Outputs: the files in the body behind the request
	How      *pool.Ending      // Finish
	Ago      time.Duration     // Finish: so long ago the attempt ended
	Executed time.Time         // Executing: when the program was executed, by the pool's time. Finish: zero if the log knows
	Fetched  time.Duration     // Executing: for how long the container's image was fetched
	Again    bool              // it was asked before, and may have been done
	Last     bool              // Finish: the slot does not go on
	Text     string            // Tell
}

// Verb is the kind of a request.
type Verb string

// The verbs.
const (
	Begin     Verb = "begin"
	Await     Verb = "await"
	Executing Verb = "executing"
	Terms     Verb = "terms"
	Judge     Verb = "judge"
	Report    Verb = "report"
	Inputs    Verb = "inputs"
	Outputs   Verb = "outputs"
	Finish    Verb = "finish"
	Tell      Verb = "tell"
)

// Answer is the answer of the spool's end.
type Answer struct {
	Down   bool // there is no link now, and nothing was done: the pilot says so
	Gone   bool // the claim is not the pilot's, or no more
	Failed *desk.Failure
	NoRoom bool // Failed is for want of room
	Begun  *desk.Beginning
	Leave  *Leave
	Rules  *supervise.Rules
}

// Leave are supervise.Terms as they travel.
type Leave struct {
	Ad         string // in the long form; empty: the job has left the queue
	Leaving    launch.Leaving
	Retirement time.Duration
	Fast       bool
}

// opening is the first message of a supervisor on a connection to the pilot's socket.
type opening struct {
	Attempt pool.Attempt
	For     purpose
}

// purpose is the purpose of a connection.
type purpose string

const (
	follows  purpose = "follow" // what becomes of the claim
	requests purpose = "ask"    // one Request after the other
	carries  purpose = "files"  // one Request with files
)

// word is a message of the pilot to a supervisor that follows its claim.
type word struct {
	Gone bool
	Claim
	// Leave is why the pilot leaves, and By when nothing of the job may be left, by the time since the boot; empty: it
	// does not.
	Leave string
	By    time.Duration
}

// carried is the pilot's answer on a connection for files.
type carried struct{ Down bool } // there is no link now: the pilot closes the connection
