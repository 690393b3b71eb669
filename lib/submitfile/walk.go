package submitfile

import (
	"math/rand/v2"
	"slices"
	"strings"

	"fairspool/lib/macro"
)

// Walk goes through the description as the cluster of the given number, and calls each
// for every queue line that asks for jobs, with the values then in force, at its first
// proc. warn receives undefined macros, which are empty; it may be nil. An error of each
// ends the walk.
//
// A Description must not be walked by two goroutines at once.
func (d *Description) Walk(cluster int, warn func(Warning), each func(*Job) error) error {
	s := scope{Description: d, vars: map[string]*variable{}, warn: warn}
	proc := 0
	for i := range d.statements {
		st := &d.statements[i]
		if st.queue == nil {
			s.vars[strings.ToLower(st.Name)] = &variable{name: st.Name, text: st.Text, at: &st.at, exact: !st.folded}
			continue
		}
		if st.queue.jobs() == 0 {
			continue
		}
		j := &Job{scope: s, queue: st.queue, cluster: cluster, first: proc, values: map[string]*looked{}}
		j.scope.proc = j
		j.at(st.queue.items.window * st.queue.count)
		if err := each(j); err != nil {
			return err
		}
		proc += st.queue.jobs()
	}
	return nil
}

// Job is one proc that a queue line asks for, and leads on to the next.
type Job struct {
	scope
	queue   *queue
	cluster int
	first   int // the proc that is the first of this queue line

	n      int // of the procs of this queue line, from 0
	proc   int
	step   int // of the count, for this item
	row    int // number of the item among all
	live   []variable
	places []origin // the places of the items' fields, with their items
	fields []itemAt
	chance *rand.Rand // nil until it is asked for
	values map[string]*looked
}

// looked is the result of a look at a name, valid for one proc; if it does not vary, for
// all.
type looked struct {
	value  Value
	ok     bool
	varied bool
	n      int // the proc that it was worked out for
}

// at goes to proc n of the queue line.
func (j *Job) at(n int) {
	q := j.queue
	j.n, j.proc, j.chance = n, j.first+n, nil
	j.step = n % q.count
	before := j.row
	row, text := q.items.line(n / q.count)
	if j.row = row; n > 0 && j.step > 0 && row == before && j.live != nil || len(q.vars) == 0 {
		return
	}
	j.live = j.live[:0]
	for i, field := range fields(text, len(q.vars)) {
		j.live = append(j.live, variable{name: q.vars[i], text: field, at: j.itemAt(i, row, field)})
	}
}

// itemAt returns where a field of an item stands, good until the next item.
func (j *Job) itemAt(i, row int, field string) *origin {
	if j.queue.items.where == nil {
		return &j.queue.at
	}
	if j.places == nil {
		j.places, j.fields = make([]origin, len(j.queue.vars)), make([]itemAt, len(j.queue.vars))
		for k := range j.places {
			j.places[k].item = &j.fields[k]
		}
	}
	j.fields[i] = itemAt{j.queue.items.where, row, field}
	return &j.places[i]
}

// Next goes on to the next proc of the queue line, if there is one.
func (j *Job) Next() bool {
	if j.n+1 >= j.Count() {
		return false
	}
	j.at(j.n + 1)
	return true
}

// Skip goes to the proc that stands n behind the first of the queue line.
func (j *Job) Skip(n int) { j.at(n) }

// Count returns for how many procs the queue line asks.
func (j *Job) Count() int { return j.queue.jobs() }

// First returns the number of the first proc of the queue line.
func (j *Job) First() int { return j.first }

// Proc returns the number of the proc.
func (j *Job) Proc() int { return j.proc }

// ID returns the numbers of the cluster and the proc. For Varies it counts as a look-up of $(JobId).
func (j *Job) ID() (cluster, proc int) {
	j.varied = true
	return j.cluster, j.proc
}

// Line returns the place of the queue line.
func (j *Job) Line() Place {
	p := j.queue.at.place(0)
	return p
}

// item returns an item of the queue line, by its variable's name.
func (s *scope) item(key string) (*variable, bool) {
	if s.proc == nil {
		return nil, false
	}
	for i, k := range slices.Backward(s.proc.queue.keys) { // of two of a name the last counts
		if k == key {
			s.varied = true
			return &s.proc.live[i], true
		}
	}
	if _, own := s.vars[key]; key == "item" && !own {
		return &variable{name: "Item"}, true
	}
	return nil, false
}

// Varies reports whether a value that was looked up since the last call depends
// on the proc, and forgets it.
func (j *Job) Varies() bool {
	was := j.varied
	j.varied = false
	return was
}

// Varying calls look, and reports whether a value that it looked up depends on the proc.
// Varies includes it, too.
func (j *Job) Varying(look func() error) (bool, error) {
	was := j.Varies()
	err := look()
	varies := j.varied
	j.varied = was || varies
	return varies, err
}

// Value is the value of a name for a job.
type Value struct {
	Name string // as written
	Text string // expanded, without blanks at its ends
	at   *origin
	same bool // Text stands in the file as it is
}

// Place returns where a byte of the value stands, or where the value begins when macros
// were put in. Values without a source have the zero Place.
func (v Value) Place(offset int) Place {
	if v.at == nil {
		return Place{}
	}
	if !v.same {
		offset = 0
	}
	return v.at.place(offset)
}

// Lookup returns what a name, in lower case, is worth; ok is false when it has
// no value. Names that only the surroundings define have none here.
func (j *Job) Lookup(key string) (v Value, ok bool, err error) {
	if j.vars[key] == nil && key != "item" && !slices.Contains(j.queue.keys, key) {
		return Value{}, false, nil // as most names are that are asked for
	}
	if l := j.values[key]; l != nil && (!l.varied || l.n == j.n) {
		j.varied = j.varied || l.varied
		return l.value, l.ok, nil
	}
	was := j.varied
	j.varied = false
	value, ok, err := j.look(key)
	if err != nil {
		return Value{}, false, err
	}
	l := j.values[key]
	if l == nil {
		l = &looked{}
		j.values[key] = l
	}
	*l = looked{value, ok, j.varied, j.n}
	j.varied = was || l.varied
	return l.value, l.ok, nil
}

// Differs reports whether what Lookup found for a name depends on the proc.
func (j *Job) Differs(key string) bool { return j.values[key] == nil || j.values[key].varied }

func (j *Job) look(key string) (Value, bool, error) {
	found, ok := j.item(key)
	if !ok || found.name == "Item" && len(j.queue.keys) == 0 {
		if found, ok = j.vars[key]; !ok {
			return Value{}, false, nil
		}
	}
	text, err := j.valueOf(found)
	if err != nil {
		return Value{}, false, err
	}
	trimmed := strings.TrimSpace(text)
	return Value{found.name, trimmed, found.at, found.exact && text == found.text && trimmed == text}, true, nil
}

// Names returns the names that have values, in lower case, in no order.
func (j *Job) Names() []string {
	out := make([]string, 0, len(j.vars)+len(j.queue.keys))
	for key := range j.vars {
		out = append(out, key)
	}
	for i, key := range j.queue.keys {
		if _, twice := j.vars[key]; !twice && !slices.Contains(j.queue.keys[:i], key) {
			out = append(out, key)
		}
	}
	return out
}

// template is a text taken apart at its references, for expansion as often as
// there are procs.
type template struct {
	parts []part // nil: the text has no references
}

// part is literal text or a reference. The name and the default of a reference are
// taken apart when they are needed, since text may be nested to any depth.
type part struct {
	macro.Part
	name        string // of $(name) and $ENV(name), as written
	key         string // name in lower case; empty when it has references in it
	hasDefault  bool   // of $(name:default)
	defaultText string
	doubt       string // of literal text: a warning that a reference was meant
}

// mostTemplates bounds the texts that are kept taken apart; items may make a
// text of their own for every job.
const mostTemplates = 10_000

// template returns text taken apart.
func (d *Description) template(text string) template {
	if strings.IndexByte(text, '$') < 0 {
		return template{}
	}
	if t, ok := d.texts[text]; ok {
		return t
	}
	t := d.takeApart(text)
	if len(d.texts) < mostTemplates {
		d.texts[text] = t
	}
	return t
}

func (d *Description) takeApart(text string) template {
	var t template
	for _, p := range macro.Split(text) {
		t.parts = append(t.parts, d.partOf(p))
	}
	return t
}

// partOf prepares a reference. A reference with an impossible name is literal.
func (d *Description) partOf(p macro.Part) part {
	out := part{Part: p}
	if !p.Ref {
		out.doubt = doubtOf(p.Text)
		return out
	}
	if p.Function != "" && p.Function != "ENV" {
		return out
	}
	name, fallback, has := macro.CutDefault(p.Body)
	out.name = strings.TrimSpace(name)
	out.hasDefault, out.defaultText = has, fallback
	switch {
	case strings.Contains(name, "$"):
	case macro.IsName(out.name):
		out.key = strings.ToLower(out.name)
	default:
		return part{Part: macro.Part{Text: p.Text}}
	}
	return out
}

// doubtOf warns of literal text that was meant for a reference.
func doubtOf(literal string) string {
	switch found, function := macro.Mistaken(literal); {
	case function != "":
		return Shorten(found) + "): no function, taken as it stands, did you mean $" + function + "()?"
	case found != "":
		return Shorten(found) + ": no parenthesis closes it, taken as it stands"
	}
	return ""
}
