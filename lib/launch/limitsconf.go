package launch

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Where limits.conf(5) is, and what adds to it.
const (
	confFile  = "/etc/security/limits.conf"
	confFiles = "/etc/security/limits.d/*.conf"
)

// confTexts returns what the files say, in the order that counts. One that cannot
// be read says nothing.
func confTexts() (texts []string) {
	more, _ := filepath.Glob(confFiles) // sorted
	for _, name := range append([]string{confFile}, more...) {
		if b, err := os.ReadFile(name); err == nil {
			texts = append(texts, string(b))
		}
	}
	return texts
}

// conf reads limits.conf(5) for an account. Group finds the id of a group.
type conf struct {
	account Account
	group   func(name string) (gid int, known bool)
}

// item is what a name of limits.conf stands for. The name "locks" is left out: Linux heeds no
// such limit since 2.4.25, and lib/family marks the job's processes with it.
type item struct {
	resource int
	unit     uint64
}

var items = map[string]item{
	"core": {unix.RLIMIT_CORE, 1 << 10}, "data": {unix.RLIMIT_DATA, 1 << 10}, "fsize": {unix.RLIMIT_FSIZE, 1 << 10},
	"memlock": {unix.RLIMIT_MEMLOCK, 1 << 10}, "nofile": {unix.RLIMIT_NOFILE, 1}, "rss": {unix.RLIMIT_RSS, 1 << 10},
	"stack": {unix.RLIMIT_STACK, 1 << 10}, "cpu": {unix.RLIMIT_CPU, 60}, "nproc": {unix.RLIMIT_NPROC, 1},
	"as": {unix.RLIMIT_AS, 1 << 10}, "rtprio": {unix.RLIMIT_RTPRIO, 1},
	"sigpending": {unix.RLIMIT_SIGPENDING, 1}, "msgqueue": {unix.RLIMIT_MSGQUEUE, 1}, "nice": {unix.RLIMIT_NICE, 1},
}

// How closely a line means somebody: what is said of the user goes before what is
// said of one of its groups, and that before what is said of all. 0: it does not.
const (
	everybody = 1 + iota
	ofGroup
	ofUser
)

// limits returns what the texts say of the account, by resource, and the nice value
// that they give it. Of lines that mean it equally closely the last holds. A line
// that cannot be read says nothing, as with pam_limits(8), and maxlogins and its like
// do not concern a job. A line of a user or a group and "-" alone takes all limits
// away.
func (c conf) limits(texts []string) (limits []Rlimit, priority int) {
	s := settings{found: map[int]*Rlimit{}, closest: map[[2]int]int{}}
	for line := range strings.Lines(strings.Join(texts, "\n")) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(strings.TrimSpace(line))
		switch {
		case len(words) == 2 && words[1] == "-" && c.means(words[0]) > everybody:
			return nil, 0
		case len(words) == 4:
			s.set(c.means(words[0]), strings.ToLower(words[1]), strings.ToLower(words[2]), strings.ToLower(words[3]))
		}
	}
	for _, l := range s.found {
		limits = append(limits, *l)
	}
	slices.SortFunc(limits, func(a, b Rlimit) int { return a.Resource - b.Resource })
	return limits, s.priority
}

// settings is what has been read so far.
type settings struct {
	found    map[int]*Rlimit
	priority int
	// closest is how closely a line meant the account that set something: a resource,
	// and which part of its limit.
	closest map[[2]int]int
}

// Which part of a limit a line sets.
const (
	soft = iota
	hard
	thePriority
)

// set takes over a line that means the account so closely.
func (s *settings) set(near int, kind, name, value string) {
	if near == 0 {
		return
	}
	if name == "priority" {
		n, err := strconv.Atoi(value)
		if part := [2]int{0, thePriority}; err == nil && near >= s.closest[part] {
			s.closest[part], s.priority = near, min(max(n, -20), 19)
		}
		return
	}
	it, known := items[name]
	n, ok := it.read(value)
	if !known || !ok {
		return
	}
	l := s.found[it.resource]
	if l == nil {
		l = &Rlimit{it.resource, Same, Same}
		s.found[it.resource] = l
	}
	if part := [2]int{it.resource, soft}; (kind == "-" || kind == "soft") && near >= s.closest[part] {
		s.closest[part], l.Soft = near, n
	}
	if part := [2]int{it.resource, hard}; (kind == "-" || kind == "hard") && near >= s.closest[part] {
		s.closest[part], l.Hard = near, n
	}
}

// read reads a value in the item's unit.
func (it item) read(text string) (uint64, bool) {
	if it.resource == unix.RLIMIT_NICE {
		n, err := strconv.Atoi(text)
		return uint64(20 - min(max(n, -20), 19)), err == nil
	}
	if text == "-1" || text == "unlimited" || text == "infinity" {
		return unix.RLIM_INFINITY, true
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err == nil && n > (math.MaxUint64-2)/max(it.unit, 1) {
		return unix.RLIM_INFINITY, true
	}
	return n * it.unit, err == nil
}

// means returns how closely a domain means the account.
func (c conf) means(domain string) int {
	a := c.account
	group, isGroup := strings.CutPrefix(domain, "@")
	first, last, isRange := strings.Cut(group, ":")
	yes, near := false, ofUser
	switch {
	case domain == "*":
		return everybody
	case !isGroup:
		yes = domain == a.Name || isRange && within(a.UID, first, last)
	case !isRange:
		gid, known := c.group(group)
		yes, near = known && slices.Contains(a.Groups, gid), ofGroup
	case first == "": // one group, also if it is not the user's first
		gid, err := strconv.Atoi(last)
		yes, near = err == nil && slices.Contains(a.Groups, gid), ofGroup
	default:
		yes, near = within(a.GID, first, last), ofGroup
	}
	if !yes {
		return 0
	}
	return near
}

// within tells whether an id lies in a range: "first:last", "first:" or ":only".
func within(id int, first, last string) bool {
	low, err1 := strconv.Atoi(first)
	high, err2 := strconv.Atoi(last)
	switch {
	case first == "" && err2 == nil:
		return id == high
	case last == "" && err1 == nil:
		return id >= low
	}
	return err1 == nil && err2 == nil && low <= id && id <= high
}
