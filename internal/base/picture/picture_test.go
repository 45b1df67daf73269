package picture_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"slices"
	"strings"
	"testing"

	"tenon/internal/base/picture"
)

const limit = 200 << 10

// drawn makes a picture of a red field with a blue corner.
func drawn(w, h int) *image.Paletted {
	m := image.NewPaletted(image.Rect(0, 0, w, h), color.Palette{color.NRGBA{255, 0, 0, 255}, color.NRGBA{0, 0, 255, 255}})
	for x := range w / 2 {
		for y := range h / 2 {
			m.SetColorIndex(x, y, 1)
		}
	}
	return m
}

func encoded(t *testing.T, format string, w, h int) []byte {
	t.Helper()
	var b bytes.Buffer
	var err error
	switch m := drawn(w, h); format {
	case "png":
		err = png.Encode(&b, m)
	case "jpeg":
		err = jpeg.Encode(&b, m, nil)
	case "gif":
		err = gif.EncodeAll(&b, &gif.GIF{Image: []*image.Paletted{m, m}, Delay: []int{1, 1}})
	case "webp": // a pixel, as nobody here writes the format
		b.Write(webp(t))
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func webp(t *testing.T) []byte {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString("UklGRiQAAABXRUJQVlA4IBgAAAAwAQCdASoBAAEAAwA0JaQAA3AA/vuUAAA=")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestCleaner_Clean(t *testing.T) {
	t.Parallel()
	c := picture.NewCleaner(64)
	for _, row := range []struct {
		format, ext string
		w, h        int
		nw, nh      int
	}{
		{"png", "png", 40, 30, 40, 30},
		{"gif", "png", 40, 30, 40, 30},
		{"jpeg", "jpg", 40, 30, 40, 30},
		{"webp", "png", 1, 1, 1, 1},
		{"png", "png", 640, 320, 64, 32},
		{"jpeg", "jpg", 320, 640, 32, 64},
		{"png", "png", 4000, 1, 64, 1},
	} {
		p, err := c.Clean(bytes.NewReader(encoded(t, row.format, row.w, row.h)), limit)
		if err != nil {
			t.Errorf("%s of %dx%d: %v", row.format, row.w, row.h, err)
			continue
		}
		m, format, err := image.Decode(bytes.NewReader(p.Content))
		if err != nil || p.Ext != row.ext || strings.Replace(format, "jpeg", "jpg", 1) != row.ext || m.Bounds().Dx() != row.nw || m.Bounds().Dy() != row.nh {
			t.Errorf("%s of %dx%d: %s of %v, named %s, %v", row.format, row.w, row.h, format, m.Bounds(), p.Ext, err)
			continue
		}
		if r, _, b, _ := m.At(0, 0).RGBA(); row.h > 20 && (b < 0xc000 || r > 0x4000) {
			t.Errorf("%s of %dx%d: the corner is %v", row.format, row.w, row.h, m.At(0, 0))
		}
	}
}

// Nothing that was hidden in the file is in the picture that comes out.
func TestCleaner_Clean_forgets(t *testing.T) {
	t.Parallel()
	const hidden = "<script>GPS 59.33 18.06</script>"
	c := picture.NewCleaner(64)
	text := chunk("tEXt", []byte("Comment\x00"+hidden))
	file := encoded(t, "png", 10, 10)
	file = slices.Concat(file[:33], text, file[33:], []byte(hidden))
	jpg := encoded(t, "jpeg", 10, 10)
	jpg = slices.Concat(jpg[:2], []byte{0xff, 0xfe, 0, byte(len(hidden) + 2)}, []byte(hidden), jpg[2:], []byte(hidden))
	for name, content := range map[string][]byte{"png": file, "jpeg": jpg, "gif": append(encoded(t, "gif", 10, 10), hidden...)} {
		p, err := c.Clean(bytes.NewReader(content), limit)
		if err != nil || bytes.Contains(p.Content, []byte("GPS")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// chunk is a part of a PNG.
func chunk(kind string, data []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
	b = append(append(b, kind...), data...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[4:]))
}

func TestCleaner_Clean_refuses(t *testing.T) {
	t.Parallel()
	c := picture.NewCleaner(64)
	good := encoded(t, "png", 10, 10)
	header := func(w, h uint32, bits, kind byte) []byte {
		b := binary.BigEndian.AppendUint32(nil, w)
		b = binary.BigEndian.AppendUint32(b, h)
		return slices.Concat(good[:8], chunk("IHDR", append(b, bits, kind, 0, 0, 0)), chunk("IDAT", []byte("x")))
	}
	scans := encoded(t, "jpeg", 10, 10)
	scans = append(scans, bytes.Repeat([]byte{0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0}, 101)...)
	for name, row := range map[string]struct {
		content []byte
		want    error
	}{
		"nothing":            {nil, picture.ErrFormat},
		"text":               {[]byte("hello"), picture.ErrFormat},
		"SVG":                {[]byte(`<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`), picture.ErrFormat},
		"a web page":         {[]byte("<html><script>alert(1)</script></html>"), picture.ErrFormat},
		"half a picture":     {good[:len(good)/2], picture.ErrFormat},
		"a long file":        {append(slices.Clone(good), make([]byte, limit)...), picture.ErrTooBig},
		"a wide bomb":        {header(1<<31-1, 1, 8, 6), picture.ErrTooBig},
		"a square bomb":      {header(8000, 8000, 8, 6), picture.ErrTooBig},
		"a deep bomb":        {header(4000, 4000, 16, 6), picture.ErrTooBig},
		"no pixels":          {header(0, 0, 8, 6), picture.ErrFormat},
		"many walks over it": {scans, picture.ErrTooBig},
	} {
		if p, err := c.Clean(bytes.NewReader(row.content), limit); !errors.Is(err, row.want) {
			t.Errorf("%s: %v, %v, want %v", name, p, err, row.want)
		}
	}
}

func FuzzCleaner(f *testing.F) {
	c := picture.NewCleaner(16)
	var b bytes.Buffer
	if err := png.Encode(&b, drawn(3, 3)); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, content []byte) {
		p, err := c.Clean(bytes.NewReader(content), 4<<10)
		if err != nil {
			return
		}
		if _, _, err := image.Decode(bytes.NewReader(p.Content)); err != nil {
			t.Errorf("what came out is no picture: %v", err)
		}
	})
}
