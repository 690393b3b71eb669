package joblog

import (
	"fmt"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/userlog"
)

// attrInformation names the attributes of a job that its log shows behind each event
// (job_ad_information_attrs).
const attrInformation = "JobAdInformationAttrs"

// shown returns those attributes of a job's ad, as they are now, that there are.
func shown(ad *classad.Ad) string {
	if !ad.Has(attrInformation) {
		return ""
	}
	c := &classad.Context{}
	names, _ := ad.EvalString(c, attrInformation)
	var lines []string
	for _, name := range strings.FieldsFunc(names, func(r rune) bool { return r == ',' || r == ' ' }) {
		if ad.Has(name) {
			value := ad.Eval(c, name, nil).String()
			lines = append(lines, name+" = "+userlog.OneLine(value))
		}
	}
	return strings.Join(lines, "\n")
}

// informed returns the events with an event 028 behind each, if the job wants that.
func (l Log) informed(events []userlog.Event) (all []userlog.Event) {
	if l.Shown == "" {
		return events
	}
	for _, e := range events {
		about := e
		about.Body, about.More = userlog.AdInformation{Ad: append([]string{
			fmt.Sprintf("Cluster = %d", e.Job.Cluster),
			fmt.Sprintf("Proc = %d", e.Job.Proc),
			fmt.Sprintf("TriggerEventTypeNumber = %d", userlog.Number(e.Body)),
		}, strings.Split(l.Shown, "\n")...)}, nil
		all = append(all, e, about)
	}
	return all
}
