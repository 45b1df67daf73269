// Package picture checks pictures that strangers sent and cuts out what the file says besides
// the picture: where and when it was taken, with what, and who took it. Nothing is drawn again, so
// that the picture stays as it was sent, bit by bit.
package picture

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/gif" // so that image.Decode knows them
	_ "image/jpeg"
	_ "image/png"
	"io"

	_ "golang.org/x/image/webp" // as above
)

// Errors of Clean, to be asked for with errors.Is.
var (
	ErrFormat = errors.New("not a picture of a known format")
	ErrTooBig = errors.New("picture is too big")
)

// Formats are the media types that Clean reads, and IconFormats those that CleanIcon reads.
var (
	Formats     = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}
	IconFormats = append(Formats[:len(Formats):len(Formats)], "image/vnd.microsoft.icon")
)

// The bounds of what is decoded. A small file may say that it is huge.
const (
	maxSide  = 8192     // in pixels
	maxArea  = 16 << 20 // pixels in all
	maxBytes = 64 << 20 // of the decoded picture
	maxScans = 100      // parts of a JPEG: each is a walk over the whole picture
)

// Picture is a clean picture.
type Picture struct {
	Content []byte
	Format  Format
}

// Format is a format of pictures, as package image names it.
type Format string

// The formats.
const (
	PNG  Format = "png"
	JPEG Format = "jpeg"
	GIF  Format = "gif"
	WebP Format = "webp"
	ICO  Format = "ico" // of CleanIcon alone
)

// Exts returns what the names of files of the format end in, the usual one first.
func (f Format) Exts() []string {
	if f == JPEG {
		return []string{".jpg", ".jpeg"}
	}
	return []string{"." + string(f)}
}

// strippers cut the metadata out of a file and what follows its end. Their error is
// ErrFormat.
var strippers = map[Format]func(content []byte) ([]byte, error){
	PNG: stripPNG, JPEG: stripJPEG, GIF: stripGIF, WebP: stripWebP,
}

// Cleaner cleans one picture at a time, since each may need much memory. It is safe for
// concurrent use.
type Cleaner struct {
	turn chan struct{}
}

// NewCleaner makes a cleaner.
func NewCleaner() *Cleaner { return &Cleaner{turn: make(chan struct{}, 1)} }

// Clean reads a picture whose file has at most limit bytes, and leaves of the file what is
// needed to show it: the pixels, colours, animation, and which side of a photograph is up.
func (c *Cleaner) Clean(from io.Reader, limit int64) (*Picture, error) {
	content, err := io.ReadAll(io.LimitReader(from, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read picture: %w", err)
	}
	if int64(len(content)) > limit {
		return nil, ErrTooBig
	}
	format, err := bounded(content)
	if err != nil {
		return nil, err
	}
	clean, err := strippers[format](content)
	if err != nil {
		return nil, err
	}
	// What is kept is what is checked: cutting may have changed how the rest is read.
	if again, err := bounded(clean); err != nil || again != format {
		return nil, errors.Join(ErrFormat, err)
	}
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	if _, _, err := image.Decode(bytes.NewReader(clean)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return &Picture{Content: clean, Format: format}, nil
}

// bounded reads the header of a picture and refuses one that is too large to be decoded.
func bounded(content []byte) (Format, error) {
	config, name, err := image.DecodeConfig(bytes.NewReader(content))
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrFormat, err)
	}
	format := Format(name)
	if strippers[format] == nil || config.Width <= 0 || config.Height <= 0 {
		return "", ErrFormat
	}
	if config.Width > maxSide || config.Height > maxSide || config.Width*config.Height > maxArea ||
		config.Width*config.Height*depth(config) > maxBytes || format == JPEG && bytes.Count(content, []byte{0xff, 0xda}) > maxScans {
		return "", ErrTooBig
	}
	return format, nil
}

// depth is how many bytes a decoded pixel takes at most.
func depth(c image.Config) int {
	switch c.ColorModel {
	case color.NRGBA64Model, color.RGBA64Model, color.Gray16Model:
		return 8
	}
	return 4
}
