package submitfile

import (
	"errors"
	"strings"

	"fairspool/lib/jobargs"
	"fairspool/lib/pool"
)

// unquote takes off what a submit description puts around arguments and
// environments: double quotes mark the new syntax, in which two of them
// stand for one; in the old syntax a backslash makes one of a double quote.
func unquote(text string) (raw string, isNew bool, err error) {
	inner, isNew := strings.CutPrefix(text, `"`)
	if !isNew {
		raw := strings.ReplaceAll(text, `\"`, "\x00")
		if strings.Contains(raw, `"`) {
			return "", false, errors.New(`a double quote inside: write \" in the old syntax, or put all of it in double quotes for the new one`)
		}
		return strings.ReplaceAll(raw, "\x00", `"`), false, nil
	}
	inner, closed := strings.CutSuffix(inner, `"`)
	if !closed {
		return "", true, errors.New("the double quote at its beginning is not closed")
	}
	raw = strings.ReplaceAll(inner, `""`, "\x00")
	if strings.Contains(raw, `"`) {
		return "", true, errors.New(`a double quote inside: write "" for it`)
	}
	return strings.ReplaceAll(raw, "\x00", `"`), true, nil
}

// arguments sets Args or Arguments, after the syntax that the user chose.
func (j *job) arguments() error {
	g, ok, err := j.command("arguments")
	if err != nil {
		return err
	}
	if !ok {
		j.setString(pool.AttrArguments, "", g.line)
		return nil
	}
	raw, isNew, err := unquote(g.text)
	if err != nil {
		return j.refuse(g, "%v", err)
	}
	if !isNew {
		j.setString(pool.AttrArgs, raw, g.line)
		return nil
	}
	words, err := jobargs.ParseV2(raw)
	if err != nil {
		return j.refuse(g, "%v", err)
	}
	j.setString(pool.AttrArguments, jobargs.FormatV2(words), g.line)
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
		if raw, isNew, err = unquote(g.text); err != nil {
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
		j.setString(pool.AttrEnv, raw, g.line)
		return nil
	}
	j.setString(pool.AttrEnvironment, jobargs.FormatEnvV2(own), g.line)
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
		return false, j.refuse(g, "%s: a list of names is %s", shorten(g.text), later)
	}
	return all, nil
}
