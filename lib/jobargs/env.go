package jobargs

import (
	"fmt"
	"strings"
)

// ParseEnvV1 returns the assignments, each NAME=value, of an environment in
// the old syntax. Blanks before a name do not count, all others do, as in
// HTCondor. Of several assignments to one name the last holds, in the place
// of the first. It is an error when an assignment has no name or no "=".
func ParseEnvV1(text string) ([]string, error) {
	var env []string
	for _, a := range strings.FieldsFunc(text, func(r rune) bool { return r == ';' || r == '\n' }) {
		if a = strings.TrimLeft(a, blanks); a != "" {
			env = append(env, a)
		}
	}
	return checkEnv(env)
}

// ParseEnvV2 returns the assignments, each NAME=value, of an environment in
// the new syntax. Of several assignments to one name the last holds, in the
// place of the first. It is an error when a quote is not closed, or when an
// assignment has no name or no "=".
func ParseEnvV2(text string) ([]string, error) {
	env, err := ParseV2(text)
	if err != nil {
		return nil, err
	}
	return checkEnv(env)
}

// FormatEnvV2 is the inverse of ParseEnvV2.
func FormatEnvV2(env []string) string { return FormatV2(env) }

// MergeEnv returns base with the assignments of over put over it. Names keep
// the place where they first stood; new ones come last.
func MergeEnv(base, over []string) []string {
	out := make([]string, 0, len(base)+len(over))
	place := make(map[string]int, len(base)+len(over))
	for _, list := range [][]string{base, over} {
		for _, a := range list {
			name, _, _ := strings.Cut(a, "=")
			if i, seen := place[name]; seen {
				out[i] = a
				continue
			}
			place[name] = len(out)
			out = append(out, a)
		}
	}
	return out
}

func checkEnv(env []string) ([]string, error) {
	for _, a := range env {
		name, _, ok := strings.Cut(a, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("%q: want NAME=value", a)
		}
	}
	if len(env) == 0 {
		return nil, nil
	}
	return MergeEnv(nil, env), nil
}
