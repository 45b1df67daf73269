package protection_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"tenon/internal/core/protection"
)

// The attack: a pattern of many stars and a name that nearly matches it keep a backtracking matcher at
// work for years (CVE-2024-2800, Gitea CVE-2026-58421). This one reads both once.
func TestMatchWildcard_linear(t *testing.T) {
	t.Parallel()
	const n = 100_000
	for name, tt := range map[string]struct{ pattern, name string }{
		"stars":           {strings.Repeat("*", n) + "b", strings.Repeat("a", n)},
		"a letter each":   {strings.Repeat("*a", n/2) + "b", strings.Repeat("a", n)},
		"nearly":          {strings.Repeat("*aab", n/4) + "*c", strings.Repeat("aab", n/3)},
		"repeated prefix": {"*" + strings.Repeat("a", n/2) + "b*", strings.Repeat("a", n)},
	} {
		if protection.MatchWildcard(tt.pattern, tt.name) {
			t.Errorf("%s: it matches", name)
		}
	}
}

// FuzzMatchWildcard compares the matcher with a regular expression.
func FuzzMatchWildcard(f *testing.F) {
	for _, s := range [][2]string{{"*", ""}, {"main", "main"}, {"release/*", "release/1.0/x"}, {"*-stable*", "a-stable-stable"}, {"a*a", "a"}, {"**x*", "yxy"}, {"", ""}, {"a*b*c", "abcbc"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if !utf8.ValidString(pattern) || !utf8.ValidString(name) || len(pattern) > 1000 {
			return
		}
		want := regexp.MustCompile("(?s)^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + "$").MatchString(name)
		if got := protection.MatchWildcard(pattern, name); got != want {
			t.Errorf("%q and %q: got %t, want %t", pattern, name, got, want)
		}
	})
}
