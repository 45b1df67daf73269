// Package language tells which programming language a file is written in, by its name
// and, where names are ambiguous, by how it begins.
package language

import (
	"bytes"
	_ "embed"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Head is how many bytes of a file Detect looks at.
const Head = 8 << 10

// table is the parsed list; names that count for nothing begin with a dash.
type table struct {
	ext, file, run map[string][]string
	vendor, doc    *regexp.Regexp
}

//go:embed languages.txt
var list string

var load = sync.OnceValue(func() *table {
	t := &table{ext: map[string][]string{}, file: map[string][]string{}, run: map[string][]string{}}
	var vendor, doc []string
	for line := range strings.Lines(list) {
		parts := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(parts) < 2 {
			continue
		}
		switch parts[0] {
		case "ext":
			t.ext[parts[1]] = parts[2:]
		case "file":
			t.file[parts[1]] = parts[2:]
		case "run":
			t.run[parts[1]] = parts[2:]
		case "vendor":
			vendor = append(vendor, "(?:"+parts[1]+")")
		case "doc":
			doc = append(doc, "(?:"+parts[1]+")")
		}
	}
	t.vendor = regexp.MustCompile(strings.Join(vendor, "|"))
	t.doc = regexp.MustCompile(strings.Join(doc, "|"))
	return t
})

// Own reports whether a file is the project's own code by its path: neither copied
// from elsewhere, nor documentation, nor hidden.
func Own(name string) bool {
	if strings.HasPrefix(path.Base(name), ".") {
		return false
	}
	t := load()
	return !t.vendor.MatchString(name) && !t.doc.MatchString(name)
}

// Detect names the language of the file, "" where it is in none that counts as
// programming or markup. It calls head for the first bytes where the name is not enough.
func Detect(name string, head func() []byte) string {
	t, base := load(), path.Base(name)
	if names := t.file[base]; len(names) > 0 {
		return counted(names[0])
	}
	lower := strings.ToLower(base)
	for i := strings.IndexByte(lower, '.'); i >= 0; i = next(lower, i) {
		names := t.ext[lower[i:]]
		switch {
		case len(names) == 0:
		case len(names) == 1:
			return counted(names[0])
		default:
			return counted(choose(lower[i:], names, head))
		}
	}
	if strings.ContainsRune(base, '.') {
		return ""
	}
	names := t.run[interpreter(head())]
	if len(names) == 0 {
		return ""
	}
	return counted(names[0])
}

// next finds the dot after the one at i, -1 for none.
func next(name string, i int) int {
	j := strings.IndexByte(name[i+1:], '.')
	if j < 0 {
		return -1
	}
	return i + 1 + j
}

func counted(name string) string {
	if strings.HasPrefix(name, "-") {
		return ""
	}
	return name
}

// usual says what an ambiguous ending mostly means.
var usual = map[string]string{
	".asm": "Assembly", ".bas": "BASIC", ".cl": "Common Lisp", ".cls": "TeX", ".cs": "C#", ".es": "JavaScript", ".f": "Fortran",
	".fs": "F#", ".gs": "JavaScript", ".h": "C", ".html": "HTML", ".inc": "PHP", ".json": "-JSON", ".l": "Lex", ".m": "Objective-C",
	".md": "-Markdown", ".ml": "OCaml", ".n": "Roff", ".php": "PHP", ".pl": "Perl", ".pro": "Prolog", ".r": "R", ".rs": "Rust",
	".s": "Assembly", ".sql": "-SQL", ".t": "Perl", ".ts": "TypeScript", ".tsx": "TSX", ".txt": "-Text", ".v": "Verilog",
	".yaml": "-YAML", ".yml": "-YAML",
}

// sign is something in a file that decides against the usual meaning of its ending.
type sign struct {
	language string
	pattern  *regexp.Regexp
}

var signs = sync.OnceValue(func() map[string][]sign {
	re := regexp.MustCompile
	return map[string][]sign{
		".h": {
			{"Objective-C", re(`(?m)^\s*(?:@(?:interface|class|protocol|property|end|import)\b|#import\s)`)},
			{"C++", re(`(?m)^\s*(?:template\s*<|class\s+\w+|namespace\s+\w+|using\s+(?:namespace\s+)?\w+|(?:public|private|protected):)|\bstd::`)},
		},
		".m": {
			{"Objective-C", re(`(?m)^\s*(?:@(?:interface|implementation|class|protocol|import|end)\b|#(?:import|include)\s)`)},
			{"MATLAB", re(`(?m)^\s*(?:%|function\b|classdef\b)`)},
		},
		".pl": {
			{"Perl", re(`(?m)^\s*(?:use\s+(?:strict|warnings|v?5)|my\s+[$@%]|#!.*\bperl)`)},
			{"Prolog", re(`(?m)^[^#\n]*:-`)},
		},
		".ts": {{"-XML", re(`<TS\b`)}},
		".rs": {{"-XML", re(`^\s*<\?xml`)}},
		".v":  {{"Rocq Prover", re(`(?m)^\s*(?:Require|Theorem|Lemma|Proof|Qed)\b`)}, {"V", re(`(?m)^\s*(?:module\s+\w+\s*$|fn\s+\w+\()`)}},
	}
})

// choose picks one of several languages that share an ending.
func choose(ext string, names []string, head func() []byte) string {
	if rules := signs()[ext]; rules != nil {
		text := head()
		for _, s := range rules {
			if slices.Contains(names, s.language) && s.pattern.Match(text) {
				return s.language
			}
		}
	}
	if name := usual[ext]; slices.Contains(names, name) {
		return name
	}
	return names[0]
}

// interpreter returns the program that the first line of a script names, without a version.
func interpreter(text []byte) string {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	rest, ok := strings.CutPrefix(string(line), "#!")
	if !ok {
		return ""
	}
	words := strings.Fields(rest)
	for len(words) > 0 && (path.Base(words[0]) == "env" || strings.HasPrefix(words[0], "-") || strings.Contains(words[0], "=")) {
		words = words[1:]
	}
	if len(words) == 0 {
		return ""
	}
	name := path.Base(words[0])
	if t := load(); len(t.run[name]) > 0 {
		return name
	}
	return strings.TrimRight(name, "0123456789.")
}
