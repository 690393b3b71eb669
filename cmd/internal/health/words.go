package health

import (
	"fmt"
	"strings"
	"time"

	"fairspool/lib/plural"
	"fairspool/lib/pool"
)

// mostNamed is how many machines or jobs a finding names.
const mostNamed = 3

// list names the first few of many.
func list(all []string, noun string) string {
	if len(all) > mostNamed+1 {
		all = append(all[:mostNamed:mostNamed], plural.Count(len(all)-mostNamed, "more "+noun))
	}
	return plural.List(all)
}

func names(machines []string) string { return list(machines, "machine") }

func jobs(claims []pool.Claim) string {
	var all []string
	for _, c := range claims {
		all = append(all, c.Job.String())
	}
	return plural.Noun(len(all), "job") + " " + list(all, "job")
}

// age words how long something has been, in the largest unit of which there are two.
func age(d time.Duration) string {
	for _, u := range []struct {
		of   time.Duration
		noun string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}} {
		if d >= 2*u.of {
			return plural.Count(int(d/u.of), u.noun)
		}
	}
	return plural.Count(max(0, int(d/time.Second)), "second")
}

// megabytes words an amount of bytes.
func megabytes(n uint64) string {
	if n < 10<<30 {
		return fmt.Sprintf("%d MB", n>>20)
	}
	return fmt.Sprintf("%d GB", n>>30)
}

// legible returns an error without the advice that ours give.
func legible(err error) string {
	text, _, _ := strings.Cut(err.Error(), ": nothing was changed; ")
	return text
}
