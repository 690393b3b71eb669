package family

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// markName is the environment variable by which the processes of a family are known.
const markName = "_FAIRSPOOL_FAMILY"

// mark returns the family's entry of the environment.
func (o Options) mark() string { return markName + "=" + o.Name }

// number returns the family's soft limit of file locks (RLIMIT_LOCKS, getrlimit(2)), a number
// from 2^62 to 2^63 that follows from its name. Linux heeds no such limit since 2.4.25, so that
// programs neither need nor change it.
func (o Options) number() uint64 {
	sum := sha256.Sum256([]byte(o.Name))
	return 1<<62 | binary.BigEndian.Uint64(sum[:])>>2
}

// Inside reports whether the calling process is one of a job's: it has a mark of some family.
func Inside() bool {
	if os.Getenv(markName) != "" {
		return true
	}
	var own unix.Rlimit
	err := unix.Prlimit(0, unix.RLIMIT_LOCKS, nil, &own)
	return err == nil && own.Cur>>62 == 1
}

// setNumber gives the calling process the family's limit, for the next child to inherit, and
// returns the function that restores its own. It changes nothing where the hard limit is lower
// and the process may not raise it.
func (o Options) setNumber() (restore func()) {
	var own unix.Rlimit
	if err := unix.Prlimit(0, unix.RLIMIT_LOCKS, nil, &own); err != nil {
		return func() {}
	}
	n := o.number()
	if err := unix.Prlimit(0, unix.RLIMIT_LOCKS, &unix.Rlimit{Cur: n, Max: max(n, own.Max)}, nil); err != nil {
		return func() {}
	}
	return func() { unix.Prlimit(0, unix.RLIMIT_LOCKS, &own, nil) }
}

// marked returns the processes of the machine that have one of the family's marks, and what
// descends from them. The limit is seen of all processes; the environment of those that we may
// read, which are all for root, else those of our own user.
func marked(o Options) []process {
	all := allProcesses()
	entry, number := []byte(o.mark()), strconv.FormatUint(o.number(), 10)
	first := map[int]bool{}
	for pid, p := range all {
		if pid != os.Getpid() && p.alive() && (softLocks(pid) == number || hasEntry(environ(pid), entry)) {
			first[pid] = true
		}
	}
	return withDescendants(all, first)
}

// softLocks returns a process's soft limit of file locks as /proc words it (proc(5),
// /proc/PID/limits); empty when it cannot be read.
func softLocks(pid int) string {
	var space [4096]byte
	b, _ := readInto("/proc/"+strconv.Itoa(pid)+"/limits", space[:])
	_, line, _ := bytes.Cut(b, []byte("Max file locks"))
	fields := bytes.Fields(line[:min(len(line), 64)])
	if len(fields) == 0 {
		return ""
	}
	return string(fields[0])
}

// environ returns the environment that a process was given, nothing if we may not
// see it.
func environ(pid int) []byte {
	b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return b
}

// hasEntry reports whether an environment, as /proc has it, holds an entry.
func hasEntry(env, entry []byte) bool {
	for e := range bytes.SplitSeq(env, []byte{0}) {
		if bytes.Equal(e, entry) {
			return true
		}
	}
	return false
}
