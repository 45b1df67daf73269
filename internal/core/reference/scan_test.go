package reference_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"tenon/internal/core/reference"
	"tenon/internal/core/weburl"
)

func reader(base string) reference.Reader {
	u, err := url.Parse(base)
	if err != nil {
		panic(err)
	}
	return reference.NewReader(weburl.New(u, ""))
}

// short writes references one after the other.
func short(text string, refs []reference.Reference) string {
	var out []string
	for _, r := range refs {
		s := string(r.Kind)
		if r.Place != "" {
			s += " in " + r.Place
		}
		if r.Full {
			s += " full"
		}
		switch {
		case r.Dots != "":
			s += " " + r.From + r.Dots + r.To
		case r.From != "":
			s += " " + r.From
		case r.Name != "":
			s += " " + r.Name
		}
		if r.Number != 0 {
			s += fmt.Sprint(" ", r.Number)
		}
		if r.Note != 0 {
			s += fmt.Sprint(" note ", r.Note)
		}
		s += r.Format
		if r.Addressed {
			s += " addressed"
		}
		out = append(out, s+" <"+text[r.Start:r.End]+">")
	}
	return strings.Join(out, "; ")
}

func TestReader_Parse(t *testing.T) {
	t.Parallel()
	r := reader("http://127.0.0.1:8080/git")
	for text, want := range map[string]string{
		"see #1, (#2) and **#3**.":             "issue 1 <#1>; issue 2 <#2>; issue 3 <#3>",
		"!4 $5 &6":                             "merge_request 4 <!4>; snippet 5 <$5>; epic 6 <&6>",
		"#1+ !2+s #3+x":                        "issue 1+ <#1+>; merge_request 2+s <!2+s>; issue 3 <#3>",
		"GL-12":                                "issue 12 <GL-12>",
		"team/app#1 app!2 team/sub/app$3":      "issue in team/app 1 <team/app#1>; merge_request in app 2 <app!2>; snippet in team/sub/app 3 <team/sub/app$3>",
		"team&7 and a/b&8":                     "epic in team 7 <team&7>; epic in a/b 8 <a/b&8>",
		"~bug ~\"two words\", ~priority::1.":   "label bug <~bug>; label two words <~\"two words\">; label priority::1 <~priority::1>",
		"~12 team/app~bug ~gr\u00f6\u00dfe":    "label 12 12 <~12>; label in team/app bug <team/app~bug>; label gr\u00f6\u00dfe <~gr\u00f6\u00dfe>",
		"%v1.0. %\"next release\" %3":          "milestone v1.0 <%v1.0>; milestone next release <%\"next release\">; milestone 3 3 <%3>",
		"@ann, @bo.b and @team/sub: hello @x.": "user ann addressed <@ann>; user bo.b addressed <@bo.b>; user team/sub addressed <@team/sub>; user x <@x>",
		"a\n@ann":                              "user ann addressed <@ann>",
		"ask @ann":                             "user ann <@ann>",
		"snake @a_b_c":                         "user a_b_c <@a_b_c>",
		"fixed in 0a1b2c3d.":                   "commit 0a1b2c3d <0a1b2c3d>",
		"0a1b2c3d..1b2c3d4e 0a1b2c3...1b2c3d4": "commit_range 0a1b2c3d..1b2c3d4e <0a1b2c3d..1b2c3d4e>; commit_range 0a1b2c3...1b2c3d4 <0a1b2c3...1b2c3d4>",
		"team/app@0a1b2c3d":                    "commit in team/app 0a1b2c3d <team/app@0a1b2c3d>",
		"http://127.0.0.1:8080/git/team/app/-/issues/1#note_9.":                                  "issue in team/app full 1 note 9 <http://127.0.0.1:8080/git/team/app/-/issues/1#note_9>",
		"(http://127.0.0.1:8080/git/team/app/-/merge_requests/2/diffs)":                          "merge_request in team/app full 2 <http://127.0.0.1:8080/git/team/app/-/merge_requests/2/diffs>",
		"<http://127.0.0.1:8080/git/team/app/-/commit/0a1b2c3d>":                                 "commit in team/app full 0a1b2c3d <http://127.0.0.1:8080/git/team/app/-/commit/0a1b2c3d>",
		"http://127.0.0.1:8080/git/groups/team/-/epics/3 http://127.0.0.1:8080/git/-/snippets/4": "epic in team full 3 <http://127.0.0.1:8080/git/groups/team/-/epics/3>; snippet full 4 <http://127.0.0.1:8080/git/-/snippets/4>",

		// What is none.
		"https://example.com/team/app#1 https://example.com/-/issues/2": "",
		"http://127.0.0.1:8080/other/-/issues/1":                        "",
		"a#b x#1y #0 #12345678901234567890 ##":                          "",
		"mail a@example.com, 50% of, 3 & 4, a ~ b, &#35; \\#1 \\@x":     "",
		"1234567 deadbeefx deadbee":                                     "commit deadbee <deadbee>",
		"`#1` [#2](x) ![#3](y) <b title=\"#4\">":                        "",
		"```\n#1\n```\n\n    #2\n\n<div>\n#3\n</div>":                   "",
		"---\na: '#1'\n---\n#2":                                         "issue 2 <#2>",
		"[vulnerability:1] word#1word":                                  "",
		"- [ ] #1\n> #2\n\n| a |\n|---|\n| #3 |\n\n# #4":                "issue 1 <#1>; issue 2 <#2>; issue 3 <#3>; issue 4 <#4>",
		"~~struck~~ ~\"a &amp; b\"":                                     "label a & b <~\"a &amp; b\">",
	} {
		if got := short(text, r.Parse(text)); got != want {
			t.Errorf("%q:\n got %s\nwant %s", text, got, want)
		}
	}
	site := reader("https://code.example")
	const text = "https://code.example/team/app/-/issues/1 and https://code.example/team/app/-/work_items/2?x=1"
	want := "issue in team/app full 1 <https://code.example/team/app/-/issues/1>; issue in team/app full 2 <https://code.example/team/app/-/work_items/2?x=1>"
	if got := short(text, site.Parse(text)); got != want {
		t.Errorf("linked by the parser:\n got %s\nwant %s", got, want)
	}
	if got := len(r.Parse(strings.Repeat("#1 ", 5000))); got != reference.MaxReferences {
		t.Errorf("5000 references give %d, want %d", got, reference.MaxReferences)
	}
}

func TestReader_Closing(t *testing.T) {
	t.Parallel()
	r := reader("https://code.example")
	for text, want := range map[string]string{
		"Closes #1":                                                  "issue 1 <#1>",
		"closes: #1, #2 and #3, and #4 #5":                           "issue 1 <#1>; issue 2 <#2>; issue 3 <#3>; issue 4 <#4>; issue 5 <#5>",
		"Fix issues #1 and team/app#2":                               "issue 1 <#1>; issue in team/app 2 <team/app#2>",
		"Resolved https://code.example/a/b/-/issues/3":               "issue in a/b full 3 <https://code.example/a/b/-/issues/3>",
		"Implements <https://code.example/a/b/-/issues/3>, #4":       "issue in a/b full 3 <https://code.example/a/b/-/issues/3>; issue 4 <#4>",
		"Fixed #1. See #2. Fixing #1":                                "issue 1 <#1>",
		"`Closes #1`\n```\nCloses #2\n```\nclosed #3":                "issue 3 <#3>",
		"CLOSES #1, discloses #2, close!3, closes\n#4, Closes: x #5": "",
	} {
		if got := short(text, r.Closing(text)); got != want {
			t.Errorf("%q:\n got %s\nwant %s", text, got, want)
		}
	}
	if got := short("Fixes `#1` closes `x` #2", r.ClosingWords("Closes #1 `x` #2")); got == "" {
		t.Error("words that are not Markdown close nothing, want issue 1")
	}
	if got := len(r.ClosingWords("closes " + strings.Repeat("#1 ", 10) + strings.Repeat("closes a/b#7 ", 4000))); got != 2 {
		t.Errorf("got %d issues, want each once", got)
	}
}

// The attack: texts whose parts are read again and again.
func TestReader_ends(t *testing.T) {
	t.Parallel()
	r := reader("https://code.example")
	for _, hostile := range []string{
		"#", "a%", "%a.", "~\"", "~a", "@a/", "a@", "deadbee..", "closes #1 ", "closes a", "http://", "\\", "a/", "%\u00e9", "[^1] ", "- @a\n", "> #1\n", "`", "*#1", "<a>",
	} {
		text := strings.Repeat(hostile, markdownSize/len(hostile))
		if got := len(r.Parse(text)); got > reference.MaxReferences {
			t.Errorf("%q gives %d references", hostile, got)
		}
		r.Closing(text)
	}
}

const markdownSize = 200 << 10

func FuzzReader(f *testing.F) {
	f.Add("a #1 ~\"x\" %y @z/e team/app@0a1b2c3d..1b2c3d4e https://code.example/a/-/issues/1 Closes #2, #3")
	r := reader("https://code.example")
	f.Fuzz(func(t *testing.T, text string) {
		for _, ref := range append(r.Parse(text), r.ClosingWords(text)...) {
			if ref.Start < 0 || ref.End > len(text) || ref.Start >= ref.End {
				t.Errorf("%q: a reference takes %d to %d", text, ref.Start, ref.End)
			}
		}
	})
}
