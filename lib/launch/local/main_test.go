package local

import (
	"os"
	"testing"

	"fairspool/internal/testenv"
	"fairspool/lib/classad"
)

func TestMain(m *testing.M) { os.Exit(testenv.Run(m)) }

// adOf returns an ad with attributes that are given by name and expression.
func adOf(t *testing.T, pairs ...string) *classad.Ad {
	t.Helper()
	ad := classad.New()
	for i := 0; i < len(pairs); i += 2 {
		e, err := classad.ParseExpr(pairs[i+1])
		testenv.OK(t, err)
		ad.Set(pairs[i], e)
	}
	return ad
}
