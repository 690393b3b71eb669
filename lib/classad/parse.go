package classad

import (
	"fmt"
	"strconv"
	"strings"
)

const (
	// maxNesting is how deep the parser goes: 165 parentheses (three levels
	// each), or 497 signs in a row.
	maxNesting = 500
	// maxHeight bounds the tree that a long row of operators makes, so that
	// walking it needs little stack. Evaluation stops much earlier.
	maxHeight = 10000
)

// SyntaxError says where a text is not ClassAd language, and what was expected there.
type SyntaxError struct {
	File string
	Line int // from 1; 0: unknown
	Col  int // from 1, in bytes; 0: unknown
	Msg  string
}

// Error returns "file:line:col: msg" without the parts that are unknown;
// "column N: msg" when only the column is known.
func (e *SyntaxError) Error() string {
	var b strings.Builder
	if e.File == "" && e.Line == 0 && e.Col > 0 {
		return fmt.Sprintf("column %d: %s", e.Col, e.Msg)
	}
	if e.File != "" {
		b.WriteString(e.File + ":")
	}
	if e.Line > 0 {
		b.WriteString(strconv.Itoa(e.Line) + ":")
		if e.Col > 0 {
			b.WriteString(strconv.Itoa(e.Col) + ":")
		}
	}
	if b.Len() > 0 {
		b.WriteByte(' ')
	}
	return b.String() + e.Msg
}

// ParseExpr compiles one expression in the new dialect. The whole text must be
// that expression. The error is a *SyntaxError with the column.
func ParseExpr(text string) (*Expr, error) {
	return parseExpr(&parser{lex: lexer{text: text, last: tokEnd}})
}

func parseExpr(p *parser) (*Expr, error) {
	p.advance()
	t := p.expression()
	if p.err == nil && p.tok.kind != tokEnd {
		p.expected("an operator or the end of the expression")
	}
	if p.err != nil {
		return nil, p.err
	}
	return newExpr(t.n), nil
}

// ParseStrictExpr is ParseExpr for the language without what HTCondor's daemons
// added to it: only commas stand between arguments, and integers may begin with
// 0. They are decimal even so, but have no 8 or 9 then, and those that begin
// with 0x are 0, as in HTCondor's own library.
func ParseStrictExpr(text string) (*Expr, error) {
	return parseExpr(&parser{lex: lexer{text: text, strict: true, last: tokEnd}})
}

// ParseLongExpr compiles the right side of a long-form line: strings are in
// the old dialect, and what follows a complete expression is ignored, as
// HTCondor does. The error is a *SyntaxError with the column.
func ParseLongExpr(text string) (*Expr, error) {
	p := newParser(text, true)
	t := p.expression()
	if p.err != nil {
		return nil, p.err
	}
	return newExpr(t.n), nil
}

// ParseAd reads one ad in the new form, [ a = 1; b = 2 ]. The whole text must
// be that ad. The error is a *SyntaxError.
func ParseAd(text string) (*Ad, error) {
	p := newParser(text, false)
	ad := p.wholeAd()
	if p.err == nil && p.tok.kind != tokEnd {
		p.expected("the end of the text behind ]")
	}
	if p.err != nil {
		return nil, p.err
	}
	return ad, nil
}

// tree is a node and how high the tree under it is.
type tree struct {
	n      node
	height int
}

type parser struct {
	lex   lexer
	tok   token
	depth int
	err   *SyntaxError
	open  bool // err is because the text ended too early
	// single: the outermost ad ends the text, and lex.at is left behind it.
	single bool
}

func newParser(text string, old bool) *parser {
	p := &parser{lex: lexer{text: text, old: old, last: tokEnd}}
	p.tok = p.lex.next()
	return p
}

func (p *parser) advance() { p.tok = p.lex.next() }

func (p *parser) fail(pos int, msg string) tree {
	if p.err == nil {
		p.err = &SyntaxError{Col: pos + 1, Msg: msg}
	}
	return tree{n: &literal{Error()}}
}

// expected fails at the current token.
func (p *parser) expected(what string) tree {
	if p.err == nil {
		p.open = p.tok.kind == tokEnd
	}
	if p.tok.kind == tokBad {
		return p.fail(p.tok.pos, p.tok.text)
	}
	found := p.found()
	if found == `"="` && strings.HasPrefix(what, "an operator") {
		found += "; equality is =="
	}
	return p.fail(p.tok.pos, "expected "+what+", found "+found)
}

func (p *parser) found() string {
	if p.tok.kind == tokEnd {
		return "the end of the text"
	}
	text := p.lex.text[p.tok.pos:p.tok.end]
	if len(text) > 30 {
		text = text[:30] + "..."
	}
	return strconv.Quote(text)
}

func (p *parser) accept(kind tokenKind) bool {
	if p.tok.kind != kind {
		return false
	}
	p.advance()
	return true
}

func (p *parser) deeper() bool {
	p.depth++
	if p.depth > maxNesting {
		p.fail(p.tok.pos, "the expression is nested too deeply")
	}
	return p.err == nil
}

// join makes a node over others and watches the height.
func (p *parser) join(n node, under ...tree) tree {
	h := 0
	for _, t := range under {
		h = max(h, t.height)
	}
	if h >= maxHeight {
		return p.fail(p.tok.pos, "the expression is too long: more than "+strconv.Itoa(maxHeight)+" operators in a row")
	}
	return tree{n, h + 1}
}

func (p *parser) expression() tree {
	if !p.deeper() {
		return tree{}
	}
	defer func() { p.depth-- }()
	c := p.operators(1)
	if p.err != nil || !p.accept(tokQuestion) {
		return c
	}
	t := p.expression()
	if p.err == nil && !p.accept(tokColon) {
		return p.expected("an operator or the : of ? :")
	}
	if p.err != nil {
		return t
	}
	f := p.expression()
	return p.join(&conditional{c.n, t.n, f.n}, c, t, f)
}

// precedence of the operators with two sides; a larger one binds tighter.
var precedence = [...]int{
	opOr: 1, opAnd: 2, opBitOr: 3, opBitXor: 4, opBitAnd: 5,
	opEq: 6, opNe: 6, opIs: 6, opIsnt: 6, opLt: 7, opLe: 7, opGt: 7, opGe: 7,
	opShiftLeft: 8, opShiftRight: 8, opShiftLogical: 8, opAdd: 9, opSub: 9, opMul: 10, opDiv: 10, opMod: 10,
}

// operators parses a row of operators that bind at least as tight as weakest.
func (p *parser) operators(weakest int) tree {
	left := p.unary()
	for p.err == nil && p.tok.kind == tokBinary && precedence[p.tok.op] >= weakest {
		op := p.tok.op
		p.advance()
		right := p.operators(precedence[op] + 1)
		left = p.join(&binary{op, left.n, right.n}, left, right)
	}
	return left
}

func (p *parser) unary() tree {
	if !p.deeper() {
		return tree{}
	}
	defer func() { p.depth-- }()
	op, ok := opNot, true
	switch {
	case p.tok.kind == tokUnary:
		op = p.tok.op
	case p.tok.kind == tokBinary && p.tok.op == opSub:
		op = opNeg
	case p.tok.kind == tokBinary && p.tok.op == opAdd:
		op = opPlus
	default:
		ok = false
	}
	if !ok {
		return p.postfix()
	}
	p.advance()
	x := p.unary()
	return p.join(&unary{op, x.n}, x)
}

func (p *parser) postfix() tree {
	if !p.deeper() {
		return tree{}
	}
	defer func() { p.depth-- }()
	t := p.primary()
	for p.err == nil {
		switch p.tok.kind {
		case tokDot:
			p.advance()
			name, ok := p.name("an attribute name behind the point")
			if !ok {
				return t
			}
			t = p.join(&selection{t.n, newAttribute(name)}, t)
		case tokOpenAd:
			p.advance()
			i := p.expression()
			if p.err == nil && !p.accept(tokCloseAd) {
				return p.expected("an operator or ]")
			}
			t = p.join(&subscript{t.n, i.n}, t, i)
		case tokElvis:
			p.advance()
			b := p.postfix()
			t = p.join(&elvis{t.n, b.n}, t, b)
		default:
			return t
		}
	}
	return t
}

func (p *parser) name(what string) (string, bool) {
	if p.tok.kind != tokName && p.tok.kind != tokQuotedName {
		p.expected(what)
		return "", false
	}
	name := p.tok.text
	p.advance()
	return name, true
}

func (p *parser) primary() tree {
	switch p.tok.kind {
	case tokLiteral:
		v := p.tok.v
		p.advance()
		return tree{&literal{v}, 1}
	case tokName, tokQuotedName:
		pos, name := p.tok.pos, p.tok.text
		p.advance()
		if p.tok.kind == tokOpenParen {
			return p.call(pos, name)
		}
		return tree{&reference{newAttribute(name)}, 1}
	case tokDot:
		p.advance()
		name, _ := p.name("an attribute name behind the point")
		return tree{&absolute{newAttribute(name)}, 1}
	case tokOpenParen:
		p.advance()
		x := p.expression()
		if p.err == nil && !p.accept(tokCloseParen) {
			return p.expected("an operator or )")
		}
		return p.join(&paren{x.n}, x)
	case tokOpenList:
		p.advance()
		nodes, under := p.list(tokCloseList, "}", false)
		items := make([]*Expr, len(nodes))
		for i, n := range nodes {
			items[i] = newExpr(n)
		}
		return p.join(newListing(items), under)
	case tokOpenAd:
		ad, height := p.ad()
		return p.join(&record{ad}, tree{nil, height})
	}
	return p.expected("a value, a name or (")
}

// list parses expressions up to the closing token. It returns them and the
// highest of them.
func (p *parser) list(closing tokenKind, closer string, semicolons bool) (items []node, under tree) {
	if p.accept(closing) {
		return nil, tree{}
	}
	for p.err == nil {
		t := p.expression()
		items, under.height = append(items, t.n), max(under.height, t.height)
		if p.err != nil || p.accept(closing) {
			break
		}
		if !p.accept(tokComma) && !(semicolons && p.accept(tokSemicolon)) {
			p.expected("an operator, a comma or " + closer)
		}
	}
	return items, under
}

func (p *parser) call(pos int, name string) tree {
	p.advance()
	args, under := p.list(tokCloseParen, ")", !p.lex.strict)
	if p.err != nil {
		return tree{}
	}
	if n, ok, isTime := timeLiteral(name, args); isTime {
		if !ok {
			return p.fail(pos, name+"(...): the text is not a time")
		}
		return tree{n, 1}
	}
	return p.join(&call{name: name, fn: functionNamed(name), args: args}, under)
}

// wholeAd parses an ad at a place for ads only.
func (p *parser) wholeAd() *Ad {
	if p.tok.kind != tokOpenAd {
		p.expected("[")
		return nil
	}
	ad, _ := p.ad()
	return ad
}

// closeAd passes the ] of an ad.
func (p *parser) closeAd() {
	if p.single && p.depth == 1 {
		p.tok = token{kind: tokEnd, pos: p.tok.end, end: p.tok.end}
		return
	}
	p.advance()
}

// ad parses [ name = expression; ... ] and returns how high it is.
func (p *parser) ad() (*Ad, int) {
	if !p.deeper() {
		return New(), 0
	}
	defer func() { p.depth-- }()
	p.advance()
	ad, height := New(), 0
	for p.err == nil {
		for p.accept(tokSemicolon) {
		}
		if p.tok.kind == tokCloseAd {
			p.closeAd()
			break
		}
		name, ok := p.name("an attribute name or ]")
		if ok && !p.accept(tokAssign) {
			p.expected("= behind the attribute name")
		}
		if p.err != nil {
			break
		}
		t := p.expression()
		height = max(height, t.height)
		ad.Set(name, newExpr(t.n))
		if p.err == nil && p.tok.kind != tokSemicolon && p.tok.kind != tokCloseAd {
			p.expected("an operator, ; or ]")
		}
	}
	return ad, height
}
