package spool

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// checkOwner refuses a spool of another uid, and one that others may write. Files
// that another uid, root too, made in it could not be written by its owner any
// more.
func checkOwner(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("spool %s: %w", dir, reason(err))
	}
	if !info.IsDir() {
		return fmt.Errorf("spool %s: not a directory", dir)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if ok && int(stat.Uid) == os.Geteuid() && info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("spool %s: its mode %#o lets others write: chmod 700 it", dir, info.Mode().Perm())
	}
	if !ok || int(stat.Uid) == os.Geteuid() {
		return nil
	}
	return fmt.Errorf("spool %s: belongs to %s and serves that user only, you are %s: use it by sudo -u that user, or choose a pool of your own with -spool DIR or FAIRSPOOL_DIR", dir, userName(int(stat.Uid)), userName(os.Geteuid()))
}

func userName(uid int) string {
	number := strconv.Itoa(uid)
	if u, err := user.LookupId(number); err == nil {
		return u.Username + " (uid " + number + ")"
	}
	return "uid " + number
}

// networkFileSystems are the statfs(2) types on which flock or the order of
// writes cannot be relied upon between machines.
var networkFileSystems = map[int64]string{
	unix.NFS_SUPER_MAGIC:   "NFS",
	unix.SMB_SUPER_MAGIC:   "SMB",
	unix.SMB2_SUPER_MAGIC:  "SMB",
	unix.CIFS_SUPER_MAGIC:  "CIFS",
	unix.AFS_SUPER_MAGIC:   "AFS",
	unix.AFS_FS_MAGIC:      "AFS",
	unix.CODA_SUPER_MAGIC:  "Coda",
	unix.CEPH_SUPER_MAGIC:  "CephFS",
	unix.V9FS_MAGIC:        "9P",
	unix.FUSE_SUPER_MAGIC:  "FUSE",
	unix.OCFS2_SUPER_MAGIC: "OCFS2",
	0x0bd00bd0:             "Lustre",
	0x47504653:             "GPFS",
	0x01161970:             "GFS2",
	0x20030528:             "OrangeFS",
	0x19830326:             "BeeGFS",
}

// fileSystemType asks the kernel; a test puts its own answer here.
var fileSystemType = func(dir string) (int64, error) {
	var st unix.Statfs_t
	err := unix.Statfs(dir, &st)
	return int64(st.Type), err
}

// checkFileSystem refuses network file systems.
func checkFileSystem(dir string) error {
	kind, err := fileSystemType(dir)
	if err != nil {
		return fmt.Errorf("spool %s: statfs: %w", dir, err)
	}
	if name, ok := networkFileSystems[kind]; ok {
		return fmt.Errorf("spool %s: lies on %s, where locks and the order of writes cannot be relied upon: put it on a local disk, or set ALLOW_NETWORK_SPOOL", dir, name)
	}
	return nil
}
