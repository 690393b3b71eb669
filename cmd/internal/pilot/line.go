package pilot

import (
	"encoding/json"
	"net"
	"sync"
	"time"

	"fairspool/lib/link"
)

// line returns the link if there is one that supervisors may use.
func (p *Pilot) line() *line {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.link
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

// listen reads the packets of the spool's end until the link ends.
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

func (l *line) beat(b Beat) error {
	text, err := json.Marshal(b)
	if err != nil {
		return err
	}
	return l.send(0, text)
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
