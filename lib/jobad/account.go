package jobad

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"fairspool/lib/accountant"
	"fairspool/lib/nearest"
	"fairspool/lib/pool"
	"fairspool/lib/submitfile"
)

// accounting sets who is charged: AccountingGroup, without the domain, when
// it is somebody else than the owner alone.
func (j *job) accounting() error {
	group, hasGroup, err := j.command("accounting_group")
	if err != nil {
		return err
	}
	user, hasUser, err := j.command("accounting_group_user")
	if err != nil {
		return err
	}
	group.Text, user.Text = unquoted(group.Text), unquoted(user.Text)
	nice, err := j.boolean("nice_user", false)
	if err != nil {
		return err
	}
	g, _, _ := j.command("nice_user")
	switch named := hasGroup || hasUser || j.overrides["accountinggroup"]; {
	case nice && named:
		j.caution(g, "has no effect beside an accounting group: nice users are a group of their own")
	case nice:
		return j.nice(g)
	}
	switch {
	case hasGroup && !hasUser:
		return j.account(group, group.Text, j.options.Owner)
	case hasGroup:
		return j.account(group, group.Text, user.Text)
	case hasUser:
		return j.account(user, "", user.Text)
	}
	return nil
}

// nice makes the job one of the group of nice users, and has it give way at once
// unless it says otherwise.
func (j *job) nice(g given) error {
	j.setExpr(pool.AttrNiceUser, "true")
	if _, told, err := j.command("max_job_retirement_time"); !told || err != nil {
		j.setExpr("MaxJobRetirementTime", "0")
	}
	return j.account(g, j.options.NiceGroup, j.options.Owner)
}

func (j *job) account(g given, group, user string) error {
	name := user
	if group != "" {
		name = group + "." + user
		if _, own, err := j.command("account"); err != nil {
			return err
		} else if !own {
			j.setString(pool.AttrAcctGroup, group)
		}
	}
	if err := j.checkAccount(g, name); err != nil {
		return err
	}
	if strings.EqualFold(group, accountant.RootGroup) {
		return j.refuse(g, "%s: is the group of those who are in none: leave the command out", group)
	}
	if _, clash := j.options.Groups.Find(user); clash {
		return j.refuse(g, "%q: is the name of an accounting group, so nobody can be called that", user)
	}
	j.setString("AcctGroupUser", user)
	j.setString(pool.AttrAccountingGroup, name)
	return nil
}

// checkAccount refuses names that could not be told apart in a report or
// would be taken for another pool's.
func (j *job) checkAccount(g given, name string) error {
	if err := accountError(name); err != nil {
		return j.refuse(g, "%w", err)
	}
	if long := accountant.LongName(name); long != "" {
		j.caution(g, "%q: %s", submitfile.Shorten(name), long)
	}
	j.unknownGroup(g, name)
	return nil
}

// accountError returns why a text is no account's name.
func accountError(name string) error {
	switch {
	case name == "":
		return errors.New("empty name")
	case strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
		return fmt.Errorf("%q: a name with white space", submitfile.Shorten(name))
	case strings.Contains(name, `"`):
		return fmt.Errorf("%q: a name with a quote", submitfile.Shorten(name))
	case strings.Contains(name, "@"):
		return fmt.Errorf("%q: give the name without @ and domain", submitfile.Shorten(name))
	}
	if err := accountant.TooLong(name); err != nil {
		return fmt.Errorf("%q: %w", submitfile.Shorten(name), err)
	}
	return nil
}

// unknownGroup warns of a name whose group is none of the pool's: it would count
// for nobody's group.
func (j *job) unknownGroup(g given, name string) {
	dot := strings.LastIndexByte(name, '.')
	groups := j.options.Groups
	if dot < 0 || groups.None() || strings.EqualFold(name[:dot], j.options.NiceGroup) {
		return
	}
	if _, ok := groups.Find(name[:dot]); ok {
		return
	}
	known := make([]string, 0, len(groups.List))
	for _, one := range groups.List[1:] {
		known = append(known, one.Name)
	}
	j.caution(g, "GROUP_NAMES has no group %s%s; the jobs count for %s",
		name[:dot], nearest.Hint(name[:dot], known), groups.OfUser(name).Name)
}
