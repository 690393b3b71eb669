package rowtext

import "testing"

// numbers is a row of these tests.
type numbers struct {
	name     string
	at       int64
	inUse    int64
	priority float64
}

func numbersOf(r *Row) (numbers, error) {
	n := numbers{r.Text("Name"), r.Time("At").UnixMilli(), r.Int("InUse"), r.Real("Priority")}
	return n, r.Err
}

// What is read the short way is what the ad says, and what is not plain is told
// from what is.
func TestPlainRows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		plain bool
	}{
		{`[ Name = "alice@x"; Priority = 10.5; At = 5; InUse = -3 ]`, true},
		{`[ Name = "alice@x"; Priority = -0.0 ]`, true},
		{`[ Name = "" ]`, true},
		{`[ Name = "alice@x"; priority = 10.5 ]`, false},
		{`[ Name = "alice@x"; Priority = 10.5; Priority = 11.5 ]`, false},
		{`[ Name = "alice@x"; Zebra = 1 ]`, false},
		{`[ Name = "alice@x"; Priority = 1.0E+20 ]`, false},
		{`[ Name = "alice@x"; Priority = real("INF") ]`, false},
		{`[ Name = "alice@x"; Priority = 1 + 2 ]`, false},
		{`[ Name = "alice@x"; InUse = 1.5 ]`, false},
		{`[ Name = "alice@x"; InUse = "1" ]`, false},
		{`[ Name = "alice@x"; InUse = 01 ]`, false},
		{`[ Name = "alice@x"; Priority = -00.5 ]`, false},
		{`[ Name = "alice@x"; InUse = 9999999999999999999 ]`, false},
		{`[ Name = "al\"ice" ]`, false},
		{`[ Name = "é" ]`, false},
		{`[ Name = 5 ]`, false},
		{`[ Priority = 0.5 ]`, false},
		{`[ Name = "a"; ]`, false},
		{`[ Name = "a" ] `, false},
		{`[Name = "a"]`, false},
		{`[ ]`, false}, {`[ Name = `, false}, {``, false},
	} {
		plain := false
		got, e := Read(c.text, func(r *Row) (numbers, error) {
			n, err := numbersOf(r)
			plain = r.ad == nil && err == nil && !r.odd()
			return n, err
		})
		if plain != c.plain {
			t.Errorf("%s: plain %v, want %v", c.text, plain, c.plain)
		}
		want, err := Read(" "+c.text, numbersOf)
		if (e == nil) != (err == nil) || err == nil && got != want {
			t.Errorf("%s reads as %+v, %v, want %+v, %v", c.text, got, e, want, err)
		}
	}
}
