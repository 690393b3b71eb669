package main

import (
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// spent is what an attempt has used so far.
type spent struct {
	wall, user, sys time.Duration
	rssKB           int64 // resident set: what was measured at most
}

// over returns the ad of the job as it reads with what the attempt has used so far:
// RemoteWallClockTime, RemoteUserCpu and RemoteSysCpu are those of all attempts.
func (u spent) over(ad *classad.Ad) *classad.Ad {
	c := &classad.Context{}
	now := classad.New().Chain(ad)
	for _, x := range []struct {
		name string
		more time.Duration
	}{{pool.AttrWallClock, u.wall}, {pool.AttrUserCPU, u.user}, {pool.AttrSysCPU, u.sys}} {
		before, _ := ad.EvalNumber(c, x.name)
		now.SetReal(x.name, before+x.more.Seconds())
	}
	if u.rssKB > 0 {
		now.SetInt(pool.AttrResidentSetSize, u.rssKB)
		if !ad.Has(pool.AttrMemoryUsage) {
			now.SetInt(pool.AttrMemoryUsage, (u.rssKB+1023)/1024)
		}
	}
	return now
}

// spent returns what the attempt has used, beyond what the ad says of it already.
func (s *supervisor) spent() spent {
	p := s.progress()
	u := spent{wall: p.Wall, user: p.UserCPU, sys: p.SysCPU, rssKB: p.PeakKB}
	if s.updates != nil {
		told := s.updates.reported
		u.wall, u.user, u.sys = u.wall-told.Wall, u.user-told.UserCPU, u.sys-told.SysCPU
	}
	return u
}
