package classad

import "io"

func (r *Reader) openOther([]byte) error { return io.EOF }
