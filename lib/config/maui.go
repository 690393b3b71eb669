package config

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"fairspool/lib/accountant"
	"fairspool/lib/maui"
	"fairspool/lib/maui/mauicfg"
)

// MauiKeys is every key of the table [maui], in the order of the manual page, save those
// with somebody's name in them: parameters of maui.cfg under their own names. Those of
// maui.Parameters come last.
var MauiKeys = append([]Key{
	{Name: mauiFile, Kind: String, Default: "", check: fileName,
		Help: "A maui.cfg that is read first; what the table says counts for more. Relative to the folder of this file. Empty: none.",
		set:  func(c *Config, v any) { c.MauiFile = v.(string) }},
	{Name: mauiCompatibility, Kind: String, Default: "", Choices: []string{"", mauiVersion},
		Help: "Whether to do as Maui 3.3.1 did also where that contradicts its own manual.",
		set:  func(c *Config, v any) { c.Maui.Compatible = v == mauiVersion }},
	{Name: "XFMINWCLIMIT", Kind: Time, Default: 120.0, Unit: "s", Least: 0, Most: maxSeconds,
		Help: "The least time limit that the expansion factor divides by. 0: none.",
		set:  func(c *Config, v any) { c.Maui.XFMinWCLimit = seconds(v) }},
	{Name: "JOBPRIOACCRUALPOLICY", Kind: String, Default: "QUEUEPOLICY", Choices: mauiAccruals,
		Help: "Which time counts as waited: all; that in which no MAXIJOB and the like keeps the job out; that in which nothing does.",
		set:  func(c *Config, v any) { c.Maui.Accrual = maui.Accrual(slices.Index(mauiAccruals, v.(string))) }},
	{Name: "USESYSTEMQUEUETIME", Kind: Boolean, Default: true,
		Help: "Whether what JOBPRIOACCRUALPOLICY says counts. If false, all time since the job was submitted does.",
		set:  func(c *Config, v any) { c.Maui.UseSystemQueueTime = v.(bool) }},
	{Name: "ENABLENEGJOBPRIORITY", Kind: Boolean, Default: false,
		Help: "Whether priorities may be below 1.",
		set:  func(c *Config, v any) { c.Maui.EnableNegative = v.(bool) }},
	{Name: "REJECTNEGPRIOJOBS", Kind: Boolean, Default: false,
		Help: "Whether jobs of a priority below 0 are left out.",
		set:  func(c *Config, v any) { c.Maui.RejectNegative = v.(bool) }},
	{Name: "FSPOLICY", Kind: String, Default: "NONE", Choices: mauiPolicies(),
		Help: "What fair share compares: processors times time, processor equivalents times time, or processor time used; with % it compares by the ratio to the target.",
		set:  func(c *Config, v any) { c.setFSPolicy(v.(string)) }},
	{Name: "FSINTERVAL", Kind: Time, Default: accountant.DefaultInterval.Seconds(), Unit: "s", Least: 1, Most: maxSeconds,
		Help: "How long each fair share window is. Windows are aligned to midnight UTC of 1 January 1970.",
		set:  func(c *Config, v any) { c.Maui.Windows.Interval = seconds(v) }},
	{Name: "FSDEPTH", Kind: Integer, Default: int64(accountant.DefaultDepth), Unit: "windows", Least: 1, Most: accountant.MaxDepth,
		Help: "How many windows are kept and count, the one that is not over yet among them.",
		set:  func(c *Config, v any) { c.Maui.Windows.Depth = int(v.(int64)) }},
	{Name: "FSDECAY", Kind: Real, Default: 1.0, Least: 0, Most: 1,
		Help: "What a window counts in comparison with the next newer one.",
		set:  func(c *Config, v any) { c.Maui.Windows.Decay = v.(float64) }},
}, mauiWeights()...)

const (
	mauiFile          = "maui_cfg"
	mauiCompatibility = "COMPATIBILITY"
	mauiVersion       = "3.3.1"
)

// mauiAccruals are the values of JOBPRIOACCRUALPOLICY, by maui.Accrual.
var mauiAccruals = []string{"ALWAYS", "QUEUEPOLICY", "FULLPOLICY"}

// mauiShares are the words of FSPOLICY, by maui.FSPolicy.
var mauiShares = []string{"NONE", "DEDICATEDPS", "DEDICATEDPES", "UTILIZEDPS"}

// mauiPolicies are the values of FSPOLICY.
func mauiPolicies() []string {
	all := slices.Clone(mauiShares)
	for _, p := range mauiShares[1:] {
		all = append(all, p+"%")
	}
	return all
}

// setFSPolicy takes one of mauiPolicies.
func (c *Config) setFSPolicy(policy string) {
	word, ratio := strings.CutSuffix(policy, "%")
	c.Maui.FSPolicy, c.Maui.FSRatio = maui.FSPolicy(slices.Index(mauiShares, word)), ratio
}

// mauiTime reads a time as maui.cfg has it, seconds or [DD:]HH:MM:SS, in seconds.
// Fields may be above 59. Two fields are refused: Maui's manual takes them for
// minutes and seconds, Maui itself for hours and minutes.
func mauiTime(s string) (float64, error) {
	switch sum, fields, ok := mauicfg.Seconds(s); {
	case fields == 2:
		return 0, fmt.Errorf("%q: minutes or hours? want seconds, HH:MM:SS or DD:HH:MM:SS", s)
	case !ok:
		return 0, fmt.Errorf("%q: want seconds, HH:MM:SS or DD:HH:MM:SS", s)
	default:
		return sum, nil
	}
}

// timeValue returns the seconds that a key of kind Time is set to.
func (k Key) timeValue(v any) (any, error) {
	s, ok := v.(string)
	if !ok {
		return k.number(v)
	}
	n, err := mauiTime(s)
	if err != nil {
		return nil, err
	}
	if _, err := k.number(n); err != nil {
		return nil, fmt.Errorf("%q: %w seconds", s, err)
	}
	return n, nil
}

// mauiAliases are names that Maui's manual and real files have for parameters which Maui
// 3.3.1 knows by another name only.
var mauiAliases = map[string]string{
	"SERVWEIGHT": "SERVICEWEIGHT", "SERVCAP": "SERVICEWCAP", "SERVICECAP": "SERVICEWCAP",
	"TARGWEIGHT": "TARGETWEIGHT", "TARGCAP": "TARGETCAP", "RESOURCEWEIGHT": "RESWEIGHT", "MEMORYWEIGHT": "MEMWEIGHT",
	"USAGEPERCENTWEIGHT": "PERCENTWEIGHT", "USAGECONSUMEDWEIGHT": "CONSUMEDWEIGHT", "USAGEREMAININGWEIGHT": "REMAININGWEIGHT",
}

// mauiOlder are parameters of older versions, with what says the same today.
var mauiOlder = map[string]string{
	"UFSWEIGHT": "FSUSERWEIGHT", "GFSWEIGHT": "FSGROUPWEIGHT", "AFSWEIGHT": "FSACCOUNTWEIGHT",
	"QUEUETIMETARGETWEIGHT": "TARGETQUEUETIMEWEIGHT", "XFACTORTARGETWEIGHT": "TARGETXFACTORWEIGHT",
	"SERVICETARGETWEIGHT": "TARGETWEIGHT", "DIRECTSPECWEIGHT": "CREDWEIGHT",
	"QOSPRIORITY": "QOSCFG[NAME] PRIORITY=", "QOSQTWEIGHT": "QOSCFG[NAME] QTWEIGHT=", "QOSXFWEIGHT": "QOSCFG[NAME] XFWEIGHT=",
	"QOSTARGETQT": "QOSCFG[NAME] QTTARGET=", "QOSTARGETXF": "QOSCFG[NAME] XFTARGET=",
}

// skippedMaui are parameters that say how Maui itself runs: whom it talks to, what it writes,
// what it simulates.
var skippedMaui = laterNames(`
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

// laterMaui are parameters that decide which jobs run, when and where, and that this version
// does not serve, and those of skippedMaui. Sources: the table of parameters of Maui 3.3.1, and
// appendix F of its manual.
var laterMaui = withSkipped(laterNames(`
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

func withSkipped(keys func() laterKeys) func() laterKeys {
	return sync.OnceValue(func() laterKeys {
		all := maps.Clone(keys())
		maps.Copy(all, skippedMaui())
		return all
	})
}

// mauiKey returns the key of [maui] with the name.
func mauiKey(name string) (Key, bool) {
	i := slices.IndexFunc(MauiKeys, func(k Key) bool { return k.Name == name })
	if i < 0 {
		return Key{}, false
	}
	return MauiKeys[i], true
}

// mauiNames returns all names that a line of a maui.cfg may begin with, those that are served first.
func mauiNames() []string {
	return slices.Concat(namesOf(MauiKeys[1:]), credentialKinds, slices.Sorted(maps.Keys(laterMaui())))
}

// mauiValue reads what stands behind the key in a maui.cfg, in the type of Default. note is
// what is odd about it; without ok the key stays as it was.
func (k Key) mauiValue(text string, compatible bool) (v any, note string, ok bool) {
	switch k.Kind {
	case Integer:
		return k.mauiInteger(text)
	case Real:
		x, note, ok := fraction(text)
		return k.mauiBounded(x, note, ok)
	case Time:
		d, note, ok := mauicfg.Time(text)
		return k.mauiBounded(d.Seconds(), note, ok)
	case Boolean:
		yes, note := mauicfg.Bool(text)
		return yes, note, true
	}
	return k.mauiWord(text, compatible)
}

const unsetNote = "-1 means unset, and has no effect; other numbers below 0 count"

func (k Key) mauiInteger(text string) (v any, note string, ok bool) {
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

// mauiBounded cuts a number down to the greatest that the key may be. Below the least it is
// not taken.
func (k Key) mauiBounded(x float64, note string, ok bool) (any, string, bool) {
	switch {
	case !ok:
	case x > k.Most:
		return k.Most, fmt.Sprintf("%s: read as %s, the greatest there is", number(x), number(k.Most)), true
	case x < k.Least:
		return x, fmt.Sprintf("%s: want %s; not read", number(x), k.Range()), false
	}
	return x, note, ok
}

// mauiWord reads one of the key's choices.
func (k Key) mauiWord(text string, compatible bool) (v any, note string, ok bool) {
	word, rest, _ := strings.Cut(text, " ")
	if rest != "" {
		note = fmt.Sprintf("%q: read as %s; what stands behind it does not count", text, word)
	}
	if upper := strings.ToUpper(word); !compatible && word != upper && slices.Contains(k.Choices, upper) {
		word, note = upper, fmt.Sprintf("%q: read as %s", text, upper)
	}
	if yes, _ := mauicfg.Bool(word); yes && k.Name == "FSPOLICY" {
		return mauiShares[1], fmt.Sprintf("%q: read as %s", text, mauiShares[1]), true
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

// mauiWeights are the weights and caps as keys, those of components first.
func mauiWeights() []Key {
	var keys []Key
	add := func(p maui.Parameters, initial maui.Term, of func(*Config) *maui.Term, unset bool) {
		keys = append(keys, Key{Name: p.Weight, Kind: Integer, Default: initial.Weight, Least: -mostWeight, Most: mostWeight,
			Help: "What a point counts of: " + p.Counts + ".",
			set: func(c *Config, v any) {
				if n := v.(int64); !unset || n != unsetWeight {
					of(c).Weight = n
				}
			}})
		if p.Cap != "" {
			keys = append(keys, Key{Name: p.Cap, Kind: Integer, Default: initial.Cap, Least: -mostWeight, Most: mostWeight,
				Help: "No more than this counts of: " + p.Counts + ", before it is weighed. 0 and below: no bound.",
				set:  func(c *Config, v any) { of(c).Cap = max(v.(int64), 0) }})
		}
	}
	initial := maui.Default()
	for i := range maui.Components {
		add(i.Parameters(), initial.Components[i], func(c *Config) *maui.Term { return &c.Maui.Components[i] }, false)
	}
	for i := range maui.Subs {
		add(i.Parameters(), initial.Subs[i], func(c *Config) *maui.Term { return &c.Maui.Subs[i] }, true)
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
