package config

import (
	"os"
	"slices"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/maui"
	"fairspool/lib/sge"
)

// Config is what the administrator set, with the defaults for the rest. The
// table Keys has each field's unit, range and meaning under the key that the
// comment names.
type Config struct {
	HalfLife          time.Duration // PRIORITY_HALFLIFE
	DefaultPrioFactor float64       // DEFAULT_PRIO_FACTOR
	NicePrioFactor    float64       // NICE_USER_PRIO_FACTOR
	NiceGroup         string        // NICE_USER_ACCOUNTING_GROUP_NAME
	RemotePrioFactor  float64       // REMOTE_PRIO_FACTOR
	LocalDomain       string        // ACCOUNTANT_LOCAL_DOMAIN; empty: everybody is local
	UIDDomain         string        // UID_DOMAIN; empty: the host's name when the spool is made

	Spool             string   // SPOOL; empty: the command's own default
	Execute           string   // EXECUTE; empty: the folder execute of the spool
	AllowNetworkSpool bool     // ALLOW_NETWORK_SPOOL
	Administrators    []string // ADMINISTRATORS: users, and Unix groups with an @ before them; see Administers
	QueueVisible      string   // QUEUE_VISIBLE
	DetailsVisible    string   // JOB_DETAILS_VISIBLE
	DetectSlots       bool     // DETECT_SLOTS
	Hostname          string   // NETWORK_HOSTNAME; empty: the host's name

	PreJobRank        string // NEGOTIATOR_PRE_JOB_RANK, an expression
	PostJobRank       string // NEGOTIATOR_POST_JOB_RANK, an expression
	SlotWeight        string // SLOT_WEIGHT, an expression
	UseSlotWeights    bool   // NEGOTIATOR_USE_SLOT_WEIGHTS
	JobPriorityPolicy string // JOB_PRIORITY_POLICY

	PreemptionRequirements  string // PREEMPTION_REQUIREMENTS, an expression; empty: nobody is preempted for a user's priority
	PreemptionRank          string // PREEMPTION_RANK, an expression; empty: no preference
	ConsiderPreemption      bool   // NEGOTIATOR_CONSIDER_PREEMPTION
	ConsiderEarlyPreemption bool   // NEGOTIATOR_CONSIDER_EARLY_PREEMPTION
	MatchlistCaching        bool   // NEGOTIATOR_MATCHLIST_CACHING
	RequirementsStable      bool   // PREEMPTION_REQUIREMENTS_STABLE
	RankStable              bool   // PREEMPTION_RANK_STABLE

	Pie                  string // NEGOTIATOR_PIE
	IgnoreUserPriorities bool   // NEGOTIATOR_IGNORE_USER_PRIORITIES
	GlobalJobPrios       bool   // USE_GLOBAL_JOB_PRIOS
	DepthFirst           bool   // NEGOTIATOR_DEPTH_FIRST

	// Expressions; empty: no constraint.
	JobConstraint      string // NEGOTIATOR_JOB_CONSTRAINT
	SlotConstraint     string // NEGOTIATOR_SLOT_CONSTRAINT
	PoolSizeConstraint string // NEGOTIATOR_SLOT_POOLSIZE_CONSTRAINT

	AllJobsInCluster  bool     // NEGOTIATE_ALL_JOBS_IN_CLUSTER
	Significant       []string // SIGNIFICANT_ATTRIBUTES
	AddSignificant    []string // ADD_SIGNIFICANT_ATTRIBUTES
	RemoveSignificant []string // REMOVE_SIGNIFICANT_ATTRIBUTES

	// Concurrency limits, in units: CONCURRENCY_LIMIT_DEFAULT, and the keys of
	// LimitKeys by the lower-case name of the set or of what is limited.
	Limit                   float64
	LimitOfSet, LimitOfName map[string]float64

	ReserveFraction float64       // RESERVE_POOL_FRACTION
	ReserveTime     time.Duration // RESERVE_MAX_TIME

	CycleOnChange        bool          // CYCLE_ON_CHANGE
	CycleInterval        time.Duration // NEGOTIATOR_INTERVAL
	CycleMinInterval     time.Duration // NEGOTIATOR_MIN_INTERVAL
	MaxStepsPerOwner     int           // MAX_STEPS_PER_OWNER; 0: any number
	RequestClaimTimeout  time.Duration // REQUEST_CLAIM_TIMEOUT
	HealthTimeout        time.Duration // HEALTH_TIMEOUT
	MachineMaxVacateTime time.Duration // MACHINE_MAX_VACATE_TIME
	KillingTimeout       time.Duration // KILLING_TIMEOUT
	PeriodicInterval     time.Duration // PERIODIC_EXPR_INTERVAL; 0: the supervisor never looks

	InitialUpdateInterval time.Duration // STARTER_INITIAL_UPDATE_INTERVAL
	UpdateInterval        time.Duration // STARTER_UPDATE_INTERVAL; 0: never while a job runs
	ClaimWorklife         time.Duration // CLAIM_WORKLIFE; 0: a claim is for one job
	MaxJobRetirementTime  string        // MAXJOBRETIREMENTTIME, an expression
	MemoryLimitPolicy     string        // CGROUP_MEMORY_LIMIT_POLICY
	EnforceDiskLimits     bool          // STARTD_ENFORCE_DISK_LIMITS
	MaxScratchSize        int64         // MAX_SCRATCH_SIZE, in MB; 0: a share of what is free; below: none
	AssignCPUAffinity     bool          // ASSIGN_CPU_AFFINITY
	NobodySlotUser        string        // NOBODY_SLOT_USER; empty: nobody runs jobs of unknown owners
	MinUID                int           // MIN_UID
	BaseCgroup            string        // BASE_CGROUP; empty: jobs have none of their own
	CheckpointCommand     []string      // CHECKPOINT_COMMAND; none: no transparent checkpoints

	DefaultRequestCpus   string        // JOB_DEFAULT_REQUESTCPUS, a number or an expression
	DefaultRequestMemory string        // JOB_DEFAULT_REQUESTMEMORY, MB, or a size or an expression
	DefaultRequestDisk   string        // JOB_DEFAULT_REQUESTDISK, KB, or a size or an expression
	AppendRequirements   string        // APPEND_REQUIREMENTS, an expression; empty: none
	AppendRank           string        // APPEND_RANK, an expression; empty: none
	SubmitCommandTimeout time.Duration // SUBMIT_COMMAND_TIMEOUT

	// Bounds of what an owner may have in the queue.
	MaxJobsPerOwner       int           // MAX_JOBS_PER_OWNER
	MaxJobsPerSubmission  int           // MAX_JOBS_PER_SUBMISSION
	MaxClustersPerOwner   int           // MAX_CLUSTERS_PER_OWNER
	MaxSpoolBytesPerOwner int64         // MAX_SPOOL_BYTES_PER_OWNER
	Requirements          []Requirement // SUBMIT_REQUIREMENT_NAMES and the keys of RequirementKeys, in the order of the names

	NotifyCommand []string      // NOTIFY_COMMAND; none: the machine's mail command
	NotifyTimeout time.Duration // NOTIFY_COMMAND_TIMEOUT
	EmailDomain   string        // EMAIL_DOMAIN; empty: mail goes to users of this machine

	// Groups is the tree of accounting groups, nil without any: GROUP_NAMES and
	// the keys of GroupKeys.
	Groups *accountant.Groups

	GroupSort           string  // GROUP_SORT_EXPR, an expression; empty: the smallest part of the quota in use first
	OversubscribeQuotas bool    // NEGOTIATOR_ALLOW_QUOTA_OVERSUBSCRIPTION
	StrictQuotas        bool    // NEGOTIATOR_STRICT_ENFORCE_QUOTA
	AllocationRounds    int     // GROUP_QUOTA_MAX_ALLOCATION_ROUNDS
	RoundRobinRate      float64 // GROUP_QUOTA_ROUND_ROBIN_RATE, slot weight
	WeightedDemand      bool    // NEGOTIATOR_USE_WEIGHTED_DEMAND

	Maui     maui.Config            // the table [maui] and its maui_cfg: MauiKeys and MauiAttributes
	MauiFile string                 // maui.maui_cfg, as it stands there; empty: none
	SGE      sge.Config             // the table [sge] and saved output of qconf: SGEKeys
	Decay    accountant.DecayParams // of the table [sge]: halftime and the lists of usage

	// Warnings tell what of a maui.cfg or of saved output of qconf was left out or may be meant
	// otherwise, and which settings of Maui's and Grid Engine's have no effect: lines such as
	// "maui.cfg:12: FSDEPHT: ...".
	Warnings []string

	RunTime RunTime // of the table [sge]: reprioritize_interval and execd_params

	QconfFiles map[string][]string // sge.qconf_ssconf and the like by name, as they stand there

	ignored         map[string]bool // parameters of [sge] that say something and have no effect
	unmeasured      []string        // kinds of usage in halflife_decay_list that are not measured
	complexAt, peAt map[string]int  // where the objects of [sge] are in SGE
	treeSaid        []treeEntry     // sge.share_tree
	projectNodes    []projectNode   // of a saved share tree, said to be projects

	groupNames    []string // GROUP_NAMES
	acceptSurplus bool     // GROUP_ACCEPT_SURPLUS
	autoregroup   bool     // GROUP_AUTOREGROUP
	ofGroups      []*groupSettings

	requirementNames []string // SUBMIT_REQUIREMENT_NAMES
	ofRequirements   []setting

	said  []setting         // what With begins with
	where map[string]origin // where each key was set
}

// Default returns the configuration of an empty file.
func Default() Config {
	c := Config{Maui: maui.Default()}
	for _, k := range slices.Concat(Keys, MauiKeys, SGEKeys) {
		k.set(&c, k.Default)
	}
	c.shipComplexes()
	return c
}

// Where returns "file:line" of the line that set the key, "config" when With
// did, and nothing when it has its default. key is the key's name of today, also
// where the line has an older one.
func (c *Config) Where(key string) string { return c.where[key].String() }

// WhereGroup returns what Where does for the key that is made of prefix, a Name of
// GroupKeys, and a group's name, however the line spells that: names of groups
// compare without regard to case.
func (c *Config) WhereGroup(prefix, group string) string {
	if s := c.settingsOf(group); s != nil {
		return c.where[s.keys[prefix]].String()
	}
	return ""
}

// Complain returns err as the fault of the key: "file:line: NAME: err", "config
// NAME: err" when With set it, or "NAME: err" when nobody did. It is for values
// that the package takes as they are, such as expressions.
func (c *Config) Complain(key string, err error) error {
	return complaint(c.where[key].String(), key, err)
}

// Load reads the configuration file at path. Keys that it does not set have
// their defaults. The error is one line, `path:line: NAME: why` where a line
// is to blame.
func Load(path string) (Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Config{}, err
	}
	return Parse(path, text)
}
