package maui

// names are what a job says of whose it is.
type names struct{ user, group, account, qos, class string }

func (j *Job) names() names { return names{j.User, j.Group, j.Account, j.QOS, j.Class} }

// of returns the name of a kind; of QOS, the one the job asks for.
func (n names) of(k Kind) string {
	return [Kinds]string{User: n.user, Group: n.group, Account: n.account, QOS: n.qos, Class: n.class}[k]
}

// qosOf returns the QOS that jobs with these names go by: the one they ask for, if there is
// access to it, or else the first QDEF that there is access to, of user, group, account and
// class, each one's own before that of its kind's DEFAULT. Whoever has none goes by the QOS
// DEFAULT, which all may have. Refused says that they ask for one to which there is no
// access.
func (c *Config) qosOf(n names) (qos string, refused bool) {
	if n.qos != "" && (n.qos == DefaultName || c.access(n, QOS).to(n.qos)) {
		return n.qos, false
	}
	if qos := c.given(n, QOS); qos != "" {
		return qos, n.qos != ""
	}
	return DefaultName, n.qos != ""
}
