package pilotdesk

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/desk"
	"fairspool/cmd/internal/onchange"
	"fairspool/cmd/internal/pilot"
	"fairspool/cmd/internal/stir"
	"fairspool/cmd/internal/trouble"
	"fairspool/lib/asuser"
	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/lifecycle"
	"fairspool/lib/link"
	"fairspool/lib/pool"
	"fairspool/spool"
	"fairspool/spool/carried"
	"fairspool/spool/heard"
)

// Server is the spool's end of one link.
type Server struct {
	Call   *cmdline.Call
	Spool  *spool.Spool
	Desks  *desk.Desks
	Signal <-chan os.Signal // ends it
	// Cycles starts a cycle now and then, and for changes that have none; nil: that is left to others.
	Cycles *onchange.Watch
	// Machine and Engine identify the pilot that this host has called. Empty: the pilot has called, and shows a token.
	Machine, Engine string
	// Owners: jobs run as their owners. So a pilot without root's rights runs only its own account's.
	Owners bool

	id      int // of the pilot that has called; 0: this host has
	pilot   pool.Pilot
	link    *link.Link
	control net.Conn
	desk    *desk.Pilot
	claims  *spool.MachineWatch
	epoch   int // where counting the edits of jobs begins
	edits   map[pool.JobID]int
	sending sync.Mutex
	work    chan func() // for the goroutine that has the spool
	served  tally
}

// Serve serves the pilot at the other end of a pipe until the link ends. The error says why it could not
// begin, or what broke it.
func (s *Server) Serve(pipe io.ReadWriteCloser) error {
	l, err := link.New(pipe, link.Settings{Version: cmdline.Version, Patience: pilot.Patience, Every: pilot.Every})
	if err != nil {
		return err
	}
	defer l.Close()
	s.link = l
	if s.control, err = l.Accept(); err != nil {
		return err
	}
	s.control.SetReadDeadline(time.Now().Add(pilot.Patience))
	var hello pilot.Hello
	if err := link.ReadMessage(s.control, &hello); err != nil {
		return fmt.Errorf("the pilot says nothing: %w", err)
	}
	if s.Machine != "" {
		return s.greeted(hello)
	}
	p, err := s.called(hello)
	if err != nil {
		return s.refuse(err)
	}
	s.Machine, s.Engine, s.id = p.Machine, p.Engine, p.ID
	began := false
	err = s.Spool.Watching(s.Machine, func() error { began = true; return s.greeted(hello) })
	if !began && err != nil {
		return s.refuse(fmt.Errorf("%s has another link: %w", s.Machine, err))
	}
	return err
}

// refuse tells the pilot why it is not taken.
func (s *Server) refuse(err error) error {
	w := pilot.Welcome{Refused: err.Error(), Over: errors.Is(err, lifecycle.ErrPilotOver)}
	link.WriteMessage(s.control, w)
	return &pilot.RefusedError{Why: w.Refused, Over: w.Over}
}

// called returns the row of a pilot that has called this host, if its token is right.
func (s *Server) called(h pilot.Hello) (p pool.Pilot, err error) {
	unknown := fmt.Errorf("the pool knows no pilot with this token: %w: glidein -token MACHINE on the spool's host makes another token", lifecycle.ErrPilotOver)
	token := sha256.Sum256([]byte(h.Token))
	err = s.Spool.View(func(v *spool.View) error {
		var ok bool
		if p, ok = spool.Pilots.Get(v, h.ID); !ok || p.Token == "" {
			return unknown
		}
		want, err := hex.DecodeString(p.Token)
		if err != nil || subtle.ConstantTimeCompare(want, token[:]) != 1 {
			return unknown
		}
		return nil
	})
	return p, err
}

// greeted goes on with a link when its pilot has named itself, and no other process has one to its machine.
func (s *Server) greeted(h pilot.Hello) error {
	err := s.welcome(h)
	if errors.Is(err, lifecycle.ErrPilotOver) && h.Token != "" {
		err = fmt.Errorf("%w: glidein -token %s on the spool's host makes another token", err, s.Machine)
	}
	if err != nil {
		return s.refuse(err)
	}
	var slots pilot.Slots
	if err := link.ReadMessage(s.control, &slots); err != nil {
		return fmt.Errorf("the pilot does not say what slots it has: %w", err)
	}
	s.control.SetReadDeadline(time.Time{})
	if err := errors.Join(s.advertise(slots), carried.Clear(s.Spool.Dir(), s.Machine)); err != nil {
		return err
	}
	s.desk = s.Desks.Pilot(s.Machine, s.pilot.Instance)
	s.epoch, s.edits = int(time.Now().Unix()), map[pool.JobID]int{}
	if s.claims, err = s.Spool.WatchMachine(s.Machine, jobpolicy.AttemptAttributes()...); err != nil {
		return err
	}
	return s.attend()
}

// welcome makes the pilot Live, and tells it so.
func (s *Server) welcome(h pilot.Hello) error {
	c := s.Call.Config
	unheard := time.Duration(-1)
	before, known, err := heard.Last(s.Spool.Dir(), s.Machine)
	if err == nil && known {
		unheard = before.Elapsed(cmdline.Uptime())
	}
	at := s.Call.Later()
	err = lifecycle.Account(s.Spool, at, func(tx *spool.Tx) (err error) {
		id := s.id
		if id == 0 {
			id = s.row(tx, at.Now)
		}
		s.pilot, err = lifecycle.Greet(tx, id, h.Instance, unheard, c.JobLease, at.Now)
		return err
	})
	if err != nil {
		return err
	}
	s.served.begin(before, s.pilot.ID)
	if err := s.hear(); err != nil {
		return err
	}
	w := pilot.Welcome{Pool: s.Spool.ID(), Machine: s.Machine, FileSystemDomain: s.domain(), Settings: pilot.Settings{
		Pilot: s.pilot.Name(), Now: s.Call.Later().Now, Lease: c.JobLease, Beat: min(beatEvery, c.JobLease/4), Vacate: c.MachineMaxVacateTime,
		Periodic: c.PeriodicInterval, FirstUpdate: c.InitialUpdateInterval, UpdateEvery: c.UpdateInterval,
		Worklife: c.ClaimWorklife, MinUID: c.MinUID, NobodySlotUser: c.NobodySlotUser,
	}}
	if _, serves := asuser.Served(); asuser.Privileged() && !serves {
		w.MinUID = 0 // root's own pool runs root's jobs
	}
	if s.Owners && !h.Root {
		w.Owner = h.Account
	}
	if s.pilot.State == pool.Leaving {
		w.Leaves = s.pilot.Why
	}
	if e, ok := s.engine(); ok && e.Queues() {
		w.Owner = s.pilot.Owner
	}
	return link.WriteMessage(s.control, w)
}

// beatEvery is how often a pilot is to be heard of, at most.
const beatEvery = 20 * time.Second

// row returns the number of the machine's pilot, which is asked for if it has no pilot.
func (s *Server) row(tx *spool.Tx, now time.Time) int {
	for _, p := range spool.Pilots.All(&tx.View) {
		if strings.EqualFold(p.Machine, s.Machine) && !p.State.Over() && p.Token == "" {
			return p.ID
		}
	}
	return lifecycle.Ask(tx, s.Engine, s.Machine, "", now).ID
}

// domain returns the FileSystemDomain of the machine's slots; empty: it is the machine's name.
func (s *Server) domain() string {
	e, _ := s.engine()
	return e.FileSystemDomain
}

// engine returns the engine of the machine; false: it is not in the configuration any
// more.
func (s *Server) engine() (e config.Engine, ok bool) {
	i := slices.IndexFunc(s.Call.Config.Engines, func(e config.Engine) bool { return e.Name == s.Engine })
	if i < 0 {
		return e, false
	}
	return s.Call.Config.Engines[i], true
}

// fit bounds a slot of a pilot that a batch engine runs to the pilot's request, and to its owner.
func (s *Server) fit(ad *classad.Ad) error {
	e, ok := s.engine()
	if !ok || !e.Queues() {
		return nil
	}
	for name, has := range map[string]int64{pool.AttrCpus: e.Cpus, pool.AttrMemory: e.MemoryMB} {
		if ad.Has(name) {
			ad.SetInt(name, has)
			ad.SetInt(pool.TotalPrefix+name, has)
		}
	}
	if s.pilot.Owner == "" {
		return nil
	}
	start, ok := ad.Lookup("Start")
	admits := pool.OwnedBy(s.pilot.Owner)
	if e.Kind == config.KindPool {
		ad.SetString(pool.AttrFlockedTo, e.Name)
		admits += " && " + pool.Flocks
	}
	only, err := classad.ParseExpr(admits)
	if err == nil && ok {
		only, err = classad.ParseExpr(only.String() + " && (" + start.String() + ")")
	}
	if err != nil {
		return err
	}
	ad.Set("Start", only)
	return nil
}

// hear notes that the machine was heard of.
func (s *Server) hear() error {
	boot, up := cmdline.Uptime()
	return s.served.note(s.Spool.Dir(), s.Machine, heard.Sign{Boot: boot, Up: up, At: s.Call.Later().Now})
}

// advertise makes the machine's slots those that the pilot has. One that is in the pool as it is costs nothing; one that
// the machine has no more is withdrawn when it has no claim. A slot that is new starts a cycle.
func (s *Server) advertise(of pilot.Slots) error {
	var ads []*classad.Ad
	for _, text := range of.Ads {
		ad, err := classad.NewReader(strings.NewReader(text), "the pilot's slot").Next()
		if err == nil {
			err = s.isOfMachine(ad)
		}
		if err == nil {
			err = s.fit(ad)
		}
		if err != nil {
			return err
		}
		ads = append(ads, ad)
	}
	changed := false
	at := s.Call.Later()
	err := lifecycle.Account(s.Spool, at, func(tx *spool.Tx) error {
		changed = lifecycle.Advertise(tx, s.Machine, ads, at.Now)
		return nil
	})
	if err == nil && changed && s.Cycles != nil {
		err = s.Cycles.Note() // for the jobs that wait
	}
	return err
}

// isOfMachine refuses an ad that is of no slot of the pilot's machine.
func (s *Server) isOfMachine(ad *classad.Ad) error {
	c := &classad.Context{}
	name, _ := ad.EvalString(c, pool.AttrName)
	machine, _ := ad.EvalString(c, pool.AttrMachine)
	_, host, _ := strings.Cut(name, "@")
	if machine != s.Machine || host != s.Machine || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return fmt.Errorf("the pilot of %s has a slot %q of %q", s.Machine, name, machine)
	}
	return nil
}

// attend goes on with the link until it ends.
func (s *Server) attend() error {
	stirs, often := stir.Watch(s.Spool.Dir())
	look := time.NewTicker(often)
	defer look.Stop()
	spare := time.NewTicker(spareEvery)
	defer spare.Stop()
	s.work = make(chan func())
	failed := make(chan error, 2)
	beats := make(chan pilot.Beat)
	if at := s.listenShells(); at != nil {
		defer at.Close()
	}
	go s.accept(failed)
	go func() { failed <- s.listen(beats) }()
	defer func() { s.served.note(s.Spool.Dir(), s.Machine, s.served.last) }()
	if err := s.news(0, true); err != nil {
		return err
	}
	for {
		var err error
		select {
		case <-stirs:
			err = s.news(0, false)
		case <-look.C:
			if err = s.news(0, false); err == nil {
				err = s.served.keep(s.Spool.Dir(), s.Machine)
			}
		case <-spare.C:
			debug.FreeOSMemory()
		case do := <-s.work:
			do()
		case b := <-beats:
			if b.Bye {
				return s.over("it has ended")
			}
			if err = s.hear(); err == nil && b.Leave != "" {
				err = s.leave(b.Leave)
			}
			if err == nil {
				err = s.news(b.Number, false)
			}
		case err = <-failed:
		case <-s.Signal:
			if s.claims.Len() == 0 {
				return s.over("its link was ended")
			}
			return nil
		case <-s.link.Done():
			err = link.ErrBroken
		}
		if err != nil {
			return err
		}
	}
}

// spareEvery is how often memory used for reading is returned: a host may have many of these processes.
const spareEvery = 10 * time.Second

// leave makes the pilot Leaving.
func (s *Server) leave(why string) error {
	line(&why)
	at := s.Call.Later()
	return lifecycle.Account(s.Spool, at, func(tx *spool.Tx) error {
		lifecycle.Leave(tx, s.pilot.ID, why, at.Now, s.Call.Config.Params)
		return nil
	})
}

// over makes the pilot Gone.
func (s *Server) over(why string) error {
	at := s.Call.Later()
	return lifecycle.Account(s.Spool, at, func(tx *spool.Tx) error {
		lifecycle.Bye(tx, s.pilot.ID, why, at.Now, s.Call.Config.Params)
		return nil
	})
}

// listen reads the pilot's heartbeats and requests from the control stream.
func (s *Server) listen(beats chan<- pilot.Beat) error {
	for {
		tag, text, err := link.ReadPacket(s.control)
		if err != nil {
			return fmt.Errorf("%w: %w", link.ErrBroken, err)
		}
		if tag != 0 {
			s.request(tag, text)
			continue
		}
		var b pilot.Beat
		if err := json.Unmarshal(text, &b); err != nil {
			return fmt.Errorf("the pilot's heartbeat: %w", err)
		}
		select {
		case beats <- b:
		case <-s.link.Done():
			return link.ErrBroken
		}
	}
}

// send sends a packet with a value.
func (s *Server) send(tag uint32, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	s.sending.Lock()
	defer s.sending.Unlock()
	return link.WritePacket(s.control, tag, text)
}

// accept serves requests with files.
func (s *Server) accept(failed chan<- error) {
	for {
		stream, err := s.link.Accept()
		if err != nil {
			failed <- err
			return
		}
		go s.files(stream)
	}
}

// news sends the pilot the changed claims, and answers a heartbeat; 0: there is none. First: these are all claims.
func (s *Server) news(beat int, first bool) error {
	if _, err := s.claims.Look(); err != nil {
		return err
	}
	s.Cycles.See(s.complain)
	t := s.claims.Touched()
	s.served.busy(s.claims.Len() > 0)
	n := pilot.News{Beat: beat, First: first}
	for id := range t.Edited {
		if t.Claims[id] = true; !first { // the epoch has the edits before
			s.edits[id]++
		}
	}
	for id := range t.Claims {
		c, ok := s.claims.Claim(id)
		if !ok {
			delete(s.edits, id)
			n.Gone = append(n.Gone, id)
			continue
		}
		n.Now = append(n.Now, s.claim(c))
	}
	if len(n.Now)+len(n.Gone) == 0 && beat == 0 && !first {
		return nil
	}
	return s.send(0, n)
}

// complain writes to the pool's log.
func (s *Server) complain(err error) {
	log := trouble.Log{Path: filepath.Join(s.Spool.Dir(), "starter.log"), About: "pilot of " + s.Machine}
	log.Add(err)
}

// claim returns a claim as the pilot gets it.
func (s *Server) claim(c pool.Followed) pilot.Claim {
	k := pilot.Claim{
		Attempt: c.Attempt, State: c.State,
		Mine: c.Instance == s.pilot.Instance, Edits: s.epoch + s.edits[c.Job],
	}
	if c.State == pool.Vacating {
		k.Why = c.Why
		k.Fast = lifecycle.HasteOf(k.Why) == lifecycle.Fast
	}
	return k
}

// ours reports whether an attempt is one that the pilot may ask about, as the claims were at the last look or are now.
func (s *Server) ours(a pool.Attempt) bool {
	is := func() bool {
		c, ok := s.claims.Claim(a.Job)
		return ok && c.Attempt == a && (c.Instance == s.pilot.Instance || c.State == pool.Matched)
	}
	if is() {
		return true
	}
	_, err := s.claims.Look()
	return err == nil && is()
}
