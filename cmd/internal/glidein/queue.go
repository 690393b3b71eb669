package glidein

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/asuser"
	"fairspool/lib/clean"
	"fairspool/lib/config"
	"fairspool/lib/engine"
	"fairspool/lib/lifecycle"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
	"fairspool/spool"
	"fairspool/spool/heard"
)

// queued is what there is to tell of an engine that queues pilots.
type queued struct {
	Engine  string
	Asked   int            // for so many pilots it was asked, or would be with -dry-run
	Jobs    map[string]int `json:",omitempty"` // that would get slots of these, by submitter
	Waiting int            // asked for before, and not there yet
	Live    int
	Adopted int      `json:",omitempty"` // found by their names, after a submission that was not answered
	Over    int      `json:",omitempty"` // that the engine has no more
	Ended   int      `json:",omitempty"` // jobs of the engine that no pilot of the pool has any more
	Limit   string   `json:",omitempty"` // what keeps more from being asked for
	Reasons []string `json:",omitempty"` // with -explain: why jobs would get no slots
	Wait    int      `json:"Seconds,omitempty"`
	Reason  string   `json:",omitempty"` // why the engine was left alone, or could not be spoken with
	Failed  bool     `json:",omitempty"`

	cpus int64
}

// keepOver is for how long a pilot that is over is remembered.
const keepOver = 24 * time.Hour

// queues makes a pass over the engines that queue pilots.
func (k *keeper) queues(c *cmdline.Call, sp *spool.Spool, engines []config.Engine) ([]queued, error) {
	if len(engines) == 0 {
		return nil, nil
	}
	passes := make([]*enginePass, len(engines))
	for i, e := range engines {
		passes[i] = &enginePass{keeper: k, call: c, spool: sp, driver: engine.New(e, sp.ID(), runEngine), queued: queued{Engine: e.Name, cpus: e.Cpus}}
		if err := passes[i].open(); err != nil {
			return nil, err
		}
		defer passes[i].link.close()
		if err := passes[i].look(); err != nil {
			return nil, err
		}
	}
	err := sp.View(func(v *spool.View) error {
		f, err := newForecast(c, v, sp.Domain(), asuser.Privileged())
		if err != nil {
			return err
		}
		rows := spool.Pilots.All(v)
		for _, p := range passes {
			if err := p.foresee(f, rows); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	list := make([]queued, len(passes))
	for i, p := range passes {
		if err := p.ask(); err != nil {
			return nil, err
		}
		list[i] = p.queued
	}
	return list, nil
}

// enginePass is a pass over one engine.
type enginePass struct {
	*keeper
	call   *cmdline.Call
	spool  *spool.Spool
	driver *engine.Driver
	link   *link
	demand demand
	voided map[int]bool // -dry-run: the pilots that would be given up
	queued
}

// open opens the engine's file, unless another glidein has it: that makes the pass.
func (p *enginePass) open() (err error) {
	p.link, err = openLink(filepath.Join(p.dir, "engine."+p.driver.Engine.Name+".log"), !p.dry)
	if errors.Is(err, errBusy) {
		p.link, p.Reason = &link{}, err.Error()
		return nil
	}
	if err == nil {
		if left := p.link.left(p.now); left > 0 {
			p.Wait, p.Reason = int((left+time.Second-1)/time.Second), p.link.reason
		}
	}
	return err
}

// trouble notes that the engine could not be spoken with, and leaves it alone for a while.
func (p *enginePass) trouble(err error) error {
	p.Reason, p.Failed = err.Error(), true
	if p.dry {
		return nil
	}
	p.link.tries++
	return p.link.note(p.now, p.link.tries, waitAfter(p.link.tries, chance()), p.Reason+"\n")
}

// look asks the engine for the pool's pilots, and updates the rows.
func (p *enginePass) look() error {
	if p.Reason != "" {
		return nil
	}
	var before []pool.Pilot
	if err := p.spool.View(func(v *spool.View) error {
		before = spool.Pilots.All(v)
		return nil
	}); err != nil {
		return err
	}
	seen, err := p.driver.Look(context.Background())
	if err != nil {
		return p.trouble(err)
	}
	r := p.reconcile(before, seen)
	p.Adopted, p.Over = r.adopted, len(r.lost)
	for _, refs := range r.orphans {
		p.Ended += len(refs)
	}
	p.voided = map[int]bool{}
	for _, l := range r.lost {
		p.voided[l.id] = true
	}
	if p.dry {
		return nil
	}
	if err := p.record(r); err != nil {
		return err
	}
	for _, owner := range slices.Sorted(maps.Keys(r.orphans)) {
		if err := p.driver.Cancel(context.Background(), p.account(owner), r.orphans[owner]); err != nil {
			return p.trouble(err)
		}
	}
	if early := r.early(); early > 0 { // the next pilots may end so, too
		return p.trouble(fmt.Errorf("%s: %s", plural.Pick(early, "1 pilot ended before it came", "%d pilots ended before they came"), r.lost[0].why))
	}
	return nil
}

// reconciled is what the rows of the pool's pilots need after a look at an engine.
type reconciled struct {
	sights  []engine.Sighting
	lost    []loss
	orphans map[string][]string // jobs of the engine to be ended, by owner
	adopted int
	forget  bool // pilots are over for long
}

type loss struct {
	id    int
	why   string
	early bool // the engine had it, and it has not come
}

// early returns how many pilots have ended before they came.
func (r reconciled) early() (n int) {
	for _, l := range r.lost {
		if l.early {
			n++
		}
	}
	return n
}

// reconcile compares the rows, as they were before the look, with the pilots in the
// engine.
func (p *enginePass) reconcile(before []pool.Pilot, seen []engine.Sighting) reconciled {
	r := reconciled{orphans: map[string][]string{}}
	e := p.driver.Engine
	rows := map[int]pool.Pilot{}
	last := 0
	for _, row := range before {
		last = max(last, row.ID)
		if row.Engine == e.Name {
			rows[row.ID] = row
		}
	}
	here := map[int]bool{}
	said := map[int]string{}
	for _, s := range seen {
		row, known := rows[s.Pilot]
		switch {
		case s.State == engine.Over:
			said[s.Pilot] = s.Says
		case !known && s.Pilot > last: // asked for since
		case !known || row.State.Over() && row.State != pool.Gone:
			r.orphans[row.Owner] = append(r.orphans[row.Owner], s.Ref)
		case row.State == pool.Gone: // it said goodbye, and ends
		default:
			here[s.Pilot] = true
			if row.Ref == "" {
				r.adopted++
			}
			if row.Ref != s.Ref || row.Says != s.Says {
				r.sights = append(r.sights, s)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		row := rows[id]
		says, over := said[id]
		switch {
		case row.State.Over():
			r.forget = r.forget || row.OverAt.Before(p.call.Now.Add(-keepOver)) && row.ID != last
		case here[id] || row.State == pool.Leaving && !over && row.Ref == "":
		case over || row.Ref != "":
			why := "job " + cmp.Or(row.Ref, "of its name") + " of engine " + e.Name + " is over"
			if says != "" {
				why += ": " + says
			}
			r.lost = append(r.lost, loss{id, why, row.State == pool.Asked && row.LiveAt.IsZero()})
		case row.State == pool.Asked && p.call.Now.Sub(row.AskedAt) >= e.AskTimeout:
			r.lost = append(r.lost, loss{id, "engine " + e.Name + " does not know it", false})
		}
	}
	return r
}

// record updates the rows from the engine.
func (p *enginePass) record(r reconciled) error {
	if len(r.sights)+len(r.lost) == 0 && !r.forget {
		return nil
	}
	at := p.call.Later()
	var forgotten []string
	err := lifecycle.Account(p.spool, at, func(tx *spool.Tx) error {
		for _, s := range r.sights {
			lifecycle.Sight(tx, s.Pilot, s.Ref, s.Says)
		}
		for _, l := range r.lost {
			lifecycle.Lose(tx, l.id, l.why, at.Now, p.call.Config.Params)
		}
		forgotten = lifecycle.ForgetPilots(tx, p.driver.Engine.Name, at.Now.Add(-keepOver))
		return nil
	})
	if err != nil {
		return err
	}
	for _, machine := range forgotten {
		if err := heard.Forget(p.spool.Dir(), machine); err != nil {
			return err
		}
	}
	return nil
}

// foresee learns how many pilots the engine is to be asked for.
func (p *enginePass) foresee(f *forecast, rows []pool.Pilot) error {
	left := slices.DeleteFunc(slices.Clone(rows), func(row pool.Pilot) bool { return p.dry && p.voided[row.ID] })
	d, err := f.of(p.driver.Engine, left)
	if err != nil {
		return err
	}
	p.Waiting, p.Live = d.waits, d.live
	if p.Reason != "" {
		return nil
	}
	p.demand, p.Asked, p.Jobs, p.Limit = d, d.total(), d.jobs, d.limit
	if p.Asked == 0 {
		p.Jobs = nil
	}
	if p.call.Has("explain") {
		for _, x := range d.plan.Rejections {
			n := 0
			for _, jobs := range x.Jobs {
				n += jobs.Count()
			}
			p.Reasons = append(p.Reasons, fmt.Sprintf("%s of %s would wait: %s", plural.Count(n, "job"), x.Submitter, x.Reason))
		}
	}
	return nil
}

// ask asks the engine for pilots, one after the other. The row and the token of each are there before it: of one at most it is not
// known whether the engine has it, when this process dies.
func (p *enginePass) ask() error {
	if p.dry || p.Asked == 0 {
		return nil
	}
	p.Asked = 0
	var owners []string
	for _, owner := range slices.Sorted(maps.Keys(p.demand.pilots)) {
		owners = append(owners, slices.Repeat([]string{owner}, p.demand.pilots[owner])...)
	}
	var row pool.Pilot
	var trouble error
	answered := func(*spool.Tx, time.Time) {} // notes the engine's answer for the last pilot
	for {
		var random [16]byte
		rand.Read(random[:]) // never fails
		token := hex.EncodeToString(random[:])
		more := trouble == nil && p.Asked < len(owners)
		at := p.call.Later()
		err := lifecycle.Account(p.spool, at, func(tx *spool.Tx) error {
			answered(tx, at.Now)
			if more {
				row = lifecycle.AskEngine(tx, p.driver.Engine.Name, owners[p.Asked], pool.HashToken(token), at.Now)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if !more {
			break
		}
		id := row.ID
		ref, err := p.driver.Ask(context.Background(), engine.Request{Pilot: id, Token: token, Owner: p.account(row.Owner), User: row.Owner, Warn: p.warn()})
		switch trouble = err; {
		case err == nil:
			p.Asked++
			answered = func(tx *spool.Tx, _ time.Time) { lifecycle.Sight(tx, id, ref, "") }
		case refused(err):
			answered = func(tx *spool.Tx, now time.Time) { lifecycle.Lose(tx, id, err.Error(), now, p.call.Config.Params) }
		default: // the engine may have it: the next look tells
			answered = func(*spool.Tx, time.Time) {}
		}
	}
	if trouble != nil {
		return p.trouble(trouble)
	}
	if p.link.tries == 0 {
		return nil
	}
	p.link.tries = 0
	return p.link.note(p.now, 0, 0, "")
}

// account returns the account that asks for and cancels pilots of an owner; empty: this
// process's.
func (p *enginePass) account(owner string) string {
	if p.driver.Kind == config.KindPool {
		return "" // this account also looks into the other pool
	}
	if account, serves := asuser.Served(); serves && owner == "" {
		return account.Name
	}
	return owner
}

// warn returns how long before its time limit the engine warns a pilot: its jobs have the time to leave.
func (p *enginePass) warn() time.Duration {
	const margin = time.Minute
	return min(p.call.Config.MachineMaxVacateTime+margin, p.driver.Engine.Time/2)
}

// words says what a pass has done with an engine, or would do.
func (q queued) words(dry bool) string {
	var parts []string
	switch {
	case q.Failed, q.Reason != "":
		parts = append(parts, "left alone"+forSeconds(q.Wait)+": "+q.Reason)
	case q.Asked > 0:
		text := plural.Count(q.Asked, "pilot") + " of " + plural.Count(int(q.cpus), "core") + ": " + jobsOf(q.Jobs)
		if !dry {
			text = "asked for " + text
		}
		parts = append(parts, text)
	}
	if q.Waiting > 0 || len(parts) == 0 {
		parts = append(parts, plural.Pick(q.Waiting, "1 waits", "%d wait"))
	}
	if q.Live > 0 || q.Asked == 0 && q.Reason == "" {
		parts = append(parts, plural.Pick(q.Live, "1 is there", "%d are there"))
	}
	return q.Engine + ": " + strings.Join(parts, "; ")
}

// cancelPilot has an engine end a pilot that it queues. One that has not come is refused if it comes.
func cancelPilot(c *cmdline.Call, id int) error {
	sp, err := c.ExistingSpool()
	if err != nil {
		return err
	}
	var row pool.Pilot
	if err := sp.View(func(v *spool.View) error {
		row, _ = spool.Pilots.Get(v, id)
		return nil
	}); err != nil {
		return err
	}
	i := slices.IndexFunc(c.Config.Engines, func(e config.Engine) bool { return e.Name == row.Engine && e.Queues() })
	switch {
	case row.ID == 0:
		return fmt.Errorf("pilot %d: the pool has no such pilot: slots list -pilots shows them", id)
	case i < 0:
		return fmt.Errorf("pilot %d: no engine queues it: its machine is %s", id, row.Machine)
	case row.State.Over():
		return fmt.Errorf("pilot %d is %v already: %s", id, row.State, row.Why)
	}
	if row.State == pool.Asked {
		err = sp.Update(func(tx *spool.Tx) error { lifecycle.Void(tx, id, "glidein -cancel ended it", c.Now); return nil })
	}
	if err == nil && row.Ref != "" {
		p := enginePass{driver: engine.New(c.Config.Engines[i], sp.ID(), runEngine)}
		err = p.driver.Cancel(context.Background(), p.account(row.Owner), []string{row.Ref})
	}
	if err != nil {
		return err
	}
	if c.Has("json") {
		return c.JSON(cancelled{Pilot: id, Engine: row.Engine, State: row.State.String()})
	}
	text := "its jobs leave"
	if row.State == pool.Asked {
		text = "it had not come"
	}
	_, err = fmt.Fprintf(c.Stdout, "pilot %d of engine %s ends: %s\n", id, row.Engine, text)
	return err
}

// engineTime is how long a command of an engine may take.
const engineTime = time.Minute

// runEngine runs a command of an engine, as the account that it names, and returns its output. The command has nothing
// of the caller's environment; ENV of the engine sets its variables.
func runEngine(ctx context.Context, of engine.Command) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, engineTime)
	defer cancel()
	c := exec.CommandContext(ctx, of.Args[0], of.Args[1:]...)
	c.Dir, c.WaitDelay = "/", time.Second
	var out, bad bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(of.Input), &out, &bad
	name, home := "", ""
	if u, err := user.LookupId(strconv.Itoa(os.Getuid())); err == nil {
		name, home = u.Username, u.HomeDir
	}
	if of.Owner != "" {
		u, known, err := asuser.LookUp(of.Owner)
		if err == nil && !known {
			err = errors.New("this machine knows no such user")
		}
		if err != nil {
			return nil, fmt.Errorf("rights of %s: %w", of.Owner, err)
		}
		name, home = u.Name, u.Home
		c.SysProcAttr = &syscall.SysProcAttr{Credential: u.Credential()}
	}
	c.Env = append([]string{"PATH=" + asuser.Path, "HOME=" + home, "USER=" + name, "LOGNAME=" + name, "SHELL=/bin/sh"}, of.Env...)
	var err error
	if e := asuser.Root(func() { err = c.Start() }); e != nil || err != nil {
		return nil, errors.Join(e, err)
	}
	err = c.Wait()
	if ctx.Err() != nil {
		err = fmt.Errorf("%s does not answer for %d s", of.Args[0], int(engineTime.Seconds()))
	} else if err != nil {
		err = &engineError{of.Args[0], clean.Line(lastLine(bad.Bytes())), err}
	}
	return out.Bytes(), err
}

// engineError is the failure of an engine's command.
type engineError struct {
	program, says string
	err           error
}

func (e *engineError) Error() string {
	if e.says == "" {
		return e.program + ": " + e.err.Error()
	}
	return e.program + ": " + e.says
}

func (e *engineError) Unwrap() error { return e.err }

// refused reports whether an engine's command has ended by itself: it was not killed, and has not begun to hang.
func refused(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.Exited()
}
