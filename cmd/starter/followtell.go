package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"fairspool/lib/plural"
	"fairspool/lib/pool"
)

// tell prints what was done, nothing for nothing. Bad news has been told already.
func (f *follower) tell(r report) error {
	if len(r.Started)+len(r.Failed)+len(r.Lost) == 0 {
		return nil
	}
	text := ""
	if len(r.Started) > 0 {
		text = plural.Count(len(r.Started), "job") + " started.\n"
	}
	return f.say(struct {
		Time int64
		report
	}{f.call.Again().Now.Unix(), r}, text)
}

// tellClosed says, when the watch begins, that the machine is drained and stays so.
func (f *follower) tellClosed() error {
	if f.call.Has("json") || f.call.Has("q") {
		return nil
	}
	words, err := closed(f.spool, f.host)
	if err != nil || words == "" {
		return err
	}
	return f.say(nil, words)
}

// say prints a line: v with -json, else the text, unless it has to be quiet.
func (f *follower) say(v any, text string) error {
	if f.call.Has("json") {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(v); err != nil {
			return err
		}
		text = b.String()
	} else if f.call.Has("q") {
		return nil
	}
	if _, err := f.call.Stdout.Write([]byte(text)); err != nil {
		return err
	}
	return f.call.Flush()
}

// tellJobs tells systemd how many jobs run, for its status.
func (f *follower) tellJobs() {
	n := 0
	for _, c := range f.claims.Claims() {
		if c.State == pool.RunningClaim || c.State == pool.Vacating {
			n++
		}
	}
	notify(fmt.Sprintf("STATUS=%s on %s", plural.Count(n, "job"), f.host))
}

// notify tells systemd how the service is, as sd_notify(3) does; without systemd it
// does nothing.
func notify(states ...string) {
	if notifySocket == "" {
		return
	}
	c, err := net.Dial("unixgram", notifySocket)
	if err != nil {
		return // nobody listens
	}
	defer c.Close()
	c.Write([]byte(strings.Join(states, "\n")))
}

// notifySocket is where systemd listens. Supervisors do not inherit it: they speak for
// themselves.
var notifySocket = takeNotifySocket()

func takeNotifySocket() string {
	defer os.Unsetenv("NOTIFY_SOCKET")
	return os.Getenv("NOTIFY_SOCKET")
}

// monotonic is what has to be said with RELOADING=1.
func monotonic() string {
	var t unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	return fmt.Sprintf("MONOTONIC_USEC=%d", t.Nano()/1000)
}
