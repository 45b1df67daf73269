package namespace

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"tenon/internal/base/errs"
)

// The rules of the paths of groups, in other words than the code.
var (
	groupForm   = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{1,254}$`)
	groupEnding = regexp.MustCompile(`(?i)(\.|\.git|\.atom)$`)
	atTop       = regexp.MustCompile(`(?i)^(-|\.well-known|(404|422|500|502|503|deploy)\.html|admin|api|apple-touch-icon\.png|assets|dashboard|explore|` +
		`favicon\.(ico|png)|groups|health_check|help|import|jwt|login|o|oauth|profile|projects|public|robots\.txt|s|search|sitemap(\.xml(\.gz)?)?|` +
		`slash-command-logo\.png|snippets|unsubscribes|uploads|users|v2)$`)
	inside = regexp.MustCompile(`(?i)^(-|badges|blame|blob|builds|commits|create|create_dir|edit|environments/folders|files|find_file|` +
		`gitlab-lfs/objects|info/lfs/objects|new|preview|raw|refs|tree|update|wikis)$`)
)

// FuzzGroupPath holds the rules of paths against the same rules written as patterns, at the
// top level and inside a group.
func FuzzGroupPath(f *testing.F) {
	for _, path := range []string{
		"", "a", "ab", "team", "Team-1.x", "_x", "-x", ".x", "x.", "x-", "..", "../x", "x/y", "x%2fy", "x\x00", "x.git", "x.GIT", "x.atom", "admin", "API", "-",
		"groups", "o", "sitemap.xml.gz", "v2", "tree", "Blob", "wikis", "new", "environments/folders", "health_check", "mönch", "\u212Aelvin", "a b", "0",
		"x.png", strings.Repeat("a", 255), strings.Repeat("a", 256), "--exec=x", "x\ny", "duo-x", "create_dir", "find_file",
	} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		form := groupForm.MatchString(path) && !groupEnding.MatchString(path)
		for _, c := range []struct {
			name  string
			below bool
			want  bool
		}{
			{"at the top", false, form && !atTop.MatchString(path)},
			{"inside", true, form && !inside.MatchString(path)},
		} {
			var problems errs.Fields
			checkGroupPath(&problems, path, c.below)
			if got := len(problems) == 0; got != c.want {
				t.Errorf("%q %s: got %v %v, want %v", path, c.name, got, problems, c.want)
			}
			if len(problems) == 0 && url.PathEscape(path) != path {
				t.Errorf("%q %s is no part of a path as it stands", path, c.name)
			}
		}
	})
}

// FuzzGroupName holds names to what may be shown in one line, whatever is sent.
func FuzzGroupName(f *testing.F) {
	for _, name := range []string{"", " ", "Team", "The (big) team", "a\nb", "a\x00b", "\u202Ex", "mönch", "🚀 Team", "-x", "<b>", strings.Repeat("ö", 256), "\xff"} {
		f.Add(name)
	}
	form := regexp.MustCompile(`^[\p{L}\p{Nd}\p{So}_\x{1F3FB}-\x{1F3FF}][\p{L}\p{Nd}\p{So}\p{M}\p{Pd}_\x{1F3FB}-\x{1F3FF}\x{200D}. ()]*$`)
	f.Fuzz(func(t *testing.T, name string) {
		var problems errs.Fields
		checkGroupName(&problems, name)
		want := form.MatchString(name) && len([]rune(name)) <= 255
		if got := len(problems) == 0; got != want {
			t.Errorf("%q: got %v %v, want %v", name, got, problems, want)
		}
	})
}
