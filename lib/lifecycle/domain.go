package lifecycle

import (
	"fmt"
	"regexp"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// opRenameDomain names the transaction that renames the domain, with the old one and the
// new one.
const opRenameDomain = "rename domain"

// Renaming is how a domain was renamed.
type Renaming struct{ From, To string }

// RenamingOf returns how a transaction of the log renamed the domain; false for almost all of
// them.
func RenamingOf(t spool.Transaction) (Renaming, bool) {
	if t.Op != opRenameDomain || len(t.Args) != 2 {
		return Renaming{}, false
	}
	return Renaming{t.Args[0], t.Args[1]}, true
}

// Name returns a submitter's name after the renaming. Domains other than From stay.
func (d Renaming) Name(submitter string) string {
	if user, ok := strings.CutSuffix(submitter, "@"+d.From); ok {
		return user + "@" + d.To
	}
	return submitter
}

// Text renames the submitters that a text has between other words, such as a record in one
// line or a report in JSON.
func (d Renaming) Text(text string) string {
	name := regexp.MustCompile("@" + regexp.QuoteMeta(d.From) + `(\.?(?:[^\w.-]|$))`)
	return name.ReplaceAllString(text, "@"+strings.ReplaceAll(d.To, "$", "$$")+"${1}")
}

// Do renames the submitters of records, jobs, claims, slots, reservations and the succession. It is for
// Spool.RenameDomain. It fails where a submitter of the new domain is there already, since
// their accounts would become one.
func (d Renaming) Do(tx *spool.Tx) error {
	if err := d.free(&tx.View); err != nil {
		return err
	}
	tx.Op(opRenameDomain, d.From, d.To)
	for _, r := range tx.Submitters() {
		if to := d.Name(r.Name); to != r.Name {
			tx.DropSubmitter(r.Name)
			r.Name = to
			tx.PutSubmitter(r)
		}
	}
	renameFlocked(tx, d.Name)
	for _, c := range tx.Claims() {
		if to := d.Name(c.Submitter); to != c.Submitter {
			c.Submitter = to
			tx.PutClaim(c)
		}
	}
	for _, c := range tx.Clusters() {
		d.cluster(tx, c)
	}
	slots, _ := tx.Slots()
	for _, s := range slots {
		if s.Source == "" {
			d.slot(tx, s)
		}
	}
	u, reservations := successionOf(&tx.View), spool.Reservations.All(&tx.View)
	for i := range u.Queues {
		u.Queues[i].Submitter = d.Name(u.Queues[i].Submitter)
	}
	for i := range u.Entitled {
		u.Entitled[i].Submitter = d.Name(u.Entitled[i].Submitter)
	}
	for i := range reservations {
		reservations[i].Submitter = d.Name(reservations[i].Submitter)
	}
	putSuccession(tx, u)
	spool.Reservations.Set(tx, reservations)
	return nil
}

// cluster renames the User of a cluster's jobs.
func (d Renaming) cluster(tx *spool.Tx, c *spool.Cluster) {
	if e := d.attribute(c.Ad, pool.AttrUser); e != nil {
		tx.SetCommon(c.ID, pool.AttrUser, e)
	}
	for _, run := range c.Runs {
		if e := d.attribute(run.Ad, pool.AttrUser); e != nil {
			tx.SetRange(run.Procs, pool.AttrUser, e)
		}
	}
}

// slot renames the holder in a slot's own ad, and the domain of its users.
func (d Renaming) slot(tx *spool.Tx, s pool.Slot) {
	ad := s.Ad.Clone()
	for _, name := range []string{pool.AttrRemoteUser, pool.AttrRemoteOwner} {
		if e := d.attribute(ad, name); e != nil {
			ad.Set(name, e)
		}
	}
	if text, ok := constantText(ad, "UidDomain"); ok && text == d.From {
		ad.SetString("UidDomain", d.To)
	}
	tx.PutSlot(s.Name, ad)
}

// attribute returns the new value of an attribute that an ad itself has and that is a
// submitter's name; nil if it stays.
func (d Renaming) attribute(ad *classad.Ad, name string) *classad.Expr {
	text, ok := constantText(ad, name)
	if to := d.Name(text); ok && to != text {
		return classad.Literal(classad.String(to))
	}
	return nil
}

// constantText returns the text that an attribute of the ad's own is.
func constantText(ad *classad.Ad, name string) (string, bool) {
	for _, own := range ad.OwnNames() {
		if strings.EqualFold(own, name) {
			e, _ := ad.Lookup(own)
			v, _ := e.Constant()
			return v.Text()
		}
	}
	return "", false
}

// free returns an error if the new domain has a submitter already.
func (d Renaming) free(v *spool.View) error {
	taken := func(name string) error {
		if strings.HasSuffix(name, "@"+d.To) {
			return fmt.Errorf("%s is a submitter of this pool already: accounts are not merged; if it is not needed, userprio -delete %s", name, name)
		}
		return nil
	}
	for _, r := range v.Submitters() {
		if err := taken(r.Name); err != nil {
			return err
		}
	}
	for _, c := range v.Claims() {
		if err := taken(c.Submitter); err != nil {
			return err
		}
	}
	return nil
}
