package account

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The rules of paths, in other words than the code.
var (
	pathForm      = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{1,254}$`)
	pathEnding    = regexp.MustCompile(`(?i)(\.|\.git|\.atom)$`)
	usernameStart = regexp.MustCompile(`(?i)^(duo|ai)[-_]`)
)

// hostilePaths are what people tried elsewhere, and the borders of the rules.
func hostilePaths() []string {
	return []string{
		"", "a", "ab", "mona", "Mona.Lisa", "mona-lisa_2", "_x", "-x", ".x", "x.", "x-", "x_", "x..y", "..", ".", "../x", "x/../y", "/x", "x/",
		"x%2f..", "%2e%2e", "x\x00y", "x\ny", " x", "x ", "a b", "x.git", "X.GIT", "x.atom", "x.Atom", "x.git.", "x.gitx", "x.wiki", "x.png", "x.JSON",
		"admin", "Admin", "API", "-", "--", ".well-known", "groups", "Users", "o", "s", "v2", "V2", "health_check", "sitemap.xml.gz", "login",
		"duo-x", "AI_x", "ai", "duo", "tree", "Blob", "new", "wikis", "environments/folders", "info/lfs/objects", "mönch", "ΑΒ", "\u0130x", "\u212Aelvin",
		"\u202Eanom", "x\u200Dy", "xn--mnch-5qa", "0", "00", "123", "a@b", "a:b", "a;b", "a?b", "a#b", "~a", "$(x)", "`x`", "a\\b", "--upload-pack=x",
		strings.Repeat("a", 255), strings.Repeat("a", 256), strings.Repeat("ab.", 90), "refs", "HEAD", "con", "nul",
	}
}

// FuzzUsername holds the rules of usernames against the same rules written as patterns.
func FuzzUsername(f *testing.F) {
	for _, name := range hostilePaths() {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got := len(usernameProblems(name)) == 0
		extension := ""
		if at := strings.LastIndexByte(name, '.'); at >= 0 {
			extension = strings.ToLower(name[at:])
		}
		want := pathForm.MatchString(name) && !pathEnding.MatchString(name) && !usernameStart.MatchString(name) &&
			!slices.ContainsFunc(topLevelNames, func(r string) bool { return strings.EqualFold(r, name) }) && !slices.Contains(fileExtensions, extension)
		if got != want {
			t.Errorf("%q: got %v %q, want %v", name, got, usernameProblems(name), want)
		}
		if !got {
			return
		}
		if url.PathEscape(name) != name || strings.ContainsAny(name, "/\\%") || name == "." || name == ".." {
			t.Errorf("%q is no part of a path as it stands", name)
		}
		for _, other := range []string{strings.ToUpper(name), strings.ToLower(name)} {
			if problems := usernameProblems(other); len(problems) != 0 {
				t.Errorf("%q may be had and %q may not: %q", name, other, problems)
			}
		}
	})
}
