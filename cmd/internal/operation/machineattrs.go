package operation

import (
	"regexp"
	"strconv"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// What a job wants to have noted of its slots (job_machine_attrs), and of how many.
const (
	attrJobMachineAttrs  = "JobMachineAttrs"
	attrMachineAttrsKept = "JobMachineAttrsHistoryLength"
	machineAttr          = "MachineAttr"
)

// Bounds of both.
const (
	mostMachineAttrs  = 100
	mostAttributeName = 100 // bytes
	mostAttemptsKept  = 20
)

var attributeName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// SlotOf returns the ad of the slot that a claim has, of a part of one that of the dynamic
// slot; nil when it is not advertised any more.
func SlotOf(v *spool.View, c pool.Claim) *classad.Ad {
	slots := v.SlotsNamed([]string{c.SlotAd()})
	switch {
	case len(slots) == 0:
		return nil
	case c.Piece.Of == "":
		return slots[0].Ad
	}
	return pool.DynamicAd(slots[0].Ad, c.Slot, c.Piece.Takes)
}

// machineAttrs notes what the job wants to have noted of its slot: Arch as
// MachineAttrArch0, and that of the attempt before as MachineAttrArch1.
func (j job) machineAttrs(slot *classad.Ad) {
	if slot == nil || !j.ad.Has(attrJobMachineAttrs) {
		return
	}
	text, _ := j.ad.EvalString(&classad.Context{}, attrJobMachineAttrs)
	names := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
	kept := 1
	if j.ad.Has(attrMachineAttrsKept) {
		kept = int(min(max(j.int(attrMachineAttrsKept), 0), mostAttemptsKept))
	}
	for _, name := range names[:min(len(names), mostMachineAttrs)] {
		if len(name) > mostAttributeName || !attributeName.MatchString(name) {
			continue
		}
		for k := kept - 1; k >= 0; k-- {
			j.machineAttr(slot, name, k)
		}
	}
}

// machineAttr sets an attribute of the slot of k attempts ago.
func (j job) machineAttr(slot *classad.Ad, name string, k int) {
	if k == 0 {
		j.set(machineAttr+name+"0", slot.Eval(&classad.Context{MaxSteps: lockedSteps}, name, j.ad))
		return
	}
	if e, ok := j.ad.Lookup(machineAttr + name + strconv.Itoa(k-1)); ok {
		j.tx.Set(j.id, machineAttr+name+strconv.Itoa(k), e)
	}
}
