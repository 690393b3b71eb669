package jobpolicy

import (
	"fmt"
	"strconv"
	"strings"

	"fairspool/lib/classad"
)

// The attributes of jobs that wait for the end of others.
const (
	AttrAfterOk         = "AfterOk"         // clusters that have to end with success: "12,13"
	AttrAfterAny        = "AfterAny"        // clusters that have to end
	AttrDependenciesMet = "DependenciesMet" // true when they have
	// AttrDependenciesWaived are those of AfterOk that need no more than to end, since
	// somebody released the job though it waited for their success in vain.
	AttrDependenciesWaived = "DependenciesWaived"
)

var (
	afterOk         = classad.NewName(AttrAfterOk)
	afterAny        = classad.NewName(AttrAfterAny)
	dependenciesMet = classad.NewName(AttrDependenciesMet)
)

// MaxClusters is how many clusters a job may wait for with success, and how many
// otherwise.
const MaxClusters = 1000

// ParseClusters reads numbers of clusters, from 1 up, parted by blanks or commas. They come
// back in their order, each once. The error is one line.
func ParseClusters(text string) ([]int, error) {
	var list []int
	seen := map[int]bool{}
	for word := range words(text) {
		n, ok := cluster(word)
		switch {
		case !ok:
			return nil, fmt.Errorf("%q: want numbers of clusters, as in 12, 13", cut(line(word), 40))
		case !seen[n] && len(list) == MaxClusters:
			return nil, fmt.Errorf("want at most %d clusters", MaxClusters)
		case !seen[n]:
			seen[n] = true
			list = append(list, n)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%q: want numbers of clusters, as in 12, 13", cut(line(text), 40))
	}
	return list, nil
}

// words are the pieces of a list of clusters.
func words(text string) func(yield func(string) bool) {
	return strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) })
}

func cluster(word string) (int, bool) {
	n, err := strconv.ParseUint(word, 10, 31)
	return int(n), err == nil && n > 0
}

// After returns the clusters that a job waits for, each once: ok have to end with
// success, any in whatever way. A lone number need not be a text. What is no cluster's
// number is passed over, and so is what comes behind MaxClusters of them.
func After(ad *classad.Ad) (ok, any []int) {
	return clusters(ad, AttrAfterOk), clusters(ad, AttrAfterAny)
}

// Waived returns those clusters of AfterOk that have to end only.
func Waived(ad *classad.Ad) []int { return clusters(ad, AttrDependenciesWaived) }

func clusters(ad *classad.Ad, name string) (list []int) {
	text, _ := ad.EvalString(&classad.Context{}, name)
	if n, ok := ad.EvalInt(&classad.Context{}, name); ok {
		text = strconv.FormatInt(n, 10)
	}
	seen := map[int]bool{}
	for word := range words(text) {
		if n, ok := cluster(word); ok && !seen[n] && len(list) < MaxClusters {
			seen[n] = true
			list = append(list, n)
		}
	}
	return list
}

// Waits reports whether a job waits for the end of others, before which no cycle
// may match it: it has AfterOk or AfterAny, which are not undefined, and DependenciesMet
// is not true.
func Waits(ad *classad.Ad) bool {
	if !given(ad, afterOk) && !given(ad, afterAny) {
		return false
	}
	v, constant, _ := constantOf(ad, dependenciesMet)
	met, isBool := v.Bool()
	return !constant || !isBool || !met
}

// given reports whether an ad has an attribute that nobody has taken back by undefined.
func given(ad *classad.Ad, name *classad.Name) bool {
	v, constant, ok := constantOf(ad, name)
	return ok && !(constant && v.Kind() == classad.KindUndefined)
}
