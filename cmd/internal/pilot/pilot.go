package pilot

import (
	"context"
	"encoding/json"
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
	// Start starts supervisors of attempts and returns when they have answered; ended is called for each of
	// them that has ended, or could not be started.
	Start func(attempts []pool.Attempt, ended func(pool.Attempt))
	// Machine has the settings of this machine for a folder of scratch directories and a prefix of families, and Execute is EXECUTE.
	Machine  func(folder local.Folder, prefix string) local.Settings
	Execute  string
	Patience time.Duration // how long processes may take to go after SIGKILL
	// Stop ends it: at once, and its jobs go on. If it has none it says goodbye. One that has a term makes its jobs leave
	// first.
	Stop <-chan os.Signal
	// Idle and Time are those of a pilot that is a batch engine's job, and has a term then: it leaves when it has had no
	// job for so long, and when so much is over since its beginning. 0: it does not.
	Idle, Time time.Duration
	// Tell has the operator know of trouble, and Say of what goes on.
	Tell func(error)
	Say  func(format string, args ...any)

	mu     sync.Mutex
	link   *line // nil: there is none, or it has not told of all claims yet
	claims map[pool.JobID]Claim
	// followers are the supervisors that follow their claims.
	followers map[pool.Attempt]chan word
	starting  map[pool.Attempt]bool
	tried     map[pool.Attempt]time.Time // when a supervisor was started last
	ending    map[pool.Attempt]bool
	missing   map[pool.Attempt]time.Time // since when an attempt that runs has no supervisor, it seems
	// alive is when the machine was heard of last before its last boot, by the machine's clock; zero: it was not
	// booted since.
	alive time.Time

	term        Term
	began, busy time.Duration // when it began, and had a job or its first link last, by the time since the boot
	vacate      time.Duration // how long jobs may take to leave
	leaves      *leaving      // nil: it stays
	linked      bool          // it has had a link
	left        chan struct{} // told when leaves is set
	over        chan struct{}
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

// sweepEvery is how often a pilot looks at its attempts though nothing was said of them.
const sweepEvery = time.Minute

// Open makes the pilot ready to have links: it listens to supervisors. The caller has the lock of the state folder.
func (p *Pilot) Open() error {
	p.claims, p.followers, p.starting = map[pool.JobID]Claim{}, map[pool.Attempt]chan word{}, map[pool.Attempt]bool{}
	p.ending = map[pool.Attempt]bool{}
	p.tried, p.missing, p.alive = map[pool.Attempt]time.Time{}, map[pool.Attempt]time.Time{}, p.heardBeforeBoot()
	var err error
	if p.Hello.Instance, err = p.MakeInstance(); err != nil {
		return fmt.Errorf("state folder: %w", err)
	}
	l, err := p.listen()
	if err == nil {
		err = p.beginTerm()
	}
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
	switch first.For {
	case follows:
		p.told(conn, first.Attempt)
	case requests:
		p.requests(conn)
	case carries:
		p.files(conn)
	}
}

// line returns the link if there is one that supervisors may use.
func (p *Pilot) line() *line {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.link
}

// down is the answer to a request where there is no link.
var down, _ = json.Marshal(Answer{Down: true})

// requests has a supervisor's requests answered, which the pilot does not read.
func (p *Pilot) requests(conn net.Conn) {
	for {
		text, err := link.ReadText(conn)
		if err != nil {
			return
		}
		answer := down
		if l := p.line(); l != nil {
			if answer, err = l.ask(text); err != nil {
				return // it may have been carried out or not
			}
		}
		if link.WriteText(conn, answer) != nil {
			return
		}
	}
}

// files has a supervisor's files carried.
func (p *Pilot) files(conn net.Conn) {
	l := p.line()
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
	if link.WriteMessage(conn, carried{}) == nil {
		carry(conn, stream)
	}
}

// line is a link with its control stream.
type line struct {
	*link.Link
	control net.Conn
	mu      sync.Mutex
	last    uint32 // the tag of the last request
	asked   map[uint32]chan []byte
	// toldLeaving: the spool's host was told that the pilot leaves.
	toldLeaving bool
}

// send sends a packet.
func (l *line) send(tag uint32, text []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return link.WritePacket(l.control, tag, text)
}

// ask makes a request.
func (l *line) ask(text []byte) (answer []byte, err error) {
	answered := make(chan []byte, 1)
	l.mu.Lock()
	if l.last++; l.last == 0 {
		l.last++
	}
	tag := l.last
	l.asked[tag] = answered
	err = link.WritePacket(l.control, tag, text)
	l.mu.Unlock()
	if err != nil {
		return nil, err
	}
	select {
	case answer := <-answered:
		return answer, nil
	case <-l.Done():
		return nil, link.ErrBroken
	}
}

// answered takes the answer to a request.
func (l *line) answered(tag uint32, text []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if to, ok := l.asked[tag]; ok {
		delete(l.asked, tag)
		to <- text
	}
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
	c, ok := p.claims[a.Job]
	known := ok && c.Attempt == a
	if known || p.leaves != nil {
		words <- p.word(a)
	}
	if !known && p.link != nil {
		time.AfterFunc(again, func() { p.doubt(a) })
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
		p.check(a)
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

// doubt asks for an attempt whose supervisor follows a claim of which the pilot was not told, and which may be gone.
func (p *Pilot) doubt(a pool.Attempt) {
	p.mu.Lock()
	doubtful := p.followers[a] != nil && p.claims[a.Job].Attempt != a
	p.mu.Unlock()
	if !doubtful {
		return
	}
	if answer, err := p.ask(Request{Do: Terms, Attempt: a}); err == nil && answer.Gone {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.tell(a, word{Gone: true})
	}
}

// check has the pilot look at an attempt whose supervisor may have ended.
func (p *Pilot) check(a pool.Attempt) {
	if _, err := os.Lstat(p.ClaimFile(a)); err == nil {
		go p.endLost(a)
	} else {
		p.miss(a)
	}
}

// miss notes that an attempt has no supervisor, if it has a claim.
func (p *Pilot) miss(a pool.Attempt) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c, ok := p.claims[a.Job]; ok && c.Attempt == a && p.missing[a].IsZero() {
		p.missing[a] = time.Now()
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
type RefusedError struct {
	Why  string
	Over bool // it never will
}

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
	on := &line{Link: l, control: control, asked: map[uint32]chan []byte{}}
	news := make(chan News)
	failed := make(chan error, 1)
	go func() { failed <- on.listen(news) }()
	defer p.unlinked()
	return p.attend(on, beats, news, failed)
}

// listen reads what the spool's end says until the link ends.
func (l *line) listen(news chan<- News) error {
	for {
		tag, text, err := link.ReadPacket(l.control)
		if err != nil {
			return err
		}
		if tag != 0 {
			l.answered(tag, text)
			continue
		}
		var n News
		if err := json.Unmarshal(text, &n); err != nil {
			return err
		}
		select {
		case news <- n:
		case <-l.Done():
			return link.ErrBroken
		}
	}
}

// beating is a heartbeat that is on its way.
type beating struct {
	number int
	sent   time.Duration
}

// greet names the pilot and its machine's slots. It returns how often the pilot is to be heard of.
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
		return 0, &RefusedError{w.Refused, w.Over}
	}
	if err := p.bind(w.Pool, w.Machine); err != nil {
		return 0, err
	}
	if err := errors.Join(p.putHeard(sent), p.putSettings(w.Settings)); err != nil {
		return 0, err
	}
	p.mu.Lock()
	p.vacate = w.Vacate
	p.mu.Unlock()
	if w.Leaves != "" && p.HasTerm() {
		p.leave(w.Leaves, Uptime()+grace, grace)
	}
	ads, err := p.Slots(w)
	if err == nil {
		err = link.WriteMessage(control, Slots{ads})
	}
	p.Say("this machine is %s in the pool", w.Machine)
	return w.Beat, err
}

// attend goes on with a link until it ends.
func (p *Pilot) attend(l *line, every time.Duration, news <-chan News, failed <-chan error) error {
	beat, sweeps, looks := time.NewTicker(every), time.NewTicker(sweepEvery), time.NewTicker(time.Second)
	defer beat.Stop()
	defer sweeps.Stop()
	defer looks.Stop()
	stop := p.Stop
	if p.HasTerm() {
		stop = nil
	}
	var last beating
	err := p.tellLeaving(l)
	for err == nil {
		select {
		case n := <-news:
			if n.Beat != 0 && n.Beat == last.number {
				err = p.putHeard(last.sent)
			}
			p.take(l, n)
			if n.First {
				p.sweep()
			}
		case <-beat.C:
			last = beating{last.number + 1, Uptime()}
			err = l.beat(Beat{Number: last.number})
		case <-sweeps.C:
			p.sweep()
		case <-looks.C:
			p.lookForMissing()
		case <-p.left:
			err = p.tellLeaving(l)
		case <-stop:
			return p.stop(l)
		case <-p.over:
			return p.stop(l)
		case err = <-failed:
			if errors.Is(err, io.EOF) {
				return nil
			}
		case <-l.Done():
			return link.ErrBroken
		}
		if err == nil && p.isEmpty(l) {
			return p.stop(l)
		}
	}
	return err
}

func (l *line) beat(b Beat) error {
	text, err := json.Marshal(b)
	if err != nil {
		return err
	}
	return l.send(0, text)
}

// ErrStopped says that the pilot was told to end.
var ErrStopped = errors.New("it was told to end")

// stop ends the pilot.
func (p *Pilot) stop(l *line) error {
	// The spool's host may not have told yet that the last claim is gone, and gives up matches that nobody has taken up.
	if len(p.attempts()) == 0 && l.beat(Beat{Bye: true}) == nil {
		select {
		case <-l.Done():
		case <-time.After(Patience):
		}
	}
	return ErrStopped
}

// take takes note of what the spool's host says, and has supervisors started for attempts that have none.
func (p *Pilot) take(l *line, n News) {
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
		p.link = l
		if !p.linked {
			p.linked, p.busy = true, Uptime()
		}
	}
	for _, id := range n.Gone {
		if old, ok := p.claims[id]; ok {
			p.drop(old)
		}
	}
	var list []pool.Attempt
	for _, c := range n.Now {
		if old, ok := p.claims[c.Attempt.Job]; ok && old.Attempt != c.Attempt {
			p.drop(old)
		}
		p.claims[c.Attempt.Job] = c
		p.tell(c.Attempt, p.word(c.Attempt))
		if p.wants(c, n.First) {
			list = append(list, c.Attempt)
		}
	}
	p.start(list)
}

// wants reports whether a supervisor is to be started for a claim. At once: not only for one that is Matched. The caller has mu.
func (p *Pilot) wants(c Claim, atOnce bool) bool {
	a := c.Attempt
	runs := c.Mine && (c.State == pool.RunningClaim || c.State == pool.Vacating)
	matched := c.State == pool.Matched && p.leaves == nil
	if p.starting[a] || p.followers[a] != nil || !runs && !matched || time.Since(p.tried[a]) < again {
		return false
	}
	if _, err := os.Lstat(p.ClaimFile(a)); err == nil {
		delete(p.missing, a)
		return false
	}
	if runs && !atOnce { // a supervisor that goes on with it may be about to, or has done it already
		if p.missing[a].IsZero() {
			p.missing[a] = time.Now()
		}
		return false
	}
	return true
}

// start has supervisors started. The caller has mu.
func (p *Pilot) start(list []pool.Attempt) {
	if len(list) == 0 {
		return
	}
	for _, a := range list {
		p.starting[a], p.tried[a] = true, time.Now()
		delete(p.missing, a)
	}
	go func() {
		p.Start(list, p.check)
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, a := range list {
			delete(p.starting, a)
		}
	}()
}

// lookForMissing has supervisors started for attempts that have had none for a while.
func (p *Pilot) lookForMissing() {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []pool.Attempt
	for a, since := range p.missing {
		c, ok := p.claims[a.Job]
		switch {
		case !ok || c.Attempt != a:
			delete(p.missing, a)
		case time.Since(since) < time.Second:
		case p.wants(c, true):
			list = append(list, a)
		}
	}
	p.start(list)
}

// sweep looks at all attempts: those whose supervisors have died are ended, and for those that have none one is started.
func (p *Pilot) sweep() {
	files := p.attempts()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.link == nil {
		return
	}
	for _, a := range files {
		if p.followers[a] == nil && !p.starting[a] {
			go p.endLost(a)
		}
	}
	var list []pool.Attempt
	for _, c := range p.claims {
		if p.wants(c, false) {
			list = append(list, c.Attempt)
		}
	}
	p.start(list)
}

// drop forgets a claim that is gone. The caller has mu.
func (p *Pilot) drop(c Claim) {
	delete(p.claims, c.Attempt.Job)
	delete(p.tried, c.Attempt)
	delete(p.missing, c.Attempt)
	p.tell(c.Attempt, word{Gone: true})
}

// unlinked notes that there is no link.
func (p *Pilot) unlinked() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.link = nil
}

// endLost ends an attempt if its supervisor has died: what is left of its processes, and then its claim.
func (p *Pilot) endLost(a pool.Attempt) {
	p.mu.Lock()
	if p.ending[a] {
		p.mu.Unlock()
		return
	}
	p.ending[a] = true
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.ending, a)
		p.mu.Unlock()
	}()
	lock, err := claimlock.TakeCharge(p.ClaimFile(a))
	if errors.Is(err, claimlock.ErrBusy) {
		return // it lives
	}
	if err == nil && !p.isMarked(lock.File) {
		lock.Remove() // nothing was begun: its supervisor is about to, or another one is
		p.miss(a)
		return
	}
	if err == nil {
		err = p.end(a, lock)
	}
	if err != nil {
		p.Tell(fmt.Errorf("job %v, attempt %d: %w", a.Job, a.Number, err))
		return
	}
	p.miss(a) // one that was not begun still is to be
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
	answer, err := p.ask(r)
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
	return nil
}

// ask makes a request of the pilot itself.
func (p *Pilot) ask(r Request) (a Answer, err error) {
	l := p.line()
	if l == nil {
		return a, errDown
	}
	text, err := json.Marshal(r)
	if err == nil {
		text, err = l.ask(text)
	}
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	return a, err
}

// WaitAfter returns how long a pilot waits before it opens the pipe again after so many tries: longer each time, and never all
// pilots for the same time.
func WaitAfter(tries int) time.Duration {
	const most = 2 * time.Minute
	wait := min(time.Second<<min(tries, 10), most)
	return wait/2 + rand.N(wait/2+1)
}
