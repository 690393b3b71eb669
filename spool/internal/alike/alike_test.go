package alike

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fairspool/spool/internal/extracttext"
)

// rows are clusters with their numbers as QDate, but for those with another one.
func rows(clusters ...int) (list []*extracttext.Row) {
	for _, id := range clusters {
		list = append(list, &extracttext.Row{Cluster: id % 100, At: [2]int64{int64(id)}})
	}
	return list
}

func TestStretches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what  string
		kinds []*Kind
		apart map[string][]Place
		want  string
	}{
		{"one kind", []*Kind{{Owner: "a", Alone: 2, Rows: rows(1, 2, 3, 4, 5)}}, nil, "1|2|3 4 5"},
		{"by QDate, then by number", []*Kind{{Owner: "a", Alone: 1, Rows: rows(5, 104, 1, 203)}}, nil, "1|5 4 3"},
		{"fewer than stand alone", []*Kind{{Owner: "a", Alone: 9, Rows: rows(1, 2)}}, nil, "1|2"},
		{"those of others of the owner divide", []*Kind{{Owner: "a", Alone: 1, Rows: rows(1, 2, 3, 6, 7)}, {Owner: "a", Alone: 1, Rows: rows(5, 8)}}, nil, "1|2 3|6 7|5|8"},
		{"those of other owners do not", []*Kind{{Owner: "a", Alone: 1, Rows: rows(1, 2, 3, 6, 7)}, {Owner: "b", Alone: 1, Rows: rows(5, 8)}}, nil, "1|2 3 6 7|5|8"},
		{"places apart divide", []*Kind{{Owner: "a", Alone: 1, Rows: rows(1, 2, 3, 6, 7)}}, map[string][]Place{"a": {{6, 9}, {3, 0}}, "b": {{2, 0}}}, "1|2|3 6|7"},
		{"nobody's", []*Kind{{Rows: rows(1, 2, 3)}, {Alone: 1, Rows: rows(4, 5, 6)}}, map[string][]Place{"": {{2, 0}}}, "1 2 3|4|5 6"},
		{"none", nil, nil, ""},
	} {
		var words []string
		for _, s := range Stretches(c.kinds, c.apart) {
			var ids []string
			for _, r := range s.Rows {
				ids = append(ids, fmt.Sprint(r.Cluster))
				if !slices.Contains(c.kinds[s.Kind].Rows, r) {
					t.Errorf("%s: cluster %d is not of kind %d", c.what, r.Cluster, s.Kind)
				}
			}
			words = append(words, strings.Join(ids, " "))
		}
		if got := strings.Join(words, "|"); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}
