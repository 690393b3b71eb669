package jobad

import (
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
