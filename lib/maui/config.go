package maui

import (
	"time"

	"fairspool/lib/accountant"
)

// Config is what Maui's parameters say of priorities. Default has what an empty
// configuration means; the zero value weighs nothing.
type Config struct {
	Components [Components]Term // SERVICEWEIGHT, SERVICEWCAP and the like
	Subs       [Subs]Term       // QUEUETIMEWEIGHT, QUEUETIMECAP and the like

	XFMinWCLimit       time.Duration // XFMINWCLIMIT: what the expansion factor takes for the least limit; 0: none
	Accrual            Accrual       // JOBPRIOACCRUALPOLICY
	UseSystemQueueTime bool          // USESYSTEMQUEUETIME; false: a job's queue time counts from its submission
	EnableNegative     bool          // ENABLENEGJOBPRIORITY
	RejectNegative     bool          // REJECTNEGPRIOJOBS

	FSPolicy FSPolicy                // FSPOLICY
	FSRatio  bool                    // FSPOLICY with % behind it: shares are compared by their ratio
	Windows  accountant.WindowParams // FSINTERVAL, FSDEPTH, FSDECAY

	// Credentials are USERCFG, GROUPCFG, ACCOUNTCFG, QOSCFG and CLASSCFG, by name.
	Credentials [Kinds]map[string]Credential

	// Compatible says that COMPATIBILITY is "3.3.1": where Maui 3.3.1 contradicts its
	// manual, do as it does.
	Compatible bool
}

// Term is how a number enters a sum: Weight times the number, which is cut to Cap first
// if Cap is above 0.
type Term struct{ Weight, Cap int64 }

// Accrual says when the time that a job waits counts.
type Accrual uint8

// The values of JOBPRIOACCRUALPOLICY: always; while no limit on the number of idle jobs
// (MAXIJOB and the like) keeps it out; while nothing keeps it from being considered.
const (
	Always Accrual = iota
	QueuePolicy
	FullPolicy
)

// FSPolicy says what fair share counts.
type FSPolicy uint8

// The values of FSPOLICY: nothing; processors times time; processor equivalents times
// time; processor time that was used.
const (
	NoFairShare FSPolicy = iota
	DedicatedPS
	DedicatedPES
	UtilizedPS
)

// Credential is what USERCFG[NAME] and the like say.
type Credential struct {
	Priority int64 // PRIORITY; 0: what DEFAULT has

	QTWeight, XFWeight int64 // of a QOS: added to QUEUETIMEWEIGHT and XFACTORWEIGHT
	FSWeight           int64 // of a QOS: added to FSWEIGHT

	QTTarget time.Duration // QTTARGET; 0: none
	XFTarget float64       // XFTARGET; 0: none

	FSTarget float64 // FSTARGET, percent; 0: none
	FSMode   FSMode  // what stands behind it

	QDef  string   // QDEF
	QList []string // QLIST
	// QListMode is what stands behind QLIST: 0, '&' (nothing that this list does not have)
	// or '^' (nothing but this list).
	QListMode byte
	Accounts  List // of a user or group: ADEF, ALIST
	Classes   List // of a user, group or account: CDEF, CLIST

	Limits    [Limits]Bound // MAXJOB and the like: of what runs
	IdleLimit [Limits]Bound // MAXIJOB and the like: of what waits and is considered
	WCLimit   time.Duration // of a class, DEFAULT.WCLIMIT: the limit of jobs that name none; 0: none
}

// List is which accounts or classes a credential gives its jobs: ALIST or CLIST, with what
// stands behind it as of a QLIST, and ADEF or CDEF.
type List struct {
	Names   []string
	Mode    byte
	Default string // empty: none
}

// FSMode says which way a fair share target counts.
type FSMode byte

// The modifiers of FSTARGET: a target counts both ways; a floor only while usage is below,
// a ceiling only while it is above; a quota in units of FSPOLICY or in percent does not
// count in priorities, but what is beyond it is left out.
const (
	FSTarget   FSMode = 0
	FSFloor    FSMode = '+'
	FSCeiling  FSMode = '-'
	FSQuota    FSMode = '^'
	FSRelative FSMode = '%'
)

// Limit is what a limit of a credential counts.
type Limit uint8

// The limits: MAXJOB jobs, MAXPROC processors, MAXPS processor-seconds that they may still
// take, MAXPE processor equivalents, MAXNODE nodes, MAXWC seconds that they may still
// take, MAXMEM MB.
const (
	MaxJob Limit = iota
	MaxProc
	MaxPS
	MaxPE
	MaxNode
	MaxWC
	MaxMem
	Limits // how many there are
)

// Bound is a limit: no more than Soft, unless nobody else could use what is left, and then
// no more than Hard.
type Bound struct {
	Set        bool
	Soft, Hard float64
}

// Default returns the configuration of an empty maui.cfg, as Maui 3.3.1 has it.
func Default() Config {
	c := Config{XFMinWCLimit: 2 * time.Minute, Accrual: QueuePolicy, UseSystemQueueTime: true,
		Windows: accountant.WindowParams{Interval: accountant.DefaultInterval, Depth: accountant.DefaultDepth, Decay: 1}}
	for i := range c.Components {
		c.Components[i].Weight = 1
	}
	c.Subs[QueueTime].Weight = 1
	return c
}
