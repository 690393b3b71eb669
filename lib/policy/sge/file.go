package sge

import (
	"fmt"
	"slices"
	"strings"

	"fairspool/lib/config"
	"fairspool/lib/policy/sge/qconf"
	"fairspool/lib/sge"
)

// readQconf reads the files of saved output of qconf that the setting names, if it names any. Oddities are
// warnings, as the files come from another program, for another one.
func readQconf(c *config.Config, s config.Setting) error {
	if !isQconf(s) {
		return nil
	}
	r := reader{config: c}
	for _, name := range settingsOf(c).files[s.Name] {
		path, text, err := config.ReadForeign(s.Folder, name)
		if err != nil {
			return err
		}
		r.File, r.Line = path, 1
		r.read(s.Name, text)
	}
	r.take(s.Name)
	r.TellMore()
	c.Warnings = append(c.Warnings, r.Warnings...)
	return nil
}

// reader reads what one option of qconf printed, in one file or several.
type reader struct {
	config.Foreign
	config  *config.Config
	records []savedRecord
	before  string // the file before this one; empty: it is the first
}

// savedRecord is a record of a file.
type savedRecord struct {
	file string
	qconf.Record
}

// read reads a file. Records are taken later, when all of them are known.
func (r *reader) read(key, text string) {
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

// only reports notes. It also reports an earlier file if Grid Engine has just one of its kind.
func (r *reader) only(notes []qconf.Note) {
	if r.before != "" {
		r.Tell(fmt.Sprintf("there is but one; what this file says counts for more than %s", r.before))
	}
	r.before = r.File
	r.tellAll(notes)
}

// add adds the records of a file.
func (r *reader) add(records []qconf.Record, notes []qconf.Note) {
	r.tellAll(notes)
	for _, record := range records {
		r.records = append(r.records, savedRecord{r.File, record})
	}
}

func (r *reader) tellAll(notes []qconf.Note) {
	for _, n := range notes {
		r.Line = n.Line
		r.Tell(n.Text)
	}
}

// parameter sets a parameter of sched_conf(5).
func (r *reader) parameter(a qconf.Attribute) {
	r.Line = a.Line
	known := schedulerNames()
	if !slices.Contains(known, a.Name) {
		r.Warn(a.Name, "unknown parameter"+r.Hint(a.Name, known))
		return
	}
	s := config.Setting{Table: policyName, Name: a.Name, Value: a.Value, From: r.From()}
	if err := r.config.Take(s); err != nil {
		r.Warn(a.Name, err.Error())
	}
}

// schedulerNames are the keys of [sge] that are parameters of sched_conf(5).
func schedulerNames() []string {
	return slices.DeleteFunc(config.KeyNames(Keys), func(name string) bool {
		return name == compatibilityKey || name == "execd_params" || strings.HasPrefix(name, "qconf_")
	})
}

// take takes the records. Of several of a name the last counts.
func (r *reader) take(key string) {
	last := map[string]int{}
	for i, record := range r.records {
		last[record.Name] = i
	}
	earlier := map[string]config.Origin{}
	for i, record := range r.records {
		r.File, r.Line = record.file, record.Line
		if last[record.Name] != i {
			earlier[record.Name] = r.From()
			continue
		}
		if at, twice := earlier[record.Name]; twice {
			r.Warn(record.Name, fmt.Sprintf("stands in %s, too; this one counts", at))
		}
		for _, kind := range r.kindsOf(key, record) {
			r.takeAs(kind, record)
		}
	}
}

// kindsOf returns the kinds of a record. Usersets are departmentKind, access lists, or
// both (access_list(5)).
func (r *reader) kindsOf(key string, record savedRecord) []kind {
	switch key {
	case "qconf_sc":
		return []kind{complexKind}
	case "qconf_sp":
		return []kind{peKind}
	case "qconf_sprj":
		return []kind{projectKind}
	case "qconf_suser":
		return []kind{userKind}
	}
	i := slices.IndexFunc(record.Attributes, func(a qconf.Attribute) bool { return a.Name == "type" })
	if i < 0 {
		return []kind{usersetKind}
	}
	kinds, ok := usersetKinds(record.Attributes[i].Value)
	if !ok {
		r.Line = record.Attributes[i].Line
		r.Warn(record.Name, fmt.Sprintf("type: %q: want ACL, DEPT, or both", record.Attributes[i].Value))
	}
	return kinds
}

// usersetKinds reads the type of a userset. ok is false if there is something else in it.
func usersetKinds(value string) (kinds []kind, ok bool) {
	words := qconf.List(value)
	ok = len(words) > 0
	for _, word := range words {
		kind, known := map[string]kind{"ACL": usersetKind, "DEPT": departmentKind}[strings.ToUpper(word)]
		ok = ok && known
		if known && !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds, ok
}

// takeAs takes a record as one of a kind.
func (r *reader) takeAs(kind kind, record savedRecord) {
	known, others := attributesOf(kind)
	var list []attribute
	for _, a := range record.Attributes {
		switch {
		case slices.Contains(known, a.Name):
			list = append(list, attribute{a.Name, a.Value, a.Line})
		case kind != peKind && !slices.Contains(others, a.Name):
			r.Line = a.Line
			r.Warn(record.Name, a.Name+": unknown attribute"+r.Hint(a.Name, known))
		}
	}
	for _, warning := range takeRecord(r.config, kind, record.Name, list, config.Origin{File: r.File, Line: record.Line}) {
		r.Add(warning)
	}
}

// attributesOf returns the attributes of objects of a kind that count, and others that
// Grid Engine has.
func attributesOf(kind kind) (known, others []string) {
	for _, a := range Attributes {
		if a.of(kind) {
			known = append(known, a.Name)
		}
	}
	return known, strings.Fields(otherAttributes[kind])
}

// projectNode is a node of a saved share tree that is said to be a project's.
type projectNode struct {
	name string
	from config.Origin
}

// tree takes a share tree. Nodes may be as deep as the file is long.
func (r *reader) tree(root *qconf.Node) {
	if root == nil {
		return
	}
	type pair struct {
		from *qconf.Node
		to   *sge.Node
	}
	settingsOf(r.config).projectNodes = nil
	top := &sge.Node{Name: root.Name, Shares: root.Shares}
	for rest := []pair{{root, top}}; len(rest) > 0; {
		p := rest[len(rest)-1]
		rest = rest[:len(rest)-1]
		if p.from.Project && len(p.from.Children) == 0 {
			settingsOf(r.config).projectNodes = append(settingsOf(r.config).projectNodes, projectNode{p.from.Name, config.Origin{File: r.File, Line: p.from.Line}})
		}
		for _, c := range p.from.Children {
			n := &sge.Node{Name: c.Name, Shares: c.Shares}
			p.to.Children = append(p.to.Children, n)
			rest = append(rest, pair{c, n})
		}
	}
	slices.SortFunc(settingsOf(r.config).projectNodes, func(a, b projectNode) int { return a.from.Line - b.from.Line })
	Settings(r.config).Tree = top
}

// warnOfProjectNodes warns of leaves of a saved share tree that name a missing project: a
// user of that name then gets their shares. It runs when everything is read, as only then
// all projects are known.
func warnOfProjectNodes(c *config.Config) {
	if c.JobPriorityPolicy != policyName {
		return
	}
	f := config.Foreign{}
	for _, n := range settingsOf(c).projectNodes {
		f.File, f.Line = n.from.File, n.from.Line
		if _, ok := Settings(c).Projects[n.name]; !ok {
			f.Warn(n.name, "a project's node (type=1), but there is no such project; add it with qconf_sprj or [sge.projects]")
		}
	}
	f.TellMore()
	c.Warnings = append(c.Warnings, f.Warnings...)
}

// ignoredKey is a parameter of sched_conf(5) that has no effect here.
type ignoredKey struct {
	key config.Key // without set; its default is Grid Engine's
	// also is another value without meaning, such as that of an installer's profile.
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
	{config.Key{Name: "algorithm", Kind: config.String, Default: "default"}, nil, "there is but one"},
	{config.Key{Name: "schedule_interval", Kind: config.Time, Default: 15.0, Unit: "s", Most: config.MaxSeconds}, nil, byCycles},
	{config.Key{Name: "flush_submit_sec", Kind: config.Integer, Default: int64(0), Unit: "seconds", Most: config.MaxSeconds}, nil, byCycles},
	{config.Key{Name: "flush_finish_sec", Kind: config.Integer, Default: int64(0), Unit: "seconds", Most: config.MaxSeconds}, nil, byCycles},
	{config.Key{Name: "queue_sort_method", Kind: config.String, Default: "load"}, nil, byRank},
	{config.Key{Name: "load_formula", Kind: config.String, Default: "np_load_avg"}, nil, byRank},
	{config.Key{Name: "job_load_adjustments", Kind: config.String, Default: "np_load_avg=0.50"}, "none", byNoLoad},
	{config.Key{Name: "load_adjustment_decay_time", Kind: config.Time, Default: 450.0, Unit: "s", Most: config.MaxSeconds}, 0.0, byNoLoad},
	{config.Key{Name: "schedd_job_info", Kind: config.String, Default: "true"}, "false", "negotiate -explain shows why a job waits"},
	{config.Key{Name: "params", Kind: config.String, Default: "none"}, nil, "no parameter of it is served"},
	{config.Key{Name: "weight_tickets_override", Kind: config.Integer, Default: int64(0), Unit: "tickets", Most: maxShares}, nil, "the override policy gives what oticket says"},
	{config.Key{Name: "max_reservation", Kind: config.Integer, Default: int64(0), Unit: "jobs", Most: maxShares}, nil, byReserve},
	{config.Key{Name: "default_duration", Kind: config.String, Default: "INFINITY"}, nil, byReserve},
}

// ignoredKeys returns the parameters without effect as keys, which note whether they say
// something.
func ignoredKeys() []config.Key {
	keys := make([]config.Key, len(ignored))
	for i, g := range ignored {
		keys[i] = g.key
		keys[i].Help = "Has no effect: " + g.why + "."
		keys[i].Set = func(c *config.Config, v any) {
			ignore(c, g.key.Name, !sameValue(v, g.key.Default) && !sameValue(v, g.also))
		}
	}
	return keys
}

// sameValue reports whether two values of a key are the same; case does not count.
func sameValue(a, b any) bool {
	x, isString := a.(string)
	y, both := b.(string)
	if isString && both {
		return strings.EqualFold(strings.TrimSpace(x), strings.TrimSpace(y))
	}
	return a == b
}

// ignore notes whether a parameter without effect says something.
func ignore(c *config.Config, name string, says bool) {
	if !says {
		delete(settingsOf(c).ignored, name)
		return
	}
	if settingsOf(c).ignored == nil {
		settingsOf(c).ignored = map[string]bool{}
	}
	settingsOf(c).ignored[name] = true
}

// qconfKeys are the keys of saved output of qconf, in reading order: each kind of object
// before the kinds that refer to it.
var qconfKeys = []config.Key{
	qconfKey("qconf_ssconf", "qconf -ssconf", "The parameters."),
	qconfKey("qconf_sc", "qconf -sc", "The complexes."),
	qconfKey("qconf_sp", "qconf -sp", "Parallel environments."),
	qconfKey("qconf_su", "qconf -su", "Usersets: departments and access lists."),
	qconfKey("qconf_sprj", "qconf -sprj", "Projects."),
	qconfKey("qconf_suser", "qconf -suser", "Users."),
	qconfKey("qconf_sstree", "qconf -sstree", "The share tree."),
}

func qconfKey(name, command, what string) config.Key {
	return config.Key{Name: name, Kind: config.Words, Default: []string(nil), Check: config.FileName,
		Help: what + " Files that " + command + " printed, relative to the folder of this file.",
		Set: func(c *config.Config, v any) {
			if files := v.([]string); len(files) == 0 {
				delete(settingsOf(c).files, name)
			} else {
				settingsOf(c).files = noted(settingsOf(c).files, name, files)
			}
		}}
}

// isQconf reports whether a setting of [sge] names files of saved output.
func isQconf(s config.Setting) bool { return slices.Contains(config.KeyNames(qconfKeys), s.Name) }
