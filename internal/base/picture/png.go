package picture

import (
	"encoding/binary"
	"slices"
)

const pngSignature = "\x89PNG\r\n\x1a\n"

// pngKept are the chunks that say how the picture looks: the critical ones, transparency,
// colours, the size of a pixel, and the frames of an animation. Texts, times, EXIF and what
// programs put there for themselves are not among them.
var pngKept = []string{
	"IHDR", "PLTE", "IDAT", "IEND", "tRNS", "bKGD", "sBIT", "hIST", "pHYs",
	"gAMA", "cHRM", "sRGB", "iCCP", "cICP", "mDCV", "cLLI", "acTL", "fcTL", "fdAT",
}

func stripPNG(content []byte) ([]byte, error) {
	if len(content) < len(pngSignature) || string(content[:len(pngSignature)]) != pngSignature {
		return nil, ErrFormat
	}
	out := append(make([]byte, 0, len(content)), pngSignature...)
	for rest := content[len(pngSignature):]; ; {
		const frame = 12 // length, type and checksum
		if len(rest) < frame {
			return nil, ErrFormat
		}
		size := uint64(binary.BigEndian.Uint32(rest)) + frame
		if size > uint64(len(rest)) {
			return nil, ErrFormat
		}
		kind := string(rest[4:8])
		if slices.Contains(pngKept, kind) {
			out = append(out, rest[:size]...)
		}
		if kind == "IEND" {
			return out, nil
		}
		rest = rest[size:]
	}
}
