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
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"fairspool/lib/classad"
	"fairspool/lib/localdisk"
	"fairspool/spool/internal/cyclejson"
	"fairspool/spool/internal/files"
	"fairspool/spool/internal/reserve"
)

// Options say which user opens a spool, and how.
type Options struct {
	// Program is the command's name, for the journal and for messages.
	Program string
	// UIDDomain is the domain of a spool that is made now; empty takes the host's name. A spool that is there must have the same one.
	UIDDomain string
	// LockWait is how long an Update waits for other writers; zero tries once.
	LockWait time.Duration
	// AllowNetwork opens a spool even on a network file system.
	AllowNetwork bool
	// Now is the policy time that transactions are recorded under; zero takes the machine's.
	Now time.Time
	// User is recorded as the author of the changes; empty: the effective user.
	User string
	// Sight says what a View may show of jobs of an owner; nil: all. It binds no transaction.
	Sight func(owner string) Sight
	// Reserve is how many bytes the file reserve keeps room for, such as ReserveSize; zero: none.
	Reserve int64
	// OwnSignals: the process itself catches the signals that end it, so that they are not to be postponed while it has the lock of
	// writers. Those by which a terminal stops it are in any case.
	OwnSignals bool
	// Warn receives warnings of torn tails that were cut off; nil drops them.
	Warn func(message string)
}

// Spool is an open spool directory. It is not for several goroutines at once.
type Spool struct {
	dir     string
	options Options
	files   files.Layer
	version version
	seen    os.FileInfo // of the VERSION that version was read from; nil: unknown
	domain  string      // in force; see version
	follows bool        // FollowDomain
	user    string
	queues  bool // Queue

	state *state   // what was read so far, nil for nothing
	at    position // up to where
	inUse bool     // inside View or Update

	forked      map[int][]byte            // of a fork: the digests of its factories, by cluster; else nil
	expressions *classad.Interner         // of a fork, what its transactions have written; else nil
	alike       map[*classad.Ad]*likeness // of a fork, by what AddCluster was given

	reserve reserve.Reserve
}

// Open opens the spool in a directory, and makes it there, with mode 0700, when nothing is. It refuses a spool of another uid, one on a
// network file system, one of a newer format, and a directory with files of another kind.
func Open(dir string, o Options) (*Spool, error) { return open(dir, o, files.Disk{}) }

func open(dir string, o Options, fsys files.Layer) (*Spool, error) {
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

// settle makes the directory if need be, and sees that a spool may lie in it and is ours.
func settle(dir string, o Options, fsys files.Layer) (*Spool, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := files.MkdirAll(fsys, dir); err != nil {
		return nil, fmt.Errorf("spool %s: %w", dir, reason(err))
	}
	if err := checkOwner(dir); err != nil {
		return nil, err
	}
	if !o.AllowNetwork {
		if err := localdisk.Check(dir); err != nil {
			return nil, fmt.Errorf("spool %s: %w, or set ALLOW_NETWORK_SPOOL", dir, err)
		}
	}
	s := &Spool{dir: dir, options: o, files: fsys, user: cmp.Or(o.User, loginName())}
	if o.Reserve > 0 {
		s.files = s.reserve.Over(fsys, s.path(reserveName), o.Reserve)
	}
	return s, nil
}

// inspect returns a spool in any condition, for read-only commands, and the contents of its directory. Any of the names tells that there is
// or was a spool.
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
	o.Warn = nil
	return &Spool{dir: dir, options: o, files: files.Disk{}}, entries, nil
}

// Find returns nil if there is a spool in a directory, in any condition. The error says that the directory has no spool, or an unfinished
// one: a process is making it, or was killed while making it.
func Find(dir string) error {
	_, err := find(dir, "VERSION", "CURRENT")
	return err
}

// find returns what is in a directory. A journal, or any of the names, tells that there is or was a spool.
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

// ReserveSize is how many bytes the spool of a pool keeps in the file reserve.
const ReserveSize = 8 << 20

const reserveName = "reserve"

// IsFull reports whether an error says that a disk, or what a quota leaves of it, is full.
func IsFull(err error) bool { return reserve.IsFull(err) }

// Gone reports whether the spool in a directory was removed, be it not wholly yet: no directory without VERSION is a spool. What is written
// there would only keep it from being removed.
func Gone(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "VERSION"))
	return errors.Is(err, fs.ErrNotExist)
}

// Close ends the use of the spool.
func (s *Spool) Close() error { s.forget(); return nil }

// Dir returns the spool's directory, absolute.
func (s *Spool) Dir() string { return s.dir }

// Domain returns the spool's UID_DOMAIN, which stands behind the @ of its submitters.
func (s *Spool) Domain() string { return s.domain }

// ID returns the name by which the spool differs from all others.
func (s *Spool) ID() string { return s.version.ID }

// At makes now the policy time that later transactions are recorded under, for a process that lives long.
func (s *Spool) At(now time.Time) { s.options.Now = now }

// ClaimLock returns the path of the file whose lock the supervisor of a claim with this LockName holds.
func (s *Spool) ClaimLock(name string) string { return filepath.Join(s.dir, "claims.d", name) }

// LockClaim takes the record lock of fcntl(2) on the whole of a claim's file, which is open for writing, and reports whether it could:
// false, nil says that another process has it.
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

// loginName returns the name of the effective user, or the number when there is no name.
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

// checkOwner refuses a spool of another uid, and one that others may write. Files that another uid, root too, made in it could not be
// written by its owner any more.
func checkOwner(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("spool %s: %w", dir, reason(err))
	}
	if !info.IsDir() {
		return fmt.Errorf("spool %s: not a directory", dir)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if ok && int(stat.Uid) == os.Geteuid() && info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("spool %s: its mode %#o lets others write: chmod 700 it", dir, info.Mode().Perm())
	}
	if !ok || int(stat.Uid) == os.Geteuid() {
		return nil
	}
	return fmt.Errorf("spool %s: belongs to %s and serves that user only, you are %s: use it by sudo -u that user, or choose a pool of your own with -spool DIR or FAIRSPOOL_DIR", dir, userName(int(stat.Uid)), userName(os.Geteuid()))
}

func userName(uid int) string {
	number := strconv.Itoa(uid)
	if u, err := user.LookupId(number); err == nil {
		return u.Username + " (uid " + number + ")"
	}
	return "uid " + number
}

// legible makes what was read in a damaged file fit for a terminal: bytes that are no character, and characters that do not print, become
// escapes.
func legible(s string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 || !strconv.IsPrint(r) {
			quoted := strconv.Quote(s[:n])
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

// Stat is how much a spool holds, and in what.
type Stat struct {
	Format     int
	Domain, ID string
	Generation int
	Seq        uint64 // the number of the last transaction
	Next       int    // the next free cluster number

	Journal      int64 // bytes since the last fold
	Transactions int   // in the journal
	Segments     int   // of jobs and slots
	SegmentBytes int64
	TableBytes   int64

	Clusters, Jobs, Slots        int // Slots: advertised, not written by hand
	Claims, Submitters, Backoffs int
	Tallies, Marks, Factories    int
	DigestBytes                  int64 // of the factories

	History map[string]int64 // bytes by month: the ads of jobs that have left
	Log     map[string]int64 // bytes by month: the transactions that were folded
	Samples map[string]int64 // bytes by tier: what userprio -history shows
	Older   []int            // generations that are kept for their readers
}

// Stat counts what the spool holds. Of jobs and slots it reads only what the journal speaks of.
func (s *Spool) Stat() (st Stat, err error) {
	if s.inUse {
		return st, errNested
	}
	defer recovered(&err)
	if err := s.refresh(); err != nil {
		return st, err
	}
	g := s.state.base.generation
	st = Stat{
		Format: format, Domain: s.domain, ID: s.version.ID, Generation: s.at.generation,
		Seq: s.at.seq, Next: s.at.next, Journal: s.at.off, Transactions: int(s.at.seq - g.base.Seq),
		Segments: len(g.jobs) + len(g.slots), History: map[string]int64{}, Log: map[string]int64{},
	}
	for _, f := range g.jobs {
		st.SegmentBytes += f.bytes
	}
	for _, f := range g.slots {
		st.SegmentBytes += f.bytes
	}
	for _, t := range g.tables {
		st.TableBytes += t.bytes
	}
	v := View{loaded: s.state}
	st.Jobs = v.Len()
	st.Claims, st.Submitters, st.Backoffs = len(v.Claims()), len(v.Submitters()), len(v.Backoffs())
	if st.Tallies, err = s.state.tallies.count(); err != nil {
		return st, err
	}
	if st.Marks, err = s.state.marks.count(); err != nil {
		return st, err
	}
	for _, f := range sorted(s.state.factories) {
		st.Factories++
		st.DigestBytes += f.bytes
	}
	if st.Clusters, err = s.state.jobs.countAll(s.state.own); err != nil {
		return st, err
	}
	if st.Slots, err = s.state.slots.countAll(s.state.own); err != nil {
		return st, err
	}
	for month, h := range s.state.history {
		if h.end > 0 { // else it is archived
			st.History[month] = h.end
		}
	}
	for month, l := range s.state.log {
		if l.end > 0 {
			st.Log[month] = l.end
		}
	}
	if st.Samples, err = s.samplesSize(); err != nil {
		return st, err
	}
	st.Older, err = s.older()
	return st, err
}

// older returns the generations whose files are there and not in force.
func (s *Spool) older() (list []int, err error) {
	entries, err := os.ReadDir(s.dir)
	for _, e := range entries {
		if n, ok := numbered(e.Name(), "index."); ok && n != s.at.generation {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list, err
}

// ErrOutdated means that cycle.json is missing, or is not the one that the last cycle left, such as an older copy.
var ErrOutdated = cyclejson.ErrOutdated

// Report returns what the last negotiation cycle left in cycle.json, nil when there was none yet. It fails with a *DamageError for a report
// that does not check, and with ErrOutdated.
func (s *Spool) Report() ([]byte, error) {
	b, err := cyclejson.Read(s.files, s.dir)
	if errors.Is(err, cyclejson.ErrDamaged) {
		err = &DamageError{s.path(cyclejson.Name), 1, err.Error()}
	}
	return b, err
}

// SetReport replaces cycle.json with a report, a JSON object, and a last member Checksum, the CRC-32C of all that stands before its value.
// A report that does not check is kept as cycle.json.damaged. SetReport is for a negotiation cycle, inside Negotiating: the second line of
// negotiate.lock keeps the checksum, by which Report knows the last report. While the file is replaced, it keeps the checksums of both.
func (s *Spool) SetReport(report io.WriterTo) error { return cyclejson.Replace(s.files, s.dir, report) }

// Unsealed returns a report that Report returned as it was before SetReport.
func Unsealed(b []byte) string { return cyclejson.Unsealed(b) }
