// Package charset finds the encoding of texts that do not say it and reads them as UTF-8.
package charset

import (
	"bytes"
	"cmp"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/wlynxg/chardet"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/ianaindex"
)

// Charset is the name of an encoding, such as windows-1251. "" is UTF-8.
type Charset string

// latin1 is what a text is read as where nothing else is found. Bytes that are control
// characters in ISO 8859-1 are read as in windows-1252, as browsers do it.
const latin1 Charset = "iso-8859-1"

const (
	sampled   = 64 << 10 // bytes that the detector looks at
	confident = 0.5      // confidence from which the detector is believed
	binary    = 8000     // first bytes in which NUL makes a file binary, as for git
	mostly    = 10       // times as many good characters as bad bytes that a damaged UTF-8 text has
)

// Binary reports whether a file is no text: it has NUL in the first 8,000 bytes, or begins as a picture,
// an archive or another known format does and is no UTF-8.
func Binary(content []byte) bool {
	return bytes.IndexByte(content[:min(len(content), binary)], 0) >= 0 ||
		!utf8.Valid(content) && !strings.HasPrefix(http.DetectContentType(content), "text/")
}

// MediaType returns the media type of a file that begins with head: plain text with its encoding, or "" for
// one that is binary. head may end within a character.
func MediaType(head []byte) string {
	head = whole(head)
	if Binary(head) {
		return ""
	}
	found := Of(head, "")
	if e := found.encoding(); e != nil {
		if name, err := htmlindex.Name(e); err == nil { // as browsers call it
			found = Charset(name)
		}
	}
	return "text/plain; charset=" + string(cmp.Or(found, "utf-8"))
}

// whole cuts off a character that the end of a sample tore apart.
func whole(b []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-n:]) {
				return b[:len(b)-n]
			}
			break
		}
	}
	return b
}

// Text reads a text as UTF-8. named is the encoding that the text names for itself, "" for none.
func Text(text []byte, named string) string { return Of(text, named).Text(text) }

// Of finds the encoding of a text: UTF-8 where it is valid, else the one that is named, else what the
// detector says of it, else Latin-1. A text that is UTF-8 but for a few bytes is UTF-8.
func Of(text []byte, named string) Charset {
	name := Name(named)
	if utf8.Valid(text) {
		if strings.HasPrefix(string(name), "iso-2022-") && bytes.IndexByte(text, 0x1b) >= 0 && name.known() {
			return name // its characters are escape sequences of ASCII
		}
		return ""
	}
	if name.known() && !name.unicode() && name.reads(text) {
		return name
	}
	sample := sampleOf(text)
	if damaged(sample) {
		return ""
	}
	found := chardet.Detect(sample)
	if name = Name(found.Encoding); name == macCyrillic && !macCapitals(sample) {
		name = "windows-1251"
	}
	if found.Confidence >= confident && name.known() && !name.unicode() {
		return name
	}
	return latin1
}

// macCyrillic has the small letters of windows-1251, and its capitals elsewhere.
const macCyrillic Charset = "maccyrillic"

// macCapitals reports whether a text in Cyrillic has its capitals where macCyrillic has them, rather than windows-1251. The detector
// tells these two apart by small letters alone.
func macCapitals(text []byte) bool {
	mac, windows := 0, 0
	for _, b := range text {
		switch {
		case b >= 0x80 && b <= 0x9f:
			mac++
		case b >= 0xc0 && b <= 0xdf:
			windows++
		}
	}
	return mac > windows
}

// unnamed are encodings that texts without a name have.
var unnamed = []Charset{"windows-1252", "windows-1250", "windows-1251", "koi8-r", "iso-8859-7", "shift_jis", "euc-jp", "euc-kr", "gb18030", "big5"}

// Forms returns the bytes of a text in the encodings that texts without a name have, for programs that compare bytes. It leaves out bytes that
// a text in UTF-8 may contain, so that they find nothing else there.
func Forms(text string) []string {
	var out []string
	if firstHigh([]byte(text)) == len(text) {
		return out
	}
	for _, c := range unnamed {
		if form, ok := c.Bytes(text); ok && !withinUnicode([]byte(form)) && !slices.Contains(out, form) {
			out = append(out, form)
		}
	}
	return out
}

// withinUnicode reports whether bytes may stand in a valid text in UTF-8.
func withinUnicode(b []byte) bool {
	for n := 0; n < utf8.UTFMax-1 && len(b) > 0 && !utf8.RuneStart(b[0]); n++ {
		b = b[1:] // the end of a character
	}
	return utf8.Valid(whole(b))
}

// Name returns the encoding of a name as commits have it.
func Name(name string) Charset { return Charset(strings.ToLower(strings.TrimSpace(name))) }

// Text reads a part of a text in this encoding. Bytes that the encoding lacks are replaced.
func (c Charset) Text(part []byte) string {
	if e := c.encoding(); e != nil {
		if out, err := e.NewDecoder().Bytes(part); err == nil {
			part = out
		}
	}
	return strings.ToValidUTF8(string(part), "\uFFFD")
}

// Bytes writes a text in this encoding. Not ok is a text with characters that the encoding
// does not have.
func (c Charset) Bytes(text string) (written string, ok bool) {
	e := c.encoding()
	if e == nil {
		return text, c == ""
	}
	written, err := e.NewEncoder().String(text)
	return written, err == nil
}

// known reports whether there is a decoder for the encoding.
func (c Charset) known() bool { return c.encoding() != nil }

// unicode reports whether the encoding is one of Unicode, whose texts are either valid UTF-8 or binary.
func (c Charset) unicode() bool { return strings.HasPrefix(string(c), "utf") }

// reads reports whether the text has no bytes that the encoding lacks.
func (c Charset) reads(text []byte) bool {
	out, err := c.encoding().NewDecoder().Bytes(text)
	return err == nil && !bytes.ContainsRune(out, utf8.RuneError)
}

// encoding returns the decoder and encoder, nil for UTF-8 and names that are not known.
func (c Charset) encoding() encoding.Encoding {
	name := string(c)
	switch name {
	case "", "utf-8", "utf8":
		return nil
	case "gb2312", "gbk":
		name = "gb18030" // which has all characters of both
	case "cp932":
		name = "shift_jis"
	case "cp949":
		name = "euc-kr"
	case "maccyrillic":
		name = "x-mac-cyrillic"
	case "macroman":
		name = "macintosh"
	}
	if e, err := htmlindex.Get(name); err == nil {
		return e
	}
	e, err := ianaindex.IANA.Encoding(name)
	if err != nil {
		return nil
	}
	return e // nil for names without an encoding here
}

// sampleOf returns the lines of a text that are not ASCII, from the first 64 KiB that have any.
func sampleOf(text []byte) []byte {
	text = text[lineOfFirst(text):]
	text = text[:min(len(text), sampled)]
	out := make([]byte, 0, len(text))
	for line := range bytes.Lines(text) {
		if firstHigh(line) < len(line) {
			out = append(out, line...)
		}
	}
	return out
}

// lineOfFirst returns where the sample begins: at 0 where the first 64 KiB are not ASCII, else at the first byte that is not.
func lineOfFirst(text []byte) int {
	if at := firstHigh(text); at >= sampled {
		return max(bytes.LastIndexByte(text[:at], '\n')+1, at-sampled/2)
	}
	return 0
}

// firstHigh returns the place of the first byte that is not ASCII, the length of the text where there is none.
func firstHigh(text []byte) int {
	for i, b := range text {
		if b >= utf8.RuneSelf {
			return i
		}
	}
	return len(text)
}

// damaged reports whether a text is UTF-8 but for a few bytes, such as one that was cut in a character.
func damaged(text []byte) bool {
	good, bad := 0, 0
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && n == 1:
			bad++
		case n > 1:
			good++
		}
		text = text[n:]
	}
	return good > mostly*bad
}
