// Package localdisk tells local file systems from network file systems.
package localdisk

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// network are the statfs(2) types on which flock or the order of writes cannot be relied upon between
// machines.
var network = map[int64]string{
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

// TypeOf asks the kernel for the type of the file system that a path is on; a test puts its own answer here.
var TypeOf = func(path string) (int64, error) {
	var st unix.Statfs_t
	err := unix.Statfs(path, &st)
	return int64(st.Type), err
}

// Check returns an error for a path on a network file system.
func Check(path string) error {
	kind, err := TypeOf(path)
	if err != nil {
		return fmt.Errorf("statfs: %w", err)
	}
	if name, is := network[kind]; is {
		return fmt.Errorf("is on %s, where locks and the order of writes are unreliable: put it on a local disk", name)
	}
	return nil
}
