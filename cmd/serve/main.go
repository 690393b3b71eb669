// Serve: run commands for users of other accounts.
//
// serve is the door of a pool: it answers one caller on its standard input, a connection to the
// socket in the spool, by running the command that the caller asks for as that caller's. It is
// started for each connection by systemd, by an inetd, or by starter -watch -door, with the
// spool's account. Standard input may also be the listening socket: then serve takes one caller
// after the other from it, and says so on descriptor 3.
package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/chart"
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/door"
	"fairspool/cmd/internal/flock"
	"fairspool/cmd/internal/negotiate"
	"fairspool/cmd/internal/pilotdesk"
	"fairspool/cmd/internal/prio"
	"fairspool/cmd/internal/qdel"
	"fairspool/cmd/internal/qhold"
	"fairspool/cmd/internal/qrls"
	"fairspool/cmd/internal/qshell"
	"fairspool/cmd/internal/qstat"
	"fairspool/cmd/internal/qtail"
	"fairspool/cmd/internal/report"
	"fairspool/cmd/internal/slots"
	"fairspool/cmd/internal/submit"
	"fairspool/cmd/internal/userprio"
	"fairspool/spool"
)

func main() { cmdline.Main(command()) }

func command() cmdline.Command {
	return cmdline.Command{
		Name:  "serve",
		Brief: "run commands for users of other accounts",
		Synopsis: []string{"[-config FILE] [-spool DIR]", "-pilot [-engine NAME -machine HOST] [-config FILE] [-spool DIR]",
			"-flock [DOMAIN] [ask | look | cancel ID...]"},
		Served: true,
		Before: func(c *cmdline.Call) (func() (door.Answer, error), error) {
			if !c.Has("flock") {
				return nil, errors.New("only the account that has the pool may do that")
			}
			return nil, nil
		},
		AsRoot: func(c *cmdline.Call) bool { return c.Has("pilot") },
		About: `Answers one caller on standard input, a connection to the socket "door" in the spool: it runs the command that the caller asks for, with the identity that the kernel reports, and sends back the output. It runs as the account that owns the spool.

systemd (fairspool.socket), an inetd, or starter -watch -door start it for each connection. Users do not call it: their commands do, if the pool belongs to another account.

With -pilot it is the pool's end of a link to another machine, which runs jobs. The link is standard input and output, if the machine has called by ssh; with -machine it is an ssh connection to a machine of an engine, started by glidein.

With -flock it answers another pool that wants slots of this one. ask submits a job, described on standard input, that is a pilot of that pool; look lists such jobs; cancel removes some. FLOCK_FROM says which domains may do so. The account of the caller stands for a domain, or a line of authorized_keys names DOMAIN; the request is then in SSH_ORIGINAL_COMMAND.`,
		Flags: []cmdline.Flag{
			{Name: "pilot", Help: "be the pool's end of a link to a pilot"},
			{Name: "flock", Help: "answer another pool that wants slots"},
			{Name: "engine", Args: []string{"NAME"}, Help: "-pilot: the engine to which -machine belongs"},
			{Name: "machine", Args: []string{"HOST"}, Help: "-pilot: call HOST, as its engine says"},
		},
		Examples: []cmdline.Example{
			{Does: "the door of an account's pool, without systemd", Line: "starter -watch -door"},
			{Does: "a machine's key in authorized_keys", Line: "restrict,command=\"/usr/bin/serve -pilot\" ssh-ed25519 AAAA..."},
			{Does: "the key of another pool there", Line: "restrict,command=\"/usr/bin/serve -flock a.org\" ssh-ed25519 AAAA..."},
			{Does: "a line of inetd.conf", Line: "/var/spool/fairspool/door stream unix nowait fairspool /usr/bin/serve serve"},
		},
		Run: run,
	}
}

// commands are the commands that callers may run.
func commands() []cmdline.Command {
	return []cmdline.Command{
		submit.Command(), qstat.Command(), qdel.Command(), qhold.Command(), qrls.Command(), qshell.Command(), qtail.Command(),
		prio.Command(), userprio.Command(chart.Plot), slots.Command(), negotiate.Command(), report.Command(), command(),
	}
}

func run(c *cmdline.Call) error {
	if c.Has("flock") {
		if err := cmdline.Refuse(c.Has, cmdline.Refusal{Option: "flock", Others: []string{"pilot", "engine", "machine"}}); err != nil {
			return err
		}
		return flock.Run(c)
	}
	if c.ThroughDoor() {
		return cmdline.Usagef("want -flock")
	}
	if len(c.Args) > 0 {
		return cmdline.Usagef("%s: serve takes no arguments", c.Args[0])
	}
	if c.Has("pilot") {
		return pilotdesk.Run(c)
	}
	if c.Has("engine") || c.Has("machine") {
		return cmdline.Usagef("-engine and -machine: only with -pilot")
	}
	dir, err := c.ExistingDir()
	if err != nil {
		return err
	}
	// Before any user's job comes in: with the account's rights a user's job could do all that the account may.
	if err := leaveToRoot(c, dir); err != nil {
		return err
	}
	s := cmdline.Here()
	s.Spool, s.Program = dir, c.Name
	common, err := c.Common()
	if err != nil {
		return err
	}
	for i := 0; i+1 < len(common); i += 2 {
		if common[i] == "-config" {
			s.Config = common[i+1]
		}
	}
	for _, name := range []string{"FAIRSPOOL_DIR", "FAIRSPOOL_CONFIG", "FAIRSPOOL_NOW"} {
		os.Unsetenv(name) // serve has heeded them
	}
	next, err := callers(dir)
	for err == nil {
		var conn *net.UnixConn
		var place io.Closer
		if conn, place, err = next(); err == nil {
			err = answer(s, conn)
			place.Close()
		}
	}
	if errors.Is(err, io.EOF) { // no caller more, or one that has thought better of it
		return nil
	}
	return err
}

// answer carries out a caller's request. A caller that goes away ends the process.
func answer(s cmdline.Surroundings, conn *net.UnixConn) error {
	session, err := door.Begin(conn, door.FirstWord, func() { os.Exit(1) })
	if err != nil {
		return err
	}
	s.Serve(commands(), session)
	return nil
}

// leaveToRoot sees to it that the account runs no jobs of the spool, which root's starter does.
func leaveToRoot(c *cmdline.Call, dir string) error {
	if spool.RunByRoot(dir) {
		return nil
	}
	sp, err := c.Spool()
	if err != nil {
		return err
	}
	return sp.NoteRoot()
}

// callers returns what returns one caller after the other, with its place: of those that come to the
// socket that standard input is, or the connection that it is.
func callers(dir string) (next func() (*net.UnixConn, io.Closer, error), err error) {
	listening, err := unix.GetsockoptInt(0, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
	if err != nil {
		return nil, errors.New("standard input is no connection: systemd, inetd or starter -watch -door start serve; see serve(8)")
	}
	f := os.NewFile(0, "standard input")
	if listening == 1 {
		all, err := door.CallersAt(f, dir)
		if err != nil {
			return nil, err
		}
		return all.Next, nil
	}
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	conn, ok := c.(*net.UnixConn)
	if !ok {
		return nil, fmt.Errorf("standard input is no Unix socket: serve asks the kernel who calls")
	}
	return func() (*net.UnixConn, io.Closer, error) {
		if conn == nil {
			return nil, nil, io.EOF
		}
		c := conn
		conn = nil
		place, err := door.Admit(c, dir)
		return c, place, err
	}, nil
}
