package spool

import (
	"fmt"
	"strings"

	"fairspool/lib/plural"
)

// summary says in a few words what a transaction changed.
func summary(f frame) string {
	lines, jobs := map[byte]int{}, map[byte]int{}
	first, last := 0, 0 // new clusters
	for _, line := range (chunk{text: f.Body}).lines() {
		if len(line) < 3 {
			continue
		}
		lines[line[0]]++
		var r record
		if !strings.ContainsRune("NLAD", rune(line[0])) {
			continue
		}
		if _, err := r.procs(line[2:]); err != nil {
			continue
		}
		jobs[line[0]] += r.Count()
		if line[0] == 'N' {
			if last = r.Cluster; first == 0 {
				first = last
			}
		}
	}
	var words []string
	if jobs['N'] > 0 {
		words = append(words, clusters(first, last)+" of "+plural.Count(jobs['N'], "job"))
	}
	if jobs['N'] == 0 && jobs['L'] == 0 && lines['A']+lines['D'] > 0 {
		words = append(words, plural.Count(lines['A']+lines['D'], "change")+" of jobs")
	}
	if lines['S'] == 0 && lines['G']+lines['g'] > 0 {
		words = append(words, plural.Count(lines['G']+lines['g'], "change")+" of slots")
	}
	for _, w := range []struct {
		n    int
		what string
		how  string
	}{
		{jobs['L'], "job", " left the queue"}, {lines['K'], "claim", ""}, {lines['k'], "claim", " ended"},
		{lines['U'], "submitter", " charged or changed"}, {lines['u'], "submitter", " deleted"},
		{lines['S'], "slot", " advertised"}, {lines['s'], "slot", " withdrawn"}, {lines['B'], "slot", " left alone"},
		{lines['W'], "tally", ""}, {lines['w'], "tally", " deleted"}, {lines['M'], "mark", ""},
		{lines['F'], "factory", ""}, {lines['f'], "factory", " ended"}, {lines['h'], "file", " archived"},
	} {
		if w.n > 0 {
			words = append(words, plural.Count(w.n, w.what)+w.how)
		}
	}
	return strings.Join(words, ", ")
}

func clusters(first, last int) string {
	if first == last {
		return fmt.Sprintf("cluster %d", first)
	}
	return fmt.Sprintf("clusters %d to %d", first, last)
}

// counted says how many there are of something.
