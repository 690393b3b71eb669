package cmdline

import (
	"fmt"
	"io"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"fairspool/cmd/internal/door"
	"fairspool/lib/asuser"
	"fairspool/lib/config"
	"fairspool/lib/policy/registry"
	"fairspool/spool"
)

// Call is one run of a command: what it was given, and where it writes.
type Call struct {
	Name  string   // the command's
	Args  []string // without flags
	Typed []string // the arguments as they were typed, flags and all
	// CommandLine are the words behind `--`, for a command with
	// Command.CommandLine; nil without `--`.
	CommandLine []string
	// Stdout is buffered until the command has ended; Stderr is not.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Now is the policy time, in the local time zone: -now, or the machine's clock's at the
	// start, and once the spool is open the pool's, see Pace.
	Now time.Time
	// Config is the configuration; the defaults for a command without a spool.
	Config *config.Config
	// Trial, if not nil, makes the call a trial: the call changes only its spool, which is a fork.
	Trial *Trial
	// First is a question of serve that the caller's end answers without being asked, if Command.Before
	// sets it.
	First any

	flags     map[string][]occurrence // by full name
	number    string                  // the flag that takes a sign followed by digits
	dir       string                  // -spool, or nothing
	lockWait  time.Duration
	handOn    map[string]string // see Settings
	simulated bool              // Now is the user's own
	up        time.Duration     // the time since the boot at Now
	ahead     time.Duration     // how far -now is ahead of the machine's clock
	spool     *spool.Spool
	unread    bool // see Command.Unread
	around    Surroundings
	ended     []string // arguments for which Command.Ends is true
	atEnd     []func() // see AtEnd
	words     []string // those that may name files, besides the arguments
	inherited bool     // the connection to serve is one of DoorVariable
}

func newCall(s Surroundings, c Command, x *cli.Context) (*Call, error) {
	set := x.LocalFlagNames() // called once, as x searches all flags for each name
	call := &Call{
		Name: c.Name, Args: x.Args().Slice(), Stdin: x.App.Reader, Stdout: x.App.Writer, Stderr: x.App.ErrWriter,
		flags: given(c, x, set), number: c.Number, dir: value(x, "spool"), lockWait: defaultLockWait,
		handOn: toHandOn(x), around: s, unread: c.Unread,
	}
	call.Now, call.up = readClocks()
	if s.Session != nil {
		call.dir = s.Spool
	}
	if s.Session != nil && s.Session.Peer.UID != s.UID {
		for _, name := range ofThePool {
			if slices.Contains(set, name) {
				return nil, Usagef("-%s: not available in the pool of another account", name)
			}
		}
		call.handOn = map[string]string{}
		if s.Config != systemConfig {
			call.handOn["config"] = s.Config
		}
	}
	if slices.Contains(set, "spool") && call.dir == "" {
		return nil, Usagef("-spool: want a directory, got an empty name")
	}
	if slices.Contains(set, "now") {
		t, err := ParseTime(value(x, "now"))
		if err != nil {
			return nil, Usagef("-now: %v", err)
		}
		call.ahead = t.Sub(call.Now)
		call.Now, call.simulated = t, true
	}
	if slices.Contains(set, "lock-wait") {
		d, err := parseSeconds(value(x, "lock-wait"))
		if err != nil {
			return nil, Usagef("-lock-wait: %v", err)
		}
		call.lockWait = d
	}
	cfg := registry.Default()
	if !c.WithoutSpool {
		var err error
		if cfg, err = s.loadConfig(call.handOn["config"]); err != nil {
			return nil, err
		}
	}
	call.Config = &cfg
	return call, nil
}

// value returns the argument of a common flag, or its variable's.
func value(x *cli.Context, flag string) string { return strings.Trim(x.String(flag), apart) }

// Has reports whether the flag was given.
func (c *Call) Has(flag string) bool {
	_, ok := c.flags[flag]
	return ok
}

// Values returns the arguments of the flag, nil without the flag. For a flag that was
// given several times it returns the first occurrence's.
func (c *Call) Values(flag string) []string {
	if all := c.flags[flag]; len(all) > 0 {
		return all[0].args
	}
	return nil
}

// Repeated returns what Values does for each time that the flag was given.
func (c *Call) Repeated(flag string) [][]string {
	var all [][]string
	for _, o := range c.flags[flag] {
		all = append(all, o.args)
	}
	return all
}

// Value returns the first argument of the flag, empty without it.
func (c *Call) Value(flag string) string {
	if v := c.Values(flag); len(v) > 0 {
		return v[0]
	}
	return ""
}

// Letters returns the option letters behind the flag's colon.
func (c *Call) Letters(flag string) string {
	if all := c.flags[flag]; len(all) > 0 {
		return all[0].letters
	}
	return ""
}

// One returns which of the flags was given, empty for none, and a usage error
// when two were.
func (c *Call) One(flags ...string) (string, error) {
	one := ""
	for _, f := range flags {
		switch {
		case !c.Has(f):
		case one != "":
			return "", Usagef("%s and %s: only one of them at a time", c.typed(one), c.typed(f))
		default:
			one = f
		}
	}
	return one, nil
}

// typed returns how the user wrote a flag that was given: +5 where that stands
// for one.
func (c *Call) typed(flag string) string {
	if text := c.Value(flag); flag == c.number && signed(text) {
		return text
	}
	return "-" + flag
}

// LockWait returns how long the command may wait for a locked spool.
func (c *Call) LockWait() time.Duration { return c.lockWait }

// Spool returns the spool in -spool or FAIRSPOOL_DIR, else in SPOOL of the configuration,
// else in the default place. The first call opens the spool, creates it if it does not exist,
// and sets Now to the pool's time. The end of the command closes it.
func (c *Call) Spool() (*spool.Spool, error) {
	if c.spool != nil {
		return c.spool, nil
	}
	dir, err := c.SpoolDir()
	if err != nil {
		return nil, err
	}
	return c.open(dir, c.SpoolOptions())
}

func (c *Call) open(dir string, o spool.Options) (*spool.Spool, error) {
	s, err := spool.Open(dir, o)
	if err != nil {
		return nil, err
	}
	c.spool = s
	if !c.unread {
		c.Pace(s)
	}
	return s, nil
}

func (c *Call) close() error {
	if c.spool == nil {
		return nil
	}
	return c.spool.Close()
}

// Warn writes one line of bad news to standard error: `name: message`; with -json an object, see Warning.
func (c *Call) Warn(format string, args ...any) {
	text := oneLine(fmt.Sprintf(format, args...))
	if o, ok := c.Stderr.(*output); ok && o.json {
		o.object(Warning{Told{c.Name, strings.TrimPrefix(text, "warning: ")}})
		return
	}
	fmt.Fprintf(c.Stderr, "%s: %s\n", c.Name, text)
}

// JSON writes v to standard output: indented by two blanks, no character
// escaped for the sake of HTML, with a newline at the end. An object begins with SchemaVersion.
func (c *Call) JSON(v any) error {
	text, err := JSON(v)
	if err == nil {
		_, err = c.Data().Write(text)
	}
	return err
}

// Hostname returns the name of this machine: NETWORK_HOSTNAME of the
// configuration, else the host's own.
func (c *Call) Hostname() (string, error) {
	if c.Config.Hostname != "" {
		return c.Config.Hostname, nil
	}
	return os.Hostname()
}

const (
	// defaultLockWait outlasts the longest that a writer keeps the lock.
	defaultLockWait = time.Minute
	// maxLockWait is a day, in seconds.
	maxLockWait = 86400
)

func parseSeconds(text string) (time.Duration, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !(f >= 0 && f <= maxLockWait) {
		return 0, fmt.Errorf("%q: want a number of seconds from 0 to %d", text, maxLockWait)
	}
	return time.Duration(f * float64(time.Second)), nil
}

// Common returns the common flags under which another process of ours acts as
// this one does, wherever it is started: on the same spool, and with Settings.
func (c *Call) Common() ([]string, error) {
	dir, err := c.SpoolDir()
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return nil, err
	}
	rest, err := c.Settings()
	return append([]string{"-spool", dir}, rest...), err
}

// Settings returns the common flags for another process of ours that uses no spool: the same
// configuration, the same policy time and the same patience. They are as given on the
// command line or by the environment; a policy time that is the clock's own is
// not among them.
func (c *Call) Settings() ([]string, error) {
	var args []string
	for _, name := range []string{"config", "now", "lock-wait"} {
		text := c.handOn[name]
		if text == "" {
			continue
		}
		if name == "config" {
			var err error
			if text, err = filepath.Abs(text); err != nil {
				return nil, err
			}
		}
		args = append(args, "-"+name, text)
	}
	return args, nil
}

// toHandOn keeps the texts of the common flags that Settings returns.
func toHandOn(x *cli.Context) map[string]string {
	texts := map[string]string{}
	for _, name := range []string{"config", "now", "lock-wait"} {
		texts[name] = value(x, name)
	}
	return texts
}

// Again returns the call as it would be if it were made now: for a command that stays
// for long. The opened spool is the same, and goes on recording events under the time of
// before (Pace, spool.Spool.At).
func (c *Call) Again() *Call {
	again := *c
	again.up = sinceBoot()
	again.Now, again.ahead = c.Now.Add(again.up-c.up), 0 // a time that was taken is not asked again
	if c.simulated {
		again.handOn = maps.Clone(c.handOn)
		again.handOn["now"] = again.Now.Format(time.RFC3339Nano)
	}
	return &again
}

// Reload returns the call with the configuration as it is by now. An error leaves all as
// it was.
func (c *Call) Reload() (*Call, error) {
	cfg, err := c.surroundings().loadConfig(c.handOn["config"])
	if err != nil {
		return nil, err
	}
	again := *c
	again.Config = &cfg
	return &again, nil
}

// Anew returns a copy of the call that opens a spool of its own, for work beside c in the
// same process. The caller closes the copy's spool.
func (c *Call) Anew() *Call {
	again := *c
	again.spool = nil
	return &again
}

// optional reports whether the flag may stand without its argument: the argument's name
// is in brackets. The argument is empty then.
func (f Flag) optional() bool { return len(f.Args) == 1 && strings.HasPrefix(f.Args[0], "[") }

// Terminal reports whether standard output is a terminal.
func (c *Call) Terminal() bool { return terminal(c.Stdout) }

// GroupsOf returns the names of a user's Unix groups by the machine's user database, the primary
// one first; none for a user whom the machine does not know. Groups without a name are left out. The
// groups of a caller through the door are those that the kernel names. The error is that the
// database cannot be asked.
func (c *Call) GroupsOf(user string) ([]string, error) {
	if s := c.surroundings().Session; s != nil && s.Peer.Name == user {
		return s.Peer.Groups, nil
	}
	u, known, err := asuser.LookUp(user)
	if err != nil || !known {
		return nil, err
	}
	var names []string
	for _, gid := range u.Groups {
		if name, ok := asuser.GroupName(gid); ok {
			names = append(names, name)
		}
	}
	return names, nil
}

// Caller is the person that a command acts for.
type Caller struct {
	Name  string // the login name, which jobs have as Owner
	Admin bool   // may steer everybody's jobs and change accounts
}

// May reports whether the caller may change jobs of this owner.
func (w Caller) May(owner string) bool { return w.Admin || owner != "" && owner == w.Name }

// Caller returns the person that runs the command: through the door the user that the kernel
// names, else the process's user. Through the door, root, the spool's account and the users in
// ADMINISTRATORS are administrators. Without a door everybody is one, as a spool opens for its
// owner alone.
func (c *Call) Caller() (Caller, error) {
	s := c.surroundings()
	if s.Session != nil {
		p := s.Session.Peer
		admin := c.Trial != nil && c.Trial.Admin || p.UID == 0 || p.UID == s.UID || c.Config.Administers(p.Name, p.Groups)
		return Caller{Name: p.Name, Admin: admin}, nil
	}
	name, err := s.UserName(s.UID)
	if err != nil {
		return Caller{}, fmt.Errorf("your login name: %w", err)
	}
	return Caller{Name: name, Admin: true}, nil
}

// ThroughDoor reports whether the command runs in serve, for a caller who may be of another
// account: then it reads and writes files by ReadFile and Replace alone.
func (c *Call) ThroughDoor() bool { return c.surroundings().Session != nil }

// Ask asks the caller's end of a command that runs in serve a question, which Command.Before
// answers there, and returns what waits for the answer and reads it.
func (c *Call) Ask(asked any) (answer func(to any) error, err error) {
	if c.Trial != nil {
		asked = question[any]{c.Trial.Place, asked}
	}
	return c.surroundings().Session.Ask(asked)
}

// Surroundings is what a command finds where it runs: the user, and the places of the
// machine's configuration and spool. Commands use Here; tests make others.
type Surroundings struct {
	UID      int // the process's effective one
	UserName func(uid int) (string, error)

	Config, Spool string // the machine's configuration and spool

	// Session is the caller's request in serve; its spool and configuration are then used
	// instead of Spool and Config. Nil: the command runs for its own user.
	Session *door.Session
	Program string // which runs the session's command; empty: the command's own
}

// surroundings returns the call's; for a Call made without any, the process's.
func (c *Call) surroundings() Surroundings {
	if c.around.UserName == nil {
		return Here()
	}
	return c.around
}

// Here returns the surroundings of this process.
func Here() Surroundings {
	return Surroundings{UID: os.Geteuid(), UserName: loginName, Config: systemConfig, Spool: systemSpool}
}

// loginName returns the login name of a uid. Only for the process's own user it may come
// from the environment, where the machine does not know one.
func loginName(uid int) (string, error) {
	if uid == os.Getuid() && uid == os.Geteuid() {
		u, err := user.Current()
		if err != nil {
			return "", err
		}
		return u.Username, nil
	}
	u, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		return "", fmt.Errorf("uid %d has none on this machine", uid)
	}
	return u.Username, nil
}
