package picture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"golang.org/x/image/riff"
)

// webpKept are the chunks that say how the picture looks (RFC 9649). Moving pictures are not
// read here.
var webpKept = []string{"VP8X", "VP8 ", "VP8L", "ALPH", "ICCP"}

// The flags of a VP8X chunk that announce metadata.
const (
	webpXMP  = 0x04
	webpEXIF = 0x08
)

func stripWebP(content []byte) ([]byte, error) {
	form, chunks, err := riff.NewReader(bytes.NewReader(content))
	if err != nil || string(form[:]) != "WEBP" {
		return nil, ErrFormat
	}
	out := append(make([]byte, 0, len(content)), "RIFF\x00\x00\x00\x00WEBP"...)
	for {
		id, size, data, err := chunks.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, ErrFormat
		}
		kind := string(id[:])
		if !slices.Contains(webpKept, kind) {
			continue
		}
		chunk, err := io.ReadAll(data)
		if err != nil || uint32(len(chunk)) != size {
			return nil, ErrFormat
		}
		if kind == "VP8X" && len(chunk) > 0 {
			chunk[0] &^= webpEXIF | webpXMP
		}
		out = append(out, kind...)
		out = binary.LittleEndian.AppendUint32(out, size)
		out = append(out, chunk...)
		if size%2 == 1 {
			out = append(out, 0)
		}
	}
	binary.LittleEndian.PutUint32(out[4:], uint32(len(out)-8))
	return out, nil
}
