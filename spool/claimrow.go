package spool

import (
	"strconv"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// attributes is what a row is written to: an ad, or text at once.
type attributes interface {
	SetString(name, s string)
	SetInt(name string, n int64)
	SetReal(name string, x float64)
}

// claimAttributes writes a claim's row. Behind the key the names are in their order,
// which that of the text is.
func claimAttributes(to attributes, c pool.Claim) {
	to.SetString(claimKeyName, c.Job.String())
	setText(to, "AcctGroup", c.By.Account)
	to.SetInt("Attempt", int64(c.Attempt))
	setTime(to, "ChargedSince", c.ChargedSince)
	setText(to, "Class", c.By.Class)
	setText(to, "Limits", c.Limits)
	to.SetString("Machine", c.Machine)
	setTime(to, "MatchedAt", c.MatchedAt)
	setText(to, "Of", c.Piece.Of)
	setText(to, "Owner", c.By.User)
	setReal(to, "PE", c.By.PE)
	setInt(to, "PID", int64(c.PID))
	setText(to, "Project", c.By.Project)
	if c.PromisedTo != (pool.JobID{}) {
		to.SetString(promisedToName, c.PromisedTo.String())
	}
	setText(to, "QOS", c.By.QOS)
	setReal(to, "Rank", c.Rank)
	setInt(to, "RequestCpus", c.By.Cpus)
	setInt(to, "Seq", int64(c.Seq))
	to.SetString("Slot", c.Slot)
	setTime(to, "StartedAt", c.StartedAt)
	to.SetString("State", c.State.String())
	to.SetString("Submitter", c.Submitter)
	setText(to, takesName, string(c.Piece.Takes))
	setText(to, "UnixGroup", c.By.Group)
	setInt(to, "VacateCode", int64(c.VacateCode))
	setText(to, "VacateReason", c.VacateReason)
	setTime(to, "VacateSince", c.VacateSince)
	setInt(to, "VacateSubcode", int64(c.VacateSubcode))
	to.SetInt("Weight", int64(c.Weight))
}

// claimAd returns a claim's row but for the transaction.
func claimAd(c pool.Claim) *classad.Ad {
	ad := classad.New()
	c.Seq = 0
	claimAttributes(ad, c)
	return ad
}

// appendClaim writes what appendRow would of the ad, with the transaction if that is
// not 0, at a quarter of the cost: claims are many.
func appendClaim(b []byte, c pool.Claim, seq uint64) []byte {
	t := rowText{b: b, separator: '['}
	c.Seq = seq
	claimAttributes(&t, c)
	return append(t.b, " ]"...)
}

const promisedToName = "PromisedTo"

// rowText writes attributes of usual names in the order in which they are set.
type rowText struct {
	b         []byte
	separator byte
}

func (t *rowText) name(name string) {
	t.b = append(append(append(t.b, t.separator, ' '), name...), " = "...)
	t.separator = ';'
}

func (t *rowText) SetInt(name string, n int64) {
	t.name(name)
	t.b = strconv.AppendInt(t.b, n, 10)
}

func (t *rowText) SetReal(name string, x float64) {
	t.name(name)
	t.b = classad.Literal(classad.Real(x)).AppendTo(t.b, classad.StyleSpool)
}

func (t *rowText) SetString(name, s string) {
	t.name(name)
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '\\' || c == plainText {
			t.b = classad.Literal(classad.String(s)).AppendTo(t.b, classad.StyleSpool)
			return
		}
	}
	t.b = append(append(append(t.b, plainText), s...), plainText)
}
