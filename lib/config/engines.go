package config

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"fairspool/lib/nearest"
	"fairspool/lib/pool"
)

// Engine is what [engine.NAME] says of machines that run jobs.
type Engine struct {
	Name             string
	Kind             string   // KIND
	Hosts            []string // HOSTS
	Link             string   // LINK
	SSH              []string // SSH
	Starter          string   // STARTER
	State            string   // STATE; empty: the default of the kind
	FileSystemDomain string   // FILESYSTEM_DOMAIN; empty: each machine's name

	// Of an engine that queues pilots (Queues):

	Via        []string      // VIA, of another pool
	Home       string        // HOME
	Cpus       int64         // PILOT
	MemoryMB   int64         // PILOT
	Time       time.Duration // PILOT_TIME
	MaxPilots  int           // MAX_PILOTS
	MaxWaiting int           // MAX_WAITING
	Idle       time.Duration // IDLE
	After      time.Duration // AFTER
	AskTimeout time.Duration // ASK_TIMEOUT
	RunAs      string        // RUN_AS
	Bin        string        // BIN
	Env        []string      // ENV

	Ask, Look, Cancel      []string       // ASK, LOOK and CANCEL
	AskPattern             *regexp.Regexp // ASK_PATTERN; nil: the driver's
	LookPattern            *regexp.Regexp // LOOK_PATTERN; nil: the driver's
	Waiting, Running, Over *regexp.Regexp // WAITING, RUNNING and OVER; nil: the driver's
}

// The values of KIND.
const (
	KindSSH     = "ssh"
	KindSlurm   = "slurm"
	KindSGE     = "sge"
	KindCommand = "command"
	KindPool    = "fairspool" // another pool, which runs this one's pilots as jobs
)

// Queues reports whether the engine is a batch system. Its jobs are the pilots.
func (e Engine) Queues() bool { return e.Kind != KindSSH }

// LinkAttach and LinkHome are the values of LINK: this host calls the machines, or they call it.
const (
	LinkAttach = "attach"
	LinkHome   = "home"
)

// RunAsOwner and RunAsSpool are the values of RUN_AS: a pilot is the job of the owner of the jobs that it runs, or of
// the spool's account.
const (
	RunAsOwner = "owner"
	RunAsSpool = "spool"
)

const (
	defaultPilotTime  = 4 * 3600
	defaultMaxPilots  = 100
	defaultMaxWaiting = 10
	defaultPatience   = 300
	mostPilots        = 100000
)

// EngineKeys are what [engine.NAME] may say.
var EngineKeys = []EngineKey{
	{Key{Name: "KIND", Kind: String, Default: "", Choices: []string{KindSSH, KindSlurm, KindSGE, KindCommand, KindPool},
		Help: "How the machines of the engine are reached."},
		func(e *Engine, v any) { e.Kind = v.(string) }},
	{Key{Name: "HOSTS", Kind: Names, Default: []string(nil), Check: hostName,
		Help: "The machines of the engine, by the names that ssh knows."},
		func(e *Engine, v any) { e.Hosts = v.([]string) }},
	{Key{Name: "LINK", Kind: String, Default: LinkAttach, Choices: []string{LinkAttach, LinkHome},
		Help: "Who opens the link: this host by ssh, or the machine."},
		func(e *Engine, v any) { e.Link = v.(string) }},
	{Key{Name: "SSH", Kind: Words, Default: []string{"ssh"}, Check: printable,
		Help: "The command that runs a command on a machine, and its first arguments."},
		func(e *Engine, v any) { e.SSH = v.([]string) }},
	{Key{Name: "STARTER", Kind: String, Default: ".fairspool/starter", Check: remotePath,
		Help: "The path of the program starter on the machines."},
		func(e *Engine, v any) { e.Starter = v.(string) }},
	{Key{Name: "STATE", Kind: String, Default: "", Check: remotePath,
		Help: "The folder on the machines where pilots keep the state of their jobs."},
		func(e *Engine, v any) { e.State = v.(string) }},
	{Key{Name: "FILESYSTEM_DOMAIN", Kind: String, Default: "", Check: oneWord,
		Help: "The FileSystemDomain of the machines' slots."},
		func(e *Engine, v any) { e.FileSystemDomain = v.(string) }},
	{Key{Name: "VIA", Kind: Words, Default: []string(nil), Check: printable,
		Help: "The command that leads to serve -flock of another pool."},
		func(e *Engine, v any) { e.Via = v.([]string) }},
	{Key{Name: "HOME", Kind: String, Default: "", Check: printable,
		Help: "The command by which a pilot calls this host."},
		func(e *Engine, v any) { e.Home = v.(string) }},
	{Key{Name: "PILOT", Kind: Resources, Default: map[string]int64(nil), Least: 1, Most: MaxInteger,
		Help: "The cores and the MB of memory of each pilot."},
		func(e *Engine, v any) {
			has := v.(map[string]int64)
			e.Cpus, e.MemoryMB = has[pool.AttrCpus], has[pool.AttrMemory]
		}},
	{Key{Name: "PILOT_TIME", Kind: Seconds, Default: float64(defaultPilotTime), Unit: "seconds", Least: 60, Most: MaxSeconds,
		Help: "The time limit of a pilot."},
		func(e *Engine, v any) { e.Time = durationOf(v) }},
	{Key{Name: "MAX_PILOTS", Kind: Integer, Default: int64(defaultMaxPilots), Most: mostPilots,
		Help: "The most pilots at a time."},
		func(e *Engine, v any) { e.MaxPilots = int(v.(int64)) }},
	{Key{Name: "MAX_WAITING", Kind: Integer, Default: int64(defaultMaxWaiting), Most: mostPilots,
		Help: "The most pilots that wait for the engine at a time."},
		func(e *Engine, v any) { e.MaxWaiting = int(v.(int64)) }},
	{Key{Name: "IDLE", Kind: Seconds, Default: float64(defaultPatience), Unit: "seconds", Least: 1, Most: MaxSeconds,
		Help: "A pilot ends after so long without a job."},
		func(e *Engine, v any) { e.Idle = durationOf(v) }},
	{Key{Name: "AFTER", Kind: Seconds, Default: float64(0), Unit: "seconds", Most: MaxSeconds,
		Help: "How long a job must have been in the queue before pilots are asked for it."},
		func(e *Engine, v any) { e.After = durationOf(v) }},
	{Key{Name: "ASK_TIMEOUT", Kind: Seconds, Default: float64(defaultPatience), Unit: "seconds", Most: MaxSeconds,
		Help: "How long after its submission a pilot is given up that the engine does not know."},
		func(e *Engine, v any) { e.AskTimeout = durationOf(v) }},
	{Key{Name: "RUN_AS", Kind: String, Default: RunAsOwner, Choices: []string{RunAsOwner, RunAsSpool},
		Help: "Whether a pilot is a job of the owner of its jobs or of the spool's account."},
		func(e *Engine, v any) { e.RunAs = v.(string) }},
	{Key{Name: "BIN", Kind: String, Default: "/usr/bin", Check: wholePath,
		Help: "The folder of the engine's commands on this host."},
		func(e *Engine, v any) { e.Bin = v.(string) }},
	{Key{Name: "ENV", Kind: Names, Default: []string(nil), Check: variable,
		Help: "Variables for the engine's commands, as NAME=VALUE."},
		func(e *Engine, v any) { e.Env = v.([]string) }},
	{Key{Name: "ASK", Kind: Words, Default: []string(nil), Check: printable,
		Help: "Further arguments of sbatch or qsub; for KIND = \"command\" the command that submits a script."},
		func(e *Engine, v any) { e.Ask = v.([]string) }},
	{Key{Name: "ASK_PATTERN", Kind: String, Default: "", Check: patternWith(nil),
		Help: "A regular expression whose last group is the engine's name for the job in the output of ASK."},
		func(e *Engine, v any) { e.AskPattern = pattern(v) }},
	{Key{Name: "LOOK", Kind: Words, Default: []string(nil), Check: printable,
		Help: "The command that lists the engine's jobs."},
		func(e *Engine, v any) { e.Look = v.([]string) }},
	{Key{Name: "LOOK_PATTERN", Kind: String, Default: "", Check: patternWith([]string{"ref", "name", "state"}),
		Help: "A regular expression that matches each job in the output of LOOK, with the groups ref, name and state."},
		func(e *Engine, v any) { e.LookPattern = pattern(v) }},
	{Key{Name: "WAITING", Kind: String, Default: "", Check: patternWith(nil),
		Help: "A regular expression for the states of waiting jobs."},
		func(e *Engine, v any) { e.Waiting = pattern(v) }},
	{Key{Name: "RUNNING", Kind: String, Default: "", Check: patternWith(nil),
		Help: "A regular expression for the states of running jobs."},
		func(e *Engine, v any) { e.Running = pattern(v) }},
	{Key{Name: "OVER", Kind: String, Default: "", Check: patternWith(nil),
		Help: "A regular expression for the states of ended jobs."},
		func(e *Engine, v any) { e.Over = pattern(v) }},
	{Key{Name: "CANCEL", Kind: Words, Default: []string(nil), Check: printable,
		Help: "The command that ends jobs of the engine."},
		func(e *Engine, v any) { e.Cancel = v.([]string) }},
}

// durationOf returns a checked value of kind Seconds.
func durationOf(v any) time.Duration { return time.Duration(v.(float64) * float64(time.Second)) }

// pattern compiles a checked regular expression; nil for an empty one.
func pattern(v any) *regexp.Regexp {
	if v == "" {
		return nil
	}
	return regexp.MustCompile(v.(string))
}

// patternWith returns a Check of a regular expression that needs groups of these names.
func patternWith(groups []string) func(string) error {
	return func(s string) error {
		e, err := regexp.Compile(s)
		if err != nil || s == "" {
			return err
		}
		for _, name := range groups {
			if e.SubexpIndex(name) < 0 {
				return fmt.Errorf("%q: lacks the group (?P<%s>...)", s, name)
			}
		}
		return nil
	}
}

// wholePath refuses a path that does not begin with a slash.
func wholePath(s string) error {
	if !strings.HasPrefix(s, "/") || strings.ContainsFunc(s, unicode.IsControl) {
		return fmt.Errorf("%q: want a path that begins with a slash", s)
	}
	return nil
}

// variable refuses a text that is no variable with its value.
func variable(s string) error {
	if name, _, ok := strings.Cut(s, "="); !ok || name == "" || strings.ContainsFunc(s, unicode.IsControl) {
		return fmt.Errorf("%q: want NAME=VALUE", s)
	}
	return nil
}

// EngineKey describes a key of an engine's table.
type EngineKey struct {
	Key
	set func(*Engine, any)
}

// engineTable is the name of the table that has a table for each engine.
const engineTable = "engine"

// enginesTable returns the table [engine].
func enginesTable() *Table {
	return &Table{Name: engineTable, Depth: func(string) int { return 1 }, Named: (*Config).takeEngine, Finish: (*Config).engines}
}

// hostName refuses what ssh could take for an option or for two words, or what cannot stand in a slot's name.
func hostName(s string) error {
	strange := strings.ContainsFunc(s, func(r rune) bool { return !isNameRune(r) && r != '.' })
	if s == "" || strange || strings.HasPrefix(s, "-") || strings.HasPrefix(s, ".") {
		return fmt.Errorf("%q: want a machine's name of letters, digits, dots, - and _; users and ports belong into ssh_config", s)
	}
	return nil
}

func isNameRune(r rune) bool {
	return r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

// printable refuses a word that no command has.
func printable(s string) error {
	if strings.ContainsFunc(s, unicode.IsControl) {
		return fmt.Errorf("%q: want a command without control characters", s)
	}
	return nil
}

// oneWord refuses blanks and control characters.
func oneWord(s string) error {
	if strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }) {
		return fmt.Errorf("%q: want a name without blanks", s)
	}
	return nil
}

// remotePath refuses a text that is no path on another machine.
func remotePath(s string) error {
	switch {
	case s == "" || strings.HasPrefix(s, "-") || strings.ContainsFunc(s, unicode.IsControl):
		return fmt.Errorf("%q: want a path", s)
	case strings.HasPrefix(s, "~"):
		return fmt.Errorf("%q: want a path without ~; one that does not begin with a slash begins in the account's home", s)
	}
	return nil
}

// takeEngine applies a key of [engine.NAME].
func (c *Config) takeEngine(s Setting) (ok bool, err error) {
	name, key := s.Name, ""
	if dot := strings.LastIndexByte(s.Name, '.'); dot >= 0 {
		name, key = strings.Trim(s.Name[:dot], `"`), s.Name[dot+1:]
	}
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return !isNameRune(r) }) {
		return true, errors.New("want an engine's name of letters, digits, - and _")
	}
	if key == "" {
		return true, fmt.Errorf("%s: want a table, as in [engine.%s] with KIND = \"ssh\"", Shown(s.Value), name)
	}
	e := c.engine(name)
	if top := engineTable + "." + name; !c.Noted(top) {
		c.Note(top, s.From)
	}
	if belongsAtTop(key, true) {
		return true, fmt.Errorf("stands in table [engine.%s]; move it above the first table", name)
	}
	names := make([]string, len(EngineKeys))
	for i, k := range EngineKeys {
		if names[i] = k.Name; key == k.Name {
			v, err := k.checked(s)
			if err == nil {
				k.set(e, v)
				c.values[s.Key()] = v
			}
			return true, err
		}
	}
	return true, unknownKey(nearest.Hint(key, names) + "; an engine's table has " + strings.Join(names, ", "))
}

// engine returns the engine of the name, with the defaults if nothing was said of it before.
func (c *Config) engine(name string) *Engine {
	i, there := slices.BinarySearchFunc(c.Engines, name, func(e Engine, name string) int { return cmp.Compare(e.Name, name) })
	if !there {
		e := Engine{Name: name}
		for _, k := range EngineKeys {
			k.set(&e, k.Default)
		}
		c.Engines = slices.Insert(c.Engines, i, e)
	}
	return &c.Engines[i]
}

// engines looks for what no engine can do without, and for machines of two engines.
func (c *Config) engines() error {
	if err := c.flockTo(); err != nil {
		return err
	}
	of := map[string]string{} // by the machine's name in lower case
	for i := range c.Engines {
		e := &c.Engines[i]
		if key, err := c.wrong(e); err != nil {
			return c.Complain(engineTable+"."+e.Name+key, err)
		}
		for _, host := range e.Hosts {
			key := engineTable + "." + e.Name + ".HOSTS"
			other, twice := of[strings.ToLower(host)]
			switch {
			case twice && other == e.Name:
				return c.Complain(key, fmt.Errorf("%s: named twice", host))
			case twice:
				return c.Complain(key, fmt.Errorf("%s: engine %s has it, too (%s)", host, other, c.Where(engineTable+"."+other+".HOSTS")))
			}
			of[strings.ToLower(host)] = e.Name
		}
	}
	return nil
}

// flockTo refuses an entry of FLOCK_TO that is no other pool.
func (c *Config) flockTo() error {
	for _, name := range c.FlockTo {
		if !slices.ContainsFunc(c.Engines, func(e Engine) bool { return e.Name == name && e.Kind == KindPool }) {
			return c.Complain("FLOCK_TO", fmt.Errorf("%s: no engine of KIND = %q has this name", name, KindPool))
		}
	}
	return nil
}

// Asked returns the engines that queue pilots, in the order in which glidein asks them: other pools last, in the order
// of FLOCK_TO, and unnamed ones behind.
func (c *Config) Asked() []Engine {
	place := func(e Engine) int {
		if e.Kind != KindPool {
			return -1
		}
		if i := slices.Index(c.FlockTo, e.Name); i >= 0 {
			return i
		}
		return len(c.FlockTo)
	}
	list := slices.DeleteFunc(slices.Clone(c.Engines), func(e Engine) bool { return !e.Queues() })
	slices.SortStableFunc(list, func(a, b Engine) int { return cmp.Compare(place(a), place(b)) })
	return list
}

// FlockFrom says that users of a domain, of another pool, may have jobs here.
type FlockFrom struct {
	Domain  string
	Account string // the account that asks in the domain's name; empty: the spool's account, which names the domain
}

// flockFrom reads an entry of FLOCK_FROM.
func flockFrom(s string) (f FlockFrom, err error) {
	f.Domain, f.Account, _ = strings.Cut(s, "=")
	if f.Domain == "" || strings.Trim(f.Domain, ".") != f.Domain || strings.ContainsFunc(f.Domain, func(r rune) bool { return !isNameRune(r) && r != '.' }) ||
		strings.HasSuffix(s, "=") {
		return f, fmt.Errorf("%q: want DOMAIN or DOMAIN=ACCOUNT", s)
	}
	if f.Account != "" {
		err = accountName(f.Account)
	}
	return f, err
}

// wrong returns the error of an engine, and the key behind the engine's name; the key is empty for
// the table.
func (c *Config) wrong(e *Engine) (key string, err error) {
	switch {
	case e.Kind == "":
		return "", errors.New(`without KIND, as in KIND = "ssh"`)
	case !e.Queues() && len(e.Hosts) == 0:
		return "", errors.New(`without HOSTS, as in HOSTS = ["n1", "n2"]`)
	case len(e.SSH) == 0 || e.SSH[0] == "":
		return ".SSH", errors.New("an empty command")
	case !e.Queues():
		return c.misplaced(e)
	}
	_, said := c.values[engineTable+"."+e.Name+".LINK"]
	switch {
	case len(e.Hosts) > 0:
		return ".HOSTS", fmt.Errorf("KIND = %q chooses the machines", e.Kind)
	case said && e.Link != LinkHome:
		return ".LINK", fmt.Errorf("%q: the pilots of KIND = %q call home", e.Link, e.Kind)
	case e.Cpus == 0 || e.MemoryMB == 0:
		return "", errors.New("without PILOT, as in PILOT = { Cpus = 16, Memory = 64000 }")
	case strings.TrimSpace(e.Home) == "":
		return "", errors.New(`without HOME, as in HOME = "ssh -T pool@head serve -pilot"`)
	case e.Kind == KindPool && (len(e.Via) == 0 || e.Via[0] == ""):
		return "", errors.New(`without VIA, as in VIA = "ssh pool@b.org serve -flock"`)
	case e.Kind == KindSGE && e.Cpus > 1 && !slices.Contains(e.Ask, "-pe"):
		return "", fmt.Errorf(`PILOT has %d cpus, which take a parallel environment, as in ASK = ["-pe", "smp", "%[1]d"]`, e.Cpus)
	}
	e.Link = LinkHome
	if e.Kind != KindCommand {
		return c.misplaced(e)
	}
	for _, k := range []struct {
		name string
		set  bool
	}{
		{"ASK", len(e.Ask) > 0}, {"ASK_PATTERN", e.AskPattern != nil}, {"LOOK", len(e.Look) > 0}, {"LOOK_PATTERN", e.LookPattern != nil},
		{"WAITING", e.Waiting != nil}, {"RUNNING", e.Running != nil}, {"CANCEL", len(e.Cancel) > 0},
	} {
		if !k.set {
			return "", fmt.Errorf("without %s, which KIND = \"command\" needs", k.name)
		}
	}
	return "", nil
}

// misplaced refuses keys that mean nothing for the engine's kind.
func (c *Config) misplaced(e *Engine) (key string, err error) {
	names := []string{"ASK_PATTERN", "LOOK", "LOOK_PATTERN", "WAITING", "RUNNING", "OVER", "CANCEL"}
	if e.Kind == KindPool {
		names = append(names, "ASK", "STARTER", "STATE", "RUN_AS") // which the other pool knows
	} else {
		names = append(names, "VIA")
	}
	if !e.Queues() {
		names = append(names, "ASK", "PILOT", "PILOT_TIME", "MAX_PILOTS", "MAX_WAITING", "IDLE", "AFTER", "ASK_TIMEOUT", "RUN_AS", "HOME", "BIN", "ENV")
	}
	for _, name := range names {
		if _, said := c.values[engineTable+"."+e.Name+"."+name]; said {
			return "." + name, fmt.Errorf("means nothing for KIND = %q", e.Kind)
		}
	}
	return "", nil
}
