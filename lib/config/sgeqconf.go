package config

import "slices"

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

// isQconf reports whether a setting of [sge] names files of saved output.
func (s setting) isQconf() bool { return slices.Contains(namesOf(qconfKeys), s.name) }
