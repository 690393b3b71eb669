package pilot

import (
	"encoding/json"
	"io"
	"net"
	"os"
	"time"

	"fairspool/lib/link"
	"fairspool/lib/pool"
)

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
		link.Carry(conn, stream)
	}
}

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

// doubt asks about an attempt if its supervisor follows a claim that the pilot does not know and that may be gone.
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

// tell sends the present state to the supervisor of an attempt, if the supervisor follows its claim. The
// caller has mu.
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
