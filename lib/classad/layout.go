package classad

// layout says at which places a Reader puts the attributes of ads that read
// alike.
type layout struct {
	names  []string // by lines
	usual  []bool   // by lines: usualName
	places []int    // by lines
	shape  *shape
}

// customary are the attributes that Requirements, Rank and START usually ask
// about. They stand together in memory, the more usual ones first.
var customary = customaryNames("Requirements", "Start", "IsValidCheckpointPlatform", "WithinResourceLimits",
	"Cpus", "Memory", "Disk", "Arch", "OpSys", "OpSysMajorVer", "HasFileTransfer", "FileSystemDomain", "Machine", "Rank",
	"KFlops", "GPUs", "OpSysAndVer", "State", "Activity", "HasSingularity", "HasDocker",
	"KeyboardIdle", "LoadAvg", "Name", "Mips", "UidDomain", "TotalMemory", "TotalCpus", "SlotWeight",
	"EnteredCurrentState", "Owner", "RequestCpus", "RequestMemory", "RequestDisk")

func customaryNames(names ...string) []attribute {
	out := make([]attribute, len(names))
	for i, name := range names {
		out[i] = newAttribute(name)
	}
	return out
}

// newLayout makes the layout for ads whose lines have the names of a shape in
// that order.
func newLayout(lines *shape) *layout {
	n := lines.len()
	l := &layout{names: make([]string, n), usual: make([]bool, n), places: make([]int, n)}
	order := make([]int, 0, n)
	first := make([]bool, n)
	for i := range customary {
		if at := lines.find(&customary[i]); at >= 0 {
			order, first[at] = append(order, at), true
		}
	}
	for at, is := range first {
		if !is {
			order = append(order, at)
		}
	}
	for place, line := range order {
		l.names[line], l.places[line] = lines.at(line).name, place
		l.usual[line] = usualName(l.names[line])
	}
	l.shape = lines.pick(order)
	l.shape.frozen.Store(true)
	return l
}

// roomyAd is an ad with its front.
type roomyAd struct {
	ad    Ad
	front front
}

// adsAtOnce is for how many ads there is one piece of memory. It stays as long
// as one of them does.
const adsAtOnce = 16

// open returns an ad with room for the attributes.
func (l *layout) open(room *[]roomyAd) *Ad {
	n := len(l.places)
	if n < frontSize {
		return &Ad{cells: make([]cell, n)}
	}
	if len(*room) == 0 {
		*room = make([]roomyAd, adsAtOnce)
	}
	r := &(*room)[0]
	*room = (*room)[1:]
	r.ad.front, r.ad.cells = &r.front, make([]cell, n-frontSize)
	return &r.ad
}
