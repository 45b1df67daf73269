package gitstore_test

import (
	"strings"
	"testing"

	"tenon/internal/base/gitstore"
	"tenon/internal/base/gittest"
)

// Trailers are those that git finds.
func TestTrailers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, message := range []string{
		"title\n", "title\n\nbody\n", "Key: title\n", "title\n\nChangelog: added\n",
		"title\n\nbody: text\nmore text\n", "title\n\nbody\n\nA: 1\nB-c: 2\nA: 3\n",
		"title\n\nA: 1\nnot one\n", "title\n\nSigned-off-by: A <a@x>\nnot one\n",
		"title\n\nSigned-off-by: A <a@x>\none\ntwo\nthree\nfour\nfive\n",
		"title\n\nA: long\n value\n\tgoes on\nB: x\n", "title\n\nA : spaced\n", "title\n\nA b: no\n",
		"title\n\nA: 1\n\n(cherry picked from commit 0123456789012345678901234567890123456789)\n",
		"title\n\nA: 1\n(cherry picked from commit 0123456789012345678901234567890123456789)\n",
		"title\n\nA: 1\n\n\n  \n", "title\nsecond\nA: 1\n", "title\n\nA:\nB:\n", "title\n\n: x\n", "",
	} {
		var got strings.Builder
		for _, trailer := range gitstore.Trailers(message) {
			got.WriteString(strings.TrimRight(trailer.Key+": "+trailer.Value, " ") + "\n")
		}
		want := ""
		for line := range strings.Lines(gittest.RunIn(t, dir, message, "interpret-trailers", "--parse")) {
			if !strings.HasPrefix(line, "(cherry") {
				want += strings.TrimRight(line, " \n") + "\n"
			}
		}
		if got.String() != want {
			t.Errorf("%q\n got %q\nwant %q", message, got.String(), want)
		}
	}
}
