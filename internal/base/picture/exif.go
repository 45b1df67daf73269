package picture

import (
	"bytes"
	"encoding/binary"
)

const (
	exifHeader     = "Exif\x00\x00"
	tagOrientation = 0x0112
	typeShort      = 3
)

// orientation finds in EXIF data, a TIFF structure, how the picture is to be turned: 1 is not
// at all, 8 the highest value. It is 0 where the data does not say so.
func orientation(tiff []byte) uint16 {
	var order binary.ByteOrder = binary.LittleEndian
	switch {
	case bytes.HasPrefix(tiff, []byte("II*\x00")):
	case bytes.HasPrefix(tiff, []byte("MM\x00*")):
		order = binary.BigEndian
	default:
		return 0
	}
	if len(tiff) < 8 {
		return 0
	}
	first := uint64(order.Uint32(tiff[4:]))
	if first+2 > uint64(len(tiff)) {
		return 0
	}
	entries := tiff[first+2:]
	const entry = 12 // tag, type, count and value
	for range order.Uint16(tiff[first:]) {
		if len(entries) < entry {
			return 0
		}
		if order.Uint16(entries) == tagOrientation && order.Uint16(entries[2:]) == typeShort && order.Uint32(entries[4:]) == 1 {
			if value := order.Uint16(entries[8:]); value <= 8 {
				return value
			}
			return 0
		}
		entries = entries[entry:]
	}
	return 0
}

// exifOrientation is a segment of EXIF that says how the picture is to be turned, and nothing
// else.
func exifOrientation(value uint16) []byte {
	b := []byte(exifHeader + "MM\x00*")
	b = binary.BigEndian.AppendUint32(b, 8) // where the only directory begins
	b = binary.BigEndian.AppendUint16(b, 1) // with one entry
	b = binary.BigEndian.AppendUint16(b, tagOrientation)
	b = binary.BigEndian.AppendUint16(b, typeShort)
	b = binary.BigEndian.AppendUint32(b, 1)
	b = binary.BigEndian.AppendUint16(b, value)
	b = binary.BigEndian.AppendUint16(b, 0)
	return binary.BigEndian.AppendUint32(b, 0) // no other directory
}
