package operation

import "fairspool/spool"

// slotsMark is kept by a spool whose pool was given slots that may be gone by now.
const slotsMark = "slots"

// EverGiven reports whether the pool has a slot or a file in slots.d, or ever had one
// that NoteGiven noted.
func EverGiven(v *spool.View) bool {
	advertised, byHand := v.SlotSources()
	return advertised || byHand || v.Mark(slotsMark) != ""
}

// NoteGiven makes EverGiven true for ever: for transactions that take slots out of the
// pool, and for slots in files, which go without a transaction.
func NoteGiven(tx *spool.Tx) { putMark(tx, slotsMark, "given") }

// FilesUnnoted reports whether slots.d has a file and nothing notes that it had one.
func FilesUnnoted(v *spool.View) bool {
	_, byHand := v.SlotSources()
	return byHand && v.Mark(slotsMark) == ""
}
