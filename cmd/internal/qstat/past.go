package qstat

import (
	"io"
	"iter"
	"time"

	"fairspool/cmd/internal/adprint"
	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/classad"
	"fairspool/lib/report/queue"
	"fairspool/spool"
)

// past is jobs that have left the queue that a command line asks to be shown.
type past struct {
	*cmdline.Call
	options
}

// show prints the chosen jobs as of now.
func (p past) show(w io.Writer, now time.Time) error {
	c := *p.Call
	p.list.Width = widthOf(p.Call, false)
	c.Stdout, c.Now = w, now
	s, err := c.Spool()
	if err != nil {
		return err
	}
	p.Call = &c
	var failed error
	ads := p.ads(s, &failed)
	if p.form == "" {
		err = queue.Left(w, p.list, now, ads)
	} else {
		err = adprint.Print(&c, p.form, ads)
	}
	if failed != nil {
		return failed
	}
	return err
}

// ads goes through the ads that are wanted, the last job first, and notes what
// goes wrong.
func (p past) ads(s *spool.Spool, failed *error) iter.Seq[*classad.Ad] {
	which, named := p.names.Past()
	which.Since = p.past.since
	return func(yield func(*classad.Ad) bool) {
		shown := 0
		err := s.History(which, func(ad *classad.Ad) bool {
			yes, err := p.wants(ad, named)
			if !yes || err != nil {
				*failed = err
				return err == nil
			}
			shown++
			return yield(ad) && shown != p.past.limit
		})
		if *failed == nil {
			*failed = err
		}
	}
}

// wants reports whether a job is wanted; named, whether it is one of the named ones.
func (p past) wants(ad *classad.Ad, named func(*classad.Ad) bool) (bool, error) {
	if !named(ad) || p.args && p.users != nil && !ofUser(ad, p.users) {
		return false, nil
	}
	if p.constraint == nil {
		return true, nil
	}
	kept, err := p.constraint.Of(procsOf([]spool.Run{ofAd(ad)}), p.Now)
	return len(kept) > 0, err
}
