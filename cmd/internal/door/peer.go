package door

import (
	"fmt"
	"net"
	"os"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"fairspool/lib/asuser"
)

// Peer is the user at the other end of a connection, as the kernel names it.
type Peer struct {
	UID    int
	Name   string   // the login name
	Groups []string // names of its Unix groups, those without a name left out
}

// peerUID returns the uid of the process that connected.
func peerUID(c *net.UnixConn) (uid int, err error) {
	err = control(c, func(fd int) error {
		cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err == nil {
			uid = int(cred.Uid)
		}
		return err
	})
	return uid, err
}

// peerOf returns who the process that connected belongs to. A uid without a name on this machine is
// an error.
func peerOf(c *net.UnixConn) (p Peer, err error) {
	if p.UID, err = peerUID(c); err != nil {
		return p, err
	}
	u, known, err := asuser.LookUpID(p.UID)
	switch {
	case err != nil:
		return p, err
	case !known:
		return p, fmt.Errorf("uid %d has no login name on this machine", p.UID)
	}
	p.Name = u.Name
	numbers, err := peerGroups(c)
	if err != nil {
		return p, err
	}
	for _, n := range numbers {
		if name, ok := asuser.GroupName(n); ok && !slices.Contains(p.Groups, name) {
			p.Groups = append(p.Groups, name)
		}
	}
	return p, nil
}

// peerGroups returns the ids of the groups that the process had when it connected: its own and the further ones.
func peerGroups(c *net.UnixConn) (ids []int, err error) {
	err = control(c, func(fd int) error {
		cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err != nil {
			return err
		}
		further, err := groupsOf(fd)
		ids = append([]int{int(cred.Gid)}, further...)
		return err
	})
	return ids, err
}

func control(c *net.UnixConn, look func(fd int) error) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := raw.Control(func(fd uintptr) { inner = look(int(fd)) }); err != nil {
		return err
	}
	return inner
}

// groupsOf asks the kernel for SO_PEERGROUPS of a socket, for which package unix has no call.
func groupsOf(fd int) ([]int, error) {
	const most = 65536 // NGROUPS_MAX of Linux
	for n := uint32(64); ; n = most {
		ids := make([]uint32, n)
		size := n * 4
		_, _, e := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_PEERGROUPS,
			uintptr(unsafe.Pointer(&ids[0])), uintptr(unsafe.Pointer(&size)), 0)
		if e == unix.ERANGE && n < most {
			continue
		}
		if e != 0 {
			return nil, os.NewSyscallError("getsockopt SO_PEERGROUPS", e)
		}
		var list []int
		for _, id := range ids[:size/4] {
			list = append(list, int(id))
		}
		return list, nil
	}
}
