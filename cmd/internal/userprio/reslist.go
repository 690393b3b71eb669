package userprio

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"fairspool/cmd/internal/adprint"
	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/elapsed"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
	"fairspool/lib/report/accounts"
	"fairspool/spool"
)

// resource is a slot that is charged to a submitter.
type resource struct {
	name  string
	since time.Time
}

// resources shows the slots that are charged to a submitter.
func resources(c *cmdline.Call, o options) error {
	s, err := c.Spool()
	if err != nil {
		return err
	}
	user := o.arg
	var list []resource
	var records []accountant.Record
	err = s.View(func(v *spool.View) error {
		slots, _ := v.Slots() // the cycle tells of those that cannot be read
		claims := v.Claims()
		list = append(charged(claims, user), heldOutside(slots, claims, user, c)...)
		slices.SortFunc(list, func(a, b resource) int {
			return cmp.Or(pool.CompareNames(a.name, b.name), a.since.Compare(b.since))
		})
		records = v.Submitters()
		return nil
	})
	if err != nil {
		return err
	}
	// As in HTCondor an unknown user's list is empty, and no failure.
	if !slices.ContainsFunc(records, func(r accountant.Record) bool { return accountant.Named(r.Name, user) }) {
		c.Warn("%v", accounts.Unknown(user, records))
	}
	switch o.form {
	case "":
		return listResources(c.Stdout, list, c.Now)
	case "long":
		return adprint.Print(c, o.form, slices.Values([]*classad.Ad{numberedResources(list)}))
	}
	ads := make([]*classad.Ad, len(list))
	for i, r := range list {
		ads[i] = classad.New()
		ads[i].SetString("Name", r.name)
		ads[i].SetInt("StartTime", r.since.Unix())
	}
	return adprint.Print(c, o.form, slices.Values(ads))
}

// charged returns the slots of the claims that are charged to a submitter.
func charged(claims []pool.Claim, user string) []resource {
	var list []resource
	for _, x := range claims {
		if accountant.Named(x.Submitter, user) && x.State.Charged() && x.Flocked == "" {
			list = append(list, resource{x.Slot, x.ChargedFrom()})
		}
	}
	return list
}

// heldOutside returns the slots whose own ads name the submitter as holder, with the time
// since which they are in their state. As in a cycle, a slot with a claim of ours, also
// on a piece, is ours, unless it is still partitionable.
func heldOutside(slots []pool.Slot, claims []pool.Claim, user string, c *cmdline.Call) []resource {
	ours, pieces := map[string]bool{}, map[string]bool{}
	for _, x := range claims {
		ours[x.Slot] = true
		pieces[x.Piece.Of] = true
	}
	var list []resource
	eval := &classad.Context{Now: c.Now}
	for _, s := range slots {
		if ours[s.Name] || pieces[s.Name] && !pool.Partitionable(eval, s.Ad) || !accountant.Named(c.Config.Groups.Spelled(negotiator.Holder(eval, s.Ad)), user) {
			continue
		}
		since := c.Now
		if entered, ok := s.Ad.EvalInt(eval, pool.AttrEnteredState); ok {
			since = time.Unix(entered, 0)
		}
		list = append(list, resource{s.Name, since})
	}
	return list
}

// listResources writes the list in HTCondor's layout.
func listResources(w io.Writer, list []resource, now time.Time) error {
	const layout = "%-30s %12s %12s\n"
	b := fmt.Appendf(nil, layout, "Resource Name", " Start Time", " Match Time")
	b = fmt.Appendf(b, layout, "-------------", " ----------", " ----------")
	for _, r := range list {
		at := r.since.In(now.Location())
		start := fmt.Sprintf("%2d/%-2d %02d:%02d", int(at.Month()), at.Day(), at.Hour(), at.Minute())
		b = fmt.Appendf(b, layout, r.name, start, held(now.Sub(r.since)))
	}
	b = fmt.Appendf(b, layout, "-------------", " ------------", " ------------")
	b = fmt.Appendf(b, "Number of Resources Used: %d\n", len(list))
	_, err := w.Write(b)
	return err
}

// held writes a duration as HTCondor does, the days three wide.
func held(d time.Duration) string {
	return fmt.Sprintf("%12s", elapsed.Days(max(int64(d/time.Second), 0)))
}

// numberedResources returns the list as the one ad of HTCondor's -long.
func numberedResources(list []resource) *classad.Ad {
	ad := classad.New()
	for i, r := range list {
		number := strconv.Itoa(i + 1)
		ad.SetString("Name"+number, r.name)
		ad.SetInt("StartTime"+number, r.since.Unix())
	}
	return ad
}
