package sge

// Config is what decides priorities: parameters of sched_conf(5), by the names in the
// comments, and the objects that jobs refer to. It is not changed by anything here.
type Config struct {
	WeightPriority    float64 // weight_priority
	WeightUrgency     float64 // weight_urgency
	WeightTicket      float64 // weight_ticket
	WeightWaitingTime float64 // weight_waiting_time, of a second
	WeightDeadline    float64 // weight_deadline, times seconds

	// WeightUser and the like are the weights of the functional policy's categories.
	WeightUser, WeightProject, WeightDepartment, WeightJob float64

	TicketsFunctional float64 // weight_tickets_functional; 0: no functional policy
	TicketsShare      float64 // weight_tickets_share; 0: no share tree policy
	ShareFunctional   bool    // share_functional_shares
	ShareOverride     bool    // share_override_tickets
	MaxFunctional     int     // max_functional_jobs_to_schedule
	MaxPendingTasks   int     // max_pending_tasks_per_job
	Compensation      float64 // compensation_factor; 0: none
	ReportPending     bool    // report_pjob_tickets
	MaxUserJobs       int     // maxujobs; 0: no limit

	// Hierarchy is policy_hierarchy: the policies among Functional, Override and ShareTree
	// that sort by the tickets of the policies before them, in their order.
	Hierarchy []TicketPolicy

	// Complexes are by name, in the given order; a request is for the first complex with
	// its name or shortcut, without regard to case.
	Complexes []Complex
	PEs       []PE // in the given order; names differ
	// Users, Projects and Departments are by name. A user without an entry has a record
	// of zeros, and so has the department DefaultDepartment; projects have to have one.
	Users, Projects, Departments map[string]Object
	Usersets                     map[string]Userset // access lists, by name
	// Tree is the root of the share tree; nil: there is none.
	Tree *Node
}

// DefaultDepartment is the department of users without another one.
const DefaultDepartment = "defaultdepartment"

// DefaultNode is the name of the share tree's nodes for users without a node.
const DefaultNode = "default"

// DefaultPE is the parallel environment of jobs that ask for several slots and name none.
// Without an entry it is as Parallel has it.
const DefaultPE = "default"

// SlotsComplex is the complex that every job asks for, one of each slot.
const SlotsComplex = "slots"

// DeadlineUsers is the userset of users that may give their jobs deadlines.
const DeadlineUsers = "deadlineusers"

// TicketPolicy is one of the three that give tickets.
type TicketPolicy uint8

// The ticket policies, in the default order of computation.
const (
	Override TicketPolicy = iota
	Functional
	ShareTree
	TicketPolicies // how many there are
)

// String returns the policy's letter in policy_hierarchy; "?" for an unknown policy.
func (p TicketPolicy) String() string {
	if p >= TicketPolicies {
		return "?"
	}
	return [...]string{"O", "F", "S"}[p]
}

// Object is the settings of a user, a project or a department (user(5), project(5),
// access_list(5)).
type Object struct {
	FShare         float64  // fshare, functional shares, whole and 0 and more
	OTicket        float64  // oticket, override tickets, likewise
	DefaultProject string   // of a user: of jobs that name none; empty: none
	Entries        []string // of a department: users, and @group for a Unix group's
	ACL, XACL      []string // of a project: usersets that may use it (none: all), and that may not
}

// Userset is a list of users (access_list(5)).
type Userset struct {
	Entries []string // users, and @group for a Unix group's members
}

// ComplexType is the type of a complex.
type ComplexType uint8

// The types of complex(5). Requests for those from String on have no amount.
const (
	Int ComplexType = iota
	Double
	Time
	Memory
	Bool
	String
	CString
	REString
	Host
)

// Complex is a resource that jobs ask for (complex(5)).
type Complex struct {
	Name, Shortcut string
	Type           ComplexType
	Urgency        float64 // of one of it
}

// PE is a parallel environment (sge_pe(5)).
type PE struct {
	Name  string
	Slots int64 // all that it has; what open ranges end with
	// UrgencySlots says how many slots are assumed of a range.
	UrgencySlots UrgencySlots
}

// UrgencySlots is urgency_slots of sge_pe(5).
type UrgencySlots struct {
	Kind  UrgencyKind
	Fixed int64 // of FixedSlots
}

// UrgencyKind says how the slots of a range are assumed.
type UrgencyKind uint8

// The kinds of urgency_slots.
const (
	MinSlots UrgencyKind = iota // the least
	MaxSlots
	AvgSlots // the mean, without its fraction
	FixedSlots
)

// Node is a node of the share tree (share_tree(5)).
type Node struct {
	Name     string
	Shares   float64 // whole, 0 and more
	Children []*Node // in their order; names differ
}
