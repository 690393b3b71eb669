package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"

	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/family"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/launch"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// HTCondor's HoldReasonCode of a job that took more than it asked for, and the
// HoldReasonSubCodes that its policies have for memory and disk (its manual,
// HOLD_SUBCODE_MEMORY_EXCEEDED, and its starter).
const (
	outOfResources = 34
	tooMuchMemory  = 102
	tooMuchDisk    = 104
)

// limits are what an attempt may use, as far as that is enforced.
type limits struct {
	memoryMB int64    // 0: any
	mayUseKB int64    // of disk; 0: any
	strict   bool     // that is what the job asked for, and no file may be larger either
	soft     bool     // more memory is a fault only while the machine runs short of it
	memoryBy string   // what keeps the memory limit, as family.By has it
	disk     *holding // what the scratch directory holds; nil before it is known where
	meminfo  string   // the file that tells how much memory the machine has left
}

// limitsOf returns what is enforced of what a job asks for. What its slot has is the most: a
// request that is more by now, or is no number above 0, is worth no more than that, lest a job
// takes what others were given. slot may be nil, and say nothing of it. Scratch directories, which
// lie in folder, have a limit in any case, lest one of them fills the disk.
func limitsOf(cfg *config.Config, ad, slot *classad.Ad, folder string) limits {
	l := limits{meminfo: "/proc/meminfo"}
	if cfg.MemoryLimitPolicy == "hard" || cfg.MemoryLimitPolicy == "soft" {
		l.memoryMB, l.soft = allowed(ad, pool.AttrRequestMemory, slot, pool.AttrMemory), cfg.MemoryLimitPolicy == "soft"
	}
	asked := allowed(ad, pool.AttrRequestDisk, slot, pool.AttrDisk)
	if l.strict = cfg.EnforceDiskLimits && asked > 0; l.strict {
		l.mayUseKB = asked
	} else if least := maxScratch(cfg.MaxScratchSize, folder); least > 0 {
		l.mayUseKB = max(least, asked)
	}
	return l
}

// maxScratch returns how many KB a scratch directory in a folder may hold whatever its job asked
// for, by MAX_SCRATCH_SIZE in MB; 0: any. By default what is free when the job begins is shared by as
// many jobs as the machine has cores and one more, so that all of them together leave something.
func maxScratch(mb int64, folder string) int64 {
	if mb != 0 {
		return max(mb, 0) << 10
	}
	var st unix.Statfs_t
	err := unix.Statfs(folder, &st)
	if err != nil { // it is made when it is needed first
		err = unix.Statfs(filepath.Dir(folder), &st)
	}
	if err != nil {
		return 0
	}
	return max(int64(st.Bavail)*st.Bsize>>10/int64(runtime.NumCPU()+1), 1)
}

// allowed returns how much of something a job may take: what it asks for, but no more than
// its slot has; 0: any.
func allowed(ad *classad.Ad, asks string, slot *classad.Ad, has string) int64 {
	n := request(ad, asks)
	if slot == nil {
		return n
	}
	if most := request(slot, has); most > 0 && (n == 0 || n > most) {
		return most
	}
	return n
}

// request returns how much of something a job asks for, a fraction rounded up.
func request(ad *classad.Ad, name string) int64 {
	x, ok := ad.EvalNumber(&classad.Context{}, name)
	if !ok || !(x > 0 && x < 1<<53) {
		return 0
	}
	return int64(math.Ceil(x))
}

// open opens the family of the attempt under its limits; scratch is its scratch
// directory.
func (l *limits) open(o family.Options, scratch string) *family.Family {
	o.MemoryMB, o.Soft = l.memoryMB, l.soft
	f := family.Open(o)
	l.memoryBy, l.disk = f.By(), &holding{dir: scratch}
	return f
}

// record says in the job's ad what keeps its limits.
func (l *limits) record(tx *spool.Tx, id pool.JobID) {
	for _, x := range []struct{ attr, by string }{
		{pool.AttrMemoryLimitedBy, l.memoryBy},
		{pool.AttrDiskLimitedBy, l.diskBy()},
	} {
		ad, _ := tx.Job(id)
		switch before, _ := ad.EvalString(&classad.Context{}, x.attr); {
		case x.by == before:
		case x.by == "":
			tx.Set(id, x.attr, nil)
		default:
			tx.Set(id, x.attr, classad.Literal(classad.String(x.by)))
		}
	}
}

// diskBy tells what keeps the disk limit that the job asked for. A limit for each file (setrlimit(2)) stops the
// worst at once, and the watch finds the rest.
func (l *limits) diskBy() string {
	if !l.strict {
		return ""
	}
	return family.ByWatch
}

// rlimits are what the job's processes are started under for the sake of the limits.
func (l *limits) rlimits() []launch.Rlimit {
	if !l.strict {
		return nil
	}
	bytes := uint64(l.mayUseKB) << 10
	return []launch.Rlimit{{Resource: unix.RLIMIT_FSIZE, Soft: bytes, Hard: bytes}}
}

// over returns what is to be done with a job that has taken more than it may; false when
// it has not. It does not wait: what the scratch directory holds is found out
// meanwhile.
func (l *limits) over(u family.Usage) (v jobpolicy.Verdict, over bool) {
	if l.memoryBy == family.ByWatch && u.RSSKB > l.memoryMB<<10 && (!l.soft || l.short()) {
		return l.memoryExceeded(u.RSSKB), true
	}
	if l.mayUseKB > 0 && l.disk != nil {
		if kb := l.disk.look(); kb > l.mayUseKB {
			return l.diskExceeded(kb), true
		}
	}
	return v, false
}

// stopped returns what is to be done with a job that the kernel has stopped because it
// wanted more than it may; false when that is not how it ended.
func (l *limits) stopped(e launch.Ended, u family.Usage, outOfMemory bool) (v jobpolicy.Verdict, over bool) {
	switch {
	case outOfMemory && l.memoryMB > 0:
		return l.memoryExceeded(max(u.PeakKB, l.memoryMB<<10)), true
	case e.Signal == int(unix.SIGXFSZ) && l.strict:
		reason := fmt.Sprintf("disk usage exceeded request_disk: a file was to be larger than %d KB", l.mayUseKB)
		return jobpolicy.Verdict{Action: jobpolicy.Hold, Reason: reason, Code: outOfResources, Subcode: tooMuchDisk}, true
	}
	return v, false
}

func (l *limits) memoryExceeded(kb int64) jobpolicy.Verdict {
	return exceeded("memory", "request_memory", (kb+1023)/1024, l.memoryMB, "MB", tooMuchMemory)
}

func (l *limits) diskExceeded(kb int64) jobpolicy.Verdict {
	if l.strict {
		return exceeded("disk", "request_disk", kb, l.mayUseKB, "KB", tooMuchDisk)
	}
	v := exceeded("disk", "MAX_SCRATCH_SIZE", kb, l.mayUseKB, "KB", tooMuchDisk)
	v.Reason += "; request_disk asks for more"
	return v
}

// exceeded holds a job that has used more than it asked for.
func exceeded(what, command string, used, limit int64, unit string, subcode int) jobpolicy.Verdict {
	reason := fmt.Sprintf("%s usage exceeded %s: used %d %s of %d", what, command, used, unit, limit)
	return jobpolicy.Verdict{Action: jobpolicy.Hold, Reason: reason, Code: outOfResources, Subcode: subcode}
}

// short tells whether the machine runs short of memory: less than a tenth of it can be
// had without swapping.
func (l *limits) short() bool {
	b, err := os.ReadFile(l.meminfo)
	if err != nil {
		return false
	}
	var total, available int64
	for line := range bytes.Lines(b) {
		fields := bytes.Fields(line)
		if len(fields) < 2 {
			continue
		}
		kb, _ := strconv.ParseInt(string(fields[1]), 10, 64)
		switch string(fields[0]) {
		case "MemTotal:":
			total = kb
		case "MemAvailable:":
			available = kb
		}
	}
	return available < total/10
}

// diskKB returns what the scratch directory was found to hold last, in KB. It waits a
// little for a look that is being taken.
func (l *limits) diskKB() int64 {
	if l.disk == nil {
		return 0
	}
	return l.disk.wait()
}

// finalDiskKB is diskKB for a scratch directory in which nobody writes any more.
func (l *limits) finalDiskKB() int64 {
	if l.disk == nil {
		return 0
	}
	return l.disk.final()
}
