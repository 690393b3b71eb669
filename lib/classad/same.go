package classad

// SameNames tells whether two ads are known to have attributes of the same names
// in the same places, as ads that one Reader read mostly have. False means that it
// is not known.
func (a *Ad) SameNames(b *Ad) bool {
	return a != nil && b != nil && a.shape != nil && a.shape == b.shape && a.parent == nil && b.parent == nil
}
