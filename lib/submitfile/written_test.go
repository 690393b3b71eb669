package submitfile

import "testing"

// TestPlacesOfItems looks for what is wrong with items: it is told where they
// stand, in the list or in the file.
func TestPlacesOfItems(t *testing.T) {
	for _, c := range []struct {
		text, want, excerpt string
	}{
		{"queue a, b from (\n1 x\n# no\n  2,  $INT(q)\n)", "a.sub:4: ", "      2,  $INT(q)\n          ^"},
		{"queue b from (1\n  $INT(q))\n)", "a.sub:2: ", "      $INT(q))\n      ^"},
		{"queue a, b from list", "list:4: ", "    2 $INT(q)\n      ^"},
		{"queue a, b from [1:] list", "list:4: ", "    2 $INT(q)\n      ^"},
		{"queue a, b from command |", "a.sub:1: ", "    queue a, b from command |\n    ^"},
	} {
		d, _, err := Parse(c.text, "a.sub", Options{
			Read: func(string) (string, error) { return "1 x\r\n\n \n2 $INT(q)\r\n", nil },
			Run:  func([]string) (string, error) { return "1 x\n2 $INT(q)\n", nil },
		})
		if err != nil {
			t.Errorf("Parse(%q) = %v", c.text, err)
			continue
		}
		err = d.Walk(1, nil, func(j *Job) error {
			for {
				if _, _, err := j.Lookup("b"); err != nil {
					return err
				}
				if !j.Next() {
					return nil
				}
			}
		})
		e, ok := err.(*Error)
		if !ok || e.prefix() != c.want || e.Excerpt() != c.excerpt {
			t.Errorf("Walk of %q = %v\n%s\nwant %s\n%s", c.text, err, e.Excerpt(), c.want, c.excerpt)
		}
	}
}
