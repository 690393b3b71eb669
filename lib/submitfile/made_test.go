package submitfile

import "testing"

// What Literal returns is the text again, for whoever reads the description and expands
// what is left to the start of the job.
func TestLiteral(t *testing.T) {
	for text, want := range map[string]string{
		"plain":          "plain",
		"$":              "$",
		"$HOME $(x) $$x": "$HOME $(x) $$x",
		"a$$(x)":         "a$$(DOLLARDOLLAR)(x)",
		"$$$(x)":         "$$$(DOLLARDOLLAR)(x)",
		"$$$$(x)":        "$$$$(DOLLARDOLLAR)(x)",
		"$ENV(HOME)":     "$ENV(HOME)",
		"$(DOLLAR)":      "$(DOLLAR)",
		"$$([1+1])":      "$$(DOLLARDOLLAR)([1+1])",
	} {
		d, _, err := Make("", "a.sh", []Line{{Name: "x", Text: Literal(text)}}, "", Options{})
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		err = d.Walk(1, nil, func(j *Job) error {
			v, _, err := j.Lookup("x")
			if v.Text != want {
				t.Errorf("Literal(%q) = %s is worth %q, want %q", text, Literal(text), v.Text, want)
			}
			return err
		})
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
	}
}
