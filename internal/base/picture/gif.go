package picture

import "bytes"

// The blocks of GIF (GIF89a, appendix A).
const (
	gifExtension   = 0x21
	gifImage       = 0x2c
	gifTrailer     = 0x3b
	gifGraphic     = 0xf9 // how the next image is shown
	gifApplication = 0xff
)

func stripGIF(content []byte) ([]byte, error) {
	const header = 13 // signature and logical screen
	if len(content) < header {
		return nil, ErrFormat
	}
	start := header + colorTable(content[10])
	if len(content) < start {
		return nil, ErrFormat
	}
	out := append(make([]byte, 0, len(content)+1), content[:start]...)
	var graphic []byte // belongs to the block after it
	for rest := content[start:]; ; {
		switch {
		case len(rest) == 0 || rest[0] == gifTrailer:
			return append(out, gifTrailer), nil
		case rest[0] == gifImage:
			const descriptor = 10
			if len(rest) < descriptor {
				return nil, ErrFormat
			}
			first := descriptor + colorTable(rest[9]) + 1 // and the size of the codes
			if len(rest) < first {
				return nil, ErrFormat
			}
			size, ok := subBlocks(rest[first:])
			if !ok {
				return nil, ErrFormat
			}
			out = append(append(out, graphic...), rest[:first+size]...)
			graphic, rest = nil, rest[first+size:]
		case rest[0] == gifExtension && len(rest) >= 2:
			size, ok := subBlocks(rest[2:])
			if !ok {
				return nil, ErrFormat
			}
			block, label := rest[:2+size], rest[1]
			switch {
			case label == gifGraphic:
				graphic = block
			case label == gifApplication && loops(block):
				out = append(out, block...)
			case label < 0x80: // text that is drawn, which takes the graphic control with it
				graphic = nil
			}
			rest = rest[len(block):]
		default:
			return nil, ErrFormat
		}
	}
}

// colorTable is how many bytes the colours take that a packed field announces.
func colorTable(packed byte) int {
	if packed&0x80 == 0 {
		return 0
	}
	return 3 << (packed&7 + 1)
}

// subBlocks is how many bytes a row of sub-blocks takes, with the empty one at its end; ok is
// false where that is missing.
func subBlocks(rest []byte) (size int, ok bool) {
	for size < len(rest) {
		n := int(rest[size])
		size += 1 + n
		if n == 0 {
			return size, true
		}
	}
	return 0, false
}

// loops reports whether an application block says how often an animation is shown, and
// nothing else.
func loops(block []byte) bool {
	const size = 19
	return len(block) == size && (bytes.Equal(block[2:14], []byte("\x0bNETSCAPE2.0")) || bytes.Equal(block[2:14], []byte("\x0bANIMEXTS1.0"))) &&
		block[14] == 3 && block[15] == 1 && block[18] == 0
}
