package submit

import (
	"errors"
	"fmt"
	"os/user"
	"regexp"
	"strings"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/operation"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobad"
	"fairspool/lib/policy"
	"fairspool/lib/policy/registry"
)

// ownerOf returns whose jobs they are: that of -owner, else the caller.
func ownerOf(c *cmdline.Call) (string, error) {
	if c.Has("owner") {
		name := c.Value("owner")
		if err := checkOwner(name, c.Config.NiceGroup, c.Config.Groups); err != nil {
			return "", cmdline.Usagef("-owner %q: %v", shorten(name), err)
		}
		return name, nil
	}
	who, err := c.Caller()
	if err != nil {
		return "", err
	}
	name := who.Name
	if err := checkOwner(name, c.Config.NiceGroup, c.Config.Groups); err != nil {
		return "", fmt.Errorf("your login name %q: %w; submit as another with -owner", shorten(name), err)
	}
	return name, nil
}

// groupOf returns the name of a user's primary group where one queue of all jobs may
// reckon by it, as it was the server's that Maui asked, and Grid Engine's by which it found
// the department; empty elsewhere, and where the machine knows no such user or group.
func groupOf(c *cmdline.Call, owner string) string {
	if !registry.Of(c.Config).OneQueue() {
		return ""
	}
	u, err := user.Lookup(owner)
	if err != nil {
		return ""
	}
	g, err := user.LookupGroupId(u.Gid)
	if err != nil {
		return ""
	}
	return g.Name
}

// maxOwner is how many characters an owner's name may have.
const maxOwner = 64

var ownerName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

// checkOwner refuses names that no owner of jobs can have, because other
// commands or the accounting would take them for something else.
func checkOwner(name, niceGroup string, groups *accountant.Groups) error {
	group, _, dotted := strings.Cut(name, ".")
	_, taken := groups.Find(name)
	switch {
	case name == "":
		return errors.New("want a name")
	case strings.Contains(name, "@"):
		return errors.New("want a name without @ and domain, which is the pool's")
	case name[0] >= '0' && name[0] <= '9':
		return errors.New("begins with a digit, as the clusters do that prio, qdel and qstat are given")
	case !ownerName.MatchString(name):
		return errors.New("want letters, digits, _, . and -, the first a letter or _")
	case len(name) > maxOwner:
		return fmt.Errorf("%d characters, at most %d", len(name), maxOwner)
	case taken:
		return errors.New("is the name of an accounting group")
	case groups.OfUser(name).Name != accountant.RootGroup:
		return fmt.Errorf("begins with the name of the accounting group %s: its jobs would count there", groups.OfUser(name).Name)
	case dotted && strings.EqualFold(group, niceGroup):
		return fmt.Errorf("begins with %s., as nice users do: write nice_user = true into the description instead", group)
	}
	return nil
}

// shorten keeps a quoted name readable in a message.
func shorten(name string) string {
	if len(name) > maxOwner {
		return name[:maxOwner] + "..."
	}
	return name
}

// mayActForOthers returns an error unless the caller may submit for the user of -owner.
func mayActForOthers(c *cmdline.Call) error {
	who, err := c.Caller()
	if err != nil || who.May(c.Value("owner")) {
		return err
	}
	return fmt.Errorf("-owner %s: only administrators may submit for somebody else", c.Value("owner"))
}

// permit refuses jobs that ask for what their owner, or the caller, may not have, and those that
// do not meet the pool's requirements, before the spool is locked. It returns the owner's rights.
func (s *submission) permit(d *jobad.Jobs, c jobad.Cluster) (policy.Rights, error) {
	who, err := s.Caller()
	if err != nil {
		return policy.Rights{}, err
	}
	rights := policy.RightsOf(registry.Of(s.Config), s.Config, who.Name, who.Admin, s.owner, s.GroupsOf)
	if err := operation.Permit(rights, d, c); err != nil {
		return rights, err
	}
	return rights, operation.Require(s.Config, c, &classad.Context{Now: s.Now}, s.warn)
}
