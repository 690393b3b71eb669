package starter

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// laws hold whatever the storm did.
func (s *storm) laws() {
	s.Helper()
	s.settled()
	ads := s.left()
	unseen, untold, again, byKill := 0, 0, 0, 0 // attempts, beginnings in logs, jobs
	committed := map[string]float64{}
	for n := range s.kinds {
		id := pool.JobID{Cluster: n + 1}
		if len(ads[id.Cluster]) != 1 {
			s.Errorf("job %v, %s, has left the queue %d times, want once", id, s.kinds[n], len(ads[id.Cluster]))
			continue
		}
		ad := ads[id.Cluster][0]
		if s.ending(id, ad) {
			byKill++
		}
		never := s.attempts(id, ad)
		unseen += never
		untold += s.eventsOf(id, ad, never)
		if number64(ad, pool.AttrNumJobStarts) > 1 {
			again++
		}
		committed[stormUsers[(n+1)%len(stormUsers)]] += number64(ad, pool.AttrCommittedSlotTime)
	}
	deaths := 0
	for _, n := range s.killed {
		deaths += n
	}
	deaths += s.killed["reboot"] * stormSlots * 2 // each ends all that are there
	if unseen > deaths || untold > deaths {
		s.Errorf("%d attempts began no program, of %d the beginning is missing in the logs, want %d at most: so many were killed", unseen, untold, deaths)
	}
	s.accounts(committed)
	s.Logf("%d jobs, %d started more than once, %d ended by a kill; killed %v; %d starts were recorded and not executed, %d are missing in the logs",
		len(s.kinds), again, byKill, s.killed, unseen, untold)
}

// enough reports whether enough was killed, and enough jobs ran, to say anything.
func (s *storm) enough() bool {
	total := s.killed["supervisor"] + s.killed["job"] + s.killed["negotiate"] + s.killed["pass"] + s.killed["watch"]
	return total >= leastKills && len(s.kinds) >= 2*len(kindsOfJobs)
}

// ending holds that a job was completed, by itself or by a kill that its ad tells of.
func (s *storm) ending(id pool.JobID, ad *classad.Ad) (byKill bool) {
	s.Helper()
	kind := s.kinds[id.Cluster-1]
	last := int(number64(ad, pool.AttrNumJobMatches))
	switch got := cmdtest.Attributes(ad, []string{"JobStatus", "ExitBySignal", "ExitCode", "ExitSignal"}); got {
	case "JobStatus=4 ExitBySignal=false ExitCode=0 ExitSignal=undefined":
		if ends := s.attemptsWith("end", id); !slices.Contains(ends, last) {
			s.Errorf("job %v, %s, has completed, and its attempts that reached their ends are %v, want %d among them", id, kind, ends, last)
		}
		if kind == "transfer" {
			if info, err := os.Stat(filepath.Join(s.dir, fmt.Sprintf("result.%d", id.Cluster))); err != nil || info.Size() != int64(len(s.read("data"))) {
				s.Errorf("job %v: its output: %v, %v, want all of it", id, info, err)
			}
		}
	case "JobStatus=4 ExitBySignal=true ExitCode=undefined ExitSignal=9":
		if byKill = true; !s.hit[id] {
			s.Errorf("job %v, %s: ended by SIGKILL, which nobody sent it", id, kind)
		}
	default:
		s.Errorf("job %v, %s: %s, want it completed", id, kind, got)
	}
	return byKill
}

// attempts holds that the ad counts every start, and says why there was another. It returns
// the number of counted starts with a program that never reported.
func (s *storm) attempts(id pool.JobID, ad *classad.Ad) (unseen int) {
	s.Helper()
	starts, counted := s.starts(id), int(number64(ad, pool.AttrNumJobStarts))
	if len(starts) > counted || counted < 1 || len(starts) > 0 && starts[len(starts)-1] > int(number64(ad, pool.AttrNumJobMatches)) {
		s.Errorf("job %v, %s: attempts %v began its program, and its ad counts %d starts, want all of them", id, s.kinds[id.Cluster-1], starts, counted)
	}
	if counted > 1 && (number64(ad, "LastVacateTime") == 0 || cmdtest.Attributes(ad, []string{"VacateReason"}) == "VacateReason=undefined") {
		s.Errorf("job %v, %s: %d starts, and its ad does not say why it had to leave: %s", id, s.kinds[id.Cluster-1], counted, cmdtest.Attributes(ad, []string{"LastVacateTime", "VacateReason"}))
	}
	return counted - len(starts)
}

// eventsOf holds that the job's log tells of no more than there was, and of each attempt's end
// once, after its beginning, unless it never had one. It returns how many beginnings are missing:
// of those nobody tells the log what a dead process was about to.
func (s *storm) eventsOf(id pool.JobID, ad *classad.Ad, never int) (missing int) {
	s.Helper()
	const executing, checkpointed, evicted, terminated, lost, held = 1, 3, 4, 5, 7, 12
	events := s.events(id, fmt.Sprintf("log.%d", id.Cluster))
	runs, begun, before := 0, false, 0
	for i, e := range events {
		switch {
		case e == checkpointed:
		case e == executing:
			if begun {
				s.Errorf("job %v: events %v, want the end of each attempt before the next", id, events)
			}
			runs, begun = runs+1, true
		case e == terminated && i < len(events)-1:
			s.Errorf("job %v: events %v, want nothing behind that of its end", id, events)
		case begun:
			begun = false
		case e == held && (before == evicted || before == lost):
		case e == lost && never > 0:
			never-- // of an attempt that began no program
		default:
			missing++ // its beginning, unless there was none
		}
		before = e
	}
	if begun || before != terminated {
		s.Errorf("job %v: events %v, want the end of the job as the last", id, events)
	}
	if counted := int(number64(ad, pool.AttrNumJobStarts)); runs > counted {
		s.Errorf("job %v: events %v, and its ad counts %d starts, want so many at most", id, events, counted)
	}
	return missing
}

// accounts holds that no submitter is charged any more, that each was charged for the
// counted usage of its jobs, and all together for no more than there was.
func (s *storm) accounts(committed map[string]float64) {
	s.Helper()
	total := time.Duration(0)
	err := s.spool.View(func(v *spool.View) error {
		for _, user := range stormUsers {
			r, there := v.Submitter(user + "@example.org")
			if !there || r.ResourcesUsed != 0 || r.InUse != 0 {
				s.Errorf("%s: %v, %d resources used, %v in use, want none", user, there, r.ResourcesUsed, r.InUse)
			}
			used := time.Duration(r.Slots.Millis) * time.Millisecond
			total += used
			const rounding = 10 * time.Millisecond
			if least := time.Duration(committed[user] * float64(time.Second)); used < least-time.Duration(len(s.kinds))*rounding {
				s.Errorf("%s is charged for %v, want no less than the %v of attempts that counted", user, used, least)
			}
		}
		return nil
	})
	if err != nil {
		s.Fatal(err)
	}
	if most := stormSlots * time.Since(s.began); total > most {
		s.Errorf("all are charged for %v, want no more than the %v of all slots", total, most)
	}
}
