package health

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/lifecycle"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// untaken is the matches with slots of a machine that no starter takes up.
type untaken struct {
	matches int
	oldest  time.Time
	job     pool.JobID // of the oldest
	resting int        // slots that cycles leave alone for that
}

// machines reports machines without passes of a starter: by their slots, and by matches that
// wait.
func (l *look) machines() error {
	late := l.untaken()
	of := l.slotsByMachine(l.view.SlotNames())
	here := false
	piloted := l.pilots()
	var silent []string
	for m := range of {
		switch {
		case strings.EqualFold(m, l.Host):
			here = true
		case piloted[strings.ToLower(m)]:
		case l.Clock.Sub(l.Served[strings.ToLower(m)]) > l.Patience:
			silent = append(silent, m)
		}
	}
	slices.SortFunc(silent, pool.CompareNames)
	switch {
	case len(of) == 0:
		return l.noSlots()
	case len(silent) > 0:
		l.noStarter(silent, of, late, len(silent) == len(of) && !here)
	}
	l.notTaken(silent, late)
	return nil
}

// pilots reports machines that are silent though a pilot runs there, and returns, by their names in lower case, all
// those where one does.
func (l *look) pilots() map[string]bool {
	on := map[string]bool{}
	var machines []string
	longest, of := lifecycle.Silence{}, ""
	for _, p := range spool.Pilots.All(l.view) {
		if p.State != pool.Live && p.State != pool.Leaving || l.Silence == nil {
			continue
		}
		on[strings.ToLower(p.Machine)] = true
		s := l.Silence(p.Machine)
		if !s.Noteworthy() {
			continue
		}
		machines = append(machines, p.Machine)
		if of == "" || s.For < 0 || longest.For >= 0 && s.For > longest.For {
			longest, of = s, p.Machine
		}
	}
	if of == "" {
		return on
	}
	what := of + " " + longest.Words()
	if more := len(machines) - 1; more > 0 {
		what += plural.Pick(more, "; 1 more machine is silent", "; %d more machines are silent")
	}
	slices.SortFunc(machines, pool.CompareNames)
	l.add(Finding{Code: NotHeardOf, Severity: Warning, Machines: machines, What: what,
		Remedy: "see that it is up and reaches this host; if it runs nothing any more, slots withdraw -gone " + of})
	return on
}

func (l *look) noSlots() error {
	w, err := l.waiting()
	if err == nil && w.id != (pool.JobID{}) {
		l.add(Finding{Code: NoSlots, Severity: Critical, Stops: true,
			What: "the pool has no slots", Remedy: "run slots detect, which adds those of this machine"})
	}
	return err
}

// noStarter reports the slots of machines where no starter runs.
func (l *look) noStarter(silent []string, of map[string]int, late map[string]*untaken, all bool) {
	f := Finding{Code: NoStarter, Severity: Warning, Machines: silent}
	slots, waits := 0, untaken{}
	last := time.Time{}
	for _, m := range silent {
		slots += of[m]
		if u := late[m]; u != nil {
			waits.add(*u)
		}
		if t := l.Served[strings.ToLower(m)]; t.After(last) {
			last = t
		}
	}
	seen := "where no starter has run yet"
	if !last.IsZero() {
		seen = "where no starter has run for " + age(l.Clock.Sub(last))
	}
	if words := waits.words(l); words != "" {
		seen += ", and " + words
		f.Stops = true
	}
	f.What = fmt.Sprintf("%s of %s, %s", plural.Pick(slots, "1 slot is", "%d slots are"), names(silent), seen)
	f.Remedy = "run starter there, from cron or with -watch, or take the slots back with slots withdraw"
	if all {
		f.Code, f.Severity = OtherMachine, Critical
		f.What = fmt.Sprintf("this machine, %s, has no slots: %s of %s, %s", l.Host, plural.Pick(slots, "1 slot is", "%d slots are"), names(silent), seen)
		f.Remedy = "if this machine had the name before, set NETWORK_HOSTNAME = " + strconv.Quote(silent[0]) + "; otherwise run starter there, or slots withdraw -all and slots detect"
	}
	l.add(f)
}

// notTaken reports matches on machines that have not been reported.
func (l *look) notTaken(silent []string, late map[string]*untaken) {
	f := Finding{Code: MatchNotTaken, Severity: Critical, Stops: true}
	all, reported := untaken{}, map[string]bool{}
	for _, m := range silent {
		reported[strings.ToLower(m)] = true
	}
	for m, u := range late {
		if !reported[strings.ToLower(m)] {
			f.Machines = append(f.Machines, m)
			all.add(*u)
		}
	}
	if len(f.Machines) == 0 {
		return
	}
	slices.SortFunc(f.Machines, pool.CompareNames)
	if l.running() {
		f.Severity = Warning
	}
	f.What = fmt.Sprintf("on %s no starter takes up the matches: %s", names(f.Machines), all.words(l))
	f.Remedy = "run starter there, which says what is in the way, and see that cron or systemd runs it: starter(8) has the lines"
	l.add(f)
}

// untaken returns what no starter took up in time, by machine.
func (l *look) untaken() map[string]*untaken {
	late := map[string]*untaken{}
	at := func(machine string) *untaken {
		if late[machine] == nil {
			late[machine] = new(untaken)
		}
		return late[machine]
	}
	timeout := l.ClaimTimeout
	if timeout <= 0 { // for ever
		timeout = l.Patience
	}
	for _, c := range l.claims {
		if since := time.UnixMilli(c.MatchedAt).UTC(); c.State == pool.Matched && l.At.Now.Sub(since) > timeout {
			at(c.Machine).add(untaken{matches: 1, oldest: since, job: c.Job})
		}
	}
	var resting []string
	for _, b := range l.view.Backoffs() {
		if b.Failures > 1 && b.Until.After(l.At.Now) {
			resting = append(resting, b.Slot)
		}
	}
	for m, n := range l.slotsByMachine(resting) {
		at(m).resting += n
	}
	return late
}

func (u *untaken) add(o untaken) {
	if u.matches == 0 || o.matches > 0 && o.oldest.Before(u.oldest) {
		u.oldest, u.job = o.oldest, o.job
	}
	u.matches += o.matches
	u.resting += o.resting
}

// words lists the untaken matches; empty: there are none.
func (u untaken) words(l *look) string {
	var words []string
	if u.matches > 0 {
		words = append(words, fmt.Sprintf("%s there for %s, such as job %v", plural.Pick(u.matches, "1 match waits", "%d matches wait"), age(l.At.Now.Sub(u.oldest)), u.job))
	}
	if u.resting > 0 {
		words = append(words, plural.Pick(u.resting, "1 slot is", "%d slots are")+" left alone after matches that came to nothing")
	}
	return strings.Join(words, ", and ")
}

// mostRead is how many slots are read for their machines. Of more, each that has an @ in its name is
// of the machine that stands behind it.
const mostRead = 50

// slotsByMachine counts slots by their Machine. Slots whose names have the same text behind the @
// count for one machine: the first one's.
func (l *look) slotsByMachine(slots []string) map[string]int {
	type some struct {
		first string
		n     int
	}
	by := map[string]*some{}
	for _, s := range slots {
		_, host, _ := strings.Cut(s, "@")
		if host == "" {
			host = s
		}
		if by[host] == nil {
			by[host] = &some{first: s}
		}
		by[host].n++
	}
	var read []string
	for host, some := range by {
		if !strings.EqualFold(host, l.Host) && len(read) < mostRead {
			read = append(read, some.first)
		}
	}
	of := map[string]string{}
	for _, s := range l.view.SlotsNamed(read) {
		if m, ok := s.Ad.EvalString(&classad.Context{}, pool.AttrMachine); ok && m != "" {
			of[s.Name] = m
		}
	}
	count := map[string]int{}
	for host, some := range by {
		m := of[some.first]
		if m == "" {
			m = host
		}
		count[m] += some.n
	}
	return count
}
