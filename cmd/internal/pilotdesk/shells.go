package pilotdesk

import (
	"net"
	"os"
	"os/user"
	"strconv"
	"strings"
	"time"

	"fairspool/cmd/internal/desk"
	"fairspool/cmd/internal/pilot"
	"fairspool/lib/classad"
	"fairspool/lib/link"
	"fairspool/lib/pool"
	"fairspool/lib/shell"
	"fairspool/spool"
)

// listenShells takes requests for shells beside jobs on the machine, and has the pilot carry them on. It returns nil if
// it cannot listen.
func (s *Server) listenShells() net.Listener {
	at, err := net.Listen("unix", shell.Address(desk.Prefix(s.Spool)+strings.ToLower(s.Machine)))
	if err != nil {
		s.Call.Warn("no shells on %s: %v", s.Machine, err)
		return nil
	}
	go func() {
		for {
			conn, err := at.Accept()
			if err != nil {
				return
			}
			go s.shell(conn)
		}
	}()
	return at
}

// shell serves one request. A user who may not have a shell there gets no answer.
func (s *Server) shell(conn net.Conn) {
	defer conn.Close()
	conn.SetReadDeadline(time.Now().Add(pilot.Patience))
	var a pool.Attempt
	uid, err := shell.Peer(conn)
	if err != nil || link.ReadMessage(conn, &a) != nil {
		return
	}
	conn.SetReadDeadline(time.Time{})
	may := make(chan bool, 1)
	select {
	case s.work <- func() { may <- s.mayShell(a, uid) }:
	case <-s.link.Done():
		return
	}
	if !<-may {
		return
	}
	stream, err := s.link.Open()
	if err != nil {
		return
	}
	defer stream.Close()
	if shell.Through(stream, a) == nil {
		link.Carry(conn, stream)
	}
}

// mayShell reports whether an attempt runs on the machine and a user may have a shell beside it: its job's owner, root,
// and the account that this process serves.
func (s *Server) mayShell(a pool.Attempt, uid int) (yes bool) {
	s.Spool.View(func(v *spool.View) error {
		claim, ok := v.Claim(a.Job)
		ad, there := v.Job(a.Job)
		if !ok || !there || claim.Attempt != a.Number || !strings.EqualFold(claim.Machine, s.Machine) || claim.State != pool.RunningClaim {
			return nil
		}
		if yes = uid == 0 || uid == os.Geteuid(); yes {
			return nil
		}
		owner, _ := ad.EvalString(&classad.Context{}, pool.AttrOwner)
		who, err := user.LookupId(strconv.Itoa(uid))
		yes = err == nil && owner != "" && who.Username == owner
		return nil
	})
	return yes
}
