package main

import (
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/lib/pool"
	"fairspool/lib/userlog"
)

// awaitWord waits until all who ended the job's earlier attempts have told its event log
// so. Each does that when the end is committed, and the job may be matched and executed
// again before; a log that has the end of an attempt behind that of the job is read as if
// the job was still to run. Who takes longer than those who append to a log are given at
// all is not waited for.
func (s *supervisor) awaitWord() {
	for end, n := time.Now().Add(userlog.Patience), 1; n < s.Number; {
		if !inCharge(s.spool.ClaimLock(pool.Claim{Job: s.Job, Attempt: n}.LockName())) {
			n++
			continue
		}
		if time.Now().After(end) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// inCharge tells whether another process has the record lock on the file of a claim, which
// it keeps for as long as it has something to do for that. The file must not be one on
// which this process has the lock: that would be free afterwards.
func inCharge(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false // most are gone, and nobody is in charge of them
	}
	defer f.Close()
	lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
	err = unix.FcntlFlock(f.Fd(), unix.F_GETLK, &lock)
	return err == nil && lock.Type != unix.F_UNLCK
}
