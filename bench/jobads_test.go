package bench

import (
	"bytes"
	"fmt"

	"fairspool/lib/classad"
)

// clusters writes the ads of clusters as condor_submit makes them, about 70
// attributes each. Cluster n is of shape n modulo the number of shapes, and of
// submitter n modulo theirs.
type clusters struct {
	shapes, submitters int
	light              bool // for one core and little memory, whatever the shape
}

func (c clusters) owner(n int) string { return fmt.Sprintf("user%d", n%c.submitters) }

// jobNames are attributes whose values are the same for all jobs.
const jobNames = `MyType = "Job"
NTDomain = ""
JobUniverse = 5
JobStatus = 1
JobNotification = 0
CompletionDate = 0
NumJobStarts = 0
NumJobMatches = 0
NumRestarts = 0
NumCkpts = 0
NumSystemHolds = 0
JobRunCount = 0
TransferIn = false
TransferInputSizeMB = 12
ShouldTransferFiles = "IF_NEEDED"
WhenToTransferOutput = "ON_EXIT"
TransferExecutable = true
StreamOut = false
StreamErr = false
BufferSize = 524288
BufferBlockSize = 32768
ImageSize = 250
ExecutableSize = 2
MinHosts = 1
MaxHosts = 1
CurrentHosts = 0
WantCheckpoint = false
WantRemoteSyscalls = false
WantRemoteIO = true
RemoteUserCpu = 0.0
RemoteSysCpu = 0.0
RemoteWallClockTime = 0.0
CumulativeSuspensionTime = 0
CommittedTime = 0
TotalSuspensions = 0
LastSuspensionTime = 0
ExitBySignal = false
ExitStatus = 0
OnExitHold = false
OnExitRemove = true
PeriodicHold = JobStatus == 2 && time() - EnteredCurrentStatus > 2 * 86400
PeriodicRelease = false
PeriodicRemove = NumJobStarts > 8
LeaveJobInQueue = false
NiceUser = false
MaxWallTimeMins = 240
KillSig = "SIGTERM"
JobLeaseDuration = 2400
EnteredCurrentStatus = 1790000000
FileSystemDomain = "example.org"
CondorVersion = "$CondorVersion: 25.0.2 2025-10-20 BuildID: 812345 PackageID: 25.0.2-1 $"
`

// ad returns the ad of cluster n.
func (c clusters) ad(n int) (*classad.Ad, error) {
	var b bytes.Buffer
	put := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	b.WriteString(jobNames)
	owner, shape := c.owner(n), n%c.shapes
	put(`Owner = "%s"`, owner)
	put(`User = "%s@example.org"`, owner)
	put(`OsUser = "%s"`, owner)
	put(`GlobalJobId = "ap1.example.org#%d.0#%d"`, n+1, 1789000000+n)
	put(`Cmd = "/home/%s/analysis/run.sh"`, owner)
	put(`Arguments = "--seed %d --events 10000 --out result.root"`, n)
	put(`Environment = "OMP_NUM_THREADS=1 PATH=/usr/bin:/bin"`)
	put(`Iwd = "/home/%s/analysis/run%d"`, owner, n)
	put(`In = "/dev/null"`)
	put(`Out = "out"`)
	put(`Err = "err"`)
	put(`UserLog = "/home/%s/analysis/run.log"`, owner)
	put(`TransferInput = "input_%d.dat,config.yaml"`, n)
	put(`QDate = %d`, 1789000000+n)
	put(`JobPrio = %d`, n/c.submitters%3)
	c.request(put, shape)
	put(`Rank = ifThenElse(TARGET.HasSingularity =?= true, %d, 0) + TARGET.KFlops / 1000.0 - (TARGET.Memory - RequestMemory) / 1024`, 500+shape)
	put(`Requirements = TARGET.Arch == "X86_64" && TARGET.OpSys == "LINUX" && TARGET.OpSysMajorVer >= %d && TARGET.Disk >= RequestDisk && TARGET.Memory >= RequestMemory && TARGET.Cpus >= RequestCpus && (TARGET.HasFileTransfer || TARGET.FileSystemDomain == MY.FileSystemDomain) && !regexp(MY.AvoidedSites, TARGET.SiteName, "i")`, 7+shape%2)
	return classad.NewReader(&b, "a job").Next()
}

// request writes what the jobs of a shape ask for. Of every twenty shapes one asks
// for more than any slot has.
func (c clusters) request(put func(string, ...any), shape int) {
	cpus, memory := 1+shape%16/15, 500+4*(shape%300)
	switch {
	case c.light:
		cpus, memory = 1, 500+10*(shape%300)
	case shape%20 == 19:
		memory = 4_000_000
	}
	put("RequestCpus = %d", cpus)
	put("RequestMemory = %d", memory)
	put("DiskUsage = %d", 10_000+shape)
	put("RequestDisk = DiskUsage * 2")
	put(`AvoidedSites = "^(%s|none)$"`, sitesOf[shape%len(sitesOf)])
}
