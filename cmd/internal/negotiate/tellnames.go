package negotiate

import (
	"fmt"
	"strings"
	"time"

	"fairspool/lib/pool"
)

// moment is a time as reports for people have it: in the local time zone.
func moment(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }

// procsText lists the first of some procs, and how many jobs there are besides.
func procsText(list []pool.Procs) string {
	var words []string
	rest := 0
	for i, p := range list {
		if i < mostNames {
			words = append(words, p.String())
			continue
		}
		rest += p.Count()
	}
	return strings.Join(words, ", ") + andMore(rest)
}

// namesText lists the first of some names, and how many there are besides.
func namesText(list []string) string {
	shown := list[:min(len(list), mostNames)]
	return strings.Join(shown, ", ") + andMore(len(list)-len(shown))
}

func andMore(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}
