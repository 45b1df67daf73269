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

func encoded(t testing.TB, format string, w, h int) []byte {
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
	case "webp": // a pixel, as Go does not write the format
		b.Write(webp(t))
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func webp(t testing.TB) []byte {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString("UklGRiQAAABXRUJQVlA4IBgAAAAwAQCdASoBAAEAAwA0JaQAA3AA/vuUAAA=")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A picture without metadata stays as it was sent, whatever its size in pixels, and of an
// animation every frame.
func TestCleaner_Clean(t *testing.T) {
	t.Parallel()
	c := picture.NewCleaner()
	for _, row := range []struct {
		format picture.Format
		w, h   int
	}{
		{picture.PNG, 40, 30},
		{picture.GIF, 40, 30},
		{picture.JPEG, 40, 30},
		{picture.WebP, 1, 1},
		{picture.PNG, 2000, 1500},
	} {
		sent := encoded(t, string(row.format), row.w, row.h)
		p, err := c.Clean(bytes.NewReader(sent), limit)
		if err != nil || p.Format != row.format || !bytes.Equal(p.Content, sent) {
			t.Errorf("%s of %dx%d: got %+v, %v, want it as it was sent", row.format, row.w, row.h, p, err)
		}
	}
}

const hidden = "<script>GPS 59.33 18.06</script>"

// segment is a part of a JPEG.
func segment(marker byte, data string) []byte {
	return append([]byte{0xff, marker, byte((len(data) + 2) >> 8), byte(len(data) + 2)}, data...)
}

// exif is EXIF data with a place and an orientation.
func exif(order binary.AppendByteOrder, magic string, value uint16) string {
	b := []byte("Exif\x00\x00" + magic)
	b = order.AppendUint32(b, 8)
	b = order.AppendUint16(b, 2)
	b = order.AppendUint16(b, 0x010e) // a description, which begins after the directory
	b = order.AppendUint16(b, 2)
	b = order.AppendUint32(b, uint32(len(hidden)))
	b = order.AppendUint32(b, 38)
	b = order.AppendUint16(b, 0x0112)
	b = order.AppendUint16(b, 3)
	b = order.AppendUint32(b, 1)
	b = order.AppendUint16(b, value)
	b = order.AppendUint16(b, 0)
	b = order.AppendUint32(b, 0)
	return string(b) + hidden
}

// Only the metadata goes: the rest of the file stays bit by bit.
func TestCleaner_Clean_forgets(t *testing.T) {
	t.Parallel()
	c := picture.NewCleaner()
	png, jpg, gif := encoded(t, "png", 10, 10), encoded(t, "jpeg", 10, 10), encoded(t, "gif", 10, 10)
	inPNG := func(parts ...[]byte) []byte { return slices.Concat(png[:33], slices.Concat(parts...), png[33:]) }
	inJPEG := func(parts ...[]byte) []byte { return slices.Concat(jpg[:2], slices.Concat(parts...), jpg[2:]) }
	const screen = 13 // of the GIF, whose colours stand with its frames
	inGIF := func(parts ...[]byte) []byte {
		return slices.Concat(gif[:screen], slices.Concat(parts...), gif[screen:])
	}
	small := string(rune(len(hidden))) + hidden + "\x00"
	gamma := chunk("gAMA", []byte{0, 0, 0xb1, 0x8f})
	jfif := "JFIF\x00\x01\x02\x01\x00\x48\x00\x48"
	turned := segment(0xe1, "Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00\x06\x00\x00\x00\x00\x00\x00")
	profile, adobe := segment(0xe2, "ICC_PROFILE\x00\x01\x01colours"), segment(0xee, "Adobe\x00\x64\x00\x00\x00\x00\x00")
	loop := []byte("!\xff\x0bNETSCAPE2.0\x03\x01\x02\x00\x00")
	for name, row := range map[string]struct{ sent, want []byte }{
		"PNG texts":             {inPNG(chunk("tEXt", []byte("Comment\x00"+hidden)), chunk("zTXt", []byte(hidden)), chunk("iTXt", []byte(hidden))), png},
		"PNG EXIF and time":     {inPNG(chunk("eXIf", []byte(hidden)), chunk("tIME", []byte("1234567"))), png},
		"PNG private chunk":     {inPNG(chunk("prVt", []byte(hidden))), png},
		"PNG colours":           {inPNG(gamma, chunk("tEXt", []byte(hidden))), inPNG(gamma)},
		"PNG with more behind":  {append(slices.Clone(png), hidden...), png},
		"JPEG comment":          {inJPEG(segment(0xfe, hidden)), jpg},
		"JPEG EXIF, upright":    {inJPEG(segment(0xe1, exif(binary.BigEndian, "MM\x00*", 1))), jpg},
		"JPEG EXIF, turned":     {inJPEG(segment(0xe1, exif(binary.BigEndian, "MM\x00*", 6))), inJPEG(turned)},
		"JPEG EXIF, other end":  {inJPEG(segment(0xe1, exif(binary.LittleEndian, "II*\x00", 6))), inJPEG(turned)},
		"JPEG EXIF, impossible": {inJPEG(segment(0xe1, exif(binary.LittleEndian, "II*\x00", 9))), jpg},
		"JPEG EXIF, broken":     {inJPEG(segment(0xe1, "Exif\x00\x00II*\x00\xff\xff\xff\xff"+hidden)), jpg},
		"JPEG XMP and IPTC":     {inJPEG(segment(0xe1, "http://ns.adobe.com/xap/1.0/\x00"+hidden), segment(0xed, "Photoshop 3.0\x00"+hidden)), jpg},
		"JPEG preview":          {inJPEG(segment(0xe2, "MPF\x00"+hidden)), jpg},
		"JPEG colours":          {inJPEG(profile, segment(0xfe, hidden), adobe), inJPEG(profile, adobe)},
		"JPEG thumbnail":        {inJPEG(segment(0xe0, jfif+"\x01\x01abc"), segment(0xe0, "JFXX\x00"+hidden)), inJPEG(segment(0xe0, jfif+"\x00\x00"))},
		"JPEG with more behind": {append(slices.Clone(jpg), hidden...), jpg},
		"GIF comment":           {inGIF([]byte("!\xfe" + small)), gif},
		"GIF application":       {inGIF([]byte("!\xff\x0bXMP DataXMP" + small)), gif},
		"GIF loop":              {inGIF(loop, []byte("!\xfe"+small)), inGIF(loop)},
		"GIF loop with more":    {inGIF([]byte("!\xff\x0bNETSCAPE2.0" + small)), gif},
		"GIF drawn text":        {inGIF([]byte("!\xf9\x04\x00\x00\x00\x00\x00"), []byte("!\x01\x0c123456789012"+small)), gif},
		"GIF with more behind":  {append(slices.Clone(gif), hidden...), gif},
		"GIF without an end":    {gif[:len(gif)-1], gif},
	} {
		p, err := c.Clean(bytes.NewReader(row.sent), limit)
		if err != nil || !bytes.Equal(p.Content, row.want) {
			t.Errorf("%s: got %+q, %v, want %q", name, p, err, row.want)
		}
	}
}

func TestCleaner_Clean_webp(t *testing.T) {
	t.Parallel()
	bits := webp(t)[12:] // the chunk with the picture
	file := func(flags byte, chunks ...string) []byte {
		body := "WEBPVP8X\x0a\x00\x00\x00" + string([]byte{flags}) + "\x00\x00\x00" + "\x00\x00\x00\x00\x00\x00" + strings.Join(chunks, "")
		return append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(body))), body...)
	}
	text := string(binary.LittleEndian.AppendUint32(nil, uint32(len(hidden)))) + hidden
	const profile = "ICCP\x03\x00\x00\x00abc\x00"
	sent := append(file(0x2c, profile, string(bits), "EXIF"+text, "XMP "+text, "odds"+text), hidden...)
	p, err := picture.NewCleaner().Clean(bytes.NewReader(sent), limit)
	if want := file(0x20, profile, string(bits)); err != nil || !bytes.Equal(p.Content, want) {
		t.Errorf("got %+q, %v, want %q", p, err, want)
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
	c := picture.NewCleaner()
	good, jpeg, gif := encoded(t, "png", 10, 10), encoded(t, "jpeg", 10, 10), encoded(t, "gif", 10, 10)
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
		"half a JPEG":        {jpeg[:len(jpeg)/2], picture.ErrFormat},
		"half a GIF":         {gif[:len(gif)/2], picture.ErrFormat},
		"half a WebP":        {webp(t)[:30], picture.ErrFormat},
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

// Whatever comes out can be shown, holds none of the metadata, and is not changed by doing it
// again.
func FuzzCleaner(f *testing.F) {
	c := picture.NewCleaner()
	for _, format := range []string{"png", "jpeg", "gif", "webp"} {
		f.Add(encoded(f, format, 3, 3))
	}
	jpg := encoded(f, "jpeg", 3, 3)
	f.Add(slices.Concat(jpg[:2], segment(0xe1, exif(binary.BigEndian, "MM\x00*", 6)), jpg[2:]))
	f.Fuzz(func(t *testing.T, content []byte) {
		p, err := c.Clean(bytes.NewReader(content), 4<<10)
		if err != nil {
			if !errors.Is(err, picture.ErrFormat) && !errors.Is(err, picture.ErrTooBig) {
				t.Errorf("refused for %v", err)
			}
			return
		}
		if _, _, err := image.Decode(bytes.NewReader(p.Content)); err != nil {
			t.Errorf("what came out is no picture: %v", err)
		}
		again, err := c.Clean(bytes.NewReader(p.Content), 8<<10)
		if err != nil || !bytes.Equal(again.Content, p.Content) {
			t.Errorf("the second time: got %+v, %v, want %q", again, err, p.Content)
		}
	})
}
