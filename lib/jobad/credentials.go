package jobad

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/nearest"
	"fairspool/lib/pool"
	"fairspool/lib/sge"
	"fairspool/lib/submitfile"
)

// maxCredential bounds a name that usage is tallied under.
const maxCredential = 100

// credentials are the names, besides the owner's, that the policies of Maui and Grid
// Engine use.
var credentials = []struct{ command, attr string }{
	{"qos", pool.AttrQOS}, {"class", pool.AttrClass}, {"account", pool.AttrAcctGroup},
	{"unix_group", pool.AttrUnixGroup}, {"project", pool.AttrProject}, {"department", sge.AttrDepartment},
	{"parallel_environment", sge.AttrParallelEnvironment},
}

// ownParts are the commands that HTCondor does not know and that are worked out by
// a part of their own.
var ownParts = sync.OnceValue(func() []part {
	out := []part{
		orMacro("parallel_slots", (*job).parallelSlots),
		orMacro("deadline", (*job).deadline), orMacro("job_share", (*job).jobShare), orMacro("override_tickets", (*job).overrideTickets),
		orMacro("after_ok", func(j *job) error { return j.after("after_ok", jobpolicy.AttrAfterOk) }),
		orMacro("notify_command", notifyCommand), orMacro("notify_events", notifyEvents),
		orMacro("after_any", func(j *job) error { return j.after("after_any", jobpolicy.AttrAfterAny) }),
	}
	for _, c := range credentials {
		out = append(out, orMacro(c.command, func(j *job) error { return j.credential(c.command, c.attr) }))
	}
	return out
})

func (j *job) credential(command, attr string) error {
	g, ok, err := j.command(command)
	if err != nil {
		return err
	}
	if !ok {
		return j.usual(attr)
	}
	name := unquoted(g.Text)
	if err := credentialError(name); err != nil {
		return j.refuse(g, "%w", err)
	}
	j.setString(attr, name)
	return nil
}

// usual sets the name of a job that gives none.
func (j *job) usual(attr string) (err error) {
	name := ""
	switch attr {
	case pool.AttrUnixGroup:
		name = j.options.Group
	case pool.AttrAcctGroup:
		if name, err = j.accountName(); name != j.options.Account {
			return err // the accounting group has set it
		}
	case pool.AttrClass:
		if len(j.options.Classes) > 0 {
			name, err = j.class()
		}
	}
	if err == nil && credentialError(name) == nil {
		j.setString(attr, name)
	}
	return err
}

// accountName returns the account that the job names, or is in as one of an accounting group, or
// has for want of both.
func (j *job) accountName() (string, error) {
	for _, command := range []string{"account", "accounting_group"} {
		if g, ok, err := j.command(command); ok || err != nil {
			return unquoted(g.Text), err
		}
	}
	if nice, err := j.boolean("nice_user", false); nice || err != nil {
		return j.options.NiceGroup, err
	}
	return j.options.Account, nil
}

// class returns the class of a job that names none.
func (j *job) class() (string, error) {
	account, err := j.accountName()
	if name, ok := j.options.Classes[account]; ok {
		return name, err
	}
	return j.options.Classes[""], err
}

// credentialError returns why a text is no such name.
func credentialError(name string) error {
	switch {
	case name == "":
		return errors.New("empty name")
	case strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '"' }):
		return fmt.Errorf("%q: want a name without blanks and double quotes", submitfile.Shorten(name))
	case utf8.RuneCountInString(name) > maxCredential:
		return fmt.Errorf("%q: %d characters, at most %d", submitfile.Shorten(name), utf8.RuneCountInString(name), maxCredential)
	}
	return nil
}

// unquoted returns a value without the double quotes that may be around it.
func unquoted(text string) string {
	if len(text) >= 2 && text[0] == '"' && text[len(text)-1] == '"' {
		return text[1 : len(text)-1]
	}
	return text
}

// accounting sets AccountingGroup, without the domain, if a submitter other than the
// owner alone is charged.
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
		return j.account(group, group.Text, j.options.user())
	case hasGroup:
		return j.account(group, group.Text, user.Text)
	case hasUser:
		return j.account(user, "", user.Text)
	}
	return nil
}

// nice puts the job into the group of nice users, and makes it give way at once unless
// the description says otherwise.
func (j *job) nice(g given) error {
	j.setExpr(pool.AttrNiceUser, "true")
	if _, told, err := j.command("max_job_retirement_time"); !told || err != nil {
		j.setExpr("MaxJobRetirementTime", "0")
	}
	return j.account(g, j.options.NiceGroup, j.options.user())
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
		return j.refuse(g, "%s: is the group of submitters without a group: leave the command out", group)
	}
	if _, clash := j.options.Groups.Find(user); clash {
		return j.refuse(g, "%q: is the name of an accounting group, so no user can have it", user)
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

// unknownGroup warns of a name with a group that is not configured: the job would count
// for the root group.
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

// customPrefix begins the names, in lower case, under which scope keeps what
// +Name and MY.Name give.
const customPrefix = "my."

// customKeys returns the names of the custom attributes in force that may be
// set, sorted.
func (j *job) customKeys() []string {
	var keys []string
	for _, key := range j.Names() {
		if attr, ok := strings.CutPrefix(key, customPrefix); ok && !isProtected(attr) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// customAttributes sets what +Name and MY.Name give, over whatever commands
// have set. An empty value is undefined.
func (j *job) customAttributes() error {
	j.custom = true
	defer func() { j.custom = false }()
	for _, key := range j.customKeys() {
		g, _, err := j.Lookup(key)
		if err != nil {
			return err
		}
		attr, _ := customName(g.Name)
		g.Name = "+" + attr
		if !isAttributeName(attr) { // a variable's of a queue line; others were checked
			return j.refuse(g, "%q is no name of an attribute", submitfile.Shorten(attr))
		}
		if g.Text == "" {
			g.Text = "undefined"
		}
		e, err := j.compile(g, g.Text)
		if err != nil {
			return err
		}
		if key == customPrefix+"accountinggroup" {
			if err := j.checkCustomAccount(g, e); err != nil {
				return err
			}
		}
		j.setExpr(attr, g.Text)
	}
	return nil
}

// checkCustomAccount looks at +AccountingGroup. A lone name without quotes is kept, as
// HTCondor keeps it: it refers to nothing, so the jobs count for their owner.
func (j *job) checkCustomAccount(g given, e *classad.Expr) error {
	v, constant := e.Constant()
	name, isText := v.Text()
	switch {
	case constant && isText:
		return j.checkAccount(g, name)
	case j.refersToNothing(g.Text):
		j.caution(g, "%s: no name in double quotes, the jobs count for %s", submitfile.Shorten(g.Text), j.options.Owner)
		return nil
	}
	return j.refuse(g, "%s: want a name in double quotes", submitfile.Shorten(g.Text))
}

// refersToNothing reports whether an expression is a name, maybe of several words with
// dots between, with a first word that no text in a job's ad uses.
func (j *job) refersToNothing(text string) bool {
	words := strings.Split(text, ".")
	first := strings.ToLower(words[0])
	if j.overrides[first] || isCommand(first) || isProtected(first) || ambiguous[first] || first == "my" || first == "target" {
		return false
	}
	return !slices.ContainsFunc(words, func(w string) bool { return !isAttributeName(w) })
}
