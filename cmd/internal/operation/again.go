package operation

import (
	"fmt"
	"strings"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/jobad"
	"fairspool/lib/pool"
)

// attrTransformOnEvict lists what a job wants changed when it has to leave its slot.
const attrTransformOnEvict = "TransformOnEvict"

// mayAskForMore tells whether the job, which runs, is to leave its slot rather than to be
// held: it has taken more than it had asked for, and says itself how much it asks for
// after that. Whether that is more is found out when it has left, and all is known that
// it took.
func (x steered) mayAskForMore(why Reason) bool {
	if why.Code != jobad.OutOfResources || !x.claimed || x.claim.State != pool.RunningClaim || x.status() != pool.Running {
		return false
	}
	list, _ := x.ad.EvalString(&classad.Context{}, attrTransformOnEvict)
	return strings.TrimSpace(list) != ""
}

// staysHeld notes that a job that is held has left its slot for the reason why.
func (j job) staysHeld(why Reason, at time.Time) {
	_, err := j.transform(why, at)
	j.left(why.and(err), at)
}

// goesOn makes a job idle that has left its slot for the reason why. One that had taken
// more than it may is held, unless it asks for more from now on.
func (j job) goesOn(why Reason, at time.Time) {
	again, err := j.transform(why, at)
	j.left(why.and(err), at)
	if why.Code == jobad.OutOfResources && !again {
		j.steered().hold(why.and(err), at)
		return
	}
	j.setStatus(pool.Idle, at)
}

// holdUnlessMore holds a job for the reason why, or makes it idle when it had taken more
// than it may, and asks for more from now on.
func (j job) holdUnlessMore(why Reason, at time.Time) {
	if why.Code != jobad.OutOfResources {
		j.steered().hold(why, at)
		return
	}
	j.goesOn(why, at)
}

// and returns the reason with what went wrong besides, if something did.
func (why Reason) and(err error) Reason {
	if err != nil {
		why.Text += "; " + err.Error()
	}
	return why
}

// transform sets what the job itself wants set when it has to leave its slot for the
// reason why. It tells whether the job asks for more of something than before. One that
// had taken more than it may asks for less of nothing: that would be in vain.
func (j job) transform(why Reason, at time.Time) (more bool, err error) {
	ad, _ := j.tx.Job(j.id) // with what is known of the attempt
	if !ad.Has(attrTransformOnEvict) {
		return false, nil
	}
	c := locked(at)
	set, _, err := jobad.Evicted(c, ad, why.Code, why.Subcode)
	if err != nil {
		return false, err
	}
	after := classad.New().Chain(ad)
	for _, a := range set {
		after.Set(a.Name, a.Value)
	}
	for _, a := range set {
		if !strings.HasPrefix(strings.ToLower(a.Name), "request") {
			continue
		}
		was, had := ad.EvalNumber(c, a.Name)
		is, has := after.EvalNumber(c, a.Name)
		if had && why.Code == jobad.OutOfResources && (!has || is < was) {
			return false, fmt.Errorf("%s: %s would be less than the %v of before", attrTransformOnEvict, a.Name, was)
		}
		more = more || has && (!had || is > was)
	}
	for _, a := range set {
		j.tx.Set(j.id, a.Name, a.Value)
	}
	return more, nil
}
