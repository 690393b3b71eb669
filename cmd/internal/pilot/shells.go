package pilot

import (
	"net"
	"os"
	"time"

	"fairspool/lib/link"
	"fairspool/lib/pool"
	"fairspool/lib/shell"
)

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
