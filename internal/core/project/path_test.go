package project

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"tenon/internal/base/errs"
)

// FuzzPath holds the rules of a project's path against the same rules written as patterns,
// and makes sure that what is derived from any name follows them.
func FuzzPath(f *testing.F) {
	for _, path := range []string{
		"", "a", "app", "App-1.x", "_x", "-x", ".x", "x.", "x-", "x_", "x--y", "x..y", "x.-y", "x__y", "..", "../x", "x/y", "x%2fy", "x\x00", "x.git", "x.GIT",
		"x.atom", "x.wiki", "tree", "Blob", "wikis", "new", "info/lfs/objects", "environments/folders", "admin", "mönch", "\u212Aelvin", "a b", "0", "HEAD",
		strings.Repeat("a", 255), strings.Repeat("a", 256), "--exec=x", "x\ny", "My Great App!", "ÄÖÜ & Co", "🚀", "...", "a.git.git",
	} {
		f.Add(path)
	}
	form := regexp.MustCompile(`^[A-Za-z0-9]+([._-][A-Za-z0-9]+)*$`)
	ending := regexp.MustCompile(`(?i)\.(git|atom)$`)
	reserved := regexp.MustCompile(`(?i)^(-|badges|blame|blob|builds|commits|create|create_dir|edit|environments/folders|files|find_file|` +
		`gitlab-lfs/objects|info/lfs/objects|new|preview|raw|refs|tree|update|wikis)$`)
	f.Fuzz(func(t *testing.T, path string) {
		var problems errs.Fields
		checkPath(&problems, path)
		want := form.MatchString(path) && !ending.MatchString(path) && !reserved.MatchString(path) && len(path) <= 255
		if got := len(problems) == 0; got != want {
			t.Errorf("%q: got %v %v, want %v", path, got, problems, want)
		}
		if made := slug(path); made != "" && (!form.MatchString(made) || ending.MatchString(made) || len(made) > 255) {
			t.Errorf("%q makes the path %q, which is none", path, made)
		}
		if want && url.PathEscape(path) != path {
			t.Errorf("%q is no part of a path as it stands", path)
		}
	})
}
