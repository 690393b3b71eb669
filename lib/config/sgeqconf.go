package config

// qconfKeys are the keys of saved output of qconf, in the order in which it is read: each kind
// of object before those that refer to it.
var qconfKeys = []Key{
	qconfKey("qconf_ssconf", "qconf -ssconf", "The parameters."),
	qconfKey("qconf_sc", "qconf -sc", "The complexes."),
	qconfKey("qconf_sp", "qconf -sp", "Parallel environments."),
	qconfKey("qconf_su", "qconf -su", "Usersets: departments and access lists."),
	qconfKey("qconf_sprj", "qconf -sprj", "Projects."),
	qconfKey("qconf_suser", "qconf -suser", "Users."),
	qconfKey("qconf_sstree", "qconf -sstree", "The share tree."),
}

func qconfKey(name, command, what string) Key {
	return Key{Name: name, Kind: Words, Default: []string(nil), check: fileName,
		Help: what + " Files that " + command + " printed, relative to the folder of this file.",
		set: func(c *Config, v any) {
			if files := v.([]string); len(files) == 0 {
				delete(c.QconfFiles, name)
			} else {
				c.QconfFiles = noted(c.QconfFiles, name, files)
			}
		}}
}

// qconf returns which of qconfKeys a setting is of; below 0 if it is of none.
func (s setting) qconf() int {
	if s.table != "sge" || len(s.parts) > 0 {
		return -1
	}
	for i, k := range qconfKeys {
		if k.Name == s.name {
			return i
		}
	}
	return -1
}
