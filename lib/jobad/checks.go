package jobad

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"fairspool/lib/classad"
	"fairspool/lib/jobargs"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/sge"
	"fairspool/lib/submitfile"
)

// check returns why a constant is no value of an attribute.
type check func(v classad.Value) error

// checks are the checks of constants of attributes, by the attribute's name in lower
// case.
var checks = sync.OnceValue(func() map[string]check {
	m := map[string]check{}
	for _, c := range table() {
		if by := kindChecks[c.kind]; by != nil && c.Attr != "" {
			m[strings.ToLower(c.Attr)] = by
		}
	}
	for names, by := range map[string]check{
		`PeriodicHold PeriodicRelease PeriodicRemove PeriodicVacate OnExitHold OnExitRemove LeaveJobInQueue Requirements`: checkCondition,
		`Rank`: checkNumber,
		`JobMaxVacateTime KillSigTimeout DeferralTime DeferralWindow DeferralPrepTime JobLeaseDuration`: checkSeconds,
		`KillSig RemoveKillSig HoldKillSig`: checkSignal,
		`JobNotification`:                   checkNotification,
		`ConcurrencyLimits`:                 texts(checkLimits),
		`AccountingGroup AcctGroupUser`:     texts(accountError),
		`QOS Class AcctGroup UnixGroup Project Department ParallelEnvironment`: texts(credentialError),
		`ParallelSlots`:    checkSlots,
		`AfterOk AfterAny`: checkClusters,
		`NotifyUser In Out Err TransferOutputRemaps TransferInput TransferOutput Args`: texts(anyText),
		`Cmd Iwd`:                               texts(checkPath),
		`UserLog`:                               texts(checkPath),
		`NotifyCommand`:                         texts(notifyProgram),
		`NotifyArguments`:                       texts(notifyArguments),
		`NotifyEvents`:                          texts(checkEvents),
		`Arguments`:                             texts(checkArguments),
		`Environment`:                           texts(checkEnvironment),
		`Env`:                                   texts(checkOldEnvironment),
		`ShouldTransferFiles`:                   oneOf(transferYes, transferNo, transferIfNeeded),
		`WhenToTransferOutput`:                  oneOf(onExit, onExitOrEvict, onSuccess),
		`ImageSize`:                             checkNumber,
		`RequestCpus`:                           checkCpus,
		`RequestMemory RequestDisk RequestGPUs`: checkAmount,
	} {
		for _, name := range strings.Fields(names) {
			m[strings.ToLower(name)] = by
		}
	}
	for _, f := range jobpolicy.Fields() {
		m[strings.ToLower(f.Attr)] = texts(f.Check)
	}
	return m
})

// kindChecks are the checks of commands that set one attribute.
var kindChecks = map[kind]check{
	text: texts(anyText), list: texts(anyText), file: texts(anyText), truthful: checkCondition, whole: checkWhole,
	natural: checkNatural, seconds: checkSeconds,
}

// texts returns a check of a value that has to be a text.
func texts(of func(text string) error) check {
	return func(v classad.Value) error {
		text, ok := v.Text()
		if !ok {
			return fmt.Errorf("%s: want a text in double quotes", submitfile.Shorten(v.String()))
		}
		return of(text)
	}
}

func anyText(string) error { return nil }

func oneOf(words ...string) check {
	return texts(func(text string) error {
		if !slices.Contains(words, text) {
			return fmt.Errorf("%q: want one of %s", submitfile.Shorten(text), strings.Join(words, ", "))
		}
		return nil
	})
}

func checkCondition(v classad.Value) error { return conditionError(classad.Literal(v)) }

func checkNumber(v classad.Value) error {
	if _, ok := v.Number(); !ok {
		return fmt.Errorf("%s: want a number", submitfile.Shorten(v.String()))
	}
	return nil
}

func checkWhole(v classad.Value) error {
	if _, ok := v.Int(); !ok {
		return fmt.Errorf("%s: want a whole number", submitfile.Shorten(v.String()))
	}
	return nil
}

func checkNatural(v classad.Value) error {
	if n, ok := v.Int(); !ok || n < 0 {
		return fmt.Errorf("%s: want a whole number from 0 up", submitfile.Shorten(v.String()))
	}
	return nil
}

func checkSeconds(v classad.Value) error {
	if n, ok := v.Int(); !ok || n < 0 {
		return fmt.Errorf("%s: want seconds, a whole number from 0 up", submitfile.Shorten(v.String()))
	}
	return nil
}

func checkCpus(v classad.Value) error {
	if n, ok := v.Number(); !ok || v.Kind() == classad.KindBoolean || n < 0 || n > maxCpus || n != math.Trunc(n) {
		return fmt.Errorf("%s: want a whole number from 0 to %d", submitfile.Shorten(v.String()), maxCpus)
	}
	return nil
}

// checkAmount checks a request that is a number.
func checkAmount(v classad.Value) error {
	if n, ok := v.Number(); !ok || v.Kind() == classad.KindBoolean || !(n >= 0) {
		return fmt.Errorf("%s: want a number from 0 up, in MB for memory and KB for disk", submitfile.Shorten(v.String()))
	}
	return nil
}

// checkRequest checks a request for any other resource, which may be a pattern.
func checkRequest(v classad.Value) error {
	if _, isText := v.Text(); isText {
		return nil
	}
	if n, ok := v.Number(); !ok || !(n >= 0) {
		return fmt.Errorf("%s: want a number from 0 up, or a text in double quotes", submitfile.Shorten(v.String()))
	}
	return nil
}

func checkNotification(v classad.Value) error {
	if n, ok := v.Int(); !ok || n < 0 || n > 4 {
		return fmt.Errorf("%s: want 0 never, 1 always, 2 complete, 3 error or 4 start", submitfile.Shorten(v.String()))
	}
	return nil
}

func checkSignal(v classad.Value) error {
	text, isText := v.Text()
	if n, isInt := v.Int(); isInt {
		text, isText = strconv.FormatInt(n, 10), true
	}
	if !isText {
		text = v.String()
	}
	_, err := signalName(text)
	return err
}

func checkLimits(text string) error {
	_, err := limitsOf(text)
	return err
}

func checkClusters(v classad.Value) error {
	text, isText := v.Text()
	if !isText {
		text = v.String() // a lone number may be one
	}
	_, err := jobpolicy.ParseClusters(text)
	return err
}

func checkPath(text string) error {
	if !strings.HasPrefix(text, "/") {
		return fmt.Errorf("%q: want a path that begins with a slash", submitfile.Shorten(text))
	}
	if strings.ContainsRune(text, 0) {
		return errors.New("a path has no byte 0")
	}
	return nil
}

func checkArguments(text string) error {
	_, err := jobargs.ParseV2(text)
	return err
}

func checkEnvironment(text string) error {
	_, err := jobargs.ParseEnvV2(text)
	return err
}

func checkOldEnvironment(text string) error {
	_, err := jobargs.ParseEnvV1(text)
	return err
}

// protection says which users may change an attribute of a job in the queue that no
// description may set, because the pool's own records depend on it.
type protection struct {
	admin bool   // an administrator may
	why   string // the owner of the attribute, or what to do instead
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

// CheckEdit returns an error if an attribute of a job in the queue may not be set to an
// expression: the name is no attribute's, the attribute is the pool's own, or submission
// refuses the value for the attribute's command. admin is whether the caller is an
// administrator, who may change the pool's counts and QDate.
//
// A non-constant expression is checked only as far as possible without the job: JobPrio,
// PreJobPrio1 and their like, exit codes and retries have to be constant numbers, and so
// have the clusters of AfterOk and AfterAny, which are watched from then on. Undefined
// takes back an attribute that a job need not have. The error is one line that begins with
// the name. A number too large for an integer has become another one by the time it is an
// expression: see BeyondInteger.
func CheckEdit(name string, e *classad.Expr, admin bool) error {
	if err := checkEditName(name, admin); err != nil {
		return err
	}
	if err := checkValue(strings.ToLower(name), e); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// checkEditName returns an error when an attribute of a job in the queue may not be set at all.
func checkEditName(name string, admin bool) error {
	if !isAttributeName(name) {
		return fmt.Errorf("%q: no name of an attribute: want letters, digits and _", submitfile.Shorten(name))
	}
	if err := refusal(name, admin); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// checkValue checks the value for an attribute.
func checkValue(key string, e *classad.Expr) error {
	if fixed, ok := fixedNumbers[key]; ok {
		return fixed.check(e)
	}
	v, constant := e.Constant()
	c, known := checks()[key]
	switch {
	case !known && strings.HasPrefix(key, "request"):
		c = checkRequest
	case !known:
		return nil
	}
	if !constant && watched[key] {
		return fmt.Errorf("%s: want numbers of clusters, such as 12, 13", submitfile.Shorten(e.String()))
	}
	if !constant || v.Kind() == classad.KindUndefined && !lasting[key] {
		return nil
	}
	if v.Kind() == classad.KindUndefined || v.Kind() == classad.KindError {
		return fmt.Errorf("%s: want a value", v)
	}
	return c(v)
}

// lasting are the attributes that every job has.
var lasting = map[string]bool{
	"requirements": true, "rank": true, "cmd": true, "iwd": true, "in": true, "out": true, "err": true,
	"jobnotification": true,
}

// watched are the attributes with clusters that are looked up as the change is made.
var watched = map[string]bool{"afterok": true, "afterany": true}

// number is an attribute that has to be a whole number as it stands.
type number struct {
	least, most int64
	optional    bool   // undefined takes it back
	what        string // it is; empty: nothing in particular
}

var (
	priority = number{math.MinInt32, math.MaxInt32, true, ""}
	exitCode = number{math.MinInt32, math.MaxInt32, true, ""}
	count    = number{0, math.MaxInt64, true, ""}
	shares   = number{0, sge.MostShares, true, ""}
)

// fixedNumbers are the attributes that the pool reads without evaluating the job's other
// attributes.
var fixedNumbers = map[string]number{
	"jobprio":     {math.MinInt32, math.MaxInt32, false, ""},
	"prejobprio1": priority, "prejobprio2": priority, "postjobprio1": priority, "postjobprio2": priority,
	"jobmaxretries": {0, math.MaxInt32, true, ""}, "jobsuccessexitcode": exitCode,
	"eligiblesince": count, "bypasscount": count,
	"jobshare": shares, "overridetickets": shares, "deadline": {0, LastDeadline, true, "Unix seconds, for which prio -dl reads a time: "},
}

func (n number) check(e *classad.Expr) error {
	if c, constant := e.Constant(); n.optional && constant && c.Kind() == classad.KindUndefined {
		return nil
	}
	_, others := classad.References(e, classad.New())
	clock, chance := classad.Varies(e, nil, nil)
	x, isInt := e.Eval(&classad.Context{}, classad.New(), nil).Int()
	switch {
	case isInt && x >= n.least && x <= n.most && len(others) == 0 && !clock && !chance:
		return nil
	case n.most == math.MaxInt64:
		return fmt.Errorf("%s: want a whole number from %d up", submitfile.Shorten(e.String()), n.least)
	}
	return fmt.Errorf("%s: want %sa whole number from %d to %d", submitfile.Shorten(e.String()), n.what, n.least, n.most)
}
