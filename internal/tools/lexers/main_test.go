package main

import (
	"bytes"
	"html"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"

	"tenon/internal/base/highlight"
)

// The archive that is committed is that of the lexers of today.
func TestGenerate_current(t *testing.T) {
	t.Parallel()
	want, _, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../base/highlight/languages.zip")
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("languages.zip is not what the lexers give (%v): run make gen", err)
	}
}

// samples are pieces of usual code, in which nothing looks around within a pattern.
var samples = map[string]string{
	"go":         "package main\n\n// main says hello.\nfunc main() {\n\tfmt.Println(\"hello\\n\", 1.5e3, 'x', `raw`)\n\tgo f(nil)\n}\n",
	"python":     "import os\n\n@cached\ndef f(a: int = 1) -> str:\n    \"\"\"Doc.\"\"\"\n    return f\"{a!r} b\" + 'c' if a else None  # why\n",
	"javascript": "class A extends B { constructor() { super(); } }\nconst f = async (x) => `a${x}`; // c\nlet r = /a[b]/g.test(\"d\");\n",
	"typescript": "interface A { b?: string }\nexport function f<T>(x: T[]): number { return x.length; }\n",
	"json":       "{\"a\": [1, 2.5, true, null], \"b\": \"c\\n\"}\n",
	"yaml":       "# c\na: 1\nb:\n  - x\n  - \"y\"\n",
	"bash":       "#!/bin/sh\nset -e\nfor i in 1 2; do echo \"$i ${HOME}\"; done # c\nif [ -f x ]; then exit 1; fi\n",
	"c":          "#include <stdio.h>\n/* c */\nint main(void) { return printf(\"%d\\n\", 0x1f); }\n",
	"rust":       "fn main() { let x: u32 = 5; println!(\"{}\", x); // c\n}\n",
	"java":       "public class A { @Override public int f(String s) { return s.length(); } }\n",
	"sql":        "SELECT a, count(*) FROM b WHERE c = 'd' -- e\nGROUP BY a;\n",
	"html":       "<!DOCTYPE html>\n<p class=\"a\">b &amp; c</p><script>let a = 1;</script><!-- c -->\n",
	"css":        "/* c */\n.a { color: #fff; margin: 0 1px }\n",
	"xml":        "<?xml version=\"1.0\"?>\n<a b=\"c\">d</a>\n",
	"toml":       "# c\n[a]\nb = \"c\"\nd = 1\n",
	"diff":       "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n",
	"docker":     "FROM alpine:3\nRUN apk add git # c\n",
	"makefile":   "all: a.o\n\tcc -o $@ a.o\n",
	"ruby":       "class A < B\n  def f(x)\n    puts \"a #{x}\" # c\n    :sym\n  end\nend\n",
	"php":        "<?php\nfunction f($a) { return \"b\" . $a; } // c\n",
}

var span = regexp.MustCompile(`<span class="([^"]*)">([^<]*)</span>|([^<]+)`)

// The classes of usual code are those that chroma itself gives.
func TestConvert_asChroma(t *testing.T) {
	t.Parallel()
	for name, code := range samples {
		shown, ok := highlight.NewBudget(highlight.Document).HTML(name, code)
		if !ok {
			t.Errorf("%s is not highlighted", name)
			continue
		}
		var got []string // the class of each character
		for _, m := range span.FindAllStringSubmatch(shown, -1) {
			for range html.UnescapeString(m[2] + m[3]) {
				got = append(got, m[1])
			}
		}
		tokens, err := chroma.Tokenise(lexers.Get(name), nil, code)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, token := range tokens {
			for _, c := range token.Value {
				if c == '\n' {
					want = append(want, "")
					continue
				}
				want = append(want, class(token.Type))
			}
		}
		runes := []rune(code)
		if len(got) != len(runes) || len(want) < len(runes) {
			t.Errorf("%s: %d and %d characters, want %d", name, len(got), len(want), len(runes))
			continue
		}
		for i := range runes {
			if got[i] != want[i] {
				t.Errorf("%s: at %q: class %q, chroma has %q", name, string(runes[i:min(i+12, len(runes))]), got[i], want[i])
				break
			}
		}
		if strings.Count(shown, "<span") < 3 {
			t.Errorf("%s: %q has few classes", name, shown)
		}
	}
}
