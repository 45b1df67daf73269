package gitstore_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"tenon/internal/base/gitstore"
)

func TestParseCommit(t *testing.T) {
	t.Parallel()
	var id gitstore.ObjectID
	tree := "tree " + strings.Repeat("1", 40) + "\n"
	tests := []struct {
		name, content string
		check         func(*gitstore.Commit) bool
	}{
		{"plain", tree + "author A <a@b> 1700000000 -0130\ncommitter C <c> 5 +0000\n\nhi\n", func(c *gitstore.Commit) bool {
			_, off := c.Author.When.Zone()
			return c.Author.Name == "A" && c.Author.Email == "a@b" && off == -5400 && c.Message == "hi\n" && c.Committer.When.Unix() == 5
		}},
		{"latin 1", tree + "author J\xfcrgen <a> 1 +0000\ncommitter C <c> 1 +0000\nencoding ISO-8859-1\n\ncaf\xe9", func(c *gitstore.Commit) bool {
			return c.Message == "café" && c.Author.Name == "Jürgen" && string(c.Raw) == "caf\xe9" && c.Encoding == "ISO-8859-1"
		}},
		{"bytes", tree + "author \xff <a> 1 +0000\ncommitter C <c> 1 +0000\n\n\xfe", func(c *gitstore.Commit) bool {
			return utf8.ValidString(c.Message) && utf8.ValidString(c.Author.Name) && string(c.Raw) == "\xfe"
		}},
		{"signed", tree + "author A <a> 1 +0000\ncommitter C <c> 1 +0000\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n abc\n -----END PGP SIGNATURE-----\n\nm", func(c *gitstore.Commit) bool {
			return c.Signed == "-----BEGIN PGP SIGNATURE-----\n\nabc\n-----END PGP SIGNATURE-----" && c.Message == "m"
		}},
		{"broken signatures", tree + "author no mail\ncommitter A <a@<b>> x y\n\n", func(c *gitstore.Commit) bool {
			return c.Author.Name == "no mail" && c.Committer.Email == "a@<b>" && c.Committer.When.Unix() == 0 && c.Message == ""
		}},
		{"far future", tree + "author A <a> 99999999999999999999 +9999\ncommitter A <a> 1 -0060\n\n", func(c *gitstore.Commit) bool {
			return c.Author.When.Unix() == 0
		}},
		{"no message", tree + "author A <a> 1 +0000\n", func(c *gitstore.Commit) bool { return c.Message == "" && c.Title() == "" }},
		{"title", tree + "\n\n\nTitle \r\nrest", func(c *gitstore.Commit) bool { return c.Title() == "Title " }},
		{"title behind lines of blanks", tree + "\n   \n\t\nTitle\nrest", func(c *gitstore.Commit) bool { return c.Title() == "Title" && c.QuoteTitle() == "Title" }},
	}
	for _, tt := range tests {
		c, err := gitstore.ParseCommit(id, []byte(tt.content))
		if err != nil || !tt.check(c) {
			t.Errorf("%s: %+v, %v", tt.name, c, err)
		}
	}
	for _, bad := range []string{"", "author A <a> 1 +0000\n\n", "tree 123\n\n", tree + tree + "\n", tree + "parent x\n\n", " x\n", "tree"} {
		if c, err := gitstore.ParseCommit(id, []byte(bad)); err == nil {
			t.Errorf("%q: got %+v", bad, c)
		}
	}
}

func FuzzParseCommit(f *testing.F) {
	f.Add([]byte("tree " + strings.Repeat("1", 40) + "\nauthor A <a@b> 1700000000 -0130\ngpgsig x\n y\n\nmessage"))
	f.Add([]byte("encoding latin1\ntree " + strings.Repeat("1", 40) + "\n\n\xff"))
	f.Fuzz(func(t *testing.T, content []byte) {
		c, err := gitstore.ParseCommit(gitstore.ObjectID{}, content)
		if err != nil {
			return
		}
		if !utf8.ValidString(c.Message) || !utf8.ValidString(c.Author.Name) || !utf8.ValidString(c.Committer.Email) {
			t.Errorf("text is not UTF-8: %+v", c)
		}
		if y := c.Author.When.Year(); !c.Author.When.IsZero() && (y < 1969 || y > 40000) {
			t.Errorf("year %d", y)
		}
	})
}

func FuzzParseTag(f *testing.F) {
	f.Add([]byte("object " + strings.Repeat("1", 40) + "\ntype commit\ntag v1\ntagger A <a> 1 +0000\n\nm\n-----BEGIN PGP SIGNATURE-----\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		tag, err := gitstore.ParseTag(gitstore.ObjectID{}, content)
		if err == nil && (tag.Target.IsZero() || !utf8.ValidString(tag.Message+tag.Name)) {
			t.Errorf("got %+v", tag)
		}
	})
}

func FuzzParseTree(f *testing.F) {
	f.Add([]byte("100644 a\x00" + strings.Repeat("\x01", 20) + "40000 dir\x00" + strings.Repeat("\x02", 20)))
	f.Add([]byte("7 \x00"))
	f.Fuzz(func(t *testing.T, content []byte) {
		tree, err := gitstore.ParseTree(gitstore.ObjectID{}, content)
		if err != nil {
			return
		}
		n := 0
		for _, e := range tree.Entries {
			if e.Name == "" || strings.IndexByte(e.Name, 0) >= 0 {
				t.Errorf("name %q", e.Name)
			}
			n += len(e.Name) + 22
		}
		if n > len(content) || n == 0 && len(content) > 0 {
			t.Errorf("%d bytes of entries from %d bytes", n, len(content))
		}
	})
}
