package negotiate

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/clean"
	"fairspool/lib/lifecycle"
	"fairspool/lib/report/cycle"
	"fairspool/spool"
)

// mailTime bounds how long a cycle may be busy with mail. The next cycle sends the rest.
const mailTime = time.Minute

// mailMark is the mark with the complaint about mail that could not be sent last time.
const mailMark = "mail trouble"

// mail sends the messages that are due, one after the other, and notes of each
// that it was sent. The cycle is done, whatever comes of it. Only one process may
// do this at a time, and none with a lock of the spool.
func mail(c *cmdline.Call, s *spool.Spool, quiet bool) {
	var list []lifecycle.Owed
	said := ""
	err := s.View(func(v *spool.View) error {
		list, said = lifecycle.MailOwed(v, c.Now), v.Mark(mailMark)
		return nil
	})
	if len(list) > 0 {
		c.Flush() // this may take a while; at the end the error is still there
	}
	p := poster{Call: c, spool: s}
	if quiet && said != "" { // cron need not tell of it every minute
		p.said = said + again
	}
	for end := time.Now().Add(mailTime); err == nil && len(list) > 0 && time.Now().Before(end); list = list[1:] {
		err = p.post(list[0])
	}
	if err != nil {
		c.Warn("the cycle is done, but its mail is left to the next cycle: %v", err)
	}
}

// poster sends messages for a command.
type poster struct {
	*cmdline.Call
	spool *spool.Spool
	said  string // the last complaint
}

// What becomes of a message that could not be sent.
const (
	again   = "; it is tried again"
	dropped = "; it is given up"
)

// post sends a message, and notes that, or that it could not be sent. The error
// says that the latter could not be noted.
func (p *poster) post(m lifecycle.Owed) error {
	to, err := addresses(m.To, m.Owner, p.Config.EmailDomain)
	if err == nil {
		var program mailProgram
		if program, err = mailProgramOf(p.Config.NotifyCommand, usualPlaces); err == nil {
			err = program.send(to, cycle.Mail(m), p.Config.NotifyTimeout)
		}
	}
	last := false
	noted := p.spool.Update(func(tx *spool.Tx) error {
		tx.Op("mail", strconv.Itoa(m.Cluster), string(m.About))
		complaint := ""
		if err == nil {
			lifecycle.Told(tx, m)
		} else {
			last = lifecycle.NotTold(tx, m, p.Now)
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
func (p *poster) complain(m lifecycle.Owed, err error, last bool) {
	why := err.Error() + again
	if last {
		why = err.Error() + dropped
	}
	if why != p.said {
		p.Warn("no mail about cluster %d: %s", m.Cluster, why)
	}
	p.said = why
}

// mailProgram is a program that sends messages.
type mailProgram struct {
	words     []string // the program and its first arguments
	bySubject bool     // it takes the subject as an argument and the text alone
	each      bool     // it takes each address as an argument
	reads     bool     // it takes the addresses from the message
}

// places says where programs are.
type places struct {
	look  func(file string) (string, error) // in PATH, or at a path
	known []string                          // folders of sendmail that PATH may lack
}

var usualPlaces = places{exec.LookPath, []string{"/usr/sbin", "/usr/lib"}}

// errNoMail names what to do about it.
var errNoMail = errors.New("found neither mail, mailx nor sendmail: set NOTIFY_COMMAND to a program that sends mail")

// mailProgramOf returns the program to send messages by: the configured one, else the
// machine's mail or mailx, else its sendmail.
func mailProgramOf(configured []string, at places) (mailProgram, error) {
	if len(configured) > 0 {
		return mailProgram{words: configured}, nil
	}
	for _, name := range []string{"mail", "mailx"} {
		if path, err := at.look(name); err == nil {
			return mailProgram{words: []string{path}, bySubject: true, each: true}, nil
		}
	}
	for _, name := range append([]string{"sendmail"}, under(at.known, "sendmail")...) {
		if path, err := at.look(name); err == nil {
			return mailProgram{words: []string{path, "-oi", "-t"}, reads: true}, nil
		}
	}
	return mailProgram{}, errNoMail
}

func under(folders []string, name string) (paths []string) {
	for _, f := range folders {
		paths = append(paths, f+"/"+name)
	}
	return paths
}

// addresses returns the recipients of a message: the addresses in to, separated by commas
// or blanks, else owner, each at the domain if it has none. It refuses addresses that a
// mail program could take for an option, a file or a command.
func addresses(to, owner, domain string) (list []string, err error) {
	parted := func(r rune) bool { return r == ',' || unicode.IsSpace(r) }
	if list = strings.FieldsFunc(to, parted); len(list) == 0 {
		list = []string{owner}
	}
	for i, a := range list {
		name, host, at := strings.Cut(a, "@")
		if !plainWord(name) || at && !plainWord(host) {
			return nil, fmt.Errorf("%.100q: not an address that mail can be sent to", a)
		}
		if !at && domain != "" {
			list[i] = a + "@" + domain
		}
	}
	return list, nil
}

// plainWord reports whether a part of an address has only characters that need no quotes.
func plainWord(s string) bool {
	return s != "" && s[0] != '-' && strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789._+-=%") == ""
}

// mostSaid bounds the kept part of a program's output.
const mostSaid = 4 << 10

// afterFunc calls what kills a program once its time is over; tests say when that is.
var afterFunc = time.AfterFunc

// send runs the program, in a process group of its own, which is killed when it takes
// too long. The error is one line.
func (p mailProgram) send(to []string, m cycle.Message, patience time.Duration) error {
	words, text := slices.Clone(p.words[1:]), m.Full(to)
	if p.bySubject {
		words, text = append(words, "-s", m.Subject), m.Body
	}
	switch {
	case p.each:
		words = append(words, to...)
	case !p.reads:
		words = append(words, strings.Join(to, ","))
	}
	run := exec.Command(p.words[0], words...)
	var said lastBytes
	run.Stdin, run.Stdout, run.Stderr = strings.NewReader(text), &said, &said
	run.Env = append(os.Environ(), "NOTIFY_SUBJECT="+m.Subject)
	run.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	run.WaitDelay = time.Second // whoever left the group may keep the pipes open
	if err := run.Start(); err != nil {
		return err
	}
	late := afterFunc(patience, func() { syscall.Kill(-run.Process.Pid, syscall.SIGKILL) })
	err := run.Wait()
	switch {
	case errors.Is(err, exec.ErrWaitDelay): // it ended well, and its background processes go on
		late.Stop()
		return nil
	case !late.Stop():
		return fmt.Errorf("%s: takes longer than %v s, killed (NOTIFY_COMMAND_TIMEOUT)", p.words[0], patience.Seconds())
	case err != nil && said.line() != "":
		return fmt.Errorf("%s: %w: %s", p.words[0], err, said.line())
	case err != nil:
		return fmt.Errorf("%s: %w", p.words[0], err)
	}
	return nil
}

// lastBytes keeps the end of its input.
type lastBytes struct{ b []byte }

func (l *lastBytes) Write(p []byte) (int, error) {
	l.b = append(l.b, p...)
	l.b = l.b[max(len(l.b)-mostSaid, 0):]
	return len(p), nil
}

// line returns the last line that is not empty.
func (l *lastBytes) line() string {
	b := bytes.TrimSpace(l.b)
	return clean.Blanked(string(b[bytes.LastIndexByte(b, '\n')+1:]))
}
