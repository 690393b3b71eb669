package jobad

import (
	"slices"
	"strings"

	"fairspool/lib/jobargs"
	"fairspool/lib/pool"
	"fairspool/lib/submitfile"
)

// arguments sets Args or Arguments, after the syntax that the user chose.
func (j *job) arguments() error {
	if words := j.options.Command; len(words) > 0 {
		j.setString(pool.AttrArguments, jobargs.FormatLiteral(submitfile.Texts(words[1:])))
		return nil
	}
	line, ok, err := j.shell()
	if err != nil {
		return err
	}
	if ok {
		j.setString(pool.AttrArguments, jobargs.FormatV2([]string{"-c", line.Text}))
		return nil
	}
	g, ok, err := j.either("arguments", "arguments2", "allow_arguments_v1")
	if err != nil {
		return err
	}
	if !ok {
		j.setString(pool.AttrArguments, "")
		return nil
	}
	raw, isNew, err := jobargs.Unquote(g.Text)
	if err != nil {
		return j.refuse(g, "%v", err)
	}
	if !isNew {
		j.setString(pool.AttrArgs, strings.Join(jobargs.ParseV1(raw), " "))
		return nil
	}
	words, err := jobargs.ParseV2(raw)
	if err != nil {
		return j.refuse(g, "%v", err)
	}
	j.setString(pool.AttrArguments, jobargs.FormatV2(words))
	return nil
}

// either returns the value of a command in either syntax, or of one that has to
// be in the new one. Both may be given only where a third command allows it; the
// new one counts.
func (j *job) either(command, modern, allow string) (g given, ok bool, err error) {
	old, hasOld, err := j.command(command)
	if err != nil {
		return given{}, false, err
	}
	g, ok, err = j.command(modern)
	if !ok || err != nil {
		return old, hasOld, err
	}
	both, err := j.boolean(allow, false)
	switch {
	case err != nil:
		return given{}, false, err
	case hasOld && !both:
		return given{}, false, j.refuse(g, "excludes %s, unless %s = true", command, allow)
	case !strings.HasPrefix(g.Text, `"`):
		return given{}, false, j.refuse(g, "want the new syntax, with all of it in double quotes")
	}
	return g, true, nil
}

// environment sets Env or Environment, after the syntax that the user chose;
// with getenv it is Environment, and the user's own assignments hold.
func (j *job) environment() error {
	g, ok, err := j.either("environment", "environment2", "allow_environment_v1")
	if err != nil {
		return err
	}
	var own []string
	raw, isNew := "", true
	if ok {
		if raw, isNew, err = jobargs.UnquoteEnv(g.Text); err != nil {
			return j.refuse(g, "%v", err)
		}
		parse := jobargs.ParseEnvV1
		if isNew {
			parse = jobargs.ParseEnvV2
		}
		if own, err = parse(raw); err != nil {
			return j.refuse(g, "%v", err)
		}
	}
	got, copied, err := j.getenv()
	switch {
	case err != nil:
		return err
	case copied:
		j.setString(pool.AttrEnvironment, withCopied(own, got))
		return nil
	case !ok:
		return nil
	}
	if !isNew {
		j.setString(pool.AttrEnv, raw)
		return nil
	}
	j.setString(pool.AttrEnvironment, jobargs.FormatEnvV2(own))
	return nil
}

// withCopied returns an environment in which the user's own assignments go over what was
// copied. In what was copied $$() is text, as in the functions that shells export.
func withCopied(own, copied []string) string {
	if len(own) == 0 {
		return jobargs.FormatLiteral(jobargs.MergeEnv(nil, copied))
	}
	var all []string
	for _, a := range jobargs.MergeEnv(copied, own) {
		format := jobargs.FormatLiteral
		if slices.Contains(own, a) {
			format = jobargs.FormatV2
		}
		all = append(all, format([]string{a}))
	}
	return strings.Join(all, " ")
}

// getenv returns what is to be copied of the submitter's environment: all of it, or
// the names of a list. asked tells whether anything may be.
func (j *job) getenv() (env []string, asked bool, err error) {
	g, ok, err := j.command("getenv")
	switch {
	case err != nil:
		return nil, false, err
	case !ok && j.options.Getenv:
		return j.options.Environ, true, nil
	case !ok:
		return nil, false, nil
	}
	if all, plain := truth(unquoted(g.Text)); plain {
		if !all {
			return nil, false, nil
		}
		return j.options.Environ, true, nil
	}
	wanted, unwanted := patterns(unquoted(g.Text))
	for _, a := range j.options.Environ {
		name, _, _ := strings.Cut(a, "=")
		if (len(wanted) == 0 || like(wanted, name)) && !like(unwanted, name) {
			env = append(env, a)
		}
	}
	return env, true, nil
}

// patterns takes apart a list of names in which * stands for any letters; those
// with ! before them are not wanted. The names of a list without any other are all
// but these.
func patterns(text string) (wanted, unwanted []string) {
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return strings.ContainsRune(",; \t", r) }) {
		if name, not := strings.CutPrefix(word, "!"); not {
			unwanted = append(unwanted, name)
		} else {
			wanted = append(wanted, word)
		}
	}
	return wanted, unwanted
}

// like reports whether a name is like one of some patterns, without regard to case.
func like(patterns []string, name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, name) })
}

// matches reports whether a text is a pattern's pieces in their order, with
// anything in the place of each *.
func matches(pattern, text string) bool {
	pieces := strings.Split(pattern, "*")
	if len(pieces) == 1 {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, pieces[0])
	if !ok {
		return false
	}
	for _, piece := range pieces[1 : len(pieces)-1] {
		_, behind, found := strings.Cut(text, piece)
		if !found {
			return false
		}
		text = behind
	}
	return strings.HasSuffix(text, pieces[len(pieces)-1])
}
