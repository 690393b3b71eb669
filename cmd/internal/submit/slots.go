package submit

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"fairspool/lib/caseless"
	"fairspool/lib/classad"
	"fairspool/lib/jobad"
	"fairspool/lib/lifecycle"
	"fairspool/lib/nearest"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// containers are the attributes of a job in a container, its command, and what slots say that run that.
var containers = [...]struct{ attr, command, offer, what string }{
	{pool.AttrWantDocker, "docker_image", "HasDocker", "containers"},
	{pool.AttrWantContainer, "container_image", "HasContainer", "containers"},
	{"WantDockerImage", "container_image", "HasDockerURL", "images of Docker's"},
	{"WantSIF", "container_image", "HasSIF", "SIF images"},
	{"WantSandboxImage", "container_image", "HasSandboxImage", "directories as images"},
	{pool.AttrSingularityImage, pool.AttrSingularityImage, "HasContainer", "containers"},
}

// lookAtSlots warns of names in Requirements and Rank that neither a job nor a slot has. It finds
// jobs in containers that no slot takes: with -force it returns them, otherwise they are an
// error. It reads the slots only for a container and for an unusual name.
func (s *submission) lookAtSlots(d *jobad.Jobs, k cluster, sp *spool.Spool) (doomed []trouble, err error) {
	if s.blindly {
		return nil, nil
	}
	l := demands{submission: s, jobs: d, spool: sp, told: map[string]bool{}}
	first, plain := 0, false // plain: jobs that have nothing of this but what all share were looked at
	for _, r := range k.Runs {
		own := r.Has(pool.AttrRequirements, pool.AttrRank, pool.AttrWantDocker, pool.AttrWantContainer, pool.AttrSingularityImage)
		if own || !plain {
			ad := k.adOf(r)
			if err := l.names(ad, first); err != nil {
				return nil, err
			}
			why, err := l.container(ad, first)
			switch {
			case err != nil:
				return nil, err
			case why != nil && !s.force:
				return nil, why
			case why != nil:
				doomed = append(doomed, trouble{first, r.Count, why.Error(), lifecycle.HeldAtSubmit, 0})
			}
			plain = plain || !own
		}
		first += r.Count
	}
	return doomed, nil
}

// demands is a look at what jobs demand of slots.
type demands struct {
	*submission
	jobs  *jobad.Jobs
	spool *spool.Spool
	told  map[string]bool // names that were reported, or looked up, and expressions that were looked at
	read  bool            // whether the slots were read
	slots []pool.Slot
}

// readSlots reads the slots, once.
func (l *demands) readSlots() error {
	if l.read {
		return nil
	}
	l.read = true
	return l.spool.View(func(v *spool.View) error {
		l.slots, _ = v.Slots()
		return nil
	})
}

// container returns why no slot takes a job that runs in a container, nil if one does or the job
// runs in none. A pool without slots may get such a slot: that is a warning.
func (l *demands) container(ad *classad.Ad, proc int) (why, err error) {
	for _, c := range containers {
		wants, isTruth := ad.EvalBool(&classad.Context{}, c.attr)
		if !ad.Has(c.attr) || isTruth && !wants {
			continue
		}
		if err := l.readSlots(); err != nil {
			return nil, err
		}
		takes := func(s pool.Slot) bool {
			yes, _ := s.Ad.EvalBool(&classad.Context{}, c.offer)
			return yes
		}
		if slices.ContainsFunc(l.slots, takes) {
			continue
		}
		command := c.command
		if command == "container_image" && ad.Has(pool.AttrDockerImage) {
			command = "docker_image"
		}
		why := l.jobs.RefuseCommand(command, c.attr, proc, fmt.Errorf("no slot of the pool runs %s: none has %s = true", c.what, c.offer))
		if len(l.slots) > 0 {
			return why, nil
		}
		if !l.told[command] {
			l.told[command] = true
			l.warn("%v", why)
		}
	}
	return nil, nil
}

// names warns of names in the expressions of a job that neither it nor a slot has.
func (l *demands) names(ad *classad.Ad, proc int) error {
	for _, x := range [...]struct{ command, attr string }{{"requirements", pool.AttrRequirements}, {"rank", pool.AttrRank}} {
		e, ok := ad.Lookup(x.attr)
		if !ok {
			continue
		}
		text := e.String()
		if len(l.told) > mostExpressions || l.told[text] {
			continue
		}
		l.told[text] = true
		looks, ok := classad.Sides(e)
		if !ok {
			continue
		}
		for _, name := range looks.Own {
			if !ad.Has(name) && !caseless.Contains(jobNames(), name) {
				l.unknown(x.command, x.attr, proc, "the job has no ", text, name, jobNames())
			}
		}
		for _, name := range slices.Concat(looks.Other, looks.Either) {
			if caseless.Contains(slotNames(), name) || slices.Contains(looks.Either, name) && (ad.Has(name) || caseless.Contains(jobNames(), name)) {
				continue
			}
			if err := l.readSlots(); err != nil {
				return err
			}
			if !slices.ContainsFunc(l.slots, func(s pool.Slot) bool { return s.Ad.Has(name) }) {
				command, attr := x.command, x.attr
				if request := "Request" + spelled(text, name); ad.Has(request) { // the clause comes from request_NAME
					command, attr = "request_"+name, request
				}
				l.unknown(command, attr, proc, "no slot has ", text, name, slotNames())
			}
		}
	}
	return nil
}

// mostExpressions is of how many expressions the names are looked at: most jobs of a cluster
// have the same one.
const mostExpressions = 100

// unknown warns of a name in the text of an expression, once.
func (l *demands) unknown(command, attr string, proc int, what, text, name string, known []string) {
	key := command + " " + name
	if l.told[key] {
		return
	}
	l.told[key] = true
	if len(l.slots) > 0 {
		known = slices.Concat(known, l.slots[0].Ad.Names())
	}
	hint := nearest.Hint(name, known)
	if hint == "" && regexp.MustCompile(`(?i)[=!]=?\s*`+regexp.QuoteMeta(name)+`\b`).MatchString(text) {
		hint = "; put a text in double quotes"
	}
	if hint != "" || len(l.slots) > 0 || !l.read { // a pool without slots may get such ones
		l.warn("%v", l.jobs.RefuseCommand(command, attr, proc, fmt.Errorf("%s%s%s", what, spelled(text, name), hint)))
	}
}

// spelled returns a name, which is in lower case, as an expression spells it.
func spelled(text, name string) string {
	if i := strings.Index(strings.ToLower(text), name); i >= 0 && len(strings.ToLower(text)) == len(text) {
		return text[i : i+len(name)]
	}
	return name
}

// slotNames are attributes that slots of HTCondor and of fairspool may have, even if no
// slot of the pool has them now.
var slotNames = sync.OnceValue(func() []string {
	return strings.Fields(`
	Name Machine MyType MyAddress Arch OpSys OpSysAndVer OpSysVer OpSysMajorVer OpSysName OpSysShortName OpSysLongName OpSysLegacy
	Cpus Memory Disk GPUs TotalCpus TotalMemory TotalDisk TotalGPUs TotalSlotCpus TotalSlotMemory TotalSlotDisk TotalSlotGPUs
	DetectedCpus DetectedMemory DetectedGPUs TotalVirtualMemory VirtualMemory TotalSlots NumDynamicSlots
	SlotID SlotType SlotTypeID SlotWeight PartitionableSlot DynamicSlot ParentSlotId ChildCpus ChildMemory
	State Activity EnteredCurrentState EnteredCurrentActivity CurrentRank CurrentTime Requirements Rank Start IsOwner
	KFlops Mips LoadAvg CondorLoadAvg TotalLoadAvg TotalCondorLoadAvg KeyboardIdle ConsoleIdle ClockMin ClockDay CpuBusy CpuBusyTime CpuIsBusy
	CpuFamily CpuModel CpuModelNumber CpuCacheSize Microarch has_avx has_avx2 has_avx512f has_avx512dq has_ssse3 has_sse4_1 has_sse4_2
	CUDACapability CUDADeviceName CUDADriverVersion CUDAGlobalMemoryMb CUDARuntimeVersion CUDAMaxSupportedVersion AvailableGPUs
	UidDomain FileSystemDomain CheckpointPlatform CondorVersion CondorPlatform JavaVendor JavaVersion JavaMFlops
	HasJava HasDocker HasDockerURL HasContainer HasSIF HasSandboxImage HasSingularity HasVM HasMPI HasJobDeferral HasFileTransfer
	HasFileTransferPluginMethods HasPerFileEncryption HasEncryptExecuteDirectory HasJobTransferPlugins HasReconnect HasRotationalScratch
	HasSelfCheckpointTransfers HasTDP HasUserNamespaces HasVirtualMachine VM_Type VM_Memory VM_Networking
	RemoteUser RemoteOwner RemoteUserPrio RemoteGroup RemoteNegotiatingGroup AccountingGroup JobId GlobalJobId JobStart JobUniverse
	PreemptingUser PreemptingOwner PreemptingRank TotalJobRunTime TotalTimeClaimedBusy TotalTimeClaimedIdle TotalTimeUnclaimedIdle
	MaxJobRetirementTime MachineMaxVacateTime MachineResources Offline Unhibernate DaemonStartTime LastHeardFrom MyCurrentTime
	AcceptingJobs Draining RetirementTimeRemaining ClassAdLifetime SubnetMask HardwareAddress Devices`)
})

// jobNames are attributes that jobs get when they are in the queue, or have only now and then.
var jobNames = sync.OnceValue(func() []string {
	return strings.Fields(`
	ClusterId ProcId JobId GlobalJobId User Owner JobStatus LastJobStatus EnteredCurrentStatus QDate JobPrio CurrentTime
	RequestCpus RequestMemory RequestDisk RequestGPUs NumJobStarts NumJobMatches NumJobCompletions NumShadowStarts NumHolds NumSystemHolds
	JobStartDate JobRunCount JobCurrentStartDate JobLastStartDate JobCurrentStartExecutingDate LastMatchTime LastVacateTime
	LastRemoteHost RemoteHost LastRejMatchTime LastRejMatchReason RemoteWallClockTime CumulativeSlotTime CommittedTime
	ExitCode ExitStatus ExitBySignal ExitSignal MemoryUsage DiskUsage CpusUsage ImageSize ResidentSetSize
	HoldReason HoldReasonCode HoldReasonSubCode LastHoldReason LastHoldReasonCode LastHoldReasonSubCode ReleaseReason
	VacateReason VacateReasonCode VacateReasonSubCode DeferralTime DeferralWindow DeferralPrepTime ScheddInterval
	SubmitterUserPrio SubmitterUserResourcesInUse SubmitterGroup SubmitterNegotiatingGroup SubmitterGroupQuota SubmitterGroupResourcesInUse
	EligibleSince BypassCount SystemPriority Tickets AccountingGroup AcctGroup AcctGroupUser ConcurrencyLimits JobUniverse TotalSuspensions`)
})
