package spool

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// Options say who opens a spool and how.
type Options struct {
	// Program is the command's name, for the journal and for messages.
	Program string
	// UIDDomain is the domain of a spool that is made now; empty takes the
	// host's name. A spool that is there must have the same one.
	UIDDomain string
	// LockWait is how long an Update waits for other writers; zero tries once.
	LockWait time.Duration
	// AllowNetwork opens a spool on a network file system all the same.
	AllowNetwork bool
	// Older opens a spool of an older format too, for looking only.
	Older bool
	// Now is the policy time that transactions are recorded under; zero takes
	// the machine's.
	Now time.Time
	// User is who is said to have made the changes; empty: the effective user.
	User string
	// Sight says what a View may show of jobs of an owner; nil: all. It binds no transaction.
	Sight func(owner string) Sight
	// Reserve is how many bytes the file reserve keeps room for, such as ReserveSize; zero: none.
	Reserve int64
	// OwnSignals: the process itself catches the signals that end it, so that they are not to be
	// postponed while it has the lock of writers. Those by which a terminal stops it are in any case.
	OwnSignals bool
	// Warn is told of torn tails that were cut off; nil drops it.
	Warn func(message string)
}

// Spool is an open spool directory. It is not for several goroutines at once.
type Spool struct {
	dir     string
	options Options
	files   files
	version version
	seen    os.FileInfo // of the VERSION that version was read from; nil: unknown
	domain  string      // in force; see rename.go
	follows bool        // FollowDomain
	user    string

	state *state   // what was read so far, nil for nothing
	at    position // up to where
	inUse bool     // inside View or Update

	mayUse bool  // the reserve
	gaveUp int64 // bytes of the reserve, since it was filled last
}

// Open opens the spool in a directory, and makes it there, with mode 0700,
// when nothing is. It refuses a spool of another uid, one on a network file
// system, one of a newer format, and a directory with files of another kind.
func Open(dir string, o Options) (*Spool, error) { return open(dir, o, disk{}) }

func open(dir string, o Options, fsys files) (*Spool, error) {
	s, err := settle(dir, o, fsys)
	if err != nil {
		return nil, err
	}
	s.seen, _ = os.Stat(s.path("VERSION")) // first: what is read is that or newer
	s.version, err = s.readVersion()
	if errors.Is(err, fs.ErrNotExist) {
		err = s.create()
	} else if err == nil {
		s.domain, err = s.domainOf(s.version)
	}
	var damage *DamageError // which names the file itself
	if err != nil && !errors.As(err, &damage) {
		err = fmt.Errorf("spool %s: %w", s.dir, err)
	}
	if err != nil {
		return nil, err
	}
	if o.UIDDomain != "" && o.UIDDomain != s.domain {
		return nil, errOtherDomain(s.dir, s.domain, o.UIDDomain)
	}
	return s, nil
}

// settle makes the directory if need be, and sees that a spool may lie in it
// and is ours.
func settle(dir string, o Options, fsys files) (*Spool, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := mkdirAll(fsys, dir); err != nil {
		return nil, fmt.Errorf("spool %s: %w", dir, reason(err))
	}
	if err := checkOwner(dir); err != nil {
		return nil, err
	}
	if !o.AllowNetwork {
		if err := checkFileSystem(dir); err != nil {
			return nil, err
		}
	}
	s := &Spool{dir: dir, options: o, files: fsys, user: cmp.Or(o.User, loginName())}
	if o.Reserve > 0 {
		s.files = reserving{fsys, s}
	}
	return s, nil
}

// inspect returns a spool in any condition, for those who only look, and what is
// in its directory. Any of the names tells that there is or was a spool.
func inspect(dir string, o Options, signs ...string) (*Spool, []os.DirEntry, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		err = checkOwner(dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = noSpool(dir)
	}
	if err != nil {
		return nil, nil, err
	}
	entries, err := find(dir, signs...)
	if err != nil {
		return nil, nil, err
	}
	o.Warn, o.Older = nil, true
	return &Spool{dir: dir, options: o, files: disk{}}, entries, nil
}

// Find returns nil if there is a spool in a directory, in any condition. The
// error says that the directory has no spool, or an unfinished one: a process is
// making it, or was killed while making it.
func Find(dir string) error {
	_, err := find(dir, "VERSION", "CURRENT")
	return err
}

// find returns what is in a directory. A journal, or any of the names, tells
// that there is or was a spool.
func find(dir string, signs ...string) ([]os.DirEntry, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, noSpool(dir)
	}
	if err == nil {
		err = (&Spool{dir: dir}).checkWhole()
	}
	if err != nil {
		return nil, fmt.Errorf("spool %s: %w", dir, reason(err))
	}
	if !slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		_, journal := numbered(e.Name(), "journal.")
		return journal || slices.Contains(signs, e.Name())
	}) {
		return nil, noSpool(dir)
	}
	if (&Spool{dir: dir}).begun() {
		return nil, fmt.Errorf("spool %s: %w", dir, errBegun)
	}
	return entries, nil
}

func noSpool(dir string) error {
	return fmt.Errorf("spool %s: there is no spool here: name one with -spool or FAIRSPOOL_DIR", dir)
}

// Gone reports whether the spool in a directory was removed, be it not wholly yet: no directory
// without VERSION is a spool. What is written there would only keep it from being removed.
func Gone(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "VERSION"))
	return errors.Is(err, fs.ErrNotExist)
}

// Close ends the use of the spool.
func (s *Spool) Close() error { s.forget(); return nil }

// Dir returns the spool's directory, absolute.
func (s *Spool) Dir() string { return s.dir }

// Domain returns the spool's UID_DOMAIN, which stands behind the @ of its
// submitters.
func (s *Spool) Domain() string { return s.domain }

// ID returns the name by which the spool differs from all others.
func (s *Spool) ID() string { return s.version.ID }

// At makes now the policy time that later transactions are recorded under, for
// a process that lives long.
func (s *Spool) At(now time.Time) { s.options.Now = now }

// ClaimLock returns the path of the file whose lock the supervisor of a claim
// with this LockName holds.
func (s *Spool) ClaimLock(name string) string { return filepath.Join(s.dir, "claims.d", name) }

// LockClaim takes the record lock of fcntl(2) on the whole of a claim's file, which is open for
// writing, and reports whether it could: false, nil says that another process has it.
func LockClaim(f *os.File) (locked bool, err error) {
	whole := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}
	switch err := syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &whole); err {
	case nil:
		return true, nil
	case syscall.EAGAIN, syscall.EACCES:
		return false, nil
	default:
		return false, fmt.Errorf("%s: fcntl: %w", f.Name(), err)
	}
}

func (s *Spool) warn(format string, args ...any) {
	if s.options.Warn != nil {
		s.options.Warn(fmt.Sprintf(format, args...))
	}
}

// loginName returns the name of the effective user, or the number when there
// is no name.
func loginName() string {
	uid := strconv.Itoa(os.Geteuid())
	if u, err := user.LookupId(uid); err == nil {
		return u.Username
	}
	return uid
}

// reason strips the operation and path that the message names already.
func reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
