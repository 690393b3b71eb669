package glidein

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/systemd"
	"fairspool/lib/asuser"
	"fairspool/lib/config"
	"fairspool/lib/plural"
	"fairspool/spool"
)

// The states of a machine's link, as a report has them.
const (
	linked  = "Linked"  // it has one
	started = "Started" // it was started now
	missing = "Missing" // -dry-run: it would be started
	waiting = "Waiting" // it has none, and is left alone for a while
	calls   = "Calls"   // it has none, and is to call this host
	failed  = "Failed"  // serve could not be started
)

// report is what there is to tell of a machine.
type report struct {
	Machine, Engine string
	State           string
	PID             int    `json:"Pid,omitempty"`     // of serve
	Wait            int    `json:"Seconds,omitempty"` // for so long it is left alone
	Reason          string `json:",omitempty"`        // why it has no link
}

// clock is this machine's.
var clock = time.Now

// keep starts the links that are missing.
func keep(c *cmdline.Call) error {
	list := machines(c)
	engines := c.Config.Asked()
	if len(list)+len(engines) == 0 {
		return tell(c, nil, nil)
	}
	sp, err := c.Spool()
	if err != nil {
		return err
	}
	dir, err := c.SpoolDir()
	if err != nil {
		return err
	}
	holders, err := watchers(sp, list)
	if err != nil {
		return err
	}
	k := keeper{dry: c.Has("dry-run") || c.Has("explain"), dir: dir, now: clock(), holders: holders, unit: sync.OnceValue(systemd.Here().Scope)}
	if k.here, err = c.Hostname(); err != nil {
		return err
	}
	if !k.dry {
		p, err := programs(c)
		if err != nil {
			return err
		}
		k.serve = p.Program("serve")
		if _, err := os.Stat(k.serve); err != nil {
			return fmt.Errorf("%s: %w: install all programs into one folder", k.serve, cmdline.Cause(err))
		}
		if k.common, err = c.Common(); err != nil {
			return err
		}
	}
	reports := make([]report, len(list))
	for i, m := range list {
		reports[i] = k.look(m)
	}
	queues, err := k.queues(c, sp, engines)
	if err != nil {
		return err
	}
	return tell(c, reports, queues)
}

// watchers returns the processes that watch over machines, by spool.WatchLock.
func watchers(sp *spool.Spool, list []machine) (map[string]spool.Holder, error) {
	locks := make([]string, len(list))
	for i, m := range list {
		locks[i] = spool.WatchLock(m.name)
	}
	held, err := holdersOf(sp, locks...)
	by := map[string]spool.Holder{}
	for _, h := range held {
		by[h.Lock] = h
	}
	return by, err
}

// holdersOf returns what Spool.Holders does. Only root sees what root's processes have open.
func holdersOf(sp *spool.Spool, locks ...string) (held []spool.Holder, err error) {
	if e := asuser.Root(func() { held, err = sp.Holders(locks...) }); e != nil {
		return nil, e
	}
	return held, err
}

// keeper starts links.
type keeper struct {
	dry     bool // only print the actions
	dir     string
	here    string // this machine's name
	now     time.Time
	holders map[string]spool.Holder
	unit    func() *systemd.Scope
	serve   string   // the program
	common  []string // its common flags
}

// look looks at a machine, and starts its link if it has none and is not left alone.
func (k *keeper) look(m machine) report {
	r := report{Machine: m.name, Engine: m.engine.Name}
	h, watched := k.holders[spool.WatchLock(m.name)]
	switch {
	case strings.EqualFold(m.name, k.here):
		r.State, r.Reason = failed, "it is this machine, whose jobs starter runs: take it out of HOSTS"
	case watched:
		r.State, r.PID = linked, h.PID
	case m.engine.Link == config.LinkHome:
		r.State = calls
	default:
		if err := k.start(m, &r); errors.Is(err, errBusy) {
			r.State, r.Reason = waiting, err.Error()
		} else if err != nil {
			r.State, r.Reason = failed, err.Error()
		}
	}
	return r
}

// start starts the link of a machine, unless that is left alone.
func (k *keeper) start(m machine, r *report) error {
	l, err := openLink(linkPath(k.dir, m.name), !k.dry)
	if err != nil {
		return err
	}
	defer l.close()
	if left := l.left(k.now); left > 0 {
		r.State, r.Reason = waiting, cmp.Or(l.reason, "a link was started and is not up yet")
		r.Wait = int((left + time.Second - 1) / time.Second)
		return nil
	}
	if r.State = missing; k.dry {
		return nil
	}
	r.State = started
	r.PID, err = l.startServe(k.command(m), k.now)
	return err
}

// command returns what becomes the serve of a machine. Where systemd gives units it is in one of its own: it does not
// end with the service or the session that glidein is in.
func (k *keeper) command(m machine) *exec.Cmd {
	args := append(slices.Clone(k.common), "-pilot", "-engine", m.engine.Name, "-machine", m.name)
	unit := k.unit()
	if unit == nil || strings.Contains(k.serve+strings.Join(args, ""), "$") { // which systemd-run may take for a variable's
		return exec.Command(k.serve, args...)
	}
	return unit.Command(context.Background(), fmt.Sprintf("serve-%s-%d", m.name, os.Getpid()), k.serve, args)
}

// tell prints the reports. It fails if a link could not be started.
func tell(c *cmdline.Call, reports []report, queues []queued) error {
	var err error
	for _, r := range reports {
		if r.State == failed {
			c.Warn("%s: %s", r.Machine, r.Reason)
			err = cmdline.ErrReported
		}
	}
	for _, q := range queues {
		if q.Failed {
			c.Warn("engine %s: %s", q.Engine, q.Reason)
			err = cmdline.ErrReported
		}
	}
	switch {
	case c.Has("json"):
		return errors.Join(err, c.JSON(kept{append([]report{}, reports...), queues}))
	case c.Has("q"):
		return err
	}
	if len(reports) > 0 || len(queues) == 0 {
		fmt.Fprintln(c.Stdout, summary(reports))
	}
	for _, q := range queues {
		fmt.Fprintln(c.Stdout, q.words(c.Has("dry-run") || c.Has("explain")))
		if c.Has("explain") && q.Limit != "" {
			fmt.Fprintf(c.Stdout, "    no more than %d: %s\n", q.Asked, q.Limit)
		}
		for _, why := range q.Reasons {
			fmt.Fprintf(c.Stdout, "    %s\n", why)
		}
	}
	for _, r := range reports {
		switch r.State {
		case waiting:
			fmt.Fprintf(c.Stdout, "%s is left alone%s: %s\n", r.Machine, forSeconds(r.Wait), r.Reason)
		case calls:
			fmt.Fprintf(c.Stdout, "%s has not called\n", r.Machine)
		}
	}
	return err
}

// kept is what -json prints.
type kept struct {
	Machines []report
	Engines  []queued `json:",omitempty"`
}

func outputs() []cmdline.Output {
	return []cmdline.Output{{Name: "glidein", Value: kept{}}, {Name: "glidein-install", Value: cmdline.List{Member: "Machines", Of: installed{}}},
		{Name: "glidein-token", Value: tokenGiven{}}, {Name: "glidein-cancel", Value: cancelled{}}}
}

// forSeconds returns a length of time as words; none for 0.
func forSeconds(n int) string {
	const minute = 60
	switch {
	case n == 0:
		return ""
	case n < 2*minute:
		return fmt.Sprintf(" for %d s", n)
	}
	return fmt.Sprintf(" for %d min", (n+minute-1)/minute)
}

// summary counts machines by the states of their links: "2 machines have pilots, 1 started".
func summary(reports []report) string {
	if len(reports) == 0 {
		return "0 machines: the configuration has no engine"
	}
	n := map[string]int{}
	for _, r := range reports {
		n[r.State]++
	}
	text := plural.Pick(n[linked], "1 machine has a pilot", "%d machines have pilots")
	for _, state := range [][2]string{{started, "started"}, {missing, "would be started"}, {waiting, "left alone"}, {calls, "to call"}, {failed, "failed"}} {
		if n := n[state[0]]; n > 0 {
			text += fmt.Sprintf(", %d %s", n, state[1])
		}
	}
	return text
}

// cancelled is what -cancel prints with -json.
type cancelled struct {
	Machine string `json:",omitempty"`        // whose link ends
	Wait    int    `json:"Seconds,omitempty"` // for so long it is left alone
	Pilot   int    `json:",omitempty"`        // that an engine queued
	Engine  string `json:",omitempty"`
	State   string `json:",omitempty"` // of the pilot, before
}

// cancel ends the link to a machine, and starts none there for mostWait. A number names a pilot that an engine queues.
func cancel(c *cmdline.Call, name string) error {
	if id, err := strconv.Atoi(name); err == nil {
		return cancelPilot(c, id)
	}
	if strings.ContainsRune(name, os.PathSeparator) {
		return cmdline.Usagef("-cancel: %s: want a machine's name", name)
	}
	sp, err := c.ExistingSpool()
	if err != nil {
		return err
	}
	dir, err := c.SpoolDir()
	if err != nil {
		return err
	}
	held, err := holdersOf(sp, spool.WatchLock(name))
	if err != nil {
		return err
	}
	if len(held) == 0 {
		return fmt.Errorf("%s has no link", name)
	}
	pid := held[0].PID
	if held[0].Program != "serve" {
		return fmt.Errorf("%s has no link: pid %d (%s) watches over it", name, pid, cmp.Or(held[0].Program, "another program"))
	}
	l, err := openLink(linkPath(dir, name), true)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer l.close()
	if err := l.note(clock(), 0, mostWait, "glidein -cancel ended its link\n"); err != nil {
		return err
	}
	if e := asuser.Root(func() { err = unix.Kill(pid, syscall.SIGTERM) }); e != nil {
		return e
	}
	if err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("%s: pid %d: %w", name, pid, err)
	}
	if c.Has("json") {
		return c.JSON(cancelled{Machine: name, Wait: int(mostWait / time.Second)})
	}
	_, err = fmt.Fprintf(c.Stdout, "%s: the link ends; glidein leaves the machine alone for 10 min, or always if you remove it from HOSTS\n", name)
	return err
}
