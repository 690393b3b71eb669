package maui

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"fairspool/lib/accountant"
	"fairspool/lib/config"
	"fairspool/lib/maui"
	"fairspool/lib/policy/maui/mauicfg"
)

// Keys is every key of the table [maui], in the order of the manual page, except those
// that contain the name of a credential: parameters of maui.cfg under their own names.
// The keys in maui.Parameters come last.
var Keys = append([]config.Key{
	{Name: fileKey, Kind: config.String, Default: "", Check: config.FileName,
		Help: "A maui.cfg that is read first, relative to the folder of this file; the table overrides it. Empty: none.",
		Set:  func(c *config.Config, v any) { settingsOf(c).file = v.(string) }},
	{Name: compatibilityKey, Kind: config.String, Default: "", Choices: []string{"", version},
		Help: "Whether to do as Maui 3.3.1 did where that contradicts its manual.",
		Set:  func(c *config.Config, v any) { Settings(c).Compatible = v == version }},
	{Name: "XFMINWCLIMIT", Kind: config.Time, Default: 120.0, Unit: "s", Least: 0, Most: config.MaxSeconds,
		Help: "The smallest time limit that the expansion factor divides by. 0: none.",
		Set:  func(c *config.Config, v any) { Settings(c).XFMinWCLimit = config.Duration(v) }},
	{Name: "JOBPRIOACCRUALPOLICY", Kind: config.String, Default: "QUEUEPOLICY", Choices: accruals,
		Help: "Which time counts as waited: all, the time in which no limit such as MAXIJOB keeps the job out, or the time in which nothing does.",
		Set:  func(c *config.Config, v any) { Settings(c).Accrual = maui.Accrual(slices.Index(accruals, v.(string))) }},
	{Name: "USESYSTEMQUEUETIME", Kind: config.Boolean, Default: true,
		Help: "Whether JOBPRIOACCRUALPOLICY applies. If false, all time since the submission counts as waited.",
		Set:  func(c *config.Config, v any) { Settings(c).UseSystemQueueTime = v.(bool) }},
	{Name: "ENABLENEGJOBPRIORITY", Kind: config.Boolean, Default: false,
		Help: "Whether priorities may be below 1.",
		Set:  func(c *config.Config, v any) { Settings(c).EnableNegative = v.(bool) }},
	{Name: "REJECTNEGPRIOJOBS", Kind: config.Boolean, Default: false,
		Help: "Whether jobs with a priority below 0 are left out.",
		Set:  func(c *config.Config, v any) { Settings(c).RejectNegative = v.(bool) }},
	{Name: "FSPOLICY", Kind: config.String, Default: "NONE", Choices: sharePolicies(),
		Help: "What fair share compares: processors times time, processor equivalents times time, or processor time used; with % as a ratio to the target.",
		Set:  func(c *config.Config, v any) { setFSPolicy(Settings(c), v.(string)) }},
	{Name: "FSINTERVAL", Kind: config.Time, Default: accountant.DefaultInterval.Seconds(), Unit: "s", Least: 1, Most: config.MaxSeconds,
		Help: "The length of each fair share window; windows are aligned to 1970-01-01 00:00 UTC.",
		Set:  func(c *config.Config, v any) { Settings(c).Windows.Interval = config.Duration(v) }},
	{Name: "FSDEPTH", Kind: config.Integer, Default: int64(accountant.DefaultDepth), Unit: "windows", Least: 1, Most: accountant.MaxDepth,
		Help: "The number of fair share windows, the present one included.",
		Set:  func(c *config.Config, v any) { Settings(c).Windows.Depth = int(v.(int64)) }},
	{Name: "FSDECAY", Kind: config.Real, Default: 1.0, Least: 0, Most: 1,
		Help: "The weight of a fair share window relative to the next newer one.",
		Set:  func(c *config.Config, v any) { Settings(c).Windows.Decay = v.(float64) }},
}, weights()...)

const (
	fileKey          = "maui_cfg"
	compatibilityKey = "COMPATIBILITY"
	version          = "3.3.1"
)

// accruals are the values of JOBPRIOACCRUALPOLICY, by maui.Accrual.
var accruals = []string{"ALWAYS", "QUEUEPOLICY", "FULLPOLICY"}

// shareWords are the words of FSPOLICY, by maui.FSPolicy.
var shareWords = []string{"NONE", "DEDICATEDPS", "DEDICATEDPES", "UTILIZEDPS"}

// sharePolicies are the values of FSPOLICY.
func sharePolicies() []string {
	all := slices.Clone(shareWords)
	for _, p := range shareWords[1:] {
		all = append(all, p+"%")
	}
	return all
}

// setFSPolicy takes one of sharePolicies.
func setFSPolicy(m *maui.Config, policy string) {
	word, ratio := strings.CutSuffix(policy, "%")
	m.FSPolicy, m.FSRatio = maui.FSPolicy(slices.Index(shareWords, word)), ratio
}

// aliases are names that Maui's manual and real files have for parameters which Maui
// 3.3.1 knows by another name only.
var aliases = map[string]string{
	"SERVWEIGHT": "SERVICEWEIGHT", "SERVCAP": "SERVICEWCAP", "SERVICECAP": "SERVICEWCAP",
	"TARGWEIGHT": "TARGETWEIGHT", "TARGCAP": "TARGETCAP", "RESOURCEWEIGHT": "RESWEIGHT", "MEMORYWEIGHT": "MEMWEIGHT",
	"USAGEPERCENTWEIGHT": "PERCENTWEIGHT", "USAGECONSUMEDWEIGHT": "CONSUMEDWEIGHT", "USAGEREMAININGWEIGHT": "REMAININGWEIGHT",
}

// older are parameters of older versions, with what says the same today.
var older = map[string]string{
	"UFSWEIGHT": "FSUSERWEIGHT", "GFSWEIGHT": "FSGROUPWEIGHT", "AFSWEIGHT": "FSACCOUNTWEIGHT",
	"QUEUETIMETARGETWEIGHT": "TARGETQUEUETIMEWEIGHT", "XFACTORTARGETWEIGHT": "TARGETXFACTORWEIGHT",
	"SERVICETARGETWEIGHT": "TARGETWEIGHT", "DIRECTSPECWEIGHT": "CREDWEIGHT",
	"QOSPRIORITY": "QOSCFG[NAME] PRIORITY=", "QOSQTWEIGHT": "QOSCFG[NAME] QTWEIGHT=", "QOSXFWEIGHT": "QOSCFG[NAME] XFWEIGHT=",
	"QOSTARGETQT": "QOSCFG[NAME] QTTARGET=", "QOSTARGETXF": "QOSCFG[NAME] XFTARGET=",
}

// skipped are parameters for running Maui itself: its connections, its output, its
// simulations.
var skipped = config.LaterNames(`
	SERVERCONFIGFILE SERVERHOMEDIR SERVERHOST SERVERMODE SERVERNAME SERVERPORT STEPCOUNT SCHEDCFG
	ADMIN1 ADMIN2 ADMIN3 ADMIN4 ADMINCFG ADMINHOST ADMINHOSTS ADMINS
	LOGDIR LOGFACILITY LOGFILE LOGFILEMAXSIZE LOGFILEROLLDEPTH LOGLEVEL USESYSLOG
	LOCKFILE STATDIR TOOLSDIR MAILPROGRAM NOTIFICATIONINTERVAL NOTIFICATIONPROGRAM NOTIFYSCRIPT FEEDBACKPROGRAM
	CHECKPOINTEXPIRATIONTIME CHECKPOINTFILE CHECKPOINTINTERVAL CPEXPIRATIONTIME CPFILE CPINTERVAL
	CLIENTCFG CLIENTTIMEOUT DEFAULTDOMAIN DEFAULTQMHOST DIRECTORYSERVER DISPLAYFLAGS EVENTSERVER MCSOCKETPROTOCOL
	RMCFG RMAUTHTYPE RMCONFIGFILE RMEPORT RMHOST RMLOCALDISKFS RMNAME RMNMPORT RMPOLLINTERVAL RMPORT RMSERVER
	RMTIMEOUT RMTYPE APIFAILURETHRESHHOLD REMOTESTARTCOMMAND MACHINECONFIGFILE COMPUTEHOSTS
	JOBAGGREGATIONTIME JOBPURGETIME JOBSYNCDEADLINE JOBSYNCTIME MAXSLEEPITERATION
	NODEPOLLFREQUENCY NODEPURGETIME NODESYNCDEADLINE NODESYNCTIME PURGETIME RESDEPTH
	PLOTMAXPROC PLOTMAXTIME PLOTMINPROC PLOTMINTIME PLOTPROCSCALE PLOTTIMESCALE
	RESOURCECOLLECTIONPOLICY RESOURCEDAEMON RESOURCEDATAFILE RESOURCELOCKFILE RESOURCEPORT RESOURCEREPORTWAIT
	RESOURCESAMPLEINTERVAL TRAPFUNCTION TRAPJOB TRAPNODE TRAPRES
	COMINTERFRAMECOST COMINTRAFRAMECOST SIMAUTOSHUTDOWN SIMCHECKPOINTINTERVAL SIMCOMRATE SIMCOMTYPE
	SIMCPUSCALINGPERCENT SIMDEFAULTJOBFLAGS SIMEXITITERATION SIMFLAGS SIMIGNOREJOBFLAGS SIMINITIALQUEUEDEPTH
	SIMJOBSUBMISSIONPOLICY SIMNODECONFIGURATION SIMNODECOUNT SIMRANDOMIZEJOBSIZE SIMRESOURCETRACEFILE
	SIMRMRANDOMDELAY SIMSCALEJOBRUNTIME SIMSTARTTIME SIMSTOPITERATION SIMTIMEPOLICY SIMTIMERATIO SIMWCACCURACY
	SIMWCACCURACYCHANGE SIMWCSCALINGPERCENT SIMWORKLOADTRACEFILE`)

// later are parameters that decide which jobs run, when and where, and that this version
// does not serve, and the parameters of skipped. Sources: the table of parameters of Maui
// 3.3.1, and appendix F of its manual.
var later = withSkipped(config.LaterNames(`
	FSENFORCEMENT=NONE FSCONFIGFILE FSQOSTARGET FSSECONDARYGROUPS=false JOBPRIOF=NONE JOBSIZEPOLICY=NONE
	BACKFILLPOLICY=NONE BACKFILLDEPTH=0 BACKFILLMAXSCHEDULES BACKFILLMETRIC BACKFILLPROCFACTOR=0 BACKFILLTYPE=NONE
	BFCHUNKDURATION=0 BFCHUNKSIZE=0 BFPRIORITYPOLICY=NONE
	RESERVATIONPOLICY=NEVER RESERVATIONDEPTH=0 RESERVATIONQOSLIST=[ALL] RESERVATIONRETRYTIME=0
	RESERVATIONTHRESHOLDTYPE=NONE RESERVATIONTHRESHOLDVALUE=0 RESCTLPOLICY=ADMINONLY
	SRCFG SRACCESS SRACCOUNTLIST SRCHARGEACCOUNT SRCLASSLIST SRDAYS SRDEPTH SRENDTIME SRFEATURES SRFLAGS SRGROUPLIST
	SRHOSTLIST SRIDLETIME SRMAXTASKS SRMAXTIME SRMINLOAD SRMINTASKS SRNAME SRPARTITION SRPERIOD SRPRIORITY SRQOSLIST
	SRRESOURCES SRSTARTTIME SRTASKCOUNT SRTIMELOGIC SRTPN SRUSERLIST SRWENDTIME SRWSTARTTIME
	MAXJOB=0 MAXPROC=0 MAXPS=0 MAXPE=0 MAXNODE=0 MAXWC=0 MAXMEM=0
	MAXIJOB=0 MAXIPROC=0 MAXIPS=0 MAXIPE=0 MAXINODE=0 MAXIWC=0 MAXIMEM=0 MAXJOBPERITERATION=0 METAMAXTASKS=0
	MAXJOBPERACCOUNTCOUNT=0 MAXJOBPERGROUPCOUNT=0 MAXJOBPERUSERCOUNT=0 MAXNODEPERUSERCOUNT=0 MAXPEPERUSERCOUNT=0
	MAXJOBQUEUEDPERACCOUNTCOUNT=0 MAXJOBQUEUEDPERGROUPCOUNT=0 MAXJOBQUEUEDPERUSERCOUNT=0 MAXPSPERUSER=0 MAXWCPERUSER=0
	MAXPROCPERACCOUNTCOUNT=0 MAXPROCPERGROUPCOUNT=0 MAXPROCPERUSERCOUNT=0
	MAXPROCSECONDPERACCOUNTCOUNT=0 MAXPROCSECONDPERGROUPCOUNT=0 MAXPROCSECONDPERUSERCOUNT=0
	MAXJOBPERACCOUNTPOLICY=false MAXJOBPERGROUPPOLICY=false MAXJOBPERUSERPOLICY=false MAXNODEPERUSERPOLICY=false
	MAXJOBQUEUEDPERACCOUNTPOLICY=false MAXJOBQUEUEDPERGROUPPOLICY=false MAXJOBQUEUEDPERUSERPOLICY=false MAXPEPERUSERPOLICY=false
	MAXPROCPERACCOUNTPOLICY=false MAXPROCPERGROUPPOLICY=false MAXPROCPERUSERPOLICY=false
	MAXPROCSECONDPERACCOUNTPOLICY=false MAXPROCSECONDPERGROUPPOLICY=false MAXPROCSECONDPERUSERPOLICY=false
	SMAXJOBPERACCOUNTCOUNT=0 SMAXJOBPERGROUPCOUNT=0 SMAXJOBPERUSERCOUNT=0 SMAXNODEPERUSERCOUNT=0 SMAXPEPERUSERCOUNT=0
	SMAXJOBQUEUEDPERACCOUNTCOUNT=0 SMAXJOBQUEUEDPERGROUPCOUNT=0 SMAXJOBQUEUEDPERUSERCOUNT=0
	SMAXPROCPERACCOUNTCOUNT=0 SMAXPROCPERGROUPCOUNT=0 SMAXPROCPERUSERCOUNT=0
	SMAXPROCSECONDPERACCOUNTCOUNT=0 SMAXPROCSECONDPERGROUPCOUNT=0 SMAXPROCSECONDPERUSERCOUNT=0
	SYSCFG=PLIST= SYSTEMDEFAULTJOBWALLTIME SYSTEMMAXJOBWALLTIME=-1 SYSTEMMAXPROCPERJOB=-1 SYSTEMMAXPROCSECONDPERJOB=-1
	AMCFG=TYPE=NONE BANKAPPENDMACHINENAME BANKCHARGEPOLICY=NONE BANKDEFERONJOBFAILURE=false BANKFALLBACKACCOUNT BANKFLUSHINTERVAL
	BANKHOST BANKPORT BANKPROTOCOL BANKSERVER BANKTIMEOUT BANKTYPE=NONE DEFAULTACCOUNT DEFAULTCLASSLIST
	DEFERCOUNT DEFERSTARTCOUNT DEFERTIME=0 JOBMAXOVERRUN=0 JOBMAXSTARTTIME=-1 MINADMINSTIME=0 MINDISPATCHTIME=0
	RESLIMITPOLICY=NONE RESOURCELIMITPOLICY=NONE PREEMPTPOLICY WCVIOLATIONACTION
	ENABLEMULTINODEJOBS=false ENABLEMULTIREQJOBS=false JOBNODEMATCHPOLICY=NONE TASKDISTRIBUTIONPOLICY=DEFAULT
	ALLOCLOCALITYPOLICY NODEACCESSPOLICY=SHARED NODEALLOCMAXPS=0 NODEALLOCATIONPOLICY NODEAVAILABILITYPOLICY NODECFG
	NODECPUOVERCOMMITFACTOR=1 NODEMEMOVERCOMMITFACTOR=1 NODEDOWNSTATEDELAYTIME=0 DOWNNODEDELAYTIME NODELOADPOLICY
	NODEMAXLOAD=0 NODESETATTRIBUTE=NONE NODESETDELAY=0 NODESETLIST NODESETPOLICY=NONE NODESETPRIORITYTYPE
	NODESETTOLERANCE=0 NODEUNTRACKEDLOADFACTOR
	FEATURENODETYPEHEADER FEATUREPARTITIONHEADER FEATUREPROCSPEEDHEADER PARIGNQUEUELIST IGNPBSGROUPLIST
	QOSFEATURES=[ANY] QOSFLAGS QOSNAME USECPUTIME=false USEJOBREGEX=false USELOCALMACHINEPRIORITY=false
	USEMACHINESPEED=false USEMACHINESPEEDFORFS=false`))

func withSkipped(keys func() config.LaterKeys) func() config.LaterKeys {
	return sync.OnceValue(func() config.LaterKeys {
		all := maps.Clone(keys())
		maps.Copy(all, skipped())
		return all
	})
}

// keyOf returns the key of [maui] with the name.
func keyOf(name string) (config.Key, bool) {
	i := slices.IndexFunc(Keys, func(k config.Key) bool { return k.Name == name })
	if i < 0 {
		return config.Key{}, false
	}
	return Keys[i], true
}

// lineNames returns all names that a line of a maui.cfg may begin with, those that are served first.
func lineNames() []string {
	return slices.Concat(config.KeyNames(Keys[1:]), credentialKinds, slices.Sorted(maps.Keys(later())))
}

// read reads the text behind the key in a maui.cfg, in the type of Default. note
// describes oddities of the text; without ok the key stays as it was.
func read(k config.Key, text string, compatible bool) (v any, note string, ok bool) {
	switch k.Kind {
	case config.Integer:
		return readInteger(k, text)
	case config.Real:
		x, note, ok := fraction(text)
		return bounded(k, x, note, ok)
	case config.Time:
		d, note, ok := mauicfg.Time(text)
		return bounded(k, d.Seconds(), note, ok)
	case config.Boolean:
		yes, note := mauicfg.Bool(text)
		return yes, note, true
	}
	return readWord(k, text, compatible)
}

const unsetNote = "-1 means unset, and has no effect; other numbers below 0 count"

func readInteger(k config.Key, text string) (v any, note string, ok bool) {
	n, note, ok := mauicfg.Int(text)
	switch {
	case strings.HasPrefix(text, `"`):
		return n, fmt.Sprintf("%s: quotes are not removed; read as 0", text), true
	case strings.HasSuffix(text, "%"):
		return n, fmt.Sprintf("%q: a percentage of the priority is not part of this version", text), false
	case ok && n == unsetWeight && isSubWeight(k.Name):
		return n, unsetNote, false
	}
	if note != "" && n <= 0 && strings.HasSuffix(k.Name, "CAP") {
		note += "; 0 and below are no cap"
	}
	written := fmt.Sprint(n)
	if n == math.MaxInt64 || n == math.MinInt64 {
		written = strconv.Quote(text) // the nearest that there is, and not what stands there
	}
	switch most, least := int64(k.Most), int64(k.Least); {
	case ok && n > most:
		return most, fmt.Sprintf("%s: read as %d, the greatest there is", written, most), true
	case ok && n < least:
		return n, fmt.Sprintf("%s: want %s; not read", written, k.Range()), false
	}
	return n, note, ok
}

// bounded cuts a number down to the greatest that the key may be. Below the least it is
// not taken.
func bounded(k config.Key, x float64, note string, ok bool) (any, string, bool) {
	switch {
	case !ok:
	case x > k.Most:
		return k.Most, fmt.Sprintf("%s: read as %s, the greatest there is", config.Number(x), config.Number(k.Most)), true
	case x < k.Least:
		return x, fmt.Sprintf("%s: want %s; not read", config.Number(x), k.Range()), false
	}
	return x, note, ok
}

// readWord reads one of the key's choices.
func readWord(k config.Key, text string, compatible bool) (v any, note string, ok bool) {
	word, rest, _ := strings.Cut(text, " ")
	if rest != "" {
		note = fmt.Sprintf("%q: read as %s; what stands behind it does not count", text, word)
	}
	if upper := strings.ToUpper(word); !compatible && word != upper && slices.Contains(k.Choices, upper) {
		word, note = upper, fmt.Sprintf("%q: read as %s", text, upper)
	}
	if yes, _ := mauicfg.Bool(word); yes && k.Name == "FSPOLICY" {
		return shareWords[1], fmt.Sprintf("%q: read as %s", text, shareWords[1]), true
	}
	if !slices.Contains(k.Choices, word) {
		return nil, fmt.Sprintf("%q: not read: want %s", text, strings.Join(k.Choices, ", ")), false
	}
	return word, note, true
}

// mostWeight keeps every product of a weight with a number of a job's exact enough, and
// within the range of numbers.
const mostWeight = 1e12

// unsetWeight is what Maui takes for no weight at all where a subcomponent has it.
const unsetWeight = -1

// weights are the weights and caps as keys, the components' first.
func weights() []config.Key {
	var keys []config.Key
	add := func(p maui.Parameters, initial maui.Term, of func(*maui.Config) *maui.Term, unset bool) {
		keys = append(keys, config.Key{Name: p.Weight, Kind: config.Integer, Default: initial.Weight, Least: -mostWeight, Most: mostWeight,
			Help: "The weight of this number: " + p.Counts + ".",
			Set: func(c *config.Config, v any) {
				if n := v.(int64); !unset || n != unsetWeight {
					of(Settings(c)).Weight = n
				}
			}})
		if p.Cap != "" {
			keys = append(keys, config.Key{Name: p.Cap, Kind: config.Integer, Default: initial.Cap, Least: -mostWeight, Most: mostWeight,
				Help: "The largest value, before it is weighted, of this number: " + p.Counts + ". 0 and below: no limit.",
				Set:  func(c *config.Config, v any) { of(Settings(c)).Cap = max(v.(int64), 0) }})
		}
	}
	initial := maui.Default()
	for i := range maui.Components {
		add(i.Parameters(), initial.Components[i], func(m *maui.Config) *maui.Term { return &m.Components[i] }, false)
	}
	for i := range maui.Subs {
		add(i.Parameters(), initial.Subs[i], func(m *maui.Config) *maui.Term { return &m.Subs[i] }, true)
	}
	return keys
}

// isSubWeight reports whether a key is the weight of a subcomponent.
func isSubWeight(name string) bool {
	for sub := range maui.Subs {
		if sub.Parameters().Weight == name {
			return true
		}
	}
	return false
}
