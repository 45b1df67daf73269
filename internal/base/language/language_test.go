package language_test

import (
	"testing"

	"tenon/internal/base/language"
)

func TestDetect(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"main.go", "", "Go"},
		{"lib/Tool.RB", "", "Ruby"},
		{"Makefile", "", "Makefile"},
		{"page.html", "", "HTML"},
		{"view.html.erb", "", "HTML+ERB"},
		{"data.json", "", ""},
		{"README.md", "", ""},
		{"app.ts", "export class A {}", "TypeScript"},
		{"tr.ts", `<!DOCTYPE TS><TS version="2.1">`, ""},
		{"a.h", "int x;\n", "C"},
		{"a.h", "namespace a {\n", "C++"},
		{"a.h", "#import <Foundation/Foundation.h>\n", "Objective-C"},
		{"a.m", "function y = f(x)\n", "MATLAB"},
		{"a.m", "@implementation A\n", "Objective-C"},
		{"a.pl", "human(X) :- greek(X).\n", "Prolog"},
		{"run", "#!/usr/bin/env -S python3.12 -u\n", "Python"},
		{"run", "#!/bin/sh\n", "Shell"},
		{"run", "words\n", ""},
		{"run", "", ""},
		{"a.unknown", "#!/bin/sh\n", ""},
		{"", "", ""},
	} {
		if got := language.Detect(tt.name, func() []byte { return []byte(tt.text) }); got != tt.want {
			t.Errorf("%s %q: got %q, want %q", tt.name, tt.text, got, tt.want)
		}
	}
}

func TestOwn(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"main.go": true, "src/a.c": true, "vendor/x/a.go": false, "node_modules/a/index.js": false, "docs/a.py": false,
		"LICENSE.go": false, ".hidden.js": false, "web/jquery.min.js": false,
	} {
		if got := language.Own(name); got != want {
			t.Errorf("%s: got %t, want %t", name, got, want)
		}
	}
}

func FuzzDetect(f *testing.F) {
	f.Add("a.h", []byte("class A"))
	f.Add("..", []byte("#!"))
	f.Fuzz(func(_ *testing.T, name string, text []byte) {
		language.Detect(name, func() []byte { return text })
		language.Own(name)
	})
}
