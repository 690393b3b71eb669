package adprint

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"fairspool/lib/classad"
)

// A notation is how attributes are written.
type notation struct {
	// whole appends an ad's attributes, inherited ones too, without what
	// stands around them.
	whole func(b []byte, ad *classad.Ad) ([]byte, error)
	// between stands between two attributes.
	between string
}

// longForm is lines of `attribute = expression`.
var longForm = notation{whole: func(b []byte, ad *classad.Ad) ([]byte, error) { return ad.AppendLong(b), nil }}

// The frame of an object in an indented JSON list, but for its first line's
// blanks.
const (
	opening = "{\n"
	closing = "\n  }"
)

// jsonForm is the members of an object that stands in an indented list.
var jsonForm = notation{between: ",\n", whole: func(b []byte, ad *classad.Ad) ([]byte, error) {
	text, err := ad.MarshalJSON()
	if err != nil {
		return b, err
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, text, "  ", "  "); err != nil {
		return b, err
	}
	text = indented.Bytes()
	if len(text) < len(opening)+len(closing) { // {}
		return b, nil
	}
	return append(b, text[len(opening):len(text)-len(closing)]...), nil
}}

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
func (p *pen) append(b []byte, ad *classad.Ad) ([]byte, error) {
	root, own := apart(ad)
	if root != p.root || !slices.Equal(own, p.own) {
		p.root, p.own, p.names, p.shared = root, own, nil, nil
		return p.whole(b, ad)
	}
	if root == ad {
		return p.whole(b, ad)
	}
	if p.shared == nil {
		if err := p.learn(ad); err != nil {
			return b, err
		}
	}
	for i, name := range p.names {
		var err error
		if b, err = p.one(append(b, p.shared[i]...), ad, name); err != nil {
			return b, err
		}
	}
	return append(b, p.shared[len(p.names)]...), nil
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
func (p *pen) learn(ad *classad.Ad) error {
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
		var err error
		if text, err = p.one(text, ad, name); err != nil {
			return err
		}
	}
	p.shared = append(p.shared, text)
	return nil
}

// one appends one attribute.
func (p *pen) one(b []byte, ad *classad.Ad, name string) ([]byte, error) {
	e, _ := ad.Lookup(name)
	single := classad.New()
	single.Set(name, e)
	return p.whole(b, single)
}
