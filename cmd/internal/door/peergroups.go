package door

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

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
