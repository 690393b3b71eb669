package bench

import (
	"bytes"
	"fmt"
	"math/rand/v2"
)

// machines writes slot ads as the startds of a pool send them, about 75
// attributes each. The slots of a kind have the same hardware, system, site and
// policy; what differs from one to the next is what differs in a real pool, such
// as names, addresses, load and times.
type machines struct {
	kinds         int
	partitionable bool // whole machines of 64 cores, to be divided
	apart         bool // every slot is a kind of its own

	random *rand.Rand
	text   bytes.Buffer
}

// The numbers that kinds are made of.
var (
	coresOf   = []int{1, 1, 1, 2, 4, 8, 1, 2}
	memoryOf  = []int{2048, 4096, 3000, 8192, 6000}
	sitesOf   = []string{"Ulm", "Lund", "Porto", "Graz", "Brno", "Turku", "Delft"}
	systemsOf = []string{"AlmaLinux", "Debian", "RockyLinux"}
)

// startsOf are the owners' policies: always, while the machine is idle, not for
// everybody, for large memory, and for jobs that end in time.
var startsOf = []string{
	`true`,
	`(KeyboardIdle > 10 * 60 && LoadAvg - CondorLoadAvg < 0.4) || State == "Claimed"`,
	`TARGET.Owner =!= "root" && !regexp("^group_(test|old)\.", TARGET.AcctGroup ?: "", "i")`,
	`TARGET.RequestMemory >= 256 || TARGET.JobPrio > 5`,
	`(TARGET.WantedSites is undefined || stringListIMember(SiteName, TARGET.WantedSites)) && (TARGET.MaxWallTimeMins ?: 60) * 60 <= TotalTimeLeft`,
}

// slot returns the ad of slot i, until the next call.
func (m *machines) slot(i int) []byte {
	if m.random == nil {
		m.random = rand.New(rand.NewPCG(6, 1))
	}
	m.text.Reset()
	k := i % m.kinds
	size := 16 // slots of a machine
	if m.partitionable {
		size = 1
	}
	node := i / (size * m.kinds) * m.kinds
	m.identity(i/m.kinds%size+1, fmt.Sprintf("node%05d.%s.example.org", node+k, sitesOf[k%len(sitesOf)]), size)
	m.hardware(i, k)
	m.system(k)
	m.condition(node + k)
	m.policy(k)
	return m.text.Bytes()
}

func (m *machines) put(format string, args ...any) {
	fmt.Fprintf(&m.text, format+"\n", args...)
}

// identity writes who the slot is.
func (m *machines) identity(id int, machine string, size int) {
	address := fmt.Sprintf("10.%d.%d.%d", m.random.IntN(64), m.random.IntN(256), m.random.IntN(256))
	m.put(`MyType = "Machine"`)
	m.put(`Name = "slot%d@%s"`, id, machine)
	m.put(`Machine = "%s"`, machine)
	m.put(`SlotID = %d`, id)
	m.put(`SlotType = "%s"`, map[bool]string{false: "Static", true: "Partitionable"}[m.partitionable])
	if m.partitionable {
		m.put(`PartitionableSlot = true`)
	}
	m.put(`TotalSlots = %d`, size)
	m.put(`MyAddress = "<%s:9618?addrs=%s-9618&alias=%s&noUDP&sock=startd_%d_%04x>"`, address, address, machine, m.random.IntN(60000), m.random.IntN(65536))
	m.put(`StartdIpAddr = MyAddress`)
	m.put(`CondorVersion = "$CondorVersion: 25.0.2 2025-10-20 BuildID: 812345 PackageID: 25.0.2-1 $"`)
	m.put(`CondorPlatform = "$CondorPlatform: x86_64_AlmaLinux9 $"`)
	m.put(`FileSystemDomain = "example.org"`)
	m.put(`UidDomain = "example.org"`)
}

// hardware writes what the slot is made of.
func (m *machines) hardware(i, k int) {
	cpus, memory, disk := coresOf[k%len(coresOf)], memoryOf[k%len(memoryOf)]+64*(k/40), 20_000_000+1000*k
	memory *= cpus
	flops := 900_000 + 3_000*k
	if m.apart {
		memory, flops = memory+i, flops+i
	}
	if m.partitionable {
		cpus, memory, disk = 64, 256_000+64*k, 900_000_000
	}
	for _, prefix := range []string{"", "TotalSlot"} {
		m.put("%sCpus = %d", prefix, cpus)
		m.put("%sMemory = %d", prefix, memory)
		m.put("%sDisk = %d", prefix, disk)
	}
	m.put("TotalCpus = 64.0")
	m.put("DetectedCpus = 64")
	m.put("TotalMemory = %d", 512_000)
	m.put("DetectedMemory = %d", 512_000)
	m.put("TotalDisk = 1800000000")
	m.put("KFlops = %d", flops)
	m.put("Mips = %d", flops/50)
	m.put("VirtualMemory = %d", 2048*memory)
	m.put("TotalVirtualMemory = 540000000")
}

// system writes what runs on the machine.
func (m *machines) system(k int) {
	name, version := systemsOf[k/3%len(systemsOf)], 7+k%3
	m.put(`Arch = "X86_64"`)
	m.put(`OpSys = "LINUX"`)
	m.put(`OpSysName = "%s"`, name)
	m.put(`OpSysAndVer = "%s%d"`, name, version)
	m.put(`OpSysMajorVer = %d`, version)
	m.put(`OpSysVer = %d`, 100*version+k%5)
	for _, can := range []string{"HasFileTransfer", "HasIOProxy", "HasMPI", "HasReconnect", "HasJICLocalConfig", "HasSelfCheckpointTransfers", "HasUserNamespaces"} {
		m.put("%s = true", can)
	}
	m.put("HasVM = false")
	m.put("HasSingularity = %v", k%4 != 0)
	m.put(`SingularityVersion = "singularity-ce version 4.3.%d"`, k%2)
	m.put(`HasFileTransferPluginMethods = "data,file,ftp,http,https,osdf,pelican,s3"`)
	m.put(`SiteName = "%s"`, sitesOf[k%len(sitesOf)])
	m.put("IsWakeAble = false")
	m.put(`HibernationState = "NONE"`)
	m.put("NumDynamicSlots = 0")
	m.put("MaxJobRetirementTime = 0")
	m.put("TotalTimeLeft = %d", 100_000+k)
}

// condition writes how the slot is at the moment.
func (m *machines) condition(node int) {
	load, ours := m.random.Float64()/4, m.random.Float64()/8
	since := 1789900000 + m.random.IntN(90000)
	m.put(`State = "Unclaimed"`)
	m.put(`Activity = "Idle"`)
	m.put("LoadAvg = %f", load)
	m.put("TotalLoadAvg = %f", 2*load)
	m.put("CondorLoadAvg = %f", ours)
	m.put("TotalCondorLoadAvg = %f", 2*ours)
	m.put("KeyboardIdle = %d", 4000+m.random.IntN(90000))
	m.put("ConsoleIdle = %d", 4000+m.random.IntN(90000))
	m.put("EnteredCurrentState = %d", since)
	m.put("EnteredCurrentActivity = %d", since+m.random.IntN(900))
	m.put("MyCurrentTime = %d", 1790000000+node%300)
	m.put("LastHeardFrom = %d", 1790000001+node%300)
	m.put("UpdateSequenceNumber = %d", m.random.IntN(20000))
	m.put("DaemonStartTime = %d", 1788000000+node)
	m.put("LastBenchmark = %d", 1789990000+node%7200)
	m.put("JobStarts = %d", m.random.IntN(200))
	m.put("RecentJobStarts = %d", m.random.IntN(4))
	m.put("JobPreemptions = 0")
	m.put("JobRankPreemptions = 0")
	m.put("ClockMin = 840")
	m.put("ClockDay = 1")
}

// policy writes whom the slot is for.
func (m *machines) policy(k int) {
	within := func(what string) string {
		return fmt.Sprintf("(TARGET.Request%s isnt undefined ? MY.%s > 0 && TARGET.Request%s <= MY.%s : false)", what, what, what, what)
	}
	m.put("Start = %s", startsOf[k%len(startsOf)])
	m.put("IsOwner = (START =?= false)")
	m.put("WithinResourceLimits = ((TARGET.RequestCpus ?: 1) <= MY.Cpus && %s && %s && ((TARGET.RequestGPUs ?: 0) <= (MY.GPUs ?: 0)))", within("Memory"), within("Disk"))
	m.put("IsValidCheckpointPlatform = (TARGET.JobUniverse =!= 1 || (MY.CheckpointPlatform =!= undefined && (TARGET.NumCkpts == 0 || TARGET.LastCheckpointPlatform =?= MY.CheckpointPlatform)))")
	m.put("Requirements = (START) && (IsValidCheckpointPlatform) && (WithinResourceLimits)")
	m.put("Rank = 0.0")
}
