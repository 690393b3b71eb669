package classad

import (
	"fairspool/lib/caseless"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"fairspool/lib/classad/internal/lazydfa"
)

// textFunctions work on strings.
var textFunctions = map[string]*function{
	"strcat":        {min: 0, max: -1, lazy: strcat},
	"join":          between(0, -1, join),
	"substr":        between(2, 3, substr),
	"strcmp":        strictly(2, comparing(strings.Compare, sign)),
	"stricmp":       strictly(2, comparing(func(x, y string) int { return strings.Compare(caseless.Fold(x), caseless.Fold(y)) }, sign)),
	"toupper":       strictly(1, mapping(upper)),
	"tolower":       strictly(1, mapping(caseless.Lower)),
	"size":          strictly(1, size),
	"split":         between(1, 2, splitText),
	"splitusername": strictly(1, func(_ *state, a []Value) Value { return splitAt(a[0], true) }),
	"splitslotname": strictly(1, func(_ *state, a []Value) Value { return splitAt(a[0], false) }),
}

// strcat joins its arguments up to the first that is UNDEFINED or ERROR.
func strcat(st *state, sc *scope, c *callCode) Value {
	var b strings.Builder
	for i := range c.args {
		v := st.toText(c.args[i].value(st, sc))
		if v.exceptional() {
			return v
		}
		if !st.spend(len(v.text())) {
			return Error()
		}
		b.WriteString(v.text())
	}
	return str(b.String())
}

// join puts the first argument between the others, or between the elements of a list that stands alone behind it or is the only argument.
func join(st *state, a []Value) Value {
	if len(a) == 0 {
		return str("")
	}
	sep, items := a[0], a[1:]
	if len(a) == 1 && sep.kind == KindUndefined {
		return sep
	}
	if len(a) <= 2 && a[len(a)-1].kind == KindList {
		list := a[len(a)-1]
		items = make([]Value, list.size())
		for i := range items {
			items[i] = st.item(list, i)
		}
		if len(a) == 1 {
			sep = Undefined()
		}
	}
	between := st.toText(sep)
	if between.kind == KindError {
		return between
	}
	var text strings.Builder
	allUndefined := len(items) > 0
	for _, item := range items {
		v := st.toText(item)
		switch v.kind {
		case KindUndefined:
			continue
		case KindError:
			return v
		}
		allUndefined = false
		if text.Len() > 0 {
			text.WriteString(between.text())
		}
		if !st.spend(len(between.text()) + len(v.text())) {
			return Error()
		}
		text.WriteString(v.text())
	}
	if allUndefined {
		return Undefined()
	}
	return str(text.String())
}

func substr(_ *state, a []Value) Value {
	for _, v := range a {
		if v.kind == KindUndefined {
			return v
		}
	}
	s, ok := a[0].Text()
	off, isInt := a[1].Int()
	if !ok || !isInt {
		return Error()
	}
	n := int64(len(s))
	if off < 0 {
		off = max(off+n, 0)
	}
	if off > n {
		return str("")
	}
	end := n
	if len(a) == 3 {
		length, isInt := a[2].Int()
		switch {
		case !isInt:
			return Error()
		case length < 0:
			end = max(n+length, off)
		case length < n-off:
			end = off + length
		}
	}
	return str(s[off:end])
}

func sign(c int) Value { return Int(int64(c)) }

// comparing returns a function of two texts: the value of their comparison.
func comparing(compare func(x, y string) int, value func(int) Value) func(*state, []Value) Value {
	return func(st *state, a []Value) Value {
		x, y := st.toText(a[0]), st.toText(a[1])
		switch {
		case x.kind == KindUndefined || y.kind == KindUndefined:
			return Undefined()
		case x.kind != KindString || y.kind != KindString:
			return Error()
		}
		return value(compare(x.text(), y.text()))
	}
}

func mapping(f func(byte) byte) func(*state, []Value) Value {
	return func(st *state, a []Value) Value {
		v := st.toText(a[0])
		if v.exceptional() {
			return v
		}
		return st.charged(mapBytes(v.text(), f))
	}
}

func size(_ *state, a []Value) Value {
	switch v := a[0]; v.kind {
	case KindUndefined:
		return v
	case KindString:
		return Int(int64(len(v.text())))
	case KindList:
		return Int(int64(v.size()))
	case KindClassAd:
		return Int(int64(v.scope().ad.Len()))
	}
	return Error()
}

// splitText cuts a string at separators. An empty field counts only between two of the same separator; a blank is not remembered as one.
func splitText(st *state, a []Value) Value {
	seps := ", \t"
	if len(a) == 2 {
		var ok bool
		if seps, ok = a[1].Text(); !ok {
			return Error()
		}
	}
	s, ok := a[0].Text()
	if !ok || !st.spend(len(s)) {
		return Error()
	}
	var fields []Value
	var last byte
	start := 0
	for i := range len(s) {
		c := s[i]
		if strings.IndexByte(seps, c) < 0 {
			continue
		}
		if i > start || last == c {
			fields = append(fields, str(s[start:i]))
			if itemCost*len(fields) > maxBytes-st.bytes {
				break // too many; list says so
			}
		}
		start = i + 1
		if !space(c) {
			last = c
		}
	}
	if start < len(s) {
		fields = append(fields, str(s[start:]))
	}
	return st.list(fields)
}

// splitAt cuts a name at its first @. Without one the other part is empty.
func splitAt(v Value, whole bool) Value {
	s, ok := v.Text()
	if !ok {
		return Error()
	}
	before, after, found := strings.Cut(s, "@")
	if !found && !whole {
		before, after = "", s
	}
	return listOf([]Value{str(before), str(after)})
}

// versionFunctions compare texts the way version numbers are ordered.
var versionFunctions = map[string]*function{
	"versioncmp": strictly(2, comparing(versionCompare, sign)),
	"versionlt":  strictly(2, comparing(versionCompare, func(c int) Value { return Bool(c < 0) })).truthful(),
	"versionle":  strictly(2, comparing(versionCompare, func(c int) Value { return Bool(c <= 0) })).truthful(),
	"versioneq":  strictly(2, comparing(versionCompare, func(c int) Value { return Bool(c == 0) })).truthful(),
	"versionge":  strictly(2, comparing(versionCompare, func(c int) Value { return Bool(c >= 0) })).truthful(),
	"versiongt":  strictly(2, comparing(versionCompare, func(c int) Value { return Bool(c > 0) })).truthful(),
	"version_in_range": strictly(3, func(st *state, a []Value) Value {
		v, lo, hi := st.toText(a[0]), st.toText(a[1]), st.toText(a[2])
		switch {
		case v.kind == KindString && (lo.kind == KindUndefined || hi.kind == KindUndefined):
			return Undefined()
		case v.kind != KindString || lo.kind != KindString || hi.kind != KindString:
			return Error()
		}
		return Bool(versionCompare(lo.text(), v.text()) <= 0 && versionCompare(v.text(), hi.text()) <= 0)
	}).truthful(),
}

// versionCompare orders texts by bytes, runs of digits by their number; of runs with leading zeros the one with more zeros comes first.
// Only the sign of the result has a meaning; the number is that of glibc's strverscmp.
func versionCompare(a, b string) int {
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	if at == len(a) && at == len(b) {
		return 0
	}
	byteOf := func(s string, i int) int {
		if i < len(s) {
			return int(s[i])
		}
		return 0
	}
	difference := byteOf(a, at) - byteOf(b, at)
	start := at
	for start > 0 && digit(a[start-1]) {
		start--
	}
	digitAt := func(s string, i int) bool { return i < len(s) && digit(s[i]) }
	if start == at && !(digitAt(a, at) && digitAt(b, at)) {
		return difference
	}
	zeros := func(s string) int {
		n := 0
		for byteOf(s, start+n) == '0' && digitAt(s, start+n+1) {
			n++
		}
		return n
	}
	length := func(s string) int {
		n := 0
		for digitAt(s, start+n) {
			n++
		}
		return n
	}
	za, zb := zeros(a), zeros(b)
	switch {
	case za != zb:
		return zb - za
	case za > 0:
		return difference
	}
	if la, lb := length(a), length(b); la != lb {
		return la - lb
	}
	return difference
}

// regexpFunctions search texts with regular expressions. Patterns are those of package regexp (RE2), which has most of what PCRE has,
// except look-around and backreferences; a pattern that it does not know is ERROR.
var regexpFunctions = map[string]*function{
	"regexp":       {min: 2, max: 3, search: true, truth: true},
	"regexpmember": between(2, 3, regexpMember).truthful(),
	"regexps":      between(3, 4, func(st *state, a []Value) Value { return substitute(st, a, "") }),
	"replace":      between(3, 4, func(st *state, a []Value) Value { return substitute(st, a, "f") }),
	"replaceall":   between(3, 4, func(st *state, a []Value) Value { return substitute(st, a, "fg") }),
}

// regexpTexts checks that all arguments are strings.
func regexpTexts(a []Value) (bad Value, ok bool) {
	if v, bad := worst(a); bad {
		return v, false
	}
	for _, v := range a {
		if v.kind != KindString {
			return Error(), false
		}
	}
	return Value{}, true
}

// searchCode is regexp(pattern, text, options). It remembers the pattern it met last: most never meet another one.
type searchCode struct {
	args  [3]operand
	fixed bool // pattern and options are constants
	memo  atomic.Pointer[searchMemo]
}

type searchMemo struct {
	pattern, options string
	re               *pattern // nil: the pattern is bad
}

func (c *searchCode) eval(st *state, sc *scope) Value {
	pattern := c.args[0].value(st, sc)
	text := c.args[1].value(st, sc)
	options := c.args[2].value(st, sc)
	if pattern.kind != KindString || text.kind != KindString || options.kind != KindString {
		bad, _ := regexpTexts([]Value{pattern, text, options})
		return bad
	}
	memo := c.memo.Load()
	if !c.fixed || memo == nil {
		if memo = c.meet(st, pattern.text(), options.text()); memo == nil {
			return Error()
		}
	}
	if memo.re == nil || !st.spend(int(pattern.bits)+memo.re.cost(text.text())) {
		return Error()
	}
	return Bool(memo.re.matches(text.text()))
}

// meet returns the compiled pattern; nil when it is too much.
func (c *searchCode) meet(st *state, pattern, options string) *searchMemo {
	if !c.fixed && !st.spend(compileCost*len(pattern)) {
		return nil
	}
	memo := c.memo.Load()
	if memo == nil || memo.pattern != pattern || memo.options != options {
		memo = st.compiled(pattern, options)
		c.memo.Store(memo)
	}
	return memo
}

func regexpMember(st *state, a []Value) Value {
	if v, bad := worst(a); bad {
		return v
	}
	options, ok := delimiters(a, 2, "")
	if !ok || a[0].kind != KindString || a[1].kind != KindList {
		return Error()
	}
	re := st.regexp(a[0].text(), options)
	undefined := false
	for i := range a[1].size() {
		switch v := st.item(a[1], i); {
		case v.kind == KindUndefined:
			undefined = true
		case v.kind != KindString || re != nil && !st.spend(re.cost(v.text())+len(a[0].text())):
			return Error()
		case re != nil && re.matches(v.text()):
			return Bool(true)
		}
	}
	if undefined {
		return Undefined()
	}
	return Bool(false)
}

// substitute is regexps(pattern, text, replacement[, options]). With the
// option f the result is the whole text, with g every match is replaced.
func substitute(st *state, a []Value, more string) Value {
	if bad, ok := regexpTexts(a); !ok {
		return bad
	}
	options, _ := delimiters(a, 3, "")
	re := st.regexp(a[0].text(), options)
	full := strings.Contains(options+more, "f")
	global := strings.Contains(options+more, "g")
	if re == nil || !st.spend(re.cost(a[1].text())+len(a[0].text())) || global && !st.spend(len(a[1].text())*len(a[1].text())) {
		return Error()
	}
	text, replacement := lazydfa.Widen(a[1].text()), lazydfa.Widen(a[2].text())
	count := 1
	if global {
		count = -1
	}
	var b []byte
	at := 0
	for _, m := range re.groups().FindAllStringSubmatchIndex(text, count) {
		if global && m[0] == m[1] {
			return Error() // an empty match, as in HTCondor
		}
		if full {
			b = append(b, text[at:m[0]]...)
		}
		at = m[1]
		before := len(b)
		var ok bool
		if b, ok = expand(b, replacement, text, m); !ok || !st.spend(len(b)-before) {
			return Error()
		}
	}
	if full {
		b = append(b, text[at:]...)
	}
	return st.charged(narrow(string(b)))
}

// expand appends the replacement with \0 to \9 filled in. A group number that the match does not reach is not ok.
func expand(b []byte, replacement, text string, m []int) ([]byte, bool) {
	reached := len(m) / 2
	for reached > 1 && m[2*reached-2] < 0 {
		reached-- // trailing groups that took no part
	}
	for i := 0; i < len(replacement); i++ {
		c := replacement[i]
		if c != '\\' || i+1 >= len(replacement) || !digit(replacement[i+1]) {
			b = append(b, c)
			continue
		}
		i++
		group := int(replacement[i] - '0')
		if group >= reached {
			return b, false
		}
		if m[2*group] >= 0 {
			b = append(b, text[m[2*group]:m[2*group+1]]...)
		}
	}
	return b, true
}

// pattern is a regular expression of package regexp (RE2). Its texts are bytes, not UTF-8: see widen.
type pattern struct {
	search *lazydfa.Matcher      // reports whether a text matches
	size   int                   // about how many places there are in it
	groups func() *regexp.Regexp // says where, for the few that ask
}

// compilePattern compiles a pattern with the options i, m, s and x; others are ignored. It returns nil for a pattern that is not one.
func compilePattern(text, options string) *pattern {
	flags := ""
	for _, c := range "ims" {
		if strings.ContainsRune(options, c) {
			flags += string(c)
		}
	}
	if strings.Contains(options, "x") {
		text = withoutBlanks(text)
	}
	if flags != "" {
		flags = "(?" + flags + ")"
	}
	text = flags + lazydfa.Widen(text)
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil
	}
	size := patternSize(tree)
	if size > maxPattern || tree.MaxCap() > maxGroups {
		return nil
	}
	search, err := lazydfa.Compile(text)
	if err != nil {
		return nil
	}
	return &pattern{search, size, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
}

const (
	maxPattern = 8192 // places in a pattern
	maxGroups  = 99
)

// patternSize is about how many instructions a pattern compiles to, but never much more than maxPattern.
func patternSize(re *syntax.Regexp) int {
	size := 1 + len(re.Rune)
	for _, sub := range re.Sub {
		if size += patternSize(sub); size > maxPattern {
			break
		}
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Min, re.Max, 1)
	}
	return min(size, maxPattern+1)
}

// cost is the number of steps of a search: without an automaton each byte is compared with every place of the pattern.
func (p *pattern) cost(text string) int { return len(text) * (1 + p.size/4) }

func (p *pattern) matches(s string) bool { return p.search.Match(s) }

// withoutBlanks removes white space and comments from a pattern, except those in brackets and behind a backslash: option x.
func withoutBlanks(pattern string) string {
	var b strings.Builder
	inClass := false
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		switch {
		case c == '\\' && i+1 < len(pattern):
			i++
			if pattern[i] == ' ' {
				b.WriteString(`\x20`)
			} else {
				b.WriteByte(c)
				b.WriteByte(pattern[i])
			}
			continue
		case c == '[' && !inClass:
			inClass = true
			literal := i + 1 // a ] that stands first in brackets does not close them
			if literal < len(pattern) && pattern[literal] == '^' {
				literal++
			}
			if literal < len(pattern) && pattern[literal] == ']' {
				b.WriteString(pattern[i:literal])
				i, c = literal, ']'
			}
		case c == ']':
			inClass = false
		case !inClass && space(c):
			continue
		case !inClass && c == '#':
			for i+1 < len(pattern) && pattern[i+1] != '\n' {
				i++
			}
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// narrow undoes lazydfa.Widen.
func narrow(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			b := make([]byte, 0, len(s))
			for _, r := range s {
				b = append(b, byte(r))
			}
			return string(b)
		}
	}
	return s
}

// regexpMemo remembers the last few compiled patterns, so that a pattern that meets ten thousand slots is compiled once.
type regexpMemo struct {
	next    int
	entries [16]*searchMemo
}

func (st *state) regexp(pattern, options string) *pattern {
	if !st.spend(compileCost * len(pattern)) {
		return nil
	}
	return st.compiled(pattern, options).re
}

// compiled is regexp for a pattern that does not count, or has been counted. What counts is the same whether it is remembered or not.
func (st *state) compiled(pattern, options string) *searchMemo {
	m := &st.regexps
	for _, e := range m.entries {
		if e != nil && e.pattern == pattern && e.options == options {
			return e
		}
	}
	e := &searchMemo{pattern, options, compilePattern(pattern, options)}
	m.entries[m.next] = e
	m.next = (m.next + 1) % len(m.entries)
	return e
}
