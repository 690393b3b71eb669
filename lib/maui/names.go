package maui

// Component is one of the terms that a priority is the sum of.
type Component uint8

// The components in Maui's own order. Attribute never counts (Maui does not compute it),
// and Usage does not count while a job waits.
const (
	Service Component = iota
	Target
	Credentials
	Attribute
	FairShare
	Resource
	Usage
	Components // how many there are
)

// Sub is one of the terms that a component is the sum of.
type Sub uint8

// The subcomponents, component by component.
const (
	QueueTime Sub = iota
	XFactor
	SPViolation
	Bypass

	TargetQueueTime
	TargetXFactor

	CredUser
	CredGroup
	CredAccount
	CredQOS
	CredClass

	AttrAttr
	AttrState

	FSUser
	FSGroup
	FSAccount
	FSQOS
	FSClass

	Node
	Proc
	Mem
	Swap
	Disk
	PS
	PE
	WallTime
	UProc
	UJob

	Consumed
	ExecutionTime
	Remaining
	Percent

	Subs // how many there are
)

// Kind is a kind of credentials.
type Kind uint8

// The kinds of credentials, in the order in which Maui shows them.
const (
	User Kind = iota
	Group
	Account
	QOS
	Class
	Kinds // how many there are
)

// DefaultName is the index of the settings for everybody who has none of their own, and
// the QOS of jobs that have no other.
const DefaultName = "DEFAULT"

var componentNames = [Components]string{"SERV", "TARG", "CRED", "ATTR", "FS", "RES", "USAGE"}

// String returns the component's short name, such as SERV.
func (c Component) String() string { return componentNames[c] }

// subNames has for each subcomponent its component and its name.
var subNames = [Subs]struct {
	of   Component
	name string
}{
	QueueTime: {Service, "QUEUETIME"}, XFactor: {Service, "XFACTOR"}, SPViolation: {Service, "SPVIOLATION"}, Bypass: {Service, "BYPASS"},
	TargetQueueTime: {Target, "TARGETQUEUETIME"}, TargetXFactor: {Target, "TARGETXFACTOR"},
	CredUser: {Credentials, "USER"}, CredGroup: {Credentials, "GROUP"}, CredAccount: {Credentials, "ACCOUNT"}, CredQOS: {Credentials, "QOS"}, CredClass: {Credentials, "CLASS"},
	AttrAttr: {Attribute, "ATTRATTR"}, AttrState: {Attribute, "ATTRSTATE"},
	FSUser: {FairShare, "FSUSER"}, FSGroup: {FairShare, "FSGROUP"}, FSAccount: {FairShare, "FSACCOUNT"}, FSQOS: {FairShare, "FSQOS"}, FSClass: {FairShare, "FSCLASS"},
	Node: {Resource, "NODE"}, Proc: {Resource, "PROC"}, Mem: {Resource, "MEM"}, Swap: {Resource, "SWAP"}, Disk: {Resource, "DISK"},
	PS: {Resource, "PS"}, PE: {Resource, "PE"}, WallTime: {Resource, "WALLTIME"}, UProc: {Resource, "UPROC"}, UJob: {Resource, "UJOB"},
	Consumed: {Usage, "CONSUMED"}, ExecutionTime: {Usage, "USAGEEXECUTIONTIME"}, Remaining: {Usage, "REMAINING"}, Percent: {Usage, "PERCENT"},
}

// String returns the subcomponent's name as in its weight's parameter, such as QUEUETIME.
func (s Sub) String() string { return subNames[s].name }

// Component returns the component that the subcomponent is a term of.
func (s Sub) Component() Component { return subNames[s].of }

var kindNames = [Kinds]string{"USER", "GROUP", "ACCOUNT", "QOS", "CLASS"}

// String returns the kind as in USERCFG and FSUSERWEIGHT.
func (k Kind) String() string { return kindNames[k] }
