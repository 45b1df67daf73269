package picture

import (
	"bytes"
	"encoding/binary"
)

// The markers of JPEG (ITU-T T.81, table B.1) that are distinguished here.
const (
	markerTEM   = 0x01
	markerRST0  = 0xd0
	markerRST7  = 0xd7
	markerSOI   = 0xd8
	markerEOI   = 0xd9
	markerSOS   = 0xda
	markerAPP0  = 0xe0
	markerAPP1  = 0xe1
	markerAPP2  = 0xe2
	markerAPP14 = 0xee
	markerAPP15 = 0xef
	markerCOM   = 0xfe
)

func stripJPEG(content []byte) ([]byte, error) {
	if !bytes.HasPrefix(content, []byte{0xff, markerSOI}) {
		return nil, ErrFormat
	}
	out := append(make([]byte, 0, len(content)+len(exifOrientation(1))), content[:2]...)
	for rest := content[2:]; ; {
		// What stands between two segments is read over, as decoders do.
		start := bytes.IndexByte(rest, 0xff)
		if start < 0 {
			return nil, ErrFormat
		}
		for rest = rest[start:]; len(rest) > 0 && rest[0] == 0xff; {
			rest = rest[1:] // fill bytes
		}
		if len(rest) == 0 {
			return nil, ErrFormat
		}
		marker := rest[0]
		rest = rest[1:]
		switch {
		case marker == 0: // a stuffed byte out of place
			continue
		case marker == markerEOI:
			return append(out, 0xff, markerEOI), nil
		case marker == markerTEM, marker >= markerRST0 && marker <= markerSOI:
			continue // without meaning here
		}
		if len(rest) < 2 {
			return nil, ErrFormat
		}
		size := int(binary.BigEndian.Uint16(rest))
		if size < 2 || size > len(rest) {
			return nil, ErrFormat
		}
		segment := rest[2:size]
		rest = rest[size:]
		if segment = keptSegment(marker, segment); segment == nil {
			continue
		}
		out = append(out, 0xff, marker)
		out = binary.BigEndian.AppendUint16(out, uint16(len(segment)+2))
		out = append(out, segment...)
		if marker == markerSOS {
			scan := scanLength(rest)
			out, rest = append(out, rest[:scan]...), rest[scan:]
		}
	}
}

// keptSegment returns what is kept of a segment, nil for nothing. Of the application segments
// those stay that say how to read the colours, and of EXIF which side is up.
func keptSegment(marker byte, segment []byte) []byte {
	switch {
	case marker == markerAPP0 && len(segment) >= 14 && bytes.HasPrefix(segment, []byte("JFIF\x00")):
		kept := bytes.Clone(segment[:14])
		kept[12], kept[13] = 0, 0 // no thumbnail, which may show what was cut off the picture
		return kept
	case marker == markerAPP1 && bytes.HasPrefix(segment, []byte(exifHeader)):
		if o := orientation(segment[len(exifHeader):]); o > 1 {
			return exifOrientation(o)
		}
		return nil
	case marker == markerAPP2 && bytes.HasPrefix(segment, []byte("ICC_PROFILE\x00")),
		marker == markerAPP14 && bytes.HasPrefix(segment, []byte("Adobe")):
		return segment
	case marker >= markerAPP0 && marker <= markerAPP15, marker == markerCOM:
		return nil
	}
	return segment
}

// scanLength is how many bytes of compressed data stand before the next marker.
func scanLength(rest []byte) int {
	for i := 0; i+1 < len(rest); i++ {
		if rest[i] == 0xff && rest[i+1] != 0 && rest[i+1] != 0xff && (rest[i+1] < markerRST0 || rest[i+1] > markerRST7) {
			return i
		}
	}
	return len(rest)
}
