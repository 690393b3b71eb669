package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"fairspool/lib/history"
)

// The domain stands in VERSION, beside the journal, and everything that has a submitter's
// name in the journal's tables. RenameDomain changes both so that a crash at any point
// leaves one or the other:
//
//  1. VERSION says that transaction N, the next one, makes the domain NEW.
//  2. Transaction N is committed.
//  3. The names of samples are renamed, and VERSION says NEW.
//
// In between, the domain is NEW for whoever finds transaction N in the journal, and OLD for
// others. The next writer finishes what was begun, or takes it back, before it writes: so N
// is the renaming or there is none.

// RenameDomain makes the spool's UID_DOMAIN another one, in a transaction that fn makes: fn
// names it and renames the submitters. It is for Negotiating. Other processes that have the
// spool open cannot change it any more, unless they follow (FollowDomain).
func (s *Spool) RenameDomain(to string, fn func(*Tx) error) error {
	if err := checkDomain(to); err != nil {
		return err
	}
	if s.inUse {
		return errNested
	}
	s.inUse = true
	defer func() { s.inUse = false }()
	return s.unchanged(s.writing(func(w *writing) (err error) {
		tx := s.begin(w)
		tx.settled = w.journal.Sync
		var names []byte
		if err = tx.run(fn); err == nil {
			names, err = s.renamedNames(s.version.Domain, to)
		}
		if err == nil {
			err = s.commitDomain(tx, w, to)
		}
		tx.end(err == nil || errors.Is(err, errUncertain))
		if err != nil {
			s.forget()
			return err
		}
		if err := s.finishDomain(names); err != nil {
			s.warn("%s: the domain is renamed, and the next command that changes the spool finishes that: %v", s.path("VERSION"), err)
		}
		return nil
	}))
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
	err := s.commit(tx, w)
	if err != nil && !errors.Is(err, errUncertain) {
		if back := s.putVersion(before); back != nil {
			s.warn("%s: the next command that changes the spool mends it: %v", s.path("VERSION"), back)
		}
	}
	return err
}

// renamedMark is what the renaming of an empty spool changes, for no longer than its transaction.
const renamedMark = "domain"

// putVersion replaces VERSION, durably.
func (s *Spool) putVersion(v version) error {
	s.version = v
	err := replace(s.files, s.path("VERSION"), []byte(v.text()))
	s.seen, _ = os.Stat(s.path("VERSION"))
	return err
}

// finishDomain does what is left to do after the transaction that renames; names is what
// renamedNames returned.
func (s *Spool) finishDomain(names []byte) error {
	v := s.version
	v.Domain, v.Renaming, v.Since = v.Renaming, "", 0
	s.domain = v.Domain
	if names != nil {
		if err := replace(s.files, s.path(namesFile), names); err != nil {
			return err
		}
	}
	return s.putVersion(v)
}

// settleDomain reads VERSION again if it was replaced, under the writers' lock, and finishes
// a renaming or takes it back whose process died. It fails if the domain is not the one by
// which the process has worked so far, unless that follows.
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
		names, err := s.renamedNames(s.version.Domain, s.version.Renaming)
		if err == nil {
			err = s.finishDomain(names)
		}
		if err != nil {
			return err
		}
	default:
		// The transaction may have been cut from the journal and not durably so: then a
		// power cut would bring it back.
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

// replaced returns VERSION as a file if it may have been replaced since it was read; nil if not,
// and if it is missing, which is for those who open the spool.
func (s *Spool) replaced() os.FileInfo {
	info, err := os.Stat(s.path("VERSION"))
	if err != nil || s.seen != nil && os.SameFile(info, s.seen) && info.ModTime().Equal(s.seen.ModTime()) {
		return nil
	}
	return info
}

// refreshDomain reads VERSION again for a process that has just got the lock under which the
// domain stays: it may have been renamed while the process waited.
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

// FollowDomain is for a process that lives long and uses no domain but Domain, in each
// Update anew: it goes on when the domain is renamed.
func (s *Spool) FollowDomain() { s.follows = true }

// domainOf returns the domain that VERSION says, of a renaming that is not finished by
// whether its transaction is in the journal.
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

// renamedNames returns the text of the names for which the numbers of samples stand, with
// other ones for the submitters of a domain; nil if there are none.
func (s *Spool) renamedNames(old, to string) ([]byte, error) {
	text, err := contents(s.files, s.path(namesFile))
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
