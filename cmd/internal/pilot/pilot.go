package pilot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"time"

	"fairspool/cmd/internal/claimlock"
	"fairspool/cmd/internal/desk"
	"fairspool/lib/family"
	"fairspool/lib/launch/local"
	"fairspool/lib/link"
	"fairspool/lib/pool"
)

// Pilot is a machine's end of the link to the spool's host.
type Pilot struct {
	State
	Hello
	Version string
	// Slots returns the ads of the machine's slots, in the long form, under its name and file system domain in
	// the pool, for an owner's jobs only unless that is empty.
	Slots func(Welcome) ([]string, error)
	// Start starts supervisors of attempts and returns when they have answered; ended is called when one of
	// them has ended.
	Start func(attempts []pool.Attempt, ended func())
	// Machine has the settings of this machine for a folder of scratch directories and a prefix of families, and Execute is EXECUTE.
	Machine  func(folder local.Folder, prefix string) local.Settings
	Execute  string
	Patience time.Duration // how long processes may take to go after SIGKILL
	// Stop ends it: at once, and its jobs go on. If it has none it says goodbye.
	Stop <-chan os.Signal
	// Tell has the operator know of trouble, and Say of what goes on.
	Tell func(error)
	Say  func(format string, args ...any)

	mu     sync.Mutex
	link   *link.Link // nil: there is none, or it has not told of all claims yet
	claims map[pool.JobID]Claim
	known  bool // claims are those of the spool's host, as of the last link
	// followers are the supervisors that follow their claims.
	followers map[pool.Attempt]chan word
	starting  map[pool.Attempt]bool
	tried     map[pool.Attempt]time.Time // when a supervisor was started last
	// alive is when the machine was heard of last before its last boot, by the machine's clock; zero: it was not
	// booted since.
	alive time.Time
	look  chan struct{} // asks for a look at what there is to do
}

// Times of a link.
const (
	// Patience is how long the other end may take to answer.
	Patience = 30 * time.Second
	// Every is how often each end asks whether the other is there.
	Every = 15 * time.Second
)

// again is how long a pilot waits before it starts a supervisor of the same attempt again.
const again = 5 * time.Second

// lookEvery is how often a pilot looks at its attempts though nothing was said of them.
const lookEvery = time.Minute

// Open makes the pilot ready to have links: it listens to supervisors. The caller has the lock of the state folder.
func (p *Pilot) Open() error {
	p.claims, p.followers, p.starting = map[pool.JobID]Claim{}, map[pool.Attempt]chan word{}, map[pool.Attempt]bool{}
	p.tried, p.alive = map[pool.Attempt]time.Time{}, p.heardBeforeBoot()
	p.look = make(chan struct{}, 1)
	var err error
	if p.Hello.Instance, err = p.MakeInstance(); err != nil {
		return fmt.Errorf("state folder: %w", err)
	}
	l, err := p.listen()
	if err != nil {
		return fmt.Errorf("state folder: %w", err)
	}
	go p.accept(l)
	return nil
}

// accept serves the supervisors that connect.
func (p *Pilot) accept(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			p.Tell(err)
			time.Sleep(firstWait)
			continue
		}
		go p.serve(conn)
	}
}

// serve serves one connection of a supervisor.
func (p *Pilot) serve(conn net.Conn) {
	defer conn.Close()
	var first opening
	if !isOurs(conn) || link.ReadMessage(conn, &first) != nil {
		return
	}
	if first.Follows {
		p.told(conn, first.Attempt)
		return
	}
	p.mu.Lock()
	l := p.link
	p.mu.Unlock()
	if l == nil {
		link.WriteMessage(conn, carried{Down: true})
		return
	}
	stream, err := l.Open()
	if err != nil {
		link.WriteMessage(conn, carried{Down: true})
		return
	}
	defer stream.Close()
	if link.WriteMessage(conn, carried{}) != nil {
		return
	}
	carry(conn, stream)
}

// carry carries bytes both ways until the request is answered, or either end is gone.
func carry(conn, stream net.Conn) {
	const buffer = 256 << 10
	go func() {
		io.CopyBuffer(onlyWriter{stream}, onlyReader{conn}, make([]byte, buffer))
		stream.Close()
	}()
	io.CopyBuffer(onlyWriter{conn}, onlyReader{stream}, make([]byte, buffer))
	conn.Close()
}

type (
	onlyWriter struct{ io.Writer } // hides methods that choose a buffer of their own
	onlyReader struct{ io.Reader }
)

// told tells a supervisor what becomes of its claim until it ends.
func (p *Pilot) told(conn net.Conn, a pool.Attempt) {
	words := make(chan word, 1)
	p.mu.Lock()
	p.followers[a] = words
	if c, ok := p.claims[a.Job]; ok && c.Attempt == a {
		words <- word{Claim: c}
	}
	p.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		io.Copy(io.Discard, conn)
		close(ended)
	}()
	defer func() {
		p.mu.Lock()
		if p.followers[a] == words {
			delete(p.followers, a)
		}
		p.mu.Unlock()
		p.stir()
	}()
	for {
		select {
		case w := <-words:
			if link.WriteMessage(conn, w) != nil {
				return
			}
		case <-ended:
			return
		}
	}
}

// stir has the pilot look at what there is to do.
func (p *Pilot) stir() {
	select {
	case p.look <- struct{}{}:
	default:
	}
}

// tell tells the supervisor of an attempt, if it follows its claim, what is true now. The caller has mu.
func (p *Pilot) tell(a pool.Attempt, w word) {
	words, ok := p.followers[a]
	if !ok {
		return
	}
	select {
	case <-words: // an older one that was not read yet
	default:
	}
	words <- w
}

// RefusedError says that the spool's host does not take the pilot.
type RefusedError struct{ Why string }

func (e *RefusedError) Error() string { return e.Why }

// Serve has a link over a pipe, until that ends, or ctx does. The pipe is closed then. It returns nil when the
// spool's host has ended it.
func (p *Pilot) Serve(ctx context.Context, pipe io.ReadWriteCloser) error {
	l, err := link.New(pipe, link.Settings{Version: p.Version, First: true, Patience: Patience, Every: Every})
	if err != nil {
		return err
	}
	defer l.Close()
	defer context.AfterFunc(ctx, func() { l.Close() })()
	control, err := l.Open()
	if err != nil {
		return err
	}
	beats, err := p.greet(control)
	if err != nil {
		return err
	}
	news := make(chan News)
	failed := make(chan error, 1)
	go func() {
		for {
			var n News
			if err := link.ReadMessage(control, &n); err != nil {
				failed <- err
				return
			}
			select {
			case news <- n:
			case <-l.Done():
				return
			}
		}
	}()
	defer p.unlinked()
	return p.attend(l, control, beats, news, failed)
}

// beating is a heartbeat that is on its way.
type beating struct {
	number int
	sent   time.Duration
}

// greet says who the pilot is and which slots there are. It returns how often the pilot is to be heard of.
func (p *Pilot) greet(control net.Conn) (every time.Duration, err error) {
	sent := Uptime()
	if err := link.WriteMessage(control, p.Hello); err != nil {
		return 0, err
	}
	var w Welcome
	if err := link.ReadMessage(control, &w); err != nil {
		return 0, fmt.Errorf("the spool's host has ended the link: %w", err)
	}
	if w.Refused != "" {
		return 0, &RefusedError{w.Refused}
	}
	if err := p.bind(w.Pool); err != nil {
		return 0, err
	}
	if err := errors.Join(p.putHeard(sent), p.putSettings(w.Settings)); err != nil {
		return 0, err
	}
	ads, err := p.Slots(w)
	if err == nil {
		err = link.WriteMessage(control, Slots{ads})
	}
	p.Say("this machine is %s in the pool", w.Machine)
	return w.Beat, err
}

// attend goes on with a link until it ends.
func (p *Pilot) attend(l *link.Link, control net.Conn, every time.Duration, news <-chan News, failed <-chan error) error {
	beat, looks := time.NewTicker(every), time.NewTicker(lookEvery)
	defer beat.Stop()
	defer looks.Stop()
	var last beating
	for {
		var err error
		select {
		case n := <-news:
			if n.Beat != 0 && n.Beat == last.number {
				err = p.putHeard(last.sent)
			}
			p.take(l, n)
			p.see()
		case <-beat.C:
			last = beating{last.number + 1, Uptime()}
			err = link.WriteMessage(control, Beat{Number: last.number})
		case <-looks.C:
			p.see()
		case <-p.look:
			p.see()
		case <-p.Stop:
			return p.stop(l, control)
		case err = <-failed:
			if errors.Is(err, io.EOF) {
				return nil
			}
		case <-l.Done():
			return link.ErrBroken
		}
		if err != nil {
			return err
		}
	}
}

// ErrStopped says that the pilot was told to end.
var ErrStopped = errors.New("it was told to end")

// stop ends the pilot.
func (p *Pilot) stop(l *link.Link, control net.Conn) error {
	p.mu.Lock()
	empty := len(p.claims) == 0 && len(p.attempts()) == 0
	p.mu.Unlock()
	if empty && link.WriteMessage(control, Beat{Bye: true}) == nil {
		select {
		case <-l.Done():
		case <-time.After(Patience):
		}
	}
	return ErrStopped
}

// take takes note of what the spool's host says.
func (p *Pilot) take(l *link.Link, n News) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n.First {
		now := map[pool.Attempt]bool{}
		for _, c := range n.Now {
			now[c.Attempt] = true
		}
		for a := range p.followers {
			if !now[a] {
				p.tell(a, word{Gone: true})
			}
		}
		clear(p.claims)
		p.link, p.known = l, true
	}
	for _, c := range n.Now {
		if old, ok := p.claims[c.Attempt.Job]; ok && old.Attempt != c.Attempt {
			p.drop(old)
		}
		p.claims[c.Attempt.Job] = c
		p.tell(c.Attempt, word{Claim: c})
	}
	for _, id := range n.Gone {
		if old, ok := p.claims[id]; ok {
			p.drop(old)
		}
	}
}

// drop forgets a claim that is gone. The caller has mu.
func (p *Pilot) drop(c Claim) {
	delete(p.claims, c.Attempt.Job)
	delete(p.tried, c.Attempt)
	p.tell(c.Attempt, word{Gone: true})
}

// unlinked notes that there is no link.
func (p *Pilot) unlinked() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.link = nil
}

// see has supervisors started for attempts that have none, and ends attempts whose supervisors have died.
func (p *Pilot) see() {
	files := map[pool.Attempt]bool{}
	for _, a := range p.attempts() {
		files[a] = true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.link == nil {
		return
	}
	var list []pool.Attempt
	for _, c := range p.claims {
		a := c.Attempt
		if p.starting[a] || p.followers[a] != nil || files[a] || time.Since(p.tried[a]) < again {
			continue
		}
		if c.State == pool.Matched || c.Mine && (c.State == pool.RunningClaim || c.State == pool.Vacating) {
			p.starting[a], p.tried[a] = true, time.Now()
			list = append(list, a)
		}
	}
	for a := range files {
		if p.followers[a] == nil && !p.starting[a] {
			p.starting[a] = true
			go p.endLost(a)
		}
	}
	if len(list) > 0 {
		go func() {
			p.Start(list, p.stir)
			p.mu.Lock()
			defer p.mu.Unlock()
			for _, a := range list {
				delete(p.starting, a)
			}
		}()
	}
}

// endLost ends an attempt if its supervisor has died: what is left of its processes, and then its claim.
func (p *Pilot) endLost(a pool.Attempt) {
	defer func() {
		p.mu.Lock()
		delete(p.starting, a)
		p.mu.Unlock()
	}()
	lock, err := claimlock.TakeCharge(p.ClaimFile(a))
	if errors.Is(err, claimlock.ErrBusy) {
		return // it lives
	}
	if err == nil && !p.isMarked(lock.File) {
		lock.Remove() // nothing was begun: its supervisor is about to, or another one is
		p.stir()
		return
	}
	if err == nil {
		err = p.end(a, lock)
	}
	if err != nil {
		p.Tell(fmt.Errorf("job %v, attempt %d: %w", a.Job, a.Number, err))
	}
}

func (p *Pilot) end(a pool.Attempt, lock *claimlock.Lock) error {
	on := p.Machine(p.State.Folder(p.Execute), p.Prefix())
	for _, of := range []family.Options{on.FamilyOf(a, nil)} {
		if err := desk.KillLeft(lock, of, p.Patience); err != nil {
			lock.Close()
			return err
		}
	}
	if err := on.Folder.Remove(a.String()); err != nil {
		p.Tell(err)
	}
	r, ok := p.State.end(a)
	if !ok {
		r = Request{Do: Finish, Attempt: a, How: &pool.Ending{Lost: desk.SupervisorDied, Died: true}}
		if !p.alive.IsZero() && beforeBoot(lock.Signed()) {
			r.Ago = time.Since(p.alive)
		}
	}
	r.Last = true
	answer, err := p.ask(context.Background(), r, nil, nil)
	if err == nil && !answer.Gone {
		err = answer.Failed.Err()
	}
	if errors.Is(err, errDown) {
		lock.Close() // the next link
		return nil
	}
	if err != nil {
		lock.Close()
		return err
	}
	p.forgetEnd(a)
	lock.Remove()
	p.stir()
	return nil
}

// Wait waits a little until the pipe is opened again: longer each time, and never all pilots at once.
func Wait(ctx context.Context, tries int) {
	const most = 2 * time.Minute
	wait := min(time.Second<<min(tries, 10), most)
	select {
	case <-ctx.Done():
	case <-time.After(wait/2 + rand.N(wait/2+1)):
	}
}
