package config

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Nice values as Grid Engine has them on Linux.
const (
	bestNice, worstNice = 0, 20
	leastNice, mostNice = -20, 20
	unsetNice           = -999 // stands for the default

	// The higher the priority, the lower the value.
	bestName, worstName = "PTF_MAX_PRIORITY", "PTF_MIN_PRIORITY"
)

func checkExecdParams(list string) error { _, _, err := niceRange(list); return err }

// niceRange reads execd_params: words with commas or blanks between them, in which case
// does not count. There are many more in sge_conf(5), of daemons that are none here.
func niceRange(list string) (best, worst int, err error) {
	best, worst = bestNice, worstNice
	if strings.EqualFold(strings.TrimSpace(list), "none") {
		return best, worst, nil
	}
	seen := map[string]bool{}
	for _, word := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) {
		name, text, _ := strings.Cut(word, "=")
		name = strings.ToUpper(name)
		value, unset := &best, bestNice
		if name == worstName {
			value, unset = &worst, worstNice
		}
		switch {
		case name != bestName && name != worstName:
			return 0, 0, fmt.Errorf("%q: %w; want %s=NUMBER or %s=NUMBER", word, errNotServed, bestName, worstName)
		case seen[name]:
			return 0, 0, fmt.Errorf("%s stands there twice", name)
		}
		seen[name] = true
		if *value, err = niceValue(text, unset); err != nil {
			return 0, 0, fmt.Errorf("%s: %w", name, err)
		}
	}
	switch {
	case len(seen) == 0:
		return 0, 0, fmt.Errorf("empty: want \"none\", %s=NUMBER or %s=NUMBER", bestName, worstName)
	case best > worst:
		return 0, 0, fmt.Errorf("%s=%d is above %s=%d: the higher priority is the lower nice value", bestName, best, worstName, worst)
	}
	return best, worst, nil
}

// niceValue reads a nice value; -999 stands for unset.
func niceValue(text string, unset int) (int, error) {
	n, err := strconv.Atoi(text)
	switch {
	case err == nil && n == unsetNice:
		return unset, nil
	case err != nil || n < leastNice || n > mostNice:
		return 0, fmt.Errorf("%q: want a whole number, %d to %d", text, leastNice, mostNice)
	}
	return n, nil
}
