package config

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"

	"fairspool/lib/accountant"
	"fairspool/lib/jobevent"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
)

// Kind says what values a key takes.
type Kind uint8

// The kinds of keys. Seconds are a number, whole or not, and a Time is the same or
// [DD:]HH:MM:SS in a string; an Expression is the text of a ClassAd expression, and an
// Amount is one or a whole number;
// Names is an array of strings, and Words is the same or one string, of words with
// blanks between. Resources is a table of Cpus and Memory, both whole numbers.
const (
	Real Kind = iota + 1
	Integer
	Seconds
	Boolean
	String
	Expression
	Names
	Words
	Time
	Amount
	Resources
)

var kindNames = [...]string{
	Real: "number", Integer: "whole number", Seconds: "number of seconds", Boolean: "true or false",
	String: "string", Expression: "expression in a string", Names: "array of strings",
	Words: "array of strings, or a string of words",
	Time:  "number of seconds or time in a string", Amount: "whole number, or expression in a string",
	Resources: "table of Cpus and Memory",
}

// String returns the kind as messages and the manual page call it.
func (k Kind) String() string {
	if k < Real || k > Resources {
		return "Kind(?)"
	}
	return kindNames[k]
}

// wanted returns the kind for the sentence "want ...".
func (k Kind) wanted() string {
	switch k {
	case Boolean:
		return k.String()
	case Names, Words, Expression:
		return "an " + k.String()
	}
	return "a " + k.String()
}

// Key describes a key of the configuration file, at the top or in a table.
type Key struct {
	Name string
	Kind Kind
	// Default is the value without the key: a float64 for Real, Seconds and Time,
	// an int64, a bool, a string, a []string, or a map[string]int64, as Kind says. An Amount is a string.
	Default any
	// Unit is the unit of a number, empty for a plain one.
	Unit string
	// Least and Most bound a number, both included.
	Least, Most float64
	// Choices lists the only values of a String, if not empty.
	Choices []string
	// MayBeEmpty allows an Expression to be empty though its Default is not.
	MayBeEmpty bool
	// Help explains the key, in one or two sentences.
	Help string

	// Check returns why a string is refused; nil accepts all.
	Check func(string) error
	// Set stores a checked value, of the type of Default; nil: Text and Expr read it.
	Set func(*Config, any)
}

// Range returns the permitted values for people: "1 to 1000000" or
// `"condor"`; empty when the kind says it all.
func (k Key) Range() string {
	switch {
	case len(k.Choices) > 0:
		return `"` + strings.Join(k.Choices, `", "`) + `"`
	case k.Kind != Real && k.Kind != Integer && k.Kind != Seconds && k.Kind != Time && k.Kind != Amount:
		return ""
	}
	return Number(k.Least) + " to " + Number(k.Most)
}

const (
	// MaxSeconds, 30 years and more, keeps every sum of times a time.
	MaxSeconds = 1e9
	// MaxFactor keeps every product with a priority within the range of numbers.
	MaxFactor = 1e100
	// maxSpoolBytes is more than any disk has.
	maxSpoolBytes = 1e15
	// MaxInteger is the largest integer that a 32-bit reader of ads takes.
	MaxInteger = math.MaxInt32
)

// The ranks of HTCondor's manual, section on the negotiator's macros: an unclaimed slot
// before a claimed one, the smallest that fits before larger ones; then the fastest
// machine. The value of being unclaimed is ours: HTCondor adds no more than 1000000 for
// it, so that an unclaimed slot with ten cores more than a claimed one loses to it, and a
// job is preempted while a matching slot is idle.
const (
	defaultPreJobRank  = `(1.0e12 * (RemoteOwner =?= UNDEFINED)) + (10000000 * My.Rank) - (100000 * Cpus) - Memory`
	defaultPostJobRank = `(RemoteOwner =?= UNDEFINED) * (ifThenElse(isUndefined(KFlops), 1000, KFlops) - SlotID - 1.0e10*(Offline=?=True))`
)

// Which jobs are preempted for a user's priority: by the manuals before HTCondor 8.2,
// those that have had the slot for an hour. Of these, as in HTCondor today, first the job
// of the user with the worst priority, then the one that has run for the shortest time.
const (
	defaultPreemptionRequirements = `(time() - EnteredCurrentState) > 3600`
	defaultPreemptionRank         = `(RemoteUserPrio * 1000000) - ifThenElse(isUndefined(TotalJobRunTime), 0, TotalJobRunTime)`
)

// policyKey chooses a policy.
const policyKey = "JOB_PRIORITY_POLICY"

// Keys is every key at the top of the file, in the order of the manual page. What
// JOB_PRIORITY_POLICY may be and is by default is for a Schema to say.
var Keys = []Key{
	{Name: "PRIORITY_HALFLIFE", Kind: Seconds, Default: 86400.0, Unit: "s", Least: 0.00001, Most: MaxSeconds,
		Help: "The half-life of the real user priority: without claims it falls to half in this time.",
		Set:  func(c *Config, v any) { c.HalfLife = Duration(v) }},
	{Name: "DEFAULT_PRIO_FACTOR", Kind: Real, Default: 1.0, Least: 1, Most: MaxFactor,
		Help: "The priority factor of submitters for whom no other factor applies. Lower is better.",
		Set:  func(c *Config, v any) { c.DefaultFactor = v.(float64) }},
	{Name: "NICE_USER_PRIO_FACTOR", Kind: Real, Default: 1e7, Least: 1, Most: MaxFactor,
		Help: "The priority factor of nice users.",
		Set:  func(c *Config, v any) { c.NiceFactor = v.(float64) }},
	{Name: "NICE_USER_ACCOUNTING_GROUP_NAME", Kind: String, Default: "nice-user", Check: niceGroupName,
		Help: "The accounting group of jobs with nice_user.",
		Set:  func(c *Config, v any) { c.NiceGroup = v.(string) }},
	{Name: "REMOTE_PRIO_FACTOR", Kind: Real, Default: 1e4, Least: 1, Most: MaxFactor,
		Help: "The priority factor of submitters whose domain is not ACCOUNTANT_LOCAL_DOMAIN.",
		Set:  func(c *Config, v any) { c.RemoteFactor = v.(float64) }},
	{Name: "ACCOUNTANT_LOCAL_DOMAIN", Kind: String, Default: "", Check: domainName,
		Help: "The domain of local submitters. Empty: all submitters are local.",
		Set:  func(c *Config, v any) { c.LocalDomain = v.(string) }},
	{Name: "GROUP_NAMES", Kind: Names, Default: []string(nil), Check: accountant.CheckGroupName,
		Help: "The accounting groups, such as physics and its subgroup physics.hep; case is ignored.",
		Set:  func(c *Config, v any) { c.groupNames = v.([]string) }},
	{Name: "GROUP_ACCEPT_SURPLUS", Kind: Boolean, Default: false,
		Help: "Whether groups may use what others leave of their quotas, for groups without GROUP_ACCEPT_SURPLUS_NAME.",
		Set:  func(c *Config, v any) { c.acceptSurplus = v.(bool) }},
	{Name: "GROUP_AUTOREGROUP", Kind: Boolean, Default: false,
		Help: "Whether jobs of groups take part a second time, with the jobs of no group, for groups without GROUP_AUTOREGROUP_NAME.",
		Set:  func(c *Config, v any) { c.autoregroup = v.(bool) }},
	{Name: "GROUP_SORT_EXPR", Kind: Expression, Default: "",
		Help: "The order of the groups, the lowest value first; MY is the group's ad. Empty: the group with the smallest used part of its quota first."},
	{Name: "NEGOTIATOR_ALLOW_QUOTA_OVERSUBSCRIPTION", Kind: Boolean, Default: true,
		Help: "Whether static quotas may exceed the parent's quota or the pool. If false, they are scaled down to fit.",
		Set:  func(c *Config, v any) { c.Cycle.Quotas.Oversubscribe = v.(bool) }},
	{Name: "NEGOTIATOR_STRICT_ENFORCE_QUOTA", Kind: Boolean, Default: true,
		Help: "Whether the quota of a group that does not accept surplus also limits all groups below it.",
		Set:  func(c *Config, v any) { c.Cycle.Quotas.Strict = v.(bool) }},
	{Name: "GROUP_QUOTA_MAX_ALLOCATION_ROUNDS", Kind: Integer, Default: int64(3), Unit: "rounds", Least: 1, Most: 100,
		Help: "The most rounds in which a cycle gives unused quota to other groups; only with NEGOTIATOR_PIE = \"htcondor\".",
		Set:  func(c *Config, v any) { c.Cycle.Quotas.Rounds = int(v.(int64)) }},
	{Name: "GROUP_QUOTA_ROUND_ROBIN_RATE", Kind: Real, Default: 1e100, Unit: "slot weight", Least: 1, Most: 1e100,
		Help: "How much a group's limit may grow before it is the next group's turn; only with NEGOTIATOR_PIE = \"htcondor\".",
		Set:  func(c *Config, v any) { c.Cycle.Quotas.RoundRobinRate = v.(float64) }},
	{Name: "NEGOTIATOR_USE_WEIGHTED_DEMAND", Kind: Boolean, Default: true,
		Help: "Whether the demand of groups counts by slot weight. If false, each job counts 1. Only with NEGOTIATOR_PIE = \"htcondor\".",
		Set:  func(c *Config, v any) { c.Cycle.Quotas.WeightedDemand = v.(bool) }},
	{Name: "UID_DOMAIN", Kind: String, Default: "", Check: domainName,
		Help: "The domain of submitters' names, fixed when the spool is created; spool rename-domain changes it. Empty: the name of the host.",
		Set:  func(c *Config, v any) { c.UIDDomain = v.(string) }},
	{Name: "SPOOL", Kind: String, Default: "", Check: absolutePath,
		Help: "The spool directory. Empty: see fairspool(7).",
		Set:  func(c *Config, v any) { c.Spool = v.(string) }},
	{Name: "EXECUTE", Kind: String, Default: "", Check: absolutePath,
		Help: "The directory for scratch directories of jobs. Empty: the folder execute of the spool.",
		Set:  func(c *Config, v any) { c.Execute = v.(string) }},
	{Name: "ALLOW_NETWORK_SPOOL", Kind: Boolean, Default: false,
		Help: "Whether the spool may be on a network file system, where locks may not work.",
		Set:  func(c *Config, v any) { c.AllowNetworkSpool = v.(bool) }},
	{Name: "ADMINISTRATORS", Kind: Names, Default: []string(nil), Check: memberName,
		Help: "Users, and Unix groups with an @ before them, who are administrators beside root and the owner of the spool.",
		Set:  func(c *Config, v any) { c.Administrators = v.([]string) }},
	{Name: "QUEUE_VISIBLE", Kind: String, Default: "all", Choices: []string{"all", "own"},
		Help: "Whether users who are not administrators see all jobs or only their own.",
		Set:  func(c *Config, v any) { c.QueueVisible = v.(string) }},
	{Name: "JOB_DETAILS_VISIBLE", Kind: String, Default: "own", Choices: []string{"all", "own"},
		Help: "Whether users who are not administrators see commands, arguments, environments and file names of all jobs or only of their own.",
		Set:  func(c *Config, v any) { c.DetailsVisible = v.(string) }},
	{Name: "NETWORK_HOSTNAME", Kind: String, Default: "", Check: domainName,
		Help: "The name of this machine in slot ads. Empty: the host name.",
		Set:  func(c *Config, v any) { c.Hostname = v.(string) }},
	{Name: "DETECT_SLOTS", Kind: Boolean, Default: true,
		Help: "Whether a private pool that never had a slot gets this machine as one.",
		Set:  func(c *Config, v any) { c.DetectSlots = v.(bool) }},
	{Name: "NEGOTIATOR_PRE_JOB_RANK", Kind: Expression, Default: defaultPreJobRank,
		Help: "Ranks the slots that match a job, before the job's Rank. Higher is better; MY is the slot, TARGET the job."},
	{Name: "NEGOTIATOR_POST_JOB_RANK", Kind: Expression, Default: defaultPostJobRank,
		Help: "Ranks slots that are equal by NEGOTIATOR_PRE_JOB_RANK and the job's Rank. Higher is better."},
	{Name: "PREEMPTION_REQUIREMENTS", Kind: Expression, Default: defaultPreemptionRequirements, MayBeEmpty: true,
		Help: "When a running job may be preempted for a user with a better priority; MY is the slot, TARGET the new job. Empty: never."},
	{Name: "PREEMPTION_RANK", Kind: Expression, Default: defaultPreemptionRank, MayBeEmpty: true,
		Help: "Ranks slots for preemption that all other ranks leave equal. Higher is preempted first. Empty: no preference."},
	{Name: "NEGOTIATOR_CONSIDER_PREEMPTION", Kind: Boolean, Default: true,
		Help: "Whether claimed slots are considered. If false, nothing is ever preempted.",
		Set:  func(c *Config, v any) { c.Cycle.Preemption.Consider = v.(bool) }},
	{Name: "NEGOTIATOR_CONSIDER_EARLY_PREEMPTION", Kind: Boolean, Default: false,
		Help: "Whether slots are considered whose job still has retirement time.",
		Set:  func(c *Config, v any) { c.Cycle.Preemption.Early = v.(bool) }},
	{Name: "NEGOTIATOR_MATCHLIST_CACHING", Kind: Boolean, Default: true,
		Help: "Whether one list of slots serves all jobs that are alike; only with NEGOTIATOR_PIE = \"htcondor\".",
		Set:  func(c *Config, v any) { c.Cycle.Preemption.Cached = v.(bool) }},
	{Name: "PREEMPTION_REQUIREMENTS_STABLE", Kind: Boolean, Default: true,
		Help: "Whether PREEMPTION_REQUIREMENTS stays the same while a list of slots is used; only with NEGOTIATOR_PIE = \"htcondor\".",
		Set:  func(c *Config, v any) { c.Cycle.Preemption.RequirementsStable = v.(bool) }},
	{Name: "PREEMPTION_RANK_STABLE", Kind: Boolean, Default: true,
		Help: "Whether PREEMPTION_RANK stays the same while a list of slots is used; only with NEGOTIATOR_PIE = \"htcondor\".",
		Set:  func(c *Config, v any) { c.Cycle.Preemption.RankStable = v.(bool) }},
	{Name: "SLOT_WEIGHT", Kind: Expression, Default: "Cpus",
		Help: "The weight of slots in shares and usage, for slot ads without SlotWeight."},
	{Name: "NEGOTIATOR_USE_SLOT_WEIGHTS", Kind: Boolean, Default: true,
		Help: "Whether slots count by their weight. If false, every slot counts 1.",
		Set:  func(c *Config, v any) { c.Cycle.UseSlotWeights = v.(bool) }},
	{Name: policyKey, Kind: String, Default: "",
		Help: "Whose rules order the jobs.",
		Set:  func(c *Config, v any) { c.JobPriorityPolicy = v.(string) }},
	{Name: "NEGOTIATOR_PIE", Kind: String, Default: "max-min", Choices: pies,
		Help: "How the pool is divided among submitters: by weighted max-min fairness, or in spins as HTCondor's negotiator does.",
		Set:  func(c *Config, v any) { c.Cycle.Pie = negotiator.Pie(slices.Index(pies, v.(string))) }},
	{Name: "NEGOTIATOR_IGNORE_USER_PRIORITIES", Kind: Boolean, Default: false,
		Help: "Whether submitters have no limit by their share. If true, priorities only decide the order.",
		Set:  func(c *Config, v any) { c.Cycle.IgnoreUserPriorities = v.(bool) }},
	{Name: "USE_GLOBAL_JOB_PRIOS", Kind: Boolean, Default: false,
		Help: "Whether a submitter negotiates once for each JobPrio of its jobs, the higher first among submitters of equal priority; only with NEGOTIATOR_PIE = \"htcondor\".",
		Set:  func(c *Config, v any) { c.Cycle.GlobalJobPrios = v.(bool) }},
	{Name: "NEGOTIATOR_JOB_CONSTRAINT", Kind: Expression, Default: "",
		Help: "Only jobs for which it is true are matched; MY is the job. Empty: all jobs."},
	{Name: "NEGOTIATOR_SLOT_CONSTRAINT", Kind: Expression, Default: "",
		Help: "Only slots for which it is true are used; MY is the slot. Empty: all slots."},
	{Name: "NEGOTIATOR_SLOT_POOLSIZE_CONSTRAINT", Kind: Expression, Default: "",
		Help: "Only slots for which it is true count in the size of the pool; MY is the slot. Empty: all slots."},
	{Name: "NEGOTIATOR_DEPTH_FIRST", Kind: Boolean, Default: false,
		Help: "Whether a partitionable slot that a cycle has begun to divide precedes all others, whatever their ranks.",
		Set:  func(c *Config, v any) { c.Cycle.DepthFirst = v.(bool) }},
	{Name: "NEGOTIATE_ALL_JOBS_IN_CLUSTER", Kind: Boolean, Default: true,
		Help: "Whether a cycle goes on with a cluster after one of its jobs found no slot. HTCondor's default is false.",
		Set:  func(c *Config, v any) { c.Cycle.SkipClusters = !v.(bool) }},
	{Name: "SIGNIFICANT_ATTRIBUTES", Kind: Names, Default: []string(nil), Check: attributeName,
		Help: "Jobs that are equal in these attributes are skipped together. Empty: jobs of a cluster. Only with NEGOTIATE_ALL_JOBS_IN_CLUSTER = false.",
		Set:  func(c *Config, v any) { c.Cycle.Significant = v.([]string) }},
	{Name: "ADD_SIGNIFICANT_ATTRIBUTES", Kind: Names, Default: []string(nil), Check: attributeName,
		Help: "Jobs that differ in these attributes are different autoclusters, though no expression refers to them.",
		Set:  func(c *Config, v any) { c.Cycle.AddSignificant = v.([]string) }},
	{Name: "REMOVE_SIGNIFICANT_ATTRIBUTES", Kind: Names, Default: []string(nil), Check: attributeName,
		Help: "Jobs that differ only in these attributes are skipped together when one of them found no slot.",
		Set:  func(c *Config, v any) { c.Cycle.RemoveSignificant = v.([]string) }},
	{Name: "CONCURRENCY_LIMIT_DEFAULT", Kind: Real, Default: 2308032.0, Unit: "units", Least: 0, Most: maxQuota,
		Help: "The concurrency limit of names without a limit of their own.",
		Set:  func(c *Config, v any) { c.Limit = v.(float64) }},
	{Name: "RESERVE_POOL_FRACTION", Kind: Real, Default: 0.1, Least: 0, Most: 1,
		Help: "The part of the pool's weight that may be kept free for jobs wider than the free part of any slot, at least one slot. 0: nothing.",
		Set:  func(c *Config, v any) { c.Cycle.Reserve.Fraction = v.(float64) }},
	{Name: "RESERVE_MAX_TIME", Kind: Seconds, Default: 86400.0, Unit: "s", Least: 1, Most: MaxSeconds,
		Help: "The longest time that a slot is kept free for a wide job.",
		Set:  func(c *Config, v any) { c.Cycle.Reserve.Time = Duration(v) }},
	{Name: "CYCLE_ON_CHANGE", Kind: Boolean, Default: true,
		Help: "Whether a command that changes the queue starts a cycle and a pass of starter.",
		Set:  func(c *Config, v any) { c.CycleOnChange = v.(bool) }},
	{Name: "NEGOTIATOR_INTERVAL", Kind: Seconds, Default: 60.0, Unit: "s", Least: 1, Most: MaxSeconds,
		Help: "The longest time between cycles while jobs run or starter -watch does; only with CYCLE_ON_CHANGE.",
		Set:  func(c *Config, v any) { c.CycleInterval = Duration(v) }},
	{Name: "NEGOTIATOR_MIN_INTERVAL", Kind: Seconds, Default: 1.0, Unit: "s", Least: 0, Most: MaxSeconds,
		Help: "The shortest time between a cycle and the next one that a change starts.",
		Set:  func(c *Config, v any) { c.CycleMinInterval = Duration(v) }},
	{Name: "MAX_STEPS_PER_OWNER", Kind: Integer, Default: int64(100_000_000), Unit: "steps", Least: 0, Most: 1_000_000_000_000,
		Help: "The most steps that the expressions of one owner's jobs may take in a cycle, and a -constraint in a command. 0: no limit.",
		Set:  func(c *Config, v any) { c.Cycle.Steps = int(v.(int64)) }},
	{Name: "REQUEST_CLAIM_TIMEOUT", Kind: Seconds, Default: 120.0, Unit: "s", Least: 0, Most: MaxSeconds,
		Help: "How long a match may wait for a starter before the next cycle gives it up.",
		Set:  func(c *Config, v any) { c.Cycle.RequestClaimTimeout = Duration(v) }},
	{Name: "HEALTH_TIMEOUT", Kind: Seconds, Default: 600.0, Unit: "s", Least: 1, Most: MaxSeconds,
		Help: "How long jobs may wait without a cycle, and slots be without a starter, before negotiate -health reports it.",
		Set:  func(c *Config, v any) { c.HealthTimeout = Duration(v) }},
	{Name: "METRICS_SUBMITTERS", Kind: Integer, Default: int64(50), Least: 0, Most: 10000,
		Help: "For how many submitters and groups report -prometheus writes metrics of each; the others are summed up.",
		Set:  func(c *Config, v any) { c.MetricsSubmitters = int(v.(int64)) }},
	{Name: "JOB_LEASE", Kind: Seconds, Default: 2400.0, Unit: "s", Least: 10, Most: MaxSeconds,
		Help: "How long jobs on another machine go on without contact between it and the host of the spool.",
		Set:  func(c *Config, v any) { c.JobLease = Duration(v) }},
	{Name: "MACHINE_MAX_VACATE_TIME", Kind: Seconds, Default: 600.0, Unit: "s", Least: 0, Most: MaxSeconds,
		Help: "The most time that a job has to end by itself after the signal to vacate.",
		Set:  func(c *Config, v any) { c.MachineMaxVacateTime = Duration(v) }},
	{Name: "KILLING_TIMEOUT", Kind: Seconds, Default: 30.0, Unit: "s", Least: 0, Most: MaxSeconds,
		Help: "How long the remains of a job may take to go after SIGKILL.",
		Set:  func(c *Config, v any) { c.KillingTimeout = Duration(v) }},
	{Name: "PERIODIC_EXPR_INTERVAL", Kind: Seconds, Default: 60.0, Unit: "s", Least: 0, Most: MaxSeconds,
		Help: "How often the supervisor of a running job evaluates the job's periodic expressions. 0: never, only cycles do.",
		Set:  func(c *Config, v any) { c.PeriodicInterval = Duration(v) }},
	{Name: "STARTER_INITIAL_UPDATE_INTERVAL", Kind: Seconds, Default: 8.0, Unit: "s", Least: 0, Most: MaxSeconds,
		Help: "How long after a job's start its ad is first updated.",
		Set:  func(c *Config, v any) { c.InitialUpdateInterval = Duration(v) }},
	{Name: "STARTER_UPDATE_INTERVAL", Kind: Seconds, Default: 300.0, Unit: "s", Least: 0, Most: MaxSeconds,
		Help: "How often the ad of a running job is updated after the first time. 0: never.",
		Set:  func(c *Config, v any) { c.UpdateInterval = Duration(v) }},
	{Name: "CLAIM_WORKLIFE", Kind: Seconds, Default: 1200.0, Unit: "s", Least: -1, Most: MaxSeconds,
		Help: "For how long after its start a supervisor may take the submitter's next job. 0: one job per claim. Negative: no limit.",
		Set:  func(c *Config, v any) { c.ClaimWorklife = worklife(v) }},
	{Name: "MAXJOBRETIREMENTTIME", Kind: Expression, Default: "0",
		Help: "For how many seconds a job may run before it has to vacate for another or for a drained machine; MY is the slot, TARGET the job."},
	{Name: "CGROUP_MEMORY_LIMIT_POLICY", Kind: String, Default: "none", Choices: []string{"none", "soft", "hard"},
		Help: "What happens to a job that uses more memory than it requested: nothing, it is slowed down and swapped out, or it is held.",
		Set:  func(c *Config, v any) { c.MemoryLimitPolicy = v.(string) }},
	{Name: "STARTD_ENFORCE_DISK_LIMITS", Kind: Boolean, Default: false,
		Help: "Whether a job is held if its scratch directory, or one file, exceeds the disk that it requested.",
		Set:  func(c *Config, v any) { c.EnforceDiskLimits = v.(bool) }},
	{Name: "MAX_SCRATCH_SIZE", Kind: Integer, Default: int64(0), Unit: "MB", Least: -1, Most: MaxInteger,
		Help: "The most that a scratch directory may hold, unless RequestDisk is more. 0: a share of what is free. -1: no limit.",
		Set:  func(c *Config, v any) { c.MaxScratchSize = v.(int64) }},
	{Name: "ASSIGN_CPU_AFFINITY", Kind: Boolean, Default: false,
		Help: "Whether a job is bound to as many cores as its slot has.",
		Set:  func(c *Config, v any) { c.AssignCPUAffinity = v.(bool) }},
	{Name: "NOBODY_SLOT_USER", Kind: String, Default: "", Check: accountName,
		Help: "The account that runs jobs whose owners the machine does not know, if root runs the jobs. Empty: such jobs are held.",
		Set:  func(c *Config, v any) { c.NobodySlotUser = v.(string) }},
	{Name: "FLOCK_TO", Kind: Names, Default: []string(nil), Check: oneWord,
		Help: "The engines of KIND = \"fairspool\", other pools, in the order in which they are asked for slots.",
		Set:  func(c *Config, v any) { c.FlockTo = v.([]string) }},
	{Name: "FLOCK_FROM", Kind: Names, Default: []string(nil), Check: func(s string) error { _, err := flockFrom(s); return err },
		Help: "The domains of other pools whose users may have jobs here, as DOMAIN or DOMAIN=ACCOUNT.",
		Set: func(c *Config, v any) {
			c.FlockFrom, c.RemoteDomains = nil, nil
			for _, s := range v.([]string) {
				f, _ := flockFrom(s)
				c.FlockFrom, c.RemoteDomains = append(c.FlockFrom, f), append(c.RemoteDomains, f.Domain)
			}
		}},
	{Name: "FLOCK_REFUSE", Kind: Words, Default: []string{"root@*"}, Check: oneWord,
		Help: "The users of other pools who may have no jobs here, as USER@DOMAIN; * and ? match any text and any character.",
		Set:  func(c *Config, v any) { c.FlockRefuse = v.([]string) }},
	{Name: "MIN_UID", Kind: Integer, Default: int64(1000), Least: 1, Most: 1 << 31,
		Help: "The lowest uid of users whose jobs root's starter runs in a shared pool.",
		Set:  func(c *Config, v any) { c.MinUID = int(v.(int64)) }},
	{Name: "BASE_CGROUP", Kind: String, Default: "fairspool", Check: cgroupPath,
		Help: "The control group below which each job has one of its own. Empty: jobs have none.",
		Set:  func(c *Config, v any) { c.BaseCgroup = v.(string) }},
	{Name: "CHECKPOINT_COMMAND", Kind: Words, Default: []string{"criu"}, Check: commandWord,
		Help: "The program CRIU for checkpoints of jobs of the standard universe, and its first arguments. Empty: no checkpoints.",
		Set:  func(c *Config, v any) { c.CheckpointCommand = slices.Clone(v.([]string)) }},
	{Name: "CONTAINER_RUNTIMES", Kind: Names, Default: []string{"bwrap", "apptainer", "singularity", "podman"}, Check: containerRuntime,
		Help: "The programs that may run jobs in containers: bwrap, apptainer, singularity, podman and docker. Empty: none.",
		Set:  func(c *Config, v any) { c.ContainerRuntimes = slices.Clone(v.([]string)) }},
	{Name: "CONTAINER_MOUNTS", Kind: Names, Default: []string(nil), Check: func(s string) error { _, err := containerMount(s); return err },
		Help: "The files and directories of the machine in each container, as FROM, FROM:TO or FROM:TO:rw; read-only without rw.",
		Set: func(c *Config, v any) {
			c.ContainerMounts = nil
			for _, s := range v.([]string) {
				m, _ := containerMount(s)
				c.ContainerMounts = append(c.ContainerMounts, m)
			}
		}},
	{Name: "CONTAINER_ROOT", Kind: Boolean, Default: false,
		Help: "Whether root's jobs may run in containers, as uid 0.",
		Set:  func(c *Config, v any) { c.ContainerRoot = v.(bool) }},
	{Name: "CONTAINER_CACHE", Kind: String, Default: "", Check: absolutePath,
		Help: "The directory with records of the container images that podman has fetched. Empty: /var/cache/fairspool/images for root, .cache/fairspool/images in the home directory for others.",
		Set:  func(c *Config, v any) { c.ContainerCache = v.(string) }},
	{Name: "CONTAINER_CACHE_SIZE", Kind: Integer, Default: int64(20480), Unit: "MB", Least: 0, Most: MaxInteger,
		Help: "The most that container images of podman may take; the least recently used are removed first.",
		Set:  func(c *Config, v any) { c.ContainerCacheSize = v.(int64) }},
	{Name: "JOB_DEFAULT_REQUESTCPUS", Kind: Amount, Default: "1", Unit: "cores", Least: 1, Most: MaxInteger,
		Help: "The RequestCpus of a job without request_cpus."},
	{Name: "JOB_DEFAULT_REQUESTMEMORY", Kind: Amount, Default: "128", Unit: "MB", Least: 0, Most: MaxInteger,
		Help: "The RequestMemory of a job without request_memory; a size may have a suffix."},
	{Name: "JOB_DEFAULT_REQUESTDISK", Kind: Amount, Default: "1024", Unit: "KB", Least: 0, Most: MaxInteger,
		Help: "The RequestDisk of a job without request_disk; a size may have a suffix."},
	{Name: "APPEND_REQUIREMENTS", Kind: Expression, Default: "",
		Help: "A condition that is added to every job's Requirements."},
	{Name: "APPEND_RANK", Kind: Expression, Default: "",
		Help: "A term that is added to every job's Rank."},
	{Name: "MAX_JOBS_PER_OWNER", Kind: Integer, Default: int64(20_000_000), Unit: "jobs", Least: 1, Most: MaxInteger,
		Help: "The most jobs of an owner in the queue.",
		Set:  func(c *Config, v any) { c.MaxJobsPerOwner = int(v.(int64)) }},
	{Name: "MAX_JOBS_PER_SUBMISSION", Kind: Integer, Default: int64(10_000_000), Unit: "jobs", Least: 1, Most: MaxInteger,
		Help: "The most jobs of one submission.",
		Set:  func(c *Config, v any) { c.MaxJobsPerSubmission = int(v.(int64)) }},
	{Name: "MAX_CLUSTERS_PER_OWNER", Kind: Integer, Default: int64(1_000_000), Unit: "clusters", Least: 1, Most: MaxInteger,
		Help: "The most clusters of an owner in the queue.",
		Set:  func(c *Config, v any) { c.MaxClustersPerOwner = int(v.(int64)) }},
	{Name: "MAX_SPOOL_BYTES_PER_OWNER", Kind: Integer, Default: int64(8 << 30), Unit: "bytes", Least: 1, Most: maxSpoolBytes,
		Help: "The most bytes of an owner's jobs in the spool.",
		Set:  func(c *Config, v any) { c.MaxSpoolBytesPerOwner = v.(int64) }},
	{Name: requirementNames, Kind: Names, Default: []string(nil), Check: requirementName,
		Help: "The names of requirements that jobs have to meet to be submitted, in order.",
		Set:  func(c *Config, v any) { c.requirementNames = v.([]string) }},
	{Name: "SUBMIT_COMMAND_TIMEOUT", Kind: Seconds, Default: 60.0, Unit: "s", Least: 0.001, Most: 86400,
		Help: "How long a command may run whose output a submit description includes or takes items from.",
		Set:  func(c *Config, v any) { c.SubmitCommandTimeout = Duration(v) }},
	{Name: "NOTIFY_COMMAND", Kind: Words, Default: []string(nil), Check: commandWord,
		Help: "The program that sends a message, and its first arguments. Empty: mail, mailx or sendmail.",
		Set:  func(c *Config, v any) { c.NotifyCommand = v.([]string) }},
	{Name: "NOTIFY_COMMAND_TIMEOUT", Kind: Seconds, Default: 20.0, Unit: "s", Least: 0.001, Most: 3600,
		Help: "How long the program that sends a message may take.",
		Set:  func(c *Config, v any) { c.NotifyTimeout = Duration(v) }},
	{Name: "EVENT_COMMAND", Kind: Words, Default: []string(nil), Check: commandWord,
		Help: "The program that is run for events of all jobs, by its absolute path, and its arguments.",
		Set:  func(c *Config, v any) { c.EventCommand = v.([]string) }},
	{Name: "EVENT_COMMAND_EVENTS", Kind: String, Default: jobevent.All.String(), Check: eventNames,
		Help: "The events for which EVENT_COMMAND is run, with commas or blanks between.",
		Set:  func(c *Config, v any) { c.EventCommandEvents, _ = jobevent.ParseSet(v.(string)) }},
	{Name: "EVENT_COMMAND_TIMEOUT", Kind: Seconds, Default: 60.0, Unit: "s", Least: 0.001, Most: 3600,
		Help: "How long EVENT_COMMAND, or the notify_command of a job, may run for an event; then it is killed.",
		Set:  func(c *Config, v any) { c.EventCommandTimeout = Duration(v) }},
	{Name: "EMAIL_DOMAIN", Kind: String, Default: "", Check: domainName,
		Help: "The domain of mail addresses without one. Empty: they are users of this machine.",
		Set:  func(c *Config, v any) { c.EmailDomain = v.(string) }},
}

// pies are the values of NEGOTIATOR_PIE, by negotiator.Pie.
var pies = []string{negotiator.MaxMin: "max-min", negotiator.Spins: "htcondor"}

// Duration returns the checked value of a key of kind Seconds or Time.
func Duration(v any) time.Duration {
	return time.Duration(math.Round(v.(float64) * float64(time.Second)))
}

// worklife is seconds; negative means unlimited.
func worklife(v any) time.Duration {
	if v.(float64) < 0 {
		return MaxSeconds * time.Second
	}
	return Duration(v)
}

// commandWord refuses what no program can be given.
func commandWord(s string) error {
	if strings.ContainsRune(s, 0) {
		return fmt.Errorf("%q: a word of a command has no NUL", s)
	}
	return nil
}

// eventNames refuses a text that is no list of events.
func eventNames(s string) error {
	_, err := jobevent.ParseSet(s)
	return err
}

// containerRuntime refuses what runs no containers.
func containerRuntime(s string) error {
	known := []string{"bwrap", "apptainer", "singularity", "podman", "docker"}
	if !slices.Contains(known, path.Base(s)) || strings.Contains(s, "/") && !path.IsAbs(s) {
		return fmt.Errorf("%q: want bwrap, apptainer, singularity, podman or docker, or the whole path of one", s)
	}
	return nil
}

// ContainerMount is a file or directory of the machine that each container has.
type ContainerMount struct {
	From, To string
	Writable bool
}

// containerMount reads FROM or FROM:TO, either with :rw or :ro behind it.
func containerMount(s string) (m ContainerMount, err error) {
	parts := strings.Split(s, ":")
	if n := len(parts) - 1; parts[n] == "rw" || parts[n] == "ro" {
		m.Writable, parts = parts[n] == "rw", parts[:n]
	}
	for _, p := range parts {
		if !path.IsAbs(p) || path.Clean(p) != p || p == "/" || strings.ContainsFunc(p, unicode.IsControl) || strings.Contains(p, ",") {
			return m, fmt.Errorf("%q: want FROM, FROM:TO or FROM:TO:rw, with whole paths and without commas", s)
		}
	}
	if len(parts) != 1 && len(parts) != 2 {
		return m, fmt.Errorf("%q: want FROM, FROM:TO or FROM:TO:rw, with whole paths and without commas", s)
	}
	m.From, m.To = parts[0], parts[len(parts)-1]
	return m, nil
}

// PlainName refuses what would break a submitter's name: blanks, control
// characters, and each of the runes of not.
func PlainName(s, not string) error {
	for _, r := range s {
		if unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune(not, r) {
			return fmt.Errorf("%q: want a name without blanks and without any of %q", s, not)
		}
	}
	return nil
}

func domainName(s string) error { return PlainName(s, `@"`) }

func userName(s string) error {
	if s == "" {
		return fmt.Errorf("an empty name")
	}
	return PlainName(s, `@"`)
}

func accountName(s string) error {
	if s == "" {
		return nil
	}
	return userName(s)
}

// niceGroupName refuses what cannot be the group of nice users, which is not in the tree.
func niceGroupName(s string) error {
	if s == "" {
		return fmt.Errorf("want a name")
	}
	if strings.Contains(s, ".") {
		return fmt.Errorf("%q: want a name without a dot", s)
	}
	return accountant.CheckGroupName(s)
}

func attributeName(s string) error {
	if !pool.ResourceName(s) {
		return fmt.Errorf("%q: want the name of an attribute", s)
	}
	return nil
}

func absolutePath(s string) error {
	if s != "" && !strings.HasPrefix(s, "/") {
		return fmt.Errorf("%q: want an absolute path", s)
	}
	if strings.ContainsFunc(s, unicode.IsControl) {
		return fmt.Errorf("%q: control characters in a path", s)
	}
	return nil
}

// FileName refuses what no file is called: control characters.
func FileName(s string) error {
	if strings.ContainsFunc(s, unicode.IsControl) {
		return fmt.Errorf("%q: control characters in a path", s)
	}
	return nil
}

// cgroupPath refuses what does not name a control group below where they are mounted.
func cgroupPath(s string) error {
	names := strings.Split(s, "/")
	wrong := slices.ContainsFunc(names, func(n string) bool { return n == "" || n == "." || n == ".." })
	if s != "" && wrong || strings.ContainsFunc(s, unicode.IsControl) {
		return fmt.Errorf("%q: want a name, or names with / between them", s)
	}
	return nil
}
