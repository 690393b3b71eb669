package jobad

import (
	"math"
	"strconv"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/lib/submitfile"
)

const (
	kilobyte = 1 << 10
	megabyte = 1 << 20
)

// sized is a request that is a size.
type sized struct {
	command, attr, offer string
	setting              string  // of what jobs ask for that do not say
	retry, increase, max string  // the commands of what later attempts ask for
	unit                 float64 // of the attribute, in bytes
	least                float64 // a job that asks for no more fits everywhere
	subcode              string  // HTCondor's VacateReasonSubCode of a job that took more
}

var (
	memoryRequest = &sized{"request_memory", pool.AttrRequestMemory, pool.AttrMemory, "JOB_DEFAULT_REQUESTMEMORY",
		"retry_request_memory", "retry_request_memory_increase", "retry_request_memory_max", megabyte, 1, "102"}
	diskRequest = &sized{"request_disk", pool.AttrRequestDisk, pool.AttrDisk, "JOB_DEFAULT_REQUESTDISK",
		"retry_request_disk", "retry_request_disk_increase", "retry_request_disk_max", kilobyte, 0, "104"}
)

// amount sets a request that is a size: a number of units, a number with K, M, G
// or T (rounded up), or an expression. Of several with commas between, the first
// holds, and the others are for when that was not enough.
func (j *job) amount(s *sized, fallback string) (request, error) {
	r := request{attr: s.attr, offer: s.offer, always: true}
	g, ok, err := j.asked(s.command, s.attr)
	if err != nil {
		return r, err
	}
	text, later := fallback, []string(nil)
	if ok {
		sizes := topLevel(g.Text)
		text, later = sizes[0], sizes[1:]
	} else {
		g = given{Name: s.setting, Text: fallback}
	}
	if isUndefined(g.Text) {
		return r, j.laterAmounts(s, g, "", nil)
	}
	first, isSize, err := j.size(g, text, s.unit)
	if err != nil {
		return r, err
	}
	n, _ := strconv.ParseFloat(first, 64)
	j.setExpr(s.attr, first)
	r.clause, r.asked = !isSize || n > s.least, ok
	return r, j.laterAmounts(s, g, first, later)
}

// size returns the text of an attribute in units of unit bytes, and whether it
// is a plain number.
func (j *job) size(g given, text string, unit float64) (expr string, isSize bool, err error) {
	n, isSize := parseSize(text, unit)
	switch {
	case isSize && n > math.MaxInt64/2:
		return "", false, j.refuse(g, "%s: too large", submitfile.Shorten(text))
	case isSize:
		return strconv.FormatInt(int64(n), 10), true, nil
	case j.isStray(text):
		return "", false, j.refuse(g, "%q: want a size, as 512 MB or 1.5 GB, or an expression", submitfile.Shorten(text))
	}
	e, err := j.compile(g, text)
	if err != nil {
		if isMeasure(text) {
			err = j.refuse(g, "%s: want a size, as 512 MB or 1.5 GB, or an expression", submitfile.Shorten(text))
		}
		return "", false, err
	}
	if x, isNumber := plainNumber(e); isNumber && x < 0 {
		return "", false, j.refuse(g, "%s: want no negative number", submitfile.Shorten(text))
	}
	if v, constant := e.Constant(); constant && v.Kind() != classad.KindInteger && v.Kind() != classad.KindReal && !isUndefined(text) {
		return "", false, j.refuse(g, "%s: want a size, as 512 MB or 1.5 GB, or an expression", submitfile.Shorten(text))
	}
	return e.Format(classad.StyleSpool), false, nil // without what a comment would hide
}

// isMeasure reports whether a text is a number and a word, which no expression is.
func isMeasure(text string) bool {
	word := strings.TrimLeft(text, "0123456789. ")
	return word != text && isAttributeName(word)
}

// isStray reports whether a text is a lone word that is no attribute of the job: a
// mistake, though it reads as an expression.
func (j *job) isStray(text string) bool {
	return isAttributeName(text) && !j.overrides[strings.ToLower(text)] && !measured[strings.ToLower(text)]
}

// measured are the attributes that a size may be, by themselves, and the words
// that are values.
var measured = map[string]bool{
	"undefined": true, "error": true, "true": true, "false": true,
	"memoryusage": true, "residentsetsize": true, "residentsetsize_raw": true, "imagesize": true, "imagesize_raw": true,
	"diskusage": true, "diskusage_raw": true, "executablesize": true, "transferinputsizemb": true,
	"requestcpus": true, "requestmemory": true, "requestdisk": true, "requestgpus": true,
}

// parseSize reads a number of units, or of what a suffix says, in units,
// rounded up. Not ok: it is something else, maybe an expression.
func parseSize(text string, unit float64) (units float64, ok bool) {
	digits := strings.TrimRight(text, "KMGTBIkmgtbi")
	suffix := strings.ToLower(text[len(digits):])
	digits = strings.TrimSpace(digits)
	if digits == "" || strings.Trim(digits, "0123456789.") != "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return 0, false
	}
	scale := unit
	switch suffix {
	case "":
	case "b":
		scale = 1
	case "k", "kb", "kib":
		scale = 1 << 10
	case "m", "mb", "mib":
		scale = 1 << 20
	case "g", "gb", "gib":
		scale = 1 << 30
	case "t", "tb", "tib":
		scale = 1 << 40
	default:
		return 0, false
	}
	return math.Ceil(n * scale / unit), true
}

// IsSize reports whether a text is a size as request_memory and request_disk take it: a number,
// alone or with K, M, G or T.
func IsSize(text string) bool {
	n, ok := parseSize(text, 1)
	return ok && n <= math.MaxInt64/2
}

// topLevel splits a text at the commas that stand in no parentheses and in no
// quotes.
func topLevel(text string) []string {
	var out []string
	depth, begin := 0, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case '"', '\'':
			i = closing(text, i)
		case ',':
			if depth == 0 {
				out = append(out, strings.TrimSpace(text[begin:i]))
				begin = i + 1
			}
		}
	}
	return append(out, strings.TrimSpace(text[begin:]))
}

// closing returns where the quotes end that begin at i, or the end of the text.
func closing(text string, i int) int {
	for n := i + 1; n < len(text); n++ {
		switch text[n] {
		case '\\':
			n++
		case text[i]:
			return n
		}
	}
	return len(text)
}
