package classad

import (
	"fairspool/lib/caseless"
	"fmt"
	"strconv"
	"strings"
)

type tokenKind uint8

const (
	tokEnd tokenKind = iota
	tokBad
	tokName
	tokQuotedName
	tokLiteral
	tokBinary // an operator with two sides; may also be a sign
	tokUnary  // ! ~
	tokDot
	tokQuestion
	tokElvis
	tokColon
	tokSemicolon
	tokComma
	tokAssign
	tokOpenParen
	tokCloseParen
	tokOpenList
	tokCloseList
	tokOpenAd
	tokCloseAd
)

type token struct {
	kind     tokenKind
	op       op
	pos, end int
	text     string // of a name; why a token is bad
	v        Value  // of a literal
}

// lexer splits text into tokens. In the old dialect, of long-form lines, a backslash in a
// string is an ordinary byte.
type lexer struct {
	text string
	at   int
	old  bool
	last tokenKind // of the token before
	// strict: integers may begin with 0.
	strict bool
}

func (l *lexer) next() token {
	if bad := l.skip(); bad != "" {
		return token{kind: tokBad, pos: l.at, end: len(l.text), text: bad}
	}
	t := token{pos: l.at}
	if l.at >= len(l.text) {
		t.kind = tokEnd
	} else {
		l.scan(&t)
	}
	t.end = l.at
	l.last = t.kind
	return t
}

// skip passes white space and comments.
func (l *lexer) skip() string {
	for l.at < len(l.text) {
		switch c := l.text[l.at]; {
		case space(c):
			l.at++
		case c == '/' && l.follows(1, '/'):
			if n := strings.IndexByte(l.text[l.at:], '\n'); n >= 0 {
				l.at += n
			} else {
				l.at = len(l.text)
			}
		case c == '/' && l.follows(1, '*'):
			n := strings.Index(l.text[l.at+2:], "*/")
			if n < 0 {
				return "a comment /* that does not end"
			}
			l.at += n + 4
		default:
			return ""
		}
	}
	return ""
}

// follows reports whether the byte n behind this one is c.
func (l *lexer) follows(n int, c byte) bool { return l.at+n < len(l.text) && l.text[l.at+n] == c }

func (l *lexer) scan(t *token) {
	c := l.text[l.at]
	switch {
	case nameStart(c):
		l.word(t)
	case digit(c), c == '.' && l.digitAt(l.at+1):
		l.number(t, l.at)
	case c == '-' && !l.afterOperand() && (l.digitAt(l.at+1) || l.at+1 < len(l.text) && l.text[l.at+1] == '.' && l.digitAt(l.at+2)):
		l.at++
		l.number(t, l.at-1)
	case c == '"':
		t.kind = tokLiteral
		if s, ok := l.quoted(t, '"'); ok {
			t.v = str(s)
		}
	case c == '\'':
		t.kind = tokQuotedName
		if s, ok := l.quoted(t, '\''); ok {
			t.text = s
		}
	default:
		l.punctuation(t)
	}
}

// afterOperand reports whether a minus sign here means subtraction.
func (l *lexer) afterOperand() bool {
	switch l.last {
	case tokLiteral, tokName, tokQuotedName, tokDot, tokCloseAd, tokCloseParen, tokCloseList:
		return true
	}
	return false
}

func (l *lexer) digitAt(i int) bool { return i < len(l.text) && digit(l.text[i]) }

func (l *lexer) word(t *token) {
	start := l.at
	for l.at < len(l.text) && (nameStart(l.text[l.at]) || digit(l.text[l.at])) {
		l.at++
	}
	word := l.text[start:l.at]
	t.kind, t.text = tokName, word
	switch len(word) {
	case 2, 4, 5, 9:
	default:
		return
	}
	switch {
	case caseless.Equal(word, "true"):
		t.kind, t.v = tokLiteral, Bool(true)
	case caseless.Equal(word, "false"):
		t.kind, t.v = tokLiteral, Bool(false)
	case caseless.Equal(word, "undefined"):
		t.kind, t.v = tokLiteral, Undefined()
	case caseless.Equal(word, "error"):
		t.kind, t.v = tokLiteral, Error()
	case caseless.Equal(word, "is"):
		t.kind, t.op = tokBinary, opIs
	case caseless.Equal(word, "isnt"):
		t.kind, t.op = tokBinary, opIsnt
	}
}

// number scans a number; start is where its sign or first digit stands.
func (l *lexer) number(t *token, start int) {
	first := l.at
	bad := func(why string) { t.kind, t.text = tokBad, why }
	l.digits()
	isReal := false
	goesOn := func(behind string) bool {
		if isReal = l.digitAt(l.at); isReal {
			l.digits()
		} else {
			bad("a number must go on behind its " + behind)
		}
		return isReal
	}
	if l.at < len(l.text) && l.text[l.at] == '.' {
		if l.at++; !goesOn("point") {
			return
		}
	}
	if l.at < len(l.text) && caseless.Lower(l.text[l.at]) == 'e' {
		l.at++
		if l.at < len(l.text) && (l.text[l.at] == '+' || l.text[l.at] == '-') {
			l.at++
		}
		if !goesOn("exponent's e") {
			return
		}
	}
	t.kind = tokLiteral
	text := l.text[start:l.at]
	if isReal {
		x, _ := strconv.ParseFloat(text, 64) // out of range gives an infinity or zero, as wanted
		t.v = Real(x)
		return
	}
	if l.text[first] == '0' && (l.at-first > 1 || l.at < len(l.text) && caseless.Lower(l.text[l.at]) == 'x') {
		if why := l.leadingZero(first); why != "" {
			bad(why)
			return
		}
		text = l.text[start:l.at]
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		n = 0 // too large an integer is 0, as in HTCondor
	}
	t.v = Int(n)
}

// leadingZero goes on with an integer that begins with 0, if that may be, and
// says why not.
func (l *lexer) leadingZero(first int) string {
	switch {
	case !l.strict:
		return "an integer must not begin with 0"
	case l.at-first > 1:
		if strings.ContainsAny(l.text[first:l.at], "89") {
			return "an integer that begins with 0 must not have the digits 8 and 9"
		}
		return ""
	}
	l.at++
	digits := l.at
	for l.at < len(l.text) && (digit(l.text[l.at]) || 'a' <= caseless.Lower(l.text[l.at]) && caseless.Lower(l.text[l.at]) <= 'f') {
		l.at++
	}
	if l.at == digits {
		return "an integer must go on behind 0x"
	}
	return ""
}

func (l *lexer) digits() {
	for l.digitAt(l.at) {
		l.at++
	}
}

// quoted scans a string or a quoted name, with those that follow directly in
// the new dialect.
func (l *lexer) quoted(t *token, quote byte) (string, bool) {
	s, why := l.onePiece(quote)
	var pieces []string
	for why == "" && !l.old {
		next := l.at
		for next < len(l.text) && space(l.text[next]) {
			next++
		}
		if next >= len(l.text) || l.text[next] != quote {
			break
		}
		l.at = next
		var more string
		more, why = l.onePiece(quote)
		if pieces == nil {
			pieces = append(pieces, s)
		}
		pieces = append(pieces, more)
	}
	if pieces != nil {
		s = strings.Join(pieces, "")
	}
	if why != "" {
		t.kind, t.text = tokBad, why
		l.at = len(l.text)
	}
	return s, why == ""
}

func (l *lexer) onePiece(quote byte) (s, why string) {
	l.at++
	start := l.at
	for l.at < len(l.text) {
		switch c := l.text[l.at]; {
		case c == quote:
			s = l.text[start:l.at]
			l.at++
			return s, ""
		case c == 0:
			return "", "a NUL byte"
		case c == '\\':
			return l.escaped(start, quote)
		}
		l.at++
	}
	return "", unended(quote)
}

func unended(quote byte) string {
	if quote == '"' {
		return "a string without its closing quote"
	}
	return "a quoted name without its closing quote"
}

// escaped goes on with a string that has a backslash.
func (l *lexer) escaped(start int, quote byte) (s, why string) {
	b := append([]byte(nil), l.text[start:l.at]...)
	for l.at < len(l.text) {
		c := l.text[l.at]
		l.at++
		switch {
		case c == quote:
			return string(b), ""
		case c == 0:
			return "", "a NUL byte"
		case c == '\\' && l.old:
			if l.at < len(l.text) && l.text[l.at] == quote && !l.closesLine(l.at) {
				c = quote
				l.at++
			}
			b = append(b, c)
		case c == '\\':
			if l.at >= len(l.text) {
				return "", unended(quote)
			}
			if c = l.escape(); c == 0 {
				return "", "\\0 in a string: strings have no NUL byte"
			}
			b = append(b, c)
		default:
			b = append(b, c)
		}
	}
	return "", unended(quote)
}

// closesLine reports whether the quote at i is the last byte of its line.
func (l *lexer) closesLine(i int) bool { return i+1 >= len(l.text) || l.text[i+1] == '\n' }

// escape reads what follows a backslash in the new dialect.
func (l *lexer) escape() byte {
	c := l.text[l.at]
	l.at++
	switch c {
	case 'a':
		return '\a'
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'v':
		return '\v'
	}
	if !octal(c) {
		return c
	}
	n := int(c - '0')
	for more := 1; l.at < len(l.text) && octal(l.text[l.at]) && (more == 1 || more == 2 && c <= '3'); more++ {
		n = n*8 + int(l.text[l.at]-'0')
		l.at++
	}
	return byte(n)
}

func octal(c byte) bool { return '0' <= c && c <= '7' }

// simple are the punctuations of one byte that begin no longer one.
var simple = [256]struct {
	kind tokenKind
	op   op
}{
	'*': {tokBinary, opMul}, '/': {tokBinary, opDiv}, '%': {tokBinary, opMod}, '+': {tokBinary, opAdd}, '-': {tokBinary, opSub},
	'^': {tokBinary, opBitXor}, '~': {tokUnary, opBitNot}, ':': {tokColon, 0}, ';': {tokSemicolon, 0}, ',': {tokComma, 0},
	'(': {tokOpenParen, 0}, ')': {tokCloseParen, 0}, '{': {tokOpenList, 0}, '}': {tokCloseList, 0},
	'[': {tokOpenAd, 0}, ']': {tokCloseAd, 0},
}

func (l *lexer) punctuation(t *token) {
	c := l.text[l.at]
	if p := simple[c]; p.kind != tokEnd {
		t.kind, t.op = p.kind, p.op
		l.at++
		return
	}
	n := 1
	take := func(length int, kind tokenKind, o op) { n, t.kind, t.op = length, kind, o }
	followed := func(next byte, o op) {
		if l.follows(1, next) {
			take(2, tokBinary, o)
		}
	}
	switch c {
	case '.':
		take(1, tokDot, 0)
		if l.follows(1, '.') {
			n = 2
		}
	case '=':
		l.equals(t, take)
	case '!':
		take(1, tokUnary, opNot)
		followed('=', opNe)
	case '<':
		take(1, tokBinary, opLt)
		followed('=', opLe)
		followed('<', opShiftLeft)
	case '>':
		l.greater(take)
	case '&':
		take(1, tokBinary, opBitAnd)
		followed('&', opAnd)
	case '|':
		take(1, tokBinary, opBitOr)
		followed('|', opOr)
	case '?':
		l.question(t)
		return
	default:
		t.kind, t.text = tokBad, fmt.Sprintf("a character that has no meaning here: %q", l.text[l.at:l.at+1])
	}
	l.at += n
}

// equals scans what begins with an equals sign.
func (l *lexer) equals(t *token, take func(int, tokenKind, op)) {
	switch {
	case l.follows(1, '='):
		take(2, tokBinary, opEq)
	case l.follows(1, '?') && l.follows(2, '='):
		take(3, tokBinary, opIs)
	case l.follows(1, '!') && l.follows(2, '='):
		take(3, tokBinary, opIsnt)
	case l.follows(1, '?'):
		take(2, tokBad, 0)
		t.text = "=? (is =?= meant?)"
	default:
		take(1, tokAssign, 0)
	}
}

// greater scans what begins with a greater-than sign.
func (l *lexer) greater(take func(int, tokenKind, op)) {
	switch {
	case l.follows(1, '>') && l.follows(2, '>'):
		take(3, tokBinary, opShiftLogical)
	case l.follows(1, '>'):
		take(2, tokBinary, opShiftRight)
	case l.follows(1, '='):
		take(2, tokBinary, opGe)
	default:
		take(1, tokBinary, opGt)
	}
}

// question scans "?", or "?:" with any white space between.
func (l *lexer) question(t *token) {
	l.at++
	next := l.at
	for next < len(l.text) && space(l.text[next]) {
		next++
	}
	if next < len(l.text) && l.text[next] == ':' {
		t.kind, l.at = tokElvis, next+1
		return
	}
	t.kind = tokQuestion
}
