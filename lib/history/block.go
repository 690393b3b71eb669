package history

import (
	"hash/crc32"
	"strconv"
	"time"

	"fairspool/lib/accountant"
)

// Sample is what was so of one submitter or group at its block's time.
type Sample struct {
	// ID stands for the name, see Names.
	ID int
	// Priority is the RUP.
	Priority float64
	// InUse is the weight in use, which the RUP follows; a group's with that of
	// all groups below.
	InUse accountant.Weight
	// Usage is the accumulated usage in weight time, a group's with that of all
	// groups below.
	Usage accountant.Usage
	// Demand is the weight that idle jobs asked for.
	Demand float64
	// Factor is the priority factor.
	Factor float64
}

// Block is the samples of one moment.
type Block struct {
	// Time is the policy time, in milliseconds.
	Time time.Time
	// HalfLife is PRIORITY_HALFLIFE, Factor the factor that most have.
	HalfLife time.Duration
	Factor   float64
	// Settings stand for all that factors are computed from, and for Moment's Past:
	// when they differ from the last block's, anybody's figures may.
	Settings uint32
	// Names is the ID of the Names that its samples' IDs are of.
	Names uint32
	// All tells that whoever is not in the block is not there any more.
	All     bool
	Samples []Sample
}

// Format of a block:
//
//	@ 2026-11-21T08:00:00.012Z 86400 1000 5407c828 77c9e3f0 all 43 6f20c1d5
//	12 3.25 4 123456.789 10 2000
//	13 0.5 0 99.5
//	= 2026-11-21T08:00:00.012Z 115 1a2b3c4d
//
// The @ line has time, half-life in seconds, the usual factor, the settings, the
// names, the length in bytes of the samples' lines, and the CRC-32C of all before it:
// so a block that was never written to its end differs from one that was changed.
// Each line of a sample has id, RUP, weight in use, usage in weight seconds,
// demand and factor: without the factor if it is the usual one, and without the
// demand if that is 0 too. The = line has the time again, the length in bytes of
// all before it and the CRC-32C of that.

// timeLayout is fixed in length, so that times sort as texts.
const timeLayout = "2006-01-02T15:04:05.000Z"

// digits is how many of a RUP count.
const digits = 12

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Append appends the block as it is written.
func (b *Block) Append(to []byte) []byte {
	start := len(to)
	to = append(to, "@ "...)
	to = b.Time.UTC().AppendFormat(to, timeLayout)
	to = append(to, ' ')
	to = appendSeconds(to, accountant.Usage{Millis: b.HalfLife.Milliseconds()})
	to = append(to, ' ')
	to = strconv.AppendFloat(to, b.Factor, 'g', -1, 64)
	to = append(to, ' ')
	to = appendHex(to, b.Settings)
	to = append(to, ' ')
	to = appendHex(to, b.Names)
	if b.All {
		to = append(to, " all"...)
	}
	var samples []byte
	for i := range b.Samples {
		samples = b.Samples[i].append(samples, b.Factor)
	}
	to = append(to, ' ')
	to = strconv.AppendInt(to, int64(len(samples)), 10)
	to = append(appendHex(append(to, ' '), crc32.Checksum(to[start:], castagnoli)), '\n')
	to = append(to, samples...)
	length, sum := len(to)-start, crc32.Checksum(to[start:], castagnoli)
	to = append(to, "= "...)
	to = b.Time.UTC().AppendFormat(to, timeLayout)
	to = append(to, ' ')
	to = strconv.AppendInt(to, int64(length), 10)
	to = append(to, ' ')
	return append(appendHex(to, sum), '\n')
}

func (s *Sample) append(to []byte, usual float64) []byte {
	to = strconv.AppendInt(to, int64(s.ID), 10)
	to = append(to, ' ')
	to = strconv.AppendFloat(to, s.Priority, 'g', digits, 64)
	to = append(to, ' ')
	to = appendThousandths(to, int64(s.InUse))
	to = append(to, ' ')
	to = appendSeconds(to, s.Usage)
	if s.Demand != 0 || s.Factor != usual {
		to = append(to, ' ')
		to = strconv.AppendFloat(to, s.Demand, 'g', digits, 64)
	}
	if s.Factor != usual {
		to = append(to, ' ')
		to = strconv.AppendFloat(to, s.Factor, 'g', -1, 64)
	}
	return append(to, '\n')
}

// appendSeconds writes usage in weight seconds, exactly, without needless
// digits.
func appendSeconds(to []byte, u accountant.Usage) []byte {
	if u.Rest == 0 {
		return appendThousandths(to, u.Millis)
	}
	to = strconv.AppendInt(to, u.Millis/1000, 10)
	to = append(to, '.')
	return trimZeros(appendPadded(appendPadded(to, u.Millis%1000), u.Rest))
}

func appendThousandths(to []byte, n int64) []byte {
	to = strconv.AppendInt(to, n/1000, 10)
	if n%1000 == 0 {
		return to
	}
	return trimZeros(appendPadded(append(to, '.'), n%1000))
}

func appendPadded(to []byte, n int64) []byte {
	return append(to, byte('0'+n/100), byte('0'+n/10%10), byte('0'+n%10))
}

func trimZeros(b []byte) []byte {
	for b[len(b)-1] == '0' {
		b = b[:len(b)-1]
	}
	return b
}

func appendHex(to []byte, n uint32) []byte {
	for shift := 28; shift >= 0; shift -= 4 {
		to = append(to, "0123456789abcdef"[n>>shift&15])
	}
	return to
}
