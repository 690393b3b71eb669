package report

import (
	"reflect"
	"testing"
)

func TestHeadOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]*Head{
		`{"Cycle": 3, "Time": 1800000000, "Slots": 7, "Warnings": ["a"], "Submitters": [], "Cycle": 9}`: {3, 1800000000, []string{"a"}},
		`{"Cycle": 3}`: {Cycle: 3}, `{"Time": "now"}`: nil, `{"Cycle": 3, "Submitters": [`: nil, `[]`: nil, ``: nil,
	} {
		got, err := HeadOf([]byte(text))
		if (err == nil) != (want != nil) || want != nil && !reflect.DeepEqual(got, *want) {
			t.Errorf("HeadOf(%s) = %v, %v, want %v", text, got, err, want)
		}
	}
}
