package submitfile

import (
	"fmt"
	"slices"
	"strings"

	"fairspool/lib/macro"
)

// maxFolded bounds the bytes of all values that refer to themselves: each
// assignment keeps its own, and a thousand lines of A = $(A) more grow as the
// square.
const maxFolded = 128 << 20

// withItself puts the earlier value of a name in place of its references to
// itself, as the language wants it: A = $(A) more. A macro function that asks
// for the name, as in A = $Fn(A), is given the earlier value too.
func (r *reader) withItself(a Assignment, key string) (out string, folded bool, err error) {
	if !strings.Contains(a.Text, "$") {
		return a.Text, false, tooLong(len(a.Text))
	}
	earlier, defined := r.earlier(key)
	out, fits := macro.Replace(a.Text, maxText, func(p macro.Part) (text string, ok bool) {
		if p.Function == "" {
			text, ok = itself(p, key, earlier, defined)
		} else if defined && err == nil {
			text, ok, err = r.callOfItself(p, key, earlier, a.at)
		}
		folded = folded || ok
		return text, ok
	})
	if err == nil && !fits {
		err = tooLong(maxText + 1)
	}
	if folded {
		if r.folded += len(out); r.folded > maxFolded && err == nil {
			err = fmt.Errorf("values that refer to themselves take more than %d bytes in all", maxFolded)
		}
	}
	return out, folded, err
}

func tooLong(n int) error {
	if n > maxText {
		return fmt.Errorf("longer than %d bytes", maxText)
	}
	return nil
}

// earlier returns what a name is worth before the line under way.
func (r *reader) earlier(key string) (text string, ok bool) {
	if v, ok := r.vars[key]; ok {
		return v.text, true
	}
	text, ok = r.options.Predefined[strings.ToUpper(key)]
	return text, ok
}

// itself returns what stands for a reference if it is one to key.
func itself(p macro.Part, key, earlier string, defined bool) (text string, ok bool) {
	// No further into the body than its name: it may be nested deeply.
	if len(p.Body) < len(key) || !strings.EqualFold(p.Body[:len(key)], key) {
		return "", false
	}
	fallback, hasDefault := strings.CutPrefix(p.Body[len(key):], ":")
	if !hasDefault && fallback != "" {
		return "", false
	}
	if defined {
		return earlier, true
	}
	return fallback, true
}

// callOfItself returns what stands for a macro function if an argument of it is the
// plain name key: its result where the earlier value has no macros, else the
// function with that value for the name.
func (r *reader) callOfItself(p macro.Part, key, earlier string, at origin) (text string, ok bool, err error) {
	if p.Function == "ENV" || p.Function == "$" || strings.Contains(p.Body, "$") {
		return "", false, nil
	}
	args := macro.Arguments(p.Body)
	is := func(arg string) bool { return strings.EqualFold(arg, key) }
	if !slices.ContainsFunc(args, is) {
		return "", false, nil
	}
	if p.Function == "RANDOM_CHOICE" {
		if len(args) > 1 {
			return "", false, nil // items, not the name of a list
		}
		return "$RANDOM_CHOICE(" + strings.Join(macro.Items(earlier), ",") + ")", true, nil
	}
	if !strings.Contains(earlier, "$") && p.Function != "RANDOM_INTEGER" {
		text, err := r.value(p.Text, at)
		return strings.ReplaceAll(text, "$", "$(DOLLAR)"), err == nil, err
	}
	for i, arg := range args {
		if is(arg) {
			args[i] = earlier
		}
	}
	return "$" + p.Function + "(" + strings.Join(args, ",") + ")", true, nil
}
