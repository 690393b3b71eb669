package jobad

import (
	"strconv"
	"strings"

	"fairspool/lib/jobpolicy"
)

// after sets which clusters have to end before the job may be matched: their numbers,
// each once, with commas between.
func (j *job) after(command, attr string) error {
	g, ok, err := j.command(command)
	if !ok || err != nil {
		return err
	}
	clusters, err := jobpolicy.ParseClusters(unquoted(g.Text))
	if err != nil {
		return j.refuse(g, "%w", err)
	}
	var text strings.Builder
	for i, n := range clusters {
		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteString(strconv.Itoa(n))
	}
	j.setString(attr, text.String())
	return nil
}
