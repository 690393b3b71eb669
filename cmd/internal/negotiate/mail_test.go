package negotiate

import (
	"errors"
	"fmt"
	netmail "net/mail"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/internal/testenv"
	"fairspool/lib/lifecycle"
	"fairspool/lib/pool"
	"fairspool/lib/report/cycle"
)

func TestAddresses(t *testing.T) {
	for _, c := range []struct{ to, owner, domain, want string }{
		{"", "alice", "", "[alice]"},
		{"", "alice", "example.org", "[alice@example.org]"},
		{"bob", "alice", "example.org", "[bob@example.org]"},
		{"bob@example.com", "alice", "example.org", "[bob@example.com]"},
		{" bob@example.com, carol\n", "alice", "", "[bob@example.com carol]"},
		{"b+x.y_z=1%2-3", "alice", "", "[b+x.y_z=1%2-3]"},
		{"-X/tmp/x", "alice", "", "refused"},
		{"|sh", "alice", "", "refused"},
		{"/tmp/file", "alice", "", "refused"},
		{"bob@", "alice", "", "refused"},
		{"bob@a@b", "alice", "", "refused"},
		{"bob@-oQ", "alice", "", "refused"},
		{"~bob", "alice", "", "refused"},
		{"bob;sh", "alice", "", "refused"},
		{"bob <bob@example.com>", "alice", "", "refused"},
		{"", "", "", "refused"},
		{"", "-f", "", "refused"},
	} {
		list, err := addresses(c.to, c.owner, c.domain)
		got := fmt.Sprint(list)
		if err != nil {
			got = "refused"
		}
		if got != c.want {
			t.Errorf("addresses(%q, %q, %q) = %s, %v, want %s", c.to, c.owner, c.domain, got, err, c.want)
		}
	}
}

func TestMailProgram(t *testing.T) {
	for _, c := range []struct {
		configured []string
		there      string
		want       string
	}{
		{[]string{"/x/tell", "-v"}, "mail", "[/x/tell -v] false false false"},
		{nil, "mail mailx sendmail", "[/bin/mail] true true false"},
		{nil, "mailx sendmail", "[/bin/mailx] true true false"},
		{nil, "sendmail", "[/bin/sendmail -oi -t] false false true"},
		{nil, "/usr/sbin/sendmail", "[/bin//usr/sbin/sendmail -oi -t] false false true"},
		{nil, "", "[] false false false"},
	} {
		at := places{func(file string) (string, error) {
			for _, f := range strings.Fields(c.there) {
				if f == file {
					return "/bin/" + file, nil
				}
			}
			return "", os.ErrNotExist
		}, []string{"/usr/sbin"}}
		p, err := mailProgramOf(c.configured, at)
		if got := fmt.Sprint(p.words, p.bySubject, p.each, p.reads); got != c.want || (err != nil) != (c.want[1] == ']') {
			t.Errorf("with %s there: %s, %v, want %s", c.there, got, err, c.want)
		}
		if err != nil && !errors.Is(err, errNoMail) {
			t.Errorf("with %s there: error %v, want %v", c.there, err, errNoMail)
		}
	}
}

// program writes a shell script that can be run.
func program(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	testenv.WriteProgram(t, path, []byte("#!/bin/sh\n"+text))
	return path
}

func TestSend(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	tell := program(t, `for a; do echo "[$a]"; done >`+out+`; echo "$NOTIFY_SUBJECT" >>`+out+`; cat >>`+out)
	m := cycle.Message{Subject: "a b\u00fc", Body: "text\n"}
	const header = "MIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\nAuto-Submitted: auto-generated\n\ntext\n"
	for _, c := range []struct {
		name string
		p    mailProgram
		want string
	}{
		{"configured", mailProgram{words: []string{tell, "-x"}}, "[-x]\n[a,b@c]\na bü\nTo: a, b@c\nSubject: =?utf-8?q?a_b=C3=BC?=\n" + header},
		{"mail", mailProgram{words: []string{tell}, bySubject: true, each: true}, "[-s]\n[a bü]\n[a]\n[b@c]\na bü\ntext\n"},
		{"sendmail", mailProgram{words: []string{tell, "-t"}, reads: true}, "[-t]\na bü\nTo: a, b@c\nSubject: =?utf-8?q?a_b=C3=BC?=\n" + header},
	} {
		if err := c.p.send([]string{"a", "b@c"}, m, time.Minute); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got, err := os.ReadFile(out); string(got) != c.want {
			t.Errorf("%s was sent %q, %v, want %q", c.name, got, err, c.want)
		}
	}
}

func TestSendFails(t *testing.T) {
	for _, c := range []struct {
		name, text string
		ok         bool
	}{
		{"status", "exit 3", false},
		{"last words", "echo one; echo two >&2; echo; exit 1", false},
		{"hangs", "sleep 1000 & wait", false},
		{"reads nothing", "exit 0", true},
	} {
		path := program(t, c.text)
		patience := time.Minute
		if c.name == "hangs" {
			patience = 200 * time.Millisecond
		}
		err := (mailProgram{words: []string{path}}).send([]string{"a"}, cycle.Message{Body: strings.Repeat("x", 1<<20)}, patience)
		if (err == nil) != c.ok {
			t.Errorf("%s: send = %v, want that it succeeds: %v", c.name, err, c.ok)
		}
		if err != nil {
			cmdtest.Printed(t, "negotiate (mail program: "+c.name+")", 0, "", err.Error()+"\n")
		}
	}
	if err := (mailProgram{words: []string{"/no/such/program"}}).send([]string{"a"}, cycle.Message{}, time.Minute); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("send by a program that is not there = %v, want an error of one line", err)
	}
}

// TestSendKillsAll holds that nothing of a program that hangs is left.
func TestSendKillsAll(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	path := program(t, "sleep 1000 &\necho $! >"+file+"\nwait")
	var pid string
	afterFunc = func(_ time.Duration, kill func()) *time.Timer {
		return time.AfterFunc(0, func() {
			testenv.Await(func() bool {
				text, _ := os.ReadFile(file)
				pid = strings.TrimSuffix(string(text), "\n")
				return pid != string(text)
			})
			kill()
		})
	}
	t.Cleanup(func() { afterFunc = time.AfterFunc })
	if err := (mailProgram{words: []string{path}}).send([]string{"a"}, cycle.Message{}, time.Minute); err == nil {
		t.Fatal("send = nil, want that it takes too long")
	}
	if pid == "" {
		t.Fatal("the program never wrote the number of what it started")
	}
	testenv.Until(t, "process "+pid+" has ended", func() bool {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
}

func TestSubjects(t *testing.T) {
	for _, c := range []struct {
		e     lifecycle.Endings
		about pool.Tell
	}{
		{lifecycle.Endings{Succeeded: 40}, lifecycle.TellEnd},
		{lifecycle.Endings{Succeeded: 1}, lifecycle.TellEnd},
		{lifecycle.Endings{Failed: 1}, lifecycle.TellEnd},
		{lifecycle.Endings{Succeeded: 37, Failed: 2, Signalled: 1}, lifecycle.TellEnd},
		{lifecycle.Endings{Removed: 2}, lifecycle.TellEnd},
		{lifecycle.Endings{Succeeded: 1, Signalled: 1, Removed: 1}, lifecycle.TellEnd},
		{lifecycle.Endings{Held: 1}, lifecycle.TellHeld},
		{lifecycle.Endings{Held: 2}, lifecycle.TellHeld},
		{lifecycle.Endings{First: 1}, lifecycle.TellStart},
	} {
		call := fmt.Sprintf("negotiate (mail: %d succeeded, %d failed, %d by a signal, %d removed, %d held, %d first)",
			c.e.Succeeded, c.e.Failed, c.e.Signalled, c.e.Removed, c.e.Held, c.e.First)
		c.e.Cluster, c.e.Name = 12, "name"
		cmdtest.Printed(t, call, 0, cycle.Mail(lifecycle.Owed{Endings: c.e, About: c.about}).Subject+"\n", "")
	}
}

// TestNoInjection holds that no text of a user adds a header, ends the header, or
// begins a line with what a mail program could take for an order.
func TestNoInjection(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"a\nTo: mallory", "a\r\n\r\n~!sh", "\n~! sh", "\n.\n", "x\u2028~!y", "\xff\n~"}))
	rapid.Check(t, func(t *rapid.T) {
		e := lifecycle.Endings{Cluster: 12, Failed: 1, Held: 1, Owner: text.Draw(t, "owner"), Name: text.Draw(t, "name"), To: text.Draw(t, "to"),
			Troubles: []string{text.Draw(t, "trouble")}, FirstHeld: text.Draw(t, "held")}
		m := cycle.Mail(lifecycle.Owed{Endings: e, About: rapid.SampledFrom([]pool.Tell{lifecycle.TellHeld, lifecycle.TellStart, lifecycle.TellEnd}).Draw(t, "about")})
		if strings.ContainsAny(m.Subject, "\r\n\x00") {
			t.Errorf("the subject is %q", m.Subject)
		}
		read, err := netmail.ReadMessage(strings.NewReader(m.Full([]string{"alice"})))
		testenv.OK(t, err)
		if len(read.Header) != 6 || len(read.Header["To"]) != 1 || read.Header.Get("To") != "alice" {
			t.Errorf("the header is %v, want six lines and one To", read.Header)
		}
		for _, line := range strings.Split(m.Body, "\n") {
			if strings.HasPrefix(line, "~") || strings.HasPrefix(line, ".") {
				t.Errorf("a line begins %q", line)
			}
		}
	})
}
