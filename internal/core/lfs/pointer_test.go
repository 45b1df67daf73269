package lfs_test

import (
	"bytes"
	"strings"
	"testing"

	"tenon/internal/core/lfs"
)

func TestParsePointer(t *testing.T) {
	t.Parallel()
	o := pointer("content")
	for name, row := range map[string]struct {
		text string
		want bool
	}{
		"as written":     {o.Text(), true},
		"no newline":     {strings.TrimSuffix(o.Text(), "\n"), true},
		"an extension":   {strings.Replace(o.Text(), "oid", "ext-0-foo sha256:"+o.OID+"\noid", 1), true},
		"old address":    {strings.Replace(o.Text(), "git-lfs.github", "hawser.github", 1), true},
		"another one":    {strings.Replace(o.Text(), "git-lfs.github", "example", 1), false},
		"no size":        {strings.SplitAfter(o.Text(), "size")[0], false},
		"negative":       {strings.Replace(o.Text(), "size ", "size -", 1), false},
		"too large":      {strings.Replace(o.Text(), "size ", "size 99999999999999999999", 1), false},
		"short oid":      {strings.Replace(o.Text(), o.OID, o.OID[1:], 1), false},
		"upper-case oid": {strings.Replace(o.Text(), o.OID, strings.ToUpper(o.OID), 1), false},
		"other hash":     {strings.Replace(o.Text(), "sha256:", "md5:", 1), false},
		"empty":          {"", false},
		"long":           {o.Text() + strings.Repeat("x y\n", 300), false},
		"other text":     {"version 2", false},
	} {
		got, ok := lfs.ParsePointer([]byte(row.text))
		if ok != row.want || ok && got != o {
			t.Errorf("%s: %+v, %v", name, got, ok)
		}
	}
}

func FuzzParsePointer(f *testing.F) {
	f.Add([]byte(pointer("content").Text()))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, ok := lfs.ParsePointer(text)
		if !ok {
			return
		}
		again, ok := lfs.ParsePointer([]byte(p.Text()))
		if !p.Valid() || !ok || again != p || bytes.Contains([]byte(p.OID), []byte("/")) {
			t.Errorf("%q gives %+v", text, p)
		}
	})
}
