package jobad

import (
	"errors"
	"strings"
	"sync"
)

// protection is who may change an attribute of a job in the queue that no description may
// set, because the pool's own records hang on it.
type protection struct {
	admin bool   // an administrator may
	why   string // whose it is, or what to do instead
}

var (
	byStatus   = protection{why: "is what the pool does with the job: use qhold, qrls or qdel"}
	byIdentity = protection{why: "says which job it is, and whose: it cannot be changed"}
	byRun      = protection{why: "is the pool's own record of the job's runs: it cannot be changed"}
	byCount    = protection{admin: true, why: "is the pool's own count: only administrators may change it"}
	byTickets  = protection{admin: true, why: "only administrators may set it"}
	bySystem   = protection{why: "is for administrators to set: prio -system N JOB"}
	byCycle    = protection{why: "is what a negotiation cycle says: it cannot be changed"}
	byLate     = protection{why: "was settled at submission: qdel gives up the procs that are still to come"}
	byNice     = protection{why: "was settled at submission: AccountingGroup says who is charged"}
)

// protected are these attributes, in lower case.
var protected = sync.OnceValue(func() map[string]protection {
	m := map[string]protection{}
	for names, p := range map[string]protection{
		`jobstatus lastjobstatus enteredcurrentstatus holdreason holdreasoncode holdreasonsubcode lastholdreason
			lastholdreasoncode lastholdreasonsubcode releasereason lastreleasereason removereason vacatereason
			dependenciesmet dependencieswaived jobstatusonrelease`: byStatus,
		`clusterid procid globaljobid owner user mytype jobuniverse`: byIdentity,
		`remotehost lastremotehost remoteuser remoteowner lastmatchtime lastvacatetime completiondate exitcode exitbysignal
			exitsignal exitstatus jobstartdate jobcurrentstartdate jobcurrentstartexecutingdate joblaststartdate
			residentsetsize currenthosts shadowbday transferoutfinished vacatereasoncode vacatereasonsubcode remoteslotid
			cpususage wallclockcheckpoint lastremotewallclocktime lastckpttime transparentcheckpoint memorylimitedby disklimitedby tickets
			cpuaffinity bytessent bytesrecvd`: byRun,
		`qdate numjobstarts numjobmatches numjobcompletions numrestarts numckpts numholds numsystemholds numholdsbyreason
			jobruncount numshadowstarts remotewallclocktime remoteusercpu remotesyscpu cumulativeremoteusercpu
			cumulativeremotesyscpu committedtime committedslottime cumulativeslottime wastedtime totalsuspensions
			lastsuspensiontime cumulativesuspensiontime committedsuspensiontime
			eligiblesince bypasscount`: byCount,
		"overridetickets": byTickets,
		"systempriority":  bySystem,
		// What expressions of the pool take a negotiation cycle's word for, which adds it to
		// the ads of slots and jobs only where it applies.
		`submitteruserprio submittorprio submitteruserresourcesinuse submittergroup submittergroupresourcesinuse
			submittergroupquota submitternegotiatinggroup submitterautoregroup remoteuserprio remoteuserresourcesinuse
			remotegroup remotegroupresourcesinuse remotegroupquota remotenegotiatinggroup remoteautoregroup`: byCycle,
		"jobmaterializelimit jobmaterializemaxidle": byLate,
		"niceuser": byNice,
	} {
		for _, name := range strings.Fields(names) {
			m[name] = p
		}
	}
	return m
})

func isProtected(attr string) bool {
	_, ok := protected()[strings.ToLower(attr)]
	return ok
}

// refusal returns why an attribute may not be changed.
func refusal(attr string, admin bool) error {
	p, ok := protected()[strings.ToLower(attr)]
	if !ok || admin && p.admin {
		return nil
	}
	return errors.New(p.why)
}
