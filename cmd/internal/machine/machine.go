// Package machine finds out what this machine is, and makes its slots of that.
package machine

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/platform"
	"fairspool/lib/classad"
	"fairspool/lib/launch/container"
	"fairspool/lib/lifecycle"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Machine is what its slots are made of.
type Machine struct {
	Name     string
	Cpus     int
	MemoryMB int64
	DiskKB   int64 // free on the spool's file system
	Arch     string
	System   platform.System
	// UIDDomain is UID_DOMAIN; empty if it is not configured.
	UIDDomain string
	// Containers are the programs that run jobs in containers, which were tried; nil: none was.
	Containers []container.Found
}

// This returns the machine of the process, by the configuration and the place of the call's
// spool.
func This(c *cmdline.Call) (Machine, error) {
	name, err := c.Hostname()
	if err != nil {
		return Machine{}, err
	}
	dir, err := c.SpoolDir()
	if err != nil {
		return Machine{}, err
	}
	return Called(c, name, dir)
}

// Called returns the machine of the process under a name, with the free space on the file system of a folder.
func Called(c *cmdline.Call, name, dir string) (Machine, error) {
	m := Machine{Name: name, Cpus: runtime.NumCPU(), Arch: platform.Arch(), UIDDomain: c.Config.UIDDomain}
	info, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return m, fmt.Errorf("/proc/meminfo: %w", cmdline.Cause(err))
	}
	kb, ok := memTotal(string(info))
	if !ok {
		return m, fmt.Errorf("/proc/meminfo: no MemTotal")
	}
	m.MemoryMB = kb / 1024
	if m.DiskKB, err = freeKB(dir); err != nil {
		return m, err
	}
	m.System = platform.Here()
	return m, nil
}

// Try finds out what runs jobs in containers. A process tries each program once.
func (m *Machine) Try(c *cmdline.Call) {
	s := container.Of(c.Config)
	tried.Lock()
	defer tried.Unlock()
	key := strings.Join(s.Runtimes, "\n")
	if _, done := tried.found[key]; !done {
		tried.found[key] = s.Detect(context.Background())
	}
	m.Containers = tried.found[key]
}

// tried are the runtimes found, by the allowed programs.
var tried = struct {
	sync.Mutex
	found map[string][]container.Found
}{found: map[string][]container.Found{}}

// freeKB returns the free space on the file system of a folder, which need not exist yet.
func freeKB(dir string) (int64, error) {
	var st unix.Statfs_t
	err := unix.Statfs(dir, &st)
	for err == unix.ENOENT && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		err = unix.Statfs(dir, &st)
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", dir, err)
	}
	return int64(st.Bavail) * st.Bsize / 1024, nil
}

// memTotal returns the KB of memory that /proc/meminfo tells of.
func memTotal(meminfo string) (int64, bool) {
	for line := range strings.Lines(meminfo) {
		f := strings.Fields(line)
		if len(f) >= 2 && f[0] == "MemTotal:" {
			n, err := strconv.ParseInt(f[1], 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

// Slot makes the ad of the n-th of count slots.
func (m Machine) Slot(n, count int) *classad.Ad {
	ad := classad.New()
	ad.SetString(pool.AttrMyType, "Machine")
	ad.SetString(pool.AttrName, SlotName(n, m.Name))
	ad.SetString(pool.AttrMachine, m.Name)
	ad.SetInt(pool.AttrSlotID, int64(n))
	ad.SetInt("TotalSlots", int64(count))
	ad.SetString(pool.AttrSlotType, "Static")
	ad.SetInt(pool.AttrCpus, 1)
	ad.SetInt(pool.AttrMemory, m.MemoryMB/int64(count))
	ad.SetInt(pool.AttrDisk, m.DiskKB/int64(count))
	ad.SetInt("DetectedCpus", int64(m.Cpus))
	ad.SetInt("DetectedMemory", m.MemoryMB)
	ad.SetString("Arch", m.Arch)
	ad.SetString("OpSys", platform.OpSys)
	describe(ad, m.System)
	ad.SetBool(pool.AttrHasFileTransfer, true)
	truths, texts := container.Offer(m.Containers)
	for _, name := range truths {
		ad.SetBool(name, true)
	}
	for _, t := range texts {
		ad.SetString(t[0], t[1])
	}
	ad.SetString(pool.AttrFileSystemDomain, m.Name)
	if m.UIDDomain != "" {
		ad.SetString("UidDomain", m.UIDDomain)
	}
	ad.SetString(pool.AttrState, "Unclaimed")
	ad.SetString(pool.AttrActivity, "Idle")
	ad.SetBool("Start", true)
	ad.Set(pool.AttrRequirements, start)
	ad.SetReal(pool.AttrRank, 0)
	ad.SetReal("CurrentRank", 0)
	return ad
}

// start is the Requirements of our slots: the machine owner's START.
var start = expression("START")

// expression compiles a constant text.
func expression(text string) *classad.Expr {
	e, err := classad.ParseExpr(text)
	if err != nil {
		panic(err)
	}
	return e
}

// SlotName returns the name of the n-th slot of a machine.
func SlotName(n int, host string) string { return fmt.Sprintf("slot%d@%s", n, host) }

// Divide turns the ad of a slot that has all of the machine into a partitionable slot's,
// with the given resources.
func (m Machine) Divide(ad *classad.Ad, resources []pool.Amount) error {
	for _, r := range resources {
		if ad.Has(r.Name) {
			return cmdline.Usagef("-resource %s: is no resource of its own, slot ads have it already", r.Name)
		}
	}
	ad.SetBool(pool.AttrPartitionable, true)
	ad.SetString(pool.AttrSlotType, "Partitionable")
	ad.SetInt(pool.AttrCpus, int64(m.Cpus))
	names := []string{pool.AttrCpus, pool.AttrMemory, pool.AttrDisk}
	for _, r := range resources {
		if r.Of == math.Trunc(r.Of) {
			ad.SetInt(r.Name, int64(r.Of))
		} else {
			ad.SetReal(r.Name, r.Of)
		}
		names = append(names, r.Name)
	}
	for _, name := range names {
		amount, _ := ad.Lookup(name)
		ad.Set(pool.TotalPrefix+name, amount)
	}
	ad.SetString(pool.AttrMachineResources, strings.Join(names, " "))
	ad.Set(pool.AttrRequirements, within(names))
	return nil
}

// within is the Requirements of a partitionable slot: the machine owner's START, and that
// the free rest suffices. A job that does not say how many cores it wants gets one, and
// none of any other resource.
func within(names []string) *classad.Expr {
	var b strings.Builder
	b.WriteString("START")
	for _, name := range names {
		unsaid := "0"
		if name == pool.AttrCpus {
			unsaid = "1"
		}
		b.WriteString(" && (TARGET.Request" + name + " ?: " + unsaid + ") <= MY." + name)
	}
	return expression(b.String())
}

// describe sets the attributes of the system in a slot's ad.
func describe(ad *classad.Ad, s platform.System) {
	if s.Name == "" {
		return
	}
	ad.SetString("OpSysName", s.Name)
	ad.SetString("OpSysShortName", s.Name)
	ad.SetString("OpSysAndVer", s.NameAndVersion())
	if s.Long != "" {
		ad.SetString("OpSysLongName", s.Long)
	}
	if s.Major > 0 {
		ad.SetInt("OpSysMajorVer", int64(s.Major))
	}
}

// Serve makes this machine the slot of a pool that was never given one: one
// partitionable slot, as `slots detect -partitionable` makes it. It says so on standard
// error. Nothing happens where DETECT_SLOTS is false, in a spool that is not private
// (cmdline.Call.Private), and at a time of the user's own, which is for trying things out.
func Serve(c *cmdline.Call, s *spool.Spool) error {
	if !serves(c, s) {
		return nil
	}
	var given, unnoted bool
	if err := s.View(func(v *spool.View) error {
		given, unnoted = lifecycle.EverGiven(v), lifecycle.FilesUnnoted(v)
		return nil
	}); err != nil || given && !unnoted {
		return err
	}
	m, err := This(c)
	if err != nil {
		return err
	}
	m.Try(c)
	err = s.Update(func(tx *spool.Tx) error {
		if given = lifecycle.EverGiven(&tx.View); given {
			tx.Op("note slots")
			lifecycle.NoteGiven(tx)
			return nil
		}
		ad, err := m.Whole(c)
		if err != nil {
			return err
		}
		tx.Op("advertise", "detect")
		tx.PutSlot(SlotName(1, m.Name), ad)
		return nil
	})
	if err == nil && !given {
		c.Warn("this machine, %s, serves the pool now: %s; slots(8) changes that", m.Name, m.size())
	}
	return err
}

// ForeseeServing says on standard error what Serve would do, and changes nothing.
func ForeseeServing(c *cmdline.Call, s *spool.Spool, v *spool.View) error {
	if !serves(c, s) || lifecycle.EverGiven(v) {
		return nil
	}
	m, err := This(c)
	if err == nil {
		c.Warn("the pool has no slots: a cycle would first let this machine, %s, serve it: %s", m.Name, m.size())
	}
	return err
}

// serves reports whether the pool in a spool may be given this machine unasked. A pool with engines has their machines.
func serves(c *cmdline.Call, s *spool.Spool) bool {
	return c.Config.DetectSlots && len(c.Config.Engines) == 0 && !c.OwnTime() && c.Private(s.Dir())
}

// Whole returns the ad of one partitionable slot that is the machine, heard from at the
// call's time.
func (m Machine) Whole(c *cmdline.Call) (*classad.Ad, error) {
	ad := m.Slot(1, 1)
	ad.SetInt(pool.AttrLastHeardFrom, c.Now.Unix())
	return ad, m.Divide(ad, nil)
}

// FitsPilot is the Start of a slot that jobs have to leave at a time: a job with a limit on its run time has to end
// before that. Other jobs may have to leave.
var FitsPilot = pool.RunTime(0) + " <= MY.PilotEnds - time()"

// size words the machine's size: "2 cpus, 24 GiB memory".
func (m Machine) size() string {
	cpus := plural.Count(m.Cpus, "cpu")
	if m.MemoryMB < 1024 {
		return fmt.Sprintf("%s, %d MiB memory", cpus, m.MemoryMB)
	}
	return fmt.Sprintf("%s, %s GiB memory", cpus, strings.TrimSuffix(fmt.Sprintf("%.1f", float64(m.MemoryMB)/1024), ".0"))
}
