package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/door"
	"fairspool/cmd/internal/onchange"
	"fairspool/lib/asuser"
)

// openDoor lets users of other accounts use the spool: it keeps processes of serve, with the rights of the
// spool's account, waiting at the socket in the spool. shut ends that; callers that are served have
// their answers first. It is called while this process alone watches over the machine.
func openDoor(c *cmdline.Call, dir string) (shut func(), err error) {
	folder, prefix, ok := onchange.Siblings(c.Name)
	if !ok {
		return nil, errors.New("-door: serve does not stand beside starter: install all programs of fairspool in one folder")
	}
	program := onchange.Pool{Programs: folder, Prefix: prefix}.Program("serve")
	common, err := c.Common()
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o001 == 0 {
		if err := os.Chmod(dir, 0o711); err != nil { // to pass through to the socket, and no more
			return nil, fmt.Errorf("-door: %w", err)
		}
	}
	l, err := door.Listen(dir)
	if err != nil {
		return nil, err
	}
	socket, err := l.File()
	if err != nil {
		l.Close()
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		door.Keep(ctx, socket, func(socket, taken *os.File) (*exec.Cmd, error) {
			p := exec.Command(program, common...)
			p.Dir, p.Stdin, p.ExtraFiles, p.Stderr = "/", socket, []*os.File{taken}, os.Stderr
			return p, asuser.Start(p)
		}, func(err error) { c.Warn("serve: %v", err) })
	}()
	return func() {
		cancel()
		l.Close() // which removes the socket
		socket.Close()
		<-over
	}, nil
}
