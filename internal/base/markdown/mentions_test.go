package markdown_test

import (
	"fmt"
	"strings"
	"testing"

	"tenon/internal/base/markdown"
)

func TestMentions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                               "[]",
		"no names":                       "[]",
		"hello @ann":                     "[{ann false}]",
		"@ann hello":                     "[{ann true}]",
		"@ann, @bob: look, and @eve.":    "[{ann true} {bob true} {eve false}]",
		"- @ann in a list":               "[{ann false}]",
		"> @ann in a quote":              "[]",
		"`@ann` and\n\n    @bob\n":       "[]",
		"```\n@ann\n```\n@bob":           "[{bob true}]",
		"write to ann@example.com":       "[]",
		"[@ann](https://example.com)":    "[]",
		"see @group/sub-group/x and @a.": "[{group/sub-group/x false} {a false}]",
		"(@ann) \"@bob_b\" *@eve*":       "[{ann false} {bob_b false} {eve false}]",
		"@a_b_c @_x":                     "[{a_b_c true} {_x true}]",
		"hello @Ann and @ann\n\n@ANN":    "[{Ann true}]",
		"# @ann":                         "[{ann false}]",
		"one\n@ann two":                  "[{ann false}]",
		"<div>\n@ann\n</div>\n\n<b>@bob": "[{bob false}]",
	} {
		if got := fmt.Sprint(markdown.Mentions(text)); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
	var many strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&many, "@user%d\n", i)
	}
	if got := len(markdown.Mentions(many.String())); got != markdown.MaxMentions {
		t.Errorf("%d mentions of a text with 1000, want %d", got, markdown.MaxMentions)
	}
}
