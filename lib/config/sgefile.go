package config

import (
	"fmt"
	"slices"
	"strings"

	"fairspool/lib/sge"
	"fairspool/lib/sge/qconf"
)

// readQconf reads the files of saved output of qconf that the setting names, if it names any. What is odd in
// them is a warning: they were written by another program, for another one.
func (c *Config) readQconf(s setting) error {
	if !s.isQconf() {
		return nil
	}
	r := qconfReader{config: c}
	for _, name := range c.QconfFiles[s.name] {
		path, text, err := readForeign(s.folder, name)
		if err != nil {
			return err
		}
		r.file, r.line = path, 1
		r.read(s.name, text)
	}
	r.take(s.name)
	r.tellMore()
	c.Warnings = append(c.Warnings, r.warnings...)
	return nil
}

// qconfReader reads what one option of qconf printed, in one file or several.
type qconfReader struct {
	foreign
	config  *Config
	records []savedRecord
	before  string // the file before this one; empty: it is the first
}

// savedRecord is a record of a file.
type savedRecord struct {
	file string
	qconf.Record
}

// read reads a file. Records are taken later, when all of them are known.
func (r *qconfReader) read(key, text string) {
	switch key {
	case "qconf_ssconf":
		list, notes := qconf.ReadParameters(text)
		r.only(notes)
		for _, a := range list {
			r.parameter(a)
		}
	case "qconf_sstree":
		root, notes := qconf.ReadTree(text)
		r.only(notes)
		r.tree(root)
	case "qconf_sc":
		r.add(qconf.ReadComplexes(text))
	case "qconf_sp":
		r.add(qconf.ReadRecords(text, qconf.PEs))
	case "qconf_su":
		r.add(qconf.ReadRecords(text, qconf.Usersets))
	case "qconf_sprj":
		r.add(qconf.ReadRecords(text, qconf.Projects))
	case "qconf_suser":
		r.add(qconf.ReadRecords(text, qconf.Users))
	}
}

// only tells of notes, and of a file that came before one of which there is one in Grid Engine.
func (r *qconfReader) only(notes []qconf.Note) {
	if r.before != "" {
		r.tellOf(fmt.Sprintf("there is but one; what this file says counts for more than %s", r.before))
	}
	r.before = r.file
	r.tellAll(notes)
}

// add adds the records of a file.
func (r *qconfReader) add(records []qconf.Record, notes []qconf.Note) {
	r.tellAll(notes)
	for _, record := range records {
		r.records = append(r.records, savedRecord{r.file, record})
	}
}

func (r *qconfReader) tellAll(notes []qconf.Note) {
	for _, n := range notes {
		r.line = n.Line
		r.tellOf(n.Text)
	}
}

// parameter sets a parameter of sched_conf(5).
func (r *qconfReader) parameter(a qconf.Attribute) {
	r.line = a.Line
	known := schedulerNames()
	if !slices.Contains(known, a.Name) {
		r.warn(a.Name, "unknown parameter"+r.hint(a.Name, known))
		return
	}
	s := setting{table: "sge", name: a.Name, value: a.Value, from: r.from(), text: a.Value}
	if err := r.config.take(s); err != nil {
		r.warn(a.Name, err.Error())
		return
	}
	r.config.where[s.key()] = s.from
}

// schedulerNames are the keys of [sge] that are parameters of sched_conf(5).
func schedulerNames() []string {
	return slices.DeleteFunc(namesOf(SGEKeys), func(name string) bool {
		return name == sgeCompatibility || name == "execd_params" || strings.HasPrefix(name, "qconf_")
	})
}

// take takes the records. Of several of a name the last counts.
func (r *qconfReader) take(key string) {
	last := map[string]int{}
	for i, record := range r.records {
		last[record.Name] = i
	}
	earlier := map[string]origin{}
	for i, record := range r.records {
		r.file, r.line = record.file, record.Line
		if last[record.Name] != i {
			earlier[record.Name] = r.from()
			continue
		}
		if at, twice := earlier[record.Name]; twice {
			r.warn(record.Name, fmt.Sprintf("stands in %s, too; this one counts", at))
		}
		for _, kind := range r.kindsOf(key, record) {
			r.takeAs(kind, record)
		}
	}
}

// kindsOf returns what a record is of. Usersets are departments, access lists, or both
// (access_list(5)).
func (r *qconfReader) kindsOf(key string, record savedRecord) []sgeKind {
	switch key {
	case "qconf_sc":
		return []sgeKind{sgeComplexes}
	case "qconf_sp":
		return []sgeKind{sgePEs}
	case "qconf_sprj":
		return []sgeKind{sgeProjects}
	case "qconf_suser":
		return []sgeKind{sgeUsers}
	}
	i := slices.IndexFunc(record.Attributes, func(a qconf.Attribute) bool { return a.Name == "type" })
	if i < 0 {
		return []sgeKind{sgeUsersets}
	}
	kinds, ok := usersetKinds(record.Attributes[i].Value)
	if !ok {
		r.line = record.Attributes[i].Line
		r.warn(record.Name, fmt.Sprintf("type: %q: want ACL, DEPT, or both", record.Attributes[i].Value))
	}
	return kinds
}

// usersetKinds reads the type of a userset. ok is false if there is something else in it.
func usersetKinds(value string) (kinds []sgeKind, ok bool) {
	words := qconf.List(value)
	ok = len(words) > 0
	for _, word := range words {
		kind, known := map[string]sgeKind{"ACL": sgeUsersets, "DEPT": sgeDepartments}[strings.ToUpper(word)]
		ok = ok && known
		if known && !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds, ok
}

// takeAs takes a record as one of a kind.
func (r *qconfReader) takeAs(kind sgeKind, record savedRecord) {
	known, others := attributesOfSGE(kind)
	var list []sgeAttribute
	for _, a := range record.Attributes {
		switch {
		case slices.Contains(known, a.Name):
			list = append(list, sgeAttribute{a.Name, a.Value, a.Line})
		case kind != sgePEs && !slices.Contains(others, a.Name):
			r.line = a.Line
			r.warn(record.Name, a.Name+": unknown attribute"+r.hint(a.Name, known))
		}
	}
	for _, warning := range r.config.takeSGERecord(kind, record.Name, list, origin{file: r.file, line: record.Line}) {
		if !r.full() {
			r.warnings = append(r.warnings, shortened(warning))
		}
	}
}

// attributesOfSGE returns the attributes of objects of a kind that count, and others that
// Grid Engine has.
func attributesOfSGE(kind sgeKind) (known, others []string) {
	for _, a := range SGEAttributes {
		if a.of(kind) {
			known = append(known, a.Name)
		}
	}
	return known, strings.Fields(otherAttributes[kind])
}

// projectNode is a node of a saved share tree that is said to be a project's.
type projectNode struct {
	name string
	from origin
}

// tree takes a share tree. Nodes may be as deep as the file is long.
func (r *qconfReader) tree(root *qconf.Node) {
	if root == nil {
		return
	}
	type pair struct {
		from *qconf.Node
		to   *sge.Node
	}
	r.config.projectNodes = nil
	top := &sge.Node{Name: root.Name, Shares: root.Shares}
	for rest := []pair{{root, top}}; len(rest) > 0; {
		p := rest[len(rest)-1]
		rest = rest[:len(rest)-1]
		if p.from.Project && len(p.from.Children) == 0 {
			r.config.projectNodes = append(r.config.projectNodes, projectNode{p.from.Name, origin{file: r.file, line: p.from.Line}})
		}
		for _, c := range p.from.Children {
			n := &sge.Node{Name: c.Name, Shares: c.Shares}
			p.to.Children = append(p.to.Children, n)
			rest = append(rest, pair{c, n})
		}
	}
	slices.SortFunc(r.config.projectNodes, func(a, b projectNode) int { return a.from.line - b.from.line })
	r.config.takeSGETree(top)
}

// warnOfProjectNodes tells of leaves of a saved share tree that are said to be projects of
// which there is none: their shares are a user's of that name, then. Only when everything is
// read it is known which projects there are.
func (c *Config) warnOfProjectNodes() {
	if c.JobPriorityPolicy != "sge" {
		return
	}
	f := foreign{}
	for _, n := range c.projectNodes {
		f.file, f.line = n.from.file, n.from.line
		if _, ok := c.SGE.Projects[n.name]; !ok {
			f.warn(n.name, "a project's node (type=1), but there is no such project; add it with qconf_sprj or [sge.projects]")
		}
	}
	f.tellMore()
	c.Warnings = append(c.Warnings, f.warnings...)
}

// ignoredKey is a parameter of sched_conf(5) that has no effect here.
type ignoredKey struct {
	key Key // without set; its default is Grid Engine's
	// also is another value that says nothing, such as that of an installer's profile.
	also any
	why  string // it has no effect
}

const (
	byCycles  = "cycles begin when negotiate is run"
	byRank    = "slots are ranked by the jobs' Rank and the NEGOTIATOR_..._JOB_RANK"
	byNoLoad  = "the load of machines is not looked at"
	byReserve = "what is kept for wide jobs is RESERVE_POOL_FRACTION"
)

// ignored are the parameters without effect. Files have them, so they are taken.
var ignored = []ignoredKey{
	{Key{Name: "algorithm", Kind: String, Default: "default"}, nil, "there is but one"},
	{Key{Name: "schedule_interval", Kind: Time, Default: 15.0, Unit: "s", Most: maxSeconds}, nil, byCycles},
	{Key{Name: "flush_submit_sec", Kind: Integer, Default: int64(0), Unit: "seconds", Most: maxSeconds}, nil, byCycles},
	{Key{Name: "flush_finish_sec", Kind: Integer, Default: int64(0), Unit: "seconds", Most: maxSeconds}, nil, byCycles},
	{Key{Name: "queue_sort_method", Kind: String, Default: "load"}, nil, byRank},
	{Key{Name: "load_formula", Kind: String, Default: "np_load_avg"}, nil, byRank},
	{Key{Name: "job_load_adjustments", Kind: String, Default: "np_load_avg=0.50"}, "none", byNoLoad},
	{Key{Name: "load_adjustment_decay_time", Kind: Time, Default: 450.0, Unit: "s", Most: maxSeconds}, 0.0, byNoLoad},
	{Key{Name: "schedd_job_info", Kind: String, Default: "true"}, "false", "negotiate -explain tells why a job waits"},
	{Key{Name: "params", Kind: String, Default: "none"}, nil, "no parameter of it is served"},
	{Key{Name: "weight_tickets_override", Kind: Integer, Default: int64(0), Unit: "tickets", Most: maxShares}, nil, "the override policy gives what oticket says"},
	{Key{Name: "max_reservation", Kind: Integer, Default: int64(0), Unit: "jobs", Most: maxShares}, nil, byReserve},
	{Key{Name: "default_duration", Kind: String, Default: "INFINITY"}, nil, byReserve},
}

// ignoredKeys returns the parameters without effect as keys, which note whether they say
// something.
func ignoredKeys() []Key {
	keys := make([]Key, len(ignored))
	for i, g := range ignored {
		keys[i] = g.key
		keys[i].Help = "Has no effect: " + g.why + "."
		keys[i].set = func(c *Config, v any) { c.ignore(g.key.Name, !alike(v, g.key.Default) && !alike(v, g.also)) }
	}
	return keys
}

// alike reports whether two values of a key are the same; case does not count.
func alike(a, b any) bool {
	x, isString := a.(string)
	y, both := b.(string)
	if isString && both {
		return strings.EqualFold(strings.TrimSpace(x), strings.TrimSpace(y))
	}
	return a == b
}

// ignore notes whether a parameter without effect says something.
func (c *Config) ignore(name string, says bool) {
	if !says {
		delete(c.ignored, name)
		return
	}
	if c.ignored == nil {
		c.ignored = map[string]bool{}
	}
	c.ignored[name] = true
}

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
