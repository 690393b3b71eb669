package adprint

import (
	"slices"
	"strings"

	"fairspool/lib/classad"
)

// A notation is how attributes are written.
type notation struct {
	// whole appends an ad's attributes, inherited ones too, without what
	// stands around them.
	whole func(b []byte, ad *classad.Ad) []byte
	// between stands between two attributes.
	between string
}

// longForm is lines of `attribute = expression`.
var longForm = notation{whole: func(b []byte, ad *classad.Ad) []byte { return ad.AppendLong(b) }}

// opening is what an indented object begins with.
const opening = "{\n"

// jsonForm is the members of an object that stands so many blanks deep.
func jsonForm(depth int) notation {
	before := strings.Repeat(" ", depth)
	var text []byte
	return notation{between: ",\n", whole: func(b []byte, ad *classad.Ad) []byte {
		if text = ad.AppendJSON(text[:0]); len(text) == len("{}") {
			return b
		}
		// Without the braces, and what is indented before and behind them.
		return indent(b, text[1:len(text)-1], before)
	}}
}

// indent appends the members of a compact JSON object, on lines of their own
// that begin one step behind before.
func indent(b, text []byte, before string) []byte {
	line := func(depth int) {
		b = append(append(b, '\n'), before...)
		for range depth {
			b = append(b, step...)
		}
	}
	depth := 1
	b = append(append(b, before...), step...)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			end := i + 1
			for text[end] != '"' {
				if text[end] == '\\' {
					end++
				}
				end++
			}
			b = append(b, text[i:end+1]...)
			i = end
		case ':':
			b = append(b, ": "...)
		case ',':
			b = append(b, c)
			line(depth)
		case '{', '[':
			b = append(b, c)
			if next := text[i+1]; next == '}' || next == ']' {
				b = append(b, next)
				i++
				break
			}
			depth++
			line(depth)
		case '}', ']':
			depth--
			line(depth)
			b = append(b, c)
		default:
			b = append(b, c)
		}
	}
	return b
}

// pen writes one ad after another. Ads that are chained to the same one, as
// the procs of a cluster are, differ in a few attributes: what they share is
// sorted and written once, and copied from then on.
type pen struct {
	notation
	root *classad.Ad // what the last ad was chained to, at the end of its chain
	own  []string    // the names of its attributes in front of root
	// Once a second ad of the same kind has come: the own attributes' names
	// in order, and what stands before each, and behind the last.
	names  []string
	shared [][]byte
}

// append appends an ad's attributes.
func (p *pen) append(b []byte, ad *classad.Ad) []byte {
	root, own := apart(ad)
	if root != p.root || !slices.Equal(own, p.own) {
		p.root, p.own, p.names, p.shared = root, own, nil, nil
		return p.whole(b, ad)
	}
	if root == ad {
		return p.whole(b, ad)
	}
	if p.shared == nil {
		p.learn(ad)
	}
	for i, name := range p.names {
		b = p.one(append(b, p.shared[i]...), ad, name)
	}
	return append(b, p.shared[len(p.names)]...)
}

// apart returns the ad at the end of the chain, and the names of the
// attributes in front of it.
func apart(ad *classad.Ad) (root *classad.Ad, own []string) {
	for ; ad.Parent() != nil; ad = ad.Parent() {
		own = append(own, ad.OwnNames()...)
	}
	return ad, own
}

// learn writes what ads like this one share.
func (p *pen) learn(ad *classad.Ad) {
	own := map[string]bool{}
	for _, name := range p.own {
		own[strings.ToLower(name)] = true
	}
	var text []byte
	for i, name := range ad.Names() {
		if i > 0 {
			text = append(text, p.between...)
		}
		if own[strings.ToLower(name)] {
			p.names, p.shared, text = append(p.names, name), append(p.shared, text), nil
			continue
		}
		text = p.one(text, ad, name)
	}
	p.shared = append(p.shared, text)
}

// one appends one attribute.
func (p *pen) one(b []byte, ad *classad.Ad, name string) []byte {
	e, _ := ad.Lookup(name)
	single := classad.New()
	single.Set(name, e)
	return p.whole(b, single)
}
