package cmdline

import "fairspool/lib/asuser"

// GroupsOf returns the names of a user's Unix groups by the machine's user database, the primary
// one first; none for a user whom the machine does not know. Groups without a name are left out. The
// groups of a caller through the door are those that the kernel names. The error is that the
// database cannot be asked.
func (c *Call) GroupsOf(user string) ([]string, error) {
	if s := c.surroundings().Session; s != nil && s.Peer.Name == user {
		return s.Peer.Groups, nil
	}
	u, known, err := asuser.LookUp(user)
	if err != nil || !known {
		return nil, err
	}
	var names []string
	for _, gid := range u.Groups {
		if name, ok := asuser.GroupName(gid); ok {
			names = append(names, name)
		}
	}
	return names, nil
}
