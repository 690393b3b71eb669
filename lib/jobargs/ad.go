package jobargs

import (
	"fmt"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// FromAd returns the arguments of a job, without its executable: those of
// Arguments (V2), else of Args (V1), else none. Errors name the attribute
// that is no string or not well formed. Strings of ads have no NUL byte, and so
// neither have arguments.
func FromAd(ad *classad.Ad) ([]string, error) {
	v1 := func(text string) ([]string, error) { return ParseV1(text), nil }
	return fromAd(ad, pool.AttrArguments, ParseV2, pool.AttrArgs, v1)
}

// EnvFromAd returns the environment of a job as NAME=value: that of
// Environment (V2), else of Env (V1), else none. Errors are as for FromAd.
func EnvFromAd(ad *classad.Ad) ([]string, error) {
	return fromAd(ad, pool.AttrEnvironment, ParseEnvV2, pool.AttrEnv, ParseEnvV1)
}

type parser func(string) ([]string, error)

func fromAd(ad *classad.Ad, v2 string, parse2 parser, v1 string, parse1 parser) ([]string, error) {
	name, parse := v2, parse2
	if !ad.Has(v2) {
		name, parse = v1, parse1
	}
	if !ad.Has(name) {
		return nil, nil
	}
	text, ok := ad.EvalString(&classad.Context{}, name)
	if !ok {
		return nil, fmt.Errorf("%s: want a string", name)
	}
	words, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return words, nil
}
