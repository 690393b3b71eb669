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

	"fairspool/lib/launch/local"
	"fairspool/lib/link"
	"fairspool/lib/pool"
	"fairspool/lib/shell"
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
	// Idle and Time are the term of a pilot that is a batch engine's job: it leaves after so long without a job, and so
	// long after its beginning. 0: no limit.
	Idle, Time time.Duration
	Grace      time.Duration // the Term's
	// Tell reports trouble to the operator, and Say the course of things.
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
	go p.shells(on)
	defer p.unlinked()
	return p.attend(on, beats, news, failed)
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
		p.leave(w.Leaves, Uptime()+DefaultGrace, DefaultGrace)
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

// ErrStopped says that the pilot was told to end.
var ErrStopped = errors.New("it was told to end")

// stop ends the pilot.
func (p *Pilot) stop(l *line) error {
	// The spool's host may not know yet that the last claim is gone, and gives up matches that the pilot has not taken
	// up.
	if len(p.attempts()) == 0 && l.beat(Beat{Bye: true}) == nil {
		select {
		case <-l.Done():
		case <-time.After(Patience):
		}
	}
	return ErrStopped
}

// unlinked notes that there is no link.
func (p *Pilot) unlinked() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.link = nil
}

// WaitAfter returns how long a pilot waits before it opens the pipe again after so many tries: longer each time, and never all
// pilots for the same time.
func WaitAfter(tries int) time.Duration {
	const most = 2 * time.Minute
	wait := min(time.Second<<min(tries, 10), most)
	return wait/2 + rand.N(wait/2+1)
}

// shells accepts the streams that the spool's end opens, until the link ends. Each is for a shell beside an attempt;
// the attempt's supervisor serves the shell (package lib/launch/local).
func (p *Pilot) shells(l *line) {
	for {
		stream, err := l.Accept()
		if err != nil {
			return
		}
		go p.shell(stream)
	}
}

func (p *Pilot) shell(stream net.Conn) {
	defer stream.Close()
	stream.SetReadDeadline(time.Now().Add(Patience))
	var a pool.Attempt
	if link.ReadMessage(stream, &a) != nil {
		return
	}
	stream.SetReadDeadline(time.Time{})
	conn, err := net.Dial("unix", shell.Address(p.Prefix()+a.String()))
	if err != nil {
		return // it has ended
	}
	defer conn.Close()
	if uid, err := shell.Peer(conn); err == nil && (uid == 0 || uid == os.Geteuid()) {
		link.Carry(conn, stream)
	}
}
