package asuser

// DoToProcesses runs fn on a thread of its own that counts as one of the user's where
// somebody's own processes are meant: it may set the limits of the user's processes
// (prlimit(2)). Root may do so in any case, but not the root of a container that lacks
// CAP_SYS_RESOURCE. Rights to files, and all others, stay those of root. Only the ids
// of the user count. fn must do its work itself and start no goroutine for that.
//
// While fn runs the user may send signals to that thread, and so to this process.
func (u User) DoToProcesses(fn func() error) error {
	if !Privileged() || u.UID == 0 {
		return fn()
	}
	assume := func() error {
		if err := BecomeRoot(); err != nil {
			return err
		}
		return setIDs(uintptr(u.GID), uintptr(u.UID), same, same)
	}
	return u.onThread(assume, fn)
}
