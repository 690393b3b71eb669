package batchscript

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/nearest"
	"fairspool/lib/submitfile"
)

// option is one of a system's.
type option struct {
	long  string // without dashes; empty: it has none
	short byte   // 0: it has none
	arg   arg
	// do carries it out; nil: it has no meaning here, and why says so.
	do  func(*batch, given) error
	why string
}

// arg reports whether an option has an argument.
type arg byte

const (
	without  arg = iota
	with         // one
	optional     // one behind =, or none
	two          // only the second has a meaning
)

// given is an option as a directive has it.
type given struct {
	name string // as written, without argument
	text string // of the argument
	at   submitfile.Place
}

// serve is an option with a meaning. The spec is "long,s=": the long name, the letter, and
// = for an argument, =? for one that may be missing, or == for two.
func serve(spec string, do func(*batch, given) error) option {
	o := optionOf(spec)
	o.do = do
	return o
}

// none are options without a meaning here, for one reason.
func none(why string, specs ...string) (list []option) {
	for _, spec := range specs {
		o := optionOf(spec)
		o.why = why
		list = append(list, o)
	}
	return list
}

func optionOf(spec string) (o option) {
	spec, isOptional := strings.CutSuffix(spec, "=?")
	spec, hasTwo := strings.CutSuffix(spec, "==")
	spec, hasOne := strings.CutSuffix(spec, "=")
	switch {
	case hasTwo:
		o.arg = two
	case isOptional:
		o.arg = optional
	case hasOne:
		o.arg = with
	}
	long, short, both := strings.Cut(spec, ",")
	if o.long = long; both {
		o.short = short[0]
	}
	return o
}

// letters are options that have a letter and no long name.
func letters(list []option) []option {
	for i, o := range list {
		list[i].long, list[i].short = "", o.long[0]
	}
	return list
}

// nothing is for an option that has its effect anyway, or needs none.
func nothing(*batch, given) error { return nil }

// directive carries out a directive.
func (b *batch) directive(rest string, at submitfile.Place) error {
	words, err := wordsOf(rest, at)
	for len(words) > 0 && err == nil {
		n := 0
		n, err = b.word(words[0], words[1:])
		words = words[1+n:]
	}
	return err
}

// word carries out a word of a directive, and returns how many of those behind it are its
// arguments.
func (b *batch) word(w word, rest []word) (n int, err error) {
	switch {
	case len(w.text) < 2 || w.text[0] != '-':
		if b.is(ofSlurm) && (w.text == "hetjob" || w.text == "packjob") {
			return 0, refuse(w.at, "%s: jobs of several parts are not run", w.text)
		}
		b.warn(w.at, "%s: no option, ignored", submitfile.Shorten(w.text))
		return 0, nil
	case b.system.exact:
		i := slices.IndexFunc(b.system.options, func(o option) bool { return o.long == w.text[1:] })
		if i < 0 {
			return b.unknown(w, rest), nil
		}
		return b.take(b.system.options[i], given{name: w.text, at: w.at}, rest)
	case strings.HasPrefix(w.text, "--"):
		return b.long(w, rest)
	}
	return b.letter(w, rest)
}

// long carries out --name, --name=value or --name value; the name may be abbreviated.
func (b *batch) long(w word, rest []word) (n int, err error) {
	name, value, hasValue := strings.Cut(w.text[2:], "=")
	var found []option
	for _, o := range b.system.options {
		if o.long == name {
			found = []option{o}
			break
		}
		if o.long != "" && strings.HasPrefix(o.long, name) {
			found = append(found, o)
		}
	}
	if len(found) > 1 {
		b.warn(w.at, "--%s: is short for several options of %s, such as --%s, ignored", submitfile.Shorten(name), b.system.name, found[0].long)
		return 0, nil
	}
	if len(found) == 0 {
		if hasValue {
			rest = nil
		}
		return b.unknown(word{"--" + name, w.at}, rest), nil
	}
	o, g := found[0], given{name: "--" + found[0].long, at: w.at}
	switch {
	case hasValue && o.arg == without:
		return 0, refuse(w.at, "%s: takes no argument", g.name)
	case hasValue:
		at := w.at
		at.Col += len("--") + len([]rune(name)) + len("=")
		_, err = b.take(o, g, []word{{value, at}})
		return 0, err
	case o.arg == optional:
		rest = nil
	}
	return b.take(o, g, rest)
}

// letter carries out -x, -x value, -xvalue, or several letters without arguments.
func (b *batch) letter(w word, rest []word) (n int, err error) {
	for i := 1; i < len(w.text); i++ {
		name := "-" + w.text[i:i+1]
		j := slices.IndexFunc(b.system.options, func(o option) bool { return o.short == w.text[i] })
		if j < 0 {
			return b.unknown(word{name, w.at}, rest), nil
		}
		o, g := b.system.options[j], given{name: name, at: w.at}
		if value := w.text[i+1:]; o.arg != without && value != "" {
			at := w.at
			at.Col += i + 1
			_, err = b.take(o, g, []word{{strings.TrimPrefix(value, "="), at}})
			return 0, err
		}
		more := rest
		if o.arg == optional {
			more = nil
		}
		if n, err = b.take(o, g, more); n > 0 || err != nil {
			return n, err
		}
	}
	return 0, nil
}

// take carries out an option, with the words that may be its arguments, and returns how many
// are.
func (b *batch) take(o option, g given, rest []word) (n int, err error) {
	switch {
	case o.arg == without:
	case o.arg == two && len(rest) > 1:
		g.text, g.at, n = rest[1].text, rest[1].at, 2
	case o.arg == two:
		return 0, refuse(g.at, "%s: wants two arguments", g.name)
	case len(rest) > 0:
		g.text, g.at, n = rest[0].text, rest[0].at, 1
	case o.arg == with:
		return 0, refuse(g.at, "%s: wants an argument", g.name)
	}
	if o.do == nil {
		b.warn(g.at, "%s: %s, ignored", g.name, o.why)
		return n, nil
	}
	return n, o.do(b, g)
}

// unknown warns of an option that the system has not, and returns how many of the words behind
// it look like its arguments.
func (b *batch) unknown(w word, rest []word) (n int) {
	var names []string
	dash := "-"
	if strings.HasPrefix(w.text, "--") {
		dash = "--"
	}
	for _, o := range b.system.options {
		if o.long != "" {
			names = append(names, dash+o.long)
		}
	}
	hint := ""
	if len(w.text) > 2 {
		hint = nearest.Hint(w.text, names)
	}
	b.warn(w.at, "%s: no option of %s, ignored%s", submitfile.Shorten(w.text), b.system.name, hint)
	for n < len(rest) && !strings.HasPrefix(rest[n].text, "-") {
		n++
	}
	return n
}

// longest bounds a time limit, in seconds: a hundred years.
const longest = 100 * 365 * 86400

// parts reads whole numbers with colons between.
func parts(text string) (list []int64, ok bool) {
	for part := range strings.SplitSeq(text, ":") {
		n, err := strconv.ParseInt(part, 10, 32)
		if err != nil || n < 0 || part[0] == '+' {
			return nil, false
		}
		list = append(list, n)
	}
	return list, true
}

// seconds adds up parts: the last counts last seconds, and each before it 60 or 24 times
// more.
func seconds(list []int64, last int64) (n int64) {
	unit := last
	for i := len(list) - 1; i >= 0; i-- {
		n += list[i] * unit
		unit *= 60
		if unit > 3600 {
			unit = 86400
		}
	}
	return n
}

// slurmTime reads a time of --time, in seconds; 0 means unlimited.
func slurmTime(text string) (int64, bool) {
	switch strings.ToUpper(text) {
	case "INFINITE", "UNLIMITED", "-1", "0":
		return 0, true
	}
	days, rest, dashed := strings.Cut(text, "-")
	if !dashed {
		rest = text
	}
	list, ok := parts(rest)
	if !ok || len(list) > 3 {
		return 0, false
	}
	var n int64
	switch {
	case dashed:
		d, ok := parts(days)
		if !ok || len(d) != 1 {
			return 0, false
		}
		n = d[0]*86400 + seconds(append(list, 0, 0)[:3], 1)
	case len(list) == 1:
		n = list[0] * 60
	default:
		n = seconds(list, 1)
	}
	return n, n <= longest
}

// clockTime reads [[[D:]H:]M:]S, in seconds; 0 means unlimited.
func clockTime(text string) (int64, bool) {
	if strings.EqualFold(text, "INFINITY") {
		return 0, true
	}
	text, _, _ = strings.Cut(text, ".")
	list, ok := parts(text)
	if !ok || len(list) > 4 {
		return 0, false
	}
	n := seconds(list, 1)
	return n, n <= longest
}

// limitTime is an option that bounds how long the job runs.
func limitTime(b *batch, g given, read func(string) (int64, bool)) error {
	n, ok := read(g.text)
	switch {
	case !ok && b.is(ofSlurm):
		return g.wants("a time such as 90 (minutes), 1:30:00 or 2-12 (days and hours)")
	case !ok:
		return g.wants("a time such as 5400 (seconds) or 1:30:00")
	case n == 0:
		return nil
	}
	b.set(g.at, "wall_time", strconv.FormatInt(n, 10))
	return nil
}

// megabytes reads a size. A number alone has plain bytes; units are the bytes of each
// letter, in lower case unless case counts.
func megabytes(text string, plain float64, units map[byte]float64) (int, bool) {
	end := len(text)
	unit := plain
	if end > 1 {
		if u, ok := units[text[end-1]]; ok {
			unit, end = u, end-1
		}
	}
	n, err := strconv.ParseFloat(text[:end], 64)
	n = math.Ceil(n * unit / (1 << 20))
	if err != nil || !(n >= 0 && n <= math.MaxInt32) || strings.ContainsAny(text, "xXpP+_") {
		return 0, false
	}
	return int(n), true
}

var (
	binary = map[byte]float64{'k': 1 << 10, 'm': 1 << 20, 'g': 1 << 30, 't': 1 << 40}
	// As Grid Engine has them: small letters are powers of 1000.
	decimal = map[byte]float64{'k': 1e3, 'm': 1e6, 'g': 1e9, 't': 1e12, 'K': 1 << 10, 'M': 1 << 20, 'G': 1 << 30, 'T': 1 << 40}
)

func slurmSize(text string) (int, bool) {
	text = strings.ToLower(text)
	if n := len(text); n > 2 && text[n-1] == 'b' && binary[text[n-2]] > 0 {
		text = text[:n-1]
	}
	return megabytes(text, 1<<20, binary)
}

func gridSize(text string) (int, bool) { return megabytes(text, 1, decimal) }

func pbsSize(text string) (int, bool) {
	text = strings.ToLower(text)
	of := 1.0
	switch {
	case strings.HasSuffix(text, "b"):
		text = text[:len(text)-1]
	case strings.HasSuffix(text, "w"):
		text, of = text[:len(text)-1], 8
	}
	units := map[byte]float64{}
	for c, u := range binary {
		units[c] = u * of
	}
	return megabytes(text, of, units)
}

// keepsSize is an option that is an amount of memory.
func keepsSize(what string, read func(string) (int, bool)) func(*batch, given) error {
	return func(b *batch, g given) error {
		n, ok := read(g.text)
		switch {
		case !ok:
			return g.wants("a size such as 512M or 4G")
		case n == 0:
			b.warn(g.at, "%s: 0 is all memory of a node, which no job asks for, ignored", g.name)
			return nil
		}
		g.text = strconv.Itoa(n)
		b.number[what] = g
		return nil
	}
}

// begin is an option that says when the job may start.
func begin(b *batch, g given, read func(string, time.Time) (time.Time, error)) error {
	at, err := read(g.text, b.Now)
	if err != nil {
		return g.wants(err.Error())
	}
	if !at.After(b.Now) {
		return nil
	}
	// Later is no harm: the job only has to wait until then.
	const window = 10 * 365 * 86400
	b.set(g.at, "deferral_time", strconv.FormatInt(at.Unix(), 10))
	b.set(g.at, "deferral_window", strconv.Itoa(window))
	b.set(g.at, "deferral_prep_time", "0")
	return nil
}

// qsubTime reads [[[[CC]YY]MM]DD]hhmm[.SS]; omitted parts are now's, or those of the next such
// time.
func qsubTime(text string, now time.Time) (time.Time, error) {
	bad := errors.New("a time as [[[[CC]YY]MM]DD]hhmm[.SS]")
	date, second, dotted := strings.Cut(text, ".")
	if len(date)%2 != 0 || len(date) < 4 || len(date) > 12 || strings.Trim(date+second, "0123456789") != "" || dotted && len(second) != 2 {
		return time.Time{}, bad
	}
	number := func(text string) int { n, _ := strconv.Atoi(text); return n }
	end := func(n int) (int, bool) { // the number that ends n digits before the end
		if len(date) < n+2 {
			return 0, false
		}
		return number(date[len(date)-n-2 : len(date)-n]), true
	}
	minute, _ := end(0)
	hour, _ := end(2)
	year, month, day := now.Year(), int(now.Month()), now.Day()
	next := [3]int{0, 0, 1} // years, months or days to the next such time
	if d, ok := end(4); ok {
		day, next = d, [3]int{0, 1, 0}
	}
	if m, ok := end(6); ok {
		month, next = m, [3]int{1, 0, 0}
	}
	if y, ok := end(8); ok {
		year, next = 1900+y, [3]int{}
		if y < 69 {
			year = 2000 + y
		}
		if len(date) == 12 {
			year = number(date[:4])
		}
	}
	at := time.Date(year, time.Month(month), day, hour, minute, number(second), 0, now.Location())
	if hour > 23 || minute > 59 || number(second) > 59 || at.Day() != day || int(at.Month()) != month {
		return time.Time{}, bad
	}
	if at.Before(now) {
		at = at.AddDate(next[0], next[1], next[2])
	}
	return at, nil
}

// slurmBegin reads what --begin takes.
func slurmBegin(text string, now time.Time) (time.Time, error) {
	bad := errors.New("a time such as 16:00, now+1hour, tomorrow or 2026-11-22T16:00")
	lower := strings.ToLower(text)
	if rest, ok := strings.CutPrefix(lower, "now"); ok {
		n, ok := ahead(rest)
		if !ok {
			return now, bad
		}
		return now.Add(n), nil
	}
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	date, clock, both := strings.Cut(lower, "t")
	if named, ok := map[string]time.Time{
		"today": now, "tomorrow": midnight.AddDate(0, 0, 1), "midnight": midnight.AddDate(0, 0, 1),
		"elevenses": ofDay(midnight, 11, now), "noon": ofDay(midnight, 12, now), "fika": ofDay(midnight, 15, now), "teatime": ofDay(midnight, 16, now),
	}[lower]; ok {
		return named, nil
	}
	for _, layout := range [...]string{"15:04", "15:04:05", "3:04pm", "3:04 pm", "3pm"} {
		if at, err := time.Parse(layout, lower); err == nil {
			at = time.Date(now.Year(), now.Month(), now.Day(), at.Hour(), at.Minute(), at.Second(), 0, now.Location())
			if at.Before(now) {
				at = at.AddDate(0, 0, 1)
			}
			return at, nil
		}
	}
	for _, layout := range [...]string{"2006-01-02", "010206", "01/02/06", "01.02.06", "01/02", "01.02"} {
		at, err := time.ParseInLocation(layout, date, now.Location())
		if err != nil {
			continue
		}
		yearless := at.Year() == 0
		if yearless {
			at = at.AddDate(now.Year(), 0, 0)
		}
		if both {
			of, err := time.Parse("15:04", clock)
			if err != nil {
				of, err = time.Parse("15:04:05", clock)
			}
			if err != nil {
				return now, bad
			}
			at = time.Date(at.Year(), at.Month(), at.Day(), of.Hour(), of.Minute(), of.Second(), 0, now.Location())
		}
		if yearless && at.Before(now) {
			at = at.AddDate(1, 0, 0)
		}
		return at, nil
	}
	return now, bad
}

// ofDay returns the next time of an hour.
func ofDay(midnight time.Time, hour int, now time.Time) time.Time {
	at := time.Date(midnight.Year(), midnight.Month(), midnight.Day(), hour, 0, 0, 0, midnight.Location())
	if at.Before(now) {
		at = at.AddDate(0, 0, 1)
	}
	return at
}

// ahead reads +N[unit]; nothing is no time at all.
func ahead(text string) (time.Duration, bool) {
	if text == "" {
		return 0, true
	}
	text, ok := strings.CutPrefix(text, "+")
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	n, err := strconv.ParseInt(text[:digits], 10, 32)
	unit := strings.TrimSuffix(text[digits:], "s")
	of, known := map[string]time.Duration{
		"": time.Second, "second": time.Second, "minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour, "week": 7 * 24 * time.Hour,
	}[unit]
	if !ok || err != nil || !known || time.Duration(n) > longest*time.Second/of {
		return 0, false
	}
	return time.Duration(n) * of, true
}

// gpus reads [TYPE:]N, or TYPE alone for one.
func gpus(b *batch, g given, what string) error {
	kind, n, typed := strings.Cut(g.text, ":")
	if !typed {
		if _, err := strconv.Atoi(g.text); err == nil {
			kind, n = "", g.text
		} else {
			n = "1"
		}
	}
	if kind != "" {
		b.warn(g.at, "%s: %s: any GPU will do, whatever its type", g.name, kind)
	}
	return keeps(what)(b, given{g.name, n, g.at})
}

// part returns a part of a value of several, named for messages: "-l walltime".
func (g given) part(name, text string) given {
	return given{fmt.Sprintf("%s %s", g.name, name), text, g.at}
}
