package spool

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/history"
	"fairspool/spool/internal/endline"
	"fairspool/spool/internal/files"
	"fairspool/spool/internal/lockline"
)

// format is the number of the format that this package reads and writes.
const format = 4

// version is the content of VERSION.
type version struct {
	Domain, ID string
	// Renaming is the domain that transaction Since makes of Domain, empty for none.
	Renaming string
	Since    uint64
}

func (v version) text() string {
	b := fmt.Appendf(nil, "fairspool spool\nformat %d\nUID_DOMAIN %s\nid %s\n", format, v.Domain, v.ID)
	if v.Renaming != "" {
		b = fmt.Appendf(b, "renaming %s %d\n", v.Renaming, v.Since)
	}
	return string(endline.Append(b))
}

func (s *Spool) readVersion() (version, error) {
	b, err := files.Contents(s.files, s.path("VERSION"))
	if err != nil {
		return version{}, err
	}
	values := map[string]string{}
	for _, line := range strings.Split(string(b), "\n") {
		key, value, _ := strings.Cut(line, " ")
		values[key] = value
	}
	v := version{Domain: values["UID_DOMAIN"], ID: values["id"]}
	number, err := strconv.Atoi(values["format"])
	if err != nil || values["fairspool"] != "spool" || v.Domain == "" {
		return version{}, &DamageError{s.path("VERSION"), 1, "it is not the VERSION of a spool"}
	}
	if to, since, ok := strings.Cut(values["renaming"], " "); ok {
		v.Renaming = to
		v.Since, _ = strconv.ParseUint(since, 10, 64) // a number that is none does not read back
	}
	switch {
	case number > format:
		return version{}, fmt.Errorf("VERSION: format %d is newer than %d, which is what this program knows: use a newer fairspool", number, format)
	case number < format:
		return version{}, fmt.Errorf("VERSION: format %d is older than %d: dump it by the fairspool that wrote it, and then: spool restore -spool NEWDIR", number, format)
	}
	if v.text() != string(b) {
		return version{}, &DamageError{s.path("VERSION"), 1, "it does not read as it was written"}
	}
	return v, nil
}

// parts are the names that a spool directory may have before its VERSION is written, which is the last step of making it.
var parts = []string{"lock", "CURRENT", "index.1", "journal.1", "jobs", "slots", "slots.d", "claims.d", "history", "log", "factories", "VERSION"}

// folders are the directories of a spool.
var folders = []string{"jobs", "slots", "slots.d", "claims.d", "history", "log", "factories"}

// create makes the spool in its directory. Several processes may do so at once: the first makes it, under the lock, and the others find it
// made.
func (s *Spool) create() error {
	if err := s.checkWhole(); err != nil {
		return err
	}
	if err := s.checkUnused(); err != nil {
		return err
	}
	if err := s.checkEmpty(); err != nil {
		return err
	}
	return s.locked("lock", s.options.LockWait, func(lock files.File) error {
		v, err := s.readVersion()
		if !errors.Is(err, fs.ErrNotExist) {
			s.version = v
			if err == nil {
				s.domain, err = s.domainOf(v)
			}
			return err
		}
		if err := s.checkUnused(); err != nil {
			return err
		}
		// The process that made the directory may have died before it made its name durable.
		if err := s.files.SyncDir(filepath.Dir(s.dir)); err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
		if v, err = newVersion(s.options.UIDDomain); err != nil {
			return err
		}
		if err := lock.Truncate(lockline.Size); err != nil { // it may be left of a spool that was removed
			return err
		}
		return s.lay(noGeneration(1), v)
	})
}

// lay makes the files of a spool that begins with a generation, VERSION last.
func (s *Spool) lay(g *generation, v version) error {
	for _, name := range folders {
		if err := s.folder(name); err != nil {
			return err
		}
	}
	if err := files.WriteNew(s.files, s.indexFile(g.number), g.text()); err != nil {
		return err
	}
	if err := files.WriteNew(s.files, s.journal(g.number), nil); err != nil {
		return err
	}
	if err := files.Replace(s.files, s.path("CURRENT"), []byte(g.base.line("current"))); err != nil {
		return err
	}
	s.domain = v.Domain
	return s.putVersion(v)
}

// folder makes a folder of the spool if need be, durably but for its name: a file system without a journal loses the name of a directory
// that was not synced itself.
func (s *Spool) folder(name string) error {
	if err := s.files.Mkdir(s.path(name), 0o700); err != nil {
		return err
	}
	return s.files.SyncDir(s.path(name))
}

// refolder makes the folders that were removed, or lost by a power cut.
func (s *Spool) refolder() error {
	made := false
	for _, name := range folders {
		if _, err := os.Lstat(s.path(name)); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := s.folder(name); err != nil {
			return err
		}
		s.warn("%s: the folder was missing, and is made anew", s.path(name))
		made = true
	}
	if !made {
		return nil
	}
	return s.files.SyncDir(s.dir)
}

func newVersion(domain string) (version, error) {
	if domain == "" {
		host, err := os.Hostname()
		if err != nil {
			return version{}, fmt.Errorf("no UID_DOMAIN is configured, and the host has no name: %w", err)
		}
		domain = host
	}
	if err := checkDomain(domain); err != nil {
		return version{}, err
	}
	id := make([]byte, 8)
	if _, err := rand.Read(id); err != nil {
		return version{}, err
	}
	return version{Domain: domain, ID: hex.EncodeToString(id)}, nil
}

// errUnfinished says that a directory has what a Restore or Salvage left that was killed, or has made so far.
var errUnfinished = errors.New("a spool was being made here and is not whole: remove the directory and begin again")

// checkWhole refuses a directory in which a spool with things in it was being made. VERSION is written last: with it, it is whole.
func (s *Spool) checkWhole() error {
	_, err := os.Lstat(s.path(unfinished))
	_, whole := os.Lstat(s.path("VERSION"))
	if err == nil && errors.Is(whole, fs.ErrNotExist) {
		return errUnfinished
	}
	return nil
}

// checkUnused refuses to make a spool where there was one: what is in it is worth more than an answer.
func (s *Spool) checkUnused() error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return reason(err)
	}
	for _, e := range entries {
		used := false
		switch n, index := numbered(e.Name(), "index."); {
		case strings.HasPrefix(e.Name(), "journal."):
			info, err := e.Info()
			used = err == nil && info.Size() > 0
		case e.Name() == "jobs" || e.Name() == "slots":
			in, err := os.ReadDir(s.path(e.Name()))
			used = err != nil || len(in) > 0
		default:
			used = index && n > 1
		}
		if used {
			return fmt.Errorf("VERSION is missing, but %s is there: restore VERSION from a copy, or save the rest with spool salvage", e.Name())
		}
	}
	return nil
}

// errBegun says that a new spool has no VERSION yet.
var errBegun = errors.New("there is no spool here yet: one is being made, or its maker was killed: the next submit finishes it")

// begun reports whether the directory has a new spool without its VERSION, which the next command that makes spools finishes.
func (s *Spool) begun() bool {
	_, err := os.Lstat(s.path("VERSION"))
	return errors.Is(err, fs.ErrNotExist) && s.checkUnused() == nil && s.checkEmpty() == nil
}

// checkEmpty refuses a directory in which something else lives.
func (s *Spool) checkEmpty() error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return reason(err)
	}
	for _, e := range entries {
		if !slices.Contains(parts, strings.TrimSuffix(e.Name(), ".new")) {
			return fmt.Errorf("no spool, and no room for one: %s is there; give an empty or a new directory", e.Name())
		}
	}
	return nil
}

// rootFile is the name of the file that says that root's starter runs the jobs of a spool.
const rootFile = "starter.root"

const rootText = "The jobs of this spool are run by root's starter, as their owners: see access(7).\n"

// NoteRoot notes that root's starter runs the jobs of the spool, whose account is another, as their owners. From then on starters of the
// account run none of them. serve calls it before it takes a job from another user, and root's starter when it first runs.
func (s *Spool) NoteRoot() error {
	if RunByRoot(s.dir) {
		return nil
	}
	f, err := s.files.Open(s.path(rootFile), files.ReadWrite|files.Create, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(rootText), 0)
	return errors.Join(err, f.Close())
}

// RunByRoot reports whether NoteRoot was called for the spool in a directory.
func RunByRoot(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, rootFile))
	return !errors.Is(err, fs.ErrNotExist)
}

// The domain stands in VERSION, beside the journal, and everything that has a submitter's name in the journal's tables. RenameDomain
// changes both so that a crash at any point leaves one or the other:
//
//  1. VERSION says that transaction N, the next one, makes the domain NEW.
//  2. Transaction N is committed.
//  3. The names of samples are renamed, and VERSION says NEW.
//
// In between, the domain is NEW for a command that finds transaction N in the journal, and OLD for others. The next writer finishes what
// was begun, or takes it back, before it writes: so N is the renaming or there is none.

// RenameDomain makes the spool's UID_DOMAIN another one, in a transaction that fn makes: fn names it and renames the submitters. It is for
// Negotiating. Other processes that have the spool open cannot change it any more, unless they follow (FollowDomain).
func (s *Spool) RenameDomain(to string, fn func(*Tx) error) error {
	if err := checkDomain(to); err != nil {
		return err
	}
	return s.transact(func(tx *Tx, w *writing) (*unsynced, error) {
		if err := tx.run(fn); err != nil {
			return nil, err
		}
		names, err := s.renamedNames(s.version.Domain, to)
		if err == nil {
			err = s.commitDomain(tx, w, to)
		}
		if err != nil {
			return nil, err
		}
		if err := s.finishDomain(names); err != nil {
			s.warn("%s: the domain is renamed, and the next command that changes the spool finishes that: %v", s.path("VERSION"), err)
		}
		return nil, nil
	})
}

// commitDomain announces the renaming and commits it.
func (s *Spool) commitDomain(tx *Tx, w *writing, to string) error {
	if len(tx.body) == 0 {
		tx.PutMark(renamedMark, to) // so that there is a transaction
		tx.PutMark(renamedMark, "")
		if tx.err != nil {
			return tx.err
		}
	}
	before := s.version
	announced := before
	announced.Renaming, announced.Since = to, tx.seq
	if err := s.putVersion(announced); err != nil {
		return err
	}
	_, err := s.commit(tx, w, true)
	if err != nil && !errors.Is(err, files.ErrUncertain) {
		if back := s.putVersion(before); back != nil {
			s.warn("%s: the next command that changes the spool repairs it: %v", s.path("VERSION"), back)
		}
	}
	return err
}

// renamedMark is what the renaming of an empty spool changes, for no longer than its transaction.
const renamedMark = "domain"

// putVersion replaces VERSION, durably.
func (s *Spool) putVersion(v version) error {
	s.version = v
	err := files.Replace(s.files, s.path("VERSION"), []byte(v.text()))
	s.seen, _ = os.Stat(s.path("VERSION"))
	return err
}

// finishDomain does what is left to do after the transaction that renames; names is what renamedNames returned.
func (s *Spool) finishDomain(names []byte) error {
	v := s.version
	v.Domain, v.Renaming, v.Since = v.Renaming, "", 0
	s.domain = v.Domain
	if names != nil {
		if err := files.Replace(s.files, s.path(namesFile), names); err != nil {
			return err
		}
	}
	return s.putVersion(v)
}

// settleDomain reads VERSION again if it was replaced, under the writers' lock, and finishes a renaming or takes it back whose process
// died. It fails if the domain is not the one by which the process has worked so far, unless that follows.
func (s *Spool) settleDomain(w *writing) error {
	if info := s.replaced(); info != nil {
		v, err := s.readVersion()
		if err != nil {
			return err
		}
		s.version, s.seen = v, info
	}
	was := s.domain
	switch {
	case s.version.Renaming == "":
		s.domain = s.version.Domain
	case w.end.Seq >= s.version.Since:
		if err := w.journal.Sync(); err != nil {
			return err
		}
		names, err := s.renamedNames(s.version.Domain, s.version.Renaming)
		if err == nil {
			err = s.finishDomain(names)
		}
		if err != nil {
			return err
		}
	default:
		// The transaction may have been cut from the journal and not durably so: then a power cut would bring it back.
		if err := w.journal.Sync(); err != nil {
			return err
		}
		v := s.version
		v.Renaming, v.Since = "", 0
		if err := s.putVersion(v); err != nil {
			return err
		}
		s.domain = v.Domain
	}
	if s.domain != was && !s.follows {
		return fmt.Errorf("spool %s: its UID_DOMAIN was renamed from %s to %s just now: nothing was changed, run the command again", s.dir, was, s.domain)
	}
	return nil
}

// replaced returns VERSION as a file if it may have been replaced since it was read; nil if not, and if it is missing, which the opening of
// the spool reports.
func (s *Spool) replaced() os.FileInfo {
	info, err := os.Stat(s.path("VERSION"))
	if err != nil || s.seen != nil && os.SameFile(info, s.seen) && info.ModTime().Equal(s.seen.ModTime()) {
		return nil
	}
	return info
}

// refreshDomain reads VERSION again for a process that has just got the lock under which the domain stays: it may have been renamed while
// the process waited.
func (s *Spool) refreshDomain() (err error) {
	info := s.replaced()
	if info == nil {
		return nil
	}
	if s.version, err = s.readVersion(); err == nil {
		s.seen = info
		s.domain, err = s.domainOf(s.version)
	}
	return err
}

// FollowDomain is for a process that lives long and uses no domain but Domain, in each Update anew: it goes on when the domain is renamed.
func (s *Spool) FollowDomain() { s.follows = true }

// domainOf returns the domain that VERSION says, of a renaming that is not finished by whether its transaction is in the journal.
func (s *Spool) domainOf(v version) (string, error) {
	for v.Renaming != "" {
		if err := s.refresh(); err != nil {
			return "", err
		}
		again, err := s.readVersion()
		if err != nil {
			return "", err
		}
		if again == v {
			return v.domainAt(s.at.seq), nil
		}
		v = again
	}
	return v.Domain, nil
}

// domainAt returns the domain of the spool as of a transaction.
func (v version) domainAt(seq uint64) string {
	if v.Renaming != "" && seq >= v.Since {
		return v.Renaming
	}
	return v.Domain
}

// checkDomain refuses what cannot stand behind the @ of a submitter.
func checkDomain(domain string) error {
	if domain == "" || strings.ContainsAny(domain, " \t\n@") {
		return fmt.Errorf("UID_DOMAIN %q: a domain has neither blanks nor @", domain)
	}
	return nil
}

// errOtherDomain says that the configuration speaks of another domain than the spool.
func errOtherDomain(dir, is, want string) error {
	return fmt.Errorf("spool %s: its UID_DOMAIN is %s, the configuration says %s: take that line out, or rename the spool's: spool rename-domain %s %s", dir, is, want, is, want)
}

// renamedNames returns the text of the names for which the numbers of samples stand, with other ones for the submitters of a domain; nil if
// there are none.
func (s *Spool) renamedNames(old, to string) ([]byte, error) {
	text, err := files.Contents(s.files, s.path(namesFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	renamed, changed := history.RenameNames(text, func(name string) string {
		if user, ok := strings.CutSuffix(name, "@"+old); ok {
			return user + "@" + to
		}
		return name
	})
	if !changed {
		return nil, nil
	}
	return renamed, nil
}
