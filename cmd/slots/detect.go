package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/adprint"
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/platform"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// machine is what detect finds out about this one.
type machine struct {
	name     string
	cpus     int
	memoryMB int64
	diskKB   int64 // free on the spool's file system
	arch     string
	system   platform.System
	// uidDomain is UID_DOMAIN; empty if it is not configured.
	uidDomain string
}

// detect advertises this machine's processors as slots, which share its
// memory and disk equally, or all of it as one partitionable slot.
func detect(c *cmdline.Call, args []string) error {
	if len(args) > 0 {
		return cmdline.Usagef("detect: %s: takes no names", args[0])
	}
	m, err := thisMachine(c)
	if err != nil {
		return err
	}
	count := m.cpus
	if c.Has("count") {
		if count, err = strconv.Atoi(c.Value("count")); err != nil || count < 1 || count > maxCount {
			return cmdline.Usagef("-count %s: want a whole number from 1 to %d", c.Value("count"), maxCount)
		}
	}
	resources, err := resourcesGiven(c)
	if err != nil {
		return err
	}
	if c.Has("partitionable") {
		count = 1
	}
	offers := make([]offer, count)
	for i := range offers {
		ad := m.slot(i+1, count)
		if c.Has("partitionable") {
			if err := m.divide(ad, resources); err != nil {
				return err
			}
		}
		name, _ := textOf(ad, pool.AttrName)
		offers[i] = offer{name, ad, "detect"}
	}
	if c.Has("dry-run") {
		ads := make([]*classad.Ad, count)
		for i, o := range offers {
			ads[i] = o.ad
			stamp(o.ad, c.Now)
		}
		return adprint.Long(c.Stdout, ads)
	}
	if err := put(c, offers, []string{"detect"}); err != nil {
		return err
	}
	return warnOfSurplus(c, m.name, count)
}

const maxCount = 10000

// slot makes the ad of the n-th of count slots.
func (m machine) slot(n, count int) *classad.Ad {
	ad := classad.New()
	ad.SetString(pool.AttrMyType, "Machine")
	ad.SetString(pool.AttrName, slotName(n, m.name))
	ad.SetString(pool.AttrMachine, m.name)
	ad.SetInt(pool.AttrSlotID, int64(n))
	ad.SetInt("TotalSlots", int64(count))
	ad.SetString(pool.AttrSlotType, "Static")
	ad.SetInt(pool.AttrCpus, 1)
	ad.SetInt(pool.AttrMemory, m.memoryMB/int64(count))
	ad.SetInt(pool.AttrDisk, m.diskKB/int64(count))
	ad.SetInt("DetectedCpus", int64(m.cpus))
	ad.SetInt("DetectedMemory", m.memoryMB)
	ad.SetString("Arch", m.arch)
	ad.SetString("OpSys", platform.OpSys)
	describe(ad, m.system)
	ad.SetBool(pool.AttrHasFileTransfer, true)
	ad.SetString(pool.AttrFileSystemDomain, m.name)
	if m.uidDomain != "" {
		ad.SetString("UidDomain", m.uidDomain)
	}
	ad.SetString(pool.AttrState, "Unclaimed")
	ad.SetString(pool.AttrActivity, "Idle")
	ad.SetBool("Start", true)
	ad.Set(pool.AttrRequirements, start)
	ad.SetReal(pool.AttrRank, 0)
	ad.SetReal("CurrentRank", 0)
	return ad
}

// start is the Requirements of our slots: what the machine's owner says.
var start = expression("START")

// expression compiles a constant text.
func expression(text string) *classad.Expr {
	e, err := classad.ParseExpr(text)
	if err != nil {
		panic(err)
	}
	return e
}

func slotName(n int, machine string) string { return fmt.Sprintf("slot%d@%s", n, machine) }

// warnOfSurplus tells of slots that an earlier detect with a higher count has
// left in the pool, on one line.
func warnOfSurplus(c *cmdline.Call, machine string, count int) error {
	s, err := c.Spool()
	if err != nil {
		return err
	}
	return s.View(func(v *spool.View) error {
		var left []int
		for n := count + 1; n <= maxCount; n++ {
			if _, ok := v.Advertised(slotName(n, machine)); ok {
				left = append(left, n)
			}
		}
		if len(left) > 0 {
			c.Warn("%s", surplus(left, machine))
		}
		return nil
	})
}

// surplus words what is to be done with the slots of these numbers, ascending.
func surplus(left []int, machine string) string {
	first := slotName(left[0], machine)
	if len(left) == 1 {
		return fmt.Sprintf("slot %d of this machine stays advertised: withdraw it with slots withdraw %s", left[0], first)
	}
	last := slotName(left[len(left)-1], machine)
	between := " "
	if len(left) > 2 {
		between = " ... "
	}
	return fmt.Sprintf("slots %s of this machine stay advertised: withdraw them with slots withdraw %s%s%s", ranges(left), first, between, last)
}

// ranges writes ascending numbers as 2 to 4, 7, 9 to 12.
func ranges(numbers []int) string {
	var b strings.Builder
	for i, n := range numbers {
		begins := i == 0 || numbers[i-1] != n-1
		ends := i == len(numbers)-1 || numbers[i+1] != n+1
		switch {
		case begins && i > 0:
			fmt.Fprintf(&b, ", %d", n)
		case begins:
			fmt.Fprint(&b, n)
		case ends:
			fmt.Fprintf(&b, " to %d", n)
		}
	}
	return b.String()
}

func thisMachine(c *cmdline.Call) (machine, error) {
	m := machine{cpus: runtime.NumCPU(), arch: platform.Arch(), uidDomain: c.Config.UIDDomain}
	var err error
	if m.name, err = c.Hostname(); err != nil {
		return m, err
	}
	info, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return m, fmt.Errorf("/proc/meminfo: %w", cmdline.Cause(err))
	}
	kb, ok := memTotal(string(info))
	if !ok {
		return m, fmt.Errorf("/proc/meminfo: no MemTotal")
	}
	m.memoryMB = kb / 1024
	dir, err := c.SpoolDir()
	if err != nil {
		return m, err
	}
	if m.diskKB, err = freeKB(dir); err != nil {
		return m, err
	}
	m.system = platform.Here()
	return m, nil
}

// freeKB returns what is free on the file system of a folder, which need not
// be there yet.
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
