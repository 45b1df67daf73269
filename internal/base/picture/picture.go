// Package picture takes pictures that strangers sent and makes clean ones of them: what
// comes out was drawn here, so that nothing else that was in the file is left.
package picture

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/gif" // so that image.Decode knows them
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/draw"
	_ "golang.org/x/image/webp" // as above
)

// Errors of Clean, to be asked for with errors.Is.
var (
	ErrFormat = errors.New("not a picture of a known format")
	ErrTooBig = errors.New("picture is too big")
)

// Formats are the media types that Clean reads.
var Formats = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// The bounds of what is decoded. A small file may say that it is huge.
const (
	maxSide  = 8192     // in pixels
	maxArea  = 16 << 20 // pixels in all
	maxBytes = 64 << 20 // of the decoded picture
	maxScans = 100      // parts of a JPEG, each of which is a walk over the whole picture
)

// Picture is a clean picture.
type Picture struct {
	Content []byte
	Ext     string // of a file's name: png or jpg
}

// Cleaner cleans one picture at a time, since each may need much memory. It is safe for
// concurrent use.
type Cleaner struct {
	side int
	turn chan struct{}
}

// NewCleaner makes a cleaner whose pictures have at most this many pixels on a side;
// larger ones are made smaller.
func NewCleaner(side int) *Cleaner {
	return &Cleaner{side: side, turn: make(chan struct{}, 1)}
}

// Clean reads a picture whose file has at most limit bytes. Of a picture that moves the
// first frame is left.
func (c *Cleaner) Clean(from io.Reader, limit int64) (*Picture, error) {
	content, err := io.ReadAll(io.LimitReader(from, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read picture: %w", err)
	}
	if int64(len(content)) > limit {
		return nil, ErrTooBig
	}
	config, format, err := image.DecodeConfig(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if config.Width <= 0 || config.Height <= 0 {
		return nil, ErrFormat
	}
	if config.Width > maxSide || config.Height > maxSide || config.Width*config.Height > maxArea ||
		config.Width*config.Height*depth(config) > maxBytes || format == "jpeg" && bytes.Count(content, []byte{0xff, 0xda}) > maxScans {
		return nil, ErrTooBig
	}
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	drawn, _, err := image.Decode(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return encode(c.shrink(drawn), format)
}

// depth is how many bytes a decoded pixel takes at most.
func depth(c image.Config) int {
	switch c.ColorModel {
	case color.NRGBA64Model, color.RGBA64Model, color.Gray16Model:
		return 8
	}
	return 4
}

// shrink makes a picture small enough, in its proportions.
func (c *Cleaner) shrink(from image.Image) image.Image {
	w, h := from.Bounds().Dx(), from.Bounds().Dy()
	if w <= c.side && h <= c.side {
		return from
	}
	nw, nh := c.side, max(1, h*c.side/w)
	if h > w {
		nw, nh = max(1, w*c.side/h), c.side
	}
	to := image.NewNRGBA(image.Rect(0, 0, nw, nh))
	draw.ApproxBiLinear.Scale(to, to.Bounds(), from, from.Bounds(), draw.Src, nil)
	return to
}

func encode(from image.Image, format string) (*Picture, error) {
	var out bytes.Buffer
	p := &Picture{Ext: "png"}
	var err error
	if format == "jpeg" {
		p.Ext = "jpg"
		err = jpeg.Encode(&out, from, &jpeg.Options{Quality: 90})
	} else {
		err = png.Encode(&out, from)
	}
	if err != nil {
		return nil, fmt.Errorf("encode picture: %w", err)
	}
	p.Content = out.Bytes()
	return p, nil
}
