package slots

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"fairspool/cmd/internal/cmdline"
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

// warnOfClosed tells of ads without Requirements: by the rules of matching no
// job ever gets these slots, which is hardly what was meant.
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

// readOffers reads the slot ads of a file, all of which must be good.
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
			c.Warn("%s: slot %s: again in %s, which counts", o.where, o.name, offers[l].where)
			continue
		}
		out = append(out, o)
	}
	return out
}

// put advertises the slots in one transaction, whose record names what they
// come from.
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
	_, err = fmt.Fprintf(c.Stdout, "%s advertised.\n", plural.Count(len(offers), "slot"))
	return err
}

func stamp(ad *classad.Ad, now time.Time) { ad.SetInt(pool.AttrLastHeardFrom, now.Unix()) }

// news reports whether an ad says what the pool does not know. Where one of
// them has a lifetime, that it is still there is news.
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
