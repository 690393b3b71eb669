package jobad

import (
	"fairspool/lib/jobargs"
	"fairspool/lib/pool"
	"fairspool/lib/submitfile"
)

// arguments sets Args or Arguments, after the syntax that the user chose.
func (j *job) arguments() error {
	g, ok, err := j.command("arguments")
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
		j.setString(pool.AttrArgs, raw)
		return nil
	}
	words, err := jobargs.ParseV2(raw)
	if err != nil {
		return j.refuse(g, "%v", err)
	}
	j.setString(pool.AttrArguments, jobargs.FormatV2(words))
	return nil
}

// environment sets Env or Environment, after the syntax that the user chose;
// with getenv it is Environment, and the user's own assignments hold.
func (j *job) environment() error {
	g, ok, err := j.command("environment")
	if err != nil {
		return err
	}
	var own []string
	raw, isNew := "", true
	if ok {
		if raw, isNew, err = jobargs.Unquote(g.Text); err != nil {
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
	all, err := j.getenv()
	switch {
	case err != nil:
		return err
	case all:
		own, isNew = jobargs.MergeEnv(j.options.Environ, own), true
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

// getenv tells whether the submitter's environment is to be copied.
func (j *job) getenv() (bool, error) {
	g, ok, err := j.command("getenv")
	if !ok || err != nil {
		return false, err
	}
	all, err := j.boolean("getenv", false)
	if err != nil {
		return false, j.refuse(g, "%s: a list of names", submitfile.Shorten(g.Text))
	}
	return all, nil
}
