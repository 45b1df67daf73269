package api

import (
	"encoding/binary"
	"encoding/hex"
	"math/bits"
)

// etag gives the weak tag of a body: W/ and 32 hex digits in quotes, the same on
// every machine and after every start.
//
// The digest multiplies 16 bytes at a time into two lanes, and takes well under
// the time that rendering the body took. It is no cryptographic one: a caller who makes
// two of their own bodies collide only fools their own cache.
func etag(body []byte) string {
	const (
		k0 = 0xa0761d6478bd642f
		k1 = 0xe7037ed1a0b428db
		k2 = 0x8ebc6af09c88c6e3
		k3 = 0x589965cc75374cc3
	)
	fold := func(a, b uint64) uint64 {
		hi, lo := bits.Mul64(a, b)
		return hi ^ lo
	}
	a, b := uint64(k0)^uint64(len(body)), uint64(k1)
	rest := body
	for len(rest) >= 16 {
		x, y := binary.LittleEndian.Uint64(rest), binary.LittleEndian.Uint64(rest[8:])
		a = fold(a^x, y^k2) + bits.RotateLeft64(x, 23)
		b = fold(b^y, x^k3) + bits.RotateLeft64(y, 41)
		rest = rest[16:]
	}
	var tail [16]byte
	copy(tail[:], rest)
	x, y := binary.LittleEndian.Uint64(tail[:]), binary.LittleEndian.Uint64(tail[8:])
	a = fold(a^x, y^k2) + bits.RotateLeft64(x, 23)
	b = fold(b^y, x^k3) + bits.RotateLeft64(y, 41)
	a, b = fold(a^k3, bits.RotateLeft64(b, 32)^k0)+b, fold(b^k1, a^k2)+a

	var sum [16]byte
	binary.BigEndian.PutUint64(sum[:], a)
	binary.BigEndian.PutUint64(sum[8:], b)
	out := make([]byte, 0, 36)
	out = append(out, `W/"`...)
	out = hex.AppendEncode(out, sum[:])
	return string(append(out, '"'))
}
