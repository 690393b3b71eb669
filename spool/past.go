package spool

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"time"

	"fairspool/lib/classad"
)

// Left chooses among the jobs that have left the queue. The zero Left is all of
// them.
type Left struct {
	// Clusters are those that the jobs are of; nil: any.
	Clusters map[int]bool
	// Owners are users, each an Owner or a User; nil: any.
	Owners map[string]bool
	// Since and Before bound when a job entered its last state, to the second: Since
	// counts, and Before does not; zero: no bound. A job that does not say when
	// (EnteredCurrentStatus) is chosen only without bounds. Months of the history
	// that lie before Since are not read.
	Since, Before time.Time
}

// History goes through the ads of the chosen jobs that have left the queue, as of
// the last complete transaction: the last to leave first, until each returns
// false. An ad is each's to keep and to change. What was chosen by cluster, owner
// or time is found without reading the other ads, whatever their number. Months
// that were moved away or packed are passed over. Bytes that cannot have been
// written give a *DamageError.
//
// Only whole ads are looked at, and not the checksum of a month's file: that
// would mean to read it all. Check does.
func (s *Spool) History(which Left, each func(ad *classad.Ad) (more bool)) error {
	return s.View(func(v *View) error { return v.History(which, each) })
}

// History does what that of the Spool does, as of the view.
func (v *View) History(which Left, each func(ad *classad.Ad) (more bool)) error {
	months := v.state().history
	c := newChoice(which)
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(months))) {
		if !which.Since.IsZero() && name < monthOf(which.Since) {
			break
		}
		more, err := v.spool.pastMonth(name, months[name].end, c, each)
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// pastMonth goes through a month's history, backwards from its recorded end.
func (s *Spool) pastMonth(name string, end int64, c *choice, each func(*classad.Ad) bool) (more bool, err error) {
	path := s.path("history/" + name + ".ads")
	f, err := s.files.Open(path, readOnly, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil // somebody moved or packed it, which is theirs to do
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return false, err
	}
	r := pastReader{file: f, name: path, end: min(size, end), shorter: size < end}
	for {
		blocks, err := r.before()
		if err != nil || len(blocks) == 0 {
			return true, err
		}
		for i := len(blocks) - 1; i >= 0; i-- {
			ad, lines, err := c.read(blocks[i].text)
			if err != nil {
				return false, r.damaged(blocks[i].at, lines, err)
			}
			if ad != nil && !each(ad) {
				return false, nil
			}
		}
	}
}
