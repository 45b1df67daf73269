package picture

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/png"
	"io"
)

// The parts of an ICO file: a header, an entry for each image, and the images, which are PNG files or bitmaps without their file header.
const (
	icoHeader   = 6
	icoEntry    = 16
	icoImages   = 32  // at most in a file
	icoSide     = 256 // pixels of an image at most
	dibHeader   = 40
	dibNoPacked = 0 // the pixels are not compressed
)

// CleanIcon is Clean for a favicon, which may be an ICO file as well. Its images are PNG files or bitmaps that are not compressed.
func (c *Cleaner) CleanIcon(from io.Reader, limit int64) (*Picture, error) {
	start := make([]byte, icoHeader)
	n, err := io.ReadFull(from, start)
	again := io.MultiReader(bytes.NewReader(start[:n]), from)
	if err != nil || !isICO(start) {
		return c.Clean(again, limit)
	}
	content, err := io.ReadAll(io.LimitReader(again, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read icon: %w", err)
	}
	if int64(len(content)) > limit {
		return nil, ErrTooBig
	}
	clean, err := stripICO(content)
	if err != nil {
		return nil, err
	}
	return &Picture{Content: clean, Format: ICO}, nil
}

// isICO reports whether a file starts as an ICO file; a cursor has another type.
func isICO(content []byte) bool {
	return len(content) >= icoHeader && binary.LittleEndian.Uint16(content) == 0 && binary.LittleEndian.Uint16(content[2:]) == 1
}

// stripICO keeps the images, one after the other, and nothing between and behind them.
func stripICO(content []byte) ([]byte, error) {
	if !isICO(content) {
		return nil, ErrFormat
	}
	count := int(binary.LittleEndian.Uint16(content[4:]))
	if count > icoImages {
		return nil, ErrTooBig
	}
	first := icoHeader + count*icoEntry
	if count == 0 || len(content) < first {
		return nil, ErrFormat
	}
	out := append(make([]byte, 0, len(content)), content[:first]...)
	for at := icoHeader; at < first; at += icoEntry {
		size, offset := uint64(binary.LittleEndian.Uint32(content[at+8:])), uint64(binary.LittleEndian.Uint32(content[at+12:]))
		if offset < uint64(first) || offset+size > uint64(len(content)) {
			return nil, ErrFormat
		}
		one, err := stripIcon(content[offset : offset+size])
		if err != nil {
			return nil, err
		}
		if len(out)+len(one) > len(content) {
			return nil, ErrFormat // entries that share their bytes would make a small file large
		}
		out[at+3] = 0
		binary.LittleEndian.PutUint32(out[at+8:], uint32(len(one)))
		binary.LittleEndian.PutUint32(out[at+12:], uint32(len(out)))
		out = append(out, one...)
	}
	return out, nil
}

func stripIcon(content []byte) ([]byte, error) {
	if !bytes.HasPrefix(content, []byte(pngSignature)) {
		return stripDIB(content)
	}
	clean, err := stripPNG(content)
	if err != nil {
		return nil, err
	}
	config, err := png.DecodeConfig(bytes.NewReader(clean))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if config.Width > icoSide || config.Height > icoSide {
		return nil, ErrTooBig
	}
	if _, _, err := image.Decode(bytes.NewReader(clean)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return clean, nil
}

// stripDIB checks a bitmap: a header, the colors, the pixels, and a mask of one bit for each pixel, which may be missing where
// the pixels have transparency of their own. Lines have a multiple of four bytes.
func stripDIB(content []byte) ([]byte, error) {
	if len(content) < dibHeader || binary.LittleEndian.Uint32(content) != dibHeader {
		return nil, ErrFormat
	}
	word := func(at int) uint32 { return binary.LittleEndian.Uint32(content[at:]) }
	width, height, depth, colors := int64(int32(word(4))), int64(int32(word(8)))/2, int64(binary.LittleEndian.Uint16(content[14:])), int64(word(32))
	if width <= 0 || height <= 0 || word(16) != dibNoPacked {
		return nil, ErrFormat
	}
	if width > icoSide || height > icoSide {
		return nil, ErrTooBig
	}
	switch depth {
	case 1, 4, 8:
		if colors == 0 {
			colors = 1 << depth
		}
		if colors > 1<<depth {
			return nil, ErrFormat
		}
	case 16, 24, 32:
		if colors > 1<<8 {
			return nil, ErrFormat
		}
	default:
		return nil, ErrFormat
	}
	line := func(bits int64) int64 { return (width*bits + 31) / 32 * 4 }
	pixels := dibHeader + 4*colors + height*line(depth)
	whole := pixels + height*line(1)
	switch size := int64(len(content)); {
	case size >= whole:
		return content[:whole], nil
	case depth == 32 && size >= pixels:
		return content[:pixels], nil
	}
	return nil, ErrFormat
}
