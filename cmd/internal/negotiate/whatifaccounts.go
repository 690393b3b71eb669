package negotiate

import (
	"maps"
	"slices"
	"strings"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/edit"
	"fairspool/cmd/internal/operation"
	"fairspool/lib/jobprio"
)

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
