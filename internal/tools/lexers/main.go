// Command lexers makes the archive of languages of base/highlight from the lexers of chroma: for
// each language a file of rules whose patterns package regexp compiles.
package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"
)

// languages are those that the archive has, by chroma's names.
var languages = []string{
	"Ada", "Bash", "C", "C#", "C++", "Clojure", "CMake", "CSS", "D", "Dart", "Diff", "Docker", "Elixir", "Elm", "Erlang", "Fish", "Fortran",
	"FSharp", "Go", "GraphQL", "Groovy", "Haskell", "HCL", "HTML", "INI", "Java", "JavaScript", "JSON", "Julia", "Kotlin", "Lua",
	"Makefile", "MATLAB", "Nginx configuration file", "Nim", "Nix", "Objective-C", "ObjectPascal", "OCaml", "Perl", "PHP", "PowerShell",
	"Prolog", "Properties", "Protocol Buffer", "Python", "R", "Ruby", "Rust", "Scala", "Scheme", "SCSS", "SQL", "Swift",
	"Systemd", "Tcl", "Terraform", "TeX", "TOML", "TypeScript", "VimL", "XML", "YAML", "Zig",
}

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "lexers:", err)
		os.Exit(1)
	}
}

func run(target string) error {
	archive, report, err := generate()
	if err != nil {
		return err
	}
	fmt.Print(report)
	return os.WriteFile(target, archive, 0o644)
}

// generate returns the archive, and how many rules of each language it has.
func generate() (archive []byte, report string, err error) {
	var out bytes.Buffer
	var told strings.Builder
	z := zip.NewWriter(&out)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
	names := map[string]string{} // the file of each name of a language, and of what its files are called
	for _, name := range languages {
		lexer, ok := lexers.Get(name).(*chroma.RegexLexer)
		if !ok {
			return nil, "", fmt.Errorf("language %s: no plain lexer", name)
		}
		made, dropped, err := convert(lexer)
		if err != nil {
			return nil, "", fmt.Errorf("language %s: %w", name, err)
		}
		file := strings.ToLower(name)
		for _, alias := range append([]string{name}, lexer.Config().Aliases...) {
			if alias = strings.ToLower(alias); names[alias] == "" {
				names[alias] = file
			}
		}
		for _, glob := range lexer.Config().Filenames {
			if glob = strings.ToLower(glob); names["="+glob] == "" {
				names["="+glob] = file // "=*.go" and "=makefile"
			}
		}
		if err := add(z, file, made); err != nil {
			return nil, "", err
		}
		fmt.Fprintf(&told, "%s: %d rules, %d left out\n", name, len(made.Rules), len(dropped))
		for _, pattern := range dropped {
			fmt.Fprintf(&told, "\t%q\n", pattern)
		}
	}
	if err := add(z, "names", names); err != nil {
		return nil, "", err
	}
	if err := z.Close(); err != nil {
		return nil, "", err
	}
	return out.Bytes(), told.String(), nil
}

// add puts a value into the archive, without a time, so that the archive has the same bytes each time.
func add(z *zip.Writer, name string, value any) error {
	w, err := z.CreateHeader(&zip.FileHeader{Name: name + ".json", Method: zip.Deflate})
	if err != nil {
		return err
	}
	return json.NewEncoder(w).Encode(value)
}

// expand returns the rules of a state, with those that it includes. A state that includes itself ends.
func expand(states map[string][]*node, name string, path ...string) []*node {
	if slices.Contains(path, name) {
		return nil
	}
	var out []*node
	for _, rule := range states[name] {
		if include := rule.child("include"); include != nil {
			out = append(out, expand(states, include.attribute("state"), append(path, name)...)...)
			continue
		}
		out = append(out, rule)
	}
	return out
}
