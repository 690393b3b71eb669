package config

import (
	"slices"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobevent"
	"fairspool/lib/negotiator"
)

// Config is the administrator's settings, with the defaults for the rest. The table Keys
// has each field's unit, range and meaning under the key that the comment names.
type Config struct {
	// Params are the settings of accounts: PRIORITY_HALFLIFE and the other keys of priorities,
	// GROUP_NAMES with what belongs to it, and what tables of policies say of usage.
	accountant.Params
	// Cycle has the settings of a cycle, without Params, expressions, Limits and the policy:
	// see the keys NEGOTIATOR_ and others of Keys.
	Cycle negotiator.Config

	UIDDomain string // UID_DOMAIN; empty: the host's name when the spool is made

	Spool             string   // SPOOL; empty: the command's own default
	Execute           string   // EXECUTE; empty: the folder execute of the spool
	AllowNetworkSpool bool     // ALLOW_NETWORK_SPOOL
	Administrators    []string // ADMINISTRATORS: users, and Unix groups with an @ before them; see Administers
	QueueVisible      string   // QUEUE_VISIBLE
	DetailsVisible    string   // JOB_DETAILS_VISIBLE
	DetectSlots       bool     // DETECT_SLOTS
	Hostname          string   // NETWORK_HOSTNAME; empty: the host's name

	JobPriorityPolicy string // JOB_PRIORITY_POLICY

	// Concurrency limits, in units: CONCURRENCY_LIMIT_DEFAULT, and the keys of LimitKeys
	// by the lower-case name of the set or of the limited resource.
	Limit                   float64
	LimitOfSet, LimitOfName map[string]float64

	CycleOnChange        bool          // CYCLE_ON_CHANGE
	CycleInterval        time.Duration // NEGOTIATOR_INTERVAL
	CycleMinInterval     time.Duration // NEGOTIATOR_MIN_INTERVAL
	HealthTimeout        time.Duration // HEALTH_TIMEOUT
	MetricsSubmitters    int           // METRICS_SUBMITTERS
	JobLease             time.Duration // JOB_LEASE
	MachineMaxVacateTime time.Duration // MACHINE_MAX_VACATE_TIME
	KillingTimeout       time.Duration // KILLING_TIMEOUT
	PeriodicInterval     time.Duration // PERIODIC_EXPR_INTERVAL; 0: the supervisor never looks

	InitialUpdateInterval time.Duration    // STARTER_INITIAL_UPDATE_INTERVAL
	UpdateInterval        time.Duration    // STARTER_UPDATE_INTERVAL; 0: never while a job runs
	ClaimWorklife         time.Duration    // CLAIM_WORKLIFE; 0: a claim is for one job
	MemoryLimitPolicy     string           // CGROUP_MEMORY_LIMIT_POLICY
	EnforceDiskLimits     bool             // STARTD_ENFORCE_DISK_LIMITS
	MaxScratchSize        int64            // MAX_SCRATCH_SIZE, in MB; 0: a share of the free space; negative: unlimited
	AssignCPUAffinity     bool             // ASSIGN_CPU_AFFINITY
	NobodySlotUser        string           // NOBODY_SLOT_USER; empty: jobs of unknown owners do not run
	FlockTo               []string         // FLOCK_TO
	FlockFrom             []FlockFrom      // FLOCK_FROM
	FlockRefuse           []string         // FLOCK_REFUSE
	MinUID                int              // MIN_UID
	BaseCgroup            string           // BASE_CGROUP; empty: jobs have none of their own
	CheckpointCommand     []string         // CHECKPOINT_COMMAND; none: no transparent checkpoints
	ContainerRuntimes     []string         // CONTAINER_RUNTIMES; none: no containers
	ContainerMounts       []ContainerMount // CONTAINER_MOUNTS
	ContainerRoot         bool             // CONTAINER_ROOT
	ContainerCache        string           // CONTAINER_CACHE; empty: below /var/cache or the home directory
	ContainerCacheSize    int64            // CONTAINER_CACHE_SIZE, in MB

	SubmitCommandTimeout time.Duration // SUBMIT_COMMAND_TIMEOUT

	// Bounds of an owner's jobs in the queue.
	MaxJobsPerOwner       int           // MAX_JOBS_PER_OWNER
	MaxJobsPerSubmission  int           // MAX_JOBS_PER_SUBMISSION
	MaxClustersPerOwner   int           // MAX_CLUSTERS_PER_OWNER
	MaxSpoolBytesPerOwner int64         // MAX_SPOOL_BYTES_PER_OWNER
	Requirements          []Requirement // SUBMIT_REQUIREMENT_NAMES and the keys of RequirementKeys, in the order of the names

	NotifyCommand       []string      // NOTIFY_COMMAND; none: the machine's mail command
	NotifyTimeout       time.Duration // NOTIFY_COMMAND_TIMEOUT
	EventCommand        []string      // EVENT_COMMAND; none: events run no command of the operator's
	EventCommandEvents  jobevent.Set  // EVENT_COMMAND_EVENTS
	EventCommandTimeout time.Duration // EVENT_COMMAND_TIMEOUT

	EmailDomain string // EMAIL_DOMAIN; empty: mail goes to users of this machine

	Engines []Engine // [engine.NAME], in the order of the names

	RunTime RunTime // as tables of policies set it

	// Warnings tell what of files of other programs was left out or may be meant otherwise, and
	// which settings have no effect: lines such as "maui.cfg:12: FSDEPHT: ...".
	Warnings []string

	schema   *Schema
	settings map[string]any // of tables, by their names

	groupNames    []string // GROUP_NAMES
	acceptSurplus bool     // GROUP_ACCEPT_SURPLUS
	autoregroup   bool     // GROUP_AUTOREGROUP
	ofGroups      []*groupSettings

	requirementNames []string // SUBMIT_REQUIREMENT_NAMES
	ofRequirements   []Setting

	said   []Setting         // what With begins with
	where  map[string]Origin // where each key was set
	values map[string]any    // what each key was set to, in the type of its Default
	named  []namedValue      // settings of keys with names in tables of policies
}

// RunTime is how the run-time priority of jobs follows the policy.
type RunTime struct {
	Interval time.Duration // 0: never
	// Best and Worst are the nice values of the best and the worst off of the jobs of a
	// machine, -20 to 20 both.
	Best, Worst int
}

// Settings returns the value that Begin of the table with the name made, with its settings;
// nil without such a table. It belongs to the table; others must not change it.
func (c *Config) Settings(table string) any { return c.settings[table] }

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

// Expr compiles the Expression that a key of Keys or of a requirement is set to; nil if that is empty. The error
// is Complain's.
func (c *Config) Expr(key string) (*classad.Expr, error) {
	text := c.Text(key)
	if text == "" {
		return nil, nil
	}
	e, err := classad.ParseExpr(text)
	if err != nil {
		return nil, c.Complain(key, err)
	}
	return e, nil
}

// Text returns what an Expression or an Amount is set to, or its default.
func (c *Config) Text(key string) string {
	if v, ok := c.values[key]; ok {
		return v.(string)
	}
	if i := slices.IndexFunc(Keys, func(k Key) bool { return k.Name == key }); i >= 0 {
		return Keys[i].Default.(string)
	}
	return ""
}

// Complain returns err as the fault of the key: "file:line: NAME: err", "config NAME:
// err" when With set it, or "NAME: err" if it has its default. It is for values that the
// package takes as they are, such as expressions.
func (c *Config) Complain(key string, err error) error {
	return complaint(c.where[key].String(), key, err)
}
