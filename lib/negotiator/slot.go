package negotiator

import (
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// Holder returns who holds a slot by its own ad: a claim from outside. Empty when
// nobody does.
func Holder(eval *classad.Context, ad *classad.Ad) string {
	state, _ := ad.EvalString(eval, pool.AttrState)
	return HolderIn(eval, ad, state)
}

// Vacant reports whether a slot can be given away by its own ad: nobody holds it, and its
// State, if it has one, is Unclaimed or Matched.
func Vacant(eval *classad.Context, ad *classad.Ad) bool {
	state, _ := ad.EvalString(eval, pool.AttrState)
	return IsOpen(state) && HolderIn(eval, ad, state) == ""
}

func IsOpen(state string) bool {
	return state == "" || strings.EqualFold(state, "Unclaimed") || strings.EqualFold(state, "Matched")
}

// HolderIn does as Holder of a slot in this state.
func HolderIn(eval *classad.Context, ad *classad.Ad, state string) string {
	if !strings.EqualFold(state, "Claimed") && !strings.EqualFold(state, "Preempting") {
		return ""
	}
	if group, ok := ad.EvalString(eval, pool.AttrAccountingGroup); ok {
		return group
	}
	user, _ := ad.EvalString(eval, pool.AttrRemoteUser)
	return user
}
