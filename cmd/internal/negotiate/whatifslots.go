package negotiate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/classad"
	"fairspool/lib/nearest"
	"fairspool/lib/pool"
)

// readSlots reads a change of slots: `add 10 like slot1@node1`.
func readSlots(words []string) (func(*world) error, error) {
	const usage = "want one of: add N like NAME; withdraw NAME...; set NAME ATTRIBUTE=EXPRESSION..."
	switch {
	case len(words) == 4 && words[0] == "add" && words[2] == "like":
		n, err := count(words[1])
		return func(w *world) error { return w.addSlots(n, words[3]) }, err
	case len(words) > 1 && words[0] == "withdraw":
		return func(w *world) error { return w.withdraw(words[1:]) }, nil
	case len(words) > 2 && words[0] == "set":
		settings, err := readAttributes(words[2:])
		return func(w *world) error { return w.setSlot(words[1], settings) }, err
	}
	return nil, cmdline.Usagef(usage)
}

// attribute is an attribute of an ad, and what it is set to.
type attribute struct {
	name string
	to   *classad.Expr
}

func readAttributes(words []string) ([]attribute, error) {
	var list []attribute
	for _, word := range words {
		name, text, ok := strings.Cut(word, "=")
		if !ok || !isName(name) {
			return nil, cmdline.Usagef("%s: want ATTRIBUTE=EXPRESSION", word)
		}
		if strings.EqualFold(name, pool.AttrName) {
			return nil, cmdline.Usagef("%s: a slot keeps its name", word)
		}
		e, err := classad.ParseExpr(text)
		if err != nil {
			return nil, cmdline.Usagef("%s: %v", name, err)
		}
		list = append(list, attribute{name, e})
	}
	return list, nil
}

// isName tells whether a text can be the name of an attribute without quotes.
func isName(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case c == '_', c|0x20 >= 'a' && c|0x20 <= 'z', i > 0 && c >= '0' && c <= '9':
		default:
			return false
		}
	}
	return text != ""
}

// slot returns the place of a slot's ad.
func (w *world) slot(name string) (int, bool) {
	i := slices.IndexFunc(w.Pool.Slots, func(s pool.Slot) bool { return s.Name == name })
	return i, i >= 0
}

// slotNames returns all names of slots' ads.
func (w *world) slotNames() []string {
	names := make([]string, len(w.Pool.Slots))
	for i, s := range w.Pool.Slots {
		names[i] = s.Name
	}
	slices.SortFunc(names, strings.Compare)
	return names
}

// like returns the place of the slot called name, or an error with the one that was
// probably meant.
func (w *world) like(name string) (int, error) {
	i, ok := w.slot(name)
	if !ok {
		return i, fmt.Errorf("%s: no such slot%s", name, nearest.Hint(name, w.slotNames()))
	}
	return i, nil
}

// addSlots adds n slots with the ad of the one called name, free and under names of
// their own: what-if1-slot1@node and on, like slot1@node. Those come behind the others
// wherever names decide, so that nothing moves for the sake of a name.
func (w *world) addSlots(n int, name string) error {
	i, err := w.like(name)
	if err != nil {
		return err
	}
	ad := w.unclaimed(w.Pool.Slots[i].Ad)
	taken := map[string]bool{}
	for _, s := range w.Pool.Slots {
		taken[s.Name] = true
	}
	for k := 1; n > 0; k++ {
		fresh := "what-if" + strconv.Itoa(k) + "-" + name
		if taken[fresh] {
			continue
		}
		one := ad.Clone()
		one.SetString(pool.AttrName, fresh)
		w.Pool.Slots = append(w.Pool.Slots, pool.Slot{Name: fresh, Ad: one})
		n--
	}
	return nil
}

// ofHolder are the attributes of a slot's ad that tell of whoever holds it.
var ofHolder = []string{
	pool.AttrRemoteUser, pool.AttrRemoteOwner, pool.AttrAccountingGroup, "RemoteGroup", "RemoteNegotiatingGroup",
	"RemoteAutoregroup", "JobId", "GlobalJobId", "JobStart", "ClientMachine", "CurrentRank", "ConcurrencyLimits",
	"PreemptingUser", "PreemptingOwner", "PreemptingRank", "PreemptingConcurrencyLimits",
}

// unclaimed returns a slot's ad as the slot would be advertised now if nobody held it.
func (w *world) unclaimed(ad *classad.Ad) *classad.Ad {
	ad = ad.Flat().Clone()
	for _, name := range ofHolder {
		ad.Delete(name)
	}
	if ad.Has(pool.AttrState) {
		ad.SetString(pool.AttrState, "Unclaimed")
	}
	if ad.Has(pool.AttrActivity) {
		ad.SetString(pool.AttrActivity, "Idle")
	}
	if ad.Has(pool.AttrLastHeardFrom) {
		ad.SetInt(pool.AttrLastHeardFrom, w.Now.Unix())
	}
	return ad
}

// withdraw takes slots out of the pool, those written by hand too. As with the real
// one, what has a claim stays.
func (w *world) withdraw(names []string) error {
	claimed := map[string]pool.JobID{}
	for _, c := range w.Claims() {
		claimed[c.SlotAd()] = c.Job
	}
	for _, name := range names {
		i, err := w.like(name)
		if err != nil {
			return err
		}
		if job, ok := claimed[name]; ok {
			return fmt.Errorf("%s: claimed for job %v: remove that first, with -what-if 'qdel %v'", name, job, job)
		}
		w.Pool.Slots = slices.Delete(w.Pool.Slots, i, i+1)
	}
	return nil
}

// setSlot sets attributes of a slot's ad. A lone name that is no attribute of it would
// be undefined: it is a text whose quotes went as those of the words do.
func (w *world) setSlot(name string, settings []attribute) error {
	i, err := w.like(name)
	if err != nil {
		return err
	}
	ad := w.Pool.Slots[i].Ad.Clone()
	for _, a := range settings {
		if _, constant := a.to.Constant(); !constant && isName(a.to.String()) && !ad.Has(a.to.String()) {
			return fmt.Errorf("%s: the slot has no attribute %s; a text has quotes of its own: '%s=\"%s\"'", a.name, a.to, a.name, a.to)
		}
		ad.Set(a.name, a.to)
	}
	w.Pool.Slots[i].Ad = ad
	return nil
}
