package maui

import (
	"fmt"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/maui"
	"fairspool/lib/policy"
	"fairspool/lib/pool"
)

// Rules are the rules of Maui's credentials: its lists say which ones owners have.
func (Policy) Rules(c *config.Config) policy.Rules {
	return policy.Rules{Attributes: rules, SettledOfUsers: policy.Names(rules), Defaults: func(owner, group string) (account string, classes map[string]string) {
		return defaults(Settings(c), maui.Names{User: owner, Group: group})
	}}
}

// defaults returns the account and, by account, the classes of jobs that name none.
func defaults(c *maui.Config, n maui.Names) (account string, classes map[string]string) {
	account = c.DefaultOf(maui.Account, n)
	classes = map[string]string{"": c.DefaultOf(maui.Class, n)}
	for n.Account = range c.Credentials[maui.Account] {
		classes[n.Account] = c.DefaultOf(maui.Class, n)
	}
	return account, classes
}

var rules = []policy.Rule{
	{Attr: pool.AttrUnixGroup, Allow: unixGroup},
	{Attr: pool.AttrAcctGroup, With: []string{pool.AttrUnixGroup}, Allow: account},
	{Attr: pool.AttrClass, With: []string{pool.AttrUnixGroup, pool.AttrAcctGroup}, Allow: class},
	{Attr: pool.AttrQOS, With: []string{pool.AttrUnixGroup, pool.AttrAcctGroup, pool.AttrClass}, Allow: qos},
}

// unixGroup: administrators may give any.
func unixGroup(r policy.Rights, before, after *classad.Ad) error {
	if r.Admin {
		return nil
	}
	return policy.UnixGroup(r, before, after)
}

// account, class and qos: the owner has it, by the lists of Maui's credentials.

func account(r policy.Rights, _, after *classad.Ad) error {
	name, err := policy.NameIn(after, pool.AttrAcctGroup)
	_, _, restricted := r.Config.MembersOf(name)
	switch {
	case r.Admin:
		return nil
	case err == nil && strings.EqualFold(name, r.Config.NiceGroup):
		return nil
	case err == nil && restricted: // which goes for the account of a group, too
		return r.IsMember(name)
	}
	return credential(r, maui.Account, pool.AttrAcctGroup, after)
}

func class(r policy.Rights, _, after *classad.Ad) error {
	return credential(r, maui.Class, pool.AttrClass, after)
}

func qos(r policy.Rights, _, after *classad.Ad) error {
	return credential(r, maui.QOS, pool.AttrQOS, after)
}

// lists are the attributes of credentials that give others, for messages.
var lists = [maui.Kinds]string{maui.Account: "ALIST", maui.Class: "CLIST", maui.QOS: "QLIST"}

// credential returns why a job cannot have the credential of a kind that an attribute names.
func credential(r policy.Rights, kind maui.Kind, attr string, after *classad.Ad) error {
	if r.Admin {
		return nil
	}
	name, err := policy.NameIn(after, attr)
	if err != nil {
		return err
	}
	text := func(attr string) string {
		v, _ := policy.ConstantOf(after, attr)
		s, _ := v.Text()
		return s
	}
	n := maui.Names{User: r.Owner, Group: text(pool.AttrUnixGroup), Account: text(pool.AttrAcctGroup), Class: text(pool.AttrClass), QOS: text(pool.AttrQOS)}
	if name == "" {
		if given := Settings(r.Config).DefaultOf(kind, n); given != "" && kind != maui.QOS {
			err = fmt.Errorf("missing: want %q, which is what %s has by default", given, r.Owner)
		}
		return err
	}
	if !Settings(r.Config).MayHave(kind, n) {
		return fmt.Errorf("%q: %s has no access to it: leave it out, or ask an administrator to put it into %s", name, r.Owner, lists[kind])
	}
	return nil
}
