package pool

// RequestPrefix stands before the name of a resource, or of a complex or its shortcut, in the name of the
// attribute with a job's request for it.
const RequestPrefix = "Request"

// Attribute names of job and slot ads that more than one part of fairspool
// reads or writes, spelled as in HTCondor.
const (
	AttrClusterID       = "ClusterId"
	AttrProcID          = "ProcId"
	AttrOwner           = "Owner"
	AttrUser            = "User"
	AttrAccountingGroup = "AccountingGroup"
	AttrNiceUser        = "NiceUser"
	AttrJobStatus       = "JobStatus"
	AttrLastJobStatus   = "LastJobStatus"
	AttrEnteredStatus   = "EnteredCurrentStatus"
	AttrQDate           = "QDate"
	AttrJobPrio         = "JobPrio"
	AttrPreJobPrio1     = "PreJobPrio1"
	AttrPreJobPrio2     = "PreJobPrio2"
	AttrPostJobPrio1    = "PostJobPrio1"
	AttrPostJobPrio2    = "PostJobPrio2"
	AttrCmd             = "Cmd"
	AttrArgs            = "Args"
	AttrArguments       = "Arguments"
	AttrEnv             = "Env"
	AttrEnvironment     = "Environment"
	AttrIwd             = "Iwd"
	AttrIn              = "In"
	AttrOut             = "Out"
	AttrErr             = "Err"
	AttrUserLog         = "UserLog"
	AttrRequirements    = "Requirements"
	AttrInteractive     = "InteractiveJob" // the job exists for a shell beside it
	AttrRank            = "Rank"
	AttrRequestCpus     = "RequestCpus"
	AttrRequestMemory   = "RequestMemory"
	AttrRequestDisk     = "RequestDisk"
	AttrUnixGroup       = "UnixGroup"
	AttrAcctGroup       = "AcctGroup"
	AttrQOS             = "QOS"
	AttrClass           = "Class"
	AttrProject         = "Project"

	AttrName           = "Name"
	AttrMachine        = "Machine"
	AttrState          = "State"
	AttrActivity       = "Activity"
	AttrCpus           = "Cpus"
	AttrMemory         = "Memory"
	AttrDisk           = "Disk"
	AttrSlotWeight     = "SlotWeight"
	AttrSlotID         = "SlotID"
	AttrSlotType       = "SlotType"
	AttrPartitionable  = "PartitionableSlot"
	AttrDynamicSlot    = "DynamicSlot"
	AttrParentSlotID   = "ParentSlotId"
	AttrRemoteUser     = "RemoteUser"
	AttrRemoteOwner    = "RemoteOwner"
	AttrLastHeardFrom  = "LastHeardFrom"
	AttrAdLifetime     = "ClassAdLifetime"
	AttrMyType         = "MyType"
	AttrFlockedTo      = "FlockedTo" // the engine of kind fairspool with the pool that gives the slot; missing in the pool's own slots
	AttrKillSig        = "KillSig"
	AttrRemoveKillSig  = "RemoveKillSig"
	AttrMaxVacateTime  = "JobMaxVacateTime"
	AttrKillSigTimeout = "KillSigTimeout"

	AttrRemoteHost       = "RemoteHost"
	AttrLastRemoteHost   = "LastRemoteHost"
	AttrNumJobMatches    = "NumJobMatches"
	AttrLastMatchTime    = "LastMatchTime"
	AttrNumJobStarts     = "NumJobStarts"
	AttrJobStartDate     = "JobStartDate"
	AttrCurrentStartDate = "JobCurrentStartDate"
	AttrCompletionDate   = "CompletionDate"
	AttrExitCode         = "ExitCode"
	AttrExitBySignal     = "ExitBySignal"
	AttrExitSignal       = "ExitSignal"
	AttrWallClock        = "RemoteWallClockTime"
	AttrUserCPU          = "RemoteUserCpu"
	AttrSysCPU           = "RemoteSysCpu"
	AttrResidentSetSize  = "ResidentSetSize"
	AttrMemoryUsage      = "MemoryUsage"
	AttrRemoveReason     = "RemoveReason"
	AttrHoldReason       = "HoldReason"
	AttrHoldReasonCode   = "HoldReasonCode"
	AttrVacateReason     = "VacateReason"
	AttrReleaseReason    = "ReleaseReason"
	AttrNumHolds         = "NumHolds"
	AttrNumSystemHolds   = "NumSystemHolds"
	AttrNumCompletions   = "NumJobCompletions"
	AttrLastVacateTime   = "LastVacateTime"

	// The claim on a slot, and the promise of it.
	AttrEnteredState    = "EnteredCurrentState"
	AttrJobID           = "JobId"
	AttrCurrentRank     = "CurrentRank"
	AttrJobStart        = "JobStart"
	AttrTotalJobRunTime = "TotalJobRunTime"
	AttrPreemptingUser  = "PreemptingUser"
	AttrPreemptingOwner = "PreemptingOwner"
	AttrPreemptingJobID = "PreemptingJobId"
	AttrPreemptingRank  = "PreemptingRank"

	// AttrMachineResources names the resources by which a slot can be divided, separated
	// by blanks.
	AttrMachineResources = "MachineResources"
	// TotalPrefix begins the names of a slot's total amounts, such as TotalSlotCpus.
	TotalPrefix = "TotalSlot"
	// AttrConcurrencyLimits names a job's limits.
	AttrConcurrencyLimits = "ConcurrencyLimits"

	// Of jobs that are pilots of other pools, and of any that may be pilots' jobs there; ours.
	AttrFlock        = "Flock"        // false: it runs in no other pool
	AttrFlockedFrom  = "FlockedFrom"  // the domain of the pool that the pilot belongs to
	AttrFlockedPilot = "FlockedPilot" // what that pool calls it

	// Why a job was held before it was released the last time.
	AttrLastHoldReason        = "LastHoldReason"
	AttrLastHoldReasonCode    = "LastHoldReasonCode"
	AttrLastHoldReasonSubCode = "LastHoldReasonSubCode"

	// The policy maui's record of a job between cycles; ours.
	AttrEligibleSince  = "EligibleSince"  // since when its queue time counts, Unix seconds; 0: it is not eligible
	AttrBypassCount    = "BypassCount"    // how often jobs behind it were matched first
	AttrSystemPriority = "SystemPriority" // 1 to 1000 in the place of its own priority, or 2e9 and what is added to it

	// Notification of a job's end.
	AttrJobNotification = "JobNotification"
	AttrNotifyUser      = "NotifyUser"
	AttrNotifyCommand   = "NotifyCommand" // the program to run for events of the job; ours
	AttrNotifyArguments = "NotifyArguments"
	AttrNotifyEvents    = "NotifyEvents"
	AttrLeaveJobInQueue = "LeaveJobInQueue"
	AttrJobBatchName    = "JobBatchName"

	// What kind of job it is.
	AttrJobUniverse       = "JobUniverse"
	AttrMinHosts          = "MinHosts"
	AttrWantDocker        = "WantDocker"
	AttrWantContainer     = "WantContainer"
	AttrDockerImage       = "DockerImage"
	AttrContainerImage    = "ContainerImage"
	AttrSingularityImage  = "SingularityImage"
	AttrContainerRuntimes = "ContainerRuntimes" // of a slot: what runs containers, with versions

	// Which files a job wants copied.
	AttrShouldTransfer        = "ShouldTransferFiles"
	AttrWhenToTransferOutput  = "WhenToTransferOutput"
	AttrTransferExecutable    = "TransferExecutable"
	AttrBatchScript           = "BatchScript" // the text of the batch script that the job runs
	AttrTransferInput         = "TransferInput"
	AttrTransferOutput        = "TransferOutput"
	AttrTransferOutputRemaps  = "TransferOutputRemaps"
	AttrOutputDestination     = "OutputDestination"
	AttrPreserveRelativePaths = "PreserveRelativePaths"
	AttrSuccessExitCode       = "SuccessExitCode"
	AttrJobSuccessExitCode    = "JobSuccessExitCode"
	AttrHoldReasonSubCode     = "HoldReasonSubCode"

	// A slot's access to files.
	AttrHasFileTransfer  = "HasFileTransfer"
	AttrFileSystemDomain = "FileSystemDomain"

	// The record of the attempts in a job's ad.
	AttrNumShadowStarts   = "NumShadowStarts"              // attempts that were begun
	AttrJobRunCount       = "JobRunCount"                  // the same
	AttrLastStartDate     = "JobLastStartDate"             // when the attempt before this one began
	AttrExecutingDate     = "JobCurrentStartExecutingDate" // when this one's program was started
	AttrShadowBday        = "ShadowBday"                   // when this one's supervisor began
	AttrCurrentHosts      = "CurrentHosts"                 // 1 while it runs, else 0
	AttrCommittedTime     = "CommittedTime"                // seconds of attempts that counted
	AttrCommittedSlotTime = "CommittedSlotTime"            // the same times the slot's weight
	AttrCumulativeSlot    = "CumulativeSlotTime"           // seconds of all attempts times the slot's weight
	AttrLastWallClock     = "LastRemoteWallClockTime"      // seconds of the last attempt
	AttrWastedTime        = "WastedTime"                   // ours: seconds of attempts that counted for nothing
	AttrWallClockCkpt     = "WallClockCheckpoint"          // seconds of the present attempt that RemoteWallClockTime has already
	AttrRemoteSlotID      = "RemoteSlotID"
	AttrCpusUsage         = "CpusUsage" // cores, on average
	AttrDiskUsage         = "DiskUsage" // KB
	AttrImageSize         = "ImageSize" // KB
	AttrBytesSent         = "BytesSent"
	AttrBytesRecvd        = "BytesRecvd"
	AttrVacateReasonCode  = "VacateReasonCode"
	AttrVacateReasonSub   = "VacateReasonSubCode"
	AttrTickets           = "Tickets"     // ours: the basis of the run-time priority
	AttrCPUAffinity       = "CpuAffinity" // ours: the processors that it is bound to, such as "0,2"

	// A job's wishes for running and leaving.
	AttrHoldKillSig          = "HoldKillSig"
	AttrMaxJobRetirementTime = "MaxJobRetirementTime" // seconds
	AttrWantGracefulRemoval  = "WantGracefulRemoval"
	AttrCoreSize             = "CoreSize"        // bytes
	AttrDontAppend           = "DontAppend"      // the output of an attempt replaces that of the previous one
	AttrAppendFiles          = "AppendFiles"     // which files are appended to, the standard universe's
	AttrMemoryLimitedBy      = "MemoryLimitedBy" // ours: "cgroup", "watch" or "rlimit"
	AttrDiskLimitedBy        = "DiskLimitedBy"   // ours: likewise

	// Checkpoints.
	AttrCheckpointExitCode     = "CheckpointExitCode"
	AttrCheckpointExitBySignal = "CheckpointExitBySignal"
	AttrCheckpointExitSignal   = "CheckpointExitSignal"
	AttrTransferCheckpoint     = "TransferCheckpoint"
	AttrWantFTOnCheckpoint     = "WantFTOnCheckpoint"            // the job may end with a checkpoint that the next three describe
	AttrSuccessCkptCode        = "SuccessCheckpointExitCode"     // its exit code
	AttrSuccessCkptBySignal    = "SuccessCheckpointExitBySignal" // it ends by a signal
	AttrSuccessCkptSignal      = "SuccessCheckpointExitSignal"   // and by which
	AttrNumCkpts               = "NumCkpts"
	AttrLastCkptTime           = "LastCkptTime"
)

// BatchScriptName is the name of the file in the scratch directory of a job that holds its
// AttrBatchScript, and BatchScriptPath the file in the job's arguments.
const (
	BatchScriptName = ".job.script"
	BatchScriptPath = "$$(CondorScratchDir)/" + BatchScriptName
)

// Details are the attributes of jobs that other users see only where JOB_DETAILS_VISIBLE says so: the
// command with its arguments and environment, and the names of files.
var Details = []string{
	AttrCmd, AttrArgs, AttrArguments, AttrEnv, AttrEnvironment, AttrIwd, AttrIn, AttrOut, AttrErr, AttrUserLog, AttrNotifyCommand, AttrNotifyArguments,
	AttrTransferInput, AttrTransferOutput, AttrTransferOutputRemaps, AttrOutputDestination, AttrTransferCheckpoint,
	AttrAppendFiles, "BufferFiles", "CommonInputFiles", "CompressFiles", "DAGManNodesLog", "DontEncryptInputFiles", "DontEncryptOutputFiles",
	"EncryptInputFiles", "EncryptOutputFiles", "FetchFiles", "FileRemaps", "JarFiles", "JobStarterLog", "LocalFiles", "ManifestDir",
	"OutputDirectory", "PublicInputFiles", "RendezvousDirectory", "ScitokensFile", "ToolDaemonArgs", "ToolDaemonArguments", "ToolDaemonCmd", "ToolDaemonInput",
	"ToolDaemonOutput", "X509UserProxy", "PreCmd", "PreArguments", "PostCmd", "PostArguments", "OrigCmd", "OrigIwd", "TransferInputRemaps", AttrBatchScript,
}

// Universe is the kind of environment that a job runs in, by HTCondor's numbers
// (manual, "Job ClassAd Attributes", JobUniverse).
type Universe int

// The universes that are distinguished. Jobs in docker and container are vanilla ones
// with WantDocker or WantContainer.
const (
	Standard  Universe = 1
	Vanilla   Universe = 5
	Scheduler Universe = 7
	Grid      Universe = 9
	Java      Universe = 10
	Parallel  Universe = 11
	Local     Universe = 12
	VM        Universe = 13
)
