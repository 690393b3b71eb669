package spool

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"fairspool/lib/classad"
)

// factoryKeyName is the attribute that is the key of a factory's row.
const factoryKeyName = "Cluster"

func factoryAd(f factory) *classad.Ad {
	ad := classad.New()
	ad.SetInt(factoryKeyName, int64(f.Cluster))
	setText(ad, "Owner", f.Owner)
	setInt(ad, "Next", int64(f.Next))
	setInt(ad, "Jobs", int64(f.Jobs))
	setInt(ad, "MaxMaterialize", int64(f.MaxMaterialize))
	setInt(ad, "MaxIdle", int64(f.MaxIdle))
	setInt(ad, "Offset", f.Offset)
	setText(ad, "Charged", f.Charged)
	setText(ad, "Paused", f.Paused)
	setInt(ad, "Bytes", f.bytes)
	setText(ad, "Checksums", sumsText(f.sums))
	return ad
}

func factoryOf(r *row) (factory, error) {
	f := factory{
		Factory: Factory{
			Cluster: int(r.int(factoryKeyName)), Owner: r.optional("Owner"), Next: int(r.int("Next")), Jobs: int(r.int("Jobs")),
			MaxMaterialize: int(r.int("MaxMaterialize")), MaxIdle: int(r.int("MaxIdle")),
			Offset: r.int("Offset"), Charged: r.optional("Charged"), Paused: r.optional("Paused"),
		},
		bytes: r.int("Bytes"),
	}
	sums := r.optional("Checksums")
	if r.err != nil {
		return f, r.err
	}
	if err := f.check(); err != nil {
		return f, err
	}
	var err error
	f.sums, err = parseSums(sums)
	if err == nil && (f.bytes < 0 || int64(len(f.sums)) != blocksOf(f.bytes)) {
		err = errNoSums
	}
	return f, err
}

// sumsText writes checksums with blanks between.
func sumsText(sums []uint32) string {
	var b []byte
	for i, sum := range sums {
		if i > 0 {
			b = append(b, ' ')
		}
		b = fmt.Appendf(b, "%08x", sum)
	}
	return string(b)
}

// parseSums is the inverse of sumsText.
func parseSums(text string) (sums []uint32, err error) {
	if text == "" {
		return nil, nil
	}
	for one := range strings.SplitSeq(text, " ") {
		sum, err := strconv.ParseUint(one, 16, 32)
		if err != nil || len(one) != 8 || strings.ToLower(one) != one {
			return nil, fmt.Errorf("%.20q: not a checksum", one)
		}
		sums = append(sums, uint32(sum))
	}
	return sums, nil
}

// factoryKey returns the key of a row.
func factoryKey(line []byte) (int, error) {
	if rest, ok := bytes.CutPrefix(line, []byte("F [ "+factoryKeyName+" = ")); ok {
		if end := bytes.IndexAny(rest, "; "); end > 0 {
			if cluster, err := strconv.Atoi(string(rest[:end])); err == nil {
				return cluster, nil
			}
		}
	}
	f, err := parseFactory(line, 0)
	return f.Cluster, err
}

func parseFactory(line []byte, _ uint64) (factory, error) {
	r, err := rowRecord(line, 'F')
	if err != nil {
		return factory{}, err
	}
	return *r.Factory, nil
}

// goneFactory reads the cluster of a factory that is gone.
func goneFactory(b []byte) (int, error) {
	cluster, _, err := number(b, '\n')
	return cluster, err
}
