package pool

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/caseless"
	"fairspool/lib/classad"
)

// CompareNames orders slot names as people number them, slot2 before slot10,
// and returns a negative number, 0 or a positive one. Runs of digits compare as
// numbers, other bytes as they are; names that differ in leading zeros alone
// compare as text, so only equal names give 0.
func CompareNames(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		dx, dy := digits(x), digits(y)
		if dx == 0 || dy == 0 {
			if x[0] != y[0] {
				return int(x[0]) - int(y[0])
			}
			x, y = x[1:], y[1:]
			continue
		}
		nx, ny := strings.TrimLeft(x[:dx], "0"), strings.TrimLeft(y[:dy], "0")
		if len(nx) != len(ny) {
			return len(nx) - len(ny)
		}
		if c := strings.Compare(nx, ny); c != 0 {
			return c
		}
		x, y = x[dx:], y[dy:]
	}
	if len(x) != len(y) {
		return len(x) - len(y)
	}
	return strings.Compare(a, b)
}

// volatile are attributes of slots that tell of a moment, in lower case; momentary are beginnings of others.
var (
	volatile = strings.Fields(`
		lastheardfrom mycurrenttime loadavg cpubusy cpubusytime cpuisbusy keyboardidle consoleidle clockmin clockday
		disk totaldisk totalslotdisk virtualmemory totalvirtualmemory enteredcurrentactivity enteredcurrentstate retirementtimeremaining
		kflops mips lastbenchmark daemonlastreconfigtime jobstarts`)
	momentary = []string{"updates", "recent", "monitorself", "totaltime", "expectedmachinegraceful"}
)

// Volatile reports whether an attribute of a slot's ad tells of a moment only, as loads, idle times, the free disk and when the slot
// was heard of do.
func Volatile(name string) bool {
	name = strings.ToLower(name)
	begins := func(with string) bool { return strings.HasPrefix(name, with) }
	return slices.Contains(volatile, name) || strings.HasSuffix(name, "loadavg") || slices.ContainsFunc(momentary, begins)
}

// digits returns how many digits s begins with.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// Overlay returns a slot's ad with a claim on the slot, in HTCondor's attributes: State
// and Activity, since when it is in them (EnteredCurrentState), its holder (RemoteUser,
// RemoteOwner, the submitter both), its job (JobId) and the value of the slot's Rank for
// the job (CurrentRank). If the job was started, it also has when (JobStart) and how many
// seconds ago, as of now (TotalJobRunTime). The ad, which may be a dynamic slot's, is not
// changed. For a Promised claim, which does not have its slot yet, see OverlayPromise.
func Overlay(ad *classad.Ad, c Claim, now time.Time) *classad.Ad {
	if c.State == Promised {
		return OverlayPromise(ad, c)
	}
	state, activity, since := "Claimed", "Busy", c.StartedAt
	switch c.State {
	case Matched:
		state, activity, since = "Matched", "Idle", c.MatchedAt
	case Vacating:
		state, activity, since = "Preempting", "Vacating", c.VacateSince
	}
	ad = ad.Clone()
	ad.SetString(AttrState, state)
	ad.SetString(AttrActivity, activity)
	ad.SetInt(AttrEnteredState, since.Unix())
	ad.SetString(AttrRemoteUser, c.Submitter)
	ad.SetString(AttrRemoteOwner, c.Submitter)
	ad.SetString(AttrJobID, c.Job.String())
	ad.SetReal(AttrCurrentRank, c.Rank)
	if !c.StartedAt.IsZero() {
		ad.SetInt(AttrJobStart, c.StartedAt.Unix())
		ad.SetInt(AttrTotalJobRunTime, max(now.Unix()-c.StartedAt.Unix(), 0))
	}
	return ad
}

// OverlayPromise returns a slot's ad with a Promised claim: the submitter for whom the
// holder has to leave (PreemptingUser, PreemptingOwner, both), the job (PreemptingJobId),
// and the value of the slot's Rank for it (PreemptingRank). The ad is not changed.
func OverlayPromise(ad *classad.Ad, c Claim) *classad.Ad {
	ad = ad.Clone()
	ad.SetString(AttrPreemptingUser, c.Submitter)
	ad.SetString(AttrPreemptingOwner, c.Submitter)
	ad.SetString(AttrPreemptingJobID, c.Job.String())
	ad.SetReal(AttrPreemptingRank, c.Rank)
	return ad
}

// OverlayDrained returns a slot's ad as on a drained machine, with HTCondor's attributes:
// State and Activity, which is Retiring while jobs are still leaving the machine and Idle
// then, since when (EnteredCurrentState, unless that is zero), Draining, and the reason,
// if there is one (DrainReason). The ad is not changed. It is for a slot without a
// holder.
func OverlayDrained(ad *classad.Ad, since time.Time, reason string, leaving bool) *classad.Ad {
	ad = ad.Clone()
	ad.SetString(AttrState, Drained)
	activity := "Idle"
	if leaving {
		activity = "Retiring"
	}
	ad.SetString(AttrActivity, activity)
	if !since.IsZero() {
		ad.SetInt(AttrEnteredState, since.Unix())
	}
	ad.SetBool("Draining", true)
	if reason != "" {
		ad.SetString("DrainReason", reason)
	}
	return ad
}

// Drained is the State of a slot on a drained machine, which takes no jobs.
const Drained = "Drained"

// Partitionable reports whether a slot's ad is a partitionable slot's. Claims take pieces
// of such a slot.
func Partitionable(c *classad.Context, ad *classad.Ad) bool {
	yes, ok := ad.EvalBool(c, AttrPartitionable)
	return ok && yes
}

// DynamicName returns the name of the n-th dynamic slot of a partitionable one:
// "slot1_2@node" for "slot1@node" and 2, "slot1_2" for "slot1".
func DynamicName(of string, n int) string {
	head, machine, found := strings.Cut(of, "@")
	head += "_" + strconv.Itoa(n)
	if found {
		head += "@" + machine
	}
	return head
}

// Left returns the ad of a partitionable slot without the pieces. An amount is never
// below 0, an integer stays one as long as whole numbers are taken from it, and fractions
// are rounded to nine places. A resource for which the ad has no number stays as it is,
// and malformed amounts of pieces are ignored. The ad is not changed; if nothing is taken
// it is returned itself.
func Left(c *classad.Context, ad *classad.Ad, pieces []Resources) *classad.Ad {
	return less(c, ad, nil, pieces)
}

// Take does as Left with one piece, and changes the ad.
func Take(c *classad.Context, ad *classad.Ad, takes Resources) { less(c, ad, ad, []Resources{takes}) }

// less sets in out what is left of an ad; nil: in a copy, if anything is taken.
func less(c *classad.Context, ad, out *classad.Ad, pieces []Resources) *classad.Ad {
	var taken []Amount
	for _, p := range pieces {
		amounts, err := p.Amounts()
		if err == nil {
			taken = addTo(taken, amounts)
		}
	}
	had := make([]classad.Value, len(taken)) // one may depend on another
	for i, t := range taken {
		had[i] = ad.Eval(c, t.Name, nil)
	}
	for i, t := range taken {
		rest, ok := number(had[i])
		if !ok {
			continue
		}
		if out == nil {
			out = ad.Clone()
		}
		setAmount(out, t.Name, max(0, tidy(rest-t.Of)), had[i].Kind() == classad.KindInteger)
	}
	return cmp.Or(out, ad)
}

// addTo adds amounts to a sum. The names in the sum are in no order.
func addTo(sum, amounts []Amount) []Amount {
next:
	for _, a := range amounts {
		for i := range sum {
			if caseless.Compare(sum[i].Name, a.Name) == 0 {
				sum[i].Of += a.Of
				continue next
			}
		}
		sum = append(sum, a)
	}
	return sum
}

// Fits reports whether a slot's ad has what a piece takes: a number for each of its
// resources, and enough of it.
func Fits(c *classad.Context, ad *classad.Ad, takes Resources) bool {
	amounts, err := takes.Amounts()
	for _, a := range amounts {
		if has, ok := number(ad.Eval(c, a.Name, nil)); !ok || !(a.Of <= has) {
			return false
		}
	}
	return err == nil
}

// DynamicAd returns the ad of the dynamic slot that takes a piece of a partitionable
// one: the partitionable slot's ad, with the piece's amounts under another name. Of
// Cpus, Memory, Disk and what MachineResources of the ad names besides, it has none
// that the piece does not take. The ad is not changed.
func DynamicAd(ad *classad.Ad, name string, takes Resources) *classad.Ad {
	out := ad.Clone()
	out.SetString(AttrName, name)
	out.SetBool(AttrPartitionable, false)
	out.SetBool(AttrDynamicSlot, true)
	out.SetString(AttrSlotType, "Dynamic")
	if id, ok := ad.Lookup(AttrSlotID); ok {
		out.Set(AttrParentSlotID, id)
	}
	amounts, err := takes.Amounts()
	if err != nil {
		amounts = nil
	}
	for _, resource := range Divisible(ad) {
		amounts = addTo(amounts, []Amount{{Name: resource}})
	}
	for _, a := range amounts {
		whole := ad.Eval(&classad.Context{}, a.Name, nil).Kind() != classad.KindReal
		setAmount(out, a.Name, a.Of, whole)
		if total := TotalPrefix + a.Name; ad.Has(total) {
			setAmount(out, total, a.Of, whole)
		}
	}
	return out
}

// Divisible returns the names of the resources by which a slot is divided: Cpus, Memory
// and Disk, as far as its ad has them, and those of MachineResources.
func Divisible(ad *classad.Ad) []string {
	named, _ := ad.EvalString(&classad.Context{}, AttrMachineResources)
	var names []string
	for _, name := range append(slices.Clone(StandardResources), strings.Fields(named)...) {
		known := false
		for _, n := range names {
			known = known || caseless.Compare(n, name) == 0
		}
		if !known && ResourceName(name) && ad.Has(name) {
			names = append(names, name)
		}
	}
	return names
}

// number returns the number in an integer or a real.
func number(v classad.Value) (x float64, ok bool) {
	if v.Kind() != classad.KindInteger && v.Kind() != classad.KindReal {
		return 0, false
	}
	return v.Number()
}

// setAmount sets a number, as an integer if that is wanted and it is one.
func setAmount(ad *classad.Ad, name string, x float64, whole bool) {
	if whole && x == math.Trunc(x) && math.Abs(x) < 1<<62 {
		ad.SetInt(name, int64(x))
		return
	}
	ad.SetReal(name, x)
}

// tidy rounds to nine places, so that ten tenths are a whole in whatever order they are
// taken.
func tidy(x float64) float64 {
	const places = 1e9
	if math.Abs(x) > 1e6 {
		return x // the places behind the point are of no use there
	}
	return math.Round(x*places) / places
}
