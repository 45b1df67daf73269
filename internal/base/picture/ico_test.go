package picture_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"tenon/internal/base/picture"
)

// dib is a bitmap of an icon with a mask, without a file header.
func dib(side, depth, colors int) []byte {
	line := func(bits int) int { return (side*bits + 31) / 32 * 4 }
	b := make([]byte, 40+4*colors+side*line(depth)+side*line(1))
	binary.LittleEndian.PutUint32(b, 40)
	binary.LittleEndian.PutUint32(b[4:], uint32(side))
	binary.LittleEndian.PutUint32(b[8:], uint32(2*side))
	binary.LittleEndian.PutUint16(b[12:], 1)
	binary.LittleEndian.PutUint16(b[14:], uint16(depth))
	if depth > 8 {
		binary.LittleEndian.PutUint32(b[32:], uint32(colors))
	}
	return b
}

// ico is an icon of images, with some bytes before each.
func ico(between string, images ...[]byte) []byte {
	b := binary.LittleEndian.AppendUint16([]byte{0, 0, 1, 0}, uint16(len(images)))
	at := len(b) + 16*len(images)
	var content []byte
	for _, one := range images {
		content = append(content, between...)
		b = append(b, 16, 16, 0, 0, 1, 0, 32, 0)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(one)))
		b = binary.LittleEndian.AppendUint32(b, uint32(at+len(content)))
		content = append(content, one...)
	}
	return append(b, content...)
}

// An icon keeps its images, without what else is in the file; other pictures are cleaned as they are.
func TestCleaner_CleanIcon(t *testing.T) {
	t.Parallel()
	c := picture.NewCleaner()
	small, large := encoded(t, "png", 16, 16), encoded(t, "png", 256, 256)
	comment := slices.Concat(small[:33], chunk("tEXt", []byte("Author\x00ann")), small[33:])
	noMask := dib(16, 32, 0)[:40+16*16*4]
	for name, row := range map[string]struct{ sent, want []byte }{
		"PNG images":           {ico("", small, large), ico("", small, large)},
		"metadata of a PNG":    {ico("", comment), ico("", small)},
		"bitmaps":              {ico("", dib(16, 32, 0), dib(32, 4, 16), dib(32, 8, 256), dib(48, 1, 2)), ico("", dib(16, 32, 0), dib(32, 4, 16), dib(32, 8, 256), dib(48, 1, 2))},
		"no mask":              {ico("", noMask), ico("", noMask)},
		"bytes around":         {append(ico("<script>", dib(16, 24, 0), small), "<script>"...), ico("", dib(16, 24, 0), small)},
		"bytes behind a image": {ico("", append(dib(16, 32, 0), "secret"...)), ico("", dib(16, 32, 0))},
	} {
		p, err := c.CleanIcon(bytes.NewReader(row.sent), limit)
		if err != nil || p.Format != picture.ICO || !bytes.Equal(p.Content, row.want) {
			t.Errorf("%s: got %v, %v", name, p, err)
		}
	}
	if p, err := c.CleanIcon(bytes.NewReader(small), limit); err != nil || p.Format != picture.PNG || !bytes.Equal(p.Content, small) {
		t.Errorf("a PNG: got %v, %v", p, err)
	}
	if _, err := c.Clean(bytes.NewReader(ico("", small)), limit); !errors.Is(err, picture.ErrFormat) {
		t.Errorf("an icon where there is no favicon: got %v", err)
	}
	p := picture.Picture{Format: picture.ICO}
	if name := p.StoredName("our icon.ICO"); picture.ContentType(firstOf(picture.Split(name))) != "image/vnd.microsoft.icon" {
		t.Errorf("stored as %s", name)
	}
}

func firstOf(a, _ string) string { return a }

func TestCleaner_CleanIcon_refused(t *testing.T) {
	t.Parallel()
	c := picture.NewCleaner()
	small, wide := encoded(t, "png", 16, 16), encoded(t, "png", 257, 1)
	edited := func(b []byte, at int, bytes ...byte) []byte {
		b = slices.Clone(b)
		copy(b[at:], bytes)
		return b
	}
	// Two entries of one image: each would become an image.
	twice := ico("", small, small)
	twice = twice[:len(twice)-len(small)]
	copy(twice[6+16+12:], twice[6+12:6+16])
	for name, row := range map[string]struct {
		content []byte
		want    error
	}{
		"nothing":              {nil, picture.ErrFormat},
		"a header alone":       {[]byte{0, 0, 1, 0, 1, 0}, picture.ErrFormat},
		"no images":            {[]byte{0, 0, 1, 0, 0, 0}, picture.ErrFormat},
		"many images":          {append([]byte{0, 0, 1, 0, 33, 0}, make([]byte, 1000)...), picture.ErrTooBig},
		"a cursor":             {edited(ico("", small), 2, 2), picture.ErrFormat},
		"half an image":        {ico("", small[:len(small)/2]), picture.ErrFormat},
		"an image outside":     {edited(ico("", small), 6+12, 0xff, 0xff, 0xff, 0xff), picture.ErrFormat},
		"an image in the head": {edited(ico("", small), 6+12, 0, 0, 0, 0), picture.ErrFormat},
		"shared bytes":         {twice, picture.ErrFormat},
		"a wide PNG":           {ico("", wide), picture.ErrTooBig},
		"a large bitmap":       {ico("", edited(dib(16, 32, 0), 4, 1, 1)), picture.ErrTooBig},
		"a short bitmap":       {ico("", dib(16, 24, 0)[:400]), picture.ErrFormat},
		"a packed bitmap":      {ico("", edited(dib(16, 32, 0), 16, 3)), picture.ErrFormat},
		"a bitmap upside down": {ico("", edited(dib(16, 32, 0), 8, 0xe0, 0xff, 0xff, 0xff)), picture.ErrFormat},
		"many colors":          {ico("", edited(dib(16, 8, 256), 32, 1, 1)), picture.ErrFormat},
		"a page":               {ico("", []byte("<html><script>alert(1)</script></html>")), picture.ErrFormat},
		"a long file":          {append(ico("", small), make([]byte, limit)...), picture.ErrTooBig},
	} {
		if p, err := c.CleanIcon(bytes.NewReader(row.content), limit); !errors.Is(err, row.want) {
			t.Errorf("%s: %v, %v, want %v", name, p, err, row.want)
		}
	}
}

// Whatever comes out is not larger and is not changed by doing it again.
func FuzzCleaner_icon(f *testing.F) {
	c := picture.NewCleaner()
	f.Add(ico("x", encoded(f, "png", 3, 3), dib(2, 32, 0)))
	f.Add(ico("", dib(4, 4, 16)))
	f.Fuzz(func(t *testing.T, content []byte) {
		p, err := c.CleanIcon(bytes.NewReader(content), 8<<10)
		if err != nil {
			if !errors.Is(err, picture.ErrFormat) && !errors.Is(err, picture.ErrTooBig) {
				t.Errorf("refused for %v", err)
			}
			return
		}
		if p.Format == picture.ICO && len(p.Content) > len(content) {
			t.Errorf("%d bytes became %d", len(content), len(p.Content))
		}
		again, err := c.CleanIcon(bytes.NewReader(p.Content), 16<<10)
		if err != nil || !bytes.Equal(again.Content, p.Content) {
			t.Errorf("the second time: got %+v, %v, want %q", again, err, p.Content)
		}
	})
}
