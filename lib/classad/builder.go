package classad

// builder makes the ads of a stream. They mostly have the names of the one
// before, in the same order, and many of the same values: as long as that is
// so, names are compared rather than looked up.
type builder struct {
	expected *layout
	before   []lastSeen // by the lines of expected
	room     []roomyAd

	// Of the ad being read:
	ad       *Ad
	lines    int    // how many there were, bad ones too
	follows  bool   // its names so far are those expected, or none of them
	line     int    // how many of those expected were there
	building *shape // its other names
	others   []cell // their cells
}

// lastSeen is the text of an attribute and what it meant.
type lastSeen struct {
	text []byte
	cell cell
}

// begin gets ready for the next ad. If the last one was much smaller than
// expected, the next one probably is too, and must not cost the room of a large
// one.
func (b *builder) begin() {
	if 4*b.lines < len(b.before) {
		b.expected, b.before = nil, nil
	}
	b.lines, b.line, b.building, b.others = 0, 0, nil, nil
	if b.follows = b.expected != nil; b.follows {
		b.ad = b.expected.open(&b.room)
	} else {
		b.ad = New()
	}
}

// follow sets the attribute that is expected.
func (b *builder) follow(c cell) {
	*b.ad.at(b.expected.places[b.line]) = c
	b.line++
}

func (s *lastSeen) see(text []byte, c cell) {
	s.text = append(s.text[:0], text...)
	s.cell = c
}

// set sets an attribute of the ad being read.
// The text is that of the value, to be compared with the next one's.
func (b *builder) set(a attribute, text []byte, c cell) {
	if b.follows {
		if b.line < len(b.before) && b.expected.names[b.line] == a.name {
			b.before[b.line].see(text, c)
			b.follow(c)
			return
		}
		if b.expected.shape.find(&a) >= 0 {
			b.leave()
		}
	}
	if b.building == nil {
		b.building = newShape()
	}
	if i := b.building.find(&a); i >= 0 {
		b.others[i] = c
		return
	}
	b.building.add(&a)
	b.others = append(b.others, c)
}

// leave stops following: the names so far become those of the ad.
func (b *builder) leave() {
	more, cells := b.building, b.others
	b.building, b.others, b.follows = newShape(), nil, false
	for line := range b.line {
		place := b.expected.places[line]
		a := b.expected.shape.at(place)
		a.special = specialOf(a.name)
		b.building.add(&a)
		b.others = append(b.others, *b.ad.at(place))
	}
	for i := range cells {
		a := more.at(i)
		a.special = specialOf(a.name)
		b.building.add(&a)
	}
	b.others = append(b.others, cells...)
	b.ad = New()
}

// finish returns the ad. The next one is expected to be like it, unless no two
// were like it so far.
func (b *builder) finish(in *Interner) *Ad {
	if b.follows && (b.line < len(b.before) || b.building != nil && b.building.len() > len(b.before)) {
		b.leave()
	}
	switch {
	case !b.follows && b.building == nil:
	case !b.follows:
		b.settle(in)
	default:
		b.ad.shape = b.expected.shape
		if b.building != nil {
			b.ad.shape, _ = in.shape(b.expected.shape.with(b.building))
			b.ad.cells = append(b.ad.cells, b.others...)
		}
	}
	return b.ad
}

// settle gives an ad that is not as expected its names.
func (b *builder) settle(in *Interner) {
	s, known := in.shape(b.building)
	if !known && b.expected != nil {
		b.ad.shape, b.ad.cells = s, b.others
		return
	}
	if b.expected == nil && len(b.room) == 0 {
		b.room = make([]roomyAd, 1) // there may be only one
	}
	b.expected = in.layout(s)
	b.before = make([]lastSeen, s.len())
	b.ad = b.expected.open(&b.room)
	b.ad.shape = b.expected.shape
	for line, c := range b.others {
		*b.ad.at(b.expected.places[line]) = c
	}
}
