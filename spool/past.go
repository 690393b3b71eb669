package spool

import (
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
// or time is found without reading the other ads, whatever their number. Archived
// months are passed over. All that is read is held to its checksum: what is missing
// or does not check gives a *DamageError, after the ads of those that left later.
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
		more, err := v.spool.pastMonth(name, months[name], func(b block) (bool, int, error) {
			ad, lines, err := c.read(b.text)
			if err == nil && ad != nil {
				ad = v.shownPast(ad)
			}
			return err == nil && (ad == nil || each(ad)), lines, err
		})
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// pastMonth goes through a month's history, backwards from its recorded end, until
// each returns false. With an error each tells how many lines of the ad are good. If
// what is recorded turns out to be gone before each was called, what is recorded by
// then counts: others may have archived the month, or cut off what its writer never
// acknowledged.
func (s *Spool) pastMonth(name string, known stretch, each func(block) (more bool, good int, err error)) (more bool, err error) {
	begun := false
	more, err = s.backwards(name, known, func(b block) (bool, int, error) {
		begun = true
		return each(b)
	})
	if isDamage(err) && !begun {
		if now, ok := s.recordedNow(); ok && now.history[name] != known && now.history[name].end <= known.end {
			return s.backwards(name, now.history[name], each)
		}
	}
	return more, err
}

func (s *Spool) backwards(name string, known stretch, each func(block) (bool, int, error)) (more bool, err error) {
	if known.end == 0 {
		return true, nil
	}
	path := s.path(historyFile(name))
	f, err := s.openRecorded(path, known)
	if err != nil {
		return false, err
	}
	defer f.Close()
	r := pastReader{file: f, name: path, end: known.end, crc: known.crc}
	for r.end > 0 {
		blocks, damage := r.before()
		for _, b := range slices.Backward(blocks) {
			more, good, err := each(b)
			if err != nil {
				return false, &DamageError{path, lineAt(f, b.at) + good, err.Error()}
			}
			if !more {
				return false, nil
			}
		}
		if damage != nil {
			return false, damage
		}
	}
	return true, nil
}

// recordedNow returns what is recorded by now of the files that are only appended
// to, whatever this Spool has read so far.
func (s *Spool) recordedNow() (*state, bool) {
	d := dumping{spool: s}
	if err := twice(d.read); err != nil {
		return nil, false
	}
	d.state.base.release()
	return d.state, true
}
