package steer

import (
	"strings"

	"fairspool/spool"
)

// heldBack begins what a factory is paused for while qhold holds it; what follows is
// the reason. One that cannot make its next jobs is paused for something else.
const heldBack = "held: "

// HeldBack reports whether qhold keeps a factory from making jobs, and for what
// reason.
func HeldBack(f spool.Factory) (why string, held bool) {
	return strings.CutPrefix(f.Paused, heldBack)
}

// HoldBack keeps a factory from making more jobs until LetGo. It changes nothing of
// one that makes none anyway.
func HoldBack(tx *spool.Tx, f spool.Factory, why string) (text string, done bool) {
	switch _, held := HeldBack(f); {
	case held:
		return "held back already", true
	case f.Paused != "":
		return "will not be made anyway: " + f.Paused, false
	}
	f.Paused = heldBack + why
	tx.PutFactory(f)
	return "held back", true
}

// LetGo ends that.
func LetGo(tx *spool.Tx, f spool.Factory) (text string, done bool) {
	switch _, held := HeldBack(f); {
	case held:
		f.Paused = ""
		tx.PutFactory(f)
		return "will be made again", true
	case f.Paused != "":
		return "will not be made: " + f.Paused, false
	}
	return "not held back", false
}
