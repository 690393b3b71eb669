package negotiate

import (
	"strconv"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/operation"
	"fairspool/spool"
)

// mailTime bounds how long a cycle may be busy with mail. What is left waits for the
// next one.
const mailTime = time.Minute

// mailMark is the mark of what was complained of when mail could not be sent the last
// time.
const mailMark = "mail trouble"

// mail sends the messages that are due, one after the other, and notes of each
// that it was sent. The cycle is done, whatever comes of it. Only one process may
// do this at a time, and none with a lock of the spool.
func mail(c *cmdline.Call, s *spool.Spool) {
	var list []operation.Owed
	said := ""
	err := s.View(func(v *spool.View) error {
		list, said = operation.MailOwed(v, c.Now), v.Mark(mailMark)
		return nil
	})
	if len(list) > 0 {
		c.Flush() // this may take a while; at the end the error is still there
	}
	p := poster{Call: c, spool: s}
	if c.Has("q") && said != "" { // cron need not tell of it every minute
		p.said = said + again
	}
	for end := time.Now().Add(mailTime); err == nil && len(list) > 0 && time.Now().Before(end); list = list[1:] {
		err = p.post(list[0])
	}
	if err != nil {
		c.Warn("the cycle is done, but mail is left for the next: %v", err)
	}
}

// poster sends messages for a command.
type poster struct {
	*cmdline.Call
	spool *spool.Spool
	said  string // what was complained of last
}

// What becomes of a message that could not be sent.
const (
	again   = "; it is tried again"
	dropped = "; it is given up"
)

// post sends a message, and notes that, or that it could not be sent. The error
// says that the latter could not be noted.
func (p *poster) post(m operation.Owed) error {
	to, err := addresses(m.To, m.Owner, p.Config.EmailDomain)
	if err == nil {
		var program mailProgram
		if program, err = mailProgramOf(p.Config.NotifyCommand, usualPlaces); err == nil {
			err = program.send(to, write(m), p.Config.NotifyTimeout)
		}
	}
	last := false
	noted := p.spool.Update(func(tx *spool.Tx) error {
		tx.Op("mail", strconv.Itoa(m.Cluster), string(m.About))
		complaint := ""
		if err == nil {
			operation.Told(tx, m)
		} else {
			last = operation.NotTold(tx, m, p.Now)
			complaint = err.Error()
		}
		if tx.Mark(mailMark) != complaint {
			tx.PutMark(mailMark, complaint)
		}
		return nil
	})
	if err == nil {
		p.said = ""
	} else {
		p.complain(m, err, last)
	}
	return noted
}

// complain says why a message could not be sent, unless that was said just before.
func (p *poster) complain(m operation.Owed, err error, last bool) {
	why := err.Error() + again
	if last {
		why = err.Error() + dropped
	}
	if why != p.said {
		p.Warn("no mail about cluster %d: %s", m.Cluster, why)
	}
	p.said = why
}
