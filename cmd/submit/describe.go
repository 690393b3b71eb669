package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/submitfile"
	"fairspool/spool"
)

// read reads and checks the description that the arguments name, and prints
// its warnings.
func read(c *cmdline.Call) (*submitfile.Description, error) {
	text, name, err := input(c)
	if err != nil {
		return nil, err
	}
	o, err := options(c)
	if err != nil {
		return nil, err
	}
	d, warnings, err := submitfile.Parse(bytes.NewReader(text), name, o)
	for _, w := range warnings {
		c.Warn("%v", w)
	}
	return d, err
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
func options(c *cmdline.Call) (submitfile.Options, error) {
	dir, err := os.Getwd()
	if err != nil {
		return submitfile.Options{}, fmt.Errorf("the current directory: %w", err)
	}
	owner := c.Value("owner")
	if !c.Has("owner") {
		if owner, err = loginName(); err != nil {
			return submitfile.Options{}, err
		}
	}
	if err := checkOwner(owner); err != nil {
		return submitfile.Options{}, err
	}
	domain := c.Config.UIDDomain
	if domain == "" {
		if domain, err = c.Hostname(); err != nil {
			return submitfile.Options{}, err
		}
	}
	return submitfile.Options{
		Owner: owner, Domain: domain, Dir: dir, Now: c.Now, NiceGroup: c.Config.NiceGroup,
		RequestCpus:   c.Config.DefaultRequestCpus,
		RequestMemory: c.Config.DefaultRequestMemory,
		RequestDisk:   c.Config.DefaultRequestDisk,
		LookupEnv:     os.LookupEnv, Environ: os.Environ(), Exists: exists,
	}, nil
}

func loginName() (string, error) {
	u, err := user.Current()
	if err != nil {
		return "", fmt.Errorf("your login name: %w", err)
	}
	return u.Username, nil
}

// checkOwner refuses names that are no submitter's.
func checkOwner(name string) error {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '@' }) {
		return cmdline.Usagef("-owner %q: want a name without white space, @ and domain", name)
	}
	return nil
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
