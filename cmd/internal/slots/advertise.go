package slots

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/cmd/internal/adprint"
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/machine"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// offer is a slot ad to be advertised.
type offer struct {
	name  string
	ad    *classad.Ad
	where string // "file:line", or what made it
}

// advertisement is what advertise and detect print with -json.
type advertisement struct{ Advertised []string }

func advertise(c *cmdline.Call, files []string) error {
	if len(files) == 0 {
		return cmdline.Usagef("advertise: which files? - is standard input")
	}
	var offers []offer
	for _, file := range files {
		more, err := readOffers(c, file)
		if err != nil {
			return err
		}
		offers = append(offers, more...)
	}
	offers = lastOfEach(c, offers)
	if err := put(c, offers, files); err != nil {
		return err
	}
	warnOfClosed(c, offers)
	return nil
}

// warnOfClosed warns of ads without Requirements: by the rules of matching no job ever
// gets these slots, which is hardly intended.
func warnOfClosed(c *cmdline.Call, offers []offer) {
	closed, where := 0, ""
	for _, o := range offers {
		if o.ad.Has(pool.AttrRequirements) {
			continue
		}
		if closed++; closed == 1 {
			where = o.where
		}
	}
	if closed > 0 {
		c.Warn("%s: no Requirements in %d of %d ads: no job will match these slots; Requirements = true takes all", where, closed, len(offers))
	}
}

// readOffers reads the slot ads of a file. All of them must be valid.
func readOffers(c *cmdline.Call, file string) ([]offer, error) {
	text, name, err := read(c, file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, cmdline.Cause(err))
	}
	r := classad.NewReader(bytes.NewReader(text), name)
	r.Intern(classad.NewInterner())
	var offers []offer
	for {
		ad, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		o, err := offerOf(ad)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, r.Line(), err)
		}
		o.where = fmt.Sprintf("%s:%d", name, r.Line())
		offers = append(offers, o)
	}
	if len(offers) == 0 {
		return nil, fmt.Errorf("%s: no slot ads", name)
	}
	return offers, nil
}

// read returns the text of a file, or of standard input for -, and what to
// call it.
func read(c *cmdline.Call, file string) (text []byte, name string, err error) {
	if name = file; file == "-" {
		name = "standard input"
	}
	text, err = c.ReadFile(file)
	return text, name, err
}

// offerOf names a slot ad: its Name, else its Machine, which becomes the Name.
func offerOf(ad *classad.Ad) (offer, error) {
	if kind, ok := textOf(ad, pool.AttrMyType); ok && !strings.EqualFold(kind, "Machine") {
		return offer{}, fmt.Errorf("%s is %q: want a slot ad, \"Machine\"", pool.AttrMyType, kind)
	}
	name, ok := textOf(ad, pool.AttrName)
	if !ad.Has(pool.AttrName) {
		if name, ok = textOf(ad, pool.AttrMachine); ok {
			ad.SetString(pool.AttrName, name)
		}
	}
	switch {
	case !ok && !ad.Has(pool.AttrName):
		return offer{}, errors.New("slot ad without Name and Machine")
	case !ok || name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return offer{}, errors.New("the Name of a slot ad: want a string without white space")
	}
	for _, attr := range []string{pool.AttrCpus, pool.AttrSlotWeight} {
		if err := checkAmount(ad, attr); err != nil {
			return offer{}, err
		}
	}
	return offer{name: name, ad: ad}, nil
}

// checkAmount refuses what slots count by where it is a constant and no number
// that a weight may be. Expressions are left to the negotiator, which sees the match.
func checkAmount(ad *classad.Ad, attr string) error {
	e, ok := ad.Lookup(attr)
	if !ok {
		return nil
	}
	v, constant := e.Constant()
	if !constant {
		return nil
	}
	const most = accountant.MaxWeight / accountant.One
	n, _ := v.Number()
	if v.Kind() != classad.KindInteger && v.Kind() != classad.KindReal || !(n >= 0 && n <= float64(most)) {
		return fmt.Errorf("%s: %v: want a number from 0 to %d", attr, v, int64(most))
	}
	return nil
}

// lastOfEach drops all but the last ad of a name, with a warning.
func lastOfEach(c *cmdline.Call, offers []offer) []offer {
	last := map[string]int{}
	for i, o := range offers {
		last[o.name] = i
	}
	var out []offer
	for i, o := range offers {
		if l := last[o.name]; l != i {
			c.Warn("%s: slot %s: is also in %s, which counts", o.where, o.name, offers[l].where)
			continue
		}
		out = append(out, o)
	}
	return out
}

// put advertises the slots in one transaction. Its record names their sources.
func put(c *cmdline.Call, offers []offer, from []string) error {
	s, err := c.Spool()
	if err != nil {
		return err
	}
	err = s.Update(func(tx *spool.Tx) error {
		tx.Op("advertise", from...)
		byHand := handWritten(tx)
		parts := dynamicSlots(tx)
		for _, o := range offers {
			if of, ok := parts[o.name]; ok {
				return fmt.Errorf("%s: slot %s: is the name of a claimed part of %s", o.where, o.name, of)
			}
			if where, ok := byHand[o.name]; ok {
				return fmt.Errorf("%s: slot %s: is written by hand in %s: change it there", o.where, o.name, where)
			}
			if old, ok := tx.Advertised(o.name); ok && !news(old.Ad, o.ad) {
				continue
			}
			stamp(o.ad, c.Now)
			tx.PutSlot(o.name, o.ad)
		}
		return nil
	})
	if err != nil {
		return err
	}
	c.Changed()
	if c.Has("json") {
		names := make([]string, len(offers))
		for i, o := range offers {
			names[i] = o.name
		}
		return c.JSON(advertisement{names})
	}
	_, err = fmt.Fprintf(c.Stdout, "%s advertised.\n", plural.Count(len(offers), "slot"))
	return err
}

func stamp(ad *classad.Ad, now time.Time) { ad.SetInt(pool.AttrLastHeardFrom, now.Unix()) }

// news reports whether an ad differs from the pool's. If one of them has a lifetime, any
// ad is news, as it renews the lifetime.
func news(old, ad *classad.Ad) bool {
	if old.Has(pool.AttrAdLifetime) || ad.Has(pool.AttrAdLifetime) {
		return true
	}
	old, ad = old.Clone(), ad.Clone()
	old.Delete(pool.AttrLastHeardFrom)
	ad.Delete(pool.AttrLastHeardFrom)
	return old.Format(classad.StyleSpool) != ad.Format(classad.StyleSpool)
}

// handWritten maps the names of slots written by hand to file and line.
func handWritten(tx *spool.Tx) map[string]string {
	where := map[string]string{}
	slots, _ := tx.Slots()
	for _, s := range slots {
		if s.Source != "" {
			where[s.Name] = s.Source
		}
	}
	return where
}

// dynamicSlots maps the names of dynamic slots to those that they are parts of.
func dynamicSlots(tx *spool.Tx) map[string]string {
	parts := map[string]string{}
	for _, k := range tx.Claims() {
		if k.Piece.Of != "" {
			parts[k.Slot] = k.Piece.Of
		}
	}
	return parts
}

func textOf(ad *classad.Ad, name string) (string, bool) {
	return ad.EvalString(&classad.Context{}, name)
}

// detect advertises this machine's processors as slots, which share its
// memory and disk equally, or all of it as one partitionable slot.
func detect(c *cmdline.Call, args []string) error {
	if len(args) > 0 {
		return cmdline.Usagef("detect: %s: takes no names; -count N makes N slots", args[0])
	}
	m, err := machine.This(c)
	if err != nil {
		return err
	}
	m.Try(c)
	count := m.Cpus
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
		ad := m.Slot(i+1, count)
		if c.Has("partitionable") {
			if err := m.Divide(ad, resources); err != nil {
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
		if c.Has("json") {
			return adprint.Print(c, "json", slices.Values(ads))
		}
		return adprint.Long(c.Data(), ads)
	}
	if err := put(c, offers, []string{"detect"}); err != nil {
		return err
	}
	return warnOfSurplus(c, m.Name, count)
}

const maxCount = 10000

// warnOfSurplus tells of slots that an earlier detect with a higher count has
// left in the pool, on one line.
func warnOfSurplus(c *cmdline.Call, host string, count int) error {
	s, err := c.Spool()
	if err != nil {
		return err
	}
	return s.View(func(v *spool.View) error {
		var left []int
		for n := count + 1; n <= maxCount; n++ {
			if _, ok := v.Advertised(machine.SlotName(n, host)); ok {
				left = append(left, n)
			}
		}
		if len(left) > 0 {
			c.Warn("%s", surplus(left, host))
		}
		return nil
	})
}

// surplus words the advice on the slots of these numbers, ascending.
func surplus(left []int, host string) string {
	first := machine.SlotName(left[0], host)
	if len(left) == 1 {
		return fmt.Sprintf("slot %d of this machine stays advertised: withdraw it with slots withdraw %s", left[0], first)
	}
	last := machine.SlotName(left[len(left)-1], host)
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

// resourcesGiven returns the amounts of -resource, and refuses flags of detect that
// exclude each other.
func resourcesGiven(c *cmdline.Call) ([]pool.Amount, error) {
	given := c.Repeated("resource")
	switch {
	case c.Has("partitionable") && c.Has("count"):
		return nil, cmdline.Usagef("-partitionable makes one slot: leave -count out")
	case len(given) > 0 && !c.Has("partitionable"):
		return nil, cmdline.Usagef("-resource: only with -partitionable")
	}
	var amounts []pool.Amount
	for _, args := range given {
		a, err := amountOf(args[0])
		if err != nil {
			return nil, err
		}
		same := func(b pool.Amount) bool { return strings.EqualFold(a.Name, b.Name) }
		if slices.ContainsFunc(amounts, same) {
			return nil, cmdline.Usagef("-resource %s: %s is given twice", args[0], a.Name)
		}
		amounts = append(amounts, a)
	}
	return amounts, nil
}

// amountOf reads NAME=NUMBER.
func amountOf(text string) (pool.Amount, error) {
	name, number, _ := strings.Cut(text, "=")
	x, err := strconv.ParseFloat(number, 64)
	if !pool.ResourceName(name) || err != nil || !(x > 0) || x > math.MaxInt32 {
		return pool.Amount{}, cmdline.Usagef("-resource %s: want NAME=NUMBER with a number above 0, like GPUs=2", text)
	}
	return pool.Amount{Name: name, Of: x}, nil
}
