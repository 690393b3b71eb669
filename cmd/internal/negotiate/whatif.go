package negotiate

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/edit"
	"fairspool/cmd/internal/operation"
	"fairspool/cmd/internal/trial"
	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/nearest"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// change is one -what-if.
type change struct {
	text  string // as written
	apply func(*world) error
}

// changeKind is a kind of change, by the command that makes it for good.
type changeKind struct {
	name, example string
	// read reads the words behind the name. It fails as a wrong use.
	read func(words []string) (apply func(*world) error, err error)
}

// changeKinds are all kinds, in the order of the manual page.
func changeKinds() []changeKind {
	return []changeKind{
		{"userprio", "userprio -setfactor alice@example.org 2", readUserprio},
		{"config", "config GROUP_QUOTA_physics=30", readConfig},
		{"slots", "slots add 10 like slot1@node1", readSlots},
		{"submit", "submit 100 like 12.0", readSubmit},
		{"prio", "prio +5 12", readPrio},
		{"qdel", "qdel 12", readQdel},
	}
}

// examplesOfChanges returns an example of each kind.
func examplesOfChanges() string {
	var list []string
	for _, k := range changeKinds() {
		list = append(list, "'"+k.example+"'")
	}
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " or " + list[last]
}

// readChanges reads what -what-if says, in order.
func readChanges(c *cmdline.Call) ([]change, error) {
	var changes []change
	for _, args := range c.Repeated("what-if") {
		apply, err := readChange(args[0])
		if err != nil {
			return nil, ofChange(args[0], err)
		}
		changes = append(changes, change{args[0], apply})
	}
	return changes, nil
}

// ofChange says which change an error is about.
func ofChange(text string, err error) error { return fmt.Errorf("-what-if '%s': %w", text, err) }

func readChange(text string) (func(*world) error, error) {
	words, err := split(text)
	if err != nil {
		return nil, cmdline.Usagef("%v", err)
	}
	if len(words) == 0 {
		return nil, cmdline.Usagef("want a change, like %s", examplesOfChanges())
	}
	var names []string
	for _, k := range changeKinds() {
		if k.name == words[0] {
			return k.read(words[1:])
		}
		names = append(names, k.name)
	}
	return nil, unknownChange(words[0], names)
}

// unknownChange proposes the kind of change that was probably meant.
func unknownChange(word string, names []string) error {
	near, ok := nearest.Name(word, names)
	if !ok {
		return cmdline.Usagef("%s: unknown change: want one like %s", word, examplesOfChanges())
	}
	for _, k := range changeKinds() {
		if k.name == near {
			return cmdline.Usagef("%s: unknown change; did you mean %s, as in '%s'?", word, near, k.example)
		}
	}
	return nil
}

// split returns the words of a text as a shell does: blanks part them; within
// single quotes all is as it stands, within double quotes a backslash makes the next
// double quote or backslash a plain one, and elsewhere any next character.
func split(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	begun, quote := false, byte(0)
	for i := 0; i < len(text); i++ {
		b := text[i]
		switch {
		case quote == 0 && strings.IndexByte(" \t\n", b) >= 0:
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
			continue
		case quote == 0 && (b == '\'' || b == '"'):
			quote = b
		case quote != 0 && b == quote:
			quote = 0
		case b == '\\' && quote != '\'' && i+1 < len(text) && (quote == 0 || strings.IndexByte(`"\`, text[i+1]) >= 0):
			i++
			word.WriteByte(text[i])
		default:
			word.WriteByte(b)
		}
		begun = true
	}
	if quote != 0 {
		return nil, errors.New("a quote is not closed")
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}

// world is what the changes of -what-if are tried on.
type world struct {
	*trial.World
	asked    []pool.Procs // that the plan has the analysis of
	compared bool         // the plan tells where all jobs stand
	next     int          // the next cluster
	// Clusters from firstNew on are those that changes added; gone are jobs that they
	// removed.
	firstNew int
	gone     []pool.Procs
}

func newWorld(c *cmdline.Call, v *spool.View, seen operation.Snapshot, domain string) *world {
	w := &world{World: trial.New(c, v, seen, domain), next: 1}
	if list := v.Clusters(); len(list) > 0 {
		w.next = list[len(list)-1].ID + 1
	}
	w.firstNew = w.next
	return w
}

// cycle runs the cycle on the world.
func (w *world) cycle() (*negotiator.Plan, error) { return w.Cycle(w.asked, w.compared) }

// submitter returns whose a job is.
func (w *world) submitter(ad *classad.Ad) string {
	return operation.Submitter(ad, w.Domain, w.Config.Groups)
}

// readUserprio reads an edit of userprio: `-setfactor alice@example.org 2`.
func readUserprio(words []string) (func(*world) error, error) {
	line := cmdline.Command{Name: "userprio", Flags: append(slices.Clone(edit.Flags), edit.Create)}
	flags, args, err := line.Parse(words)
	if err != nil {
		return nil, err
	}
	var duration []string
	if i := slices.IndexFunc(flags, func(f cmdline.Parsed) bool { return f.Name == "duration" }); i >= 0 {
		duration = flags[i].Args
		flags = slices.Delete(flags, i, i+1)
	}
	create := false
	if i := slices.IndexFunc(flags, func(f cmdline.Parsed) bool { return f.Name == edit.Create.Name }); i >= 0 {
		create = true
		flags = slices.Delete(flags, i, i+1)
	}
	switch {
	case len(flags) == 0:
		return nil, cmdline.Usagef("want an edit, like -setfactor alice@example.org 2")
	case len(flags) > 1:
		return nil, cmdline.Usagef("-%s and -%s: only one of them at a time", flags[0].Name, flags[1].Name)
	case len(args) > 0:
		return nil, cmdline.Usagef("-%s: one argument too many: %s", flags[0].Name, args[0])
	case !slices.ContainsFunc(edit.Flags, func(f cmdline.Flag) bool { return f.Name == flags[0].Name }):
		return nil, cmdline.Usagef("-%s: is no edit", flags[0].Name)
	case duration != nil && !edit.Leasable(flags[0].Name):
		return nil, cmdline.Usagef("-duration: only with -setfactor, -setceiling or -setfloor")
	}
	flag := flags[0]
	if _, err := edit.Read(flag.Name, flag.Args, duration, create, nil); err != nil {
		return nil, err
	}
	return func(w *world) error { return w.edit(flag, duration, create) }, nil
}

// edit makes an edit of userprio.
func (w *world) edit(flag cmdline.Parsed, duration []string, create bool) error {
	ch, err := edit.Read(flag.Name, flag.Args, duration, create, w.Config.Groups)
	if err != nil {
		return err
	}
	changed, err := ch.Make(w, edit.Pool{Domain: w.Domain, Queued: w.queued}, w.Now, w.Config.Params)
	for _, x := range changed {
		if x.After.There {
			w.PutSubmitter(x.After.Record)
		} else {
			w.DropSubmitter(x.Before.Name)
		}
	}
	return err
}

// queued returns the submitters of the jobs in the queue, and of those of earlier changes.
func (w *world) queued() []string {
	names := slices.Collect(maps.Keys(operation.IdleJobs(w.Queue, w.Domain, w.Config.Groups)))
	for _, list := range [][]jobprio.Run{w.Pool.Jobs, w.Pool.Held} {
		for _, j := range list {
			names = append(names, j.Submitter)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// readConfig reads settings: `GROUP_QUOTA_physics=30`.
func readConfig(words []string) (func(*world) error, error) {
	if len(words) == 0 {
		return nil, cmdline.Usagef("want settings, like GROUP_QUOTA_physics=30")
	}
	for _, word := range words {
		if key, _, ok := strings.Cut(word, "="); !ok || key == "" {
			return nil, cmdline.Usagef("%s: want a setting, KEY=VALUE", word)
		}
	}
	return func(w *world) error { return w.configure(words) }, nil
}

// configure changes the configuration. Jobs and records follow groups that are
// other ones then.
func (w *world) configure(with []string) error {
	changed, err := w.Config.With(with)
	if err != nil {
		return err
	}
	if _, err := operation.CycleConfig(&changed); err != nil {
		return err
	}
	w.Config = changed
	for _, list := range [][]jobprio.Run{w.Pool.Jobs, w.Pool.Held} {
		for i, j := range list {
			list[i].Submitter = w.submitter(j.Ad)
		}
	}
	operation.Respell(w, w.Now, w.Config.Params)
	return nil
}
