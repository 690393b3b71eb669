package jobpolicy

import (
	"strconv"
	"strings"

	"fairspool/lib/classad"
)

// The attributes of jobs that wait for the end of others.
const (
	AttrAfterOk         = "AfterOk"         // clusters that have to end with success: "12,13"
	AttrAfterAny        = "AfterAny"        // clusters that have to end
	AttrDependenciesMet = "DependenciesMet" // true when they have
)

// After returns the clusters that a job waits for: ok have to end with
// success, any in whatever way. What is no cluster's number is passed over.
func After(ad *classad.Ad) (ok, any []int) {
	return clusters(ad, AttrAfterOk), clusters(ad, AttrAfterAny)
}

func clusters(ad *classad.Ad, name string) (list []int) {
	text, _ := ad.EvalString(&classad.Context{}, name)
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		if n, err := strconv.Atoi(word); err == nil && n > 0 {
			list = append(list, n)
		}
	}
	return list
}

// Waits tells whether a job waits for the end of others, before which no cycle
// may match it.
func Waits(ad *classad.Ad) bool {
	if !ad.Has(AttrAfterOk) && !ad.Has(AttrAfterAny) {
		return false
	}
	met, ok := ad.EvalBool(&classad.Context{}, AttrDependenciesMet)
	return !ok || !met
}
