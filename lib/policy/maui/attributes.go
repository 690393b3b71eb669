package maui

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"fairspool/lib/config"
	"fairspool/lib/maui"
	"fairspool/lib/policy/maui/mauicfg"
)

// Attribute is what USERCFG[NAME] and the like may say.
type Attribute struct {
	Name string
	// Only is the one kind of credentials that has it, where it is not all of them.
	Only []maui.Kind
	// Wants says which values it takes, for the sentence "want ...".
	Wants string
	// Help explains the attribute, in one or two sentences.
	Help string

	// take sets a value. note describes oddities of the value; ok is false if nothing was
	// set.
	take func(c *maui.Credential, value string, compatible bool) (note string, ok bool)
}

const (
	wantWhole = "a whole number"
	wantTime  = "seconds, HH:MM:SS or DD:HH:MM:SS"
	wantLimit = "a number, or SOFT,HARD"
	wantName  = "a name"
	wantList  = "names, with & or ^ behind them or nothing"
)

// Attributes is every attribute, in the order of the manual page.
var Attributes = append([]Attribute{
	{Name: "PRIORITY", Wants: wantWhole,
		Help: "What jobs with this credential count in its subcomponent of CRED. 0: what DEFAULT has.",
		take: takeWhole(func(c *maui.Credential, n int64) { c.Priority = n })},
	{Name: "QTWEIGHT", Only: []maui.Kind{maui.QOS}, Wants: wantWhole, Help: "Added to QUEUETIMEWEIGHT.",
		take: takeWhole(func(c *maui.Credential, n int64) { c.QTWeight = n })},
	{Name: "XFWEIGHT", Only: []maui.Kind{maui.QOS}, Wants: wantWhole, Help: "Added to XFACTORWEIGHT.",
		take: takeWhole(func(c *maui.Credential, n int64) { c.XFWeight = n })},
	{Name: "FSWEIGHT", Only: []maui.Kind{maui.QOS}, Wants: wantWhole, Help: "Added to FSWEIGHT.",
		take: takeWhole(func(c *maui.Credential, n int64) { c.FSWeight = n })},
	{Name: "QTTARGET", Wants: wantTime, Help: "How long a job should wait at most.", take: takeQTTarget},
	{Name: "XFTARGET", Wants: "a number", Help: "Which expansion factor a job should reach at most.",
		take: func(c *maui.Credential, value string, _ bool) (string, bool) {
			x, note, ok := fraction(value)
			c.XFTarget = x
			return note, ok
		}},
	{Name: "FSTARGET", Wants: "a number, with +, -, ^ or % behind it or nothing", Help: "Which percentage of the pool it should have used.", take: takeFSTarget},
	{Name: "QDEF", Wants: wantName, Help: "The QOS of jobs that ask for none.",
		take: takeFirst(func(c *maui.Credential) *string { return &c.QDef })},
	{Name: "QLIST", Wants: wantList, Help: "Which QOS its jobs may ask for.",
		take: takeList(func(c *maui.Credential) (*[]string, *byte) { return &c.QList, &c.QListMode })},
	{Name: "ADEF", Only: []maui.Kind{maui.User, maui.Group}, Wants: wantName, Help: "The account of jobs that name none.",
		take: takeFirst(func(c *maui.Credential) *string { return &c.Accounts.Default })},
	{Name: "ALIST", Only: []maui.Kind{maui.User, maui.Group}, Wants: wantList, Help: "Which accounts its jobs may name.",
		take: takeList(func(c *maui.Credential) (*[]string, *byte) { return &c.Accounts.Names, &c.Accounts.Mode })},
	{Name: "CDEF", Only: []maui.Kind{maui.User, maui.Group, maui.Account}, Wants: wantName, Help: "The class of jobs that name none.",
		take: takeFirst(func(c *maui.Credential) *string { return &c.Classes.Default })},
	{Name: "CLIST", Only: []maui.Kind{maui.User, maui.Group, maui.Account}, Wants: wantList, Help: "Which classes its jobs may name.",
		take: takeList(func(c *maui.Credential) (*[]string, *byte) { return &c.Classes.Names, &c.Classes.Mode })},
	{Name: "DEFAULT.WCLIMIT", Only: []maui.Kind{maui.Class}, Wants: wantTime, Help: "The time limit of jobs that name none.",
		take: takeDuration(func(c *maui.Credential, d time.Duration) { c.WCLimit = d })},
}, limits()...)

// counted are what limits count, by maui.Limit.
var counted = [maui.Limits]string{
	maui.MaxJob: "jobs", maui.MaxProc: "processors", maui.MaxPS: "processor-seconds to come", maui.MaxPE: "processor equivalents",
	maui.MaxNode: "machines", maui.MaxWC: "seconds to come", maui.MaxMem: "MB of memory",
}

// limits are the attributes that limit what runs, and what waits and is considered.
func limits() []Attribute {
	var list []Attribute
	for l, counts := range counted {
		list = append(list, Attribute{Name: "MAX" + maui.Limit(l).String(), Wants: wantLimit, Help: "How many " + counts + " may run.",
			take: takeLimit(func(c *maui.Credential) *maui.Bound { return &c.Limits[l] })})
	}
	for l, counts := range counted {
		list = append(list, Attribute{Name: "MAXI" + maui.Limit(l).String(), Wants: wantLimit, Help: "How many " + counts + " may wait and be considered.",
			take: takeLimit(func(c *maui.Credential) *maui.Bound { return &c.IdleLimit[l] })})
	}
	return list
}

// laterAttributes are attributes that Maui knows and this version does not serve.
var laterAttributes = config.LaterNames(`PLIST=[ALL] PDEF FLAGS JOBFLAGS QFLAGS MAXJOBPERUSER=0 MAXNODEPERUSER=0 MAXPROCPERUSER=0
	MAX.WCLIMIT=-1 CLASSWEIGHT=0 FSCAP=0 HOSTLIST EMAILADDRESS OVERRUN=0`)

// takeWhole makes take of an attribute that is a whole number, as C reads it.
func takeWhole(set func(*maui.Credential, int64)) func(*maui.Credential, string, bool) (string, bool) {
	return func(c *maui.Credential, value string, _ bool) (string, bool) {
		n, note, ok := mauicfg.Int(value)
		if bounded := min(max(n, -mostWeight), mostWeight); bounded != n {
			n, note = bounded, fmt.Sprintf("%q: too large; read as %d", value, bounded)
		}
		set(c, n)
		if !ok {
			note += "; read as 0"
		}
		return note, true
	}
}

// takeDuration makes take of an attribute that is a length of time.
func takeDuration(set func(*maui.Credential, time.Duration)) func(*maui.Credential, string, bool) (string, bool) {
	return func(c *maui.Credential, value string, _ bool) (string, bool) {
		d, note, ok := mauicfg.Time(value)
		if ok {
			set(c, d)
		}
		return note, ok
	}
}

// takeLimit makes take of an attribute that is one number or two.
func takeLimit(of func(*maui.Credential) *maui.Bound) func(*maui.Credential, string, bool) (string, bool) {
	return func(c *maui.Credential, value string, _ bool) (string, bool) {
		first, second := mauicfg.Pair(value)
		soft, note, ok := limitOf(first)
		hard, also, both := limitOf(second)
		switch {
		case !ok || !both:
			return fmt.Sprintf("%q: want %s", value, wantLimit), false
		case soft < 0 || hard < 0:
			return fmt.Sprintf("%q: below 0: no limit", value), false
		case note == "":
			note = also
		}
		if note == "" && hard < soft {
			note = fmt.Sprintf("%q: the hard limit, which stands second, is below the soft one", value)
		}
		*of(c) = maui.Bound{Set: true, Soft: soft, Hard: hard}
		return note, true
	}
}

// limitOf reads one number of a limit: a whole one, or a time, which is in seconds.
func limitOf(value string) (x float64, note string, ok bool) {
	if strings.Contains(value, ":") {
		d, note, ok := mauicfg.Time(value)
		return d.Seconds(), note, ok
	}
	n, note, ok := mauicfg.Int(value)
	return float64(min(n, mostLimit)), note, ok
}

// mostLimit is as far as floating point counts.
const mostLimit = 1 << 53

// fraction reads a number with a fraction, and nothing behind it.
func fraction(value string) (x float64, note string, ok bool) {
	x, rest, ok := mauicfg.Real(value)
	switch {
	case !ok || math.Abs(x) > config.MaxFactor:
		return 0, fmt.Sprintf("%q: want a number", value), false
	case strings.Trim(rest, ",") != "":
		note = fmt.Sprintf("%q: read as %s; %q does not count", value, config.Number(x), rest)
	}
	return x, note, true
}

// mostQTTarget bounds targets that are read as Maui 3.3.1 reads them: it compares them with
// the second since 1970 at which a job was queued. The bound is ours, as Maui's is unknown.
const mostQTTarget = math.MaxInt32

// takeQTTarget reads a time; Maui 3.3.1 reads a whole number of seconds.
func takeQTTarget(c *maui.Credential, value string, compatible bool) (note string, ok bool) {
	if !compatible {
		return takeDuration(func(c *maui.Credential, d time.Duration) { c.QTTarget = d })(c, value, false)
	}
	n, note, _ := mauicfg.Int(value)
	if n > mostQTTarget {
		n, note = mostQTTarget, fmt.Sprintf("%q: too large; read as %d", value, mostQTTarget)
	}
	c.QTTarget = time.Duration(max(n, 0)) * time.Second
	return note, true
}

func takeFSTarget(c *maui.Credential, value string, _ bool) (note string, ok bool) {
	x, rest, ok := mauicfg.Real(value)
	if !ok || math.Abs(x) > config.MaxFactor {
		return fmt.Sprintf("%q: want a percentage", value), false
	}
	c.FSTarget, c.FSMode = x, maui.FSTarget
	if rest != "" && strings.IndexByte("+-^%", rest[0]) >= 0 {
		c.FSMode, rest = maui.FSMode(rest[0]), rest[1:]
	}
	if strings.Trim(rest, ",") != "" {
		note = fmt.Sprintf("%q: %q does not count; want +, -, ^ or %% behind the number, or nothing", value, rest)
	}
	return note, true
}

// takeFirst makes take of an attribute that is the name of a default.
func takeFirst(of func(*maui.Credential) *string) func(*maui.Credential, string, bool) (string, bool) {
	return func(c *maui.Credential, value string, _ bool) (note string, ok bool) {
		names := mauicfg.List(value)
		if len(names) == 0 {
			return fmt.Sprintf("%q: want a name", value), false
		}
		if *of(c) = names[0]; len(names) > 1 {
			note = fmt.Sprintf("%q: the first of them counts", value)
		}
		return note, true
	}
}

// takeList makes take of an attribute that is a list of names.
func takeList(of func(*maui.Credential) (*[]string, *byte)) func(*maui.Credential, string, bool) (string, bool) {
	return func(c *maui.Credential, value string, _ bool) (note string, ok bool) {
		text, mode := value, byte(0)
		if end := value[max(len(value)-1, 0):]; end == "&" || end == "^" {
			text, mode = value[:len(value)-1], end[0]
		}
		names := mauicfg.List(text)
		if len(names) == 0 {
			return fmt.Sprintf("%q: want names", value), false
		}
		to, of := of(c)
		*to, *of = names, mode
		return "", true
	}
}

// credentialKinds are USERCFG and the like, by maui.Kind.
var credentialKinds = func() []string {
	names := make([]string, maui.Kinds)
	for k := range maui.Kinds {
		names[k] = k.String() + "CFG"
	}
	return names
}()

// credentialKind returns which of credentialKinds a name is.
func credentialKind(name string) (maui.Kind, bool) {
	i := slices.Index(credentialKinds, name)
	return maui.Kind(max(i, 0)), i >= 0
}

// credentialKey reads a key such as USERCFG[john].
func credentialKey(key string) (kind maui.Kind, name string, ok bool) {
	before, rest, bracket := strings.Cut(key, "[")
	name, closed := strings.CutSuffix(rest, "]")
	kind, known := credentialKind(before)
	return kind, strings.TrimSpace(name), bracket && closed && known && strings.TrimSpace(name) != ""
}

// only returns the kinds of credentials that have the attribute; empty: all do. Maui
// 3.3.1 reads targets of service of a QOS only, though its manual has them everywhere.
func (a Attribute) only(compatible bool) []maui.Kind {
	if compatible && (a.Name == "QTTARGET" || a.Name == "XFTARGET") {
		return []maui.Kind{maui.QOS}
	}
	return a.Only
}

// has reports whether credentials of the kind have the attribute.
func (a Attribute) has(kind maui.Kind, compatible bool) bool {
	only := a.only(compatible)
	return len(only) == 0 || slices.Contains(only, kind)
}

// attributeOf returns the attribute of a kind of credentials.
func attributeOf(kind maui.Kind, name string, compatible bool) (Attribute, bool) {
	i := slices.IndexFunc(Attributes, func(a Attribute) bool { return a.Name == name && a.has(kind, compatible) })
	if i < 0 {
		return Attribute{}, false
	}
	return Attributes[i], true
}

// attributesOf returns the names of a kind's attributes.
func attributesOf(kind maui.Kind, compatible bool) []string {
	var names []string
	for _, a := range Attributes {
		if a.has(kind, compatible) {
			names = append(names, a.Name)
		}
	}
	return names
}
