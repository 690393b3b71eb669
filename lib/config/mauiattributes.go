package config

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"fairspool/lib/maui"
	"fairspool/lib/maui/mauicfg"
)

// MauiAttribute is what USERCFG[NAME] and the like may say.
type MauiAttribute struct {
	Name string
	// Only is the one kind of credentials that has it, where it is not all of them.
	Only []maui.Kind
	// Wants says which values it takes, for the sentence "want ...".
	Wants string
	// Help says what it means, in one or two sentences.
	Help string

	// take sets what a value says. note is what is odd about it; ok is false if nothing
	// was set.
	take func(c *maui.Credential, value string, compatible bool) (note string, ok bool)
}

const (
	wantWhole = "a whole number"
	wantTime  = "seconds, HH:MM:SS or DD:HH:MM:SS"
	wantLimit = "a number, or SOFT,HARD"
	wantName  = "a name"
	wantList  = "names, with & or ^ behind them or nothing"
)

// MauiAttributes is every attribute, in the order of the manual page.
var MauiAttributes = append([]MauiAttribute{
	{Name: "PRIORITY", Wants: wantWhole,
		Help: "What jobs with this credential count in its subcomponent of CRED. 0: what DEFAULT has.",
		take: whole(func(c *maui.Credential, n int64) { c.Priority = n })},
	{Name: "QTWEIGHT", Only: []maui.Kind{maui.QOS}, Wants: wantWhole, Help: "Added to QUEUETIMEWEIGHT.",
		take: whole(func(c *maui.Credential, n int64) { c.QTWeight = n })},
	{Name: "XFWEIGHT", Only: []maui.Kind{maui.QOS}, Wants: wantWhole, Help: "Added to XFACTORWEIGHT.",
		take: whole(func(c *maui.Credential, n int64) { c.XFWeight = n })},
	{Name: "FSWEIGHT", Only: []maui.Kind{maui.QOS}, Wants: wantWhole, Help: "Added to FSWEIGHT.",
		take: whole(func(c *maui.Credential, n int64) { c.FSWeight = n })},
	{Name: "QTTARGET", Wants: wantTime, Help: "How long a job should wait at most.", take: takeQTTarget},
	{Name: "XFTARGET", Wants: "a number", Help: "Which expansion factor a job should reach at most.",
		take: func(c *maui.Credential, value string, _ bool) (string, bool) {
			x, note, ok := fraction(value)
			c.XFTarget = x
			return note, ok
		}},
	{Name: "FSTARGET", Wants: "a number, with +, -, ^ or % behind it or nothing", Help: "Which percentage of the pool it should have used.", take: takeFSTarget},
	{Name: "QDEF", Wants: wantName, Help: "The QOS of jobs that ask for none.",
		take: first(func(c *maui.Credential) *string { return &c.QDef })},
	{Name: "QLIST", Wants: wantList, Help: "Which QOS its jobs may ask for.",
		take: list(func(c *maui.Credential) (*[]string, *byte) { return &c.QList, &c.QListMode })},
	{Name: "ADEF", Only: []maui.Kind{maui.User, maui.Group}, Wants: wantName, Help: "The account of jobs that name none.",
		take: first(func(c *maui.Credential) *string { return &c.Accounts.Default })},
	{Name: "ALIST", Only: []maui.Kind{maui.User, maui.Group}, Wants: wantList, Help: "Which accounts its jobs may name.",
		take: list(func(c *maui.Credential) (*[]string, *byte) { return &c.Accounts.Names, &c.Accounts.Mode })},
	{Name: "CDEF", Only: []maui.Kind{maui.User, maui.Group, maui.Account}, Wants: wantName, Help: "The class of jobs that name none.",
		take: first(func(c *maui.Credential) *string { return &c.Classes.Default })},
	{Name: "CLIST", Only: []maui.Kind{maui.User, maui.Group, maui.Account}, Wants: wantList, Help: "Which classes its jobs may name.",
		take: list(func(c *maui.Credential) (*[]string, *byte) { return &c.Classes.Names, &c.Classes.Mode })},
	{Name: "DEFAULT.WCLIMIT", Only: []maui.Kind{maui.Class}, Wants: wantTime, Help: "The time limit of jobs that name none.",
		take: duration(func(c *maui.Credential, d time.Duration) { c.WCLimit = d })},
}, mauiLimits()...)

// mauiCounted are what limits count, by maui.Limit.
var mauiCounted = [maui.Limits]string{
	maui.MaxJob: "jobs", maui.MaxProc: "processors", maui.MaxPS: "processor-seconds to come", maui.MaxPE: "processor equivalents",
	maui.MaxNode: "machines", maui.MaxWC: "seconds to come", maui.MaxMem: "MB of memory",
}

// mauiLimits are the attributes that limit what runs, and what waits and is considered.
func mauiLimits() []MauiAttribute {
	var list []MauiAttribute
	for l, counts := range mauiCounted {
		list = append(list, MauiAttribute{Name: "MAX" + maui.Limit(l).String(), Wants: wantLimit, Help: "How many " + counts + " may run.",
			take: limit(func(c *maui.Credential) *maui.Bound { return &c.Limits[l] })})
	}
	for l, counts := range mauiCounted {
		list = append(list, MauiAttribute{Name: "MAXI" + maui.Limit(l).String(), Wants: wantLimit, Help: "How many " + counts + " may wait and be considered.",
			take: limit(func(c *maui.Credential) *maui.Bound { return &c.IdleLimit[l] })})
	}
	return list
}

// laterAttributes are attributes that Maui knows and this version does not serve.
var laterAttributes = laterNames(`PLIST=[ALL] PDEF FLAGS JOBFLAGS QFLAGS MAXJOBPERUSER=0 MAXNODEPERUSER=0 MAXPROCPERUSER=0
	MAX.WCLIMIT=-1 CLASSWEIGHT=0 FSCAP=0 HOSTLIST EMAILADDRESS OVERRUN=0`)

// whole makes take of an attribute that is a whole number, as C reads it.
func whole(set func(*maui.Credential, int64)) func(*maui.Credential, string, bool) (string, bool) {
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

// duration makes take of an attribute that is a length of time.
func duration(set func(*maui.Credential, time.Duration)) func(*maui.Credential, string, bool) (string, bool) {
	return func(c *maui.Credential, value string, _ bool) (string, bool) {
		d, note, ok := mauicfg.Time(value)
		if ok {
			set(c, d)
		}
		return note, ok
	}
}

// limit makes take of an attribute that is one number or two.
func limit(of func(*maui.Credential) *maui.Bound) func(*maui.Credential, string, bool) (string, bool) {
	return func(c *maui.Credential, value string, _ bool) (string, bool) {
		first, second := mauicfg.Pair(value)
		soft, note, ok := limited(first)
		hard, also, both := limited(second)
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

// limited reads one number of a limit: a whole one, or a time, which is in seconds.
func limited(value string) (x float64, note string, ok bool) {
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
	case !ok || math.Abs(x) > maxFactor:
		return 0, fmt.Sprintf("%q: want a number", value), false
	case strings.Trim(rest, ",") != "":
		note = fmt.Sprintf("%q: read as %s; %q does not count", value, number(x), rest)
	}
	return x, note, true
}

// mostQTTarget bounds what is read as Maui 3.3.1 reads it, which is compared with the second
// since 1970 at which a job was queued. The bound is ours: what Maui's was is not known.
const mostQTTarget = math.MaxInt32

// takeQTTarget reads a time; Maui 3.3.1 reads a whole number of seconds.
func takeQTTarget(c *maui.Credential, value string, compatible bool) (note string, ok bool) {
	if !compatible {
		return duration(func(c *maui.Credential, d time.Duration) { c.QTTarget = d })(c, value, false)
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
	if !ok || math.Abs(x) > maxFactor {
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

// first makes take of an attribute that is the name of a default.
func first(of func(*maui.Credential) *string) func(*maui.Credential, string, bool) (string, bool) {
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

// list makes take of an attribute that is a list of names.
func list(of func(*maui.Credential) (*[]string, *byte)) func(*maui.Credential, string, bool) (string, bool) {
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

// only returns the kinds of credentials that have the attribute; none: all do. Maui 3.3.1
// reads targets of service of a QOS only, though its manual has them everywhere.
func (a MauiAttribute) only(compatible bool) []maui.Kind {
	if compatible && (a.Name == "QTTARGET" || a.Name == "XFTARGET") {
		return []maui.Kind{maui.QOS}
	}
	return a.Only
}

// has reports whether credentials of the kind have the attribute.
func (a MauiAttribute) has(kind maui.Kind, compatible bool) bool {
	only := a.only(compatible)
	return len(only) == 0 || slices.Contains(only, kind)
}

// attributeOf returns the attribute of a kind of credentials.
func attributeOf(kind maui.Kind, name string, compatible bool) (MauiAttribute, bool) {
	i := slices.IndexFunc(MauiAttributes, func(a MauiAttribute) bool { return a.Name == name && a.has(kind, compatible) })
	if i < 0 {
		return MauiAttribute{}, false
	}
	return MauiAttributes[i], true
}

// attributesOf returns the names of a kind's attributes.
func attributesOf(kind maui.Kind, compatible bool) []string {
	var names []string
	for _, a := range MauiAttributes {
		if a.has(kind, compatible) {
			names = append(names, a.Name)
		}
	}
	return names
}
