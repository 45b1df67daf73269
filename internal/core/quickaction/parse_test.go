package quickaction

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	known := func(name string) bool { return name == "close" || name == "label" }
	for text, want := range map[string]string{
		"text":                                "text",
		"text\n/close\n":                      "text|close:",
		"/CLOSE":                              "|close:",
		"/label ~a ~\"b `c`\"  \nrest":        "rest|label:~a ~\"b `c`\"",
		"a\r\n/close\r\nb\r\n":                "a\r\nb|close:",
		"/close\n/label x\n\n":                "|close:|label:x",
		"/unknown\n/etc/hosts\n / close\n //": "/unknown\n/etc/hosts\n / close\n //",
		"```\n/close\n```":                    "```\n/close\n```",
		"`a\n/close\nb`":                      "`a\n/close\nb`",
		"<div>\n/close\n</div>":               "<div>\n/close\n</div>",
		">>>\n/close\n>>>\n/label y":          ">>>\n/close\n>>>|label:y",
		"> /close":                            "> /close",
		"/shrug well":                         "well \u00af\\\\\uff3f(\u30c4)\uff3f/\u00af",
		"/close now\n/tableflip":              "(\u256f\u00b0\u25a1\u00b0)\u256f\ufe35 \u253b\u2501\u253b|close:now",
		"---\n/close\n---\nx":                 "---\n/close\n---\nx",
	} {
		rest, commands := parse(text, known)
		got := rest
		for _, c := range commands {
			got += "|" + c.Name + ":" + c.Argument
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if rest, commands := parse(strings.Repeat("/close\n", 5000), known); rest != "" || len(commands) != maxCommands {
		t.Errorf("5000 commands give %d and %q", len(commands), rest)
	}
}

// The attack: a text that keeps the grammar busy or makes it fail (CVE-2021-39933). What is taken
// out of a text are lines of it, and nothing is made up.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"text\n/close\n", "/label ~a ~\"b `c`\"  \nrest", "a\r\n/close\r\nb\r\n", "```\n/close\n```", "<div>\n/close\n</div>\n/close", ">>>\n/close\n>>>\n/label y",
		"/shrug well", "---\n/close\n---\nx", "- /close\n  /close", "[^1]\n\n[^1]: x\n/close", "/close\x00\xff",
	} {
		f.Add(seed)
	}
	known := func(name string) bool { return name == "close" || name == "label" }
	f.Fuzz(func(t *testing.T, text string) {
		rest, commands := parse(text, known)
		if len(commands) > maxCommands || len(commands) > strings.Count(text, "\n")+1 {
			t.Errorf("%q: %d commands", text, len(commands))
		}
		for _, c := range commands {
			if !known(c.Name) || !strings.Contains(text, c.Argument) {
				t.Errorf("%q: got the command %+v", text, c)
			}
		}
		drawn := false
		for line := range strings.Lines(rest) {
			line = strings.TrimRight(line, " \t\r\n")
			for _, art := range drawings {
				drawn = drawn || strings.HasSuffix(line, art)
			}
			if !drawn && !strings.Contains(text, line) {
				t.Errorf("%q: got the line %q", text, line)
			}
		}
		if len(commands) == 0 && !drawn && rest != text {
			t.Errorf("%q without commands became %q", text, rest)
		}
	})
}
