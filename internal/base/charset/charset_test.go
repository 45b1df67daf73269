package charset_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"

	"tenon/internal/base/charset"
	"tenon/internal/base/charset/charsettest"
)

// A paragraph in each of the encodings is read as it was written, by itself and as a comment in a long program.
func TestText(t *testing.T) {
	t.Parallel()
	for _, p := range charsettest.Paragraphs() {
		if got := charset.Text(p.Bytes, ""); got != p.Text {
			t.Errorf("%s: read as %q, want %q", p.Name, got, p.Text)
		}
		code := append([]byte(strings.Repeat("func f() int { return 1 }\n", 4000)), p.Bytes...)
		if got := charset.Text(code, ""); !strings.HasSuffix(got, "}\n"+p.Text) {
			t.Errorf("%s behind 100 kB of code: read as %q, want %q", p.Name, got[max(0, len(got)-len(p.Text)):], p.Text)
		}
		if got, ok := charset.Of(p.Bytes, "").Bytes(p.Text); !ok || got != string(p.Bytes) {
			t.Errorf("%s: written again as %q, %t", p.Name, got, ok)
		}
	}
}

// The order of what is believed: UTF-8, the name, the detector, Latin-1.
func TestOf(t *testing.T) {
	t.Parallel()
	encode := func(e encoding.Encoding, s string) string {
		out, err := e.NewEncoder().String(s)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	const cyrillic = "Однажды весною, в час небывало жаркого заката, в Москве, на Патриарших прудах, появились два гражданина. " +
		"Первый из них был маленького роста, упитан, лыс."
	for _, tt := range []struct {
		name, text, named, want string
	}{
		{"UTF-8 under another name", "Größe", "ISO-8859-1", "Größe"},
		{"short and named", encode(charmap.Windows1251, "Да"), "windows-1251", "Да"},
		{"named as git users do", encode(charmap.ISO8859_2, "Łódź"), "ISO8859-2", "Łódź"},
		{"escape sequences", encode(japanese.ISO2022JP, "日本語"), "ISO-2022-JP", "日本語"},
		{"a name that the bytes contradict", encode(korean.EUCKR, "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다."), "utf-8", "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다."},
		{"an unknown name", encode(traditionalchinese.Big5, "人人生而自由,在尊嚴和權利上一律平等。"), "no-such", "人人生而自由,在尊嚴和權利上一律平等。"},
		{"too short to detect", encode(simplifiedchinese.GBK, "修复"), "", "ÐÞ¸´"},
		{"one letter", "caf\xe9", "", "café"},
		{"capitals of windows-1251", encode(charmap.Windows1251, cyrillic), "", cyrillic},
		{"capitals of MacCyrillic", encode(charmap.MacintoshCyrillic, cyrillic), "", cyrillic},
		{"UTF-8 that was cut", "Изменить описание прое\xd0", "", "Изменить описание прое\uFFFD"},
		{"empty", "", "latin1", ""},
	} {
		if got := charset.Text([]byte(tt.text), tt.named); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestForms(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{"Grüße": {"Gr\xfc\xdfe"}, "Москва": {"\xcc\xee\xf1\xea\xe2\xe0"}, "日本": {"\x93\xfa\x96\x7b"}, "plain": nil} {
		got := charset.Forms(text)
		for _, form := range want {
			if !slices.Contains(got, form) {
				t.Errorf("%s: %q lacks %q", text, got, form)
			}
		}
		for _, form := range got {
			if utf8.ValidString(form) {
				t.Errorf("%s: %q may stand in a text of UTF-8", text, form)
			}
		}
		if want == nil && got != nil {
			t.Errorf("%s: got %q, want none", text, got)
		}
	}
	if got := charset.Forms("é"); slices.Contains(got, "\xe9") { // begins many Chinese characters in UTF-8
		t.Errorf("é: got %q", got)
	}
}

func TestBinary(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		content string
		want    bool
	}{{charsettest.Picture, true}, {"text", false}, {"caf\xe9", false}, {strings.Repeat("a", 8000) + "\x00", false}, {strings.Repeat("a", 7999) + "\x00", true}, {"", false}} {
		if got := charset.Binary([]byte(tt.content)); got != tt.want {
			t.Errorf("%.20q: binary %t, want %t", tt.content, got, tt.want)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add([]byte("caf\xe9"), "")
	f.Add([]byte("\xff\xfea"), "utf-16le")
	f.Add([]byte("\x1b$B\x80"), "iso-2022-jp")
	f.Fuzz(func(t *testing.T, text []byte, named string) {
		if got := charset.Text(text, named); !utf8.ValidString(got) {
			t.Errorf("%q named %q is read as %q", text, named, got)
		}
	})
}
