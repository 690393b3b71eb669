package negotiate

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"

	"fairspool/lib/clean"
)

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
var errNoMail = errors.New("neither mail, mailx nor sendmail is there: set NOTIFY_COMMAND to the program that sends mail")

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

// addresses returns whom a message goes to: the addresses in to, parted by commas or
// blanks, else owner, each at the domain if it has none. What a mail program could
// take for an option, a file or a command is refused.
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

// plainWord tells whether a part of an address is nothing but that.
func plainWord(s string) bool {
	return s != "" && s[0] != '-' && strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789._+-=%") == ""
}

// mostSaid bounds what is kept of what a program says.
const mostSaid = 4 << 10

// afterFunc calls what kills a program once its time is over; tests say when that is.
var afterFunc = time.AfterFunc

// send runs the program, in a process group of its own, which is killed when it takes
// too long. The error is one line.
func (p mailProgram) send(to []string, m message, patience time.Duration) error {
	words, text := slices.Clone(p.words[1:]), m.full(to)
	if p.bySubject {
		words, text = append(words, "-s", m.subject), m.body
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
	run.Env = append(os.Environ(), "NOTIFY_SUBJECT="+m.subject)
	run.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	run.WaitDelay = time.Second // whoever left the group may keep the pipes open
	if err := run.Start(); err != nil {
		return err
	}
	late := afterFunc(patience, func() { syscall.Kill(-run.Process.Pid, syscall.SIGKILL) })
	err := run.Wait()
	switch {
	case errors.Is(err, exec.ErrWaitDelay): // it ended well, and what it left in the background goes on
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

// lastBytes keeps the end of what is written to it.
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
