package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/accountant"
	"fairspool/lib/jobad"
	"fairspool/lib/submitfile"
	"fairspool/spool"
)

// read reads and checks the description that the arguments name, and prints
// its warnings.
func read(c *cmdline.Call) (*jobad.Jobs, error) {
	text, name, err := input(c)
	if err != nil {
		return nil, err
	}
	o, err := options(c)
	if err != nil {
		return nil, err
	}
	d, warnings, err := submitfile.Parse(string(text), name, submitfile.Options{Dir: o.Dir, LookupEnv: os.LookupEnv})
	warn(c, warnings)
	if err != nil {
		return nil, err
	}
	jobs, warnings, err := jobad.New(d, o)
	warn(c, warnings)
	return jobs, err
}

func warn(c *cmdline.Call, warnings []submitfile.Warning) {
	for _, w := range warnings {
		c.Warn("%v", w)
	}
}

// input returns the text of the description, and its name for messages.
func input(c *cmdline.Call) (text []byte, name string, err error) {
	switch {
	case len(c.Args) > 1:
		return nil, "", cmdline.Usagef("%s: one submit description at a time", c.Args[1])
	case len(c.Args) == 0 && isTerminal(c.Stdin):
		return nil, "", cmdline.Usagef("which submit description? name a file, or - for standard input")
	case len(c.Args) == 0 || c.Args[0] == "-":
		name = "standard input"
		text, err = io.ReadAll(c.Stdin)
	default:
		name = c.Args[0]
		text, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, name, fmt.Errorf("%s: %w", name, cmdline.Cause(err))
	}
	return text, name, nil
}

func isTerminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// options is what the surroundings add to a description. The domain is a
// guess until the spool is open.
func options(c *cmdline.Call) (jobad.Options, error) {
	dir, err := os.Getwd()
	if err != nil {
		return jobad.Options{}, fmt.Errorf("the current directory: %w", err)
	}
	owner, err := ownerOf(c)
	if err != nil {
		return jobad.Options{}, err
	}
	domain := c.Config.UIDDomain
	if domain == "" {
		if domain, err = c.Hostname(); err != nil {
			return jobad.Options{}, err
		}
	}
	return jobad.Options{
		Owner: owner, Domain: domain, Dir: dir, Now: c.Now, NiceGroup: c.Config.NiceGroup, Groups: c.Config.Groups,
		RequestCpus:   c.Config.DefaultRequestCpus,
		RequestMemory: c.Config.DefaultRequestMemory,
		RequestDisk:   c.Config.DefaultRequestDisk,
		Environ:       os.Environ(), Exists: exists,
	}, nil
}

// ownerOf returns whose jobs they are: that of -owner, else the caller.
func ownerOf(c *cmdline.Call) (string, error) {
	if c.Has("owner") {
		name := c.Value("owner")
		if err := checkOwner(name, c.Config.NiceGroup, c.Config.Groups); err != nil {
			return "", cmdline.Usagef("-owner %q: %v", shorten(name), err)
		}
		return name, nil
	}
	name, err := loginName()
	if err != nil {
		return "", err
	}
	if err := checkOwner(name, c.Config.NiceGroup, c.Config.Groups); err != nil {
		return "", fmt.Errorf("your login name %q: %w; submit as another with -owner", shorten(name), err)
	}
	return name, nil
}

func loginName() (string, error) {
	u, err := user.Current()
	if err != nil {
		return "", fmt.Errorf("your login name: %w", err)
	}
	return u.Username, nil
}

// maxOwner is how many characters an owner's name may have.
const maxOwner = 64

var ownerName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

// checkOwner refuses names that no owner of jobs can have, because other
// commands or the accounting would take them for something else.
func checkOwner(name, niceGroup string, groups *accountant.Groups) error {
	group, _, dotted := strings.Cut(name, ".")
	_, taken := groups.Find(name)
	switch {
	case name == "":
		return errors.New("want a name")
	case strings.Contains(name, "@"):
		return errors.New("want a name without @ and domain, which is the pool's")
	case name[0] >= '0' && name[0] <= '9':
		return errors.New("begins with a digit, as the clusters do that prio, qdel and qstat are given")
	case !ownerName.MatchString(name):
		return errors.New("want letters, digits, _, . and -, the first a letter or _")
	case len(name) > maxOwner:
		return fmt.Errorf("%d characters, at most %d", len(name), maxOwner)
	case taken:
		return errors.New("is the name of an accounting group")
	case groups.OfUser(name).Name != accountant.RootGroup:
		return fmt.Errorf("begins with the name of the accounting group %s: its jobs would count there", groups.OfUser(name).Name)
	case dotted && strings.EqualFold(group, niceGroup):
		return fmt.Errorf("begins with %s., as nice users do: write nice_user = true into the description instead", group)
	}
	return nil
}

// shorten keeps a quoted name readable in a message.
func shorten(name string) string {
	if len(name) > maxOwner {
		return name[:maxOwner] + "..."
	}
	return name
}

// mayActForOthers lets the spool's owner, root and the ADMINISTRATORS submit
// for somebody else.
func mayActForOthers(c *cmdline.Call, s *spool.Spool) error {
	name, err := loginName()
	if err != nil {
		return err
	}
	if name == c.Value("owner") || os.Geteuid() == 0 || slices.Contains(c.Config.Administrators, name) {
		return nil
	}
	st, err := os.Stat(s.Dir())
	if err != nil {
		return err
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok && int(sys.Uid) == os.Geteuid() {
		return nil
	}
	return fmt.Errorf("-owner %s: only administrators may submit for somebody else", c.Value("owner"))
}

// exists says in a few words what is wrong with a path.
func exists(path string, dir bool) error {
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && dir:
		return errors.New("no such folder")
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("no such file")
	case err != nil:
		return cmdline.Cause(err)
	case dir && !st.IsDir():
		return errors.New("not a folder")
	case !dir && st.IsDir():
		return errors.New("is a folder")
	}
	return nil
}
