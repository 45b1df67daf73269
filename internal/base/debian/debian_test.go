package debian

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

const control1 = "Package: hello\nVersion: 1.0-1\nArchitecture: amd64\nMaintainer: A B <a@b.example>\nDescription: says hello\n to everyone\n .\n the end\n"

func ar(members ...any) []byte {
	var b bytes.Buffer
	b.WriteString("!<arch>\n")
	for i := 0; i+1 < len(members); i += 2 {
		content := members[i+1].([]byte)
		fmt.Fprintf(&b, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", members[i], 0, 0, 0, "100644", len(content))
		b.Write(content)
		if len(content)%2 == 1 {
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}

func tarOf(files ...string) []byte {
	var b bytes.Buffer
	t := tar.NewWriter(&b)
	for i := 0; i+1 < len(files); i += 2 {
		_ = t.WriteHeader(&tar.Header{Name: files[i], Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(files[i+1]))})
		_, _ = io.WriteString(t, files[i+1])
	}
	_ = t.Close()
	return b.Bytes()
}

func gz(content []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(content)
	_ = z.Close()
	return b.Bytes()
}

func zst(content []byte) []byte {
	z, _ := zstd.NewWriter(nil)
	defer z.Close()
	return z.EncodeAll(content, nil)
}

func deb(controlName string, content []byte) []byte {
	return ar("debian-binary", []byte("2.0\n"), controlName, content, "data.tar", []byte("x"))
}

func TestControl(t *testing.T) {
	t.Parallel()
	plain := tarOf("./md5sums", "x", "./control", control1)
	for name, file := range map[string][]byte{
		"plain":    deb("control.tar", plain),
		"gzip":     deb("control.tar.gz", gz(plain)),
		"zstd":     deb("control.tar.zst", zst(plain)),
		"signed":   ar("debian-binary/", []byte("2.0\nx"), "_gpgorigin", []byte("123"), "control.tar.gz/", gz(plain)),
		"no slash": deb("control.tar", tarOf("control", control1)),
	} {
		p, err := Control(bytes.NewReader(file))
		if err != nil || p.Get("package") != "hello" || p.Get("Description") != "says hello\nto everyone\n.\nthe end" || p.Has("Source") {
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
}

// What is no package ends with an error, in bounded memory.
func TestControl_refused(t *testing.T) {
	t.Parallel()
	plain := tarOf("./control", control1)
	bomb := append(tarOf("./big", "")[:512:512], make([]byte, 2*maxUnpacked)...)
	many := make([]string, 0, 4000)
	for i := range 2000 {
		many = append(many, fmt.Sprint("./", i), "")
	}
	fields := ""
	for i := range MaxFields + 1 {
		fields += fmt.Sprintf("F%d: x\n", i)
	}
	files := map[string][]byte{
		"empty":              nil,
		"text":               []byte("hello"),
		"no version":         ar("control.tar", plain),
		"version 3":          ar("debian-binary", []byte("3.0\n"), "control.tar", plain),
		"no control":         ar("debian-binary", []byte("2.0\n")),
		"data first":         ar("debian-binary", []byte("2.0\n"), "data.tar", plain, "control.tar", plain),
		"unknown":            deb("control.tar.lz", plain),
		"bzip2":              deb("control.tar.bz2", plain),
		"no gzip":            deb("control.tar.gz", plain),
		"no xz":              deb("control.tar.xz", plain),
		"no zstd":            deb("control.tar.zst", plain),
		"large member":       deb("control.tar", append(tarOf("./x", strings.Repeat("x", maxPacked)), plain...)),
		"gzip bomb":          deb("control.tar.gz", gz(bomb)),
		"zstd bomb":          deb("control.tar.zst", zst(bomb)),
		"many entries":       deb("control.tar.gz", gz(tarOf(append(many, "./control", control1)...))),
		"many fields":        deb("control.tar", tarOf("./control", fields)),
		"large control file": deb("control.tar.gz", gz(tarOf("./control", control1+strings.Repeat(" x\n", MaxText/3)))),
		"elsewhere":          deb("control.tar", tarOf("../control", control1)),
		"two paragraphs":     deb("control.tar", tarOf("./control", control1+"\nPackage: evil\n")),
		"negative size":      bytes.Replace(deb("control.tar", plain), []byte(fmt.Sprintf("%-10d", len(plain))), []byte("-1        "), 1),
		"size beyond":        bytes.Replace(deb("control.tar", plain), []byte(fmt.Sprintf("%-10d", 1)), []byte("9999999999"), 1)[:70],
	}
	for range 100 {
		files["many members"] = append(files["many members"], ar("debian-binary", []byte("2.0\n"), "_x", []byte{})[8:]...)
	}
	files["many members"] = append([]byte("!<arch>\n"), files["many members"]...)
	for name, file := range files {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		p, err := Control(bytes.NewReader(file))
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s: %v", name, p)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 2*maxWindow {
			t.Errorf("%s: %d bytes", name, used)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	p, err := Parse([]byte("\n# note\nSource: x\nFiles:\n a\n# note\n b \nEmpty:\nLast:  y \n\n\n"))
	if err != nil || len(p) != 4 || p.Get("Files") != "\na\nb" || p.Get("source") != "x" || p.Get("Empty") != "" || !p.Has("empty") || p.Get("Last") != "y" {
		t.Errorf("%q, %v", p, err)
	}
	for _, text := range []string{
		"", "\n", " x\n", "x\n", ": x\n", "-a: x\n", "a b: x\n", "a: x\na: y\n", "A: x\na: y\n", "a: x\n\nb: y\n", "a: x\r\n", "a: x\x00\n", "a: x\u2028y\n", "a: x\n\v\n",
		strings.Repeat("x", 101) + ": x\n", "a: " + strings.Repeat("x", MaxText),
	} {
		if p, err := Parse([]byte(text)); err == nil {
			t.Errorf("%.40q: %q", text, p)
		}
	}
}

func TestSigned(t *testing.T) {
	t.Parallel()
	const signed = "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\nSource: x\n- -dash: y\n\n-----BEGIN PGP SIGNATURE-----\n\nwsBzBAEBCgAnBYJl\n=abcd\n-----END PGP SIGNATURE-----\n"
	if text, err := Signed([]byte(signed)); err != nil || string(text) != "Source: x\n-dash: y\n" {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := Signed([]byte("Source: x\n")); err != nil || string(text) != "Source: x\n" {
		t.Errorf("%q, %v", text, err)
	}
	for _, text := range []string{signed[:100], strings.Repeat("x", MaxText+1)} {
		if text, err := Signed([]byte(text)); err == nil {
			t.Errorf("%q", text)
		}
	}
}

func TestParagraph_Files(t *testing.T) {
	t.Parallel()
	const files, sha1, sha256 = "Files:\n m 3 misc optional a\nX: y\n", "Checksums-Sha1:\n s 3 a\n", "Checksums-Sha256:\n S2 3 a\n"
	for text, want := range map[string]string{
		files + sha1 + sha256:                        "",
		"Files:\n m 3 a\n" + sha1 + sha256:           "",
		sha1 + sha256:                                "Files field is missing",
		"Files:\n" + sha1 + sha256:                   "Files field is missing",
		files + sha256:                               "Checksums-Sha1 field is missing",
		files + sha1:                                 "Checksums-Sha256 field is missing",
		files + "Checksums-Sha1:\n s 3 b\n" + sha256: "b is listed in Checksums-Sha1 but not in Files",
		files + "Checksums-Sha1:\n s 4 a\n" + sha256: "Size for a in Files and Checksums-Sha1 differ",
		"Files:\n m 3 a\n m 3 b\n" + sha1 + sha256:   "b is listed in Files but not in Checksums-Sha1",
		"Files:\n m 3 a\n m 3 a\n" + sha1 + sha256:   "a is listed twice in Files",
		"Files:\n m 3 a b\n" + sha1 + sha256:         "line of Files that is none",
		"Files:\n m x a\n" + sha1 + sha256:           "line of Files that is none",
		"Files:\n m -1 a\n" + sha1 + sha256:          "line of Files that is none",
		"Files:\n m 3 a\n":                           "Checksums-Sha1 field is missing",
	} {
		p, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Files()
		if want == "" && (err != nil || len(got) != 1 || got[0].SHA256 != "s2" || got[0].Size != 3) || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

// Whatever a value is, it is the value of one field of one paragraph.
func FuzzAppend(f *testing.F) {
	for _, s := range []string{"", "x", "\nx", "x\n\ny: z", "x\r\rPackage: evil", "x\n\r\n\ny", "x\n y\n\t\nz", "x\u2028y", "\x00\n\v\n\f", "x\n\n\nPackage: y", "x\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if len(value) > MaxText/4 {
			return
		}
		text := Append(Append(nil, "A", value), "B", "end")
		p, err := Parse(text)
		if err != nil || len(p) != 2 || p.Get("B") != "end" {
			t.Fatalf("%q: %q, %v", value, text, err)
		}
		for line := range strings.SplitSeq(strings.TrimSuffix(string(text), "\n"), "\n") {
			if strings.TrimSpace(line) == "" || line[0] != ' ' && !strings.HasPrefix(line, "A:") && !strings.HasPrefix(line, "B:") {
				t.Fatalf("%q: line %q", value, line)
			}
		}
		if again, err := Parse(Append(Append(nil, "A", p.Get("A")), "B", "end")); err != nil || again.Get("A") != p.Get("A") {
			t.Fatalf("%q: %q, then %q, %v", value, p.Get("A"), again.Get("A"), err)
		}
	})
}

// Whatever a text is, reading it ends, and what was read is written and read as the same.
func FuzzParse(f *testing.F) {
	for _, s := range []string{control1, "Files:\n a 1 b\n", "a:\n\n", "-----BEGIN PGP SIGNED MESSAGE-----\n", "a: b\r\n", " a\n", "#\na:x\n\t\n .\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		text, err := Signed(text)
		if err != nil {
			return
		}
		p, err := Parse(text)
		if err != nil {
			return
		}
		_, _ = p.Files()
		var out []byte
		for _, field := range p {
			out = Append(out, field.Name, field.Value)
		}
		again, err := Parse(out)
		if err != nil || len(again) != len(p) {
			t.Fatalf("%q: %q, %v", text, out, err)
		}
	})
}

// Whatever a file is, reading its control file ends.
func FuzzControl(f *testing.F) {
	plain := tarOf("./control", control1)
	for _, file := range [][]byte{deb("control.tar", plain), deb("control.tar.gz", gz(plain)), deb("control.tar.zst", zst(plain)), deb("control.tar.xz", []byte("\xfd7zXZ\x00\x00\x04")), nil} {
		f.Add(file)
	}
	f.Fuzz(func(_ *testing.T, file []byte) { _, _ = Control(bytes.NewReader(file)) })
}
