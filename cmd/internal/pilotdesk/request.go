package pilotdesk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"fairspool/cmd/internal/desk"
	"fairspool/cmd/internal/pilot"
	"fairspool/lib/clean"
	"fairspool/lib/link"
	"fairspool/lib/pool"
	"fairspool/lib/supervise"
)

// request carries out a supervisor's request, in the order of arrival. Only parts that may take long run concurrently.
func (s *Server) request(tag uint32, text []byte) {
	var r pilot.Request
	if err := json.Unmarshal(text, &r); err != nil {
		s.send(tag, pilot.Answer{Failed: desk.FailureOf(err)})
		return
	}
	believable(&r)
	if r.Do != pilot.Await {
		if a, ok := s.here(func() (pilot.Answer, error) { return s.answer(r) }); ok {
			s.send(tag, a)
		}
		return
	}
	a, ok := s.here(func() (pilot.Answer, error) { return pilot.Answer{}, s.known(r.Attempt) })
	if !ok {
		return
	}
	go func() {
		if !a.Gone {
			s.desk.Await(r.Attempt)
		}
		s.send(tag, a)
	}()
}

// here has the goroutine that has the spool do something; false: the link has ended before.
func (s *Server) here(do func() (pilot.Answer, error)) (a pilot.Answer, ok bool) {
	done := make(chan struct{})
	work := func() {
		defer close(done)
		var err error
		a, err = do()
		var full supervise.NoRoom
		switch {
		case errors.Is(err, pool.ErrGone):
			a = pilot.Answer{Gone: true}
		case err != nil:
			a = pilot.Answer{Failed: desk.FailureOf(err), NoRoom: errors.As(err, &full)}
		}
	}
	select {
	case s.work <- work:
		<-done
		return a, true
	case <-s.link.Done():
		return a, false
	}
}

// known is pool.ErrGone for an attempt that is not the pilot's.
func (s *Server) known(a pool.Attempt) error {
	if !s.ours(a) {
		return pool.ErrGone
	}
	return nil
}

// answer carries out a request, except for files.
func (s *Server) answer(r pilot.Request) (a pilot.Answer, err error) {
	if r.Do == pilot.Tell {
		return a, s.tell(r)
	}
	if err := s.known(r.Attempt); err != nil {
		return a, err
	}
	switch r.Do {
	case pilot.Begin:
		b, err := s.desk.Begin(r.Attempt, desk.There{PID: r.PID, Folder: r.Scratch})
		return pilot.Answer{Begun: &b}, err
	case pilot.Executing:
		return a, s.desk.Executing(r.Attempt, r.Executed, r.Fetched, r.Again)
	case pilot.Terms:
		t, err := s.desk.Terms(r.Attempt, r.Why)
		leave := &pilot.Leave{Leaving: t.Leaving, Retirement: t.Retirement, Fast: t.Fast}
		if t.Ad != nil {
			leave.Ad = string(t.Ad.AppendLong(nil))
		}
		return pilot.Answer{Leave: leave}, err
	case pilot.Judge:
		if r.Used == nil || r.Reported == nil {
			return a, errIncomplete
		}
		a.Rules, err = s.desk.Judge(r.Attempt, r.Found, *r.Used, *r.Reported)
		return a, err
	case pilot.Report:
		if r.Telling == nil {
			return a, errIncomplete
		}
		return a, s.desk.Report(r.Attempt, *r.Telling)
	case pilot.Finish:
		if r.How == nil {
			return a, errIncomplete
		}
		a.Begun, err = s.desk.Finish(r.Attempt, desk.There{PID: r.PID, Folder: r.Scratch}, *r.How, r.Ago, r.Executed, r.Last)
		if err == nil && r.How.Lost == "" && !r.How.NeverRan() {
			s.served.Jobs++
		}
		return a, err
	}
	return a, fmt.Errorf("%.40q: no such request", string(r.Do))
}

var errIncomplete = errors.New("the request is incomplete")

// mostTold bounds a supervisor's message to the pool's log.
const mostTold = 2000

// tell writes a supervisor's complaint to the pool's log.
func (s *Server) tell(r pilot.Request) error {
	text := r.Text[:min(len(r.Text), mostTold)]
	s.Desks.LogOf(r.Attempt).Add(fmt.Errorf("on %s: %s", s.Machine, clean.Line(text)))
	return nil
}

// files copies the files of an attempt's job, concurrently with all else.
func (s *Server) files(stream net.Conn) {
	defer stream.Close()
	var r pilot.Request
	if link.ReadMessage(stream, &r) != nil {
		return
	}
	if r.Do != pilot.Inputs && r.Do != pilot.Outputs {
		link.WriteMessage(stream, pilot.Answer{Failed: desk.FailureOf(errIncomplete)})
		return
	}
	var f desk.Files
	a, ok := s.here(func() (a pilot.Answer, err error) {
		if err = s.known(r.Attempt); err == nil {
			f, err = s.desk.Files(r.Attempt)
		}
		return a, err
	})
	if !ok {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer context.AfterFunc(ctx, func() { stream.Close() })()
	go func() { // the end of the link ends the copying
		select {
		case <-s.link.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	if r.Do == pilot.Inputs {
		s.sendFiles(ctx, stream, f, a)
		return
	}
	if a.Gone || a.Failed != nil {
		link.WriteMessage(stream, a)
		return
	}
	sent := &body{Reader: link.ReadBody(stream)}
	err := f.TakeBack(ctx, sent, r.Files)
	var why *link.BodyError
	switch {
	case errors.As(sent.err, &why): // which the other end knows
		err = nil
	case sent.err != nil:
		return // the files are sent again
	}
	link.WriteMessage(stream, pilot.Answer{Failed: desk.FailureOf(err)})
}

// body keeps why a body could not be read to its end.
type body struct {
	io.Reader
	err error
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil && err != io.EOF {
		b.err = err
	}
	return n, err
}

// sendFiles sends the input files, unless the answer is that there are none.
func (s *Server) sendFiles(ctx context.Context, stream net.Conn, f desk.Files, a pilot.Answer) {
	if link.WriteMessage(stream, a) != nil || a.Gone || a.Failed != nil {
		return
	}
	to := link.NewBody(stream)
	err := f.Send(ctx, to)
	if err == nil {
		to.Close()
		return
	}
	text, _ := json.Marshal(desk.FailureOf(err))
	to.Fail(string(text))
}

// longestText bounds each text that a pilot has put into the queue.
const longestText = 5000

// believable reduces a request to what can be trusted: texts of one line and bounded length, and amounts from 0 up.
// Otherwise a pilot's machine is trusted about its own jobs.
func believable(r *pilot.Request) {
	line(&r.Why.Text)
	line(&r.Found.Reason)
	line(&r.Scratch)
	r.Ago = max(r.Ago, 0)
	progress(r.Reported)
	if r.Used != nil {
		progress(&r.Used.Progress)
	}
	if r.Telling != nil {
		progress(&r.Telling.Now)
		progress(&r.Telling.Before)
		r.Telling.Sent = max(r.Telling.Sent, 0)
	}
	if how := r.How; how != nil {
		for _, text := range []*string{&how.Lost, &how.StartFailed, &how.OutputFailed, &how.Core} {
			line(text)
		}
		for _, d := range []*time.Duration{&how.Wall, &how.UserCPU, &how.SysCPU} {
			*d = min(max(*d, 0), longest)
		}
		for _, n := range []*int64{&how.MaxRSSKB, &how.DiskKB, &how.IOBytes, &how.Sent, &how.Received} {
			*n = min(max(*n, 0), most)
		}
		progress(&how.Reported)
		how.Executed, how.Recorded = time.Time{}, time.Time{}
	}
}

const (
	longest = 100 * 365 * 24 * time.Hour
	most    = 1 << 60
)

// progress bounds the amounts of an attempt's usage.
func progress(p *pool.Progress) {
	if p == nil {
		return
	}
	for _, d := range []*time.Duration{&p.Wall, &p.UserCPU, &p.SysCPU} {
		*d = min(max(*d, 0), longest)
	}
	for _, n := range []*int64{&p.RSSKB, &p.PeakKB, &p.DiskKB, &p.IOBytes} {
		*n = min(max(*n, 0), most)
	}
}

// line makes a text one line of some length.
func line(text *string) {
	if len(*text) > longestText {
		*text = (*text)[:longestText]
	}
	*text = strings.Map(func(c rune) rune {
		if c < ' ' && c != '\t' || c == 0x7f {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(*text, "?"))
}
