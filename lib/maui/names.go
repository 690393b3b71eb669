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

// The kinds of credentials, in Maui's order of display.
const (
	User Kind = iota
	Group
	Account
	QOS
	Class
	Kinds // how many there are
)

// DefaultName is the index of the default settings, and the QOS of jobs without another
// one.
const DefaultName = "DEFAULT"

// Parameters are the parameters of maui.cfg that say how a component or a subcomponent enters its
// sum.
type Parameters struct {
	Weight, Cap string // Cap is empty without one
	Counts      string // the weighted quantity, for people
}

// components has for each component its short name and its parameters.
var components = [Components]struct {
	name string
	Parameters
}{
	Service:     {"SERV", Parameters{"SERVICEWEIGHT", "SERVICEWCAP", "how the job was served so far"}},
	Target:      {"TARG", Parameters{"TARGETWEIGHT", "TARGETCAP", "how near it is to its targets of service"}},
	Credentials: {"CRED", Parameters{"CREDWEIGHT", "CREDCAP", "whose it is: PRIORITY of its credentials"}},
	Attribute:   {"ATTR", Parameters{"ATTRWEIGHT", "ATTRCAP", "nothing, as in Maui"}},
	FairShare:   {"FS", Parameters{"FSWEIGHT", "FSCAP", "how far its credentials are below their FSTARGET"}},
	Resource:    {"RES", Parameters{"RESWEIGHT", "RESCAP", "what it asks for"}},
	Usage:       {"USAGE", Parameters{"USAGEWEIGHT", "USAGECAP", "what it has used; nothing while it waits"}},
}

// String returns the component's short name, such as SERV.
func (c Component) String() string { return components[c].name }

// Parameters returns the component's parameters.
func (c Component) Parameters() Parameters { return components[c].Parameters }

// subs has for each subcomponent its component, its name and its quantity.
var subs = [Subs]struct {
	of           Component
	name, counts string
}{
	QueueTime:       {Service, "QUEUETIME", "minutes that it has waited"},
	XFactor:         {Service, "XFACTOR", "expansion factor: the time waited and its limit, by its limit"},
	SPViolation:     {Service, "SPVIOLATION", "1 if it is beyond a soft limit"},
	Bypass:          {Service, "BYPASS", "how often a job behind it was started first"},
	TargetQueueTime: {Target, "TARGETQUEUETIME", "how near the time waited is to QTTARGET"},
	TargetXFactor:   {Target, "TARGETXFACTOR", "how near the expansion factor is to XFTARGET"},
	CredUser:        {Credentials, "USER", "PRIORITY of its user"},
	CredGroup:       {Credentials, "GROUP", "PRIORITY of its group"},
	CredAccount:     {Credentials, "ACCOUNT", "PRIORITY of its account"},
	CredQOS:         {Credentials, "QOS", "PRIORITY of its QOS"},
	CredClass:       {Credentials, "CLASS", "PRIORITY of its class"},
	AttrAttr:        {Attribute, "ATTRATTR", "nothing, as in Maui"},
	AttrState:       {Attribute, "ATTRSTATE", "nothing, as in Maui"},
	FSUser:          {FairShare, "FSUSER", "percent points its user is below FSTARGET"},
	FSGroup:         {FairShare, "FSGROUP", "the same of its group"},
	FSAccount:       {FairShare, "FSACCOUNT", "the same of its account"},
	FSQOS:           {FairShare, "FSQOS", "the same of its QOS"},
	FSClass:         {FairShare, "FSCLASS", "the same of its class"},
	Node:            {Resource, "NODE", "machines that it asks for"},
	Proc:            {Resource, "PROC", "processors"},
	Mem:             {Resource, "MEM", "memory, MB"},
	Swap:            {Resource, "SWAP", "swap, MB"},
	Disk:            {Resource, "DISK", "disk, MB"},
	PS:              {Resource, "PS", "processors times its limit in seconds"},
	PE:              {Resource, "PE", "processor equivalents"},
	WallTime:        {Resource, "WALLTIME", "its limit, seconds"},
	UProc:           {Resource, "UPROC", "nothing, as in Maui"},
	UJob:            {Resource, "UJOB", "nothing, as in Maui"},
	Consumed:        {Usage, "CONSUMED", "nothing while it waits"},
	ExecutionTime:   {Usage, "USAGEEXECUTIONTIME", "nothing while it waits"},
	Remaining:       {Usage, "REMAINING", "nothing while it waits"},
	Percent:         {Usage, "PERCENT", "nothing while it waits"},
}

// String returns the subcomponent's name as in its weight's parameter, such as QUEUETIME.
func (s Sub) String() string { return subs[s].name }

// Parameters returns the subcomponent's parameters.
func (s Sub) Parameters() Parameters {
	p := Parameters{s.String() + "WEIGHT", s.String() + "CAP", subs[s].counts}
	if s == UProc || s == UJob {
		p.Cap = ""
	}
	return p
}

// Component returns the component that the subcomponent is a term of.
func (s Sub) Component() Component { return subs[s].of }

var kindNames = [Kinds]string{"USER", "GROUP", "ACCOUNT", "QOS", "CLASS"}

// String returns the kind as in USERCFG and FSUSERWEIGHT.
func (k Kind) String() string { return kindNames[k] }
